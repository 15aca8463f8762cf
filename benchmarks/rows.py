"""The cost of the rows of tables: training time in seconds of one core, and images captioned per second.

    python benchmarks/rows.py vilalta-table2 kolluru-table1 xu-table1 vaishali --data flickr8k:PATH \\
        --with vgg16=FILE --with vectors300=FILE --out docs/results/rows/costs.json
    python benchmarks/rows.py ren-table3 --data 'table:FILE?images=DIR' --dataset coco \\
        --out docs/results/rows/costs.json

Records contain training times of different, shared machines. Here every row trains for a few batches of each phase with
its own recipe; all rows take turns, so that other load affects all, and processor time is measured. The time of a phase
is that of a batch times their number. Validation is not included, and features are stored beforehand. Captioners
generate captions of ten words, the length of trained ones, with random weights, also in phases that reward captions.
The reference is the row of each table that is cheapest to train.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import structs

from seetell.data import Dataset
from seetell.decoding import Rules, beam_search, greedy
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import Phase, Recipe, load_recipe
from seetell.learn.recipes.loss_settings import CrossEntropySettings
from seetell.learn.reproduction.baseline_rows import NEIGHBOURS
from seetell.learn.reproduction.baselines import ConsensusCaptioner
from seetell.learn.reproduction.costs import Cost, write_costs
from seetell.learn.reproduction.records import stem
from seetell.learn.reproduction.reproduce import given_files
from seetell.learn.reproduction.rows import with_test_settings
from seetell.learn.reproduction.tables import PublishedTable, Row, label, table
from seetell.learn.tasks import TASKS
from seetell.learn.tasks.captioning.decode import decoding_of
from seetell.learn.tasks.captioning.decode import rules as rules_of
from seetell.learn.tasks.captioning.self_critical import SelfCriticalObjective
from seetell.learn.tasks.captioning.task import CaptionTask
from seetell.learn.training.data import TrainingData, captioned
from seetell.learn.training.features import SPLITS, make_features, open_data
from seetell.learn.training.loop import make_optimiser
from seetell.learn.training.task import Task
from seetell.progress import for_terminal
from seetell.text import ptb

WORDS = 10  # of a generated caption
IMAGES = 32  # per batch


@dataclass
class Turns:
    """A row's task, and the processor seconds of its turns."""

    row: Row
    recipe: Recipe
    task: Task
    steps: list[int]  # an epoch of each phase
    batches: list[list[float]]  # of each phase, seconds a batch in each turn
    size: float = 0.0  # samples in a batch of the first phase
    decoding: list[float] = field(default_factory=list)  # seconds per image in each turn

    @property
    def cost(self) -> Cost:
        captions = round(1 / statistics.median(self.decoding), 1) if self.decoding else 0.0
        if self.row.tests:
            return Cost(0.0, 0.0, captions)
        batches = [statistics.median(turns) for turns in self.batches]
        phases = zip(batches, self.steps, self.recipe.phases, strict=True)
        seconds = sum(batch * steps * phase.epochs for batch, steps, phase in phases)
        return Cost(round(seconds, 1), round(self.size / batches[0], 1), captions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--data", action="append", required=True)
    parser.add_argument("--dataset", default="", help="the name of the data, if --data does not show it")
    parser.add_argument("--rows", default="", help="only these, separated by commas")
    parser.add_argument("--with", dest="files", action="append", default=[], help="vgg16=FILE, vectors300=FILE")
    parser.add_argument("--batches", type=int, default=4, help="of each phase in a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--out", type=Path, help="a file of costs to add to")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    kind = arguments.dataset or arguments.data[0].partition(":")[0]
    tables, files = [table(name) for name in arguments.tables], given_files(arguments.files)
    dataset, rows = open_data(arguments.data), list(chosen_rows(tables, arguments.rows, files))
    everyone, costs = [], dict[str, Cost]()
    for found, row in rows:
        if row.untrained:
            costs[row.name] = Cost(0.0, 0.0, round(1 / seconds_retrieving(dataset, kind), 1))
        else:
            everyone.append(prepared(row, recipe_of(found, row, kind, files), dataset))
        print(f"ready: {row.name}", flush=True)
    for _ in range(arguments.turns):
        for each in everyone:
            take_turn(each, arguments.batches)
    costs |= {each.row.name: each.cost for each in everyone}
    for found in tables:
        report(found, costs)
    if arguments.out:
        write_costs(arguments.out, {stem(name, kind): cost for name, cost in costs.items()})


def chosen_rows(
    tables: Sequence[PublishedTable], names: str, files: dict[str, str]
) -> Iterator[tuple[PublishedTable, Row]]:
    """The rows that train, test what another trained, or look captions up, each once."""
    wanted, seen = set(filter(None, names.split(","))), set[str]()
    for found in tables:
        for row in found.rows:
            able = (row.recipe or row.tests or row.untrained == "consensus") and all(n in files for n in row.needs)
            if able and row.name not in seen and (not wanted or row.name in wanted):
                seen.add(row.name)
                yield found, row


def recipe_of(found: PublishedTable, row: Row, kind: str, files: dict[str, str]) -> Recipe:
    trained = found.row(row.tests) if row.tests else row
    recipe = load_recipe(trained.recipe, dataset=kind, settings=trained.settings_with(files))
    return with_test_settings(recipe, row)


def prepared(row: Row, recipe: Recipe, dataset: Dataset) -> Turns:
    """A row's task, with chance weights."""
    torch.manual_seed(1)
    features = make_features(recipe, dataset, SPLITS, progress=for_terminal())
    # Self-critical training requires a trained model; only its time is measured here.
    begin = (structs.replace(recipe.phases[0], loss=CrossEntropySettings()), *recipe.phases[1:])
    lenient = structs.replace(recipe, phases=begin) if recipe.task == "captioning" else recipe
    task = TASKS[recipe.task].setup(TrainingData(lenient, dataset, features)).task
    steps = [len(planned(task, phase)) for phase in recipe.phases]
    return Turns(row, recipe, task, steps, [[] for _ in recipe.phases])


def planned(task: Task, phase: Phase) -> Sequence[Any]:
    task.begin(phase)
    if isinstance(task, CaptionTask) and isinstance(task.objective, SelfCriticalObjective):
        task.objective.rules = replace(task.objective.rules, max_length=WORDS)
    return task.plan(phase, np.random.default_rng(1))


def take_turn(each: Turns, count: int) -> None:
    settings, random = each.recipe.training, np.random.default_rng(2)
    for place, phase in enumerate(() if each.row.tests else each.recipe.phases):
        plan = planned(each.task, phase)
        optimiser = make_optimiser(settings, each.task.parameter_groups(phase.learning_rate))
        each.task.train()
        batches = [each.task.collate(item, random) for item in plan[: count + 1]]
        train(each.task, optimiser, settings.clip, batches[:1])  # warms up
        counted = batches[1:] or batches
        before = time.process_time()
        train(each.task, optimiser, settings.clip, counted)
        each.batches[place].append((time.process_time() - before) / len(counted))
        if place == 0:
            each.size = statistics.mean(map(each.task.size, counted))
    if isinstance(each.task, CaptionTask):
        each.decoding.append(seconds_decoding(each.task, decoding_of(each.recipe).beam))


def train(task: Task, optimiser: torch.optim.Optimizer, clip: float, batches: Sequence[Any]) -> None:
    for batch in batches:
        loss, _ = task(batch)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(task.parameters(), clip)
        optimiser.step()


def seconds_decoding(task: CaptionTask, beam: int) -> float:
    """Seconds per image."""
    task.eval()
    rules: Rules = replace(rules_of(task.decoding, task.vocabulary), min_length=WORDS, max_length=WORDS)
    features = task.validation_data.images.batch(np.arange(IMAGES)).numpy()
    decoder = TorchDecoder(task.captioner)
    before = time.process_time()
    found = greedy(decoder, features, rules) if beam == 1 else beam_search(decoder, features, rules, beam=beam)
    seconds = time.process_time() - before
    assert len(found) == IMAGES
    return seconds / IMAGES


def seconds_retrieving(dataset: Dataset, kind: str) -> float:
    """Seconds per image of the retrieval-based baseline."""
    recipe = load_recipe("merge", dataset=kind)
    training_data = TrainingData(recipe, dataset, make_features(recipe, dataset, SPLITS, progress=for_terminal()))
    (train, seen), (_, images) = (training_data.split(split, captioned) for split in SPLITS)
    words = [[ptb(caption) for caption in record.captions] for record in train]
    captioner = ConsensusCaptioner(seen.batch(np.arange(len(seen))).numpy(), words, NEIGHBOURS)
    test_images = images.batch(np.arange(IMAGES)).numpy()
    before = time.process_time()
    assert len(list(captioner(test_images))) == IMAGES
    return (time.process_time() - before) / IMAGES


def report(found: PublishedTable, costs: dict[str, Cost]) -> None:
    rows = [(row, costs[row.name]) for row in found.rows if row.name in costs]
    cheapest = min((cost.seconds for _, cost in rows if cost.seconds), default=1.0)
    print(f"\n{found.title}")
    print("training seconds of one core, ratio to the cheapest row, samples per second, captions per second")
    for row, cost in rows:
        ratio = f"{cost.seconds / cheapest:6.1f}"
        rates = f"{cost.samples_per_second:8.1f} {cost.captions_per_second:8.1f}"
        print(f"{label(row):>40} {cost.seconds:8.1f} {ratio} {rates}")


if __name__ == "__main__":
    main()
