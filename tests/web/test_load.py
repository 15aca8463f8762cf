"""Sixty-four clients that search, view, upload and edit at once."""

import io
import json
import os
import threading
import time
from http.client import HTTPConnection

import pytest
from PIL import Image

from helpers.web_server import COLOURS, RunningServer

CLIENTS = 64


def jpeg() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (320, 240), COLOURS["green"]).save(stream, "JPEG")
    return stream.getvalue()


def client(server: RunningServer, number: int, end: float, counts: list[int], problems: list[str]) -> None:
    image, turn = jpeg(), 0
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    edit = json.dumps({"caption": f"written by client {number}"}).encode()
    requests = (
        ("GET", f"/api/v1/search?q=red+thing+{number}", None, ""),
        ("GET", f"/api/v1/images/{number % 12 + 1}/thumbnail.jpg", None, ""),
        ("GET", f"/api/v1/images/{number % 12 + 1}/attention", None, ""),
        ("GET", "/", None, ""),
        ("POST", "/api/v1/uploads", image, "image/jpeg"),
        ("GET", "/api/v1/search?tag=blue&not_tag=red", None, ""),
        ("PATCH", f"/api/v1/images/{number % 12 + 1}", edit, "application/json"),
    )
    try:
        while turn < len(requests) or time.monotonic() < end:  # each request at least once, however slow
            method, path, body, kind = requests[(turn + number) % len(requests)]
            connection.request(method, path, body, {"Content-Type": kind} if kind else {})
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                problems.append(f"{method} {path}: {response.status}")
            counts[number] += 1
            turn += 1
    except Exception as error:
        problems.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def run_clients(server: RunningServer, seconds: float) -> int:
    """Number of successful requests; fails if one was not."""
    counts, problems = [0] * CLIENTS, list[str]()
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=client, args=(server, number, end, counts, problems)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:5]
    return sum(counts)


def test_many_concurrent_clients(private_server: RunningServer) -> None:
    assert run_clients(private_server, 1) >= 7 * CLIENTS


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_memory_does_not_grow_under_load(private_server: RunningServer) -> None:
    def memory() -> int:
        with open("/proc/self/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    run_clients(private_server, 15)
    before = memory()
    completed = run_clients(private_server, 60)
    grown = memory() - before
    print(f"{completed} requests, {grown / 1e6:+.1f} MB")
    assert grown < 30e6
