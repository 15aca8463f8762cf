"""Where bundles are: those that came with the package, and those the user added to their data folder.

Built-in bundles lie in `builtin/NAME` inside the package. "builtin" means the one that is used when none is named."""

import difflib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import seetell
from seetell.bundle.fields import BundleError
from seetell.bundle.folder import MANIFEST, Bundle, read_manifest, write_bundle
from seetell.bundle.manifest import check_name

BUILTIN = "builtin"


@dataclass(frozen=True)
class Place:
    """A bundle's name, and the folder where it is or would be."""

    name: str
    path: Path
    builtin: bool = False


def user_folder() -> Path:
    """Where added bundles are: $SEETELL_MODELS, or `bundles` in the user's data folder."""
    if told := os.environ.get("SEETELL_MODELS"):
        return Path(told).expanduser()
    from platformdirs import user_data_path

    return user_data_path("seetell", appauthor=False) / "bundles"


def builtin_folder() -> Path:
    return Path(seetell.__file__).parent / BUILTIN


def installed() -> list[Place]:
    """Every bundle that has a name here, built-in ones first; none of them is opened."""
    return _inside(builtin_folder(), builtin=True) + _inside(user_folder())


def find(name_or_path: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a bundle: by name, by path, or the built-in one. A name comes before a folder of that name here,
    and a user's bundle before a built-in one."""
    wanted = BUILTIN if name_or_path is None else os.fspath(name_or_path)
    if wanted == BUILTIN:
        return _default()
    places = {place.name: place.path for place in installed()}
    if wanted in places:
        return places[wanted]
    if os.path.isdir(wanted) or os.sep in wanted or "/" in wanted:
        return Path(wanted)
    near = difflib.get_close_matches(wanted, places, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(places) or 'none'}"
    raise BundleError(f"no bundle is called {wanted!r}, and no folder either", remedy=hint)


def add(path: str | os.PathLike[str], name: str | None = None, *, replace: bool = False) -> Place:
    """Copy a bundle, once it is verified, to where it can be called by its name."""
    bundle = Bundle.open(path)
    name = check_name(name or bundle.manifest.name, str(path))
    if name in (BUILTIN, *(place.name for place in installed() if place.builtin)):
        raise BundleError("a built-in bundle has this name already", where=name, remedy="Choose another with --name")
    target = user_folder() / name
    if os.path.lexists(target) and not replace:
        raise BundleError(
            "there is a bundle of this name already", where=name, remedy="Add --replace, or choose another with --name"
        )
    files = {each: bundle.read(each) for each in bundle.manifest.files}
    write_bundle(target, bundle.manifest, files, replace=replace)
    return Place(name, target)


def remove(name: str) -> Place:
    """Delete a bundle that was added."""
    for place in _inside(user_folder()):
        if place.name == name:
            if place.path.is_symlink():
                place.path.unlink()
            else:
                # Out of sight first: a kill half-way leaves no half of a bundle under its name.
                gone = place.path.with_name(f".{name}.removed")
                shutil.rmtree(gone, ignore_errors=True)
                os.replace(place.path, gone)
                shutil.rmtree(gone)
            return place
    if name in (BUILTIN, *(place.name for place in installed())):
        raise BundleError("a built-in bundle belongs to the package and is not removed", where=name)
    raise BundleError(f"no bundle is called {name!r}", remedy="`seetell models` lists them")


def _inside(folder: Path, *, builtin: bool = False) -> list[Place]:
    if not folder.is_dir():
        return []
    found = sorted(each for each in folder.iterdir() if (each / MANIFEST).is_file())
    return [Place(each.name, each, builtin) for each in found]


def _default() -> Path:
    """Of several built-in bundles the one that does most, and of equals the first by name."""
    places = _inside(builtin_folder(), builtin=True)
    if not places:
        raise BundleError(
            "this copy of seetell has no built-in bundle",
            remedy="Name one with --model, or make one: seetell learn train, then seetell learn export",
        )
    if len(places) == 1:
        return places[0].path
    return max(places, key=lambda place: len(read_manifest(place.path).kinds)).path
