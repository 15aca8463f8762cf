"""Sixty-four clients at once, who search, look, tell and edit."""

import io
import json
import os
import threading
import time
from http.client import HTTPConnection

import pytest
from PIL import Image

from helpers.web_server import COLOURS, Served

CLIENTS = 64


def upload() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (320, 240), COLOURS["green"]).save(stream, "JPEG")
    return stream.getvalue()


def client(served: Served, number: int, end: float, counts: list[int], problems: list[str]) -> None:
    image, turn = upload(), 0
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    edit = json.dumps({"caption": f"said by client {number}"}).encode()
    asks = (
        ("GET", f"/api/search?q=red+thing+{number}", None, ""),
        ("GET", f"/api/images/{number % 12 + 1}/thumbnail.jpg", None, ""),
        ("GET", f"/api/images/{number % 12 + 1}/told", None, ""),
        ("GET", "/", None, ""),
        ("POST", "/api/looks", image, "image/jpeg"),
        ("GET", "/api/search?tag=blue&not_tag=red", None, ""),
        ("PATCH", f"/api/images/{number % 12 + 1}", edit, "application/json"),
    )
    try:
        while turn < len(asks) or time.monotonic() < end:  # everybody asks everything once, however slow it is
            method, path, body, kind = asks[(turn + number) % len(asks)]
            connection.request(method, path, body, {"Content-Type": kind} if kind else {})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                problems.append(f"{method} {path}: {answer.status}")
            counts[number] += 1
            turn += 1
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def crowd(served: Served, seconds: float) -> int:
    """How many requests were answered; fails if one was not."""
    counts, problems = [0] * CLIENTS, list[str]()
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(served, number, end, counts, problems)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:5]
    return sum(counts)


def test_many_clients_at_once(own: Served) -> None:
    assert crowd(own, 1) >= 7 * CLIENTS


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_many_clients_for_a_minute_without_growth(own: Served) -> None:
    def memory() -> int:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    crowd(own, 15)
    before = memory()
    answered = crowd(own, 60)
    grown = memory() - before
    print(f"{answered} answers, {grown / 1e6:+.1f} MB")
    assert grown < 30e6
