"""Taggers without a sequence."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from seetell.learn.models import ModelInputs, build
from seetell.learn.models.classifier import GridClassifier
from seetell.learn.recipes import read_model_settings

FEATURES, PLACES, LABELS = 6, 9, 4


def make(kind: str, seed: int = 0, **more: object) -> nn.Module:
    torch.manual_seed(seed)
    return build(read_model_settings({"kind": kind, **more}), ModelInputs(features=FEATURES, labels=LABELS)).eval()


def images(kind: str, count: int = 5) -> torch.Tensor:
    shape = (count, FEATURES) if kind == "classifier" else (count, PLACES, FEATURES)
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def test_residual_attention_written_out() -> None:
    model = make("grid_classifier", temperatures=[1.0, 4.0], weight=0.3, hidden=7)
    features = images("grid_classifier")
    with torch.no_grad():
        z = model.hidden(features).double().numpy()
        logits, looks = model(features).numpy(), model.attention(features).numpy()
    for image in range(5):
        for label in range(LABELS):
            total, attention = 0.0, np.zeros(PLACES)
            for head, temperature in zip(model.heads, (1.0, 4.0), strict=True):
                w, b = head.weight[label].detach().double().numpy(), head.bias[label].item()
                s = [float(w @ z[image, place]) + b for place in range(PLACES)]
                a = np.exp(temperature * np.array(s))
                a /= a.sum()
                total += np.mean(s) + 0.3 * sum(a * s)
                attention += a / 2
            assert logits[image, label] == pytest.approx(total, abs=1e-5)
            np.testing.assert_allclose(looks[image, :, label], attention, atol=1e-6)


def test_temperatures_lead_from_the_mean_to_the_maximum() -> None:
    features = images("grid_classifier")

    def logits(temperature: float) -> torch.Tensor:
        model = make("grid_classifier", temperatures=[temperature], weight=1.0)
        assert isinstance(model, GridClassifier)
        scores = model.heads[0](features)
        return model(features) - scores.mean(1), scores

    mean, scores = logits(0.0)
    torch.testing.assert_close(mean, scores.mean(1))
    most, scores = logits(1e4)
    torch.testing.assert_close(most, scores.amax(1))
    torch.testing.assert_close(make("grid_classifier")(features[:, [0]]), make("grid_classifier")(features[:, [0] * 9]))


def test_order_of_places_does_not_count() -> None:
    model, features = make("grid_classifier", hidden=5), images("grid_classifier")
    torch.testing.assert_close(model(features), model(features.flip(1)))


def test_windows_are_means_of_neighbouring_places() -> None:
    """Of 5 × 5 places, windows of 3 × 3 begin at rows and columns 0 and 2."""
    grid = torch.randn(2, 25, FEATURES, generator=torch.Generator().manual_seed(3))
    rows = grid.unflatten(1, (5, 5))
    means = [rows[:, y : y + 3, x : x + 3].mean((1, 2)) for y in (0, 2) for x in (0, 2)]
    plain, windowed = make("grid_classifier"), make("grid_classifier", window=3)
    torch.testing.assert_close(windowed(grid), plain(torch.stack(means, dim=1)))


def test_dropout_takes_a_feature_from_all_places() -> None:
    model = make("grid_classifier", dropout=0.5).train()
    torch.manual_seed(4)
    kept = model._drop(torch.ones(3, PLACES, 200), 0.5)
    assert (kept == kept[:, :1]).all()
    assert set(kept.unique().tolist()) == {0.0, 2.0}
    assert 0.35 < float((kept > 0).float().mean()) < 0.65
    assert torch.equal(model.eval()._drop(kept, 0.5), kept)


@pytest.mark.parametrize("kind", ["classifier", "grid_classifier"])
def test_a_handful_is_learned_by_heart(kind: str, tmp_path: Path) -> None:
    model, features = make(kind, dropout=0.0).train(), images(kind)
    targets = torch.randint(0, 2, (5, LABELS), generator=torch.Generator().manual_seed(1)).float()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(150):
        loss = binary_cross_entropy_with_logits(model(features), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    assert torch.equal((model(features) > 0).float(), targets)
    save_file(dict(model.state_dict()), tmp_path / "model.safetensors")
    other = make(kind, seed=4)
    assert not torch.equal(other(features), model(features))
    other.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(other(features), model(features))


def test_the_baseline_is_a_linear_layer() -> None:
    model, features = make("classifier", dropout=0.5), images("classifier")
    assert sum(p.numel() for p in model.parameters()) == (FEATURES + 1) * LABELS
    assert not model.output.bias.any()
    torch.testing.assert_close(model(features), features @ model.output.weight.T)
    model.train()
    assert not torch.equal(model(features), model(features))
