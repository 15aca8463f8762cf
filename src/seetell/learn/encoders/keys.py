"""An image's key in the feature store: the hash of its bytes, so that identical files share a row."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from seetell.data import Record, Skipped
from seetell.errors import ImageError
from seetell.files import content_hash
from seetell.progress import SILENT, Progress
from seetell.util import usable_cores

_AT_ONCE = 1024  # images read ahead


def image_key(data: bytes) -> str:
    """32 hexadecimal digits for the bytes of an image file."""
    return content_hash(data).hex()


def image_keys(records: Sequence[Record], progress: Progress = SILENT) -> list[str | Skipped]:
    """For each record its image's key, or why it cannot be read."""
    keys: list[str | Skipped] = []
    with (
        progress.task("Reading images", total=len(records), unit="images") as task,
        ThreadPoolExecutor(usable_cores()) as pool,
    ):
        for some in _chunks(records, _AT_ONCE):
            keys.extend(pool.map(_key, some))
            task.advance(len(some))
    return keys


def skipped(error: ImageError) -> Skipped:
    """An image's error as a line of a report."""
    return Skipped(error.where, f"{error.problem}. {error.remedy}" if error.remedy else error.problem)


def _key(record: Record) -> str | Skipped:
    try:
        return image_key(record.image.read())
    except ImageError as error:
        return skipped(error)


def _chunks(records: Sequence[Record], size: int) -> Iterator[Sequence[Record]]:
    for start in range(0, len(records), size):
        yield records[start : start + size]
