"""Listening, serving and shutting down."""

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

DEFAULT_PORT = 8765
MAX_CONNECTIONS = 1_024


class SiteServer(uvicorn.Server):
    """A uvicorn server that ends the event streams when it stops, instead of waiting for them."""

    def __init__(self, site: Site, **settings: object) -> None:
        self.site = site
        super().__init__(
            uvicorn.Config(
                create_app(site),
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=5,
                **settings,  # type: ignore[arg-type]
            )
        )

    def stop(self) -> None:
        """Stop from another thread."""
        self.should_exit = True
        self.site.indexer.close()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.site.indexer.close()
        super().handle_exit(sig, frame)


def bind(host: str, port: int | None = None) -> socket.socket:
    """Open a listening socket.

    Args:
        host: name or address to listen on.
        port: 0 for any free port; None for the default port, or any free one if that is taken.

    Raises:
        SeetellError: the host is unknown, or the port is taken.
    """
    wanted = DEFAULT_PORT if port is None else port
    try:
        found = socket.getaddrinfo(host.strip("[]"), wanted, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise SeetellError(f"unknown host {host!r}", where="--host", remedy="Try 127.0.0.1") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # on Windows it would let two servers share a port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(MAX_CONNECTIONS)  # now, so that a client that has just read the address is not refused
    except OSError as error:
        listener.close()
        if port is None:
            return bind(host, 0)
        raise SeetellError(
            f"cannot bind to this address: {error.strerror}",
            where=f"{host}:{port}",
            remedy="Choose another --port or --host",
        ) from None
    listener.set_inheritable(True)
    return listener


def page_url(listener: socket.socket, host: str, token: str = "") -> str:
    """The URL of the page for a browser on this computer."""
    name = "127.0.0.1" if host in ("0.0.0.0", "") else "::1" if host.strip("[]") == "::" else host.strip("[]")
    name = f"[{name}]" if ":" in name else name
    return f"http://{name}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else "")


def serve(site: Site, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM. An indexing run stops after its current batch, which is kept."""
    server = SiteServer(site)
    threading.Thread(target=site.warm_up, daemon=True).start()
    before = signal.getsignal(signal.SIGTERM)
    # After stopping, uvicorn raises the signal again for the previous handler; by then everything is done.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
        site.close()
