"""Encoding with Ray on a small cluster of this computer: the same library as without."""

import importlib.util
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers import tiny_bundles
from seetell.cli import app
from seetell.errors import MissingExtraError
from seetell.library import Library, LibraryError
from seetell.library.remote.ray import _Worker

ray_needed = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed; pip install 'ray[data]' to run this test"
    ),
]


def test_says_what_to_install(tmp_path: Path, colours: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        Library.open(tmp_path / "library", model=colours) as opened,
        pytest.raises(MissingExtraError, match=r"pip install 'seetell\[scale\]'"),
    ):
        opened.update([photos], ray="")


def test_a_worker_with_another_bundle_is_refused(bundle: Path) -> None:
    with pytest.raises(LibraryError, match="another model"):
        _Worker(str(bundle), "0" * 64)


@ray_needed[0]
@ray_needed[1]
def test_a_cluster_that_is_not_there_is_named_within_seconds(tmp_path: Path, colours: Path, photos: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with Library.open(tmp_path / "library", model=colours) as opened:
            begin = time.monotonic()
            with pytest.raises(LibraryError, match="cannot be reached"):
                opened.update([photos], ray=address)
            assert time.monotonic() - begin < 20
            assert opened.check() == []


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # By default workers have a low priority, and would wait for minutes on a busy computer.
    config = {"worker_niceness": 0}
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        _system_config=config,
    )
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
class TestCluster:
    pytestmark = ray_needed

    @pytest.fixture
    def model(self, tmp_path: Path) -> Path:
        """One that captions, tags and embeds."""
        return tiny_bundles.write_colours(tmp_path / "model").path

    def test_the_same_library_as_without(
        self, tmp_path: Path, model: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
        (photos / "copy.png").write_bytes((photos / "red" / "1.png").read_bytes())
        os.link(photos / "red" / "2.png", os.fsencode(photos) + b"/odd-\xff.png")
        monkeypatch.setattr("seetell.library.remote.ray.ROUND", 8)  # two rounds
        contents = []
        for name, ray in (("plain", None), ("bulk", "")):
            with Library.open(tmp_path / name, model=model) as opened:
                report = opened.update([photos], ray=ray)
                assert (report.indexed, report.moved, len(report.problems)) == (12, 2, 1)
                assert opened.check() == []
                assert opened.update([photos], ray=ray).unchanged == 15
                contents.append(_content(opened))
        assert contents[0] == contents[1]

    def test_stops_and_resumes(
        self, tmp_path: Path, model: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("seetell.library.indexing.writer.BATCH", 3)
        monkeypatch.setattr("seetell.library.indexing.writer.SECONDS", 1e9)
        monkeypatch.setattr("seetell.library.indexing.stages.QUEUE", 1)
        stop = threading.Event()
        with Library.open(tmp_path / "library", model=model) as opened:
            monkeypatch.setattr(opened._index, "after_batch", stop.set)  # after the first batch
            report = opened.update([photos], ray="", stop=stop)
            assert report.stopped
            assert 3 <= report.indexed <= 5  # what was waiting in the queue is kept
            assert opened.check() == []
        words = ("index", str(photos), "--library", str(tmp_path / "library"), "--ray", "--json")
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        again = json.loads(result.stdout)
        assert (again["indexed"], again["unchanged"]) == (12 - report.indexed, report.indexed)


def _content(library: Library) -> list[tuple[object, ...]]:
    """Everything but the order in which images came."""
    query = (
        "SELECT f.path, f.size, f.mtime, f.reason, p.hash, p.width, p.height, p.bytes, p.taken, p.dhash, "
        "p.description, t.caption, t.tags, t.vector FROM files f LEFT JOIN images p ON p.id = f.image "
        "LEFT JOIN predictions t ON t.image = p.id ORDER BY f.path"
    )
    with library._database.read() as connection:
        return connection.execute(query).fetchall()
