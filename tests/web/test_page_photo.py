"""The page in Chromium: a photo, and uploads."""

import io
import re
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from helpers.browser import captions, expect_captions, half_white, open_page, overlay, until
from helpers.web_server import COLOURS, RunningServer

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.chromium


VOICE = """
window.spoken = [];
SpeechSynthesis.prototype.speak = function (utterance) {
  window.spoken.push(utterance.text);
  utterance.onboundary?.({ name: "word", charIndex: utterance.text.indexOf(" ") + 1 });
  window.finish = () => utterance.onend?.();
};
"""


# The page of a photo


def test_a_photo_has_its_own_url_and_similar_photos(page: "Page", server: RunningServer) -> None:
    open_page(page, server, "/?q=blue")
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
    open_page(page, server, "/photo/1")
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
    open_page(page, private_server, "/photo/3")
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

    open_page(page, server, "/")
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
    open_page(page, server, "/photo/1")
    page.wait_for_selector(".word")
    page.get_by_role("button", name="Read aloud").click()
    assert page.evaluate("window.spoken") == ["a blue thing"]
    assert page.locator(".word.highlighted").all_inner_texts() == ["blue"]
    page.evaluate("window.finish()")
    assert page.locator(".word.highlighted").count() == 0
    assert page.get_by_role("button", name="Read aloud").is_visible()


# Uploads


def test_a_chosen_photo_is_captioned_and_searched_by(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
    page.set_input_files("#file", files=[{"name": "white.png", "mimeType": "image/png", "buffer": half_white()}])
    page.wait_for_selector(".query-photo.upload .word")
    assert "?upload=" in page.url
    page.locator(".word").first.hover()
    assert overlay(page, 0.75, 0.75) < 20
    assert overlay(page, 0.2, 0.2) > 60
    assert "bottom right" in page.locator(".note").inner_text()
    page.wait_for_selector("h1:has-text('your photo')")


def test_photos_can_be_dropped_and_pasted(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
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
    open_page(page, server)
    page.set_input_files("#file", files=[{"name": "no.png", "mimeType": "image/png", "buffer": b"not an image"}])
    page.wait_for_selector("#toast:visible")
    assert "text, not an image" in page.locator("#toast").inner_text()
