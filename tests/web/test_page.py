"""The page in a real Chromium: searching, viewing, editing, accessibility."""

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from helpers.tiny_bundles import write_tiny
from helpers.web_server import COLOURS, RunningServer, run_server, save_coloured
from seetell.bundle import add
from seetell.library import Library
from seetell.web import Access
from seetell.web.indexer import IndexingState

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.chromium

VOICE = """
window.spoken = [];
SpeechSynthesis.prototype.speak = function (utterance) {
  window.spoken.push(utterance.text);
  utterance.onboundary?.({ name: "word", charIndex: utterance.text.indexOf(" ") + 1 });
  window.finish = () => utterance.onend?.();
};
"""


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A page that must not log errors or violations of the content security policy."""
    context = browser.new_context(viewport={"width": 1000, "height": 700}, reduced_motion="reduce")
    context.set_default_timeout(15_000)
    made = context.new_page()
    errors: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    made.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield made
    context.close()
    assert not [each for each in errors if "Failed to load resource" not in each], errors


def until(page: "Page", what: str, arg: object = None) -> None:
    """Wait until a JavaScript function returns true; the content security policy forbids Playwright's own way."""
    for _ in range(300):
        if page.evaluate(what, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"timed out: {what}; {page.locator('main').inner_text()}")


def opened(page: "Page", server: RunningServer, path: str = "/") -> "Page":
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


# Search


def test_results_appear_while_typing(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    assert len(captions(page)) == 12
    page.locator("#q").press_sequentially("something green", delay=10)
    expect_captions(page, {"a green thing"})
    assert page.url.endswith("/?q=something+green")
    assert page.locator("h1:visible").inner_text() == "4 photos match “something green”"
    until(page, "() => document.getElementById('status').textContent.startsWith('4 photos match')")
    page.go_back()
    expect_twelve(page)
    assert page.locator("#q").input_value() == ""


def test_a_late_response_to_an_old_query_is_dropped(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    waiting: list[Any] = []
    page.route("**/api/v1/search?*q=red*", lambda route: waiting.append(route))
    page.locator("#q").fill("red")
    for _ in range(300):
        page.wait_for_timeout(50)
        if waiting:
            break
    assert waiting
    page.locator("#q").fill("blue")
    expect_captions(page, {"a blue thing"})
    for route in waiting:
        try:
            route.continue_()
        except Exception:  # the page aborted it, which is as good
            continue
    page.wait_for_timeout(300)
    assert set(captions(page)) == {"a blue thing"}


def test_without_a_match_the_closest_are_offered(page: "Page", server: RunningServer) -> None:
    opened(page, server, "/?q=zebra")
    assert page.locator("h1:visible").inner_text() == "No photo matches “zebra”"
    assert "every photo: zebra" in page.locator(".hints").inner_text()
    assert captions(page) == []
    page.get_by_role("button", name="Show the closest anyway").click()
    assert len(captions(page)) == 12


def test_filters_by_tag(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    page.get_by_role("button", name="Only with red, 4 photos").click()
    expect_captions(page, {"a red thing"})
    page.get_by_role("button", name="With red: change to without").click()
    expect_captions(page, {"a green thing", "a blue thing"})
    assert page.url.endswith("/?not=red")
    page.get_by_role("button", name="Only with blue, 4 photos").click()
    expect_captions(page, {"a blue thing"})
    page.get_by_role("button", name="Remove the filter no red").click()
    page.get_by_role("button", name="Remove the filter blue").click()
    expect_twelve(page)


# The page of a photo


def test_a_photo_has_its_own_url_and_similar_photos(page: "Page", server: RunningServer) -> None:
    opened(page, server, "/?q=blue")
    page.locator(".grid a").first.click()
    page.wait_for_selector(".word")
    assert "/photo/" in page.url
    assert page.locator("main h1:visible, main h1.hidden").last.inner_text() == "a blue thing"
    assert page.locator(".tags a").all_inner_texts() == ["blue"]
    page.wait_for_selector(".similar img")
    assert set(page.locator(".similar img").evaluate_all("all => all.slice(0, 3).map(i => i.alt)")) == {"a blue thing"}
    page.get_by_role("link", name="More like this").click()
    page.wait_for_selector("h1:has-text('Most similar to this photo')")
    assert captions(page)[:3] == ["a blue thing"] * 3
    assert captions(page)[3:] != []
    page.go_back()
    page.wait_for_selector(".word")
    page.reload()
    page.wait_for_selector(".word")


def test_each_word_shows_its_attention(page: "Page", server: RunningServer) -> None:
    opened(page, server, "/photo/1")
    words = page.locator(".word")
    words.first.wait_for()
    assert words.all_inner_texts() == ["a", "blue", "thing"]
    assert overlay(page, 0.5, 0.5) == -1
    words.nth(1).hover()
    assert overlay(page, 0.02, 0.5) > 150  # outside what the model saw
    assert overlay(page, 0.5, 0.5) < overlay(page, 0.02, 0.5)
    assert "“blue”: attention on" in page.locator(".note").inner_text()
    page.mouse.move(5, 5)
    assert overlay(page, 0.5, 0.5) == -1
    words.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "“thing”" in page.locator(".note").inner_text()
    assert page.evaluate("document.activeElement.textContent") == "thing"
    page.keyboard.press("Enter")
    assert words.nth(2).get_attribute("aria-pressed") == "true"
    page.locator("h1").last.focus()
    assert overlay(page, 0.02, 0.5) > 150  # it is pinned
    assert "attention on" in str(words.nth(2).get_attribute("aria-label"))


def test_edits_are_saved_and_found(page: "Page", private_server: RunningServer) -> None:
    opened(page, private_server, "/photo/3")
    page.wait_for_selector(".word")
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Caption").fill("Grandmother's kettle")
    page.get_by_role("textbox", name="Tags").fill("kitchen, heirloom , kitchen")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=Edited by you.")
    assert page.locator("h1:visible").inner_text() == "Grandmother's kettle"
    assert page.locator(".tags a").all_inner_texts() == ["heirloom", "kitchen"]
    assert page.locator(".word").all_inner_texts() == ["a", "blue", "thing"]  # the model's caption is still shown
    page.locator("#q").fill("kettle")
    expect_captions(page, {"Grandmother's kettle"})
    page.locator(".grid a").first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Restore the model's caption").click()
    until(page, "() => !document.body.textContent.includes('Edited by you.')")
    assert page.locator("h1").last.inner_text() == "a blue thing"
    page.keyboard.press("Escape")  # the same results, with the photo as it is now
    expect_captions(page, {"a blue thing"})
    assert page.locator("h1:visible").inner_text() == "1 photo matches “kettle”"
    assert page.locator("#view-search .grid .confidence").count() == 1


def test_the_previous_photo_cannot_be_edited_while_the_next_one_loads(page: "Page", server: RunningServer) -> None:
    held: list[Any] = []

    def next_request() -> Any:
        while not held:
            page.wait_for_timeout(20)
        return held.pop()

    opened(page, server, "/")
    page.locator("#view-search .grid a").first.click()
    page.get_by_role("button", name="Edit").wait_for()
    page.route(re.compile(r"/api/v1/images/\d+$"), lambda route: held.append(route))
    page.locator("a.next").click()
    request = next_request()
    assert page.locator("article.photo[inert]").count() == 1
    request.continue_()
    page.locator("article.photo:not([inert])").wait_for()
    page.keyboard.press("Escape")
    page.locator("#view-search .grid a").first.click()
    request = next_request()
    assert page.locator("article.photo").count() == 0  # not even visible
    request.continue_()
    page.get_by_role("button", name="Edit").wait_for()


def test_reading_aloud_highlights_each_word(page: "Page", server: RunningServer) -> None:
    page.add_init_script(VOICE)
    opened(page, server, "/photo/1")
    page.wait_for_selector(".word")
    page.get_by_role("button", name="Read aloud").click()
    assert page.evaluate("window.spoken") == ["a blue thing"]
    assert page.locator(".word.highlighted").all_inner_texts() == ["blue"]
    page.evaluate("window.finish()")
    assert page.locator(".word.highlighted").count() == 0
    assert page.get_by_role("button", name="Read aloud").is_visible()


# Uploads


def test_a_chosen_photo_is_captioned_and_searched_by(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    page.set_input_files("#file", files=[{"name": "white.png", "mimeType": "image/png", "buffer": half_white()}])
    page.wait_for_selector(".query-photo.upload .word")
    assert "?upload=" in page.url
    page.locator(".word").first.hover()
    assert overlay(page, 0.75, 0.75) < 20
    assert overlay(page, 0.2, 0.2) > 60
    assert "bottom right" in page.locator(".note").inner_text()
    page.wait_for_selector("h1:has-text('your photo')")


def test_photos_can_be_dropped_and_pasted(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    for event, make in (
        ("drop", "new DragEvent('drop', { dataTransfer: carried, bubbles: true, cancelable: true })"),
        ("paste", "new ClipboardEvent('paste', { clipboardData: carried, bubbles: true, cancelable: true })"),
    ):
        stream = io.BytesIO()
        Image.new("RGB", (40, 40), COLOURS["red" if event == "drop" else "green"]).save(stream, "PNG")
        page.evaluate(
            f"""data => {{
                const carried = new DataTransfer();
                carried.items.add(new File([new Uint8Array(data)], "one.png", {{ type: "image/png" }}));
                document.body.dispatchEvent({make});
            }}""",
            list(stream.getvalue()),
        )
        caption = "a red thing" if event == "drop" else "a green thing"
        until(page, "caption => document.querySelector('.upload h2')?.textContent === caption", caption)
        until(page, "caption => document.querySelector('#view-search .grid img')?.alt === caption", caption)


def test_unreadable_uploads_are_reported(page: "Page", server: RunningServer) -> None:
    opened(page, server)
    page.set_input_files("#file", files=[{"name": "no.png", "mimeType": "image/png", "buffer": b"not an image"}])
    page.wait_for_selector("#toast:visible")
    assert "text, not an image" in page.locator("#toast").inner_text()


# Indexing and models


def test_indexing_progress_is_shown(page: "Page", tmp_path: Path, bundle: Path, photos: Path) -> None:
    (photos / "broken.png").write_bytes(b"this is text")
    with (
        Library.open(tmp_path / "new", bundle=bundle, threads=1) as library,
        run_server(library) as server,
    ):
        opened(page, server)
        assert "no photos here yet" in page.locator(".hints").inner_text()
        indexer = server.site.indexer
        indexer.state = IndexingState("indexing", done=3, total=12, rate=2.0, seconds_left=4.5)
        indexer._publish()
        page.wait_for_selector("text=Indexing: 3 of 12 photos, 5 s left")
        assert page.locator("progress").get_attribute("value") == "3"
        indexer.start([photos])
        page.wait_for_selector("text=12 new photos, 1 could not be read")
        expect_twelve(page)
        page.get_by_text("Show details").click()
        assert "broken.png: this is text" in page.locator("#progress").inner_text()
        page.get_by_role("button", name="Hide this message").click()
        assert page.locator("#progress").is_hidden()


def test_models_are_compared_in_tables(page: "Page", private_server: RunningServer, tmp_path: Path) -> None:
    add(write_tiny(tmp_path / "tiny").path, "second")
    opened(page, private_server)
    page.get_by_role("link", name="Models").click()
    page.wait_for_selector("table")
    assert page.locator(".cards h2").all_inner_texts() == ["tiny\nin use", "second"]
    table = page.get_by_role("region", name="Captions: toys, test, 3 images")
    assert table.locator("tbody th").all_inner_texts() == ["tiny", "second"]
    assert table.locator("tbody td").first.inner_text() == "12.5"


# Keyboard, accessibility, small screens


def test_everything_is_reachable_by_keyboard(page: "Page", server: RunningServer) -> None:
    opened(page, server)
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
    opened(page, server)
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

    opened(page, server)
    check("all photos")
    opened(page, server, "/?q=zebra&tag=red&not=blue")
    check("nothing matches")
    opened(page, server, "/photo/1")
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
    opened(page, server, "/models")
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
        opened(page, server, path)
        if path == "/photo/1":
            page.wait_for_selector(".word")
            page.locator(".word").nth(1).tap()
            assert overlay(page, 0.02, 0.5) > 150
            page.get_by_role("button", name="Edit").tap()
        assert page.evaluate("document.documentElement.scrollWidth") <= 340, path
    context.close()


# Untrusted text and tokens


@pytest.mark.skipif(os.name == "nt", reason="Windows forbids such file names")
def test_markup_in_names_captions_and_tags_stays_text(page: "Page", tmp_path: Path, bundle: Path) -> None:
    evil = "<img src=x onerror=window.hacked=1>"
    save_coloured(tmp_path / "photos" / f"{evil}.png", COLOURS["red"])
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as library:
        library.update([tmp_path / "photos"])
        library.edit(
            1, caption=f"{evil}<script>window.hacked=1</script>", tags=[f'"{evil}', "javascript:window.hacked=1"]
        )
        with run_server(library) as server:
            opened(page, server, f"/?q={evil}")
            opened(page, server)
            assert captions(page) == [f"{evil}<script>window.hacked=1</script>"]
            page.locator(".grid a").first.click()
            page.wait_for_selector(".word")
            page.keyboard.press("e")
            assert evil in page.locator(".path").inner_text()
            page.locator(".tags a").first.click()
            page.wait_for_selector(".chip.on")
            assert page.evaluate("window.hacked") is None
            assert page.locator("main script, main img[src=x]").count() == 0


def test_the_token_is_removed_from_the_url(page: "Page", tmp_path: Path, bundle: Path, photos: Path) -> None:
    access = Access.for_host("0.0.0.0", token="long enough to be one")
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as library:
        library.update([photos / "red"])
        with run_server(library, access) as server:
            page.goto(f"{server.url}/?token=long+enough+to+be+one")
            expect_captions(page, {"a red thing"})
            assert page.url == f"{server.url}/"
            assert page.evaluate("document.cookie") == ""
