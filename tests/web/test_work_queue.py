"""Work off the event loop, with an end to the queue."""

import asyncio
import threading

import pytest

from seetell.web.work_queue import BusyError, WorkQueue


def test_so_much_is_done_at_once_and_no_more_than_so_much_waits() -> None:
    work_queue, begun, go = WorkQueue("test", threads=2, waiting=3), threading.Semaphore(0), threading.Event()

    def work(number: int) -> int:
        begun.release()
        assert go.wait(10)
        return number

    async def ask() -> list[int]:
        tasks = [asyncio.create_task(work_queue.run(work, number)) for number in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await work_queue.run(work, 5)
        for _ in range(2):
            assert begun.acquire(timeout=10)
        assert not begun.acquire(blocking=False)  # the third waits
        go.set()
        done = await asyncio.gather(*tasks)
        assert await work_queue.run(work, 6) == 6  # there is room again
        return done

    assert asyncio.run(ask()) == [0, 1, 2, 3, 4]
    work_queue.close()


def test_who_goes_away_keeps_the_place_until_the_work_is_done() -> None:
    work_queue, go = WorkQueue("test", threads=1, waiting=0), threading.Event()

    async def ask() -> None:
        task = asyncio.create_task(work_queue.run(go.wait, 10))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(BusyError):
            await work_queue.run(print)
        go.set()
        for _ in range(200):
            try:
                await work_queue.run(int)
                return
            except BusyError:
                await asyncio.sleep(0.01)
        raise AssertionError("the place was not given back")

    asyncio.run(ask())
    work_queue.close()


def test_errors_come_back() -> None:
    work_queue = WorkQueue("test", 1, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(work_queue.run(lambda: 1 / 0))
    work_queue.close()
