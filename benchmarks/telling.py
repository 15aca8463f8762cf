"""What a bundle's ways of choosing a caption cost: the likeliest alone, the one that fits, and telling again what fits
badly.

    python benchmarks/telling.py BUNDLE PICTURES --count 300

All three in one run, on the same pictures, by turns. Times are of the processor, so that other work counts little; the
peer of the other two is the likeliest caption alone. Needs no PyTorch.
"""

import argparse
import json
import math
import time
from pathlib import Path

from seetell.runtime import open_bundle

WAYS = {"likeliest": (0.0, False), "that fits": (None, False), "told again": (None, True)}  # matching, again
PART = 50  # pictures before another way has its turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    paths = sorted(options.pictures.rglob("*.jpg"))[: options.count]
    seconds, told = dict.fromkeys(WAYS, 0.0), {way: list[str]() for way in WAYS}
    with open_bundle(options.bundle, threads=1) as suite:
        captioner = suite.captioner
        below = captioner.again
        list(captioner(paths[:2]))  # everything is loaded
        for begin in range(0, len(paths), PART):
            for way, (matching, again) in WAYS.items():
                captioner.again = below if again else -math.inf
                before = time.process_time()
                told[way] += [each.text for each in captioner(paths[begin : begin + PART], matching=matching)]
                seconds[way] += time.process_time() - before
    report = {
        way: {
            "processor_ms": round(1000 * seconds[way] / len(paths), 1),
            "times_the_likeliest": round(seconds[way] / seconds["likeliest"], 2),
            "told_otherwise": sum(map(str.__ne__, told[way], told["likeliest"])),
        }
        for way in WAYS
    }
    print(json.dumps({"pictures": len(paths), **report}, indent=1))


if __name__ == "__main__":
    main()
