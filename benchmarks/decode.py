"""Images captioned per second by beam search: batches compared with single images.

    python benchmarks/decode.py [--run RUN --data DATASET --split test] [--beam 5] [--batch 64] [--images 128]

Without a run: soft attention of the usual size (512 units, 8,000 words, a grid of 81 × 1,280) with chance
weights, on random features. Both take turns in one run, so that other load on the machine affects both, and must
generate the same captions.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import torch

from seetell.decoding import Decoded, Rules, beam_search
from seetell.learn.models.attend import Attend
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.models.inputs import ModelInputs
from seetell.learn.recipes.model_settings import AttendSettings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--split", default="test")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--images", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()

    if arguments.run:
        model, features, rules = from_run(arguments.run, arguments.data, arguments.split, arguments.images)
    else:
        model, features, rules = by_chance(arguments.images)
    print(f"{len(features)} images, beam {arguments.beam}, {torch.get_num_threads()} threads")
    sizes = {f"{arguments.batch} at a time": arguments.batch, "one at a time": 1}
    rates: dict[str, list[float]] = {name: [] for name in sizes}
    captions: dict[str, list[list[int]]] = {}
    for _ in range(arguments.repetitions):
        for name, size in sizes.items():
            began = time.perf_counter()
            found = generate(model, features, rules, arguments.beam, size)
            rates[name].append(len(features) / (time.perf_counter() - began))
            captions[name] = [one.tokens.tolist() for one in found]
    for name, values in rates.items():
        print(f"{name:>16}: {statistics.median(values):8.2f} images/s  ({', '.join(f'{v:.2f}' for v in values)})")
    many, one = (statistics.median(values) for values in rates.values())
    same = sum(a == b for a, b in zip(*captions.values(), strict=True))
    words = np.mean([len(caption) for caption in captions["one at a time"]])
    print(f"{many / one:.1f} times as fast; {same} of {len(features)} captions equal, {words:.1f} words each")


def generate(model: CaptionModel, features: np.ndarray, rules: Rules, beam: int, size: int) -> list[Decoded]:
    decoder = TorchDecoder(model)
    parts = [features[start : start + size] for start in range(0, len(features), size)]
    return [best for part in parts for best, *_ in beam_search(decoder, part, rules, beam=beam)]


def by_chance(images: int) -> tuple[CaptionModel, np.ndarray, Rules]:
    torch.manual_seed(0)
    model = Attend(AttendSettings(), ModelInputs(features=1280, words=8000)).eval()
    with torch.no_grad():
        model.output.weight.mul_(10)  # chance weights find all words alike; a trained model does not
        model.output.bias[2] += 2  # captions of about ten words
    features = np.random.default_rng(0).random((images, 81, 1280), dtype=np.float32)
    return model, features, Rules(start=1, end=2, max_length=20, forbidden=(0, 3))


def from_run(path: Path, data: str, split: str, images: int) -> tuple[CaptionModel, np.ndarray, Rules]:
    from seetell.learn.tasks.captioning.decode import decoding_of, rules
    from seetell.learn.training.data import captioned
    from seetell.learn.training.run import Run
    from seetell.progress import for_terminal

    run = Run.open(path)
    model = run.model()
    assert isinstance(model, CaptionModel)
    assert run.vocabulary is not None
    _, inputs = run.encode([data], split, progress=for_terminal()).split(split, captioned)
    features = inputs.batch(np.arange(min(images, len(inputs)))).numpy()
    return model, features, rules(decoding_of(run.recipe), run.vocabulary)


if __name__ == "__main__":
    main()
