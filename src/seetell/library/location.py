"""Where libraries are: the folder of a local one, the address of one on a Milvus server."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from seetell.errors import LibraryError

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class MilvusAddress:
    """The address of a Milvus server, and the name of a library on it."""

    host: str
    port: int
    name: str

    def __str__(self) -> str:
        return f"milvus://{self.host}:{self.port}/{self.name}"


def parse_server(path: AnyPath | None = None) -> MilvusAddress | None:
    """The server of a library `milvus://host:port/name`; None for a library in a folder."""
    address = _given(path)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\]", address):
        return None
    # `pathlib.Path` reduces the two slashes to one.
    slashes, host, port = r"[/\\]{1,2}", r"([\w.-]+|\[[0-9a-fA-F:]+\])", r"(?::(\d{1,5}))?"
    found = re.fullmatch(rf"milvus:{slashes}{host}{port}[/\\]([A-Za-z_]\w{{0,199}})", address, re.ASCII)
    if found is None:
        raise LibraryError(
            "this is not the address of a library on a server",
            where=address,
            remedy="Write milvus://host:19530/name (letters, digits and _ in the name), or name a folder",
        )
    return MilvusAddress(found[1].lower(), int(found[2] or 19530), found[3])


def library_folder(path: AnyPath | None = None) -> Path:
    """The folder of a library.

    Args:
        path: a folder, or `milvus://host:port/name`, whose database lies in the user's data folder. None:
            `$SEETELL_LIBRARY`, or else `library` in the user's data folder.

    Example:
        >>> library_folder("/data/holiday.library").name
        'holiday.library'
    """
    from platformdirs import user_data_path

    server, given = parse_server(path), _given(path)
    if server is not None:
        host = re.sub(r"[^a-z0-9.-]", "-", server.host)
        return user_data_path("seetell", appauthor=False) / "milvus" / f"{host}_{server.port}_{server.name}"
    if given:
        return Path(os.path.abspath(os.path.expanduser(given)))
    return user_data_path("seetell", appauthor=False) / "library"


def _given(path: AnyPath | None) -> str:
    return os.fspath(path) if path is not None else os.environ.get("SEETELL_LIBRARY", "")
