"""The describing stage on many computers, with Ray Data.

The process that owns the library lists and hashes files, and writes the results, in the same transactions as without
Ray. Workers read the files of new images, and open the model once each. All of them must see images and model at the
same paths.
"""

import contextlib
import itertools
import json
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from seetell.bundle import Bundle
from seetell.errors import ImageError, LibraryError, MissingExtraError
from seetell.library.current_model import CurrentModel
from seetell.library.indexing.describing import describe_files
from seetell.library.indexing.messages import Described, PendingFile
from seetell.library.indexing.stages import Describe
from seetell.library.storage.rows import ImageFacts
from seetell.runtime import Caption, Description, Model, Tag

ROUND = 32_768  # files that are handed out at once; workers start again with each round
BATCH = 32  # files that a worker gets at once
OBJECT_STORE = 256_000_000  # bytes of a cluster on this computer: paths and results are small


def ray_describer(model: CurrentModel, address: str, stop: threading.Event) -> Describe:
    """The describing stage on a Ray cluster; results come in the order of the files.

    Args:
        model: of the library.
        address: of a cluster; "" for $RAY_ADDRESS, or one that is started on this computer and ended afterwards.
        stop: ends it; files that are being described are dropped.
    """
    try:
        import ray.data  # noqa: F401
    except ImportError:
        raise MissingExtraError("Ray", "scale") from None

    def describe(files: Iterator[PendingFile]) -> Iterator[Described]:
        with model.use() as opened:
            bundle = opened.bundle
        with _cluster(address):
            while some := list(itertools.islice(files, ROUND)):
                for file, row in zip(some, _results(some, bundle, address), strict=True):
                    if stop.is_set():
                        return
                    yield _received(file, row)

    return describe


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[None]:
    import ray

    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no telemetry
    # Ray replaces the handlers with which Ctrl-C stops indexing and keeps finished work.
    in_main_thread = threading.current_thread() is threading.main_thread()
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)} if in_main_thread else {}
    address = address or os.environ.get("RAY_ADDRESS", "")
    try:
        _reach(address)
        here = {} if address else {"include_dashboard": False, "object_store_memory": OBJECT_STORE}
        ray.init(address=address or None, log_to_driver=False, logging_level=logging.ERROR, **here)
    except (RuntimeError, ValueError, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise LibraryError(
            f"the Ray cluster cannot be reached ({why})",
            where=address,
            remedy="Check that it runs with `ray status`; without an address, Ray is started on this computer",
        ) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raise OSError within seconds if nothing listens there; Ray itself would try for minutes."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d{1,5})", address)
    if found is not None:
        with socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5):
            pass


def _results(files: Sequence[PendingFile], bundle: Bundle, address: str) -> Iterator[dict[str, Any]]:
    import ray
    from ray.exceptions import RayError

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False  # seetell shows its own
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context.execution_options.preserve_order = True
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    # Small blocks, so that results come steadily and every core has its share.
    blocks = max(1, min(len(files) // BATCH, max(4 * cores, len(files) // 256)))
    # File names are bytes; not all of them are text.
    rows = [{"path": os.fsencode(each.path), "size": each.size, "mtime": each.mtime} for each in files]
    results = ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        _Worker,
        fn_constructor_args=(os.path.abspath(bundle.path), bundle.manifest.fingerprint),
        batch_size=BATCH,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=cores),
    )
    try:
        yield from results.iter_rows()
    except RayError as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise LibraryError(
            f"encoding with Ray failed ({reason})",
            where=address,
            remedy="Check that all workers have seetell, the model and the images, and run it again: "
            "finished work is kept",
        ) from None


class _Worker:
    """Opens the model once, and describes batches of files."""

    def __init__(self, path: str, fingerprint: str) -> None:
        bundle = Bundle.open(path)
        if bundle.manifest.fingerprint != fingerprint:
            raise LibraryError("this computer has another model at the same path", where=path)
        self._model = Model(bundle, threads=1)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        columns = (batch[name].tolist() for name in ("path", "size", "mtime"))
        files = [PendingFile(os.fsdecode(path), size, mtime, b"") for path, size, mtime in zip(*columns, strict=True)]
        described = list(describe_files(self._model, iter(files)))
        embeddings = [each.description.embedding for each in described]
        vectors = [b"" if each is None else each.astype("<f4").tobytes() for each in embeddings]
        return {
            "result": np.array([_sent(each) for each in described], object),
            "vector": np.array(vectors, object),
        }


def _sent(described: Described) -> str:
    """All but the embedding, as JSON, which keeps every digit."""
    if described.reason is not None or described.facts is None:
        return json.dumps({"error": described.reason})
    description = described.description
    tags = [[tag.label, float(tag.confidence)] for tag in description.tags]
    return json.dumps({"caption": description.text, "tags": tags, "facts": astuple(described.facts)})


def _received(file: PendingFile, row: dict[str, Any]) -> Described:
    result = json.loads(row["result"])
    if "error" in result:
        return Described(file, None, Description(file.path, ImageError(result["error"], where=file.path)))
    nothing = np.zeros(0)
    captions = (Caption(result["caption"], (), nothing, None, None, 0.0, 0.0),) if result["caption"] else ()
    vector = np.frombuffer(row["vector"], "<f4") if row["vector"] else None
    tags = tuple(Tag(*tag) for tag in result["tags"])
    return Described(file, ImageFacts(*result["facts"]), Description(file.path, None, captions, tags, vector))
