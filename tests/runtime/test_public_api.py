"""The public API: what `import seetell` offers, what it costs, and what it refuses."""

import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import seetell
from helpers.tiny_bundles import write_colours
from seetell.errors import ClosedError, ImageError, SeetellError
from seetell.runtime import Caption, CaptionResult, Description, Embedding, Model, TagResult, open_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api")
    write_colours(path / "colours")
    for name, colour in {"red": (255, 0, 0), "blue": (0, 0, 255)}.items():
        Image.new("RGB", (40, 30), colour).save(path / f"{name}.png")
    return path


@pytest.fixture
def model(folder: Path) -> Iterator[Model]:
    with open_model(folder / "colours", threads=2) as opened:
        yield opened


def test_every_public_name_is_there() -> None:
    for name in seetell.__all__:
        assert getattr(seetell, name) is not None
    assert set(seetell.__all__) <= set(dir(seetell))
    assert seetell.open_model is open_model
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        seetell.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_every_kind_of_error_is_one() -> None:
    kinds = [name for name in seetell.__all__ if name.endswith("Error")]
    assert len(kinds) >= 7
    assert all(issubclass(getattr(seetell, name), SeetellError) for name in kinds)


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert seetell.__version__ == version("seetell")


def test_importing_loads_nothing_else() -> None:
    script = "import sys; before = set(sys.modules); import seetell; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["seetell"]


def test_the_one_line_start(folder: Path) -> None:
    """The command of the README, with the built-in model."""
    script = "import seetell; m = seetell.open_model(); print(m.captioner('red.png').text)"
    run = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert len(run.stdout.split()) > 2


def test_open_files_are_images(model: Model, folder: Path) -> None:
    path = folder / "blue.png"
    with open(path, "rb") as file, tempfile.NamedTemporaryFile() as wrapper:
        wrapper.write(path.read_bytes())
        wrapper.seek(0)
        for image in (file, io.BytesIO(path.read_bytes()), wrapper, bytearray(path.read_bytes())):
            for _ in range(2):  # reading a file does not use it up
                assert model.captioner(image).text == "a blue thing"
                assert model.tagger(image).labels == ("blue",)
                assert model.describe(image).text == "a blue thing"
                assert model.retriever.match(image, ["red", "blue"])[0].text == "blue"
        results = list(model.captioner([file, io.BytesIO(path.read_bytes()), file]))
    assert [result.name for result in results] == [str(path), "image 2", str(path)]
    assert {result.text for result in results} == {"a blue thing"}


def test_text_files_and_empty_files_are_refused(model: Model, folder: Path) -> None:
    with open(folder / "blue.png", encoding="latin-1") as file, pytest.raises(TypeError, match="binary mode"):
        model.captioner(file)  # type: ignore[call-overload]
    assert isinstance(model.captioner(io.BytesIO(b"")).error, ImageError)


def test_a_bare_string_is_not_a_list_of_texts(model: Model) -> None:
    for call in (model.retriever.texts, model.retriever.embed_texts):
        with pytest.raises(SeetellError, match=r"list of texts.*Put it in a list: \[text\]"):
            call("a red thing")
    with pytest.raises(SeetellError, match="list of texts"):
        model.retriever.match("red.png", "a red thing")


def test_embeddings_are_compared(model: Model, folder: Path) -> None:
    paths = [folder / "red.png", folder / "blue.png"]
    texts = model.retriever.texts(["red", "a green thing", "blue"])
    assert [text.name for text in texts] == ["red", "a green thing", "blue"]
    np.testing.assert_array_equal(
        np.stack([text.vector for text in texts]), model.retriever.embed_texts(["red", "a green thing", "blue"])
    )
    scores = model.retriever.similarity.scores(model.retriever.images(paths), texts)
    assert scores.shape == (2, 3)
    assert scores.argmax(axis=1).tolist() == [0, 2]
    one = model.retriever.similarity.scores(model.retriever.images(paths[0]), texts)
    np.testing.assert_allclose(one, scores[:1], atol=1e-6)
    with pytest.raises(ImageError, match="no such file"):
        model.retriever.similarity.scores(model.retriever.images(["absent.png"]), texts)


def test_a_repr_is_one_short_line(model: Model, folder: Path) -> None:
    path = str(folder / "red.png")
    results = [
        model,
        model.captioner,
        model.tagger,
        model.retriever,
        model.captioner(path),
        model.captioner(path).best,
        model.tagger(path),
        model.retriever.images(path),
        model.describe(path),
        model.captioner("absent.png"),
        model.retriever.texts(["red " * 100])[0],
        CaptionResult("x"),
        TagResult("x"),
        Embedding("x"),
        Description("x"),
    ]
    for result in results:
        assert repr(result).startswith(type(result).__name__ + "(")
        assert "\n" not in repr(result)
        assert "array" not in repr(result)
        assert len(repr(result)) < 160
    assert repr(model.captioner("absent.png")) == "CaptionResult('absent.png', error='there is no such file')"
    assert repr(model) == "Model('tiny', captioner, tagger, retriever)"
    assert isinstance(model.captioner(path).best, Caption)
    assert "a red thing" in repr(model.captioner(path).best)


def test_a_closed_model_says_so(folder: Path) -> None:
    model = open_model(folder / "colours")
    captioner, retriever = model.captioner, model.retriever
    started = captioner(str(folder / "red.png") for _ in range(500))
    next(started)
    model.close()
    calls = (
        lambda: model.captioner,
        lambda: model.describe("red.png"),
        lambda: captioner("red.png"),
        lambda: captioner(["red.png"]),
        lambda: retriever.texts(["red"]),
        lambda: retriever.match("red.png", ["red"]),
        lambda: list(started),
    )
    for call in calls:
        with pytest.raises(ClosedError, match=r"this model is closed.*open_model"):
            call()
    model.close()
