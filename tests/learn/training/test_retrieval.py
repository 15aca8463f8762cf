"""A retrieval run from end to end, on a few scenes and an untrained network: small, but every part is real."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from seetell.data import open_dataset
from seetell.errors import SeetellError
from seetell.evaluation import EvaluationOptions
from seetell.learn.encoders import Encoder
from seetell.learn.losses import make_loss
from seetell.learn.models import ModelInputs
from seetell.learn.models.sentence_match import SentenceMatch
from seetell.learn.models.sentences import SentenceEncoder, sentence_vocabulary
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.recipes.loss_settings import ContrastiveSettings
from seetell.learn.recipes.model_settings import SentenceMatchSettings
from seetell.learn.tasks import TASKS
from seetell.learn.tasks.retrieval.data import PairedImages, embed_texts
from seetell.learn.tasks.retrieval.task import RetrievalTask
from seetell.learn.training import checkpoints
from seetell.learn.training.batching import Sequences
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.evaluate import evaluate
from seetell.learn.training.features import make_features
from seetell.learn.training.inputs import StoredFeatures
from seetell.learn.training.loop import State
from seetell.learn.training.run import Run
from seetell.learn.training.train import train
from seetell.text import Vocabulary

SMALL = [
    "encoder.name=test_efficientnet@random",
    "model.dimensions=24",
    "model.word_dimensions=16",
    "phases.epochs=2",
    "phases.batch=16",
    "phases.learning_rate=0.003",
]
DATA = ["scenes:60"]


def small(name: str = "fne-ph", *more: str) -> Recipe:
    return load_recipe(name, dataset="scenes", settings=[*SMALL, *more])


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in history]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(small(), DATA, tmp_path_factory.mktemp("runs") / "whole", device="cpu")


def test_a_run_leaves_all_that_is_needed(whole: Run) -> None:
    assert [record["phase"] for record in whole.history()] == [1, 1, 2, 2]
    assert whole.recipe == small()
    assert whole.vocabulary is not None
    files = {path.name for path in whole.path.iterdir()}
    assert {"run.json", "vocabulary.txt", "history.jsonl", "curves.png", "tensorboard", "best.json"} <= files
    lines = (whole.path / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == whole.history()


def test_the_vocabulary_has_seen_the_training_split_only(whole: Run) -> None:
    from seetell.text import words

    dataset = open_dataset(DATA[0])
    seen = {word for record in dataset.split("train") for caption in record.captions for word in words(caption)}
    assert whole.vocabulary is not None
    assert set(whole.vocabulary.words) == seen


def test_the_best_model_scores_what_was_recorded(whole: Run) -> None:
    training_data = whole.encode(DATA, "val")
    result = TASKS["retrieval"].evaluate(whole, training_data, "val", EvaluationOptions())
    best = max(whole.history(), key=lambda record: record["score"])
    assert result.metrics == best["metrics"]
    assert result.images == 6


def test_captions_with_words_that_training_had_not_are_counted_apart(
    whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    training_data = whole.encode(DATA, "val")
    fresh = [
        replace(record, captions=("a zeppelin", *record.captions[1:])) for record in training_data.dataset.split("val")
    ]
    dataset = replace(training_data.dataset, records=(*training_data.dataset.split("train"), *fresh))
    result = TASKS["retrieval"].evaluate(whole, replace(training_data, dataset=dataset), "val", EvaluationOptions())
    assert result.unseen_words is not None
    unseen, captions = result.unseen_words, sum(len(record.captions) for record in fresh)
    assert len(fresh) <= unseen["captions"] < captions
    share = unseen["captions"] / captions  # the two parts make up the whole
    parts = share * unseen["text_to_image"]["r1"] + (1 - share) * unseen["the_others"]["r1"]
    assert parts == pytest.approx(result.metrics["text_to_image"]["r1"])


@pytest.mark.parametrize("step", [2, 8])
def test_stopped_anywhere_and_resumed_it_is_bit_equal(whole: Run, tmp_path: Path, step: int) -> None:
    taken = iter(range(1000))

    def stop(state: State) -> bool:
        return next(taken) == step

    train(small(), DATA, tmp_path / "cut", device="cpu", stop=stop)
    resumed = train(small(), DATA, tmp_path / "cut", device="cpu", resume=True)
    assert without_time(resumed.history()) == without_time(whole.history())
    for name in ("best", "last"):
        one, other = checkpoints.load(whole.path, name), checkpoints.load(resumed.path, name)
        assert all(torch.equal(one.model[key], other.model[key]) for key in one.model)


def test_mirror_images_are_seen_in_training_and_nowhere_else(whole: Run, tmp_path: Path) -> None:
    """Stopped and resumed it draws the same ones."""
    recipe = small("fne-ph", "encoder.mirror=true")
    one = train(recipe, DATA, tmp_path / "one", device="cpu")
    train(recipe, DATA, tmp_path / "cut", device="cpu", stop=lambda state: state.epoch == 1)
    other = train(recipe, DATA, tmp_path / "cut", device="cpu", resume=True)
    assert without_time(one.history()) == without_time(other.history()) != without_time(whole.history())
    features = make_features(recipe, open_dataset(DATA[0]), ("train", "val"))
    training_data = TrainingData(recipe, open_dataset(DATA[0]), features)
    _, training = training_data.split("train", captioned)
    _, validation = training_data.split("val", captioned)
    both = np.arange(len(validation))
    assert torch.equal(validation.batch(both, np.random.default_rng(1)), validation.batch(both))
    some = np.arange(40)
    plain, drawn = training.batch(some), training.batch(some, np.random.default_rng(1))
    flipped = (plain != drawn).any(1)
    assert features.mirrored is not None
    mirrored = StoredFeatures(features.mirrored.store, np.array(list(features.mirrored.rows.values()))).batch(some)
    assert 10 < int(flipped.sum()) < 30
    assert torch.equal(drawn, torch.where(flipped[:, None], mirrored, plain))


def test_a_setting_that_came_later_does_not_stop_a_run_from_being_resumed(whole: Run, tmp_path: Path) -> None:
    shutil.copytree(whole.path, tmp_path / "old")
    content = json.loads((tmp_path / "old/run.json").read_text(encoding="utf-8"))
    del content["recipe"]["encoder"]["mirror"]
    (tmp_path / "old/run.json").write_text(json.dumps(content), encoding="utf-8")
    assert train(small(), DATA, tmp_path / "old", device="cpu", resume=True).history() == whole.history()


def test_a_run_is_not_overwritten_and_not_resumed_with_other_settings(whole: Run) -> None:
    with pytest.raises(SeetellError, match="--resume"):
        train(small(), DATA, whole.path, device="cpu")
    with pytest.raises(SeetellError, match=r"run\.json: this run was started with model\.dimensions = 24, not 8\. "):
        train(small("fne-ph", "model.dimensions=8"), DATA, whole.path, device="cpu", resume=True)


def test_a_changed_setting_is_found_before_anything_is_encoded(whole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def encoded(*_: object, **__: object) -> None:
        raise AssertionError("images were encoded")

    monkeypatch.setattr("seetell.learn.training.train.make_features", encoded)
    with pytest.raises(SeetellError, match=r"phases\.1\.epochs = 2, not 3"):
        train(small("fne-ph", "phases.1.epochs=3"), DATA, whole.path, device="cpu", resume=True)
    with pytest.raises(SeetellError, match=r"--device: .*Available: auto, cpu"):
        train(small(), DATA, whole.path, device="tpu", resume=True)
    with pytest.raises(AssertionError, match="encoded"):
        train(small(), DATA, whole.path, device="cpu", resume=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_an_error_that_lists_the_devices(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match=r"--device: PyTorch finds no cuda device here\. Available: auto, cpu"):
        train(small(), DATA, tmp_path / "run", device="cuda")
    assert not (tmp_path / "run").exists()


def test_a_run_without_an_epoch_has_no_best(whole: Run, tmp_path: Path) -> None:
    stopped = train(small(), DATA, tmp_path / "run", device="cpu", stop=lambda state: True)
    assert stopped.history() == []
    assert stopped.best is None
    assert not stopped.finished
    assert whole.best == max(whole.history(), key=lambda record: record["score"])


@pytest.mark.parametrize("name", ["fc7-mh", "fc7-soe", "two-branch-k1", "attentive-match"])
def test_other_recipes_train(name: str, tmp_path: Path) -> None:
    settings = [s for s in SMALL if not s.startswith("model.")] + ["phases.epochs=1"]
    settings += ["model.layers=[16, 8]"] if name.startswith("two") else ["model.dimensions=16"]
    run = train(load_recipe(name, settings=settings), DATA, tmp_path / "run", device="cpu")
    assert len(run.history()) == 1
    assert np.isfinite(run.history()[0]["loss"])


@pytest.mark.parametrize("trained", [0, 1])
def test_what_is_frozen_of_a_sentence_encoder_reads_each_caption_once(
    trained: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it read is found again by the next run, and a run that was stopped goes on bit for bit."""
    read = 0

    def tiny() -> SentenceEncoder:
        torch.manual_seed(3)
        return SentenceEncoder(len(sentence_vocabulary()), width=8, layers=2, heads=2, inner=16)

    def counted(self: SentenceEncoder, tokens: torch.Tensor, *how: Any) -> Any:
        nonlocal read
        read += len(tokens)
        return states(self, tokens, *how)

    states = SentenceEncoder.states
    monkeypatch.setattr("seetell.learn.models.sentence_match.load_sentence_encoder", tiny)
    monkeypatch.setattr(SentenceEncoder, "states", counted)
    settings = ["encoder.name=test_efficientnet@random", "encoder.components=16", "phases.batch=40", "phases.epochs=2"]
    settings.append(f"model.trained_layers={trained}")
    recipe = load_recipe("best-retrieval", settings=settings)
    whole = train(recipe, DATA, tmp_path / "whole", device="cpu", store=tmp_path / "store")
    assert read == 5 * (48 + 6)
    taken = iter(range(100))
    for name in ("once", "again"):
        stop = (lambda state: next(taken) == 4) if name == "once" else (lambda state: False)
        cut = train(
            recipe,
            DATA,
            tmp_path / "cut",
            device="cpu",
            store=tmp_path / "store",
            stop=stop,
            resume=name == "again",
        )
    assert read == 5 * (48 + 6)
    one, other = checkpoints.load(whole.path, "last"), checkpoints.load(cut.path, "last")
    assert all(torch.equal(one.model[key], other.model[key]) for key in one.model)
    result = evaluate(cut, DATA, "val", store=tmp_path / "store")
    best = max(record["score"] for record in whole.history())
    rounding = 4.0 if trained else 0.0  # pieces' states are kept as 16-bit numbers
    assert result.metrics["sum_of_recalls"] == pytest.approx(best, abs=rounding)


def test_weights_of_another_version_are_refused(tmp_path: Path) -> None:
    run = train(small("fc7-mh"), DATA, tmp_path / "run", device="cpu")
    described = json.loads((run.path / "run.json").read_text(encoding="utf-8"))
    described["recipe"]["model"]["dimensions"] = 20
    (run.path / "run.json").write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(SeetellError, match="do not match the model 'visual_semantic'"):
        Run.open(run.path).model()


def test_each_pair_has_the_loss_it_would_have_alone() -> None:
    torch.manual_seed(0)
    sentences = SentenceEncoder(50, width=8, layers=1, heads=2, inner=16)
    inputs = ModelInputs(features=6, sentences=sentences)
    both = SentenceMatch(SentenceMatchSettings(dimensions=16, pairs=2, hidden=10), inputs).eval()
    single = SentenceMatchSettings(dimensions=8, hidden=10)
    alone = [SentenceMatch(single, inputs).eval() for _ in range(2)]
    for index, one in enumerate(alone):
        one.image_sides[0].load_state_dict(both.image_sides[index].state_dict())
        one.text_sides[0].load_state_dict(both.text_sides[index].state_dict())
    captions = PairedImages(cast(Any, None), Sequences([]), np.arange(0))  # nothing was read of them before
    batch = (torch.randint(4, 50, (5, 4)), torch.tensor([4, 3, 2, 4, 1]), torch.randn(5, 6), torch.eye(5).bool())

    def loss(model: SentenceMatch) -> torch.Tensor:
        task = RetrievalTask(model, load_recipe("best-retrieval"), captions, captions)
        task.loss = make_loss(ContrastiveSettings(temperature=0.05))
        return task(batch)[0]

    torch.testing.assert_close(loss(both), torch.stack([loss(one) for one in alone]).mean())


def test_the_network_is_trained_along_with_the_model(tmp_path: Path) -> None:
    """From augmented images, the first two stages frozen; stopped and resumed bit for bit."""
    live = small(
        *(
            "fc7-mh",
            "encoder.train=true",
            "encoder.augment=true",
            "encoder.frozen_stages=2",
            "encoder.learning_rate=0.01",
        )
    )
    whole = train(live, DATA, tmp_path / "whole", device="cpu")
    before = Encoder.load("test_efficientnet@random").network
    after = {
        name.removeprefix("model.transform.encoder.network."): value
        for name, value in checkpoints.load(whole.path, "best").model.items()
    }
    parameters = [name for name, _ in before.named_parameters()]
    changed = [not torch.equal(before.get_parameter(name), after[name]) for name in parameters]
    assert not changed[0]
    assert changed[-1]
    assert changed == sorted(changed)  # frozen up to a point, trained from there on
    taken = iter(range(1000))
    train(live, DATA, tmp_path / "cut", device="cpu", stop=lambda state: next(taken) == 4)
    resumed = train(live, DATA, tmp_path / "cut", device="cpu", resume=True)
    assert without_time(resumed.history()) == without_time(whole.history())
    best = max(whole.history(), key=lambda record: record["score"])
    assert evaluate(whole, DATA, "val").metrics == best["metrics"]


def test_two_processes_train_one_model(tmp_path: Path) -> None:
    settings = [part for setting in SMALL for part in ("--set", setting)]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "-m", "seetell.cli"]
    arguments = ["learn", "train", "fc7-sh", "--data", "scenes:60", "--out", str(tmp_path / "run"), "--device", "cpu"]
    settings += ["--set", "phases.epochs=6"]
    done = subprocess.run([*command, *arguments, *settings], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    history = Run.open(tmp_path / "run").history()
    assert len(history) == 6
    assert history[-1]["loss"] < 0.9 * history[0]["loss"]


def test_captions_are_embedded_in_their_own_order() -> None:
    """Embedding by length must not mix captions up: a model that returns its input shows it."""

    class Echo(torch.nn.Module):
        similarity, dimensions = "cosine", 2

        def __init__(self) -> None:
            super().__init__()
            self.nothing = torch.nn.Parameter(torch.zeros(1))

        def texts(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            return torch.stack([tokens[:, 0], lengths], 1).float()

    random = np.random.default_rng(0)
    captions = Sequences([[i] * int(random.integers(1, 9)) for i in range(1, 50)])
    embedded = embed_texts(Echo(), captions, batch=7)  # type: ignore[arg-type]
    assert embedded[:, 0].tolist() == list(range(1, 50))
    assert embedded[:, 1].tolist() == captions.lengths.tolist()


def test_captions_of_one_image_are_never_contrasted() -> None:
    class Images:
        def __len__(self) -> int:
            return 3

        def batch(self, indices: np.ndarray, random: object = None) -> torch.Tensor:
            return torch.from_numpy(indices).float()[:, None]

    data = PairedImages(Images(), Sequences([[4], [5], [6], [7]]), np.array([0, 0, 1, 2]))
    task = RetrievalTask(_Nothing(), small(), data, data)
    tokens, _, images, positives = task.collate(np.array([1, 3, 0]), np.random.default_rng(0))
    assert tokens.tolist() == [[5], [7], [4]]
    assert images.tolist() == [[0.0], [2.0]]
    assert positives.tolist() == [[True, False, True], [False, True, False]]


@pytest.mark.parametrize(("name", "advised"), [("fc7-moe-bl", True), ("fc7-moe", False), ("fc7-mh", False)])
def test_absolute_values_are_advised_where_all_scores_could_be_nothing(name: str, advised: bool) -> None:
    recipe = small(name)
    data = PairedImages(cast(Any, range(1000)), Sequences([[4]] * 1000), np.arange(1000))
    model = _Nothing()
    model.similarity = getattr(recipe.model, "similarity", "cosine")
    task = RetrievalTask(model, recipe, data, data)
    task.begin(recipe.phases[0])
    assert task.detector is not None
    words = task.detector.advice([{"epoch": epoch, "loss": 1.0, "score": 0.0} for epoch in (1, 2, 3)])
    assert "lower learning rate" in words
    assert ("model.absolute = true" in words) == advised


class _Nothing(torch.nn.Module):
    similarity = "cosine"


def test_empty_captions_do_not_break_a_batch() -> None:
    from seetell.data import ImageFile, Record
    from seetell.text import words

    vocabulary = Vocabulary(["dog"])
    record = Record("a", ImageFile(Path("a.jpg")), captions=("", "dog"))
    data = PairedImages.of([record], None, words, vocabulary)  # type: ignore[arg-type]
    assert data.captions.lengths.tolist() == [1, 1]
