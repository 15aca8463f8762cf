"""The collapse detector against the losses themselves, guessing, and made-up histories."""

import random
from typing import Any

import pytest
import torch

from seetell.learn.losses import make_loss
from seetell.learn.losses.collapse import CollapseDetector, guessed_recalls, loss_of_equal_scores, started_above
from seetell.learn.recipes import read_loss_settings
from seetell.learn.recipes.loss_settings import SumOfHingesSettings

MAX = {"kind": "max", "margin": 0.2}
TRIPLET = {"kind": "triplet", "margin": 0.1, "lambda": 0.1}


@pytest.mark.parametrize("batch", [1, 2, 16])
@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "sum", "margin": 0.2},
        {"kind": "sum"},
        {"kind": "sum", "margin": 0.2, "reduction": "mean"},
        MAX,
        {"kind": "max", "margin": 0.05, "reduction": "mean_nonzero"},
        TRIPLET,
        {"kind": "triplet"},
        {**TRIPLET, "selection": "k_hardest", "k": 10},
        {**TRIPLET, "selection": "k_hardest"},
        {**TRIPLET, "selection": "hard_and_semi_hard"},
        {**TRIPLET, "selection": "semi_hard", "reduction": "sum"},
        {**TRIPLET, "selection": "hard"},
        {**TRIPLET, "selection": "hardest_anchor"},
        {"kind": "contrastive"},
    ],
    ids=str,
)
def test_loss_of_equal_scores_is_what_the_loss_says(settings: dict[str, Any], batch: int) -> None:
    chosen = read_loss_settings(settings)
    measured = make_loss(chosen)(torch.full((batch, batch), 0.37), torch.eye(batch)).item()
    assert loss_of_equal_scores(chosen, batch) == pytest.approx(measured, rel=1e-6, abs=1e-6)


def test_guessed_recalls_are_those_of_random_rankings() -> None:
    images, each, found, trials = 12, 3, 0, 4000
    chance = random.Random(0)
    for _ in range(trials):
        ranks_of_captions = chance.sample(range(images * each), each)
        rank_of_image = chance.randrange(images)
        found += sum(min(ranks_of_captions) < k for k in (1, 5, 10)) + sum(rank_of_image < k for k in (1, 5, 10))
    assert guessed_recalls(images, images * each) == pytest.approx(100 * found / trials, rel=0.02)


def test_where_learning_starts() -> None:
    assert guessed_recalls(1000, 5000) == pytest.approx(3.2, abs=0.01)
    assert started_above(1000, 5000) == pytest.approx(10, rel=0.01)
    assert started_above(5000, 25000) == 10
    assert started_above(200, 1000) > guessed_recalls(200, 1000) > 10  # ten would be reached by guessing
    assert 600 > started_above(10, 50) > guessed_recalls(10, 50)


def history(*figures: tuple[float, float]) -> list[dict[str, Any]]:
    return [{"epoch": epoch, "loss": loss, "score": score} for epoch, (loss, score) in enumerate(figures, start=1)]


def test_a_run_stuck_at_the_margin_is_named_with_what_to_try() -> None:
    detector = CollapseDetector(read_loss_settings(MAX), batch=128, signed=True)
    run = history((60.0, 3.0), (51.3, 3.1), (51.25, 3.2))
    assert detector.advice(run[:2]) == ""
    words = detector.advice(run)
    assert "After epoch 3 the sum of recalls is 3.2" in words
    assert "51.25, is stuck" in words
    assert "not started to learn" in words
    for remedy in ('kind = "sum"', "lower learning rate", "model.absolute = true"):
        assert remedy in words
    assert "larger batch" not in words


def test_advice_fits_the_run() -> None:
    run = history((0.0, 3.0), (0.0, 3.0), (25.6, 3.0))
    words = CollapseDetector(SumOfHingesSettings(margin=0.2), batch=8).advice(run)
    assert "curriculum" not in words
    assert "absolute" not in words
    assert "larger batch" in words
    assert "not that of equal scores, 22.4" in words


def test_a_run_that_learns_hears_nothing() -> None:
    detector = CollapseDetector(read_loss_settings(MAX), batch=128)
    run = history((51.2, 3.0), (50.0, 12.0), (30.0, 90.0), (20.0, 150.0))
    assert [detector.advice(run[:n]) for n in range(5)] == [""] * 5
    assert detector.started(run) == 2
    assert not detector.failed(run)


def test_a_word_now_and_then_until_the_run_has_failed() -> None:
    detector = CollapseDetector(read_loss_settings(MAX), batch=128)
    run = history(*[(51.2, 3.0)] * 35)
    assert [n for n in range(1, 36) if detector.advice(run[:n])] == [3, 10, 20, 30]
    assert not detector.failed(run[:29])
    assert "failed to start" in detector.advice(run[:30])
    assert detector.failed(run)
    late = [*run[:30], {"epoch": 31, "loss": 40.0, "score": 20.0}]
    assert detector.failed(late)  # a start after that is too late to count


def test_a_run_that_loses_what_it_had_learned_is_named_at_once_and_once() -> None:
    detector = CollapseDetector(read_loss_settings(MAX), batch=128)
    run = history((50.0, 20.0), (51.2, 3.0), (51.2, 3.0))
    assert "has collapsed" in detector.advice(run[:2])
    assert detector.advice(run) == ""


def test_two_per_cent_either_way() -> None:
    detector = CollapseDetector(read_loss_settings(MAX), batch=10)  # equal scores: 4.0
    stuck = [detector.stuck({"loss": loss}) for loss in (3.9, 3.93, 4.0, 4.07, 4.1)]
    assert stuck == [False, True, True, True, False]
    assert not CollapseDetector(read_loss_settings({**TRIPLET, "selection": "hard"}), batch=10).stuck({"loss": 0.0})


def test_a_small_last_batch_is_reckoned_with() -> None:
    """1,600 samples are twelve batches of 128 and one of 64, whose sum of hinges is a quarter as large."""
    settings = SumOfHingesSettings(margin=0.2)
    measured, loss = 0.0, make_loss(settings)
    for size in [128] * 12 + [64]:
        measured += size * loss(torch.zeros(size, size), torch.eye(size)).item() / 1600
    detector = CollapseDetector(settings, batch=128)
    assert detector.stuck({"loss": measured, "samples": 1600})
    assert not detector.stuck({"loss": measured})
