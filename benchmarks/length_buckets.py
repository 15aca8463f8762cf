"""Words trained per second, by the composition of batches: captions of one length, of all lengths, or of a few images.

    python benchmarks/length_buckets.py [--data scenes:1000] [--recipe attend-soft] [--batches 12] [--repetitions 3]

Xu et al. (section 4.3) fill batches with captions of one length, because a program that pads a batch reads every
caption to the end of the longest. That program is the peer here: batches of all lengths whose longest captions do not
come first, so that the model reads padding like words. Ours puts the longest first and reads none, whatever a batch
holds. The fourth way, the recipes' budget, takes all captions of as many images as give 80: each grid is mapped once.

One model trains on some batches of each way in turn, so that whatever else the machine does meets all. That padding
does not change the loss is asserted first.
"""

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from msgspec.structs import replace
from torch import Tensor

from seetell.learn.recipes import load_recipe
from seetell.learn.tasks.captioning.task import CaptionTask, setup
from seetell.learn.training.data import TrainingData
from seetell.learn.training.features import make_features, open_data
from seetell.progress import for_terminal

CAPTIONS = 80  # a batch
WAYS = {  # what the way is called: `training.captions`, and whether padding is read
    "all lengths, padded": ("mixed", True),
    "all lengths": ("mixed", False),
    "one length": ("all", False),
    "of some images": ("images", False),
}
PEER = "all lengths, padded"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="scenes:1000")
    parser.add_argument("--recipe", default="attend-soft")
    parser.add_argument("--batches", type=int, default=12, help="of each way in a repetition")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()

    kind = arguments.data.partition(":")[0]
    recipe = load_recipe(arguments.recipe, dataset=kind, settings=[f"phases.batch={CAPTIONS}"])
    dataset = open_data([arguments.data])
    features = make_features(recipe, dataset, ("train", "val"), progress=for_terminal())
    torch.manual_seed(1)
    task = cast(CaptionTask, setup(TrainingData(recipe, dataset, features)).task)
    task.begin(recipe.phases[0])
    optimiser = torch.optim.Adam(task.model.parameters(), lr=1e-4)
    words = task.train_data.captions.lengths - 1  # to predict
    print(
        f"{arguments.data}: {len(words):,} captions of {words.mean():.1f} words, {words.max()} at most\n"
        f"{arguments.recipe}, batches of {CAPTIONS}; {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}"
    )
    check(task)
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    steps: dict[str, list[float]] = {way: [] for way in WAYS}
    random = np.random.default_rng(1)
    for _ in range(arguments.repetitions):
        for way in WAYS:
            batches = some(task, way, arguments.batches, random)
            targets = [tokens[:, 1:] for tokens, *_ in batches]
            count = sum(int((each != 0).sum()) for each in targets)
            began = time.process_time()
            for batch in batches:
                train(task, optimiser, batch)
            rates[way].append(count / (time.process_time() - began))
            steps[way].append(sum(each.numel() for each in targets) / count if WAYS[way][1] else 1.0)
    for way in WAYS:
        ratio = statistics.median(one / peer for one, peer in zip(rates[way], rates[PEER], strict=True))
        print(
            f"{way:>20}: {statistics.median(rates[way]):,.0f} words per second of processor time, "
            f"{statistics.mean(steps[way]):.2f} steps a word, {ratio:.2f} times {PEER!r}"
        )
    print(f"load {os.getloadavg()[0]:.1f}")


def some(task: CaptionTask, way: str, count: int, random: np.random.Generator) -> list[tuple[Tensor, ...]]:
    """Batches of a way, ready to train on."""
    captions, padded = WAYS[way]
    recipe = task.recipe
    task.recipe = replace(recipe, training=replace(recipe.training, captions=captions))
    size = CAPTIONS
    if captions == "images":
        size = max(2, round(CAPTIONS * len(task.train_data.references) / len(task.train_data.captions)))
    plan = task.plan(replace(recipe.phases[0], batch=size), random)[:count]
    task.recipe = recipe
    batches = [task.collate(each, random) for each in plan]
    return [shortest_first(batch) for batch in batches] if padded else batches


def shortest_first(batch: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The same captions in an order in which padding is read."""
    tokens, features, rows, *rest = batch
    return tokens.flip(0), features, rows.flip(0), *rest


def train(task: CaptionTask, optimiser: torch.optim.Optimizer, batch: Sequence[Tensor]) -> None:
    task.train()
    loss, _ = task(batch)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


@torch.no_grad()
def check(task: CaptionTask) -> None:
    """Whether padding is read or not, the loss is the same."""
    task.eval()
    batch = some(task, "all lengths", 1, np.random.default_rng(0))[0]
    torch.testing.assert_close(task(batch)[0], task(shortest_first(batch))[0], rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    main()
