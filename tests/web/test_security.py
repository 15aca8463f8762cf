"""Who may ask, and what nobody gets."""

import http.client
import io
import json
import os
import socket
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from helpers.web_server import COLOURS, Served, paint, running
from seetell.errors import SeetellError
from seetell.library import Library
from seetell.web import Access
from seetell.web.security import UPLOAD_BYTES, host_name, is_loopback
from seetell.web.uploads import MOST_PIXELS

TOKEN = "a token that is long enough"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[Served]:
    """One image on loopback, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    paint(folder / "photos" / "red.png", COLOURS["red"])
    (folder / "photos" / "secret.txt").write_text("secret", encoding="utf-8")
    with Library.open(folder / "library", bundle=bundle, threads=1) as library:
        library.update([folder / "photos"])
        with running(library, Access.to("127.0.0.1")) as served:
            yield served


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[Served]:
    """The same as if it were bound to all addresses: with a token."""
    folder = tmp_path_factory.mktemp("guarded")
    paint(folder / "photos" / "red.png", COLOURS["red"])
    with Library.open(folder / "library", bundle=bundle, threads=1) as library:
        library.update([folder / "photos"])
        with running(library, Access.to("0.0.0.0", token=TOKEN, names=["Images.Example"])) as served:
            yield served


# Names and origins


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:8765", "[::1]:8765", "127.8.9.1"]
)
def test_loopback_goes_by_these_names(shared: Served, host: str) -> None:
    assert shared.ask("/api/library", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.1.7", "evil.example:8765"),
        *("user@127.0.0.1", "", "127.0.0.1/@evil.example", "[::ffff:8.8.8.8]", "0x7f.1"),
    ],
)
def test_and_by_no_other(shared: Served, host: str) -> None:
    for path in ("/", "/api/library", "/static/app.js"):
        answer = shared.ask(path, Host=host)
        assert answer.status in (400, 421), (host, path)
        assert b"images" not in answer.body


def test_a_request_without_a_host_is_refused(shared: Served) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 10) as wire:
        wire.sendall(b"GET /api/library HTTP/1.0\r\n\r\n")
        assert b" 421 " in wire.recv(100)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "file://", "http://127.0.0.1:1", "http://[", ""],
)
@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/api/images/1"), ("POST", "/api/update"), ("POST", "/api/looks")]
)
def test_nothing_is_written_for_other_pages(shared: Served, origin: str, method: str, path: str) -> None:
    answer = shared.send(method, path, {"caption": "taken over"}, Origin=origin)
    assert answer.status == 403
    assert shared.get("/api/images/1")["caption"] == "a red thing"


def test_a_browser_that_says_only_which_site_is_believed(shared: Served) -> None:
    assert shared.send("PATCH", "/api/images/1", {}, Sec_Fetch_Site="same-site").status == 403
    assert shared.ask("/api/images/1/told", Sec_Fetch_Site="cross-site").status == 403
    assert shared.ask("/", Sec_Fetch_Site="cross-site").status == 200  # a link to the page may be followed


def test_the_page_itself_and_scripts_may_write(shared: Served) -> None:
    host = f"127.0.0.1:{shared.port}"
    assert shared.send("PATCH", "/api/images/1", {}, Origin=f"http://{host}").status == 200
    assert shared.send("PATCH", "/api/images/1", {}).status == 200


def test_every_answer_carries_the_headers(shared: Served) -> None:
    asked = [shared.ask(path) for path in ("/", "/static/app.js", "/api/library", "/api/images/1/view.jpg", "/none")]
    asked += [shared.ask("/", Host="evil.example"), shared.send("PATCH", "/api/images/1", {}, Origin="null")]
    assert [answer.status for answer in asked] == [200, 200, 200, 200, 404, 421, 403]
    for answer in asked:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers
        assert "cache-control" in answer.headers
        assert "server" not in answer.headers


def test_even_a_fault_of_ours_is_answered_properly(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared.site.library, "count", lambda **_: 1 // 0)
    answer = shared.ask("/api/search")
    assert answer.status == 500
    assert "terminal" in answer.json["remedy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_websockets_are_refused(shared: Served) -> None:
    answer = shared.ask(
        "/api/events",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==",
        Sec_WebSocket_Version="13",
        Sec_Fetch_Site="cross-site",
    )
    assert answer.status == 403


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/C:%5Cwindows%5Cwin.ini",
        "/image/../../etc/passwd",
        "/api/images/..%2f..%2fetc%2fpasswd/original",
        "/api/images/1%00/original",
        "/api/images/secret.txt/original",
        "/api/images/1/..%2f..%2fsecret.jpg",
        "/api/images/-1/original",
        "/api/images/99999999999999999999/original",
        "//evil.example/",
    ],
)
def test_no_path_from_outside_is_opened(shared: Served, path: str) -> None:
    answer = shared.ask(path)
    assert answer.status in (404, 422), answer
    assert "where" not in answer.json
    assert str(shared.site.library.path) not in answer.body.decode()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_what_was_put_in_an_image_s_place_is_not_given_away(tmp_path: Path, bundle: Path) -> None:
    image = paint(tmp_path / "photos" / "red.png", COLOURS["red"])
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * image.stat().st_size)
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as library:
        library.update([image.parent])
        image.unlink()
        image.symlink_to(secret)
        with running(library, Access.to("127.0.0.1")) as served:
            for end in ("original", "view.jpg", "told"):
                answer = served.ask(f"/api/images/1/{end}")
                assert answer.status == 410
                assert b"xxx" not in answer.body


def test_elsewhere_nobody_learns_where_files_lie(guarded: Served) -> None:
    answer = guarded.ask("/api/images/1", Authorization=f"Bearer {TOKEN}")
    assert answer.json["files"] == [os.path.join("photos", "red.png")]
    assert guarded.ask("/api/library", Authorization=f"Bearer {TOKEN}").json["folders"] == ["photos"]


# Uploads


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says it has so many pixels."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "size", [(MOST_PIXELS // 1000, 1001), (14_000, 14_000), (200_000, 200_000), (2**31 - 1, 2**31 - 1)]
)
def test_a_bomb_is_not_decoded(shared: Served, size: tuple[int, int]) -> None:
    answer = shared.ask("/api/looks", "POST", bomb(*size), Content_Type="image/png")
    assert answer.status == 422
    assert "too large" in answer.json["problem"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text"),
        (b"<script>alert(1)</script>", "text"),
        (b"\x00\x01\x02\x03" * 50, "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "text"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "damaged"),
    ],
)
def test_what_is_no_image_is_told_so(shared: Served, data: bytes, says: str) -> None:
    answer = shared.ask("/api/looks", "POST", data, Content_Type="image/png")
    assert answer.status == 422, answer
    assert says in answer.json["problem"]


def test_uploads_have_a_type_a_length_and_a_limit(shared: Served) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (9, 9)).save(stream, "PNG")
    assert shared.ask("/api/looks", "POST", stream.getvalue(), Content_Type="text/html").status == 415
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.request("POST", "/api/looks", iter([b"x"]), {"Content-Type": "image/png"}, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()
    # What is too large is refused before any of it has come.
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.putrequest("POST", "/api/looks")
    connection.putheader("Content-Type", "image/png")
    connection.putheader("Content-Length", str(UPLOAD_BYTES + 1))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert "32 MB" in json.loads(answer.read())["problem"]
    connection.close()


def test_other_bodies_are_small(shared: Served) -> None:
    assert shared.send("PATCH", "/api/images/1", {"caption": "x" * 70_000}).status == 413
    assert shared.send("PATCH", "/api/images/1", {"caption": "x" * 5_000}).status == 422
    assert shared.send("PATCH", "/api/images/1", {"tags": ["x"] * 300}).status == 422
    assert shared.ask("/api/images/1", "PATCH", b"{", Content_Type="application/json").status == 422
    assert shared.ask("/api/search?q=" + "x" * 1_001).status == 422


# What people write


def test_names_and_captions_that_are_markup_stay_text(tmp_path: Path, bundle: Path) -> None:
    evil = "<img src=x onerror=alert(1)>\"'&.png" if os.name != "nt" else "&evil;.png"
    paint(tmp_path / "photos" / evil, COLOURS["red"])
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as library:
        library.update([tmp_path / "photos"])
        with running(library, Access.to("127.0.0.1")) as served:
            served.send("PATCH", "/api/images/1", {"caption": "<script>alert(1)</script>", "tags": ["<b>bold"]})
            answer = served.ask("/api/images/1")
            assert answer.headers["content-type"] == "application/json"
            assert answer.json["name"] == evil
            assert answer.json["caption"] == "<script>alert(1)</script>"
            kept = served.ask("/api/images/1/original").headers["content-disposition"]
            assert "<" not in kept
            assert '"' not in kept


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname == "Darwin", reason="such names are Linux's")
def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path, bundle: Path) -> None:
    image = paint(tmp_path / "photos" / "red.png", COLOURS["red"])
    os.rename(os.fsencode(image), os.fsencode(image.parent) + b"/caf\xe9.png")
    with Library.open(tmp_path / "library", bundle=bundle, threads=1) as library:
        library.update([image.parent])
        with running(library, Access.to("127.0.0.1")) as served:
            assert served.get("/api/images/1")["name"] == "caf�.png"
            assert served.ask("/api/images/1/original").status == 200


# The token


def test_elsewhere_nothing_is_answered_without_the_token(guarded: Served) -> None:
    for path in ("/", "/static/app.js", "/api/library", "/api/images/1/view.jpg", "/?token=", "/?token=wrong"):
        answer = guarded.ask(path)
        assert answer.status == 401, path
        assert "set-cookie" not in answer.headers
    assert guarded.ask("/api/library", Authorization="Bearer wrong").status == 401
    assert guarded.ask("/api/library", Cookie=f"seetell-{guarded.port}=wrong").status == 401
    assert guarded.ask("/api/library", Cookie="\x01;;=").status == 401
    assert guarded.send("PATCH", "/api/images/1?token=" + TOKEN.replace(" ", "+"), {}).status == 401


def test_the_token_goes_from_the_address_into_a_cookie(guarded: Served) -> None:
    answer = guarded.ask(f"/image/1?a=1&token={TOKEN.replace(' ', '+')}&b=%26")
    assert (answer.status, answer.headers["location"]) == (303, "/image/1?a=1&b=%26")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guarded.ask("/api/library", Cookie=cookie.partition(";")[0]).status == 200
    assert guarded.ask("/api/library", Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/%5Cevil.example", "///evil.example", "/%2Fevil.example"])
def test_the_way_back_leads_nowhere_else(guarded: Served, path: str) -> None:
    place = guarded.ask(f"{path}?token={TOKEN.replace(' ', '+')}").headers["location"]
    assert place.startswith("/")
    assert not place.startswith(("//", "/\\"))


def test_elsewhere_addresses_and_known_names_are_right(guarded: Served) -> None:
    for host, status in {
        "192.168.1.7": 200,
        "images.example:80": 200,
        socket.gethostname(): 200,
        "evil.example": 421,
    }.items():
        assert guarded.ask("/api/library", Host=host, Authorization=f"Bearer {TOKEN}").status == status, host


def test_a_token_is_made_by_chance_and_only_where_it_is_needed() -> None:
    assert Access.to("127.0.0.1").token == ""
    assert Access.to("::1").token == ""
    made = {Access.to(host).token for host in ("0.0.0.0", "::", "192.168.1.7", "example.org")}
    assert len(made) == 4
    assert all(len(token) >= 32 for token in made)
    assert Access.to("127.0.0.1", token=TOKEN).token == TOKEN
    with pytest.raises(SeetellError, match="shorter"):
        Access.to("0.0.0.0", token="short")


def test_loopback_is_told_from_its_names() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "192.168.1.7", "localhost.example", "example.org")))
    assert host_name("LOCALHOST.:80") == "localhost"
    assert host_name("[::1") == ""
