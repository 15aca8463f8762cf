"""The lock that keeps two processes from indexing the same library at once."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from seetell.errors import LibraryError

HOLDER = "lock.holder"  # the process id of the indexer; still there after a kill


@contextlib.contextmanager
def index_lock(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock of a library; a process that dies releases it.

    Args:
        folder: of the library.
        wait: for how many seconds to wait for another process.

    Raises:
        LibraryError: another process holds it.
    """
    from filelock import FileLock, Timeout

    holder = folder / HOLDER
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        with contextlib.suppress(OSError):
            process = holder.read_text(encoding="utf-8").strip()
            raise LibraryError(
                f"another seetell (process {process}) is indexing this library",
                where=str(folder),
                remedy="Wait until it has finished; searching works meanwhile",
            ) from None
        raise LibraryError("another seetell is indexing this library", where=str(folder)) from None
    except OSError as error:
        raise LibraryError(f"the library cannot be locked: {error.strerror}", where=str(folder)) from None
    try:
        with contextlib.suppress(OSError):  # only used for the message above
            holder.write_text(f"{os.getpid()}\n", encoding="utf-8")
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink()
        lock.release()
