"""Usable cores, even samples, the bounded cache."""

import os
from itertools import pairwise

import pytest

from seetell.util import LruCache, evenly_spaced, sample_evenly, usable_cores


def test_cores_follow_affinity_and_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert usable_cores() == 4
    for written, cores in {"2": 2, "9": 4, "0": 4, "many": 4, "": 4}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", written)
        assert usable_cores() == cores


@pytest.mark.parametrize(("count", "limit"), [(10, 3), (10, 10), (7, 2), (1000, 13), (5, 4), (3, 9)])
def test_even_samples(count: int, limit: int) -> None:
    chosen = evenly_spaced(count, limit)
    assert len(chosen) == min(count, limit) == len(set(chosen))
    assert (chosen[0], chosen[-1]) == (0, count - 1)
    gaps = {later - earlier for earlier, later in pairwise(chosen)}
    assert max(gaps) - min(gaps) <= 1


def test_samples_at_the_ends() -> None:
    assert (evenly_spaced(5, 0), evenly_spaced(5, 1), evenly_spaced(0, 3), evenly_spaced(2, None)) == (
        [],
        [0],
        [],
        [0, 1],
    )
    assert sample_evenly("abcdefghi", 3) == ["a", "e", "i"]


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = LruCache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c"), len(cache)) == (1, None, 3, 2)
    cache.clear()
    assert len(cache) == 0
