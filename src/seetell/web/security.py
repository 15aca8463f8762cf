"""Who may ask: the right host name, the right origin, the right token; and what every answer carries.

A page that anybody wrote can make a browser ask servers on its own computer. Four things stand against that: the host
name must be one of ours, so that no foreign name can be made to point here (DNS rebinding); a request that writes must
come from our own page; `Cross-Origin-Resource-Policy` keeps answers out of other pages; and the content security policy
lets our page run nothing but its own files. Bound elsewhere than to loopback, all of it asks for a token besides.
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

UPLOAD = "/api/looks"
UPLOAD_BYTES = 32 << 20
BODY_BYTES = 64 << 10
LEAST_TOKEN = 16  # characters

POLICY = "; ".join(
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
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = {"GET", "HEAD", "OPTIONS"}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask.

    Args:
        loopback: whether the server can be reached from this computer only.
        names: host names, in lower case, by which it may be asked for; addresses in numbers are told apart by
            `loopback`.
        token: what every request must bring; none if this is empty.
    """

    loopback: bool
    names: frozenset[str]
    token: str = ""

    @classmethod
    def to(cls, host: str, *, token: str = "", names: Iterable[str] = ()) -> Self:
        """For a server that is bound to `host`. Elsewhere than on loopback there is a token, by chance unless told."""
        loopback = is_loopback(host)
        known = {"localhost", *(name.lower().rstrip(".") for name in names)}
        if not loopback:
            machine = socket.gethostname().lower()
            known |= {host.lower(), machine, f"{machine}.local"}
            token = token or secrets.token_urlsafe(24)
        if token and (len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable()):
            raise SeetellError(
                f"the token is shorter than {LEAST_TOKEN} characters, or not plain ASCII",
                remedy="Leave it out, and one is made by chance",
            )
        return cls(loopback, frozenset(known), token)

    def knows_host(self, header: str) -> bool:
        """Whether the server may be asked for under this name. A name that is an address cannot be made to point
        elsewhere."""
        name = host_name(header)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return address.is_loopback or not self.loopback

    def knows_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode("utf-8"))


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """A Host header without its port, in lower case; nothing if it is not one."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".") if "@" not in header and "/" not in header else ""
    except ValueError:
        return ""


def _place(origin: str) -> str:
    """Host and port of an Origin header; nothing if it is not one."""
    scheme, _, place = origin.lower().partition("://")
    return place if scheme in ("http", "https") else ""


class Refusal(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.status, self.problem, self.remedy = status, problem, remedy


class Guard:
    """Stands before the application: refuses what may not ask, and puts `HEADERS` on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                have = {name.lower() for name, _ in message.get("headers", ())}
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in have]
                message = {**message, "headers": [*message.get("headers", ()), *more]}
                if b"cache-control" not in have:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            self._check(scope, headers)
            away = self._check_token(scope, headers)
        except Refusal as refusal:
            await _refuse(refusal, with_headers)
            return
        if away is not None:
            await with_headers({"type": "http.response.start", "status": 303, "headers": away})
            await with_headers({"type": "http.response.body"})
            return
        await self._app(scope, receive, with_headers)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if not self._access.knows_host(host):
            raise Refusal(
                HTTPStatus.MISDIRECTED_REQUEST,
                "this server does not go by that name",
                "Use the address that `seetell serve` printed, or allow the name with --name",
            )
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["path"].startswith("/api/") and site == "cross-site":
            raise Refusal(HTTPStatus.FORBIDDEN, "another site's page may not ask")
        if scope["method"] in _SAFE:
            return
        origin = headers.get("origin")
        ours = site in ("same-origin", "none") if origin is None else _place(origin) == host.lower()
        if not ours:
            raise Refusal(HTTPStatus.FORBIDDEN, "only this server's own page may change something")
        length = headers.get("content-length", "")
        if not length.isdecimal() or len(length) > 15:
            raise Refusal(HTTPStatus.LENGTH_REQUIRED, "a request with a body must say how long it is")
        most = UPLOAD_BYTES if scope["path"] == UPLOAD else BODY_BYTES
        if int(length) > most:
            size = f"{most >> 20} MB" if most >= 1 << 20 else f"{most >> 10} kB"
            raise Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"this is too large: {size} at most",
                "Make a smaller copy of it" if scope["path"] == UPLOAD else "",
            )

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> list[tuple[bytes, bytes]] | None:
        """None if the request may pass; headers of a redirection if it brought the token in its address, where it must
        not stay: it goes into a cookie that no script can read and no other site's page can send."""
        access = self._access
        if not access.token:
            return None
        name = f"seetell-{(scope.get('server') or ('', 0))[1]}"  # cookies are not kept apart by ports
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = next((value for key, value in query if key == "token"), None)
        if given is not None and access.knows_token(given) and scope["method"] in _SAFE:
            rest = urlencode([(key, value) for key, value in query if key != "token"])
            # One slash in front, so that the path cannot name another host.
            place = "/" + quote(scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
            cookie = f"{name}={quote(access.token)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000"
            return [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(name)
        except CookieError:
            kept = None
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        if kept is not None and access.knows_token(unquote(kept.value)):
            return None
        if kind.lower() == "bearer" and access.knows_token(bearer.strip()):
            return None
        raise Refusal(
            HTTPStatus.UNAUTHORIZED, "the token is missing or wrong", "Open the address that `seetell serve` printed"
        )


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"problem": refusal.problem, "remedy": refusal.remedy}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if refusal.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        headers.append((b"connection", b"close"))  # the rest of the body is not waited for
    await send({"type": "http.response.start", "status": int(refusal.status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
