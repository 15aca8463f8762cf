"""What a bundle's ways of choosing a caption cost: the likeliest alone, the one that fits, and telling again what fits
badly.

    python benchmarks/telling.py BUNDLE IMAGES --count 300

All three in one run, on the same images, by turns. Times are of the processor, so that other work counts little; the
peer of the other two is the likeliest caption alone. Needs no PyTorch.
"""

import argparse
import json
import math
import time
from pathlib import Path

from seetell.runtime import open_model

WAYS = {"likeliest": (0.0, False), "that fits": (None, False), "told again": (None, True)}  # rerank_weight, again
PART = 50  # images before another way has its turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("images", type=Path)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    paths = sorted(options.images.rglob("*.jpg"))[: options.count]
    seconds, told = dict.fromkeys(WAYS, 0.0), {way: list[str]() for way in WAYS}
    with open_model(options.bundle, threads=1) as model:
        captioner = model.captioner
        below = captioner.again
        list(captioner(paths[:2]))  # everything is loaded
        for begin in range(0, len(paths), PART):
            for way, (rerank_weight, again) in WAYS.items():
                captioner.again = below if again else -math.inf
                before = time.process_time()
                told[way] += [each.text for each in captioner(paths[begin : begin + PART], rerank_weight=rerank_weight)]
                seconds[way] += time.process_time() - before
    report = {
        way: {
            "processor_ms": round(1000 * seconds[way] / len(paths), 1),
            "times_the_likeliest": round(seconds[way] / seconds["likeliest"], 2),
            "told_otherwise": sum(map(str.__ne__, told[way], told["likeliest"])),
        }
        for way in WAYS
    }
    print(json.dumps({"images": len(paths), **report}, indent=1))


if __name__ == "__main__":
    main()
