"""Milvus and Ray replaced by small fakes in memory: what the library sends to them, and makes of their answers."""

import sys
import threading
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from helpers import tiny_bundles
from seetell.library import Library
from seetell.library.location import MilvusAddress
from seetell.library.remote.milvus_index import MilvusIndex

ADDRESS = "milvus://localhost:19530/images"


class FakeMilvus:
    """The collections of a server, by the fingerprint of the model."""

    collections: ClassVar[dict[str, dict[int, np.ndarray]]] = {}
    used = ""

    def __init__(self, server: MilvusAddress) -> None:
        self.server, self.owner = server, ""

    def close(self) -> None: ...

    def check_name(self) -> None: ...

    def has(self, fingerprint: str) -> bool:
        return fingerprint in self.collections

    def create(self, fingerprint: str, dimensions: int, metric: str) -> None:
        self.collections[fingerprint] = {}

    def load(self, fingerprint: str) -> None: ...

    def put(self, fingerprint: str, ids: Sequence[int], vectors: np.ndarray) -> None:
        self.collections[fingerprint].update(zip(ids, vectors, strict=True))

    def remove(self, fingerprint: str, ids: Sequence[int]) -> None:
        for image in ids:
            self.collections[fingerprint].pop(image, None)

    def count(self, fingerprint: str) -> int:
        return len(self.collections[fingerprint])

    def nearest(self, fingerprint: str, query: np.ndarray, k: int, metric: str) -> np.ndarray:
        assert metric == "IP"
        vectors = self.collections[fingerprint]
        return np.array(sorted(vectors, key=lambda image: -float(vectors[image] @ query))[:k], np.int64)

    def use(self, fingerprint: str, keep: Sequence[str] = ()) -> None:
        type(self).used = fingerprint
        for other in set(self.collections) - {fingerprint, *keep}:
            del self.collections[other]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> type[FakeMilvus]:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "data")
    monkeypatch.setattr("seetell.library.remote.milvus.Milvus", FakeMilvus)
    monkeypatch.setattr(MilvusIndex.__init__, "__defaults__", (5,))
    monkeypatch.setattr(FakeMilvus, "collections", {})
    return FakeMilvus


def _hits(library: Library, text: str) -> list[tuple[str, float]]:
    return [(hit.image.path, round(hit.relevance, 5)) for hit in library.search(text, k=12)]


def test_a_library_on_a_server_answers_as_one_in_a_folder(
    server: type[FakeMilvus], library: Library, colours: Path, photos: Path
) -> None:
    with Library.open(ADDRESS, model=colours) as served:
        assert served.update([photos]).indexed == 12
        assert server.used == served.info().fingerprint
        assert len(server.collections[server.used]) == 12
        assert served.check() == []
        for text in ("red", "a green thing", "zebra"):
            assert _hits(served, text) == _hits(library, text)
        assert not served.search("red").exact


def test_the_server_follows_removals_a_reindex_and_a_loss(
    server: type[FakeMilvus], colours: Path, bundle: Path, photos: Path
) -> None:
    with Library.open(ADDRESS, model=colours) as served:
        served.update([photos])
        (photos / "red" / "0.png").unlink()
        served.update()
        assert len(server.collections[server.used]) == 11
        served.forget(photos / "blue")
        assert served.check() == []  # the server is behind, which is recorded
        assert len(served.search("blue", k=12)) == 7
        before = server.used
        served.reindex(bundle)
        assert server.used != before
        assert set(server.collections) == {server.used}
        assert len(server.collections[server.used]) == 7
    server.collections.clear()
    with Library.open(ADDRESS) as served:
        assert served.check() == ["the server has 0 embeddings instead of 7"]
        assert served.update().indexed == 4  # the blue ones, whose folder is still below an indexed one
        assert served.check() == []
        assert len(server.collections[server.used]) == 11


class FakeDataset:
    """Rows that are mapped in this process, through the same class and batches as on a cluster."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def map_batches(self, worker: Any, *, fn_constructor_args: tuple[Any, ...], batch_size: int, **_: object) -> Any:
        made = worker(*fn_constructor_args)
        found: list[dict[str, Any]] = []
        for start in range(0, len(self.rows), batch_size):
            some = self.rows[start : start + batch_size]
            batch = made({name: np.array([row[name] for row in some], object) for name in some[0]})
            found += [{name: batch[name][index] for name in batch} for index in range(len(some))]
        return FakeDataset(found)

    def iter_rows(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)


@pytest.fixture
def _ray(monkeypatch: pytest.MonkeyPatch) -> None:
    ray, data, exceptions = (types.ModuleType(name) for name in ("ray", "ray.data", "ray.exceptions"))
    exceptions.RayError = type("RayError", (Exception,), {})  # type: ignore[attr-defined]
    options = types.SimpleNamespace(execution_options=types.SimpleNamespace())
    data.DataContext = types.SimpleNamespace(get_current=lambda: options)  # type: ignore[attr-defined]
    data.from_items = lambda rows, override_num_blocks: FakeDataset(rows)  # type: ignore[attr-defined]
    data.ActorPoolStrategy = lambda **_: None  # type: ignore[attr-defined]
    ray.data, ray.exceptions = data, exceptions  # type: ignore[attr-defined]
    ray.is_initialized = lambda: True  # type: ignore[attr-defined]
    ray.cluster_resources = lambda: {"CPU": 2}  # type: ignore[attr-defined]
    for module in (ray, data, exceptions):
        monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("_ray")
def test_encoding_with_ray_makes_the_same_library(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_bundles.write_colours(tmp_path / "model").path
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 nothing")
    (photos / "copy.png").write_bytes((photos / "red" / "1.png").read_bytes())
    monkeypatch.setattr("seetell.library.remote.ray.ROUND", 8)  # two rounds
    contents = []
    for name, address in (("plain", None), ("ray", "")):
        with Library.open(tmp_path / name, model=model) as opened:
            report = opened.update([photos], ray=address)
            assert (report.indexed, report.moved, len(report.problems)) == (12, 1, 1)
            assert opened.check() == []
            query = (
                "SELECT f.path, f.size, f.mtime, f.reason, i.hash, i.width, i.height, i.bytes, i.taken, i.dhash, "
                "i.description, p.caption, p.tags, p.vector FROM files f LEFT JOIN images i ON i.id = f.image "
                "LEFT JOIN predictions p ON p.image = i.id ORDER BY f.path"
            )
            with opened._database.read() as connection:
                contents.append(connection.execute(query).fetchall())
    assert contents[0] == contents[1]


@pytest.mark.usefixtures("_ray")
def test_encoding_with_ray_stops_and_resumes(tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_bundles.write_colours(tmp_path / "model").path
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
        assert opened.update([photos], ray="").indexed == 12 - report.indexed
