"""The network of a run that trained its last stages (`encoder.later_stages`), as weights that other runs can read.

python tools/network.py RUN network.safetensors
seetell learn train best-retrieval --set encoder.name=NETWORK@network.safetensors --data … --out OTHER
"""

import argparse
import sys
from pathlib import Path

from safetensors.torch import save_file

from seetell.learn.encoders import Encoder
from seetell.learn.models.later_stages import LaterStages
from seetell.learn.training.run import Run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    run = Run.open(given.run)
    settings = run.recipe.encoder
    trained = [module for module in run.model().modules() if isinstance(module, LaterStages)]
    if not trained:
        sys.exit(f"{given.run}: this run did not train the last stages of its network")
    network = trained[0].put_into(Encoder.load(settings.name), settings.layout).network
    save_file({name: tensor.contiguous() for name, tensor in network.state_dict().items()}, given.out)


if __name__ == "__main__":
    main()
