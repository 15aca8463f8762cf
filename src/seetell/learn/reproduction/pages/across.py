"""The page across all tables: which model to use for a small dataset, what each idea adds, and what it costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seetell.figures.page import Heading, Page, Paragraph, Table, prose
from seetell.files import write_file
from seetell.learn.reproduction.claims import listed, mean, spread
from seetell.learn.reproduction.costs import FILE, Costs, read_costs
from seetell.learn.reproduction.pages.table import plus_minus
from seetell.learn.reproduction.records import RowRecord, by_row, stem
from seetell.learn.reproduction.tables import TABLES, Row, label
from seetell.progress import clock

ABOUT = "across.md"  # below rows/: the introduction of the page
NOT_RUN = "not run"
FASTER = 0.9  # two measurements of one row's cost differ by less than a tenth


@dataclass(frozen=True)
class Question:
    """Which model to use: the rows of some tables on one dataset, ranked by a metric."""

    title: str
    tables: tuple[str, ...]
    dataset: str
    metric: str
    metric_name: str


QUESTIONS = (
    Question("Which retriever?", ("vilalta-table2", "kolluru-table1"), "flickr8k", "sum_of_recalls", "sum of recalls"),
    Question("Which captioner?", ("xu-table1", "vaishali"), "flickr8k", "cider", "CIDEr"),
    Question("Which tagger?", ("ren-table3",), "coco", "f1_of_means", "F1 of means"),
)


@dataclass(frozen=True)
class Idea:
    """What an idea adds: a row with it compared with one without, by a metric."""

    idea: str
    table: str
    without: str
    having: str
    dataset: str
    metric: str
    metric_name: str


def _retrieval(idea: str, without: str, having: str, table: str = "vilalta-table2") -> Idea:
    return Idea(idea, table, without, having, "flickr8k", "sum_of_recalls", "sum of recalls")


def _captions(idea: str, without: str, having: str, table: str = "vaishali") -> Idea:
    return Idea(idea, table, without, having, "flickr8k", "cider", "CIDEr")


def _tags(idea: str, without: str, having: str) -> Idea:
    return Idea(idea, "ren-table3", without, having, "coco", "f1_of_means", "F1 of means")


IDEAS = (
    _retrieval("all layers (FNE) instead of the last (FC7), sum of hinges", "fc7-sh", "fne-sh"),
    _retrieval("all layers instead of the last, maximum of hinges", "fc7-mh", "fne-mh"),
    _retrieval("the hardest negative (MH) instead of all (SH), FNE", "fne-sh", "fne-mh"),
    _retrieval("order (SOE) instead of cosine (SH), FNE", "fne-sh", "fne-soe"),
    _retrieval("a curriculum (PH) instead of the hardest negative at once, FNE", "fne-mh", "fne-ph"),
    _retrieval("EfficientNet-Lite2 instead of VGG16, FNE-MH", "fne-mh-vgg16", "fne-mh"),
    _retrieval("one hard negative instead of ten", "two-branch-k10", "two-branch-k1", "kolluru-table1"),
    _retrieval("a frozen sentence encoder and principal components (best-retrieval)", "fne-sh", "best-retrieval"),
    _captions("attention instead of one vector (merge)", "merge", "attend-soft"),
    _captions(
        "the image as the initial state of the LSTM (CNN-LSTM) instead of merged after it (merge)", "merge", "initial"
    ),
    _captions("convolutions instead of an LSTM", "initial", "convolutional"),
    _captions("a trained model (merge) instead of retrieved captions", "retrieval-based", "merge"),
    _captions("hard attention instead of soft", "attend-soft", "attend-hard", "xu-table1"),
    _captions("the gate β", "attend-soft-no-gate", "attend-soft", "xu-table1"),
    _captions("the doubly stochastic penalty", "attend-soft-no-ds", "attend-soft", "xu-table1"),
    _captions("captions of one length per batch", "attend-soft-mixed", "attend-soft-buckets", "xu-table1"),
    _captions("EfficientNet-Lite2 instead of VGG16", "attend-soft-vgg16", "attend-soft", "xu-table1"),
    _captions("beam search instead of greedy", "attend-soft-greedy", "attend-soft", "xu-table1"),
    _captions("self-critical fine-tuning, merge", "merge", "merge-self-critical"),
    _captions("self-critical fine-tuning, soft attention", "attend-soft", "attend-soft-self-critical"),
    _captions("word vectors of 300 dimensions instead of 50", "merge", "merge-300"),
    _tags("labels as a sequence (init) instead of the three most likely", "bce", "init"),
    _tags("attention over levels, seq2seq", "seq2seq", "seq2seq-attn"),
    _tags("attention over levels, init", "init", "init-attn"),
    _tags("five beams instead of greedy, init", "init", "init-beam5"),
    _tags("GloVe's vectors instead of Xavier's rule, seq2seq", "seq2seq-xavier", "seq2seq"),
    _tags(
        "grid features, fine-tuned last stages, asymmetric loss, thresholds (best-tags) instead of init",
        "init",
        "best-tags",
    ),
)


def write_across(records: Mapping[str, Sequence[RowRecord]], folder: Path) -> Path:
    """Write `across.md`."""
    page = Page("Across the tables: which model to use, what each idea adds, what it costs")
    page.add(*prose(folder / "rows" / ABOUT))
    costs = read_costs(folder / "rows" / FILE)
    for question in QUESTIONS:
        page.add(Heading(question.title), *_answer(question, records, costs))
    page.add(Heading("What each idea adds"))
    page.add(
        Paragraph(
            "The row with an idea minus the row without it, both at the tables' budget, and the training time of each "
            "on one core. Where both rows have several seeds, ± is the standard deviation of the difference. Rows "
            "elsewhere have one seed: differences of about one point (five in a sum of six recalls) may be chance."
        )
    )
    head = ["idea", "table", "figure", "without", "with", "difference", "training without", "with"]
    page.add(Table(head, [_idea_row(idea, records, costs) for idea in IDEAS]))
    write_file(folder / "across.md", page.markdown())
    return folder / "across.md"


@dataclass(frozen=True)
class ScoredRow:
    """A ranked row: its score, its training time, and its cells in the table.

    Args:
        seconds: training time; None if it was not measured.
        ours: whether it comes from no paper.
    """

    label: str
    score: float
    seconds: float | None
    cells: list[str]
    ours: bool

    def __str__(self) -> str:
        return f"{self.label} ({self.score:.1f}{'' if self.seconds is None else f' in {clock(self.seconds)}'})"


def _answer(question: Question, records: Mapping[str, Sequence[RowRecord]], costs: Costs) -> list[Paragraph | Table]:
    scored = _scored(question, records, costs)
    if not scored:
        return [Paragraph(f"No row of {', '.join(question.tables)} on {question.dataset} has a record: {NOT_RUN}.")]
    ranked = sorted(scored, key=lambda each: (-each.score, each.seconds or 0))
    best = ranked[0]
    words = [f"On {question.dataset}, the best of {len(ranked)} rows by {question.metric_name} is {best}."]
    theirs = next((each for each in ranked if not each.ours), None)
    if theirs not in (None, best):
        words.append(f"It is ours; the best of the papers' own models is {theirs}.")
    if len(choices := _choices(ranked)) > 1:
        words.append(f"No row is both better and faster to train than {listed(choices, 'or')}.")
    head = ["", "table", "encoder", question.metric_name, "training", "parameters", "images captioned per second"]
    cells = [each.cells for each in ranked]
    if all(line[-1] == "–" for line in cells):
        head, cells = head[:-1], [line[:-1] for line in cells]
    return [Paragraph(" ".join(words)), Table(head, cells)]


def _scored(question: Question, records: Mapping[str, Sequence[RowRecord]], costs: Costs) -> list[ScoredRow]:
    """The rows of a question's tables that ran; a row that two tables share is listed once."""
    scored: dict[str, ScoredRow] = {}
    for name in question.tables:
        rows = by_row(records.get(name, ()), question.dataset)
        for row in TABLES[name].rows:
            score = mean({"": [record.flat for record in rows.get(row.name, ())]}, "", question.metric)
            if score is None or row.name in scored:
                continue
            first, seconds = rows[row.name][0], _training(row, question.dataset, costs)
            encoder, known = first.encoder["name"].partition("@")[0], costs.get(stem(row.name, question.dataset))
            speed = f"{known.captions_per_second:,.0f}" if known and known.captions_per_second else "–"
            cost = ["–" if seconds is None else clock(seconds), f"{first.parameters:,}", speed]
            cells = [_full_label(row), f"[{name}]({name}.md)", encoder, f"{score:.1f}", *cost]
            scored[row.name] = ScoredRow(label(row), score, seconds, cells, ours=row.name.startswith("best-"))
    return list(scored.values())


def _full_label(row: Row) -> str:
    """A row's label, with the heading it is listed under on its table's page."""
    if not row.part or row.part == "With VGG16":
        return label(row)
    return f"{label(row)} ({row.part[:1].lower()}{row.part[1:]})"


def _choices(ranked: Sequence[ScoredRow]) -> list[ScoredRow]:
    """The rows with at least half of the best score that train faster than every better row, by more than the
    difference between two measurements of one row."""
    chosen: list[ScoredRow] = []
    least = float("inf")
    for each in ranked:
        if each.seconds is not None and each.score >= ranked[0].score / 2 and each.seconds < FASTER * least:
            least = each.seconds
            chosen.append(each)
    return chosen


def _training(row: Row, dataset: str, costs: Costs) -> float | None:
    """Training time from scratch in seconds of one core, including the row whose model it starts from or tests."""
    if row.untrained:
        return 0.0
    parts = [costs.get(stem(name, dataset)) for name in (row.name, row.starts_from or row.tests) if name]
    return None if None in parts else sum(part.seconds for part in parts if part)


def _idea_row(idea: Idea, records: Mapping[str, Sequence[RowRecord]], costs: Costs) -> list[str]:
    rows = by_row(records.get(idea.table, ()), idea.dataset)
    results = {name: [record.flat for record in rows.get(name, ())] for name in (idea.without, idea.having)}
    before, after = (mean(results, name, idea.metric) for name in results)
    scores = [NOT_RUN if score is None else f"{score:.1f}" for score in (before, after)]
    table = TABLES[idea.table]
    times = [_training(table.row(name), idea.dataset, costs) if name in rows else None for name in results]
    deviations = [spread(results, name, idea.metric) for name in results]
    deviation = None if None in deviations else math.hypot(*(each for each in deviations if each is not None))
    difference = NOT_RUN if before is None or after is None else f"{after - before:+.1f}{plus_minus(deviation)}"
    spent = ["–" if seconds is None else clock(seconds) for seconds in times]
    return [idea.idea, f"[{idea.table}]({idea.table}.md)", idea.metric_name, *scores, difference, *spent]
