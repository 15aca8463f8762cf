"""The application: the API, the page's own files, and errors in plain words."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp

import seetell
from seetell.errors import ImageError, SeetellError
from seetell.web import api
from seetell.web import models as bundles
from seetell.web.answers import Problem
from seetell.web.security import Guard
from seetell.web.site import Site
from seetell.web.thumbnails import GoneError
from seetell.web.work_queue import BusyError

# Whatever the computer's own list of types says.
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    data: bytes
    type: str
    tag: str


def assets() -> dict[str, Asset]:
    """The page's own files, read once."""
    found = {}
    for each in (files("seetell.web") / "static").iterdir():
        suffix = "." + each.name.rpartition(".")[2]
        if suffix in _TYPES:
            data = each.read_bytes()
            kind = _TYPES[suffix] + ("" if suffix == ".svg" else "; charset=utf-8")
            found[each.name] = Asset(data, kind, f'"{hashlib.sha256(data).hexdigest()[:16]}"')
    return found


def create_app(site: Site) -> ASGIApp:
    """The page and its API over one library, guarded."""
    app = FastAPI(
        title="seetell",
        version=seetell.__version__,
        summary="Search a library of images, look at what the models see in them, and say it better.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        generate_unique_id_function=lambda route: route.name,
        responses={422: {"model": Problem}},
    )
    app.include_router(api.routes(site))
    app.include_router(bundles.routes(site))
    _add_pages(app)
    _add_errors(app)
    return Guard(app, site.access)  # outermost, so that even an answer to a fault of ours carries its headers


def _add_pages(app: FastAPI) -> None:
    static = assets()

    def answer(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def page(request: Request) -> Response:
            asset = static.get(name)
            if asset is None:
                raise HTTPException(404, "there is no such page")
            headers = {"ETag": asset.tag, "Cache-Control": "no-cache"}
            if request.headers.get("if-none-match") == asset.tag:
                return Response(status_code=304, headers=headers)
            return Response(asset.data, media_type=asset.type, headers=headers)

        return page

    pages = {"/": "index.html", "/image/{number:int}": "index.html", "/bundles": "index.html"}
    pages |= {"/api": "docs.html", "/api/docs": "docs.html", "/favicon.ico": "icon.svg"}
    for path, name in {**pages, **{f"/static/{name}": name for name in static}}.items():
        app.add_api_route(path, answer(name), include_in_schema=False, methods=["GET", "HEAD"])


def _add_errors(app: FastAPI) -> None:
    def problem(status: int, text: str, remedy: str = "", **headers: str) -> JSONResponse:
        return JSONResponse({"problem": text, "remedy": remedy}, status, headers)

    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        return problem(error.status_code, str(error.detail), **dict(error.headers or {}))

    async def wrong(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return problem(422, f"{'.'.join(str(each) for each in first['loc'][1:]) or 'the request'}: {first['msg']}")

    async def busy(request: Request, error: BusyError) -> Response:
        return problem(503, "too many ask at once", "Try again in a moment", **{"Retry-After": "2"})

    async def user(request: Request, error: SeetellError) -> Response:
        # Not `where`: it may be a path, which is nobody's business on another computer.
        status = 410 if isinstance(error, GoneError) else 422 if isinstance(error, ImageError) else 409
        return problem(status, error.problem, error.remedy)

    async def fault(request: Request, error: Exception) -> Response:
        return problem(500, "something went wrong in the server", "The terminal says what")

    app.add_exception_handler(StarletteHTTPException, refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, wrong)  # type: ignore[arg-type]
    app.add_exception_handler(BusyError, busy)  # type: ignore[arg-type]
    app.add_exception_handler(SeetellError, user)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, fault)
