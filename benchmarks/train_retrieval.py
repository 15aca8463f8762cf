"""Samples per second of one visual-semantic model: ours compared with a plain PyTorch loop, training and evaluation.

    python benchmarks/train_retrieval.py [--data scenes:1000] [--recipe fc7-mh] [--repetitions 3] [--set key=value]

The plain loop is what one writes first: a `Dataset` and a `DataLoader`, every caption padded to the longest of the
dataset, each batch prepared when the last is done, captions embedded in the order they come in, and a ranking with a
Python loop over queries. Ours is the loop, the task and the metrics of the package: batches prepared ahead in a thread,
captions packed, embedded by length, all ranks from blocks of scores.

Both train copies of one model on the same batches, an epoch each in turn, so that whatever else the machine does meets
both. That they compute the same is asserted first: loss and gradient of a batch, embeddings, recalls. Evaluation is of
the training split's first images, 1,000 at most, as many as the published test splits have.

Both run the same products of matrices a word: training and embedding can gain little more than the longest caption is
longer than the mean. Ranking has no such bound.
"""

import argparse
import copy
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.utils.data import DataLoader, Dataset

from seetell.learn.models.visual_semantic import VisualSemantic
from seetell.learn.recipes import Recipe, load_recipe
from seetell.learn.recipes.loss_settings import MaxOfHingesSettings
from seetell.learn.tasks.retrieval.data import PairedImages, embed_images, embed_texts
from seetell.learn.tasks.retrieval.task import RetrievalTask, setup
from seetell.learn.training.batching import Sequences
from seetell.learn.training.data import TrainingData
from seetell.learn.training.features import make_features, open_data
from seetell.learn.training.inputs import in_batches
from seetell.learn.training.loop import Loop, State
from seetell.learn.training.train import make_fabric
from seetell.metrics import retrieval_scores
from seetell.progress import for_terminal

IMAGES = 1000
# One caption per image puts the positives on the diagonal, as the plain loss assumes; dropout would make losses
# differ randomly.
ALIKE = ["training.captions=one", "model.text_dropout=0.0", "model.image_dropout=0.0", "phases.epochs=1"]


class Seconds(NamedTuple):
    """Time that passed, and time that the process computed: on a busy machine the second is the steadier."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> "Seconds":
        return cls(time.perf_counter(), time.process_time())

    def since(self, start: "Seconds") -> "Seconds":
        return Seconds(self.wall - start.wall, self.processor - start.processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="scenes:1000")
    parser.add_argument("--recipe", default="fc7-mh", help="one of cosine similarity and the maximum of hinges")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()

    recipe = load_recipe(arguments.recipe, settings=[*arguments.settings, *ALIKE])
    dataset = open_data([arguments.data])
    features = make_features(recipe, dataset, ("train", "val"), progress=for_terminal())
    torch.manual_seed(1)
    task = cast(RetrievalTask, setup(TrainingData(recipe, dataset, features)).task)
    plain = Plain(copy.deepcopy(cast(VisualSemantic, task.model)), task.train_data, recipe)
    few = first_images(task.train_data, IMAGES)
    lengths = task.train_data.captions.lengths
    print(
        f"{arguments.data}: {len(task.train_data.images):,} images to train on, {len(few.images):,} to evaluate; "
        f"captions of {lengths.mean():.1f} words, {lengths.max()} at most\n"
        f"{arguments.recipe} of {task.retriever.dimensions} dimensions, batches of {recipe.phases[0].batch}; "
        f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}"
    )
    check(task, plain, few, recipe)
    seconds: dict[str, dict[str, list[Seconds]]] = {"ours": {}, "plain": {}}
    for _ in range(arguments.repetitions):
        for name, measured in (("ours", ours(task, recipe, few)), ("plain", plainly(plain, few))):
            for what, spent in measured.items():
                seconds[name].setdefault(what, []).append(spent)
    queries = len(few.images) + len(few.captions)
    report("training", len(task.train_data.images), seconds, ["training"])
    report("evaluation", queries, seconds, ["embedding", "ranking"])
    report("  its embedding", queries, seconds, ["embedding"])
    report("  its ranking", queries, seconds, ["ranking"])
    print(f"load {os.getloadavg()[0]:.1f}")


def report(title: str, samples: int, seconds: dict[str, dict[str, list[Seconds]]], parts: list[str]) -> None:
    """Samples per second of wall-clock and processor time, the median of the repetitions."""
    line = f"{title:>16}:"
    for clock in ("wall", "processor"):
        rates = {
            name: samples / statistics.median(sum(getattr(s, clock) for s in some) for some in zip(*found, strict=True))
            for name, found in ((name, [spent[part] for part in parts]) for name, spent in seconds.items())
        }
        ratio = rates["ours"] / rates["plain"]
        line += f"  {clock}: ours {rates['ours']:,.0f}/s, plain {rates['plain']:,.0f}/s, ratio {ratio:.1f};"
    print(line.removesuffix(";"))


def ours(task: RetrievalTask, recipe: Recipe, few: PairedImages) -> dict[str, Seconds]:
    """An epoch of training by the loop, and an evaluation."""
    steps = [Seconds.now()]

    def note(state: State) -> bool:
        steps.append(Seconds.now())
        return False

    with tempfile.TemporaryDirectory() as folder:
        Loop(task, recipe, Path(folder), make_fabric("cpu", "32-true"), stop=note).fit()
    task.eval()
    start = Seconds.now()
    images, texts = embed_images(task.retriever, few.images), embed_texts(task.retriever, few.captions)
    embedded = Seconds.now()
    retrieval_scores(images, texts, few.owners)
    return {
        "training": steps[-1].since(steps[0]),
        "embedding": embedded.since(start),
        "ranking": Seconds.now().since(embedded),
    }


def plainly(plain: "Plain", few: PairedImages) -> dict[str, Seconds]:
    """The same by the plain loop."""
    start = Seconds.now()
    plain.epoch(np.random.default_rng((1, 0, 0)))  # as the loop seeds its first epoch
    trained = Seconds.now()
    images, texts = plain.embed(few)
    embedded = Seconds.now()
    recalls_in_a_loop(images, texts, few.owners)
    return {
        "training": trained.since(start),
        "embedding": embedded.since(trained),
        "ranking": Seconds.now().since(embedded),
    }


class Captions(Dataset[tuple[Tensor, Tensor, int]]):
    """An image's features, a caption padded to the longest of all, and its length."""

    def __init__(self, data: PairedImages) -> None:
        self.features = data.images.batch(np.arange(len(data.images)))
        self.owners = data.owners
        self.lengths = data.captions.lengths
        longest = int(self.lengths.max())
        captions = [data.captions[number] for number in range(len(data.captions))]
        self.captions = [torch.tensor([*words, *[0] * (longest - len(words))]) for words in captions]

    def __len__(self) -> int:
        return len(self.captions)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor, int]:
        return self.features[self.owners[index]], self.captions[index], int(self.lengths[index])


class Plain:
    """The same model, trained and evaluated in the way that one writes first."""

    def __init__(self, model: VisualSemantic, data: PairedImages, recipe: Recipe) -> None:
        self.model, self.data, self.phase = model, Captions(data), recipe.phases[0]
        assert isinstance(self.phase.loss, MaxOfHingesSettings)
        self.margin = self.phase.loss.margin
        self.clip = recipe.training.clip
        self.optimiser = torch.optim.Adam(model.parameters(), lr=self.phase.learning_rate)

    def epoch(self, random: np.random.Generator) -> None:
        """Train on one caption of each image, chosen as `one_caption` does."""
        order = random.permutation(len(self.data))
        _, first = np.unique(self.data.owners[order], return_index=True)
        chosen = random.permutation(order[first])
        self.model.train()
        for features, tokens, lengths in DataLoader(self.data, self.phase.batch, sampler=chosen.tolist()):
            loss = self.loss(features, tokens, lengths)
            self.optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimiser.step()

    def loss(self, features: Tensor, tokens: Tensor, lengths: Tensor) -> Tensor:
        """The maximum of hinges, images and captions in the same order."""
        scores = self.images(features) @ self.texts(tokens, lengths).T
        right = scores.diag().view(-1, 1)
        diagonal = torch.eye(len(scores), dtype=torch.bool)
        margin = self.margin
        to_text = (margin + scores - right).clamp(min=0).masked_fill(diagonal, 0)
        to_image = (margin + scores - right.T).clamp(min=0).masked_fill(diagonal, 0)
        return to_text.max(1).values.sum() + to_image.max(0).values.sum()

    def images(self, features: Tensor) -> Tensor:
        return normalize(self.model.map(self.model.transform(features)), dim=1)

    def texts(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        states, _ = self.model.recurrent(self.model.words(tokens))
        return normalize(states[torch.arange(len(tokens)), lengths - 1], dim=1)

    def embed(self, few: PairedImages) -> tuple[np.ndarray, np.ndarray]:
        self.model.eval()
        data = Captions(few)
        with torch.no_grad():
            images = [self.images(data.features[some]) for some in in_batches(len(data.features), 128)]
            texts = [self.texts(tokens, lengths) for _, tokens, lengths in DataLoader(data, 128)]
        return torch.cat(images).numpy(), torch.cat(texts).numpy()


def recalls_in_a_loop(images: np.ndarray, texts: np.ndarray, owners: np.ndarray) -> float:
    """The sum of recalls, a query at a time."""
    to_text, to_image = [], []
    for row in range(len(images)):
        order = np.argsort(-(texts @ images[row]))
        to_text.append(min(np.flatnonzero(order == own)[0] for own in np.flatnonzero(owners == row)))
    for row in range(len(texts)):
        order = np.argsort(-(images @ texts[row]))
        to_image.append(np.flatnonzero(order == owners[row])[0])
    return sum(100 * float(np.mean(np.array(ranks) < k)) for ranks in (to_text, to_image) for k in (1, 5, 10))


def first_images(data: PairedImages, count: int) -> PairedImages:
    chosen = np.flatnonzero(data.owners < count)
    return PairedImages(
        First(data.images, count),
        Sequences(data.captions[row].tolist() for row in chosen.tolist()),
        data.owners[chosen],
    )


class First:
    """The first of some image inputs."""

    def __init__(self, inputs: Any, count: int) -> None:
        self.inputs, self.count = inputs, min(count, len(inputs))

    def __len__(self) -> int:
        return self.count

    def batch(self, indices: np.ndarray, random: np.random.Generator | None = None) -> Tensor:
        features: Tensor = self.inputs.batch(indices, random)
        return features


def check(task: RetrievalTask, plain: Plain, few: PairedImages, recipe: Recipe) -> None:
    """Both compute the same: the loss and gradient of a batch, embeddings and recalls."""
    task.begin(recipe.phases[0])
    batch = task.plan(recipe.phases[0], np.random.default_rng(0))[0]
    task.train()
    our_loss, _ = task(task.collate(batch, np.random.default_rng(0)))
    plain_loss = plain.loss(*next(iter(DataLoader(plain.data, len(batch), sampler=batch.tolist()))))
    torch.testing.assert_close(our_loss, plain_loss, rtol=1e-4, atol=1e-4)
    torch.autograd.backward([our_loss, plain_loss])
    for (name, mine), (_, theirs) in zip(task.model.named_parameters(), plain.model.named_parameters(), strict=True):
        assert mine.grad is not None, name
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-3, atol=1e-4)
    task.zero_grad(set_to_none=True)
    plain.model.zero_grad(set_to_none=True)
    task.eval()
    images, texts = embed_images(task.retriever, few.images), embed_texts(task.retriever, few.captions)
    for ours_, theirs_ in zip((images, texts), plain.embed(few), strict=True):
        np.testing.assert_allclose(ours_, theirs_, atol=1e-5)
    scores = retrieval_scores(images, texts, few.owners)
    np.testing.assert_allclose(scores.sum_of_recalls, recalls_in_a_loop(images, texts, few.owners), atol=0.5)


if __name__ == "__main__":
    main()
