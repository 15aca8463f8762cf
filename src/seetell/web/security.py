"""Who may send requests, and the security headers of every response.

A web page from anywhere can make a browser send requests to servers on its own computer. Four things prevent misuse:
the Host header must name this server, so no foreign name can be pointed here (DNS rebinding); requests that write must
come from our own page; `Cross-Origin-Resource-Policy` keeps responses out of other pages; and the content security
policy allows our page to run nothing but its own files. When not bound to loopback, every request needs a token too.
"""

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Self
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seetell.errors import SeetellError

UPLOAD_PATH = "/api/v1/uploads"
MAX_UPLOAD_BYTES = 32 << 20
MAX_BODY_BYTES = 64 << 10
MIN_TOKEN_LENGTH = 16
COOKIE_SECONDS = 31_536_000

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_READ_ONLY = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may send requests.

    Args:
        loopback: whether the server is reachable from this computer only.
        host_names: host names, in lower case, that requests may use. IP addresses are checked by `loopback` instead.
        token: what every request must carry; empty: no token is needed.
    """

    loopback: bool
    host_names: frozenset[str]
    token: str = ""

    @classmethod
    def for_host(cls, host: str, *, token: str = "", host_names: Iterable[str] = ()) -> Self:
        """Access for a server bound to a host.

        Args:
            host: where the server listens. Anywhere but on loopback a token is required.
            token: the access token; where one is required, a random one by default.
            host_names: further names that requests may use.

        Raises:
            SeetellError: the token is too short or not printable ASCII.
        """
        loopback = is_loopback(host)
        names = {"localhost", *(name.lower().rstrip(".") for name in host_names)}
        if not loopback:
            machine = socket.gethostname().lower()
            names |= {host.lower(), machine, f"{machine}.local"}
            token = token or secrets.token_urlsafe(24)
        if token and (len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable()):
            raise SeetellError(
                f"the token is shorter than {MIN_TOKEN_LENGTH} characters or not printable ASCII",
                remedy="Omit it to use a random one",
            )
        return cls(loopback, frozenset(names), token)

    def allows_host(self, header: str) -> bool:
        """Whether requests may use this Host header. Unlike a name, an IP address cannot be pointed elsewhere."""
        name = host_name(header)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.host_names
        return address.is_loopback or not self.loopback

    def accepts_token(self, token: str) -> bool:
        """Compare a token in constant time."""
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode("utf-8"))


def is_loopback(host: str) -> bool:
    """Whether a host can be reached from this computer only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """A Host header without its port, in lower case; empty if it is malformed."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".") if "@" not in header and "/" not in header else ""
    except ValueError:
        return ""


def _origin_host(origin: str) -> str:
    """Host and port of an Origin header; empty if it is malformed."""
    scheme, _, host = origin.lower().partition("://")
    return host if scheme in ("http", "https") else ""


class RequestRejected(Exception):
    """A request that is not passed on to the application."""

    def __init__(self, status: HTTPStatus, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.remedy = status, message, remedy


class SecurityMiddleware:
    """Rejects requests that `Access` does not allow, and adds `HEADERS` to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_security_headers(send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check_host(headers)
            self._check_origin(scope, headers)
            self._check_length(scope, headers)
            redirect = self._check_token(scope, headers)
        except RequestRejected as rejected:
            await _send_error(rejected, send)
            return
        if redirect is not None:
            await send({"type": "http.response.start", "status": 303, "headers": redirect})
            await send({"type": "http.response.body"})
            return
        await self._app(scope, receive, send)

    def _check_host(self, headers: dict[str, str]) -> None:
        if not self._access.allows_host(headers.get("host", "")):
            raise RequestRejected(
                HTTPStatus.MISDIRECTED_REQUEST,
                "unknown host name",
                "Use the address that `seetell serve` printed, or allow the name with --allow-host",
            )

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["path"].startswith("/api/") and site == "cross-site":
            raise RequestRejected(HTTPStatus.FORBIDDEN, "requests from other sites are not allowed")
        if scope["method"] in _READ_ONLY:
            return
        origin = headers.get("origin")
        if origin is None:
            ours = site in ("same-origin", "none")
        else:
            ours = _origin_host(origin) == headers.get("host", "").lower()
        if not ours:
            raise RequestRejected(HTTPStatus.FORBIDDEN, "only this server's own page may make changes")

    def _check_length(self, scope: Scope, headers: dict[str, str]) -> None:
        if scope["method"] in _READ_ONLY:
            return
        length = headers.get("content-length", "")
        if not length.isdecimal() or len(length) > 15:
            raise RequestRejected(HTTPStatus.LENGTH_REQUIRED, "the request needs a Content-Length header")
        upload = scope["path"] == UPLOAD_PATH
        limit = MAX_UPLOAD_BYTES if upload else MAX_BODY_BYTES
        if int(length) > limit:
            size = f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit >> 10} kB"
            raise RequestRejected(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the request is too large: the limit is {size}",
                "Upload a smaller copy" if upload else "",
            )

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> list[tuple[bytes, bytes]] | None:
        """Check the token of a request.

        Returns:
            None if the request may pass. If the token is in the URL, where it must not stay, the headers of a
            redirect that moves it to a cookie no script can read and no other site can send.
        """
        access = self._access
        if not access.token:
            return None
        cookie_name = f"seetell-{(scope.get('server') or ('', 0))[1]}"  # browsers share cookies between ports
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for key, value in query if key == "token"), None)
        if given is not None and access.accepts_token(given) and scope["method"] in _READ_ONLY:
            rest = urlencode([(key, value) for key, value in query if key != "token"])
            # Exactly one leading slash, so that the path cannot name another host.
            location = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
            cookie = f"{cookie_name}={quote(access.token)}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECONDS}"
            return [(b"location", location.encode()), (b"set-cookie", cookie.encode())]
        try:
            cookie_value = SimpleCookie(headers.get("cookie", "")).get(cookie_name)
        except CookieError:
            cookie_value = None
        if cookie_value is not None and access.accepts_token(unquote(cookie_value.value)):
            return None
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and access.accepts_token(bearer.strip()):
            return None
        raise RequestRejected(
            HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", "Open the address that `seetell serve` printed"
        )


def _with_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", ())}
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present]
            if b"cache-control" not in present:
                added.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


async def _send_error(rejected: RequestRejected, send: Send) -> None:
    body = json.dumps({"error": rejected.message, "remedy": rejected.remedy}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if rejected.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if rejected.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        headers.append((b"connection", b"close"))  # do not wait for the rest of the body
    await send({"type": "http.response.start", "status": int(rejected.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
