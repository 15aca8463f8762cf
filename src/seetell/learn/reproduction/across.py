"""The page across all tables: which model to take for a small dataset, what each idea buys, and what it costs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seetell.learn.files import write_text
from seetell.learn.reproduction.claims import enumerated, mean, spread
from seetell.learn.reproduction.costs import FILE, Costs, read_costs
from seetell.learn.reproduction.page import Heading, Page, Paragraph, Table, prose
from seetell.learn.reproduction.records import RowRecord, by_row, stem
from seetell.learn.reproduction.table_page import give_or_take
from seetell.learn.reproduction.tables import TABLES, Row, label
from seetell.progress import clock

ABOUT = "across.md"  # below rows/: what a person says about it
NOT_RUN = "not run"
QUICKER = 0.9  # two measurements of one row's cost differ by less than a tenth


@dataclass(frozen=True)
class Question:
    """Which model to take: the rows of some tables on one dataset, from the best to the worst by a metric."""

    title: str
    tables: tuple[str, ...]
    dataset: str
    metric: str
    called: str


QUESTIONS = (
    Question("Which retriever?", ("vilalta-table2", "kolluru-table1"), "flickr8k", "sum_of_recalls", "sum of recalls"),
    Question("Which captioner?", ("xu-table1", "vaishali"), "flickr8k", "cider", "CIDEr"),
    Question("Which tagger?", ("ren-table3",), "coco", "f1_of_means", "F1 of means"),
)


@dataclass(frozen=True)
class Idea:
    """What an idea is worth: a row with it above one without, by a metric."""

    idea: str
    table: str
    without: str
    having: str
    dataset: str
    metric: str
    called: str


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
    _captions("the image as the LSTM's start (CNN-LSTM) instead of beside it (merge)", "merge", "initial"),
    _captions("convolutions instead of an LSTM", "initial", "convolutional"),
    _captions("learning anything instead of looking captions up", "retrieval-based", "merge"),
    _captions("hard attention instead of soft", "attend-soft", "attend-hard", "xu-table1"),
    _captions("the gate β", "attend-soft-no-gate", "attend-soft", "xu-table1"),
    _captions("the doubly stochastic penalty", "attend-soft-no-ds", "attend-soft", "xu-table1"),
    _captions("captions of one length in a batch", "attend-soft-mixed", "attend-soft-buckets", "xu-table1"),
    _captions("EfficientNet-Lite2 instead of VGG16", "attend-soft-vgg16", "attend-soft", "xu-table1"),
    _captions("beam search instead of greedy", "attend-soft-greedy", "attend-soft", "xu-table1"),
    _captions("a self-critical finish, merge", "merge", "merge-self-critical"),
    _captions("a self-critical finish, soft attention", "attend-soft", "attend-soft-self-critical"),
    _captions("word vectors of 300 dimensions instead of 50", "merge", "merge-300"),
    _tags("labels as a sequence (init) instead of the three likeliest", "bce", "init"),
    _tags("attention over levels, seq2seq", "seq2seq", "seq2seq-attn"),
    _tags("attention over levels, init", "init", "init-attn"),
    _tags("five beams instead of greedy, init", "init", "init-beam5"),
    _tags("GloVe's vectors instead of Xavier's rule, seq2seq", "seq2seq-xavier", "seq2seq"),
    _tags("grid, last stages trained, asymmetric loss, thresholds (best-tags) instead of init", "init", "best-tags"),
)


def write_across(records: Mapping[str, Sequence[RowRecord]], folder: Path) -> Path:
    """Write `across.md`."""
    page = Page("Across the tables: which model, what each idea buys, what it costs")
    page.add(*prose(folder / "rows" / ABOUT))
    costs = read_costs(folder / "rows" / FILE)
    for question in QUESTIONS:
        page.add(Heading(question.title), *_answer(question, records, costs))
    page.add(Heading("What each idea buys"))
    page.add(
        Paragraph(
            "The row with an idea less the row without, both at the tables' budget, and how long one core trains "
            "each. Where both rows have several seeds, ± is the standard deviation of the difference; one seed each "
            "elsewhere: there, differences of a point, and of five in a sum of six recalls, may be chance."
        )
    )
    head = ["idea", "table", "figure", "without", "with", "difference", "training without", "with"]
    page.add(Table(head, [_worth(idea, records, costs) for idea in IDEAS]))
    write_text(folder / "across.md", page.markdown())
    return folder / "across.md"


@dataclass(frozen=True)
class Scored:
    """A row as its page's table has it: what it scored, how long it trains, and its cells.

    Args:
        seconds: None where nobody measured it.
        ours: whether no paper describes it.
    """

    called: str
    score: float
    seconds: float | None
    cells: list[str]
    ours: bool

    def __str__(self) -> str:
        return f"{self.called} ({self.score:.1f}{'' if self.seconds is None else f' in {clock(self.seconds)}'})"


def _answer(question: Question, records: Mapping[str, Sequence[RowRecord]], costs: Costs) -> list[Paragraph | Table]:
    scored: dict[str, Scored] = {}
    for name in question.tables:
        rows = by_row(records.get(name, ()), question.dataset)
        for row in TABLES[name].rows:
            score = mean({"": [record.flat for record in rows.get(row.name, ())]}, "", question.metric)
            if score is None or row.name in scored:
                continue
            first, seconds = rows[row.name][0], _training(row, question.dataset, costs)
            encoder, known = first.encoder["name"].partition("@")[0], costs.get(stem(row.name, question.dataset))
            speed = f"{known.told_a_second:,.0f}" if known and known.told_a_second else "–"
            cost = ["–" if seconds is None else clock(seconds), f"{first.parameters:,}", speed]
            called = (
                f"{label(row)} ({row.part[:1].lower()}{row.part[1:]})"
                if row.part and row.part != "With VGG16"
                else label(row)
            )
            cells = [called, f"[{name}]({name}.md)", encoder, f"{score:.1f}", *cost]
            scored[row.name] = Scored(label(row), score, seconds, cells, ours=row.name.startswith("best-"))
    if not scored:
        return [Paragraph(f"No row of {', '.join(question.tables)} on {question.dataset} has a record: {NOT_RUN}.")]
    ranked = sorted(scored.values(), key=lambda each: (-each.score, each.seconds or 0))
    best = ranked[0]
    words = [f"On {question.dataset}, by {question.called}, the best of the {len(ranked)} rows that ran is {best}."]
    theirs = next((each for each in ranked if not each.ours), None)
    if theirs not in (None, best):
        words.append(f"That one is ours; of the papers' own models the best is {theirs}.")
    if len(choices := _choices(ranked)) > 1:
        words.append(f"Where time counts: no row is both better and quicker to train than {enumerated(choices, 'or')}.")
    head = ["", "table", "encoder", question.called, "training", "parameters", "images told a second"]
    cells = [each.cells for each in ranked]
    if all(line[-1] == "–" for line in cells):
        head, cells = head[:-1], [line[:-1] for line in cells]
    return [Paragraph(" ".join(words)), Table(head, cells)]


def _choices(ranked: Sequence[Scored]) -> list[Scored]:
    """Of rows from the best down to half of its score, those that are quicker to train than all that are better, by
    more than two measurements of one row differ."""
    chosen: list[Scored] = []
    least = float("inf")
    for each in ranked:
        if each.seconds is not None and each.score >= ranked[0].score / 2 and each.seconds < QUICKER * least:
            least = each.seconds
            chosen.append(each)
    return chosen


def _training(row: Row, dataset: str, costs: Costs) -> float | None:
    """Seconds of one core from nothing: with those of the row whose model it starts from or tests again."""
    if row.untrained:
        return 0.0
    parts = [costs.get(stem(name, dataset)) for name in (row.name, row.starts_from or row.tests) if name]
    return None if None in parts else sum(part.seconds for part in parts if part)


def _worth(idea: Idea, records: Mapping[str, Sequence[RowRecord]], costs: Costs) -> list[str]:
    rows = by_row(records.get(idea.table, ()), idea.dataset)
    results = {name: [record.flat for record in rows.get(name, ())] for name in (idea.without, idea.having)}
    before, after = (mean(results, name, idea.metric) for name in results)
    scores = [NOT_RUN if score is None else f"{score:.1f}" for score in (before, after)]
    table = TABLES[idea.table]
    times = [_training(table.row(name), idea.dataset, costs) if name in rows else None for name in results]
    deviations = [spread(results, name, idea.metric) for name in results]
    around = None if None in deviations else math.hypot(*(each for each in deviations if each is not None))
    difference = NOT_RUN if before is None or after is None else f"{after - before:+.1f}{give_or_take(around)}"
    spent = ["–" if seconds is None else clock(seconds) for seconds in times]
    return [idea.idea, f"[{idea.table}]({idea.table}.md)", idea.called, *scores, difference, *spent]
