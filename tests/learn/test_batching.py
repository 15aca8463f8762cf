"""Batches: every sample comes when it should, and none twice."""

import time

import numpy as np
import pytest

from seetell.learn.training.batching import (
    Sequences,
    all_captions,
    chunks,
    length_buckets,
    one_caption,
    prefetch,
    together,
)


def test_sequences_pad_only_to_their_own_longest() -> None:
    sequences = Sequences([[5, 6], [7], [], [8, 9, 10, 11]])
    matrix, lengths = sequences.pad(np.array([1, 0]))
    assert matrix.tolist() == [[7, 0], [5, 6]]
    assert lengths.tolist() == [1, 2]
    matrix, lengths = sequences.pad(np.array([3, 2]), fill=-1)
    assert matrix.tolist() == [[8, 9, 10, 11], [-1, -1, -1, -1]]
    assert lengths.tolist() == [4, 0]
    assert sequences[3].tolist() == [8, 9, 10, 11]
    assert len(sequences) == 4


def test_one_caption_takes_each_image_once_and_in_time_every_caption() -> None:
    owners = np.repeat(np.arange(50), np.arange(50) % 5 + 1)  # one to five captions an image
    seen = set()
    for epoch in range(60):
        batches = one_caption(owners, 8, np.random.default_rng(epoch))
        taken = np.concatenate(batches)
        assert sorted(owners[taken]) == list(range(50))
        assert {len(batch) for batch in batches} <= {8, 2}
        seen |= set(taken.tolist())
    assert seen == set(range(len(owners)))


def test_one_caption_chooses_evenly() -> None:
    owners = np.zeros(4, dtype=int)
    chosen = [one_caption(owners, 2, np.random.default_rng(i))[0][0] for i in range(4000)]
    assert np.bincount(chosen) == pytest.approx([1000] * 4, rel=0.12)


def test_all_captions_takes_every_caption_once() -> None:
    owners = np.repeat(np.arange(10), 5)
    batches = all_captions(owners, 7, np.random.default_rng(0))
    assert sorted(np.concatenate(batches)) == list(range(50))
    assert [len(b) for b in batches] == [7] * 6 + [8]  # a last one of a single sample joins its neighbour


def test_together_keeps_an_images_captions_in_one_batch() -> None:
    owners = np.repeat(np.arange(40), np.arange(40) % 5 + 1)
    batches = together(owners, 12, np.random.default_rng(0))
    assert sorted(np.concatenate(batches)) == list(range(len(owners)))
    seen = [set(owners[batch]) for batch in batches]
    assert sum(map(len, seen)) == 40  # no image is in two
    assert {len(some) for some in seen} <= {4, 5}
    assert seen != [set(owners[batch]) for batch in together(owners, 12, np.random.default_rng(1))]


def test_chunks_of_nothing() -> None:
    assert chunks(np.arange(0), 4) == []


def test_length_buckets_mix_lengths_only_in_what_is_left_over() -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(5, 20, size=1000)
    batches = length_buckets(lengths, 16, random)
    assert sorted(np.concatenate(batches)) == list(range(1000))
    pure = [batch for batch in batches if len(set(lengths[batch])) == 1 and len(batch) == 16]
    assert len(pure) >= 45  # 15 lengths leave at most 15 × 15 samples over
    assert max(len(batch) for batch in batches) <= 17
    steps = sum(lengths[batch].max() * len(batch) for batch in batches)
    assert steps < 1.05 * lengths.sum()


def test_the_same_generator_gives_the_same_batches() -> None:
    lengths = np.arange(100) % 7
    first, second = (length_buckets(lengths, 8, np.random.default_rng(3)) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_prefetch_keeps_the_order_and_runs_ahead() -> None:
    made: list[int] = []

    def make(item: int) -> int:
        made.append(item)
        return item * item

    result = []
    for item, batch in prefetch(range(20), make):
        time.sleep(0.002)
        result.append((item, batch))
    assert result == [(i, i * i) for i in range(20)]


def test_prefetch_passes_an_error_on() -> None:
    with pytest.raises(ZeroDivisionError):
        list(prefetch([1, 0], lambda item: 1 // item))


def test_prefetch_stops_working_when_nobody_listens() -> None:
    made: list[int] = []
    stream = prefetch(range(10_000), made.append)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    count = len(made)
    time.sleep(0.05)
    assert len(made) == count < 20
