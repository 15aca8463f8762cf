"""What the API answers, asked over the wire."""

import io
import json
import shutil
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from helpers.tiny_bundles import write_tiny
from helpers.web_server import COLOURS, Served, paint, running
from seetell.bundle import add
from seetell.library import Library
from seetell.web import Access
from seetell.web.work_queue import WorkQueue


def search(served: Served, **asked: object) -> Any:
    return served.get("/api/search?" + urllib.parse.urlencode(asked, doseq=True))


def colour(row: Any) -> str:
    return str(row["name"]).partition("-")[0]


def matching(answer: Any) -> list[str]:
    return [colour(row) for row in answer["rows"] if row["matches"]]


def png(colour: tuple[int, int, int], size: tuple[int, int] = (64, 48)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "PNG")
    return stream.getvalue()


def show(served: Served, data: bytes, kind: str = "image/png") -> Any:
    answer = served.ask("/api/looks", "POST", data, Content_Type=kind)
    assert answer.status == 200, answer
    return answer.json


# Searching


def test_search_finds_what_is_asked_for_and_says_what_does_not_match(served: Served) -> None:
    found = search(served, q="something green")
    assert len(found["rows"]) == 12
    assert matching(found) == ["green"] * 4
    assert found["total"] == 12
    row = found["rows"][0]
    assert row["caption"] == "a green thing"
    assert row["relevance"] >= 0.5 > found["rows"][4]["relevance"]


def test_words_that_nothing_knows_are_named(served: Served) -> None:
    found = search(served, q="zebra")
    assert found["unknown"] == ["zebra"]
    assert matching(found) == []


def test_without_a_question_all_images_come_page_by_page(served: Served) -> None:
    first, second = search(served, limit=8), search(served, limit=8, offset=8)
    assert (len(first["rows"]), first["more"], len(second["rows"]), second["more"]) == (8, True, 4, False)
    assert len({row["id"] for row in first["rows"] + second["rows"]}) == 12


def test_pages_of_a_search_follow_each_other(served: Served) -> None:
    whole = [row["id"] for row in search(served, q="blue")["rows"]]
    parts = [row["id"] for offset in (0, 5, 10) for row in search(served, q="blue", limit=5, offset=offset)["rows"]]
    assert parts == whole


def test_there_is_an_end_to_pages(served: Served) -> None:
    for asked in ({"offset": 1_000_000}, {"q": "red", "offset": 1_000_000}):
        found = search(served, **asked)
        assert (found["rows"], found["more"]) == ([], False)


def test_filters_by_tag_with_and_without(served: Served) -> None:
    assert {colour(row) for row in search(served, tag="red")["rows"]} == {"red"}
    assert search(served, tag="red")["total"] == 4
    assert {colour(row) for row in search(served, not_tag=["red", "blue"])["rows"]} == {"green"}
    assert search(served, tag=["red", "blue"])["rows"] == []
    assert [each["label"] for each in served.get("/api/tags")] == ["blue", "green", "red"]


def test_more_like_one_of_the_library(served: Served) -> None:
    one = search(served, tag="blue")["rows"][0]
    found = search(served, like=one["id"])
    assert [colour(row) for row in found["rows"][:3]] == ["blue"] * 3
    assert one["id"] not in [row["id"] for row in found["rows"]]
    assert served.ask("/api/search?like=999").status == 404


# An image


def test_an_image_and_the_library_at_a_glance(served: Served) -> None:
    one = search(served, q="red")["rows"][0]
    known = served.get(f"/api/images/{one['id']}")
    assert (known["width"], known["height"], known["edited"]) == (60, 40, [])
    assert Path(known["files"][0]).name == known["name"]
    about = served.get("/api/library")
    assert (about["images"], about["bundle"], about["kinds"]) == (12, "tiny", ["captioner", "tagger", "retriever"])


@pytest.mark.parametrize("path", ["/api/images/999", "/api/images/999/told", "/api/images/999/view.jpg"])
def test_what_is_not_there_is_not_found(served: Served, path: str) -> None:
    answer = served.ask(path)
    assert answer.status == 404
    assert "999" in answer.json["problem"]


def test_each_word_has_its_light(served: Served) -> None:
    one = search(served, q="red")["rows"][0]
    told = served.get(f"/api/images/{one['id']}/told")
    assert told["caption"] == "a red thing"
    assert [word["text"] for word in told["words"]] == ["a", "red", "thing"]
    best = served.site.library.model.captioner(one["files"][0]).best
    assert best.attention is not None
    for word, weights in zip(told["words"], best.attention, strict=True):
        assert word["light"] == pytest.approx((weights / weights.max()).tolist(), abs=1e-3)
    assert (told["attention"], told["side"]) == (True, 2)
    # The middle square of 60 × 40 pixels is what the network saw.
    assert told["box"] == pytest.approx([1 / 6, 0, 5 / 6, 1], abs=0.05)


def test_a_bundle_without_a_captioner_has_nothing_to_tell(tmp_path: Path, photos: Path) -> None:
    bundle = write_tiny(tmp_path / "finder", ("retriever",)).path
    with Library.open(tmp_path / "other", bundle=bundle, threads=1) as library:
        library.update([photos / "red"])
        with running(library, Access.to("127.0.0.1")) as served:
            answer = served.ask("/api/images/1/told")
            assert answer.status == 409
            assert "cannot caption images" in answer.json["problem"]
            assert show(served, png(COLOURS["red"]))["told"]["words"] == []


def test_an_edit_is_kept_searched_and_taken_back(own: Served) -> None:
    number = search(own, q="red")["rows"][0]["id"]
    path = f"/api/images/{number}"
    changed = own.send("PATCH", path, {"caption": "Grandmother's kettle", "tags": ["kitchen", "heirloom"]})
    assert changed.status == 200
    assert changed.json["edited"] == ["caption", "tags"]
    assert [row["id"] for row in search(own, q="kettle")["rows"] if row["matches"]] == [number]
    assert [row["id"] for row in search(own, tag="heirloom")["rows"]] == [number]
    own.send("PATCH", path, {"caption": None})
    now = own.get(path)
    assert (now["caption"], now["edited"]) == ("a red thing", ["tags"])
    own.send("PATCH", path, {"tags": None})
    assert [tag["label"] for tag in own.get(path)["tags"]] == ["red"]
    assert own.send("PATCH", "/api/images/999", {"caption": "x"}).status == 404


def test_copies_are_made_once_and_may_be_kept(own: Served, library: Library) -> None:
    one = search(own, q="red")["rows"][0]
    path = f"/api/images/{one['id']}/thumbnail.jpg"
    first = own.ask(f"{path}?v={one['version']}")
    assert first.headers["content-type"] == "image/jpeg"
    assert "immutable" in first.headers["cache-control"]
    with Image.open(io.BytesIO(first.body)) as image:
        assert image.size == (60, 40)
    (kept,) = (library.path / "thumbnails").glob("*/*")
    assert kept.read_bytes() == first.body
    Path(one["files"][0]).unlink()  # the copy is still there
    assert own.ask(path).body == first.body
    assert own.ask(path).headers["cache-control"] == "private, no-cache"
    again = own.ask(path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    gone = own.ask(f"/api/images/{one['id']}/view.jpg")
    assert gone.status == 410
    assert "gone" in gone.json["problem"]


def test_the_original_is_the_file_itself_to_be_kept(served: Served) -> None:
    one = search(served, q="red")["rows"][0]
    answer = served.ask(f"/api/images/{one['id']}/original")
    assert answer.body == Path(one["files"][0]).read_bytes()
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{one['name']}"


# An image that is shown


def test_a_shown_image_is_told_tagged_and_searched_by(served: Served) -> None:
    look = show(served, png(COLOURS["blue"]))
    assert look["told"]["caption"] == "a blue thing"
    assert [tag["label"] for tag in look["tags"]] == ["blue"]
    found = search(served, look=look["id"])
    assert [colour(row) for row in found["rows"][:4]] == ["blue"] * 4
    assert {colour(row) for row in search(served, look=look["id"], tag="red")["rows"]} == {"red"}
    forgotten = served.ask("/api/search?look=somebody-elses")
    assert forgotten.status == 404
    assert "show it again" in forgotten.json["problem"]


def test_an_upright_telephone_image_is_seen_upright(served: Served) -> None:
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (80, 40), COLOURS["green"]).save(stream, "JPEG", exif=exif)
    look = show(served, stream.getvalue(), "image/jpeg")
    left, top, right, bottom = look["told"]["box"]
    assert bottom - top < right - left == pytest.approx(1)


def test_whoever_comes_when_all_chairs_are_taken_is_told_to_come_again(
    own: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own.site, "telling", WorkQueue("full", 1, -1))
    answer = own.ask("/api/images/1/told")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert own.ask("/api/looks", "POST", png(COLOURS["red"]), Content_Type="image/png").status == 503
    assert search(own, q="red")["rows"]  # what needs no network goes on


# Indexing, bundles, pages


def events(served: Served, until: str) -> list[Any]:
    """What is told of the indexing, until it is in this state."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    connection.request("GET", "/api/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    found = []
    try:
        for line in answer:
            if line.startswith(b"data: "):
                found.append(json.loads(line[6:]))
                if found[-1]["state"] == until:
                    return found
    finally:
        connection.close()
    raise AssertionError("the stream ended")


def test_indexing_is_told_live(tmp_path: Path, bundle: Path, photos: Path) -> None:
    (photos / "broken.png").write_bytes(b"this is text")
    with (
        Library.open(tmp_path / "new", bundle=bundle, threads=1) as library,
        running(library, Access.to("127.0.0.1")) as served,
    ):
        assert events(served, "idle")[0]["done"] == 0
        served.site.indexer.start([photos])
        last = events(served, "done")[-1]
        assert (last["done"], last["total"], last["new"], last["unreadable"]) == (13, 13, 12, 1)
        assert [Path(each["name"]).name for each in last["problems"]] == ["broken.png"]
        assert served.get("/api/library")["images"] == 12
        # Something new, and something gone: the copy of what is gone goes, too.
        gone = search(served, q="red")["rows"][0]
        served.ask(f"/api/images/{gone['id']}/thumbnail.jpg")
        Path(gone["files"][0]).unlink()
        paint(photos / "new.png", COLOURS["blue"], seed=99)
        assert served.send("POST", "/api/update", {}).json == {"started": True}
        served.wait(lambda: events(served, "done")[-1]["forgotten"] == 1)
        assert events(served, "done")[-1]["new"] == 1
        served.wait(lambda: not list((library.path / "thumbnails").glob("*/*")))


def test_a_second_indexer_is_told_of_and_the_page_goes_on(own: Served, library: Library) -> None:
    from seetell.library.paths import indexing

    with indexing(library.path):
        own.send("POST", "/api/update", {})
        assert "is indexing this library" in events(own, "failed")[-1]["problem"]
    assert search(own, q="red")["rows"]


def test_bundles_are_compared(own: Served, tmp_path: Path) -> None:
    add(write_tiny(tmp_path / "tiny").path, "second")
    (tmp_path / "added" / "broken").mkdir()
    (tmp_path / "added" / "broken" / "bundle.json").write_text("{", encoding="utf-8")
    found = {each["name"]: each for each in own.get("/api/bundles")}
    assert found["tiny"]["used"]
    assert not found["second"]["used"]
    assert found["broken"]["problem"]
    (score,) = found["second"]["scores"]["captioner"]
    assert (score["data"], score["metrics"]) == ("toys", {"bleu4": 12.5, "image_to_text.r1": 50.0})


def test_the_api_describes_itself(served: Served) -> None:
    said = served.get("/api/openapi.json")
    for path in ("/api/search", "/api/images/{number}/told", "/api/looks", "/api/events", "/api/bundles"):
        assert path in said["paths"], path
    assert said["paths"]["/api/search"]["get"]["responses"]["422"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Problem"
    }


@pytest.mark.parametrize("path", ["/", "/image/7", "/bundles", "/api/docs"])
def test_pages_load_nothing_from_elsewhere(served: Served, path: str) -> None:
    answer = served.ask(path)
    assert answer.status == 200
    text = answer.body.decode("utf-8")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert served.ask(path, If_None_Match=answer.headers["etag"]).status == 304


def test_every_file_that_the_page_names_is_served(served: Served) -> None:
    import re

    seen, todo = set[str](), {"/", "/api/docs"}
    while todo:
        path = todo.pop()
        seen.add(path)
        answer = served.ask(path)
        assert answer.status == 200, path
        text = answer.body.decode("utf-8")
        found = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
        found += [f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]
        todo |= set(found) - seen
    assert len(seen) > 10


def test_a_library_without_images_is_served(tmp_path: Path, bundle: Path) -> None:
    with (
        Library.open(tmp_path / "empty", bundle=bundle, threads=1) as library,
        running(library, Access.to("127.0.0.1")) as served,
    ):
        assert search(served) == {"rows": [], "total": 0, "more": False, "unknown": []}
        assert search(served, q="red")["rows"] == []
        assert show(served, png(COLOURS["red"]))["told"]["caption"] == "a red thing"


def test_a_library_that_may_only_be_read_still_shows_its_images(own: Served, library: Library) -> None:
    (library.path / "thumbnails").write_text("in the way", encoding="utf-8")
    number = search(own, q="red")["rows"][0]["id"]
    assert own.ask(f"/api/images/{number}/thumbnail.jpg").status == 200
    (library.path / "thumbnails").unlink()
    shutil.rmtree(library.path / "thumbnails", ignore_errors=True)
