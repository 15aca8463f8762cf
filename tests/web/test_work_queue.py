"""Work in threads, with a bounded queue."""

import asyncio
import threading

import pytest

from seetell.web.work_queue import BusyError, WorkQueue


def test_threads_and_waiting_calls_are_limited() -> None:
    queue, started, go = WorkQueue("test", threads=2, waiting=3), threading.Semaphore(0), threading.Event()

    def work(number: int) -> int:
        started.release()
        assert go.wait(10)
        return number

    async def run() -> list[int]:
        tasks = [asyncio.create_task(queue.run(work, number)) for number in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await queue.run(work, 5)
        for _ in range(2):
            assert started.acquire(timeout=10)
        assert not started.acquire(blocking=False)  # the third waits
        go.set()
        done = await asyncio.gather(*tasks)
        assert await queue.run(work, 6) == 6  # there is a free slot again
        return done

    assert asyncio.run(run()) == [0, 1, 2, 3, 4]
    queue.close()


def test_a_cancelled_call_keeps_its_slot_until_the_work_is_done() -> None:
    queue, go = WorkQueue("test", threads=1, waiting=0), threading.Event()

    async def run() -> None:
        task = asyncio.create_task(queue.run(go.wait, 10))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(BusyError):
            await queue.run(print)
        go.set()
        for _ in range(200):
            try:
                await queue.run(int)
                return
            except BusyError:
                await asyncio.sleep(0.01)
        raise AssertionError("the slot was not released")

    asyncio.run(run())
    queue.close()


def test_exceptions_are_raised_to_the_caller() -> None:
    queue = WorkQueue("test", 1, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(queue.run(lambda: 1 / 0))
    queue.close()
