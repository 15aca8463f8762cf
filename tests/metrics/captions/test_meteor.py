"""The conversation with METEOR, with programs that behave and programs that do not in its place."""

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from seetell.errors import MissingExtraError, SeetellError
from seetell.metrics.captions import meteor
from seetell.metrics.captions.meteor import Meteor

# Scores a caption by its number of words, over 100; takes care to fill its pipe before it reads on.
WORD_COUNTER = """
import sys
for line in sys.stdin:
    kind, *parts = line.rstrip("\\n").split(" ||| ")
    if kind == "SCORE":
        print(len(parts[-1].split()), len(parts), "x" * 200)
    else:
        scores = [int(part.split()[0]) / 100 for part in parts]
        print(*scores, sum(scores) / len(scores), sep="\\n")
    sys.stdout.flush()
"""


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Put a Python program in METEOR's place."""

    def put(program: str) -> None:
        monkeypatch.setattr(meteor, "meteor_command", lambda: ([sys.executable, "-c", program], tmp_path))

    return put


def test_many_captions_in_one_session(play) -> None:
    play(WORD_COUNTER)
    candidates = ["a dog " * (index % 7) for index in range(4000)]
    with Meteor(timeout=60) as session:
        for _ in range(2):
            whole, each = session.scores(candidates, [["a reference of some length"] * 5] * 4000)
            assert each.tolist() == pytest.approx([2 * (index % 7) for index in range(4000)])
            assert whole == pytest.approx(np.mean(each))


def test_captions_cannot_break_the_conversation(play) -> None:
    play(WORD_COUNTER)
    with Meteor(timeout=60) as session:
        _, each = session.scores(["a ||| b\nEVAL ||| c\r", "", "d"], [["x"], ["y ||| z"], ["z"]])
    assert each.tolist() == pytest.approx([4, 0, 1])


def test_a_program_that_ends_is_named_with_its_last_words(play) -> None:
    play("import sys; sys.exit('Could not reserve enough space for object heap')")
    with (
        Meteor(timeout=60) as session,
        pytest.raises(SeetellError, match="ended with code 1: Could not reserve") as error,
    ):
        session.scores(["a"] * 5000, [["b"]] * 5000)
    assert "2 GB of free memory" in str(error.value)


def test_a_program_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(meteor, "meteor_command", lambda: ([str(tmp_path / "no-java")], tmp_path))
    with pytest.raises(SeetellError, match="cannot be started"):
        Meteor()


def test_a_program_that_never_answers_is_ended(play) -> None:
    play("import time; time.sleep(600)")
    began = time.monotonic()
    with Meteor(timeout=0.5) as session, pytest.raises(SeetellError, match=r"no answer within 0\.5 seconds"):
        session.scores(["a"] * 5000, [["b " * 100]] * 5000)
    assert time.monotonic() - began < 30


def test_an_answer_that_is_no_number(play) -> None:
    play("import sys\nfor line in sys.stdin: print('Error'); sys.stdout.flush(); print('nonsense'); sys.stdout.flush()")
    with Meteor(timeout=60) as session, pytest.raises(SeetellError, match="no number"):
        session.scores(["a"], [["b"]])


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(meteor.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'seetell\[metrics\]'"):
        Meteor()

    class Found:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(meteor.importlib.util, "find_spec", lambda name: Found)
    with pytest.raises(SeetellError, match="no METEOR program"):
        Meteor()
    (tmp_path / "meteor").mkdir()
    (tmp_path / "meteor" / "meteor-1.5.jar").touch()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SeetellError, match="needs Java"):
        Meteor()
