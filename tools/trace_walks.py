"""Traces five typical calls through the package and prints each as a list of hops between modules.

    python tools/trace_walks.py [--walk export] [--depth 3] [--write docs/architecture.md]

A hop is a call from one module of seetell into another, printed as `file: function` and indented below its caller.
Calls within a module, repeated hops, properties and the small tools that every layer uses are left out. With --write,
the lists replace the block between `<!-- walks:begin -->` and `<!-- walks:end -->` of a page. Two modules that call
each other back and forth (A calls B, which calls A, which calls B) are reported, and the exit code is then 1.
"""

import argparse
import asyncio
import contextlib
import io
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import seetell
from seetell.files import write_file

PACKAGE = Path(seetell.__file__).parent
BLOCK = re.compile(r"(<!-- walks:begin -->\n).*?(<!-- walks:end -->)", re.DOTALL)
TOOLS = {"errors.py", "files.py", "progress.py", "settings.py", "util.py", "cli/__init__.py", "cli/progress.py"}
SMALL = ["--set", "encoder.name=test_efficientnet@random", "--set", "phases.epochs=1"]


@dataclass
class Hop:
    """A call into another module, and the hops below it."""

    name: str = ""
    depth: int = 0
    below: list["Hop"] = field(default_factory=list)

    def lines(self) -> list[str]:
        own = [f"{'  ' * (self.depth - 1)}- {self.name}"] if self.name else []
        return [*own, *(line for hop in self.below for line in hop.lines())]


class Tracer:
    """Records the hops between modules while it is `active`, in every thread that is started after `install`."""

    def __init__(self, depth: int) -> None:
        self.root = Hop()
        self.loops: set[str] = set()
        self.active = False
        self._most, self._seen = depth, set[str]()
        self._stacks = threading.local()

    @contextlib.contextmanager
    def install(self) -> Iterator[None]:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        stack: list[tuple[str, Hop]] = self._stacks.__dict__.setdefault("calls", [])
        if event == "return":
            if stack:
                stack.pop()
            return
        file = Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix()
        hop = stack[-1][1] if stack else self.root
        if self.active and file not in TOOLS and (not stack or stack[-1][0] != file):
            files = [*(name for name, _ in stack if name not in TOOLS), file]
            hop = self._hop(frame.f_code, file, [each for each, _ in groupby(files)], hop)
        stack.append((file, hop))

    def _hop(self, code: CodeType, file: str, modules: list[str], above: Hop) -> Hop:
        """The hop of a call; that of its caller if the call is not worth a line of its own."""
        if len(modules) > 3 and modules[-1] == modules[-3] and modules[-2] == modules[-4]:
            self.loops.add(f"{modules[-2]} and {modules[-1]} (in {code.co_qualname})")
        name = f"`{file}`: `{code.co_qualname}`"
        if above.depth >= self._most or name in self._seen or not _meaningful(code, file):
            return above
        self._seen.add(name)
        thread = " (in a thread)" if above is self.root and self.root.below else ""
        above.below.append(Hop(name + thread, above.depth + 1))
        return above.below[-1]


def _meaningful(code: CodeType, file: str) -> bool:
    """Whether a function is worth a line: no lambda, no property, no special method but a call, no test data."""
    name = code.co_qualname
    special = code.co_name.startswith("__") and code.co_name != "__call__"
    if "<" in name or special or file.startswith("data/scenes/"):
        return False
    module = sys.modules.get("seetell." + file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    found: Any = module
    for part in name.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return not isinstance(found, property)


def commands(*several: list[str | Path]) -> None:
    """Run commands of the command line in this process, without their output."""
    from seetell.cli import app

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for words in several:
            app([str(word) for word in words], standalone_mode=False)


def search_on_page(folder: Path, tracer: Tracer) -> None:
    """Answer two searches of the web page; the second is traced."""
    from seetell.library import Library
    from seetell.web import Access, Site
    from seetell.web.app import create_app

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "GET", "path": "/api/v1/search", "query_string": b"q=dog", "headers": headers}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        assert message.get("status", 200) == 200, message

    async def answer() -> None:
        await app(dict(scope), receive, send)
        tracer.active = True
        await app(dict(scope), receive, send)
        tracer.active = False

    with Library.open(folder / "library") as library:
        site = Site(library, Access.for_host("127.0.0.1"))
        app = create_app(site)
        asyncio.run(answer())
        site.close()


def walks(folder: Path) -> dict[str, Callable[[str], None]]:
    """The walks by title; each runs twice, with a name for its output."""
    from seetell.data import open_dataset

    photos, run = folder / "photos", folder / "trained-run"
    photos.mkdir()
    for record in open_dataset("scenes:40").records[:6]:
        (photos / f"{Path(record.key).stem}.png").write_bytes(record.image.read())
    train = ["learn", "train", "bce", "--data", "scenes:40", *SMALL, "--device", "cpu", "--out"]
    commands([*train, run], ["index", photos, "--library", folder / "library"])
    return {
        "Caption one image": lambda name: commands(["caption", sorted(photos.iterdir())[0]]),
        "Train a recipe": lambda name: commands([*train, folder / f"{name}-run"]),
        "Index and search": lambda name: commands(
            ["index", photos, "--library", folder / f"{name}-library"],
            ["search", "a red circle", "--library", folder / f"{name}-library", "--all"],
        ),
        "Export": lambda name: commands(["learn", "export", run, "--data", "scenes:40", "--out", folder / name]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--walk", default="", help="only walks whose title contains this")
    parser.add_argument("--depth", type=int, default=3, help="how many hops deep")
    parser.add_argument("--write", type=Path, help="a page with markers")
    given = parser.parse_args()
    text, loops = "", list[str]()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ |= {"SEETELL_STORE": str(folder / "store"), "SEETELL_LIBRARY": str(folder / "default-library")}
        todo = {title: walk for title, walk in walks(folder).items() if given.walk.lower() in title.lower()}
        for title in (*todo, *(["One web search"] if given.walk.lower() in "one web search" else [])):
            tracer = Tracer(given.depth)
            if walk := todo.get(title):
                walk("first")  # imports are not part of the walk
                tracer.active = True
                with tracer.install():
                    walk("second")
            else:
                with tracer.install():
                    search_on_page(folder, tracer)
            text += f"### {title}\n\n" + "\n".join(tracer.root.lines()) + "\n\n"
            loops += [f"{title}: back and forth between {loop}" for loop in sorted(tracer.loops)]
    if given.write:
        page = given.write.read_text(encoding="utf-8")
        write_file(given.write, BLOCK.sub(lambda found: f"{found[1]}{text}{found[2]}", page))
    else:
        print(text)
    sys.exit("\n".join(loops) or 0)


if __name__ == "__main__":
    main()
