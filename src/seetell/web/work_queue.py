"""Work that must not hold up the event loop, and that must not pile up either."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


class BusyError(Exception):
    """All threads work, and as many wait as may."""


class WorkQueue:
    """A few threads, and a queue with an end.

    Args:
        threads: how much is done at once.
        waiting: how much more may wait; what comes then is refused with `BusyError`.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"seetell-{name}")
        self._most, self._under_way = threads + waiting, 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made:
        with self._lock:
            if self._under_way >= self._most:
                raise BusyError
            self._under_way += 1
        try:
            future = self._pool.submit(work, *args, **kwargs)
        except BaseException:
            self._leave(None)
            raise
        # Counted until the thread is done with it, even if nobody waits for the result any more.
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _leave(self, future: Future[Made] | None) -> None:
        with self._lock:
            self._under_way -= 1
