"""The page in Chromium: search, indexing, models, untrusted text."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from helpers.browser import captions, expect_captions, expect_twelve, open_page, until
from helpers.tiny_bundles import write_tiny
from helpers.web_server import COLOURS, RunningServer, run_server, save_coloured
from seetell.bundle import add
from seetell.library import Library
from seetell.web import Access
from seetell.web.indexer import IndexingState

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.chromium


# Search


def test_results_appear_while_typing(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
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
    open_page(page, server)
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
    open_page(page, server, "/?q=zebra")
    assert page.locator("h1:visible").inner_text() == "No photo matches “zebra”"
    assert "every photo: zebra" in page.locator(".hints").inner_text()
    assert captions(page) == []
    page.get_by_role("button", name="Show the closest anyway").click()
    assert len(captions(page)) == 12


def test_filters_by_tag(page: "Page", server: RunningServer) -> None:
    open_page(page, server)
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


# Indexing and models


def test_indexing_progress_is_shown(page: "Page", tmp_path: Path, bundle: Path, photos: Path) -> None:
    (photos / "broken.png").write_bytes(b"this is text")
    with (
        Library.open(tmp_path / "new", model=bundle, threads=1) as library,
        run_server(library) as server,
    ):
        open_page(page, server)
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
    open_page(page, private_server)
    page.get_by_role("link", name="Models").click()
    page.wait_for_selector("table")
    assert page.locator(".cards h2").all_inner_texts() == ["tiny\nin use", "second"]
    table = page.get_by_role("region", name="Captions: toys, test, 3 images")
    assert table.locator("tbody th").all_inner_texts() == ["tiny", "second"]
    assert table.locator("tbody td").first.inner_text() == "12.5"


# Untrusted text and tokens


@pytest.mark.skipif(os.name == "nt", reason="Windows forbids such file names")
def test_markup_in_names_captions_and_tags_stays_text(page: "Page", tmp_path: Path, bundle: Path) -> None:
    evil = "<img src=x onerror=window.hacked=1>"
    save_coloured(tmp_path / "photos" / f"{evil}.png", COLOURS["red"])
    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        library.update([tmp_path / "photos"])
        library.edit(
            1, caption=f"{evil}<script>window.hacked=1</script>", tags=[f'"{evil}', "javascript:window.hacked=1"]
        )
        with run_server(library) as server:
            open_page(page, server, f"/?q={evil}")
            open_page(page, server)
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
    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        library.update([photos / "red"])
        with run_server(library, access) as server:
            page.goto(f"{server.url}/?token=long+enough+to+be+one")
            expect_captions(page, {"a red thing"})
            assert page.url == f"{server.url}/"
            assert page.evaluate("document.cookie") == ""
