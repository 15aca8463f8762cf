"""The server: a socket, uvicorn, and an end that waits for nobody who only watches."""

import contextlib
import signal
import socket
import sys
import threading
from types import FrameType

import uvicorn

from seetell.errors import SeetellError
from seetell.web.app import create_app
from seetell.web.site import Site

PORT = 8765
MOST_CONNECTIONS = 1_024


class Server(uvicorn.Server):
    """Ends the streams of events when it is asked to stop: it would wait for them."""

    def __init__(self, site: Site, **settings: object) -> None:
        self.site = site
        super().__init__(
            uvicorn.Config(
                create_app(site),
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MOST_CONNECTIONS,
                timeout_graceful_shutdown=5,
                **settings,  # type: ignore[arg-type]
            )
        )

    def stop(self) -> None:
        self.should_exit = True
        self.site.indexer.close()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.site.indexer.close()
        super().handle_exit(sig, frame)


def bind(host: str, port: int | None = None) -> socket.socket:
    """A socket that listens. If no port is named, it is the usual one, or if that is taken, any."""
    wanted = PORT if port is None else port
    try:
        found = socket.getaddrinfo(host.strip("[]"), wanted, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise SeetellError(f"there is no address {host}", where="--host", remedy="Try 127.0.0.1") from None
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there it would let two servers have one port
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
        made.listen(MOST_CONNECTIONS)  # so that nobody is refused who has read the address and is quick
    except OSError as error:
        made.close()
        if port is None:
            return bind(host, 0)
        raise SeetellError(
            f"this address cannot be had: {error.strerror}", where=f"{host}:{port}", remedy="Choose another --port"
        ) from None
    made.set_inheritable(True)
    return made


def address(listener: socket.socket, host: str, token: str = "") -> str:
    """Where a browser finds the page."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host.strip("[]") == "::" else host.strip("[]")
    shown = f"[{shown}]" if ":" in shown else shown
    return f"http://{shown}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else "")


def serve(site: Site, listener: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM. What was being indexed is finished and kept."""
    server = Server(site)
    threading.Thread(target=site.warm, daemon=True).start()
    before = signal.getsignal(signal.SIGTERM)
    # uvicorn gives the signal that ended it to whoever had it before; here it has done its work.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
        site.close()
