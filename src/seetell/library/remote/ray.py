"""New images encoded by many computers at once, with Ray Data.

Whoever owns the library lists and hashes files, and writes what comes back, in order and in the same transactions as
without Ray; workers read the files of new images, and open the bundle once each. All of them must see images and
bundle at the same paths.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from seetell.bundle import Bundle
from seetell.errors import ImageError, MissingExtraError
from seetell.library.indexing.pending import Facts, PendingFile
from seetell.library.records import LibraryError
from seetell.runtime import Caption, Description, Model, Tag

ROUND = 32_768  # images that are hashed and handed out at once; workers start anew with each round
AT_ONCE = 32  # images that a worker gets at once
STORE = 256_000_000  # bytes that a cluster on this computer may hold between processes: names and results are small


def describer(
    find_bundle: Callable[[], Bundle], address: str, stop: threading.Event
) -> Callable[[Iterator[PendingFile]], Iterator[Description]]:
    """What stands in for `Model.describe`: results in the order of the images, whose `facts` are filled in.

    Args:
        address: of a cluster; "" for $RAY_ADDRESS, or one that is started on this computer, and ended afterwards.
        stop: ends it; what is under way is dropped.
    """
    try:
        import ray.data  # noqa: F401
    except ImportError:
        raise MissingExtraError("Ray", "scale") from None

    def describe(files: Iterator[PendingFile]) -> Iterator[Description]:
        bundle = find_bundle()
        with _cluster(address):
            while some := list(itertools.islice(files, ROUND)):
                for file, row in zip(some, _told(some, bundle, address), strict=True):
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
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    # Ray puts its own in the place of what makes Ctrl-C keep what is done.
    ours = threading.current_thread() is threading.main_thread()
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)} if ours else {}
    address = address or os.environ.get("RAY_ADDRESS", "")
    try:
        _reach(address)
        here = {} if address else {"include_dashboard": False, "object_store_memory": STORE}
        ray.init(address=address or None, log_to_driver=False, logging_level=logging.ERROR, **here)
    except (RuntimeError, ValueError, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise LibraryError(
            f"the Ray cluster cannot be reached ({why})",
            where=address,
            remedy="See that it runs, with `ray status`; without an address, Ray is started on this computer",
        ) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Raise OSError within seconds if nobody listens; Ray itself would try for minutes."""
    found = re.fullmatch(r"(?:ray://)?(.+):(\d{1,5})", address)
    if found is not None:
        with socket.create_connection((found[1].strip("[]"), int(found[2])), timeout=5):
            pass


def _told(files: Sequence[PendingFile], bundle: Bundle, address: str) -> Iterator[dict[str, Any]]:
    import ray
    from ray.exceptions import RayError

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False  # ours is shown
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context.execution_options.preserve_order = True
    cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
    # Small blocks, so that results come steadily and every core has its share.
    blocks = max(1, min(len(files) // AT_ONCE, max(4 * cores, len(files) // 256)))
    rows = [
        # Names of files are bytes; not all of them are text.
        {"path": os.fsencode(each.path), "at_least": each.at_least, "size": each.size, "mtime": each.mtime}
        for each in files
    ]
    told = ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        _Worker,
        fn_constructor_args=(os.path.abspath(bundle.path), bundle.manifest.fingerprint),
        batch_size=AT_ONCE,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=cores),
    )
    try:
        yield from told.iter_rows()
    except RayError as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise LibraryError(
            f"encoding with Ray failed ({why})",
            where=address,
            remedy="See that all workers have seetell, the bundle and the images; run it again: what is done stays",
        ) from None


class _Worker:
    """Opens the bundle once, and describes batches of images."""

    def __init__(self, bundle: str, fingerprint: str) -> None:
        opened = Bundle.open(bundle)
        if opened.manifest.fingerprint != fingerprint:
            raise LibraryError("this computer has another bundle at the same path", where=bundle)
        self._suite = Model(opened, threads=1)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        columns = (batch[name].tolist() for name in ("path", "at_least", "size", "mtime"))
        files = [
            PendingFile(os.fsdecode(path), at_least, size=size, mtime=mtime)
            for path, at_least, size, mtime in zip(*columns, strict=True)
        ]
        said = list(self._suite.describe(iter(files)))
        texts = [_sent(file, each) for file, each in zip(files, said, strict=True)]
        vectors = [b"" if each.embedding is None else each.embedding.astype("<f4").tobytes() for each in said]
        return {"said": np.array(texts, object), "vector": np.array(vectors, object)}


def _sent(file: PendingFile, said: Description) -> str:
    """All but the embedding, as JSON, which keeps every digit."""
    if said.error is not None or file.facts is None:
        return json.dumps({"error": said.error.problem if said.error is not None else "it cannot be read"})
    tags = [[tag.label, float(tag.confidence)] for tag in said.tags]
    return json.dumps({"caption": said.text, "tags": tags, "facts": astuple(file.facts)})


def _received(file: PendingFile, row: dict[str, Any]) -> Description:
    said = json.loads(row["said"])
    if "error" in said:
        return Description(file.path, ImageError(said["error"], where=file.path))
    file.facts = Facts(*said["facts"])
    nothing = np.zeros(0)
    captions = (Caption(said["caption"], (), nothing, None, None, 0.0, 0.0),) if said["caption"] else ()
    vector = np.frombuffer(row["vector"], "<f4") if row["vector"] else None
    return Description(file.path, None, captions, tuple(Tag(*tag) for tag in said["tags"]), vector)
