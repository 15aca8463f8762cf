"""Indexing behind the page: one thread that keeps the library up to date, and whoever watches it."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from seetell.errors import SeetellError
from seetell.library import Library, Report
from seetell.library.exporting import shown
from seetell.progress import Event, Progress

EVERY = 0.2  # seconds between two events, at least
STILL_HERE = 15.0  # seconds after which a silent connection is told that it lives
SHOWN = 50  # problems that are told


@dataclass(frozen=True, slots=True)
class State:
    """How the indexing goes; `change` grows with whatever may have changed what the library holds."""

    state: Literal["idle", "indexing", "done", "failed"] = "idle"
    done: int = 0
    total: int | None = None
    rate: float = 0.0
    seconds_left: float | None = None
    note: str = ""
    problem: str = ""
    new: int = 0
    forgotten: int = 0
    unreadable: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)
    change: int = 0


class Indexer:
    """Runs `Library.update` in a thread, once at a time.

    Args:
        after: called, in that thread, when an update has come to its end.
        whole_paths: whether whoever watches may know where on the disk a file lies.
    """

    def __init__(self, library: Library, after: Callable[[Report], object], *, whole_paths: bool) -> None:
        self._library, self._after, self._whole = library, after, whole_paths
        self.state = State()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._told = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    def start(self, folders: Sequence[Path] | None = None) -> bool:
        """Begin, unless it is under way already; without folders, with all that the library has."""
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return False
            self.state = State("indexing", change=self.state.change)
            self._thread = threading.Thread(target=self._run, args=(folders,), name="seetell-indexer", daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Ask the thread to stop, and end all streams; what is done is kept."""
        self._stop.set()
        self._publish()

    def join(self) -> None:
        if self._thread is not None:
            self._thread.join()

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events: the state now, and whenever it has changed."""
        self._loop = asyncio.get_running_loop()
        yield "retry: 2000\n\n"
        while not self._stop.is_set():
            changed = self._changed
            yield f"event: progress\ndata: {json.dumps(asdict(self.state))}\n\n"
            while not self._stop.is_set():
                try:
                    await asyncio.wait_for(changed.wait(), STILL_HERE)
                    break
                except TimeoutError:
                    yield ": still here\n\n"

    def _run(self, folders: Sequence[Path] | None) -> None:
        try:
            report = self._library.update(folders, progress=Progress(self._watch), stop=self._stop)
            problems = [
                {"name": shown(each.path if self._whole else Path(each.path).name), "reason": each.reason}
                for each in report.problems[:SHOWN]
            ]
            self.state = replace(
                self.state,
                state="done",
                new=report.told + report.linked,
                forgotten=report.forgotten,
                unreadable=report.unreadable,
                problems=problems,
                change=self.state.change + 1,
            )
            self._after(report)
        except SeetellError as error:
            self.state = replace(self.state, state="failed", problem=f"{error.problem}. {error.remedy}".strip())
        except BaseException:
            self.state = replace(self.state, state="failed", problem="something went wrong; the terminal says what")
            raise
        finally:
            self._publish()

    def _watch(self, event: Event) -> None:
        self.state = replace(
            self.state,
            done=event.done,
            total=event.total,
            rate=event.rate,
            seconds_left=event.seconds_left,
            note=event.note,
            change=self.state.change + 1,
        )
        if event.finished or time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            self._publish()

    def _publish(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()
