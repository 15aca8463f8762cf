"""The model of a library: opened once, replaced by a reindex, closed when nobody uses it."""

from pathlib import Path

import pytest

from seetell.errors import BundleError
from seetell.library import Library
from seetell.runtime import Model


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The models that have been closed."""
    found: list[Model] = []
    real = Model.close

    def close(model: Model) -> None:
        found.append(model)
        real(model)

    monkeypatch.setattr(Model, "close", close)
    return found


def test_a_replaced_model_is_closed(library: Library, bundle: Path, closed: list[Model]) -> None:
    with Library.open(library.path) as server:  # stays open while another process reindexes
        old = server.model
        assert server.model is old
        library.reindex(bundle)
        assert old not in closed
        server.search("red")
        assert old in closed
        assert server.model is not old
        assert server.model not in closed


def test_a_replaced_model_is_closed_after_its_last_use(library: Library, bundle: Path, closed: list[Model]) -> None:
    with Library.open(library.path) as server:
        with server.use_model() as old:
            library.reindex(bundle)
            server.search("red")
            assert old not in closed
            assert old.retriever.embed_texts(["red"]).shape[0] == 1
        assert old in closed


def test_many_reindexes_leave_one_model_open(
    library: Library, bundle: Path, colours: Path, closed: list[Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Model] = []
    real = Model.__init__

    def init(model: Model, *args: object, **options: object) -> None:
        opened.append(model)
        real(model, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Model, "__init__", init)
    for model in (bundle, colours, bundle, colours):
        library.reindex(model)
        library.search("red")
    assert len(opened) - len(set(map(id, closed)) & set(map(id, opened))) == 1


def test_closing_the_library_closes_its_model(library: Library, closed: list[Model]) -> None:
    model = library.model
    library.close()
    assert model in closed


def test_an_unknown_model_leaves_no_library_behind(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no-such-model"):
        Library.open(tmp_path / "library", model="no-such-model")
    assert not (tmp_path / "library").exists()
