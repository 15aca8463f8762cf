"""Threads with a bounded queue: blocking work stays off the event loop and cannot pile up."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Params = ParamSpec("Params")
Result = TypeVar("Result")


class BusyError(Exception):
    """The queue is full."""


class WorkQueue:
    """A few threads and a queue of limited length.

    Args:
        name: prefix of the threads' names.
        threads: number of calls that run at once.
        waiting: number of further calls that may wait; the next one raises `BusyError`.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"seetell-{name}")
        self._capacity, self._pending = threads + waiting, 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Run a function in a thread and wait for its result.

        Raises:
            BusyError: the queue is full.
        """
        with self._lock:
            if self._pending >= self._capacity:
                raise BusyError
            self._pending += 1
        try:
            future = self._pool.submit(work, *args, **kwargs)
        except BaseException:
            self._release(None)
            raise
        # The slot stays taken until the thread is done, even if the caller has been cancelled.
        future.add_done_callback(self._release)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Wait for running calls and cancel those that wait."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _release(self, future: Future[Result] | None) -> None:
        with self._lock:
            self._pending -= 1
