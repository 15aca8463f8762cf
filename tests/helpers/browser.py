"""Driving the page in Chromium: opening it, waiting, and reading what it shows."""

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from helpers.web_server import RunningServer

if TYPE_CHECKING:
    from playwright.sync_api import Page


def until(page: "Page", what: str, arg: object = None) -> None:
    """Wait until a JavaScript function returns true; the content security policy forbids Playwright's own way."""
    for _ in range(300):
        if page.evaluate(what, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"timed out: {what}; {page.locator('main').inner_text()}")


def open_page(page: "Page", server: RunningServer, path: str = "/") -> "Page":
    page.goto(server.url + path)
    until(page, "() => [...document.querySelectorAll('main h1')].some(each => each.textContent)")
    until(page, "() => !document.querySelector('[aria-busy]')")
    return page


def expect_twelve(page: "Page") -> None:
    until(page, "() => document.querySelectorAll('#view-search .grid img').length === 12")


def captions(page: "Page") -> list[str]:
    return [str(each) for each in page.locator("#view-search .grid img").evaluate_all("all => all.map(i => i.alt)")]


def expect_captions(page: "Page", wanted: set[str]) -> None:
    until(
        page,
        """wanted => {
            const all = [...document.querySelectorAll("#view-search .grid img")].map(each => each.alt);
            return all.length && [...new Set(all)].sort().join() === wanted;
        }""",
        ",".join(sorted(wanted)),
    )


def half_white() -> bytes:
    """White in the lower right quarter, where the toy model attends, and dark elsewhere."""
    pixels = np.full((80, 80, 3), 10, np.uint8)
    pixels[40:, 40:] = 250
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def overlay(page: "Page", x: float, y: float) -> float:
    """Opacity of the overlay at a point of the photo: 0 if transparent, 255 if black, -1 without an overlay."""
    opacity: float = page.evaluate(
        """([x, y]) => {
            const canvas = document.querySelector(".overlay.visible");
            if (!canvas) return -1;
            return canvas.getContext("2d").getImageData(x * canvas.width, y * canvas.height, 1, 1).data[3];
        }""",
        [x, y],
    )
    return opacity
