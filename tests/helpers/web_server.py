"""A server on a free port, a client for it, and coloured test images."""

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
from seetell.web.server import SiteServer

COLOURS = {"red": (230, 30, 30), "green": (30, 230, 30), "blue": (30, 30, 230)}


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class RunningServer:
    """A running server and a client for it."""

    site: Site
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Response:
        """Send a request. Headers are written with _ for -; `Host` is right unless it is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, received, response.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The JSON of a successful GET request."""
        response = self.request(path)
        assert response.status == 200, response
        return response.json

    def send(self, method: str, path: str, body: object, **headers: str) -> Response:
        """Send a body as JSON."""
        return self.request(path, method, json.dumps(body).encode(), **{"Content_Type": "application/json", **headers})

    def wait(self, until: Callable[[], object], seconds: float = 20.0) -> None:
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, "timed out"
            time.sleep(0.02)


@contextmanager
def run_server(library: Library, access: Access | None = None) -> Iterator[RunningServer]:
    """Serve a library, by default with the access rules of loopback."""
    listener = bind("127.0.0.1", 0)
    site = Site(library, access or Access.for_host("127.0.0.1"))
    server = SiteServer(site)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    running = RunningServer(site, listener.getsockname()[1])
    try:
        running.wait(lambda: server.started)
        yield running
    finally:
        server.stop()
        thread.join(20)
        listener.close()
        site.close()
        assert not thread.is_alive()


def save_coloured(path: Path, colour: tuple[int, int, int], seed: int = 0, size: tuple[int, int] = (60, 40)) -> Path:
    """Save noise around a colour; the same seed gives the same image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(-20, 21, (4, 4, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST).save(path)
    return path


def save_photos(folder: Path) -> Path:
    """Save four images of each colour."""
    for index, (name, colour) in enumerate(COLOURS.items()):
        for number in range(4):
            save_coloured(folder / name / f"{name}-{number}.png", colour, seed=10 * index + number)
    return folder
