"""Text files written in one step, for whatever of `learn` needs no PyTorch."""

import os
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file in one step: readers see the old text or the new."""
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
