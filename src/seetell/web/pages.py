"""The page's own files, read once when the server starts."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files

from fastapi import APIRouter, Request, Response

# Fixed, because the system's own table of types may be wrong.
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
_PAGES = {
    "/": "index.html",
    "/photo/{id:int}": "index.html",
    "/models": "index.html",
    "/api": "docs.html",
    "/api/v1": "docs.html",
    "/api/v1/docs": "docs.html",
    "/favicon.ico": "icon.svg",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file with its content type and entity tag."""

    data: bytes
    content_type: str
    etag: str


def load_assets() -> dict[str, Asset]:
    """Read all files of the page, by name."""
    assets = {}
    for file in (files("seetell.web") / "static").iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in _TYPES:
            data = file.read_bytes()
            content_type = _TYPES[suffix] + ("" if suffix == ".svg" else "; charset=utf-8")
            assets[file.name] = Asset(data, content_type, f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return assets


def page_router() -> APIRouter:
    """Routes of the pages and their scripts, styles and icons."""
    router, assets = APIRouter(include_in_schema=False), load_assets()
    for path, name in {**_PAGES, **{f"/static/{name}": name for name in assets}}.items():
        router.add_api_route(path, _handler(assets[name]), methods=["GET", "HEAD"])
    return router


def _handler(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    async def send_asset(request: Request) -> Response:
        headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.data, media_type=asset.content_type, headers=headers)

    return send_asset
