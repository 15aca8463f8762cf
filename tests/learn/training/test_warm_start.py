"""Runs that start from trained weights: of another run, and of a bundle made of it."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers.tiny_bundles import copy, forge
from seetell.bundle import Bundle
from seetell.data import open_dataset
from seetell.errors import SeetellError
from seetell.learn.exporting import export
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.learn.training.warm_start import WarmStart, recipe_from
from seetell.progress import Progress
from seetell.text import LABEL_SPECIALS, Vocabulary

ENCODER = "encoder.name=test_efficientnet@random"
POOLED = ("encoder.layout=pooled", "encoder.transform=standardise")
STILL = ["phases.epochs=1", "phases.learning_rate=1e-12"]  # nothing is learned: what it ends with, it began with


def captions(*more: str) -> Recipe:
    sizes = ["model.units=16", "model.word_dimensions=12", "decoding.validation_images=3", "text.minimum_count=1"]
    return load_recipe("initial", dataset="scenes", settings=[ENCODER, *POOLED, *sizes, *more])


def tags(*more: str) -> Recipe:
    return load_recipe("bce", dataset="scenes", settings=[ENCODER, *more])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Somebody's own images: captions with words of their own, and labels of which some are known."""
    place = tmp_path_factory.mktemp("mine")
    rows = []
    for number, record in enumerate(open_dataset("scenes:12").records):
        (place / f"{number}.png").write_bytes(record.image.read())
        split = ("train", "train", "val")[number % 3]
        labels = [*record.labels, "gadget"] if number % 2 else list(record.labels)
        row = {
            "file": f"{number}.png",
            "split": split,
            "captions": ["our xylograph with a circle"],
            "labels": labels[::-1],
        }
        rows.append(json.dumps(row))
    (place / "mine.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(captions("phases.epochs=2"), ["scenes:40"], tmp_path_factory.mktemp("runs") / "captions", device="cpu")


@pytest.fixture(scope="module")
def bundle(captioner: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bundles") / "small"
    export([captioner], out)
    return out


@pytest.mark.parametrize("source", ["run", "bundle"])
def test_known_words_keep_their_weights_and_new_ones_are_added(
    source: str, captioner: Run, bundle: Path, folder: Path, tmp_path: Path
) -> None:
    start = {"run": captioner.path, "bundle": bundle}[source]
    messages: list[str] = []
    recipe = captions(*STILL, f"training.start_from='{start.as_posix()}'")
    run = train(
        recipe,
        [f"table:{folder / 'mine.jsonl'}"],
        tmp_path / "run",
        device="cpu",
        progress=Progress(write=messages.append),
    )
    assert run.vocabulary is not None
    assert captioner.vocabulary is not None
    old, new = captioner.vocabulary, run.vocabulary
    assert new.words[: len(old.words)] == old.words
    assert {"our", "xylograph"} <= set(new.words) - set(old.words)
    assert any(f"starts from {start}" in line for line in messages)
    before, after = captioner.model().state_dict(), run.model().state_dict()
    rows = [new.index(word) for word in old.words]
    kept = [old.index(word) for word in old.words]
    for name, tensor in after.items():
        if tensor.shape == before[name].shape:
            torch.testing.assert_close(tensor, before[name], msg=name)
        else:
            torch.testing.assert_close(tensor[rows], before[name][kept], msg=name)


def test_labels_are_the_new_ones(folder: Path, tmp_path: Path) -> None:
    first = train(tags("phases.epochs=2"), ["scenes:40"], tmp_path / "first", device="cpu")
    recipe = tags(*STILL, f"training.start_from='{first.path.as_posix()}'")
    second = train(recipe, [f"table:{folder / 'mine.jsonl'}"], tmp_path / "second", device="cpu")
    assert first.vocabulary is not None
    assert second.vocabulary is not None
    assert "gadget" in second.vocabulary.words
    assert "gadget" not in first.vocabulary.words
    known = [label for label in second.vocabulary.words if label in first.vocabulary]
    assert len(known) >= 3
    before, after = first.model().state_dict(), second.model().state_dict()
    name = next(name for name, tensor in after.items() if tensor.ndim == 2 and len(tensor) != len(before[name]))
    for label in known:
        now, was = second.vocabulary.words.index(label), first.vocabulary.words.index(label)
        torch.testing.assert_close(after[name][now], before[name][was])


def test_what_does_not_fit_is_refused(captioner: Run, bundle: Path, folder: Path, tmp_path: Path) -> None:
    mine = [f"table:{folder / 'mine.jsonl'}"]
    start = f"training.start_from='{captioner.path.as_posix()}'"
    with pytest.raises(SeetellError, match="another recipe"):
        train(captions(*STILL, "model.units=24", start), mine, tmp_path / "a", device="cpu")
    other = captions(*STILL, "encoder.name=test_resnet@random", start)
    with pytest.raises(SeetellError, match="another encoder"):
        train(other, mine, tmp_path / "b", device="cpu")
    with pytest.raises(SeetellError, match="no tagger"):
        train(tags(*STILL, f"training.start_from='{bundle.as_posix()}'"), mine, tmp_path / "c", device="cpu")


@pytest.mark.parametrize("source", ["run", "bundle"])
def test_sizes_and_what_is_read_need_not_be_said_again(source: str, captioner: Run, bundle: Path) -> None:
    start = str({"run": captioner.path, "bundle": bundle}[source])
    recipe = recipe_from("initial", start, dataset="table", settings=["phases.epochs=1"])
    assert recipe.model == captioner.recipe.model
    assert recipe.model != load_recipe("initial", dataset="table").model
    assert recipe.encoder.name == "test_efficientnet@random"
    assert recipe.training.start_from == start
    assert recipe.text.minimum_count == load_recipe("initial", dataset="table").text.minimum_count
    assert recipe_from("initial", start, settings=["model.units=24"]).model.units == 24
    assert recipe_from("merge", start).model.kind == "merge"  # refused later, when weights are looked for


def test_a_bundle_without_settings_is_started_from_as_the_recipe_says(bundle: Path, tmp_path: Path) -> None:
    copied = forge(copy(bundle, tmp_path / "older"), lambda content: content["captioner"].pop("training_settings"))
    assert Bundle.open(copied).fingerprint == Bundle.open(bundle).fingerprint
    assert recipe_from("initial", str(copied)).model == load_recipe("initial").model
    broken = forge(copy(bundle, tmp_path / "odd"), lambda content: content["captioner"].update(training_settings="[1]"))
    with pytest.raises(SeetellError, match="training settings cannot be read"):
        recipe_from("initial", str(broken))


def test_features_are_transformed_as_before(folder: Path, tmp_path: Path) -> None:
    """Also where there are too few images to fit the transform anew."""
    more = ("encoder.transform=principal", "encoder.components=16")
    first = train(tags("phases.epochs=1", *more), ["scenes:40"], tmp_path / "first", device="cpu")
    mine = [f"table:{folder / 'mine.jsonl'}"]
    with pytest.raises(SeetellError, match="principal components"):
        train(tags("phases.epochs=1", *more), mine, tmp_path / "anew", device="cpu")
    recipe = recipe_from("bce", str(first.path), dataset="table", settings=STILL)
    second = train(recipe, mine, tmp_path / "second", device="cpu")
    before, after = first.model().state_dict(), second.model().state_dict()
    for name in ("mean", "scale", "components"):
        torch.testing.assert_close(after[f"transform.{name}"], before[f"transform.{name}"])


def test_rows_of_special_symbols() -> None:
    """A label sequence has rows for START, END and PAD; a classifier's labels come first."""
    old, new = Vocabulary(["cat", "dog"], LABEL_SPECIALS), Vocabulary(["horse", "dog", "cat"], LABEL_SPECIALS)
    trained = {"weight": torch.arange(10.0).view(5, 2)}
    model = nn.Embedding(6, 2)
    random = model.weight.detach().clone()
    WarmStart("x", trained, old, "").load(model, new, ["weight"], "")
    expected = [[0, 1], [2, 3], [4, 5], random[3].tolist(), [8, 9], [6, 7]]
    torch.testing.assert_close(model.weight.detach(), torch.tensor(expected))
    classifier = nn.Linear(2, 3, bias=False)
    random = classifier.weight.detach().clone()
    WarmStart("x", {"weight": trained["weight"][:2]}, old, "").load(classifier, new, ["weight"], "")
    torch.testing.assert_close(classifier.weight.detach(), torch.tensor([random[0].tolist(), [2, 3], [0, 1]]))


@pytest.mark.parametrize("source", ["run", "bundle"])
def test_later_stages_are_taken_over_with_the_rest(source: str, folder: Path, tmp_path: Path) -> None:
    later = ["encoder.layout=grid:3", "encoder.later_stages=true", "encoder.learning_rate=0.01", "phases.epochs=1"]
    first = train(
        load_recipe("best-tags", dataset="scenes", settings=[ENCODER, *later]), ["scenes:40"], tmp_path / "first"
    )
    start = tmp_path / "first"
    if source == "bundle":
        start = export([first], tmp_path / "made").bundle.path
    still = [*STILL, "encoder.learning_rate=1e-12", "training.average=0"]
    recipe = recipe_from("best-tags", str(start), dataset="table", settings=still)
    assert recipe.encoder.later_stages
    run = train(recipe, [f"table:{folder / 'mine.jsonl'}"], tmp_path / "run", device="cpu")
    before, after = first.model().transform.state_dict(), run.model().transform.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, atol=1e-6, rtol=1e-5)
