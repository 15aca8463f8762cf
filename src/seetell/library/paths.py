"""Where libraries are: the one that commands use unless told, those on a server; the lock that keeps indexers apart."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seetell.library.records import LibraryError

HOLDER = "lock.holder"  # who indexes; left behind by a kill


@dataclass(frozen=True, slots=True)
class Server:
    """A Milvus server, and the name of a library on it."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"milvus://{self.host}:{self.port}/{self.name}"


def server_of(path: str | os.PathLike[str] | None = None) -> Server | None:
    """The server of a library `milvus://host:port/name`; None for one that is a folder."""
    told = _told(path)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\]", told):
        return None
    # `Path` leaves one slash of two.
    slashes, host, port = r"[/\\]{1,2}", r"([\w.-]+|\[[0-9a-fA-F:]+\])", r"(?::(\d{1,5}))?"
    found = re.fullmatch(rf"milvus:{slashes}{host}{port}[/\\]([A-Za-z_]\w{{0,199}})", told, re.ASCII)
    if found is None:
        raise LibraryError(
            "this is not the address of a library on a server",
            where=told,
            remedy="Write milvus://host:19530/name (letters, digits and _ in the name), or name a folder",
        )
    return Server(found[1].lower(), int(found[2] or 19530), found[3])


def library_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a library: as told, or $SEETELL_LIBRARY, or `library` in the user's data folder. One on a server
    has a folder, too, among the user's data."""
    from platformdirs import user_data_path

    server, told = server_of(path), _told(path)
    if server is not None:
        host = re.sub(r"[^a-z0-9.-]", "-", server.host)
        return user_data_path("seetell", appauthor=False) / "milvus" / f"{host}_{server.port}_{server.name}"
    if told:
        return Path(os.path.abspath(os.path.expanduser(told)))
    return user_data_path("seetell", appauthor=False) / "library"


def _told(path: str | os.PathLike[str] | None) -> str:
    return os.fspath(path) if path is not None else os.environ.get("SEETELL_LIBRARY", "")


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
