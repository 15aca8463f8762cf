"""The project's own words: plain English, and the terms of the field."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUAINT = re.compile(r"\b(tell|told|telling|rooms|desk)\b", re.IGNORECASE)
ALLOWED_LINES = 25
TEXT = {".py", ".md", ".js", ".html", ".css", ".toml", ".json", ".txt"}


def text_files() -> list[Path]:
    listed = ["git", "ls-files", "--", "src", "docs", "README.md"]
    done = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    names = done.stdout.splitlines()
    if not names:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in names if Path(name).suffix in TEXT and (ROOT / name).exists()]


def test_quaint_words_are_rare() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if QUAINT.search(line)
    ]
    assert len(lines) <= ALLOWED_LINES, f"{len(lines)} lines:\n" + "\n".join(lines)
