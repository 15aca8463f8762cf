"""A bundle on disk: a folder with `bundle.json` and the files it lists, written atomically and read with suspicion.

Every byte is hashed before it is used, and exactly those bytes are used: a file that changes after it was verified
changes nothing. Hashes detect damage, not malice; that a bundle cannot do harm rests on what it may contain: JSON,
UTF-8 text and ONNX graphs without references to other files (`graphs.py`).
"""

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from seetell.bundle.graphs import check_graph
from seetell.bundle.manifest import FORMAT, Manifest, canonical_json
from seetell.bundle.schema import EXPORT_AGAIN, StoredFile
from seetell.errors import BundleError, SeetellError
from seetell.text import SPECIALS, Vocabulary

MANIFEST = "bundle.json"
LARGEST_MANIFEST = 4_000_000  # bytes


@dataclass(frozen=True)
class Bundle:
    """A verified bundle: its folder and its manifest."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Bundle":
        """Open a folder and verify every file; refuse what is damaged, of another format version, or not a bundle."""
        folder = Path(path)
        bundle = cls(folder, read_manifest(folder))
        bundle.verify()
        return bundle

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(stored.size for stored in self.manifest.files.values())

    def verify(self) -> None:
        """Read every file, and refuse the bundle if one has changed since it was written."""
        for name in self.manifest.files:
            if name.endswith(".onnx"):
                self.graph(name)
            else:
                self.vocabulary(name)

    def graph(self, name: str) -> bytes:
        """The bytes of an ONNX graph, checked to be self-contained."""
        data = self.read(name)
        check_graph(data, str(self.path / name))
        return data

    def vocabulary(self, name: str) -> Vocabulary:
        """The words or labels in a file."""
        data = self.read(name)
        try:
            *lines, end = data.decode("utf-8").split("\n")
            specials = [line for line in lines[: len(SPECIALS)] if line in SPECIALS]
            if end or lines[: len(specials)] != specials:
                raise ValueError
            return Vocabulary(lines[len(specials) :], specials)
        except (SeetellError, ValueError):
            _refuse(self.path / name, "this is not a vocabulary")

    def read(self, name: str) -> bytes:
        """The verified bytes of a file."""
        stored = self.manifest.files[name]
        data = _read_file(self.path / name, stored.size)
        if len(data) != stored.size or hashlib.sha256(data).hexdigest() != stored.sha256:
            _refuse(self.path / name, "this file is damaged: its content has changed since the bundle was written")
        return data


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's `bundle.json`, without opening the files it lists."""
    path = folder / MANIFEST
    try:
        is_folder = folder.is_dir()
    except (OSError, ValueError):  # a NUL in the path
        is_folder = False
    if not is_folder:
        raise BundleError(
            "there is no such folder", where=str(folder), remedy="`seetell models` lists the installed models"
        )
    if not os.path.lexists(path):
        raise BundleError(
            f"this is not a bundle: it has no {MANIFEST}",
            where=str(folder),
            remedy="Name a folder that `seetell learn export` wrote",
        )
    raw = _read_file(path, LARGEST_MANIFEST)
    content = _parse(raw, path)
    _check_format(content.get("format"), path)
    unsigned = {key: value for key, value in content.items() if key != "checksum"}
    try:
        whole = raw == canonical_json(content)
        checksum = hashlib.sha256(canonical_json(unsigned)).hexdigest()
    except (ValueError, RecursionError):
        whole, checksum = False, ""
    if not whole or content.get("checksum") != checksum:
        _refuse(path, "the manifest is damaged, or was edited by hand")
    return Manifest.from_json(content, str(path))


def write_bundle(
    out: str | os.PathLike[str], manifest: Manifest, files: Mapping[str, bytes], *, replace: bool = False
) -> Bundle:
    """Write a bundle atomically: afterwards `out` holds the complete new bundle, or what was there before.

    Args:
        out: the folder, which need not exist.
        manifest: everything except `files`, which is filled in here.
        files: the bytes of every file that the manifest names.
        replace: replace an existing bundle.
    """
    target = Path(out)
    listed = {name: StoredFile(len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
    manifest = msgspec.structs.replace(manifest, files=listed).validated(str(target))
    check_target(target, replace=replace)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    old = part.with_suffix(".old")
    try:
        part.mkdir(parents=True)
        for name, data in {**files, MANIFEST: manifest.to_json()}.items():
            _write_file(part / name, data)
        Bundle.open(part)
        if replace and os.path.lexists(target):
            os.replace(target, old)
        os.replace(part, target)
    except OSError as error:
        if os.path.lexists(old) and not os.path.lexists(target):
            os.replace(old, target)
        raise BundleError(f"the bundle cannot be written: {error.strerror}", where=str(target)) from error
    finally:
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
    return Bundle(target, manifest)


def check_target(target: Path, *, replace: bool) -> None:
    """Refuse to write a bundle where something else is."""
    if os.path.lexists(target) and not replace:
        raise BundleError(
            "this path already exists",
            where=str(target),
            remedy="Choose another folder, or add --replace if it is a bundle",
        )
    if os.path.lexists(target) and not os.path.lexists(target / MANIFEST):
        raise BundleError(
            "this is not a bundle, so a bundle does not replace it",
            where=str(target),
            remedy="Choose another folder",
        )


def _check_format(version: object, path: Path) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        _refuse(path, "this is not a bundle's manifest: it has no format number")
    if version > FORMAT:
        raise BundleError(
            f"this bundle has format {version:,}, and this version of seetell reads format {FORMAT}",
            where=str(path),
            remedy="Upgrade seetell: pip install --upgrade seetell",
        )
    if version < FORMAT:
        raise BundleError(
            f"this bundle has the old format {version}, and this version of seetell reads format {FORMAT}",
            where=str(path),
            remedy="Export it again from its training run: seetell learn export",
        )


def _read_file(path: Path, most: int) -> bytes:
    """The bytes of a regular file; links, which could lead anywhere, and pipes, which could block, are refused."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            _refuse(path, "this is a link, or not a regular file, which a bundle may not contain")
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags), "rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        _refuse(path, "this file is missing")
    except OSError as error:
        raise BundleError(f"this file cannot be read: {error.strerror}", where=str(path), remedy=EXPORT_AGAIN) from None
    if len(data) > most:
        _refuse(path, "this file is larger than it may be")
    return data


def _write_file(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _parse(raw: bytes, path: Path) -> dict[str, Any]:
    def constant(name: str) -> NoReturn:
        raise ValueError(name)

    content: object = None
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(raw.decode("utf-8"), parse_constant=constant)
    if not isinstance(content, dict):
        _refuse(path, "this is not a bundle's manifest, or a damaged one")
    return content


def _refuse(path: Path, problem: str) -> NoReturn:
    raise BundleError(problem, where=str(path), remedy=EXPORT_AGAIN)
