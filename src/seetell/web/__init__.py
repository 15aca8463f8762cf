"""The web page and its JSON API: a library in the browser, served from this computer.

Example:

    with Library.open("holiday.library") as library:
        serve(Site(library, Access.for_host("127.0.0.1")), bind("127.0.0.1", 0))

`create_app(site)` is a FastAPI application behind `SecurityMiddleware`. A `Site` holds what requests share, `Access`
decides who may send them. Everything that needs a model, the database or the disk runs in the threads of a bounded
`WorkQueue`, so the event loop never blocks. No path from a client is ever opened: images are requested by their id,
and the page's own files are read once at start-up.

This is the only package that imports FastAPI, Starlette, uvicorn and pydantic; `seetell serve` is the only command
that imports it.
"""

from seetell.web.app import create_app
from seetell.web.security import Access
from seetell.web.server import bind, serve
from seetell.web.site import Site

__all__ = ["Access", "Site", "bind", "create_app", "serve"]
