"""Work off the event loop, with an end to the queue."""

import asyncio
import threading

import pytest

from seetell.web.desk import BusyError, Desk


def test_so_much_is_done_at_once_and_no_more_than_so_much_waits() -> None:
    desk, begun, go = Desk("test", threads=2, waiting=3), threading.Semaphore(0), threading.Event()

    def work(number: int) -> int:
        begun.release()
        assert go.wait(10)
        return number

    async def ask() -> list[int]:
        tasks = [asyncio.create_task(desk.run(work, number)) for number in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await desk.run(work, 5)
        for _ in range(2):
            assert begun.acquire(timeout=10)
        assert not begun.acquire(blocking=False)  # the third waits
        go.set()
        done = await asyncio.gather(*tasks)
        assert await desk.run(work, 6) == 6  # there is room again
        return done

    assert asyncio.run(ask()) == [0, 1, 2, 3, 4]
    desk.close()


def test_who_goes_away_keeps_the_place_until_the_work_is_done() -> None:
    desk, go = Desk("test", threads=1, waiting=0), threading.Event()

    async def ask() -> None:
        task = asyncio.create_task(desk.run(go.wait, 10))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(BusyError):
            await desk.run(print)
        go.set()
        for _ in range(200):
            try:
                await desk.run(int)
                return
            except BusyError:
                await asyncio.sleep(0.01)
        raise AssertionError("the place was not given back")

    asyncio.run(ask())
    desk.close()


def test_errors_come_back() -> None:
    desk = Desk("test", 1, 1)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(desk.run(lambda: 1 / 0))
    desk.close()
