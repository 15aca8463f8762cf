"""The feature store: raw features of images, computed once, kept on disk, read by memory map.

A store is a folder for one encoder (its weights) × preparation × layout × precision, named after them:

- `store.json`: a description of the content
- `values.bin`: the rows, end to end, little-endian
- `rows.txt`: one line for each batch of rows: its first row, their number, the checksum of their values, their keys
  (the hash of each image's bytes), and a checksum of the line

A batch's values are on disk before its line is. So at whatever moment a writer is killed, a complete line has its
values, and the next writer truncates everything after it. Writers take a lock for each batch, so that several can add
to a store at once. Rows never change, and readers need no lock.
"""

import json
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from seetell.data import Record, Skipped
from seetell.errors import ImageError, SeetellError
from seetell.files import write_file
from seetell.images import decode
from seetell.learn.encoders.keys import image_keys
from seetell.learn.encoders.store_spec import StoreSpec
from seetell.progress import SILENT, Progress

_LOCK_SECONDS = 60


class FeatureStore:
    """Rows of features by image; opened by `open` or `open_or_create`.

    Example:
        >>> store = FeatureStore.open(folder)
        >>> rows = store.rows_for(dataset.split("train"))
        >>> store.tensor(rows[:64]).shape
        torch.Size([64, 81, 1280])
    """

    def __init__(self, folder: Path, spec: StoreSpec) -> None:
        self.folder = folder
        self.spec = spec
        self._index: dict[str, int] = {}  # key → row
        self._checksums: list[tuple[int, int, int]] = []  # of each batch: first row, rows, CRC-32
        self._read_to = 0  # bytes of rows.txt that the index has
        self._dtype = np.dtype(spec.precision).newbyteorder("<")
        self._mapped: NDArray[Any] = np.empty((0, *spec.layout.shape), self._dtype)
        self.refresh()

    @classmethod
    def open(cls, folder: Path | str) -> "FeatureStore":
        """Open an existing store, for reading."""
        path = Path(folder) / "store.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SeetellError(
                "there is no feature store here",
                where=str(folder),
                remedy="Make it with: seetell learn features DATASET --encoder E --layout L",
            ) from None
        except ValueError as error:
            raise SeetellError(f"this is not JSON ({error})", where=str(path)) from None
        return cls(path.parent, StoreSpec.from_json(values, where=str(path)))

    @classmethod
    def open_or_create(cls, root: Path, spec: StoreSpec) -> "FeatureStore":
        """Open the store of these features under `root` for reading and adding, or create it."""
        folder = root / spec.folder
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder), _writing(folder):
            for unfinished in folder.glob(".store.json.*.part"):  # of a process that was killed
                unfinished.unlink()
            if not (folder / "store.json").exists():
                text = json.dumps(spec.to_json(), indent=2, ensure_ascii=False) + "\n"
                write_file(folder / "store.json", text, sync=True)
            store = cls(folder, spec)
            store._truncate()
        return store

    def __len__(self) -> int:
        """How many images have a row."""
        return len(self._index)

    def __contains__(self, key: str) -> bool:
        return key in self._index

    @property
    def bytes_on_disk(self) -> int:
        return len(self) * self.spec.row_bytes

    def refresh(self) -> None:
        """Read what other processes have added."""
        rows_path, values_path = self.folder / "rows.txt", self.folder / "values.bin"
        if not rows_path.exists() or rows_path.stat().st_size == self._read_to:
            return
        available = values_path.stat().st_size // self.spec.row_bytes if values_path.exists() else 0
        with rows_path.open("rb") as file:
            file.seek(self._read_to)
            count = len(self)
            for line in file:
                batch = _parse(line)
                if batch is None or batch.first != count or count + len(batch.keys) > available:
                    break
                self._index.update(zip(batch.keys, range(count, count + len(batch.keys)), strict=True))
                self._checksums.append((count, len(batch.keys), batch.checksum))
                self._read_to += len(line)
                count += len(batch.keys)

    @property
    def values(self) -> NDArray[Any]:
        """All rows, memory-mapped: rows × the layout's shape."""
        if len(self._mapped) < len(self):
            shape = (len(self), *self.spec.layout.shape)
            self._mapped = np.asarray(np.memmap(self.folder / "values.bin", self._dtype, "r", shape=shape))
        return self._mapped

    def append(self, keys: Sequence[str], values: NDArray[Any]) -> None:
        """Add rows: all of them or, if the process dies, none. Known keys are skipped.

        Args:
            keys: of the images.
            values: images × the layout's shape; converted to the store's precision.
        """
        with _locked(self.folder):
            self.refresh()
            self._truncate()
            new = {key: position for position, key in enumerate(keys) if key not in self._index}
            if not new:
                return
            chosen = values if len(new) == len(keys) else values[list(new.values())]
            rows = np.ascontiguousarray(self._convert(chosen))
            batch = _Batch(len(self), tuple(new), zlib.crc32(rows.data))
            with _writing(self.folder):
                _append(self.folder / "values.bin", rows.data)
                _append(self.folder / "rows.txt", batch.line())
            self.refresh()

    def rows(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The rows of some keys; −1 where there is none."""
        return np.array([self._index.get(key, -1) for key in keys], np.int64)

    def rows_for(self, records: Sequence[Record], *, progress: Progress = SILENT) -> NDArray[np.int64]:
        """The rows of some records' images; −1 for an image that cannot be read.

        Raises:
            SeetellError: an image that can be read has no row.
        """
        keys = image_keys(records, progress)
        rows = self.rows(["" if isinstance(key, Skipped) else key for key in keys])
        lacking = [i for i, key in enumerate(keys) if rows[i] < 0 and not isinstance(key, Skipped)]
        if any(_decodes(records[i]) for i in lacking):
            raise SeetellError(
                f"{len(lacking):,} of {len(records):,} images have no {self.spec.layout.layout} features "
                f"({records[lacking[0]].image.name} for one)",
                where=str(self.folder),
                remedy=f"Make them with: seetell learn features DATASET --encoder {self.spec.encoder} "
                f"--layout {self.spec.layout.layout}"
                + self.spec.view_options
                + (f" --precision {self.spec.precision}" if self.spec.precision != "float16" else "")
                + f" --store {self.folder.parent}",
            )
        return rows

    def gather(self, rows: NDArray[np.int64] | Sequence[int]) -> NDArray[Any]:
        """The values of some rows, in the store's precision: rows × the layout's shape."""
        wanted = np.asarray(rows, np.int64)
        if wanted.size and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"the store's rows are 0 to {len(self) - 1}")
        values: NDArray[Any] = self.values[wanted]
        return values

    def tensor(self, rows: NDArray[np.int64] | Sequence[int]) -> torch.Tensor:
        """The same as a tensor of 32-bit floats; PyTorch converts faster than NumPy."""
        return torch.from_numpy(self.gather(rows)).float()

    def verify(self) -> list[str]:
        """Compare every batch with its checksum, and return a list of the damaged ones."""
        return [
            f"rows {first} to {first + count - 1} are damaged"
            for first, count, checksum in self._checksums
            if zlib.crc32(self.values[first : first + count].data) != checksum
        ]

    def _convert(self, values: NDArray[Any]) -> NDArray[Any]:
        if values.shape[1:] != self.spec.layout.shape:
            raise ValueError(f"rows of shape {self.spec.layout.shape} are expected, not {values.shape[1:]}")
        given = torch.from_numpy(values)
        largest = max(abs(float(bound)) for bound in given.aminmax())  # not a number if any value is not
        if not math.isfinite(largest):
            raise SeetellError(
                "the network gave values that are not finite numbers",
                where=str(self.folder),
                remedy="The encoder's weights are probably damaged",
            )
        if largest > float(np.finfo(self.spec.precision).max):
            raise SeetellError(
                f"features of up to {largest:,.0f} do not fit half precision (65,504 at most)",
                where=str(self.folder),
                remedy="Use --precision float32",
            )
        # PyTorch converts ten times as fast as NumPy.
        return given.to(getattr(torch, self.spec.precision)).numpy().astype(self._dtype, copy=False)

    def _truncate(self) -> None:
        """Remove what a killed writer left after the last complete batch; only under the lock."""
        for name, size in (("rows.txt", self._read_to), ("values.bin", self.bytes_on_disk)):
            path = self.folder / name
            if path.exists() and path.stat().st_size > size:
                os.truncate(path, size)


@dataclass(frozen=True, slots=True)
class _Batch:
    """A line of rows.txt."""

    first: int
    keys: tuple[str, ...]
    checksum: int  # CRC-32 of the values

    def line(self) -> bytes:
        text = f"{self.first} {len(self.keys)} {self.checksum:08x} {' '.join(self.keys)}".encode("ascii")
        return text + f" {zlib.crc32(text):08x}\n".encode("ascii")


def _parse(line: bytes) -> _Batch | None:
    """A line of rows.txt, or None if it is incomplete."""
    text, _, checksum = line.rpartition(b" ")
    if checksum != f"{zlib.crc32(text):08x}\n".encode("ascii"):
        return None
    first, count, values, *keys = text.decode("ascii").split(" ")
    return _Batch(int(first), tuple(keys), int(values, 16)) if len(keys) == int(count) else None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the store's lock for adding. The system releases the lock of a process that died."""
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=_LOCK_SECONDS)
    except Timeout:
        raise SeetellError(
            f"another process has held this feature store for {_LOCK_SECONDS} seconds",
            where=str(folder),
            remedy="Wait for it, or stop it",
        ) from None
    try:
        yield
    finally:
        lock.release()


def _append(path: Path, data: bytes | memoryview) -> None:
    """Append to a file, and return when the data is on disk."""
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SeetellError(
            f"the features cannot be written ({error.strerror or error})",
            where=str(folder),
            remedy="Choose another folder with --store",
        ) from error


def _decodes(record: Record) -> bool:
    try:
        decode(record.image.read(), name=record.image.name)
    except ImageError:
        return False
    return True
