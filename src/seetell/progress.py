"""One progress reporter for everything that takes time: a bar on a terminal, log lines elsewhere, events for a page.

A long piece of work opens a task, advances it, and never knows who is watching::

    with progress.task("Encoding", total=8091, unit="images") as task:
        for batch in batches:
            ...
            task.advance(len(batch), note="3 unreadable")
    progress.message("2 images were skipped")
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Event:
    """How far a task is."""

    task: str
    unit: str
    done: int
    total: int | None
    seconds: float
    note: str = ""
    finished: bool = False
    skipped: int = 0  # of `done`, how much was there before the task began

    @property
    def rate(self) -> float:
        """Units a second since the task began."""
        return (self.done - self.skipped) / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Time left at the rate so far, or None while it is unknown."""
        if self.total is None or self.rate == 0:
            return None
        return max(0, self.total - self.done) / self.rate

    def __str__(self) -> str:
        amount = f"{self.done:,}" if self.total is None else f"{self.done:,}/{self.total:,}"
        left = "" if self.finished or self.seconds_left is None else f", {clock(self.seconds_left)} left"
        note = f", {self.note}" if self.note else ""
        return f"{self.task}: {amount} {self.unit}, {self.rate:.1f}/s{left}{note}"


class Watcher(Protocol):
    """Anything that follows the events of tasks."""

    def __call__(self, event: Event, /) -> None: ...


class ProgressTask:
    """A piece of work under way; made by `Progress.task`."""

    def __init__(self, name: str, unit: str, total: int | None, watcher: Watcher, skipped: int = 0) -> None:
        self.name, self.unit, self.total, self.skipped = name, unit, total, skipped
        self.done = skipped
        self.note = ""
        self._watcher = watcher
        self._start = time.monotonic()

    def advance(self, amount: int = 1, *, note: str | None = None) -> None:
        """Say that `amount` more is done; `note` replaces the text shown next to the bar."""
        self.done += amount
        if note is not None:
            self.note = note
        self._emit(finished=False)

    def finish(self) -> None:
        self._emit(finished=True)

    def _emit(self, *, finished: bool) -> None:
        seconds = time.monotonic() - self._start
        self._watcher(
            Event(self.name, self.unit, self.done, self.total, seconds, self.note, finished, skipped=self.skipped)
        )


class Progress:
    """Opens tasks and passes their events to one watcher, and messages to one writer.

    Args:
        watcher: called with every event; None: nobody watches.
        write: called with every message, one line each; None: messages are dropped.
    """

    def __init__(self, watcher: Watcher | None = None, write: Callable[[str], object] | None = None) -> None:
        self._watcher: Watcher = watcher or (lambda event: None)
        self._write = write or (lambda line: None)

    def message(self, line: str) -> None:
        """Say one thing that a person should read, apart from how far the work is."""
        self._write(line)

    @contextmanager
    def task(
        self, name: str, *, total: int | None = None, unit: str = "items", skipped: int = 0
    ) -> Iterator[ProgressTask]:
        """Open a task; `skipped` of the total was done by an earlier run."""
        task = ProgressTask(name, unit, total, self._watcher, skipped)
        try:
            yield task
        finally:
            task.finish()


SILENT = Progress()


class LogLines:
    """Writes a line at most every `every` seconds, and one at the end: for logs and pipes."""

    def __init__(self, write: Callable[[str], object] | None = None, every: float = 10.0) -> None:
        self._write = write or _print
        self._every = every
        self._last: dict[str, float] = {}

    def __call__(self, event: Event, /) -> None:
        now = time.monotonic()
        if event.finished or now - self._last.setdefault(event.task, now) >= self._every:
            self._last[event.task] = now
            self._write(str(event))


class Bar:
    """A Rich progress bar on standard error."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            console=Console(stderr=True),
        )
        self._tasks: dict[str, TaskID] = {}

    def print(self, line: str) -> None:
        """Write a line above the bar."""
        self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __call__(self, event: Event, /) -> None:
        if event.task not in self._tasks:
            if not self._tasks:
                self._bar.start()
            self._tasks[event.task] = self._bar.add_task(event.task, total=event.total, rate="")
        left = "" if event.seconds_left is None else f" · {clock(event.seconds_left)} left"
        note = f" · {event.note}" if event.note else ""
        task = self._tasks[event.task]
        self._bar.update(
            task, completed=event.done, total=event.total, rate=f"{event.rate:.1f} {event.unit}/s{left}{note}"
        )
        if event.finished:
            del self._tasks[event.task]
            if not self._tasks:
                self._bar.stop()


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def for_terminal(*, quiet: bool = False) -> Progress:
    """The bar when standard error is a terminal, log lines when it is not, nothing when `quiet`."""
    if quiet:
        return SILENT
    if sys.stderr.isatty():
        bar = Bar()
        return Progress(bar, bar.print)
    return Progress(LogLines(), _print)


def clock(seconds: float) -> str:
    """Seconds as people read them: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
