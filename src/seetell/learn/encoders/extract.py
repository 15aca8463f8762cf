"""Encode a dataset's images into feature stores.

After a kill, a second run makes the same batches as the first would have made, and so gives the same bytes: images that
are not stored yet are taken in the dataset's order, a fixed number at a time through the network, and a fixed number of
these batches at a time into the stores.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seetell.data import Record, Skipped
from seetell.images import Preparation
from seetell.learn.encoders.encoder import Encoder
from seetell.learn.encoders.keys import image_keys
from seetell.learn.encoders.layouts import check_crops, check_layout
from seetell.learn.encoders.pipeline import Encoded, EncodingPipeline, single_threaded
from seetell.learn.encoders.space import check_space, default_root, size_text
from seetell.learn.encoders.store import FeatureStore
from seetell.learn.encoders.store_spec import Precision, StoreSpec
from seetell.progress import SILENT, Progress

_IMAGES_PER_COMMIT = 64  # written to disk at once, rounded up to whole batches


@dataclass(frozen=True, slots=True)
class EncodingReport:
    """What `encode_dataset` did.

    Args:
        images: the number of records.
        new: images that were encoded now.
        present: records whose image was in the stores already, or is the same as another record's.
        unreadable: images that were skipped, and why.
        stores: by layout.
        seconds: how long it took.
    """

    images: int
    new: int
    present: int
    unreadable: tuple[Skipped, ...]
    stores: Mapping[str, FeatureStore]
    seconds: float


def encode_dataset(
    records: Sequence[Record],
    encoder: Encoder,
    layouts: Sequence[str],
    *,
    root: Path | None = None,
    preparation: Preparation | None = None,
    precision: Precision = "float16",
    mirrored: bool = False,
    batch_size: int | None = None,
    threads: int | None = None,
    device: str = "auto",
    progress: Progress = SILENT,
) -> EncodingReport:
    """Encode every image that is not in the stores yet, in one pass for all layouts.

    Args:
        records: any number; an image that occurs several times is encoded once.
        encoder: as loaded.
        layouts: which to store.
        root: the folder of the stores; None: `default_root()`.
        preparation: None: the encoder's own, with one crop.
        precision: of the values on disk.
        mirrored: encode the mirrored images, into stores of their own.
        batch_size, threads, device: see `EncodingPipeline`.
        progress: also gets a message about the disk space needed, and one if the network can only run slowly.

    Example:
        >>> records, encoder = open_dataset("scenes:8").records, Encoder.load("test_efficientnet@random")
        >>> report = encode_dataset(records, encoder, ["pooled"], root=Path("features"))
        >>> len(report.stores["pooled"])
        8
    """
    began = time.monotonic()
    layouts = tuple(dict.fromkeys(layouts))
    preparation = preparation or encoder.preparation()
    stores = open_stores(encoder, layouts, root or default_root(), preparation, precision, mirrored=mirrored)
    keys = image_keys(records, progress)
    pending = _pending(records, keys, stores)
    _announce(stores, pending, progress)

    bad: dict[str, Skipped] = {}
    if pending:
        pipeline = EncodingPipeline(
            encoder,
            layouts,
            preparation,
            mirrored=mirrored,
            batch_size=batch_size,
            threads=threads,
            device=device,
            progress=progress,
        )
        bad = _encode(pipeline, pending, stores, len(records), progress)
    unreadable = tuple(_unreadable(records, keys, bad))
    new = len(pending) - len(bad)
    present = len(records) - len(unreadable) - new
    return EncodingReport(len(records), new, present, unreadable, stores, time.monotonic() - began)


def _pending(
    records: Sequence[Record], keys: Sequence[str | Skipped], stores: Mapping[str, FeatureStore]
) -> dict[str, Record]:
    """The images that are missing from some store, by key."""
    pending: dict[str, Record] = {}
    for record, key in zip(records, keys, strict=True):
        if isinstance(key, str) and not all(key in store for store in stores.values()):
            pending.setdefault(key, record)
    return pending


def _encode(
    pipeline: EncodingPipeline,
    pending: Mapping[str, Record],
    stores: Mapping[str, FeatureStore],
    total: int,
    progress: Progress,
) -> dict[str, Skipped]:
    """Encode images into the stores; returns those that could not be read."""
    bad: dict[str, Skipped] = {}
    at_once = -(-_IMAGES_PER_COMMIT // pipeline.batch_size)
    with progress.task("Encoding", total=total, unit="images", skipped=total - len(pending)) as task:
        for commit in _commits(pipeline.run(pending.items()), at_once):
            for layout, values in commit.values.items():
                stores[layout].append(commit.keys, values)
            bad |= commit.unreadable
            note = f"{len(bad):,} unreadable" if bad else None
            task.advance(len(commit.keys) + len(commit.unreadable), note=note)
    return bad


def open_stores(
    encoder: Encoder,
    layouts: Sequence[str],
    root: Path,
    preparation: Preparation,
    precision: Precision = "float16",
    *,
    mirrored: bool = False,
) -> dict[str, FeatureStore]:
    """The stores of an encoder's layouts, created where they do not exist."""
    for layout in layouts:
        check_layout(layout)
    check_crops(layouts, preparation.crop_count)
    fingerprint = encoder.fingerprint()
    with single_threaded():
        specs = encoder.layout_specs(layouts, preparation.size)
    stores = {}
    for layout, spec in specs.items():
        described = StoreSpec(str(encoder.name), fingerprint, preparation, spec, precision, encoder.notes, mirrored)
        stores[layout] = FeatureStore.open_or_create(root, described)
    return stores


def _announce(stores: Mapping[str, FeatureStore], pending: Iterable[str], progress: Progress) -> None:
    """Report what will be written, and refuse if the disk is too small."""
    needed = 0
    for layout, store in stores.items():
        count = sum(key not in store for key in pending)
        size = count * store.spec.row_bytes
        needed += size
        if count:
            each = size_text(store.spec.row_bytes)
            progress.message(f"{layout}: {count:,} images × {each} = {size_text(size)} in {store.folder}")
    if needed:
        check_space(next(iter(stores.values())).folder, needed)


def _commits(batches: Iterable[Encoded], at_once: int) -> Iterator[Encoded]:
    """Join the pipeline's batches into what is stored at once."""
    source = iter(batches)
    while some := list(islice(source, at_once)):
        commit = Encoded()
        parts: dict[str, list[NDArray[np.float32]]] = {}
        for batch in some:
            commit.keys += batch.keys
            commit.unreadable |= batch.unreadable
            for layout, values in batch.values.items():
                parts.setdefault(layout, []).append(values)
        commit.values = {layout: np.concatenate(listed) for layout, listed in parts.items()}
        yield commit


def _unreadable(
    records: Sequence[Record], keys: Sequence[str | Skipped], bad: Mapping[str, Skipped]
) -> Iterator[Skipped]:
    """Every record without features, in the dataset's order: images that cannot be read or decoded."""
    for record, key in zip(records, keys, strict=True):
        if isinstance(key, Skipped):
            yield key
        elif key in bad:
            yield Skipped(record.image.name, bad[key].reason)
