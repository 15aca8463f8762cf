"""The page and its API: a library in a browser, on this computer.

    with Library.open("holiday.library") as library:
        serve(Site(library, Access.to("127.0.0.1")), bind("127.0.0.1", 0))

`create_app(site)` is the application (FastAPI behind a guard), `Site` what its answers are made of, `Access` who may
ask. What needs a network or a disk runs in the threads of a `WorkQueue`, which has so many chairs and no more; the event
loop never waits. No path that comes from a client is opened: images are asked for by their number in the library, and
the page's own files are read once, at the start.
"""

from seetell.web.app import create_app
from seetell.web.security import Access
from seetell.web.server import bind, serve
from seetell.web.site import Site

__all__ = ["Access", "Site", "bind", "create_app", "serve"]
