"""Where bundles are: those that come with the package, and those the user has added to their data folder.

Built-in bundles are in `builtin/NAME` inside the package. "builtin" means the one that is used by default."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import seetell
from seetell.bundle.folder import MANIFEST, Bundle, read_manifest, write_bundle
from seetell.bundle.manifest import check_name
from seetell.errors import BundleError, did_you_mean

BUILTIN = "builtin"


@dataclass(frozen=True)
class InstalledBundle:
    """A bundle that can be opened by name.

    Args:
        path: its folder.
        builtin: it comes with the package.
    """

    name: str
    path: Path
    builtin: bool = False


def user_folder() -> Path:
    """Where added bundles are: $SEETELL_MODELS, or `bundles` in the user's data folder."""
    if folder := os.environ.get("SEETELL_MODELS"):
        return Path(folder).expanduser()
    from platformdirs import user_data_path

    return user_data_path("seetell", appauthor=False) / "bundles"


def builtin_folder() -> Path:
    return Path(seetell.__file__).parent / BUILTIN


def installed() -> list[InstalledBundle]:
    """Every bundle that has a name, built-in ones first; none of them is opened."""
    return _bundles_in(builtin_folder(), builtin=True) + _bundles_in(user_folder())


def find_bundle(name_or_path: str | os.PathLike[str] | None = BUILTIN) -> Path:
    """The folder of a bundle, by name or by path.

    A name takes precedence over a folder in the working directory, and a user's bundle over a built-in one.

    Args:
        name_or_path: the name of an installed bundle, or a folder; "builtin", or None, is the default built-in one.
    """
    wanted = BUILTIN if name_or_path is None else os.fspath(name_or_path)
    if wanted == BUILTIN:
        return _default()
    paths = {bundle.name: bundle.path for bundle in installed()}
    if wanted in paths:
        return paths[wanted]
    if os.path.isdir(wanted) or os.sep in wanted or "/" in wanted:
        return Path(wanted)
    raise BundleError(
        f"there is no model called {wanted!r}, and no such folder",
        remedy=did_you_mean(wanted, paths) or "There are no models yet: `seetell models add` adds one",
    )


def add(path: str | os.PathLike[str], name: str | None = None, *, replace: bool = False) -> InstalledBundle:
    """Verify a bundle and copy it to the user's data folder, where it can be opened by name.

    Args:
        path: the bundle's folder.
        name: what to call it; by default the name in its manifest.
        replace: replace an added bundle of that name.
    """
    bundle = Bundle.open(path)
    name = check_name(name or bundle.manifest.name, str(path))
    if name in (BUILTIN, *(each.name for each in installed() if each.builtin)):
        raise BundleError("a built-in bundle has this name already", where=name, remedy="Choose another with --name")
    target = user_folder() / name
    if os.path.lexists(target) and not replace:
        raise BundleError(
            "there is already a bundle of this name", where=name, remedy="Add --replace, or choose another with --name"
        )
    files = {each: bundle.read(each) for each in bundle.manifest.files}
    write_bundle(target, bundle.manifest, files, replace=replace)
    return InstalledBundle(name, target)


def remove(name: str) -> InstalledBundle:
    """Delete a bundle that was added."""
    for bundle in _bundles_in(user_folder()):
        if bundle.name == name:
            if bundle.path.is_symlink():
                bundle.path.unlink()
            else:
                # Renamed first: if the process is killed half-way, no partial bundle is left under its name.
                gone = bundle.path.with_name(f".{name}.removed")
                shutil.rmtree(gone, ignore_errors=True)
                os.replace(bundle.path, gone)
                shutil.rmtree(gone)
            return bundle
    if name in (BUILTIN, *(bundle.name for bundle in installed())):
        raise BundleError("a built-in bundle belongs to the package and is not removed", where=name)
    raise BundleError(f"there is no bundle called {name!r}", remedy="`seetell models` lists the installed ones")


def _bundles_in(folder: Path, *, builtin: bool = False) -> list[InstalledBundle]:
    if not folder.is_dir():
        return []
    found = sorted(each for each in folder.iterdir() if (each / MANIFEST).is_file())
    return [InstalledBundle(each.name, each, builtin) for each in found]


def _default() -> Path:
    """The built-in bundle with the most heads; of equals, the first by name."""
    bundles = _bundles_in(builtin_folder(), builtin=True)
    if not bundles:
        raise BundleError(
            "this copy of seetell has no built-in model",
            remedy="Name one with --model, or make one: seetell learn train, then seetell learn export",
        )
    if len(bundles) == 1:
        return bundles[0].path
    return max(bundles, key=lambda bundle: len(read_manifest(bundle.path).kinds)).path
