"""A library of a dataset's images: how fast it is made and searched, and whether it finds what the bundle's own
evaluation finds.

    python benchmarks/library.py flickr8k:PATH --bundle BUNDLE --folder SCRATCH

`seetell index` runs in its own process, over copies of the images, without their captions. For comparison the model
describes a sample of the same images with nothing written, which is the rate that an indexer could reach at best.
Searched are the captions of the test split: over all images for the time a search takes, in the process and over
HTTP; over the test images alone, by embedding, for the recall, compared with `seetell evaluate`. Needs no PyTorch.
"""

import argparse
import http.client
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from seetell.data import Dataset, Record, open_dataset
from seetell.evaluation import EvaluationOptions, evaluate_bundle
from seetell.library import Library
from seetell.runtime import open_model

RECALLS = (1, 5, 10)


def copied(records: Sequence[Record], folder: Path) -> dict[str, str]:
    """The images as files in a folder; the path of each → the record's key."""
    folder.mkdir(parents=True)
    paths = {}
    for number, record in enumerate(records):
        path = folder / f"{number:06}.jpg"
        path.write_bytes(record.image.read())
        paths[str(path)] = record.key
    return paths


def indexed(images: Path, library: Path, bundle: str) -> dict[str, float]:
    """Seconds by the clock of `seetell index` in a process of its own, and its peak memory."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "seetell.cli", "index", images, "--library", library, "--model", bundle],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return {"seconds": round(time.perf_counter() - begin, 2), "peak_megabytes": round(peak, 1)}


def milliseconds(ask: Callable[[str], object], texts: Sequence[str]) -> dict[str, float]:
    """The median and the 95th percentile of one question after another, the first ten left out."""
    taken = []
    for text in texts:
        begin = time.perf_counter()
        ask(text)
        taken.append(1e3 * (time.perf_counter() - begin))
    taken = sorted(taken[10:])
    return {"p50": round(statistics.median(taken), 1), "p95": round(taken[int(0.95 * len(taken))], 1)}


def over_http(library: Path, texts: Sequence[str]) -> dict[str, float]:
    """The same questions, queries of `seetell serve`."""
    command = [sys.executable, "-m", "seetell.cli", "serve", "--library", str(library), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        match = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert match is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(match[1]))

        def ask(text: str) -> None:
            connection.request("GET", f"/api/v1/search?q={quote(text)}&limit=10")
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()

        try:
            return milliseconds(ask, texts)
        finally:
            connection.close()
            server.terminate()


def recalls(library: Path, queries: Sequence[tuple[str, str]], keys: dict[str, str]) -> dict[str, float]:
    """Of captions and the keys of their images: in how many cases the image is among the first so many."""
    hits = dict.fromkeys(RECALLS, 0)
    with Library.open(library, create=False) as opened:
        for text, key in queries:
            rows = opened.search(text, k=max(RECALLS), rank="embedding")
            found = [keys[str(each.image.path)] for each in rows]
            for k in RECALLS:
                hits[k] += key in found[:k]
    return {f"r{k}": round(100 * count / len(queries), 2) for k, count in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--bundle", default="builtin")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=1000, help="images for the bundle's bare rate")
    parser.add_argument("--questions", type=int, default=500)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    dataset = open_dataset(options.dataset)
    test = dataset.split("test")
    queries = [(caption, record.key) for record in test for caption in record.captions]
    texts = [text for text, _ in queries[:: max(1, len(queries) // options.questions)]][: options.questions]
    report: dict[str, Any] = {"load": round(os.getloadavg()[0], 1), "images": len(dataset.records)}

    everything, library = options.folder / "all", options.folder / "all.library"
    paths = copied(dataset.records, everything)
    step = max(1, len(paths) // options.sample)
    sample = [Path(path) for path in list(paths)[::step]][: options.sample]
    with open_model(options.bundle) as model:
        begin = time.perf_counter()
        described = sum(1 for _ in model.describe(iter(sample)))
        report["bare_images_a_second"] = round(described / (time.perf_counter() - begin), 1)
    report["index"] = indexed(everything, library, options.bundle)
    report["index_images_a_second"] = round(len(paths) / report["index"]["seconds"], 1)
    report["ratio"] = round(report["index_images_a_second"] / report["bare_images_a_second"], 3)
    report["again"] = indexed(everything, library, options.bundle)
    with Library.open(library, create=False) as opened:
        report["bytes_an_image"] = round(opened.info().bytes / opened.info().images)
        report["search_milliseconds"] = milliseconds(lambda text: opened.search(text), texts)
    report["http_milliseconds"] = over_http(library, texts)

    held_out, small = options.folder / "test", options.folder / "test.library"
    keys = copied(test, held_out)
    indexed(held_out, small, options.bundle)
    report["library_recall"] = recalls(small, queries, keys)
    only_test = Dataset(dataset.name, tuple(test))
    with open_model(options.bundle) as model:
        scores = evaluate_bundle(model, only_test, "test", EvaluationOptions(meteor=False))["retriever"]["metrics"]
    report["evaluation"] = scores
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
