"""What a user of a bundle waits for and pays: the time from a cold start to one caption, and memory over many images.

    python benchmarks/runtime_use.py BUNDLE IMAGES --count 5000 --starts 5

IMAGES is a folder; if it has fewer images than --count, they are repeated. Needs no PyTorch.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path

from seetell.runtime import open_model


def cold_start(bundle: Path, image: Path, times: int) -> dict[str, float]:
    """Seconds from the command to its end, by the clock and by the processor; medians."""
    clock, processor = [], []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "seetell.cli", "caption", image, "--model", bundle],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        clock.append(time.perf_counter() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return {"clock": round(statistics.median(clock), 2), "processor": round(statistics.median(processor), 2)}


def peak_megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    paths = sorted(options.images.rglob("*.jpg"))
    report: dict[str, object] = {"load": round(os.getloadavg()[0], 1)}
    report["cold_start_seconds"] = cold_start(options.bundle, paths[0], options.starts)
    marks = {count for count in (500, options.count // 2, options.count) if count <= options.count}
    peaks: dict[int, float] = {}
    with open_model(options.bundle) as model:
        # An iterator, so that the model does not know how many there will be.
        for done, _ in enumerate(model.captioner(islice(cycle(paths), options.count)), start=1):
            if done in marks:
                peaks[done] = peak_megabytes()
        report["threads"] = model.threads
    report["peak_megabytes_after_images"] = peaks
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
