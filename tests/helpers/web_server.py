"""A server on a port of its own, somebody who asks it, and coloured images."""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from seetell.library import Library
from seetell.web import Access, Site, bind
from seetell.web.server import Server

COLOURS = {"red": (230, 30, 30), "green": (30, 230, 30), "blue": (30, 30, 230)}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server that runs, and how to ask it."""

    site: Site
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
        """Headers by their names, with _ for -; `Host` is right unless it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, answer
        return answer.json

    def send(self, method: str, path: str, said: object, **headers: str) -> Answer:
        return self.ask(path, method, json.dumps(said).encode(), **{"Content_Type": "application/json", **headers})

    def wait(self, until: Callable[[], object], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)


@contextmanager
def running(library: Library, access: Access) -> Iterator[Served]:
    listener = bind("127.0.0.1", 0)
    site = Site(library, access)
    server = Server(site)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    served = Served(site, listener.getsockname()[1])
    try:
        served.wait(lambda: server.started)
        yield served
    finally:
        server.stop()
        thread.join(20)
        listener.close()
        site.close()
        assert not thread.is_alive()


def paint(path: Path, colour: tuple[int, int, int], seed: int = 0, size: tuple[int, int] = (60, 40)) -> Path:
    """Noise around a colour, the same for the same seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-20, 21, (4, 4, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST).save(path)
    return path


def paint_all(folder: Path) -> Path:
    """Four of each colour."""
    for place, (name, colour) in enumerate(COLOURS.items()):
        for number in range(4):
            paint(folder / name / f"{name}-{number}.png", colour, seed=10 * place + number)
    return folder
