"""Indexing while the server runs, followed over server-sent events."""

import http.client
import json
from pathlib import Path
from typing import Any

from helpers.web_server import COLOURS, RunningServer, run_server, save_coloured
from seetell.library import Library


def events(server: RunningServer, until: str) -> list[Any]:
    """Read the event stream until indexing has this status."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/api/v1/events")
    response = connection.getresponse()
    assert response.getheader("content-type", "").startswith("text/event-stream")
    received = []
    try:
        for line in response:
            if line.startswith(b"data: "):
                received.append(json.loads(line[6:]))
                if received[-1]["status"] == until:
                    return received
    finally:
        connection.close()
    raise AssertionError("the stream ended")


def test_progress_is_streamed_and_updates_remove_thumbnails(tmp_path: Path, bundle: Path, photos: Path) -> None:
    (photos / "broken.png").write_bytes(b"this is text")
    with Library.open(tmp_path / "new", model=bundle, threads=1) as library, run_server(library) as server:
        assert events(server, "idle")[0]["done"] == 0
        server.site.indexer.start([photos])
        last = events(server, "done")[-1]
        assert (last["done"], last["total"], last["new"], last["unreadable"]) == (13, 13, 12, 1)
        assert [Path(each["name"]).name for each in last["problems"]] == ["broken.png"]
        assert server.get("/api/v1/library")["images"] == 12
        # One new file, and one that is gone, whose thumbnail must go too.
        gone = server.get("/api/v1/search?q=red")["results"][0]
        server.request(f"/api/v1/images/{gone['id']}/thumbnail.jpg")
        Path(gone["files"][0]).unlink()
        save_coloured(photos / "new.png", COLOURS["blue"], seed=99)
        assert server.send("POST", "/api/v1/update", {}).json == {"started": True}
        server.wait(lambda: events(server, "done")[-1]["removed"] == 1)
        assert events(server, "done")[-1]["new"] == 1
        server.wait(lambda: not list((library.path / "thumbnails").glob("*/*")))


def test_a_concurrent_indexer_is_reported_and_searching_still_works(
    private_server: RunningServer, library: Library
) -> None:
    from seetell.library.storage.lock import index_lock

    with index_lock(library.path):
        private_server.send("POST", "/api/v1/update", {})
        assert "is indexing this library" in events(private_server, "failed")[-1]["error"]
    assert private_server.get("/api/v1/search?q=red")["results"]
