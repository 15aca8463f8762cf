"""The cost of re-ranking captions: the most likely caption, re-ranked captions, and low-similarity captions retried.

    python benchmarks/reranking.py MODEL IMAGES --count 300

All three take turns in one run, on the same images. Processor time is measured, so that other load counts little; the
reference is the most likely caption. Needs no PyTorch.
"""

import argparse
import json
import math
import time
from pathlib import Path

from seetell.runtime import open_model

VARIANTS = {"most likely": (0.0, False), "re-ranked": (None, False), "retried": (None, True)}  # rerank_weight, retry
PART = 50  # images per turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("images", type=Path)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    paths = sorted(options.images.rglob("*.jpg"))[: options.count]
    seconds, captions = dict.fromkeys(VARIANTS, 0.0), {variant: list[str]() for variant in VARIANTS}
    with open_model(options.model, threads=1) as model:
        captioner = model.captioner
        generator = captioner._generator  # retrying is part of the model, not an option of a call
        below = generator.retry_below
        list(captioner(paths[:2]))  # loads everything
        for begin in range(0, len(paths), PART):
            part = paths[begin : begin + PART]
            for variant, (rerank_weight, retry) in VARIANTS.items():
                generator.retry_below = below if retry else -math.inf
                before = time.process_time()
                captions[variant] += [each.text for each in captioner(part, rerank_weight=rerank_weight)]
                seconds[variant] += time.process_time() - before
    report = {
        variant: {
            "processor_ms": round(1000 * seconds[variant] / len(paths), 1),
            "ratio": round(seconds[variant] / seconds["most likely"], 2),
            "other_captions": sum(map(str.__ne__, captions[variant], captions["most likely"])),
        }
        for variant in VARIANTS
    }
    print(json.dumps({"images": len(paths), **report}, indent=1))


if __name__ == "__main__":
    main()
