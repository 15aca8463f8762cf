"""The project's own words: plain English, and the terms of the field."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
QUAINT = "tell|told|telling|rooms|desk"
ALLOWED_LINES = 25  # titles of papers, and words of vocabularies


def test_quaint_words_are_rare() -> None:
    command = ["git", "grep", "-nwiE", QUAINT, "--", "src", "docs", "README.md"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    lines = done.stdout.splitlines()
    assert len(lines) <= ALLOWED_LINES, f"{len(lines)} lines:\n" + "\n".join(line[:140] for line in lines)
