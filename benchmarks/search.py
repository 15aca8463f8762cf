"""Searching 10 thousand, 100 thousand and 1 million embeddings: the library compared with exhaustive search in numpy.

    python benchmarks/search.py --sizes 10000 100000 1000000 --dimensions 512 --folder /tmp/search

Embeddings lie around centres, as those of images do; questions lie a little off them. Each size becomes a library's
database (and, where it is large, its index); both answer the same queries, one at a time. Reported are the
median and 95th percentile of the time a question takes in milliseconds, the share of the ten true nearest that were
found, the time it took to build the index, and what lies in memory and on disk.
"""

import argparse
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seetell.library.search.vector_index import EXACT_LIMIT, VectorIndex
from seetell.library.search.vectors import top
from seetell.library.storage.database import Database
from seetell.library.storage.rows import set_meta

CHUNK = 10_000
K = 10


def embeddings(count: int, dimensions: int) -> Iterator[np.ndarray]:
    """Chunks of vectors of length 1."""
    centres = np.random.default_rng(0).normal(size=(2_000, dimensions)).astype(np.float32)
    for begin in range(0, count, CHUNK):
        random = np.random.default_rng([1, begin])
        rows = min(CHUNK, count - begin)
        some = centres[random.integers(0, len(centres), rows)] + random.normal(size=(rows, dimensions)).astype(
            np.float32
        )
        yield some / np.linalg.norm(some, axis=1, keepdims=True)


def questions(count: int, dimensions: int) -> np.ndarray:
    centres = np.random.default_rng(0).normal(size=(2_000, dimensions)).astype(np.float32)
    random = np.random.default_rng(2)
    some = centres[random.integers(0, len(centres), count)] + 1.5 * random.normal(size=(count, dimensions))
    return (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float32)


def filled(folder: Path, count: int, dimensions: int) -> Database:
    """A library's database with so many images, written as the library writes them but for the words."""
    database = Database(folder)
    with database.write() as connection:
        connection.execute(
            "INSERT INTO models (fingerprint, name, path, kinds, similarity, dimensions) VALUES (?, ?, ?, ?, ?, ?)",
            ("0" * 64, "benchmark", "", "retriever", "cosine", dimensions),
        )
        set_meta(connection, "model", 1)
    number = 0
    for chunk in embeddings(count, dimensions):
        with database.write() as connection:
            for row in chunk:
                number += 1
                connection.execute(
                    "INSERT INTO images VALUES (?, ?, 1, 1, 1, 0, 0, '')", (number, number.to_bytes(16, "big"))
                )
                connection.execute(
                    "INSERT INTO predictions (image, model, caption, tags, vector) VALUES (?, 1, '', '[]', ?)",
                    (number, row.tobytes()),
                )
    return database


def timed(ask: Callable[[np.ndarray], np.ndarray], queries: np.ndarray) -> tuple[list[np.ndarray], dict[str, float]]:
    ask(queries[0])
    answers, times = [], []
    for question in queries:
        begin = time.perf_counter()
        answers.append(ask(question))
        times.append(1000 * (time.perf_counter() - begin))
    return answers, {"p50_ms": round(float(np.median(times)), 3), "p95_ms": round(float(np.percentile(times, 95)), 3)}


def resident() -> int:
    """Of this process, at its most, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 * 1024 if sys.platform == "darwin" else 1024)


def measure(folder: Path, count: int, dimensions: int, queries: np.ndarray) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    database = filled(folder, count, dimensions)
    vectors = VectorIndex(database)
    begin, busy = time.perf_counter(), time.process_time()
    indexed = vectors.refresh()
    build = {"build_s": round(time.perf_counter() - begin, 1), "build_cpu_s": round(time.process_time() - busy, 1)}
    begin = time.perf_counter()
    space = vectors.current()
    assert space is not None
    opened = round(time.perf_counter() - begin, 2)
    found, ours = timed(lambda question: space.nearest(question, K)[0], queries)
    library_memory = resident()
    everything = np.concatenate(list(embeddings(count, dimensions)))
    true, brute = timed(lambda question: top(everything @ question, K) + 1, queries)
    recall = float(np.mean([len({*a.tolist()} & {*b.tolist()}) / K for a, b in zip(found, true, strict=True)]))
    index = sum(path.stat().st_size for path in folder.glob("vectors-*.usearch"))
    database.close()
    return {
        "images": count,
        "way": "index" if indexed else "all compared",
        "library": {**ours, "recall_at_10": round(recall, 4), **build, "open_s": opened},
        "numpy": brute,
        "memory_mb": {
            "process_with_library": library_memory,
            "index_file": round(index / 1e6),
            "numpy_vectors": round(everything.nbytes / 1e6),
        },
        "database_mb": round(database.path.stat().st_size / 1e6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--folder", type=Path, required=True, help="for the databases; emptied")
    options = parser.parse_args()
    queries = questions(options.questions, options.dimensions)
    print(
        json.dumps(
            {"dimensions": options.dimensions, "questions": options.questions, "all_compared_up_to": EXACT_LIMIT}
        )
    )
    for count in options.sizes:
        print(json.dumps(measure(options.folder / str(count), count, options.dimensions, queries)), flush=True)
        shutil.rmtree(options.folder / str(count), ignore_errors=True)


if __name__ == "__main__":
    main()
