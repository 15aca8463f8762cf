"""The stages of indexing as threads that pass immutable messages through bounded queues.

    produce ──PendingFile──► [queue] ──► describe ──Described──► [queue] ──► the caller
       └────────────── all other messages ─────────────────────────┘

The producer hashes files and decides which of them are new; the describer runs the models; the caller writes what
arrives. Each stage owns its state. The queues are short, so a fast stage waits for a slow one, and memory does not
depend on the number of files.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Final, Self

from seetell.library.indexing.messages import Described, Message, Outcome, PendingFile

QUEUE = 16  # messages between two stages: as many as the models take at a time

Describe = Callable[[Iterator[PendingFile]], Iterator[Described]]
"""The describing stage: takes new files, gives each of them described, in any order. It may end early on a stop."""


class _End:
    """Marks the end of a queue."""


class _CancelledError(Exception):
    """The caller has left: the stages end."""


_END: Final = _End()


class Stages:
    """Runs the producing and the describing stage; iterate over it for the outcomes.

    Args:
        produce: the messages of the producer; it is iterated over in a thread.
        describe: called in another thread, and only if there is something to describe.
        stop: when set, files that are not being described yet are dropped.

    Example:
        with Stages(produce, describe, stop) as outcomes:
            for outcome in outcomes:
                ...
    """

    def __init__(self, produce: Iterable[Message], describe: Describe, stop: threading.Event) -> None:
        self._produce, self._describe, self._stop = produce, describe, stop
        self._pending: queue.Queue[PendingFile | _End] = queue.Queue(QUEUE)
        self._outcomes: queue.Queue[Outcome | BaseException | _End] = queue.Queue(QUEUE)
        self._cancelled = threading.Event()
        stages = {"producer": self._run_producer, "describer": self._run_describer}
        self._threads = [
            threading.Thread(target=run, name=f"seetell-{name}", daemon=True) for name, run in stages.items()
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cancelled.set()
        for thread in self._threads:
            thread.join()

    def __iter__(self) -> Iterator[Outcome]:
        """What became of the files; raises the error of a stage that failed."""
        while True:
            try:
                outcome = self._outcomes.get(timeout=1.0)  # a wait without end could not be interrupted on Windows
            except queue.Empty:
                continue
            if isinstance(outcome, BaseException):
                raise outcome
            if isinstance(outcome, _End):
                return
            yield outcome

    def _run_producer(self) -> None:
        try:
            for message in self._produce:
                if isinstance(message, PendingFile):
                    self._put(self._pending, message)
                else:
                    self._put(self._outcomes, message)
            self._put(self._pending, _END)
        except _CancelledError:
            pass
        except BaseException as error:
            self._fail(error)

    def _run_describer(self) -> None:
        """The last of the stages: it ends when the producer has."""
        try:
            source = self._new_files()
            first = next(source, None)
            if first is not None:
                for described in self._describe(_chain(first, source)):
                    self._put(self._outcomes, described)
            for _ in source:  # that it left after a stop
                pass
            self._put(self._outcomes, _END)
        except _CancelledError:
            pass
        except BaseException as error:
            self._fail(error)

    def _new_files(self) -> Iterator[PendingFile]:
        while True:
            try:
                message = self._pending.get(timeout=0.1)
            except queue.Empty:
                self._check_cancelled()
                continue
            if isinstance(message, _End):
                return
            if not self._stop.is_set():
                yield message

    def _put(self, target: "queue.Queue[Any]", message: object) -> None:
        while True:
            self._check_cancelled()
            try:
                target.put(message, timeout=0.1)
                return
            except queue.Full:
                continue

    def _fail(self, error: BaseException) -> None:
        with contextlib.suppress(_CancelledError):
            self._put(self._outcomes, error)

    def _check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise _CancelledError


def _chain(first: PendingFile, rest: Iterator[PendingFile]) -> Iterator[PendingFile]:
    yield first
    yield from rest
