"""Tuning: trials are counted over several calls, and the page says what mattered."""

from pathlib import Path

import optuna
import pytest

from seetell.learn.recipes import RecipeError
from seetell.learn.training import tune as module
from seetell.learn.training.tune import open_study, tune

SMALL = [
    "encoder.name=test_efficientnet@random",
    "model.word_dimensions=8",
    "phases.epochs=1",
    "phases.batch=16",
    'tune={"model.dimensions" = [8, 16], "phases.learning_rate" = {low = 0.001, high = 0.01, log = true}}',
]


def test_a_study_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[int, float]] = []
    real = module.train

    def watched(recipe, *arguments, **options):  # type: ignore[no-untyped-def]
        tried.append((recipe.model.dimensions, recipe.phases[0].learning_rate))
        return real(recipe, *arguments, **options)

    monkeypatch.setattr(module, "train", watched)
    for trials in (2, 5, 5):
        page = tune("fc7-sh", ["scenes:60"], tmp_path, trials=trials, settings=SMALL)
    assert len(tried) == 5
    assert {dimensions for dimensions, _ in tried} <= {8, 16}
    assert all(0.001 <= rate <= 0.01 for _, rate in tried)
    assert len(set(tried)) > 2
    text = page.read_text(encoding="utf-8")
    study = open_study(tmp_path, "fc7-sh")
    assert len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))) == 5
    assert f"The best validation score is {study.best_value:.2f}" in text
    assert "phases.learning_rate" in text
    assert (tmp_path / "tune.png").stat().st_size > 1000
    assert len(list((tmp_path / "trials").iterdir())) == 5


def test_a_recipe_without_a_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="nothing to tune"):
        tune("fc7-sh", ["scenes:60"], tmp_path, trials=1, settings=["tune={}"])
    with pytest.raises(RecipeError, match=r"model\.dimensions is 3"):
        tune("fc7-sh", ["scenes:60"], tmp_path, trials=1, settings=['tune={"model.dimensions" = 3}'])
