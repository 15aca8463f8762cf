"""The page in Chromium: keyboard, accessibility, small screens."""

from typing import TYPE_CHECKING, Any

import pytest

from helpers.browser import expect_captions, half_white, open_page, overlay, until
from helpers.web_server import RunningServer
from seetell.web.indexer import IndexingState

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.chromium


def test_everything_is_reachable_by_keyboard(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("red")
    expect_captions(page, {"a red thing"})
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    chosen = page.evaluate("document.activeElement.getAttribute('href')")
    assert chosen == page.locator(".grid a").nth(1).get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_selector(".word")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("ArrowRight")  # the next result
    third = page.locator("#view-search .grid a").nth(2).get_attribute("href")
    until(page, "to => location.pathname === to", third)
    page.wait_for_selector(".word")
    page.keyboard.press("Escape")
    until(page, "() => location.search === '?q=red'")
    assert page.evaluate("document.activeElement.getAttribute('href')") == third  # focus returns to the photo
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_single_letter_shortcuts_can_be_switched_off(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
    page.keyboard.press("?")
    page.get_by_label("Single-letter shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("?")
    assert page.locator("dialog").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations(browser: "Browser", server: RunningServer, scheme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    # axe injects a script, which the content security policy forbids; all other tests enforce it.
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    context.set_default_timeout(15_000)
    page = context.new_page()

    def check(what: str) -> None:
        found = axe.run(page).response["violations"]
        assert not found, (what, [(each["id"], [node["html"] for node in each["nodes"][:3]]) for each in found])

    open_page(page, server)
    check("all photos")
    open_page(page, server, "/?q=zebra&tag=red&not=blue")
    check("nothing matches")
    open_page(page, server, "/photo/1")
    page.wait_for_selector(".word")
    page.wait_for_selector(".similar img")
    page.locator(".word").nth(1).click()
    page.keyboard.press("e")
    page.wait_for_selector(".edit")
    check("a photo")
    page.set_input_files("#file", files=[{"name": "w.png", "mimeType": "image/png", "buffer": half_white()}])
    page.wait_for_selector(".query-photo.upload .word")
    check("an upload")
    server.site.indexer.state = IndexingState("indexing", done=3, total=12)
    open_page(page, server, "/models")
    page.wait_for_selector("progress")
    check("models")
    server.site.indexer.state = IndexingState()
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    check("help")
    page.goto(server.url + "/api/v1/docs")
    page.wait_for_selector(".operation")
    check("the API")
    context.close()


def test_it_fits_a_phone(browser: "Browser", server: RunningServer) -> None:
    context = browser.new_context(
        viewport={"width": 340, "height": 640}, has_touch=True, is_mobile=True, reduced_motion="reduce"
    )
    page = context.new_page()
    for path in ("/", "/?q=zebra", "/photo/1", "/models"):
        open_page(page, server, path)
        if path == "/photo/1":
            page.wait_for_selector(".word")
            page.locator(".word").nth(1).tap()
            assert overlay(page, 0.02, 0.5) > 150
            page.get_by_role("button", name="Edit").tap()
        assert page.evaluate("document.documentElement.scrollWidth") <= 340, path
    context.close()
