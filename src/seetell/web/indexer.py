"""Indexing in the background: one thread keeps the library up to date and streams its progress to the page."""

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
from seetell.progress import Event, Progress
from seetell.web.presentation import printable

INTERVAL = 0.2  # seconds between two events, at least
KEEP_ALIVE = 15.0  # seconds without an event before a comment is sent
MAX_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class IndexingState:
    """Progress of indexing, as sent to the page.

    Args:
        done: images processed so far, of `total`.
        rate: images per second.
        error: why indexing failed.
        new: images added by the last run.
        removed: images whose files are gone.
        problems: files that could not be read, each with `name` and `reason`.
        revision: grows whenever the contents of the library may have changed.
    """

    status: Literal["idle", "indexing", "done", "failed"] = "idle"
    done: int = 0
    total: int | None = None
    rate: float = 0.0
    seconds_left: float | None = None
    note: str = ""
    error: str = ""
    new: int = 0
    removed: int = 0
    unreadable: int = 0
    problems: list[dict[str, str]] = field(default_factory=list)
    revision: int = 0


class BackgroundIndexer:
    """Runs `Library.update` in a thread, one run at a time.

    Args:
        library: the library to update.
        after_update: called in that thread when a run has finished.
        full_paths: whether clients may see full paths.
    """

    def __init__(self, library: Library, after_update: Callable[[Report], object], *, full_paths: bool) -> None:
        self._library, self._after_update, self._full_paths = library, after_update, full_paths
        self.state = IndexingState()
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._last_published = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    def start(self, folders: Sequence[Path] | None = None) -> bool:
        """Start indexing unless it is already running; return whether it was started.

        Args:
            folders: what to index; None for all folders the library already has.
        """
        with self._lock:
            if self._stop.is_set() or (self._thread is not None and self._thread.is_alive()):
                return False
            self.state = IndexingState("indexing", revision=self.state.revision)
            self._thread = threading.Thread(target=self._run, args=(folders,), name="seetell-indexer", daemon=True)
            self._thread.start()
        return True

    def close(self) -> None:
        """Ask the thread to stop and end all event streams; finished work is kept."""
        self._stop.set()
        self._publish()

    def join(self) -> None:
        """Wait for the thread to end."""
        if self._thread is not None:
            self._thread.join()

    async def events(self) -> AsyncIterator[str]:
        """Yield server-sent events: the current state, then every change."""
        self._loop = asyncio.get_running_loop()
        yield "retry: 2000\n\n"
        while not self._stop.is_set():
            changed = self._changed
            yield f"event: progress\ndata: {json.dumps(asdict(self.state))}\n\n"
            while not self._stop.is_set():
                try:
                    await asyncio.wait_for(changed.wait(), KEEP_ALIVE)
                    break
                except TimeoutError:
                    yield ": keep-alive\n\n"

    def _run(self, folders: Sequence[Path] | None) -> None:
        try:
            report = self._library.update(folders, progress=Progress(self._on_progress), stop=self._stop)
            self.state = self._finished(report)
            self._after_update(report)
        except SeetellError as error:
            self.state = replace(self.state, status="failed", error=f"{error.problem}. {error.remedy}".strip())
        except BaseException:
            self.state = replace(self.state, status="failed", error="unexpected error; see the server's terminal")
            raise
        finally:
            self._publish()

    def _finished(self, report: Report) -> IndexingState:
        problems = [
            {"name": printable(each.path if self._full_paths else Path(each.path).name), "reason": each.reason}
            for each in report.problems[:MAX_PROBLEMS]
        ]
        return replace(
            self.state,
            status="done",
            new=report.indexed + report.moved,
            removed=report.removed,
            unreadable=report.unreadable,
            problems=problems,
            revision=self.state.revision + 1,
        )

    def _on_progress(self, event: Event) -> None:
        self.state = replace(
            self.state,
            done=event.done,
            total=event.total,
            rate=event.rate,
            seconds_left=event.seconds_left,
            note=event.note,
            revision=self.state.revision + 1,
        )
        if event.finished or time.monotonic() - self._last_published >= INTERVAL:
            self._last_published = time.monotonic()
            self._publish()

    def _publish(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()
