"""The JSON API over HTTP: search, images, uploads, models and pages."""

import io
import re
import shutil
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from helpers.tiny_bundles import write_tiny
from helpers.web_server import COLOURS, RunningServer, run_server
from seetell.bundle import add
from seetell.library import Library
from seetell.web.work_queue import WorkQueue


def search(server: RunningServer, **query: object) -> Any:
    return server.get("/api/v1/search?" + urllib.parse.urlencode(query, doseq=True))


def colour(result: Any) -> str:
    return str(result["name"]).partition("-")[0]


def matching(response: Any) -> list[str]:
    return [colour(result) for result in response["results"] if result["matches"]]


def png(colour: tuple[int, int, int], size: tuple[int, int] = (64, 48)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, "PNG")
    return stream.getvalue()


def upload(server: RunningServer, data: bytes, content_type: str = "image/png") -> Any:
    response = server.request("/api/v1/uploads", "POST", data, Content_Type=content_type)
    assert response.status == 200, response
    return response.json


# Search


def test_search_ranks_matches_first_and_marks_the_rest(server: RunningServer) -> None:
    found = search(server, q="something green")
    assert len(found["results"]) == 12
    assert matching(found) == ["green"] * 4
    assert found["total"] == 12
    first = found["results"][0]
    assert first["caption"] == "a green thing"
    assert first["relevance"] >= 0.5 > found["results"][4]["relevance"]


def test_unknown_words_are_reported(server: RunningServer) -> None:
    found = search(server, q="zebra")
    assert found["unknown_words"] == ["zebra"]
    assert matching(found) == []


def test_an_empty_query_lists_all_images_in_pages(server: RunningServer) -> None:
    first, second = search(server, limit=8), search(server, limit=8, offset=8)
    assert (len(first["results"]), first["has_more"]) == (8, True)
    assert (len(second["results"]), second["has_more"]) == (4, False)
    assert len({result["id"] for result in first["results"] + second["results"]}) == 12


def test_pages_of_a_search_join_without_gaps(server: RunningServer) -> None:
    whole = [result["id"] for result in search(server, q="blue")["results"]]
    pages = [search(server, q="blue", limit=5, offset=offset) for offset in (0, 5, 10)]
    assert [result["id"] for page in pages for result in page["results"]] == whole


def test_pages_past_the_end_are_empty(server: RunningServer) -> None:
    for query in ({"offset": 1_000_000}, {"q": "red", "offset": 1_000_000}):
        found = search(server, **query)
        assert (found["results"], found["has_more"]) == ([], False)


def test_filters_include_and_exclude_tags(server: RunningServer) -> None:
    assert {colour(result) for result in search(server, tag="red")["results"]} == {"red"}
    assert search(server, tag="red")["total"] == 4
    assert {colour(result) for result in search(server, not_tag=["red", "blue"])["results"]} == {"green"}
    assert search(server, tag=["red", "blue"])["results"] == []
    assert [each["label"] for each in server.get("/api/v1/tags")] == ["blue", "green", "red"]


def test_search_for_images_like_one_in_the_library(server: RunningServer) -> None:
    one = search(server, tag="blue")["results"][0]
    found = search(server, like=one["id"])
    assert [colour(result) for result in found["results"][:3]] == ["blue"] * 3
    assert one["id"] not in [result["id"] for result in found["results"]]
    assert server.request("/api/v1/search?like=999").status == 404


# Images


def test_image_details_and_library_summary(server: RunningServer) -> None:
    one = search(server, q="red")["results"][0]
    details = server.get(f"/api/v1/images/{one['id']}")
    assert (details["width"], details["height"], details["edited"]) == (60, 40, [])
    assert Path(details["files"][0]).name == details["name"]
    summary = server.get("/api/v1/library")
    assert (summary["images"], summary["model"]) == (12, "tiny")
    assert summary["kinds"] == ["captioner", "tagger", "retriever"]


@pytest.mark.parametrize("path", ["images/999", "images/999/attention", "images/999/view.jpg", "images/999/original"])
def test_unknown_images_give_404(server: RunningServer, path: str) -> None:
    response = server.request(f"/api/v1/{path}")
    assert response.status == 404
    assert "999" in response.json["error"]


def test_each_word_has_its_attention(server: RunningServer) -> None:
    one = search(server, q="red")["results"][0]
    caption = server.get(f"/api/v1/images/{one['id']}/attention")
    assert caption["caption"] == "a red thing"
    assert [word["text"] for word in caption["words"]] == ["a", "red", "thing"]
    best = server.site.library.model.captioner(one["files"][0]).best
    assert best.attention is not None
    for word, weights in zip(caption["words"], best.attention, strict=True):
        assert word["attention"] == pytest.approx((weights / weights.max()).tolist(), abs=1e-3)
    assert (caption["has_attention"], caption["grid_size"]) == (True, 2)
    # The encoder sees the central square of the 60 × 40 pixels.
    assert caption["box"] == pytest.approx([1 / 6, 0, 5 / 6, 1], abs=0.05)


def test_a_model_without_a_captioner_gives_409_for_attention(tmp_path: Path, photos: Path) -> None:
    bundle = write_tiny(tmp_path / "finder", ("retriever",)).path
    with Library.open(tmp_path / "other", model=bundle, threads=1) as library:
        library.update([photos / "red"])
        with run_server(library) as server:
            response = server.request("/api/v1/images/1/attention")
            assert response.status == 409
            assert "cannot caption images" in response.json["error"]
            assert upload(server, png(COLOURS["red"]))["words"] == []


def test_edits_are_kept_searchable_and_revertible(private_server: RunningServer) -> None:
    image_id = search(private_server, q="red")["results"][0]["id"]
    path = f"/api/v1/images/{image_id}"
    edited = private_server.send("PATCH", path, {"caption": "Grandmother's kettle", "tags": ["kitchen", "heirloom"]})
    assert edited.status == 200
    assert edited.json["edited"] == ["caption", "tags"]
    found = search(private_server, q="kettle")["results"]
    assert [result["id"] for result in found if result["matches"]] == [image_id]
    assert [result["id"] for result in search(private_server, tag="heirloom")["results"]] == [image_id]
    private_server.send("PATCH", path, {"caption": None})
    details = private_server.get(path)
    assert (details["caption"], details["edited"]) == ("a red thing", ["tags"])
    private_server.send("PATCH", path, {"tags": None})
    assert [tag["label"] for tag in private_server.get(path)["tags"]] == ["red"]
    assert private_server.send("PATCH", "/api/v1/images/999", {"caption": "x"}).status == 404


def test_scaled_copies_are_created_once_and_cacheable(private_server: RunningServer, library: Library) -> None:
    one = search(private_server, q="red")["results"][0]
    path = f"/api/v1/images/{one['id']}/thumbnail.jpg"
    first = private_server.request(f"{path}?v={one['version']}")
    assert first.headers["content-type"] == "image/jpeg"
    assert "immutable" in first.headers["cache-control"]
    with Image.open(io.BytesIO(first.body)) as image:
        assert image.size == (60, 40)
    (cached,) = (library.path / "thumbnails").glob("*/*")
    assert cached.read_bytes() == first.body
    Path(one["files"][0]).unlink()  # the copy is still there
    assert private_server.request(path).body == first.body
    assert private_server.request(path).headers["cache-control"] == "private, no-cache"
    again = private_server.request(path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    gone = private_server.request(f"/api/v1/images/{one['id']}/view.jpg")
    assert gone.status == 410
    assert "gone" in gone.json["error"]


def test_the_original_is_downloaded_unchanged(server: RunningServer) -> None:
    one = search(server, q="red")["results"][0]
    response = server.request(f"/api/v1/images/{one['id']}/original")
    assert response.body == Path(one["files"][0]).read_bytes()
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == f"attachment; filename*=UTF-8''{one['name']}"


# Uploads


def test_an_uploaded_image_is_captioned_tagged_and_searched_by(server: RunningServer) -> None:
    uploaded = upload(server, png(COLOURS["blue"]))
    assert uploaded["caption"] == "a blue thing"
    assert [tag["label"] for tag in uploaded["tags"]] == ["blue"]
    found = search(server, upload=uploaded["id"])
    assert [colour(result) for result in found["results"][:4]] == ["blue"] * 4
    assert {colour(result) for result in search(server, upload=uploaded["id"], tag="red")["results"]} == {"red"}
    unknown = server.request("/api/v1/search?upload=somebody-elses")
    assert unknown.status == 404
    assert "upload it again" in unknown.json["error"]


def test_a_reindex_replaces_the_model_and_expires_uploads(
    private_server: RunningServer, library: Library, tmp_path: Path
) -> None:
    uploaded = upload(private_server, png(COLOURS["blue"]))
    assert search(private_server, upload=uploaded["id"])["results"]
    assert private_server.request("/api/v1/images/1/attention").status == 200
    library.reindex(write_tiny(tmp_path / "finder", ("retriever",)).path)
    assert private_server.get("/api/v1/library")["kinds"] == ["retriever"]
    assert private_server.request(f"/api/v1/search?upload={uploaded['id']}").status == 404
    assert private_server.request("/api/v1/images/1/attention").status == 409
    assert upload(private_server, png(COLOURS["blue"]))["caption"] == ""


def test_exif_orientation_of_uploads_is_applied(server: RunningServer) -> None:
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (80, 40), COLOURS["green"]).save(stream, "JPEG", exif=exif)
    uploaded = upload(server, stream.getvalue(), "image/jpeg")
    left, top, right, bottom = uploaded["box"]
    assert bottom - top < right - left == pytest.approx(1)


def test_a_full_queue_gives_503_with_retry_after(
    private_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private_server.site, "inference", WorkQueue("full", 1, -1))
    response = private_server.request("/api/v1/images/1/attention")
    assert (response.status, response.headers["retry-after"]) == (503, "2")
    assert response.json["error"] == "server busy, try again"
    uploaded = private_server.request("/api/v1/uploads", "POST", png(COLOURS["red"]), Content_Type="image/png")
    assert uploaded.status == 503
    assert search(private_server, q="red")["results"]  # requests that need no inference still work


# Models, description of the API, pages


def test_models_are_listed_with_their_scores(private_server: RunningServer, tmp_path: Path) -> None:
    add(write_tiny(tmp_path / "tiny").path, "second")
    (tmp_path / "added" / "broken").mkdir()
    (tmp_path / "added" / "broken" / "bundle.json").write_text("{", encoding="utf-8")
    models = {model["name"]: model for model in private_server.get("/api/v1/models")}
    assert models["tiny"]["in_use"]
    assert not models["second"]["in_use"]
    assert models["broken"]["error"]
    (score,) = models["second"]["scores"]["captioner"]
    assert (score["data"], score["metrics"]) == ("toys", {"bleu4": 12.5, "image_to_text.r1": 50.0})


def test_openapi_describes_every_resource(server: RunningServer) -> None:
    schema = server.get("/api/v1/openapi.json")
    for path in ("search", "images/{id}", "images/{id}/attention", "uploads", "events", "models"):
        assert f"/api/v1/{path}" in schema["paths"], path
    invalid = schema["paths"]["/api/v1/search"]["get"]["responses"]["422"]
    assert invalid["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorResponse"}
    assert all(path.startswith("/api/v1/") for path in schema["paths"])


def test_openapi_documents_every_operation_and_parameter(server: RunningServer) -> None:
    schema = server.get("/api/v1/openapi.json")
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    assert len(operations) >= 10
    for operation in operations:
        assert operation["description"], operation["operationId"]
        for parameter in operation.get("parameters", []):
            known = parameter.get("description") or parameter["schema"].get("enum")
            assert known, (operation["operationId"], parameter["name"])
    assert {each["name"] for each in schema["paths"]["/api/v1/search"]["get"]["parameters"]} == {
        *("q", "tag", "not_tag", "like", "upload", "offset", "limit")
    }


@pytest.mark.parametrize("path", ["/", "/photo/7", "/models", "/api/v1/docs"])
def test_pages_load_nothing_from_other_servers(server: RunningServer, path: str) -> None:
    response = server.request(path)
    assert response.status == 200
    text = response.body.decode("utf-8")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert server.request(path, If_None_Match=response.headers["etag"]).status == 304


def test_every_file_that_the_page_names_is_served(server: RunningServer) -> None:
    seen, todo = set[str](), {"/", "/api/v1/docs"}
    while todo:
        path = todo.pop()
        seen.add(path)
        response = server.request(path)
        assert response.status == 200, path
        text = response.body.decode("utf-8")
        found = re.findall(r'(?:src|href)="(/static/[^"]+)"', text)
        found += [f"/static/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]
        todo |= set(found) - seen
    assert len(seen) > 10


def test_an_empty_library_can_be_served(tmp_path: Path, bundle: Path) -> None:
    with Library.open(tmp_path / "empty", model=bundle, threads=1) as library, run_server(library) as server:
        assert search(server) == {"results": [], "total": 0, "has_more": False, "unknown_words": []}
        assert search(server, q="red")["results"] == []
        assert upload(server, png(COLOURS["red"]))["caption"] == "a red thing"


def test_thumbnails_work_in_a_read_only_library(private_server: RunningServer, library: Library) -> None:
    (library.path / "thumbnails").write_text("in the way", encoding="utf-8")
    image_id = search(private_server, q="red")["results"][0]["id"]
    assert private_server.request(f"/api/v1/images/{image_id}/thumbnail.jpg").status == 200
    (library.path / "thumbnails").unlink()
    shutil.rmtree(library.path / "thumbnails", ignore_errors=True)
