"""Where libraries are: the one that commands use unless told, and the lock that keeps indexers apart."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from seetell.library.records import LibraryError

HOLDER = "lock.holder"  # who indexes; left behind by a kill


def library_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a library: as told, or $SEETELL_LIBRARY, or `library` in the user's data folder."""
    told = os.fspath(path) if path is not None else os.environ.get("SEETELL_LIBRARY", "")
    if re.match(r"[a-z]{2,}:/", told):
        raise LibraryError(
            "a library is a folder; one on a server cannot be used", where=told, remedy="Name a folder on this computer"
        )
    if told:
        return Path(os.path.abspath(os.path.expanduser(told)))
    from platformdirs import user_data_path

    return user_data_path("seetell", appauthor=False) / "library"


@contextlib.contextmanager
def indexing(folder: Path) -> Iterator[None]:
    """Be the only one that indexes; the lock of a process that died is free."""
    from filelock import FileLock, Timeout

    holder = folder / HOLDER
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        with contextlib.suppress(OSError):
            who = holder.read_text(encoding="utf-8").strip()
            raise LibraryError(
                f"another seetell (process {who}) is indexing this library",
                where=str(folder),
                remedy="Wait for its end; searching works meanwhile",
            ) from None
        raise LibraryError("another seetell is indexing this library", where=str(folder)) from None
    except OSError as error:
        raise LibraryError(f"the library cannot be locked: {error.strerror}", where=str(folder)) from None
    try:
        with contextlib.suppress(OSError):  # only for the message above
            holder.write_text(f"{os.getpid()}\n", encoding="utf-8")
        yield
    finally:
        with contextlib.suppress(OSError):
            holder.unlink()
        lock.release()
