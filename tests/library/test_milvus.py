"""A library on a Milvus server: the one that the package `milvus` starts."""

import importlib.util
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import tiny_bundles
from seetell.bundle import write_bundle
from seetell.cli import app
from seetell.errors import MissingExtraError
from seetell.library import Filters, Library, LibraryError, library_folder
from seetell.library.location import MilvusAddress, parse_server
from seetell.library.remote.milvus_index import MilvusIndex

server_needed = [
    pytest.mark.slow,
    pytest.mark.milvus,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("milvus", "pymilvus")),
        reason="no Milvus server is installed; pip install milvus pymilvus to run this test",
    ),
]


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "data")


def test_addresses() -> None:
    assert parse_server("milvus://Host.example:1953/images_2") == MilvusAddress("host.example", 1953, "images_2")
    assert parse_server(Path("milvus://localhost/a")) == MilvusAddress("localhost", 19530, "a")
    assert parse_server("milvus://[::1]:19530/a") == MilvusAddress("[::1]", 19530, "a")
    assert parse_server("some/folder") is None
    assert parse_server("C:\\images") is None
    for wrong in (
        "milvus://host",
        "milvus://host/a-b",
        "milvus://host:x/a",
        "https://host/a",
        "s3://host/a",
        "milvus://host/a/b",
    ):
        with pytest.raises(LibraryError, match="not the address"):
            library_folder(wrong)


def test_every_address_has_a_folder_of_its_own() -> None:
    addresses = ("milvus://a/x", "milvus://a/y", "milvus://b/x", "milvus://a:1/x", "milvus://[::1]/x")
    assert len({library_folder(each) for each in addresses}) == len(addresses)
    assert library_folder("milvus://a/x") == library_folder("milvus://A:19530/x")


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'seetell\[scale\]'"):
        Library.open("milvus://localhost:19530/images")
    assert not library_folder("milvus://localhost:19530/images").exists()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    from milvus import MilvusServer

    server = MilvusServer()
    server.set_base_dir(str(tmp_path_factory.mktemp("milvus")))
    server.listen_port = _free_port()
    server.start()
    try:
        yield server.listen_port
    finally:
        server.stop()


class TestServer:
    pytestmark = server_needed

    @pytest.fixture
    def client(self, port: int) -> Iterator[Any]:
        from pymilvus import MilvusClient

        client = MilvusClient(uri=f"http://127.0.0.1:{port}")
        yield client
        client.close()

    @pytest.fixture
    def address(self, port: int, client: Any, request: pytest.FixtureRequest) -> Iterator[str]:
        name = "".join(each if each.isalnum() else "_" for each in request.node.name)
        yield f"milvus://127.0.0.1:{port}/{name}"
        for each in client.list_collections():
            for alias in client.describe_collection(each)["aliases"]:
                client.drop_alias(alias)
            client.drop_collection(each)

    @pytest.fixture(autouse=True)
    def _small_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So that a few images take several."""
        monkeypatch.setattr(MilvusIndex.__init__, "__defaults__", (5,))

    def test_the_same_as_in_a_folder(self, address: str, colours: Path, library: Library, photos: Path) -> None:
        with Library.open(address, model=colours) as served:
            report = served.update([photos])
            assert report.indexed == 12
            assert served.check() == []
            for question in ("red", "a green thing", "blue red", "zebra"):
                for rank in ("embedding", "together"):
                    here, there = (each.search(question, k=12, rank=rank) for each in (library, served))
                    assert _rows(here) == _rows(there)
            some = library.search("red", k=1)[0].image.path
            assert _rows(library.search(like=some)) == _rows(served.search(like=some))
            green = Filters(folder=photos / "green")
            assert _rows(library.search("red", green, k=3)) == _rows(served.search("red", green, k=3))
            assert not served.search("red").exact  # the server was asked

    def test_the_server_has_every_embedding_once(
        self, address: str, colours: Path, photos: Path, client: Any, paint: Callable[..., Path]
    ) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos])
            served.update([photos])
            assert _agree(client, address, served)
            paint("red/0.png", (30, 30, 230), seed=77)  # another content
            (photos / "green" / "1.png").unlink()
            paint("new.png", (230, 30, 30), seed=78)
            served.update([photos])
            assert _agree(client, address, served) == 12
            assert served.check() == []
            served.forget(photos / "blue")
            assert served.check() == []  # the server still has them, which is known
            assert len(served.search("blue", k=12)) == 8
            served.update()  # they come back, with other numbers
            assert _agree(client, address, served) == 12

    def test_searches_what_the_server_does_not_have_yet(
        self, address: str, colours: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos / "green"])
            monkeypatch.setattr(MilvusIndex, "_fill", lambda *_: False)  # killed before anything was sent
            served.update([photos])
            assert _names(served.search("red", k=4)) == {f"red/{n}.png" for n in range(4)}

    def test_a_killed_indexer_resumes(
        self, address: str, colours: Path, photos: Path, client: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from seetell.library.remote.milvus import Milvus

        put, calls = Milvus.put, []

        def dies(self: Milvus, *values: Any) -> None:
            put(self, *values)
            calls.append(values)
            if len(calls) == 2:
                raise KeyboardInterrupt  # the server has the second five, and the database does not know

        with Library.open(address, model=colours) as served:
            monkeypatch.setattr(Milvus, "put", dies)
            with pytest.raises(KeyboardInterrupt):
                served.update([photos])
        with Library.open(address) as served:
            assert served.check() == []
            assert _names(served.search("green", k=4)) == {f"green/{n}.png" for n in range(4)}
            assert served.update().indexed == 0
            assert _agree(client, address, served)

    def test_moves_to_another_bundle_while_the_old_one_serves(
        self, address: str, colours: Path, photos: Path, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other, name = _other_colours(tmp_path), address.rsplit("/", 1)[1]
        with Library.open(address, model=colours) as served:
            served.update([photos])
            before = client.describe_collection(name)["collection_name"]
            with Library.open(address) as reader:
                stop = threading.Event()
                fill = MilvusIndex._fill

                def stopped(self: MilvusIndex, *values: Any) -> bool:
                    done = fill(self, *values)
                    stop.set()
                    return done

                monkeypatch.setattr(MilvusIndex, "_fill", stopped)
                assert served.reindex(other, stop=stop).stopped
                monkeypatch.setattr(MilvusIndex, "_fill", fill)
                assert _names(reader.search("red", k=4, rank="embedding")) == {f"red/{n}.png" for n in range(4)}
                assert not served.reindex(other).stopped
                # The other model takes red for green.
                assert _names(reader.search("red", k=4, rank="embedding")) == {f"green/{n}.png" for n in range(4)}
            assert _agree(client, address, served)
            assert client.describe_collection(name)["collection_name"] != before
            assert before not in client.list_collections()

    def test_a_lost_collection_is_filled_again(self, address: str, colours: Path, photos: Path, client: Any) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos])
        name = address.rsplit("/", 1)[1]
        real = client.describe_collection(name)["collection_name"]
        client.drop_alias(name)
        client.drop_collection(real)
        with Library.open(address) as served:
            assert served.check() == ["the server has 0 embeddings instead of 12"]
            with pytest.raises(LibraryError, match="seetell index"):
                served.search("red")
            assert served.update().indexed == 0
            assert served.check() == []
            assert _names(served.search("red", k=4)) == {f"red/{n}.png" for n in range(4)}

    def test_a_rebuilt_database_keeps_its_collection(
        self, address: str, colours: Path, photos: Path, client: Any
    ) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos])
        Library.rebuild(address)
        with Library.open(address) as served:
            assert served.update().indexed == 0
            assert _agree(client, address, served)

    def test_another_computer_is_refused(
        self, address: str, colours: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos])
        monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "elsewhere")
        with pytest.raises(LibraryError, match="belongs to a seetell library on another computer"):
            Library.open(address, model=colours)

    def test_other_bundles_and_other_collections_are_refused(
        self, address: str, colours: Path, bundle: Path, photos: Path, client: Any
    ) -> None:
        with Library.open(address, model=colours) as served:
            served.update([photos])
            fingerprint = served.info().fingerprint
        with Library.open(address, model=bundle) as other, pytest.raises(LibraryError, match="cannot be compared"):
            other.update([photos])
        name = address.rsplit("/", 1)[1]
        real = client.describe_collection(name)["collection_name"]
        about = json.loads(client.describe_collection(name)["description"])
        assert about["model"] == fingerprint
        client.drop_alias(name)
        client.drop_collection(real)
        schema = client.create_schema(description=json.dumps({**about, "model": "0" * 64}))
        _create(client, real, schema)
        with Library.open(address) as served, pytest.raises(LibraryError, match="embeddings of another model"):
            served.search("red")
        _create(client, name, client.create_schema(description="somebody's"))
        with pytest.raises(LibraryError, match="was not made by seetell"):
            Library.open(address)

    def test_order_embeddings_are_refused_before_anything_is_described(
        self, address: str, photos: Path, tmp_path: Path
    ) -> None:
        order = tiny_bundles.write_tiny(tmp_path / "order").path
        tiny_bundles.forge(order, lambda content: content["retriever"].update(similarity="order"))
        with Library.open(address, model=order) as served, pytest.raises(LibraryError, match="compared by order"):
            served.update([photos])

    def test_from_the_command_line(self, address: str, colours: Path, photos: Path) -> None:
        def run(*words: str) -> str:
            result = CliRunner().invoke(app, [*words, "--library", address])
            assert result.exit_code == 0, result.output
            return result.output

        run("index", str(photos), "--model", str(colours), "--quiet")
        found = [json.loads(line) for line in run("search", "red", "--json", "-k", "4").splitlines() if line[:1] == "{"]
        assert {Path(row["path"]).parent.name for row in found} == {"red"}
        assert "12 images" in run("library", "show")
        assert "sound" in run("library", "check")


@pytest.mark.slow
@pytest.mark.milvus
@pytest.mark.skipif(importlib.util.find_spec("pymilvus") is None, reason="pymilvus is not installed")
def test_a_server_that_is_not_there_is_named_within_seconds() -> None:
    begin = time.monotonic()
    with pytest.raises(LibraryError, match=r"cannot be reached.*") as caught:
        Library.open(f"milvus://127.0.0.1:{_free_port()}/images")
    assert "milvus://127.0.0.1" in caught.value.where
    assert caught.value.remedy
    assert time.monotonic() - begin < 20  # of which most is the import of pymilvus
    assert not library_folder("milvus://127.0.0.1:1/images").parent.exists()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _rows(results: Any) -> list[tuple[Any, ...]]:
    return [(each.image.path, round(each.relevance, 5), round(each.similarity or 0, 5)) for each in results]


def _names(results: Any) -> set[str]:
    return {"/".join(Path(each.image.path).parts[-2:]) for each in results}


def _agree(client: Any, address: str, library: Library) -> int:
    """How many embeddings there are, the same on the server and in the database."""
    rows = client.query(address.rsplit("/", 1)[1], filter="image >= 0", output_fields=["image", "vector"])
    there = {row["image"]: row["vector"] for row in rows}
    with library._database.read() as connection:
        query = "SELECT image, vector FROM predictions WHERE model = (SELECT value FROM meta WHERE key = 'model')"
        here = {number: np.frombuffer(blob, "<f4") for number, blob in connection.execute(query)}
    assert len(rows) == len(there)
    assert there.keys() == here.keys()
    for number, vector in here.items():
        np.testing.assert_allclose(there[number], vector / np.linalg.norm(vector), atol=1e-6)
    return len(here)


def _other_colours(folder: Path) -> Path:
    """Means green by red, and red by green."""
    heads = ("tagger", "retriever")
    words = np.zeros((12, tiny_bundles.DIMENSIONS), np.float32)
    words[4:7, :3] = np.eye(3)[[1, 0, 2]]
    files = {
        **tiny_bundles.files(heads),
        "images.onnx": tiny_bundles.images(np.eye(3, tiny_bundles.DIMENSIONS, dtype=np.float32)),
        "texts.onnx": tiny_bundles.texts(words),
    }
    return write_bundle(folder / "other", tiny_bundles.manifest(heads), files).path


def _create(client: Any, name: str, schema: Any) -> None:
    from pymilvus import DataType

    schema.add_field("image", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=tiny_bundles.DIMENSIONS)
    client.create_collection(name, schema=schema)
