"""Progress: the events that watchers get."""

import time

import pytest

from seetell.progress import SILENT, Event, LogLines, Progress, clock


def test_events_count_up_and_end_once() -> None:
    seen: list[Event] = []
    with Progress(seen.append).task("Encoding", total=5, unit="images") as task:
        for _ in range(5):
            task.advance(note="fine")
    assert [event.done for event in seen] == [1, 2, 3, 4, 5, 5]
    assert [event.finished for event in seen] == [False] * 5 + [True]
    assert "5/5 images" in str(seen[-1])
    assert "fine" in str(seen[-1])


def test_a_task_finishes_when_the_work_fails() -> None:
    seen: list[Event] = []
    with pytest.raises(ValueError, match="broken"), Progress(seen.append).task("Encoding"):
        raise ValueError("broken")
    assert seen[-1].finished


def test_the_rate_excludes_what_was_done_before() -> None:
    event = Event("Encoding", "images", done=90, total=100, seconds=2.0, skipped=80)
    assert event.rate == 5
    assert event.seconds_left == 2


def test_the_time_left_is_unknown_before_anything_is_done() -> None:
    assert Event("Encoding", "images", done=0, total=100, seconds=1.0).seconds_left is None
    assert Event("Encoding", "images", done=3, total=None, seconds=1.0).seconds_left is None


def test_log_lines_are_few() -> None:
    lines: list[str] = []
    with Progress(LogLines(lines.append, every=0.05)).task("Encoding", total=100) as task:
        for _ in range(100):
            task.advance()
            time.sleep(0.001)
    assert 2 <= len(lines) <= 20
    assert "100/100" in lines[-1]


def test_silent_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with SILENT.task("Encoding", total=1) as task:
        task.advance()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
