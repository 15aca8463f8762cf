from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sklearn.decomposition import PCA

from seetell.errors import SeetellError
from seetell.learn.encoders import FullNetworkTransform, Principal, Standardise


@pytest.fixture
def rows() -> np.ndarray:
    random = np.random.default_rng(0)
    return (random.normal(size=(57, 6)) * [1, 0.01, 30, 1, 2, 0] + [0, 5, -400, 1e-3, 7, 3]).astype(np.float16)


def batches(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def by_hand(rows: np.ndarray, seen: np.ndarray, high: float, low: float) -> list[list[int]]:
    """The embedding's definition, one value at a time."""
    result = []
    for row in rows.tolist():
        line = []
        for feature, value in enumerate(row):
            column = [float(other[feature]) for other in seen]
            mean = sum(column) / len(column)
            deviation = (sum((other - mean) ** 2 for other in column) / len(column)) ** 0.5
            z = (value - mean) / deviation if deviation > 1e-9 else 0.0
            line.append(1 if z > high else -1 if z < low else 0)
        result.append(line)
    return result


class TestStandardise:
    @pytest.mark.parametrize("size", [1, 10, 57])
    def test_is_the_same_however_the_rows_are_dealt(self, rows: np.ndarray, size: int) -> None:
        found = Standardise.fit(batches(rows, size))
        exact = rows.astype(np.float64)
        np.testing.assert_allclose(found.mean.numpy(), exact.mean(0), rtol=1e-6)
        np.testing.assert_allclose(1 / found.scale.numpy()[:5], exact.std(0)[:5], rtol=1e-6)

    def test_survives_a_mean_far_larger_than_the_deviation(self) -> None:
        column = np.array([[1e6 - 1], [1e6 + 1]] * 50, np.float32)  # summing squares in 32 bits would give 0
        assert Standardise.fit(batches(column, 7)).scale.item() == pytest.approx(1)

    def test_what_never_varied_is_nothing_special(self, rows: np.ndarray) -> None:
        transform = Standardise.fit([rows])
        assert transform.scale[5] == 0
        assert transform(torch.tensor([[0.0] * 5 + [1e9]]))[0, 5] == 0

    def test_torch_and_numpy_agree_to_the_last_bit(self, rows: np.ndarray) -> None:
        transform = Standardise.fit([rows])
        found = transform.apply_to(rows)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, transform(torch.from_numpy(rows).float()).numpy())

    def test_nothing_to_fit_on_is_said(self) -> None:
        with pytest.raises(SeetellError, match="no rows"):
            Standardise.fit([np.zeros((0, 3))])
        with pytest.raises(SeetellError, match="not finite"):
            Standardise.fit([np.array([[1.0, np.inf], [1.0, 2.0]])])


class TestFullNetwork:
    @pytest.mark.parametrize(("high", "low"), [(0.15, -0.25), (1.0, -0.5)])
    def test_is_its_definition(self, rows: np.ndarray, high: float, low: float) -> None:
        seen, unseen = rows[:40], rows[40:]
        transform = FullNetworkTransform.fit(batches(seen, 16), high=high, low=low)
        expected = by_hand(unseen, seen, high, low)
        assert {-1, 0, 1} == {value for line in expected for value in line}
        assert transform.apply_to(unseen).tolist() == expected
        assert transform(torch.from_numpy(unseen).float()).tolist() == expected

    def test_has_the_published_thresholds(self) -> None:
        transform = FullNetworkTransform(3)
        assert transform.high.item() == pytest.approx(0.15)
        assert transform.low.item() == pytest.approx(-0.25)
        assert transform(torch.tensor([0.1501, 0.1499, -0.2499])).tolist() == [1, 0, 0]
        assert transform(torch.tensor([-0.2501, 0.0, 9.0])).tolist() == [-1, 0, 1]

    def test_travels_as_safetensors(self, rows: np.ndarray, tmp_path: Path) -> None:
        fitted = FullNetworkTransform.fit([rows], high=0.3)
        save_file(fitted.state_dict(), tmp_path / "transform.safetensors")
        again = FullNetworkTransform(6)
        again.load_state_dict(load_file(tmp_path / "transform.safetensors"))
        np.testing.assert_array_equal(again.apply_to(rows), fitted.apply_to(rows))

    def test_thresholds_the_wrong_way_round_are_refused(self) -> None:
        with pytest.raises(SeetellError, match="must be below"):
            FullNetworkTransform(3, high=-1, low=1)


class TestPrincipal:
    @pytest.fixture
    def many(self) -> np.ndarray:
        random = np.random.default_rng(1)
        return (
            random.normal(size=(40, 5)) @ random.normal(size=(5, 60)) + random.normal(size=(40, 60)) / 3 + 2
        ).astype(np.float32)

    def test_is_scikit_learns_pca_of_standardised_rows(self, many: np.ndarray) -> None:
        found = Principal.fit(batches(many, 7), components=6)(torch.from_numpy(many)).numpy()
        z = (many - many.mean(0)) / many.std(0)
        expected = PCA(6, svd_solver="full").fit_transform(z)
        expected *= 6**0.5 / np.linalg.norm(expected, axis=1, keepdims=True)
        sign = np.sign((found * expected).sum(0))
        np.testing.assert_allclose(found * sign, expected, atol=1e-3)

    def test_the_last_features_are_kept_beside(self, many: np.ndarray) -> None:
        transform = Principal.fit([many], components=6, keep=10)
        found = transform(torch.from_numpy(many)).numpy()
        assert found.shape == (40, 16) == (40, transform.width)
        last = many[:, -10:]
        np.testing.assert_allclose(found[:, 6:], last * 8**0.5 / np.linalg.norm(last, axis=1, keepdims=True), rtol=1e-5)
        np.testing.assert_array_equal(transform.apply_to(many), found)

    def test_one_far_value_does_not_decide(self, many: np.ndarray) -> None:
        transform = Principal.fit([many], components=6)
        wild = many[:1].copy()
        wild[0, 3] = 1e6
        held = many[:1].copy()
        held[0, 3] = many[:, 3].mean() + 5 * many[:, 3].std()
        np.testing.assert_allclose(transform.apply_to(wild), transform.apply_to(held), rtol=1e-3, atol=1e-4)

    def test_what_cannot_be_is_said(self, many: np.ndarray) -> None:
        with pytest.raises(SeetellError, match="40 rows of 60 features have no 41 principal components"):
            Principal.fit([many], components=41)
        with pytest.raises(SeetellError, match="61 features cannot be kept of 60"):
            Principal(60, keep=61)
