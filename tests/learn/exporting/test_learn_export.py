"""`seetell learn export` as people call it, on runs of a few scenes and an untrained network."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from helpers.tiny_bundles import write_tiny
from seetell.bundle import Bundle, CaptionerPart, RetryPart
from seetell.cli import app, main
from seetell.data import open_dataset
from seetell.learn.encoders import Encoder
from seetell.learn.exporting import open_runs
from seetell.learn.exporting.base import heads_to_keep
from seetell.learn.exporting.trained import check_compatible
from seetell.learn.models.live_encoder import LiveEncoder
from seetell.learn.recipes import load_recipe
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.runtime import open_model

DATA = "scenes:40"
ENCODER = "test_efficientnet@random"
RUNS = {
    "captions": ("attend-soft", ["model.units=16", "model.word_dimensions=8", "model.attention_dimensions=8"]),
    "tags": ("bce", []),
    "match": ("fne-mh", ["model.dimensions=16", "model.word_dimensions=8"]),
    "own": ("bce", ["encoder.train=true", "encoder.augment=true", "encoder.learning_rate=0.01"]),
    "looked": ("bce", ["encoder.augment=true"]),
    "later": ("best-tags", ["encoder.layout=grid:3", "encoder.later_stages=true", "encoder.learning_rate=0.01"]),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`own` trained its network along, `looked` read images and left the network as it was, `later` trained the last
    stages of it as its own."""
    folder = tmp_path_factory.mktemp("runs")
    for name, (recipe, settings) in RUNS.items():
        common = [f"encoder.name={ENCODER}", "phases.epochs=1", "phases.learning_rate=0.003", "phases.batch=8"]
        made = load_recipe(recipe, dataset="scenes", settings=[*common, *settings])
        train(made, [DATA], folder / name, device="cpu", store=folder / "store")
    return {name: folder / name for name in RUNS}


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["learn", "export", *map(str, arguments)])


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one line that the command prints before it exits with 2."""

    def call(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["seetell", "learn", "export", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert (caught.value.code, printed.out) == (2, "")
        (line,) = printed.err.splitlines()
        assert line.startswith("seetell: ")
        return line

    return call


def test_runs_become_a_model(runs: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "Mine"
    result = export(
        *(runs["captions"], runs["tags"], runs["match"], "--out", out, "--measure", 4),
        *("--about", "Scenes told", "--licence", "CC0-1.0", "--rerank-weight", 2),
    )
    assert result.exit_code == 0, result.stderr
    (line,) = result.stdout.splitlines()
    assert line.startswith(f"{out}: captioner, tagger, retriever; ")
    manifest = Bundle.open(out).manifest
    assert (manifest.name, manifest.about, manifest.licence) == ("mine", "Scenes told", "CC0-1.0")
    assert manifest.training_data == (DATA,)
    assert {layout.name for layout in manifest.encoder.layouts} == {"grid", "pooled", "full_network"}
    assert manifest.captioner is not None
    assert manifest.captioner.rerank_weight == 2
    assert "re-ranked by similarity with weight 2" in manifest.captioner.scores[1].protocol
    for head in manifest.heads:
        assert [score.measured_on for score in head.scores] == ["checkpoint", "bundle"]
        assert head.scores[1].images == 4
    shown = json.loads(CliRunner().invoke(app, ["models", "show", str(out), "--json"]).stdout)
    assert shown["scores"]["captioner"][1]["data"] == DATA


def test_a_fine_tuned_encoder_goes_into_the_bundle(runs: dict[str, Path], tmp_path: Path) -> None:
    assert export(runs["own"], "--out", tmp_path / "out").exit_code == 0
    run = Run.open(runs["own"])
    network: Any = run.model()
    assert isinstance(network.transform, LiveEncoder)
    stock = Encoder.load(ENCODER).fingerprint()
    assert (
        Bundle.open(tmp_path / "out").manifest.encoder.fingerprint == network.transform.encoder.fingerprint() != stock
    )
    images = [record.image for record in open_dataset(DATA).split("val")]
    pixels = np.concatenate([run.preparation.open(image.read()) for image in images])
    with torch.no_grad():  # the run as it was trained: from pixels
        wanted = network.confidence(network(torch.from_numpy(pixels))).numpy()
    with open_model(tmp_path / "out") as model:
        found = np.stack([result.scores for result in model.tagger(images)])
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    (other,) = open_runs([runs["tags"]])
    assert other.encoder.fingerprint() == stock


def test_later_stages_belong_to_the_head_and_the_encoder_stays_everybodys(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    assert export(runs["captions"], runs["later"], "--out", tmp_path / "out").exit_code == 0
    manifest = Bundle.open(tmp_path / "out").manifest
    assert {layout.name for layout in manifest.encoder.layouts} == {"grid", "grid:3"}
    encoder, network = Encoder.load(ENCODER), Run.open(runs["later"]).model()
    assert manifest.encoder.fingerprint == encoder.fingerprint()
    image = open_dataset(DATA).split("val")[0].image
    pixels = torch.from_numpy(manifest.encoder.preparation.open(image.read()))
    features = encoder.encode(pixels, ["grid:3", "grid"])
    later: Any = network.transform
    with torch.no_grad():
        wanted = network.confidence(network(features["grid:3"])).numpy()  # type: ignore[operator]
        untrained = later.then(features["grid"])
        assert not torch.allclose(later(features["grid:3"]), untrained, atol=1e-3)
    with open_model(tmp_path / "out") as model:
        np.testing.assert_allclose(model.tagger(image).scores, wanted[0], atol=1e-4)


def test_runs_whose_encoders_differ_are_no_model(
    runs: dict[str, Path], tmp_path: Path, refused: Callable[..., str]
) -> None:
    line = refused(runs["captions"], runs["own"], "--out", tmp_path / "out")
    assert f"{runs['own']}: this run reads other weights of {ENCODER} than {runs['captions']}" in line
    assert "fine-tuned the encoder" in line
    assert "export it separately" in line
    assert not (tmp_path / "out").exists()
    # One that only looked at images sees as the stored features do.
    check_compatible(open_runs([runs["captions"], runs["looked"]]))


@pytest.mark.parametrize(("quantize", "share"), [("float16", 0.7), ("int8", 0.5)])
def test_a_quantized_model_reports_the_cost(quantize: str, share: float, runs: dict[str, Path], tmp_path: Path) -> None:
    write_tiny(tmp_path / "out")
    result = export(runs["tags"], "--out", tmp_path / "out", "--replace", "--quantize", quantize, "--measure", 4)
    assert result.exit_code == 0, result.stderr
    first, second, *changes = result.stdout.splitlines()
    assert ": tagger; " in first
    before, after = (float(part.split()[0]) for part in second.split(" → ")[:2])
    assert after <= share * before
    assert any(line.startswith("  tagger: f1 ") and " → " in line for line in changes)
    manifest = Bundle.open(tmp_path / "out").manifest
    assert manifest.precision == quantize
    assert manifest.tagger is not None
    assert manifest.tagger.scores[-1].measured_on == "bundle"


def test_a_run_replaces_a_head_of_a_base_model_and_the_rest_is_kept(
    runs: dict[str, Path], tmp_path: Path, refused: Callable[..., str]
) -> None:
    model = [
        runs["captions"],
        runs["tags"],
        runs["match"],
        "--rerank-weight",
        2,
        "--uncertain-below",
        0.1,
        "--retry-below",
        0.2,
    ]
    assert export(*model, "--quantize", "int8", "--measure", 4, "--out", tmp_path / "before").exit_code == 0
    again = export(runs["later"], "--base", tmp_path / "before", "--measure", 4, "--out", tmp_path / "after")
    assert again.exit_code == 0, again.stderr
    before, after = Bundle.open(tmp_path / "before"), Bundle.open(tmp_path / "after")
    assert after.manifest.kinds == before.manifest.kinds
    assert after.manifest.precision == "int8"
    assert {layout.name for layout in after.manifest.encoder.layouts} == {"grid", "grid:3", "full_network"}
    assert after.manifest.captioner is not None
    assert (after.manifest.captioner.rerank_weight, after.manifest.captioner.uncertain_below) == (2, 0.1)
    assert after.manifest.captioner.retry == RetryPart("captioner-words.onnx", 0.2)
    assert "retried below a similarity of 0.2" in after.manifest.captioner.scores[-1].protocol
    other = heads_to_keep(before, open_runs([runs["match"]]), "int8").heads["captioner"]
    assert isinstance(other, CaptionerPart)
    # The similarities of another retriever are not comparable.
    assert (other.rerank_weight, other.uncertain_below, other.retry) == (2, None, None)
    for name in (
        *("captioner-step.onnx", "captioner-words.onnx", "captioner.txt"),
        *("retriever-images.onnx", "retriever-texts.onnx"),
    ):
        assert after.read(name) == before.read(name)
    assert export(runs["later"], "--out", tmp_path / "alone", "--quantize", "int8").exit_code == 0
    image = open_dataset(DATA).split("val")[0].image
    with (
        open_model(tmp_path / "before") as old,
        open_model(tmp_path / "after") as new,
        open_model(tmp_path / "alone") as alone,
    ):
        assert new.captioner(image).text == old.captioner(image).text
        np.testing.assert_allclose(new.tagger(image).scores, alone.tagger(image).scores, atol=1e-5)
    out = ("--out", tmp_path / "none")
    assert "has another encoder" in refused(runs["own"], *out, "--base", tmp_path / "before")
    assert "--quantize int8" in refused(runs["tags"], *out, "--base", tmp_path / "before", "--quantize", "float16")
    assert "Leave out --quantize" in refused(
        *(runs["captions"], *out, "--quantize", "float16", "--base", _whole(runs, tmp_path))
    )


def _whole(runs: dict[str, Path], folder: Path) -> Path:
    assert export(runs["tags"], "--out", folder / "whole").exit_code == 0
    return folder / "whole"


def test_mistakes_are_one_line_and_found_at_once(
    runs: dict[str, Path], tmp_path: Path, refused: Callable[..., str]
) -> None:
    """`refused` sees nothing but the line: no graph had been made by then."""
    out = ["--out", tmp_path / "out"]
    assert "no precision 'int4'. Did you mean 'int8'?" in refused(runs["tags"], *out, "--quantize", "int4")
    assert "needs a captioner and a retriever" in refused(runs["captions"], *out, "--rerank-weight", 1)
    assert "--uncertain-below needs --rerank-weight" in refused(runs["captions"], *out, "--uncertain-below", 0.1)
    assert "--retry-below needs --rerank-weight" in refused(runs["captions"], *out, "--retry-below", 0.1)
    assert "is also a tagger" in refused(runs["tags"], runs["looked"], *out)
    assert "the split 'dev' is empty" in refused(runs["tags"], *out, "--split", "dev")
    assert str(tmp_path / "absent") in refused(tmp_path / "absent", *out)
    assert "cannot be a bundle's name" in refused(runs["tags"], *out, "--name", "My bundle")
    assert not (tmp_path / "out").exists()
    write_tiny(tmp_path / "out")
    assert "already exists" in refused(runs["tags"], *out)
    (tmp_path / "holiday").mkdir()
    assert "not a bundle" in refused(runs["tags"], "--out", tmp_path / "holiday", "--replace")
