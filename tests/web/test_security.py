"""Host names, origins, tokens, paths, uploads: what the server refuses."""

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

from helpers.web_server import COLOURS, RunningServer, run_server, save_coloured
from seetell.errors import SeetellError
from seetell.library import Library
from seetell.web import Access
from seetell.web.security import MAX_UPLOAD_BYTES, host_name, is_loopback
from seetell.web.uploads import MAX_PIXELS

TOKEN = "a token that is long enough"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[RunningServer]:
    """A server with one image on loopback, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("shared")
    save_coloured(folder / "photos" / "red.png", COLOURS["red"])
    (folder / "photos" / "secret.txt").write_text("secret", encoding="utf-8")
    with Library.open(folder / "library", model=bundle, threads=1) as library:
        library.update([folder / "photos"])
        with run_server(library) as server:
            yield server


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Iterator[RunningServer]:
    """The same with the access rules of a server on all addresses: with a token."""
    folder = tmp_path_factory.mktemp("guarded")
    save_coloured(folder / "photos" / "red.png", COLOURS["red"])
    with Library.open(folder / "library", model=bundle, threads=1) as library:
        library.update([folder / "photos"])
        with run_server(library, Access.for_host("0.0.0.0", token=TOKEN, host_names=["Images.Example"])) as server:
            yield server


# Host names and origins


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "127.0.0.1", "127.0.0.1:8765", "[::1]:8765", "127.8.9.1"]
)
def test_loopback_host_names_are_accepted(shared: RunningServer, host: str) -> None:
    assert shared.request("/api/v1/library", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.1.7", "evil.example:8765"),
        *("user@127.0.0.1", "", "127.0.0.1/@evil.example", "[::ffff:8.8.8.8]", "0x7f.1"),
    ],
)
def test_other_host_names_are_rejected(shared: RunningServer, host: str) -> None:
    for path in ("/", "/api/v1/library", "/static/app.js"):
        response = shared.request(path, Host=host)
        assert response.status in (400, 421), (host, path)
        assert b"images" not in response.body


def test_a_request_without_a_host_is_rejected(shared: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 10) as client:
        client.sendall(b"GET /api/v1/library HTTP/1.0\r\n\r\n")
        assert b" 421 " in client.recv(100)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "file://", "http://127.0.0.1:1", "http://[", ""],
)
@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/api/v1/images/1"), ("POST", "/api/v1/update"), ("POST", "/api/v1/uploads")]
)
def test_other_origins_cannot_write(shared: RunningServer, origin: str, method: str, path: str) -> None:
    response = shared.send(method, path, {"caption": "taken over"}, Origin=origin)
    assert response.status == 403
    assert shared.get("/api/v1/images/1")["caption"] == "a red thing"


def test_sec_fetch_site_is_checked_without_an_origin(shared: RunningServer) -> None:
    assert shared.send("PATCH", "/api/v1/images/1", {}, Sec_Fetch_Site="same-site").status == 403
    assert shared.request("/api/v1/images/1/attention", Sec_Fetch_Site="cross-site").status == 403
    assert shared.request("/", Sec_Fetch_Site="cross-site").status == 200  # following a link to the page is fine


def test_the_page_and_scripts_can_write(shared: RunningServer) -> None:
    host = f"127.0.0.1:{shared.port}"
    assert shared.send("PATCH", "/api/v1/images/1", {}, Origin=f"http://{host}").status == 200
    assert shared.send("PATCH", "/api/v1/images/1", {}).status == 200


def test_every_response_has_security_headers(shared: RunningServer) -> None:
    responses = [
        shared.request(path)
        for path in ("/", "/static/app.js", "/api/v1/library", "/api/v1/images/1/view.jpg", "/none")
    ]
    responses += [shared.request("/", Host="evil.example"), shared.send("PATCH", "/api/v1/images/1", {}, Origin="null")]
    assert [response.status for response in responses] == [200, 200, 200, 200, 404, 421, 403]
    for response in responses:
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in response.headers
        assert "cache-control" in response.headers
        assert "server" not in response.headers


def test_internal_errors_have_security_headers_too(shared: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared.site.library, "count", lambda *_, **__: 1 // 0)
    response = shared.request("/api/v1/search")
    assert response.status == 500
    assert "terminal" in response.json["remedy"]
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_websockets_are_rejected(shared: RunningServer) -> None:
    response = shared.request(
        "/api/v1/events",
        Connection="Upgrade",
        Upgrade="websocket",
        Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==",
        Sec_WebSocket_Version="13",
        Sec_Fetch_Site="cross-site",
    )
    assert response.status == 403


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
        "/photo/../../etc/passwd",
        "/api/v1/images/..%2f..%2fetc%2fpasswd/original",
        "/api/v1/images/1%00/original",
        "/api/v1/images/secret.txt/original",
        "/api/v1/images/1/..%2f..%2fsecret.jpg",
        "/api/v1/images/-1/original",
        "/api/v1/images/99999999999999999999/original",
        "//evil.example/",
    ],
)
def test_no_path_from_a_client_is_opened(shared: RunningServer, path: str) -> None:
    response = shared.request(path)
    assert response.status in (404, 422), response
    assert "where" not in response.json
    assert str(shared.site.library.path) not in response.body.decode()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_file_that_replaced_an_image_is_not_served(tmp_path: Path, bundle: Path) -> None:
    image = save_coloured(tmp_path / "photos" / "red.png", COLOURS["red"])
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * image.stat().st_size)
    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        library.update([image.parent])
        image.unlink()
        image.symlink_to(secret)
        with run_server(library) as server:
            for end in ("original", "view.jpg", "attention"):
                response = server.request(f"/api/v1/images/1/{end}")
                assert response.status == 410
                assert b"xxx" not in response.body


def test_remote_clients_do_not_see_full_paths(guarded: RunningServer) -> None:
    response = guarded.request("/api/v1/images/1", Authorization=f"Bearer {TOKEN}")
    assert response.json["files"] == [os.path.join("photos", "red.png")]
    assert guarded.request("/api/v1/library", Authorization=f"Bearer {TOKEN}").json["folders"] == ["photos"]


# Uploads


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims this size."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "size", [(MAX_PIXELS // 1000, 1001), (14_000, 14_000), (200_000, 200_000), (2**31 - 1, 2**31 - 1)]
)
def test_decompression_bombs_are_not_decoded(shared: RunningServer, size: tuple[int, int]) -> None:
    response = shared.request("/api/v1/uploads", "POST", bomb(*size), Content_Type="image/png")
    assert response.status == 422
    assert "too large" in response.json["error"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text"),
        (b"<script>alert(1)</script>", "text"),
        (b"\x00\x01\x02\x03" * 50, "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "text"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40, "damaged"),
    ],
)
def test_uploads_that_are_not_images_are_rejected(shared: RunningServer, data: bytes, reason: str) -> None:
    response = shared.request("/api/v1/uploads", "POST", data, Content_Type="image/png")
    assert response.status == 422, response
    assert reason in response.json["error"]


def test_uploads_need_a_type_and_a_length_within_the_limit(shared: RunningServer) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (9, 9)).save(stream, "PNG")
    assert shared.request("/api/v1/uploads", "POST", stream.getvalue(), Content_Type="text/html").status == 415
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.request("POST", "/api/v1/uploads", iter([b"x"]), {"Content-Type": "image/png"}, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()
    # Rejected before any of the body has been sent.
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=10)
    connection.putrequest("POST", "/api/v1/uploads")
    connection.putheader("Content-Type", "image/png")
    connection.putheader("Content-Length", str(MAX_UPLOAD_BYTES + 1))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert "32 MB" in json.loads(response.read())["error"]
    connection.close()


def test_other_request_bodies_are_limited(shared: RunningServer) -> None:
    assert shared.send("PATCH", "/api/v1/images/1", {"caption": "x" * 70_000}).status == 413
    assert shared.send("PATCH", "/api/v1/images/1", {"caption": "x" * 5_000}).status == 422
    assert shared.send("PATCH", "/api/v1/images/1", {"tags": ["x"] * 300}).status == 422
    assert shared.request("/api/v1/images/1", "PATCH", b"{", Content_Type="application/json").status == 422
    assert shared.request("/api/v1/search?q=" + "x" * 1_001).status == 422


# Names and captions


def test_markup_in_names_and_captions_stays_text(tmp_path: Path, bundle: Path) -> None:
    evil = "<img src=x onerror=alert(1)>\"'&.png" if os.name != "nt" else "&evil;.png"
    save_coloured(tmp_path / "photos" / evil, COLOURS["red"])
    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        library.update([tmp_path / "photos"])
        with run_server(library) as server:
            server.send("PATCH", "/api/v1/images/1", {"caption": "<script>alert(1)</script>", "tags": ["<b>bold"]})
            response = server.request("/api/v1/images/1")
            assert response.headers["content-type"] == "application/json"
            assert response.json["name"] == evil
            assert response.json["caption"] == "<script>alert(1)</script>"
            disposition = server.request("/api/v1/images/1/original").headers["content-disposition"]
            assert "<" not in disposition
            assert '"' not in disposition


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname == "Darwin", reason="only Linux allows such names")
def test_undecodable_file_names_are_displayed(tmp_path: Path, bundle: Path) -> None:
    image = save_coloured(tmp_path / "photos" / "red.png", COLOURS["red"])
    os.rename(os.fsencode(image), os.fsencode(image.parent) + b"/caf\xe9.png")
    with Library.open(tmp_path / "library", model=bundle, threads=1) as library:
        library.update([image.parent])
        with run_server(library) as server:
            assert server.get("/api/v1/images/1")["name"] == "caf�.png"
            assert server.request("/api/v1/images/1/original").status == 200


# Tokens


def test_without_the_token_every_request_is_rejected(guarded: RunningServer) -> None:
    for path in ("/", "/static/app.js", "/api/v1/library", "/api/v1/images/1/view.jpg", "/?token=", "/?token=wrong"):
        response = guarded.request(path)
        assert response.status == 401, path
        assert "set-cookie" not in response.headers
    assert guarded.request("/api/v1/library", Authorization="Bearer wrong").status == 401
    assert guarded.request("/api/v1/library", Cookie=f"seetell-{guarded.port}=wrong").status == 401
    assert guarded.request("/api/v1/library", Cookie="\x01;;=").status == 401
    assert guarded.send("PATCH", "/api/v1/images/1?token=" + TOKEN.replace(" ", "+"), {}).status == 401


def test_the_token_moves_from_the_url_to_a_cookie(guarded: RunningServer) -> None:
    response = guarded.request(f"/photo/1?a=1&token={TOKEN.replace(' ', '+')}&b=%26")
    assert (response.status, response.headers["location"]) == (303, "/photo/1?a=1&b=%26")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert guarded.request("/api/v1/library", Cookie=cookie.partition(";")[0]).status == 200
    assert guarded.request("/api/v1/library", Authorization=f"Bearer {TOKEN}").status == 200


@pytest.mark.parametrize("path", ["//evil.example/", "/%5Cevil.example", "///evil.example", "/%2Fevil.example"])
def test_the_redirect_stays_on_this_server(guarded: RunningServer, path: str) -> None:
    location = guarded.request(f"{path}?token={TOKEN.replace(' ', '+')}").headers["location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))


def test_remote_clients_may_use_addresses_and_known_names(guarded: RunningServer) -> None:
    for host, status in {
        "192.168.1.7": 200,
        "images.example:80": 200,
        socket.gethostname(): 200,
        "evil.example": 421,
    }.items():
        assert guarded.request("/api/v1/library", Host=host, Authorization=f"Bearer {TOKEN}").status == status, host


def test_a_random_token_is_made_only_where_one_is_needed() -> None:
    assert Access.for_host("127.0.0.1").token == ""
    assert Access.for_host("::1").token == ""
    tokens = {Access.for_host(host).token for host in ("0.0.0.0", "::", "192.168.1.7", "example.org")}
    assert len(tokens) == 4
    assert all(len(token) >= 32 for token in tokens)
    assert Access.for_host("127.0.0.1", token=TOKEN).token == TOKEN
    with pytest.raises(SeetellError, match="shorter"):
        Access.for_host("0.0.0.0", token="short")


def test_loopback_hosts_are_recognised() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "192.168.1.7", "localhost.example", "example.org")))
    assert host_name("LOCALHOST.:80") == "localhost"
    assert host_name("[::1") == ""
