"""The stages of indexing: order, bounds, stopping, and errors of each stage."""

import dataclasses
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seetell.library import Library
from seetell.library.indexing import describing, messages
from seetell.library.indexing.messages import Described, Message, Outcome, PendingFile, VanishedFile
from seetell.library.indexing.stages import QUEUE, Stages
from seetell.runtime import Description

Painter = Callable[..., Path]


def pending(number: int) -> PendingFile:
    return PendingFile(f"/{number}.jpg", 1, 1, number.to_bytes(16, "big"))


def describe(files: Iterator[PendingFile]) -> Iterator[Described]:
    for file in files:
        yield Described(file, None, Description(file.path))


def names(outcomes: list[Outcome]) -> list[str]:
    return [each.file.path if isinstance(each, Described) else each.path for each in outcomes]  # type: ignore[union-attr]


def threads() -> set[str]:
    return {each.name for each in threading.enumerate() if each.name.startswith("seetell-")}


def test_every_message_becomes_an_outcome() -> None:
    sent: list[Message] = [VanishedFile(f"/{n}.jpg") if n % 3 == 0 else pending(n) for n in range(100)]
    with Stages(iter(sent), describe, threading.Event()) as outcomes:
        found = list(outcomes)
    assert sorted(names(found)) == sorted(f"/{n}.jpg" for n in range(100))
    described = [each for each in found if isinstance(each, Described)]
    assert [each.file.path for each in described] == [f"/{n}.jpg" for n in range(100) if n % 3]
    assert not threads()


def test_messages_cannot_be_changed() -> None:
    for name in ("PendingFile", "KnownFile", "SameContent", "UnreadableFile", "VanishedFile", "Described"):
        assert getattr(messages, name).__dataclass_params__.frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        pending(1).path = "/2.jpg"  # type: ignore[misc]


def test_nothing_new_describes_nothing() -> None:
    def never(files: Iterator[PendingFile]) -> Iterator[Described]:
        pytest.fail("it was called")

    with Stages(iter([VanishedFile("/a.jpg")]), never, threading.Event()) as outcomes:
        assert len(list(outcomes)) == 1


def test_a_slow_caller_holds_the_others_back() -> None:
    produced: list[int] = []

    def produce() -> Iterator[Message]:
        for number in range(1000):
            produced.append(number)
            yield pending(number)

    with Stages(produce(), describe, threading.Event()) as outcomes:
        next(iter(outcomes))
        before = -1
        while len(produced) != before:  # until nothing moves any more
            before = len(produced)
            time.sleep(0.3)
        assert len(produced) <= 2 * QUEUE + 5
    assert not threads()


def test_stopping_drops_what_is_not_described_yet() -> None:
    stop = threading.Event()
    with Stages(map(pending, range(10_000)), describe, stop) as outcomes:
        count = 0
        for _ in outcomes:
            count += 1
            stop.set()
    assert 0 < count <= 2 * QUEUE + 5


@pytest.mark.parametrize("stage", ["producer", "describer"])
def test_an_error_of_a_stage_reaches_the_caller(stage: str) -> None:
    def produce() -> Iterator[Message]:
        yield from map(pending, range(100))
        if stage == "producer":
            raise OSError("the disk is gone")

    def describe_or_fail(files: Iterator[PendingFile]) -> Iterator[Described]:
        for number, each in enumerate(describe(files)):
            if stage == "describer" and number == 50:
                raise OSError("the disk is gone")
            yield each

    found: list[Outcome] = []
    with Stages(produce(), describe_or_fail, threading.Event()) as outcomes, pytest.raises(OSError, match="is gone"):
        found.extend(outcomes)
    assert len(found) == 50 if stage == "describer" else len(found) <= 100
    assert not threads()


def test_a_caller_that_leaves_ends_the_stages() -> None:
    with Stages(map(pending, range(10_000)), describe, threading.Event()) as outcomes:
        next(iter(outcomes))
    assert not threads()


def test_an_error_of_the_model_keeps_what_is_described(
    tmp_path: Path, bundle: Path, paint: Painter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        photo = paint(f"{number:03}.png", seed=number)
    real = describing.read_image

    def fails(file: PendingFile, at_least: int) -> object:
        if file.path.endswith("080.png"):
            raise MemoryError("no memory left")
        return real(file, at_least)

    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        with monkeypatch.context() as patch:
            patch.setattr(describing, "read_image", fails)
            with pytest.raises(MemoryError):
                library.update([photo.parent])
        assert library.info().images == 80  # five batches of sixteen; the last of them is not a whole transaction
        assert library.check() == []
        assert library.update().indexed == 20


def test_copies_of_a_file_that_changes_are_left_for_the_next_update(
    tmp_path: Path, bundle: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, copy = photos / "red" / "0.png", photos / "red" / "copy.png"
    shutil.copy(first, copy)
    real = describing.read_image

    def changes(file: PendingFile, at_least: int) -> object:
        if file.path == str(first):
            shutil.copy(photos / "blue" / "0.png", first)
        return real(file, at_least)

    with Library.open(tmp_path / "library", model=bundle) as library:
        with monkeypatch.context() as patch:
            patch.setattr(describing, "read_image", changes)
            report = library.update([photos])
        assert [Path(problem.path).name for problem in report.problems] == ["0.png"]
        again = library.update()
        assert (again.indexed, again.moved, again.unreadable) == (1, 1, 0)  # the copy; the first, now blue
        assert library.find(copy) is not None
        assert library.check() == []


def test_copies_of_an_unreadable_file_are_unreadable_too(tmp_path: Path, bundle: Path, photos: Path) -> None:
    for name in ("bad 1.jpg", "bad 2.jpg", "bad 3.jpg"):
        (photos / name).write_bytes(b"\xff\xd8\xff nothing")
    with Library.open(tmp_path / "library", model=bundle) as library:
        report = library.update([photos])
        assert (report.indexed, report.unreadable, len(report.problems)) == (12, 3, 3)
        assert library.update().problems == []
