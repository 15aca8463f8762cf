"""The loop, on a task small enough to see through."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from seetell.learn.recipes import Phase, Recipe, TrainingSettings
from seetell.learn.recipes.loss_settings import MaxOfHingesSettings
from seetell.learn.recipes.model_settings import VisualSemanticSettings
from seetell.learn.training import checkpoints
from seetell.learn.training.loop import DivergedError, Loop, State, rate_factor
from seetell.learn.training.task import Task, Validation


class Line(Task):
    """Learns y = 2x − 1 from noisy samples, with dropout, so that every kind of randomness is used."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
        self.begun: list[str] = []

    def begin(self, phase: Phase) -> None:
        self.begun.append(f"p{phase.loss.margin:g}")

    def plan(self, phase: Phase, random: np.random.Generator) -> Sequence[np.ndarray]:
        return list(random.permutation(32).reshape(-1, 4))

    def collate(self, item: np.ndarray, random: np.random.Generator) -> tuple[Tensor, Tensor]:
        x = item / 16.0 - 1
        y = 2 * x - 1 + 0.01 * random.standard_normal(len(x))
        return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y[:, None], dtype=torch.float32)

    def forward(self, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return (self.model(batch[0]) - batch[1]).square().mean(), {}

    def validate(self) -> Validation:
        x = torch.linspace(-1, 1, 21)[:, None]
        error = float((self.model(x) - (2 * x - 1)).square().mean())
        return Validation(-error, {"error": error})


def recipe(*epochs: int, average: float = 0.0, rate: float = 0.05, **phase: Any) -> Recipe:
    phases = tuple(Phase(MaxOfHingesSettings(margin=i), count, rate, **phase) for i, count in enumerate(epochs))
    return Recipe(
        "line", "retrieval", VisualSemanticSettings(), phases, training=TrainingSettings(average=average, clip=1.0)
    )


def loop(run: Path, recipe: Recipe, **options: Any) -> Loop:
    return Loop(Line(), recipe, run, Fabric(accelerator="cpu", devices=1), **options)


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in record.items() if key != "seconds"} for record in history]


def test_it_learns_and_keeps_the_best(tmp_path: Path) -> None:
    history = loop(tmp_path, recipe(30)).fit()
    assert history[-1]["score"] > -0.02 > history[0]["score"]
    best = max(history, key=lambda record: record["score"])
    assert checkpoints.load(tmp_path, "best").state == {"phase": 1, "epoch": best["epoch"], "score": best["score"]}
    task = Line()
    task.load_state_dict(checkpoints.load(tmp_path, "best").model)
    task.eval()
    with torch.inference_mode():
        assert task.validate().score == best["score"]


@pytest.mark.parametrize(("average", "blend"), [(0.0, 0.0), (0.9, 0.0), (0.9, 0.3), (0.0, 0.3)])
@pytest.mark.parametrize("steps", [8, 16, 24, 32, 40])
def test_stopped_after_any_epoch_and_resumed_it_ends_bit_equal(
    tmp_path: Path, steps: int, average: float, blend: float
) -> None:
    trained = recipe(3, 3, average=average, blend=blend)
    expected = loop(tmp_path / "whole", trained).fit()
    taken = iter(range(10_000))
    loop(tmp_path / "cut", trained, stop=lambda state: next(taken) == steps).fit()
    resumed = loop(tmp_path / "cut", trained)
    assert without_time(resumed.fit(resume=True)) == without_time(expected)
    for name in ("last", "best"):
        one, other = (checkpoints.load(tmp_path / run, name) for run in ("whole", "cut"))
        assert one.model.keys() == other.model.keys()
        assert all(torch.equal(one.model[key], other.model[key]) for key in one.model)
        assert all(torch.equal(one.training[key], other.training[key]) for key in one.training)


def test_resumed_in_the_middle_of_an_epoch_it_ends_bit_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = loop(tmp_path / "whole", recipe(3)).fit()
    monkeypatch.setattr("seetell.learn.training.loop.SAVE_EVERY", -1.0)  # after every step
    taken = iter(range(10_000))
    loop(tmp_path / "cut", recipe(3), stop=lambda state: next(taken) == 13).fit()
    assert checkpoints.load(tmp_path / "cut", "last").state["progress"]["step"] == 5
    resumed = loop(tmp_path / "cut", recipe(3)).fit(resume=True)
    assert without_time(resumed) == without_time(expected)


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_what_is_kept_is_a_mixture_with_what_a_phase_began_with(tmp_path: Path, average: float) -> None:
    loop(tmp_path / "mixed", recipe(1, average=average, blend=0.25)).fit()
    loop(tmp_path / "plain", recipe(1, average=average)).fit()
    mixed, plain = (checkpoints.load(tmp_path / name, "best").model for name in ("mixed", "plain"))
    for name, first in Line().state_dict().items():
        torch.testing.assert_close(mixed[name], 0.25 * first + 0.75 * plain[name])
        assert not torch.equal(first, plain[name])
    last = [checkpoints.load(tmp_path / name, "last").model for name in ("mixed", "plain")]
    assert all(torch.equal(last[0][name], last[1][name]) for name in last[0])  # training itself is the same


def test_a_phase_starts_from_the_best_of_the_last(tmp_path: Path) -> None:
    states: list[tuple[int, int, Tensor]] = []
    run = loop(tmp_path, recipe(3, 2))

    def watch(state: State) -> bool:
        if state.step == 1 and state.epoch == 0 and state.phase == 1:
            states.append((state.phase, state.epoch, run.task.state_dict()["model.0.weight"].clone()))
        return False

    run.stop = watch
    monitor = Line()
    run.fit()
    assert run.task.begun == ["p0", "p1"]  # type: ignore[attr-defined]
    assert [record["phase"] for record in run.state.history] == [1, 1, 1, 2, 2]
    assert len(states) == 1
    assert not torch.equal(states[0][2], monitor.state_dict()["model.0.weight"])


def test_patience_ends_a_phase_early_and_stays_ended_when_resumed(tmp_path: Path) -> None:
    still = recipe(20, patience=3, rate=1e-12)  # nothing gets better
    history = loop(tmp_path, still).fit()
    assert 4 <= len(history) < 20
    assert without_time(loop(tmp_path, still).fit(resume=True)) == without_time(history)


def test_a_loss_that_is_no_number_stops_with_a_remedy(tmp_path: Path) -> None:
    run = loop(tmp_path, recipe(2))
    nn.init.constant_(run.task.model[0].weight, float("nan"))  # type: ignore[index]
    with pytest.raises(DivergedError, match=r"epoch 1, batch 1.*learning_rate"):
        run.fit()


def test_a_gradient_that_is_infinite_stops_although_the_loss_is_finite(tmp_path: Path) -> None:
    """Clipped, it would be nothing, and the run would go on without learning."""
    run = loop(tmp_path, recipe(2))
    run.task.model[3].weight.register_hook(lambda gradient: gradient * float("inf"))  # type: ignore[index]
    with pytest.raises(DivergedError, match="the gradient became inf in epoch 1, batch 1"):
        run.fit()


def test_a_run_that_is_over_is_not_trained_again(tmp_path: Path) -> None:
    history = loop(tmp_path, recipe(2)).fit()
    taken: list[int] = []
    again = loop(tmp_path, recipe(2), stop=lambda state: bool(taken.append(1))).fit(resume=True)
    assert without_time(again) == without_time(history)
    assert not taken


def test_learning_rate_schedules() -> None:
    phase = Phase(MaxOfHingesSettings(), 10, 0.1, schedule="cosine", warmup=0.1)
    assert rate_factor(phase, 0.05) == pytest.approx(0.5)
    assert rate_factor(phase, 0.1) == pytest.approx(1)
    assert rate_factor(phase, 0.55) == pytest.approx(0.505)
    assert rate_factor(phase, 1) == pytest.approx(0.01)
    assert rate_factor(Phase(MaxOfHingesSettings(), 10, 0.1), 0.7) == 1
