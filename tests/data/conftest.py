"""Small datasets on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

Files = Callable[..., None]


@pytest.fixture
def image_files(tmp_path: Path) -> Files:
    """Writes tiny images at the given paths under tmp_path, each of another colour."""
    colours = iter(range(1, 1 << 24, 4099))

    def write(*names: str) -> None:
        for name in names:
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            colour = next(colours)
            Image.new("RGB", (4, 4), (colour >> 16, colour >> 8 & 255, colour & 255)).save(path, format="PNG")

    return write


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a UTF-8 file under tmp_path, line ends as given."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return path

    return write_file
