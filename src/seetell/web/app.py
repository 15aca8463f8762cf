"""The application: API, pages, and errors as JSON."""

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

import seetell
from seetell.errors import ImageError, SeetellError
from seetell.web import api
from seetell.web.pages import page_router
from seetell.web.schemas import ErrorResponse
from seetell.web.security import SecurityMiddleware
from seetell.web.site import Site
from seetell.web.thumbnails import GoneError
from seetell.web.work_queue import BusyError


def create_app(site: Site) -> ASGIApp:
    """Create the application for one site, behind `SecurityMiddleware`."""
    app = FastAPI(
        title="seetell",
        version=seetell.__version__,
        summary="Search a library of images, see what the models attend to, and edit captions and tags.",
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{api.PREFIX}/openapi.json",
        generate_unique_id_function=lambda route: route.name,
        responses={422: {"model": ErrorResponse}},
    )
    app.state.site = site
    app.include_router(api.router)
    app.include_router(page_router())
    app.add_exception_handler(HTTPException, _on_http_error)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _on_invalid_request)  # type: ignore[arg-type]
    app.add_exception_handler(BusyError, _on_busy)
    app.add_exception_handler(SeetellError, _on_seetell_error)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _on_unexpected_error)
    return SecurityMiddleware(app, site.access)  # outermost: its headers are on every response, even after a crash


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    return _error(error.status_code, str(error.detail), **dict(error.headers or {}))


async def _on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    first = error.errors()[0]
    return _error(422, f"{'.'.join(str(part) for part in first['loc'][1:]) or 'request'}: {first['msg']}")


async def _on_busy(request: Request, error: Exception) -> Response:
    return _error(503, "server busy, try again", **{"Retry-After": "2"})


async def _on_seetell_error(request: Request, error: SeetellError) -> Response:
    # Without `where`: it may be a path, which other computers must not learn.
    status = 410 if isinstance(error, GoneError) else 422 if isinstance(error, ImageError) else 409
    return _error(status, error.problem, error.remedy)


async def _on_unexpected_error(request: Request, error: Exception) -> Response:
    return _error(500, "internal server error", "See the server's terminal for details")


def _error(status: int, message: str, remedy: str = "", **headers: str) -> JSONResponse:
    return JSONResponse(ErrorResponse(error=message, remedy=remedy).model_dump(), status, headers)
