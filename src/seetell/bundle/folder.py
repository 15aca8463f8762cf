"""A bundle on disk: a folder with `bundle.json` and the files it lists, written in one step and read with suspicion.

Every byte that is used was hashed first, and it is those very bytes that are used: a file that changes after it was
verified changes nothing. Hashes tell damage, not malice; that a bundle cannot do harm rests on what it may hold: JSON,
UTF-8 text and ONNX graphs without references to other files (`graphs.py`).
"""

import contextlib
import dataclasses
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

from seetell.bundle.fields import MAKE_AGAIN, BundleError, canonical
from seetell.bundle.graphs import check_graph
from seetell.bundle.manifest import FORMAT, Manifest, Stored
from seetell.bundle.parts import is_file_name
from seetell.errors import SeetellError
from seetell.text import SPECIALS, Vocabulary

MANIFEST = "bundle.json"
LARGEST_MANIFEST = 4_000_000  # bytes
LARGEST_VOCABULARY = 64_000_000


@dataclass(frozen=True)
class Bundle:
    """A bundle's folder, verified."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Bundle":
        """Open a folder and verify all of it; refuse what is damaged, newer, or not a bundle."""
        folder = Path(path)
        bundle = cls(folder, read_manifest(folder))
        bundle.verify()
        return bundle

    @property
    def fingerprint(self) -> str:
        return self.manifest.fingerprint

    @property
    def size(self) -> int:
        """Of all its files, in bytes."""
        return sum(stored.size for stored in self.manifest.files.values())

    def verify(self) -> None:
        """Read every file, and refuse the bundle if one is not as it was when it was written."""
        for name in self.manifest.files:
            if name.endswith(".onnx"):
                self.graph(name)
            else:
                self.vocabulary(name)

    def graph(self, name: str) -> bytes:
        """The bytes of an ONNX graph, which stands alone."""
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
        """The bytes of a file, verified."""
        stored = self.manifest.files[name]
        data = _read_file(self.path / name, stored.size)
        if len(data) != stored.size or hashlib.sha256(data).hexdigest() != stored.sha256:
            _refuse(self.path / name, "this file is damaged: it is not what the bundle was made with")
        return data


def read_manifest(folder: Path) -> Manifest:
    """What a folder's `bundle.json` says; its files are not looked at."""
    path = folder / MANIFEST
    try:
        is_folder = folder.is_dir()
    except (OSError, ValueError):  # a NUL in the path
        is_folder = False
    if not is_folder:
        raise BundleError(
            "there is no such folder", where=str(folder), remedy="`seetell models` lists the models there are"
        )
    if not os.path.lexists(path):
        raise BundleError(
            f"this is not a bundle: it has no {MANIFEST}",
            where=str(folder),
            remedy="Name a folder that `seetell learn export` wrote",
        )
    raw = _read_file(path, LARGEST_MANIFEST)
    content = _parse(raw, path)
    version = content.get("format")
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT:
        raise BundleError(
            f"this bundle has format {version}, and this seetell reads {FORMAT}",
            where=str(path),
            remedy="Get a newer seetell: pip install --upgrade seetell",
        )
    if version != FORMAT or isinstance(version, bool):
        _refuse(path, "this is not a bundle's description: it names no format")
    unsigned = {key: value for key, value in content.items() if key != "checksum"}
    try:
        whole = raw == canonical(content)
        checksum = hashlib.sha256(canonical(unsigned)).hexdigest()
    except (ValueError, RecursionError):
        whole, checksum = False, ""
    if not whole or content.get("checksum") != checksum:
        _refuse(path, "the bundle's description is damaged, or was changed by hand")
    manifest = Manifest.from_json(content, str(path))
    for name, stored in manifest.files.items():
        if not is_file_name(name):
            _refuse(path, f"{name[:60]!a} cannot be the name of one of its files")
        if name.endswith(".txt") and stored.size > LARGEST_VOCABULARY:
            _refuse(path, f"{name} is too large for a vocabulary")
    return manifest


def write_bundle(
    out: str | os.PathLike[str], manifest: Manifest, files: Mapping[str, bytes], *, replace: bool = False
) -> Bundle:
    """Write a bundle in one step: afterwards there is a whole one at `out`, or what was there before.

    Args:
        out: its folder, which may not be there yet.
        manifest: all but the list of files, which is made here.
        files: the bytes of every file that the manifest names.
        replace: put it in the place of another bundle.
    """
    target = Path(out)
    manifest = dataclasses.replace(manifest, files={name: Stored.of(data) for name, data in files.items()})
    manifest.check(str(target))
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
    """Refuse a folder that a bundle cannot be written to, because of what is there."""
    if os.path.lexists(target) and not replace:
        raise BundleError(
            "there is something here already",
            where=str(target),
            remedy="Choose another folder, or add --replace where it is a bundle",
        )
    if os.path.lexists(target) and not os.path.lexists(target / MANIFEST):
        raise BundleError(
            "this is not a bundle, so it is not replaced by one", where=str(target), remedy="Choose another folder"
        )


def _read_file(path: Path, most: int) -> bytes:
    """The bytes of a regular file: not of a link, which could lead anywhere, or of a pipe, which could last."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            _refuse(path, "this is a link, or not a regular file, which a bundle may not have")
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags), "rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        _refuse(path, "this file is missing")
    except OSError as error:
        raise BundleError(f"this file cannot be read: {error.strerror}", where=str(path), remedy=MAKE_AGAIN) from None
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
        _refuse(path, "this is not a bundle's description, or a damaged one")
    return content


def _refuse(path: Path, problem: str) -> NoReturn:
    raise BundleError(problem, where=str(path), remedy=MAKE_AGAIN)
