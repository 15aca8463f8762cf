"""What pages say about measured figures, computed from them: does a paper's claim hold here?

Every function takes the figures of one dataset and says nothing about rows that have not run.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from seetell.learn.reproduction.tables import LABEL_SEQUENCES, PIPELINES, label, published, table

Results = Mapping[str, Sequence[Mapping[str, float]]]  # row → the flat metrics of each seed

LEARNED = 50.0  # a sum of recalls below this, among 1,000 images, has hardly begun


def mean(results: Results, row: str, metric: str) -> float | None:
    """A metric of a row, averaged over its seeds; None where it has not run."""
    values = _values(results, row, metric)
    return sum(values) / len(values) if values else None


def spread(results: Results, row: str, metric: str) -> float | None:
    """The standard deviation of a row's seeds; None where there are fewer than two."""
    values = _values(results, row, metric)
    return statistics.stdev(values) if len(values) > 1 else None


def _values(results: Results, row: str, metric: str) -> list[float]:
    return [seed[metric] for seed in results.get(row, ()) if metric in seed]


def gain(results: Results, without: str, having: str, metric: str) -> float | None:
    """By how much one row is above another; None unless both have run."""
    pair = mean(results, without, metric), mean(results, having, metric)
    return None if pair[0] is None or pair[1] is None else pair[1] - pair[0]


def full_network_says(results: Results) -> list[str]:
    """Whether the full-network embedding wins everywhere, and whether by more than pipelines differ."""
    return [*_full_network(results, ""), *_full_network(results, "-vgg16")]


def _full_network(results: Results, suffix: str) -> list[str]:
    gains: dict[str, float] = {}
    by_seed: list[list[float]] = []  # of every pipeline
    stuck: list[str] = []
    scores: dict[str, list[float]] = {"fc7": [], "fne": []}
    for pipeline in PIPELINES:
        pair = [mean(results, f"{side}-{pipeline}{suffix}", "sum_of_recalls") for side in ("fc7", "fne")]
        if pair[0] is None or pair[1] is None:
            continue
        name = pipeline.upper().replace("BL", "bl")
        if min(pair[0], pair[1]) < LEARNED:
            stuck.append(f"{name} ({pair[0]:.1f} and {pair[1]:.1f})")
            continue
        gains[name] = pair[1] - pair[0]
        seeds = zip(results[f"fc7-{pipeline}{suffix}"], results[f"fne-{pipeline}{suffix}"], strict=False)
        by_seed.append([fne["sum_of_recalls"] - fc7["sum_of_recalls"] for fc7, fne in seeds])
        scores["fc7"].append(pair[0])
        scores["fne"].append(pair[1])
    if not gains:
        return []
    network = "With VGG16 the" if suffix else "The"
    won = [name for name, gained in gains.items() if gained > 0]
    listed = ", ".join(f"{name} {gained:+.1f}" for name, gained in gains.items())
    average = sum(gains.values()) / len(gains)
    lines = [
        f"{network} full-network embedding has the higher sum of recalls in {len(won)} of the {len(gains)} pipelines "
        f"that learned with both embeddings: {listed}; on average {average:+.1f}."
    ]
    wins = [sum(gained > 0 for gained in seed) for seed in zip(*by_seed, strict=False)]
    if len(wins) > 1:
        lines.append(f"By each of {len(wins)} seeds alone it wins in {enumerated(wins)} of them.")
    if stuck:
        lines.append(f"Left out here, because with one of the two they hardly began to learn: {', '.join(stuck)}.")
    if len(gains) > 1:
        apart = {side: max(values) - min(values) for side, values in scores.items()}
        lines.append(
            f"Between the best and the worst of these pipelines lie {apart['fc7']:.1f} points with FC7 and "
            f"{apart['fne']:.1f} with FNE. The paper finds that FNE always wins, and by more than pipelines "
            f"differ; here the first {_holds(len(won) == len(gains))} and the second "
            f"{_holds(average > max(apart.values()))}."
        )
    return lines


def starts_say(results: Results) -> list[str]:
    """How often training started, with either maximum, and whether the curriculum cures it."""
    plain, anchors, cured = (
        {name: seeds for name, seeds in results.items() if _variant(name) == variant}
        for variant in ("", "anchors", "curriculum")
    )
    lines = []
    if plain:
        lines.append(f"Runs that started to learn: {_starts(plain)}; {_as_published(plain)}.")
    if anchors:
        lines.append(f"With the maximum over anchors: {_starts(anchors)}; {_as_published(anchors)}.")
    if cured:
        failed = [name for name, seeds in cured.items() if any(not seed["started"] for seed in seeds)]
        lines.append(
            f"After five epochs with the sum of hinges: {_starts(cured)}. The paper finds that after a curriculum "
            f"none failed to start; here it {_holds(not failed)}."
        )
    return lines


def _variant(row: str) -> str:
    """What a row of Table 5 has that the paper's own has not: `anchors`, `curriculum`, or nothing."""
    return next((word for word in ("anchors", "curriculum") if row.endswith(f"-{word}")), "")


def _starts(results: Results) -> str:
    called = {name: label(table("vilalta-table5").row(name)).partition(",")[0] for name in results}
    return ", ".join(
        f"{called[name]} {sum(seed['started'] for seed in seeds):.0f}/{len(seeds)}" for name, seeds in results.items()
    )


def _as_published(results: Results) -> str:
    """Of how many configurations most runs started where most did in the paper."""
    paper = table("vilalta-table5")
    rows = {name: published(paper.row(name), paper.published_on)["started"] for name in results}
    same = [name for name, share in rows.items() if ((mean(results, name, "started") or 0) > 0.5) == (share > 0.5)]
    return f"by whether most did, {len(same)} of {len(rows)} configurations are as in the paper"


def triplets_say(results: Results) -> list[str]:
    """Whether ten hard negatives are so much worse than one, and whether other settings help them."""
    one, ten = (mean(results, f"two-branch-{k}", "sum_of_recalls") for k in ("k1", "k10"))
    if one is None or ten is None:
        return []
    verdict = "as in the paper" if ten < 0.6 * one else "unlike in the paper, where it collapses"
    lines = [f"With ten hard negatives the sum of recalls is {ten:.1f}, with one {one:.1f}: {verdict}."]
    tuned = {
        name: score
        for name in ("slow", "lambda1", "margin02")
        if (score := mean(results, f"two-branch-k10-{name}", "sum_of_recalls")) is not None
    }
    if tuned:
        best = max(tuned, key=lambda name: tuned[name])
        called = label(table("kolluru-table1").row(f"two-branch-k10-{best}"))
        against = max(one, mean(results, "two-branch-k1-lambda1", "sum_of_recalls") or one)
        lines.append(
            f"Of the other settings tried with ten, the best is “{called}” with {tuned[best]:.1f}; the best with one "
            f"negative has {against:.1f}."
        )
    return lines


def attention_says(results: Results) -> list[str]:
    """Whether hard attention beats soft, and what the parts of soft attention are worth."""
    lines = []
    soft, hard = (mean(results, f"attend-{kind}", "bleu4_no_bp") for kind in ("soft", "hard"))
    if soft is not None and hard is not None:
        verdict = "as in the paper" if hard > soft else "unlike in the paper"
        lines.append(f"BLEU-4 without penalty is {hard:.1f} with hard attention and {soft:.1f} with soft: {verdict}.")
    if (places := gain(results, "attend-hard", "attend-hard-expected", "bleu4_no_bp")) is not None:
        lines.append(f"Told with all places by their weights, hard attention has {places:+.1f} BLEU-4 without penalty.")
    for without, having, part in (
        ("no-gate", "attend-soft", "The gate adds"),
        ("no-ds", "attend-soft", "The doubly stochastic penalty adds"),
        ("mixed", "attend-soft-buckets", "Captions of one length in a batch, instead of all lengths, add"),
    ):
        bleu, cider = (gain(results, f"attend-soft-{without}", having, m) for m in ("bleu4_no_bp", "cider"))
        if bleu is not None and cider is not None:
            lines.append(f"{part} {bleu:+.1f} to BLEU-4 without penalty and {cider:+.1f} to CIDEr.")
    if (beams := gain(results, "attend-soft-greedy", "attend-soft", "bleu4_no_bp")) is not None:
        lines.append(f"Beam search adds {beams:+.1f} to the BLEU-4 without penalty of greedy captions.")
    return lines


def families_say(results: Results) -> list[str]:
    """The captioners from best to worst, and what longer word vectors and reinforcement are worth."""
    scores = {name: score for name in results if (score := mean(results, name, "cider")) is not None}
    listed = ", ".join(f"{name} {scores[name]:.1f}" for name in sorted(scores, key=lambda name: -scores[name]))
    lines = [f"By CIDEr: {listed}."] if len(scores) > 1 else []
    for without, having, what in (
        ("merge", "merge-300", "Word vectors of 300 dimensions instead of 50 add"),
        ("merge", "merge-self-critical", "Self-critical training adds"),
        ("attend-soft", "attend-soft-self-critical", "To soft attention self-critical training adds"),
    ):
        if (cider := gain(results, without, having, "cider")) is not None:
            lines.append(f"{what} {cider:+.1f} to CIDEr.")
    return lines


def sequences_say(results: Results) -> list[str]:
    """Whether label sequences beat the CNN alone, which is best, whether attention helps, and what the sweep found."""
    scores = {name: score for name in results if (score := mean(results, name, "f1_of_means")) is not None}
    told = {name: scores[name] for name in LABEL_SEQUENCES if name in scores}
    alone = {name: scores[name] for name in ("warp", "softmax", "bce") if name in scores}
    lines = []
    if told and alone:
        lines.append(
            f"The paper finds every label sequence better than the CNN alone, which gives images three labels. "
            f"Here the label sequences have an F1 of {_range(told.values())}, the CNN alone {_range(alone.values())}: "
            f"it {_holds(min(told.values()) > max(alone.values()))}."
        )
    if len(told) > 1:
        best = max(told, key=lambda name: told[name])
        lines.append(
            f"The paper's best is CNN seq2seq with 69.5, before CNN as initialisation and seq2seq with attention, "
            f"both 69.4. Here the best of the rows that ran is {best} with {told[best]:.1f}; between the best and the "
            f"worst of them lie {max(told.values()) - min(told.values()):.1f} points."
        )
    gains = {name: gain(results, name, f"{name}-attn", "f1_of_means") for name in ("joint", "init", "seq2seq")}
    if listed := _gains(gains):
        lines.append(
            f"What attention adds to F1: {listed}. In the paper: +1.1 for joint, −5.3 for init, −0.1 for seq2seq."
        )
    beams = {name: gain(results, name, f"{name}-beam5", "f1_of_means") for name in LABEL_SEQUENCES}
    if listed := _gains(beams):
        lines.append(f"What five beams add to the F1 of greedy sequences: {listed}.")
    glove = {name: gain(results, *pair, "f1_of_means") for name, pair in GLOVE.items()}
    if listed := _gains(glove):
        lines.append(f"What GloVe's vectors add to label embeddings that start by Xavier's rule: {listed}.")
    shared = {name: gain(results, *pair, "f1_of_means") for name, pair in SHARED.items()}
    if listed := _gains(shared):
        lines.append(f"What one LSTM for both reading and telling adds to two: {listed}.")
    for name in ("joint", "init", "seq2seq"):
        rows = {"0.001": f"{name}-rate0001", "0.0005": name, "0.0001": f"{name}-rate00001"}
        rates = {rate: score for rate, row in rows.items() if (score := scores.get(row)) is not None}
        if len(rates) > 1:
            listed = ", ".join(f"{score:.1f} with {rate}" for rate, score in rates.items())
            lines.append(f"F1 of {name} by learning rate: {listed}. The paper's best rows have 0.0001.")
    return lines


GLOVE = {  # without, with
    "seq2seq": ("seq2seq-xavier", "seq2seq"),
    "seq2seq with two LSTMs": ("seq2seq-xavier-separate", "seq2seq-separate"),
    "init": ("init", "init-glove"),
    "joint": ("joint", "joint-glove"),
}
SHARED = {
    "seq2seq with GloVe": ("seq2seq-separate", "seq2seq"),
    "seq2seq with Xavier": ("seq2seq-xavier-separate", "seq2seq-xavier"),
}


def _gains(gains: Mapping[str, float | None]) -> str:
    return ", ".join(f"{gained:+.1f} for {name}" for name, gained in gains.items() if gained is not None)


def _holds(claim: bool) -> str:
    return "holds" if claim else "does not hold"


def enumerated(values: Sequence[object], word: str = "and") -> str:
    """`1, 2 and 3`."""
    *most, last = map(str, values)
    return f"{', '.join(most)} {word} {last}" if most else last


def _range(values: Iterable[float]) -> str:
    low, high = min(values := list(values)), max(values)
    return f"{low:.1f}" if len(values) == 1 else f"{low:.1f} to {high:.1f}"


SAYS: Mapping[str, Callable[[Results], list[str]]] = {
    **{f"vilalta-table{number}": full_network_says for number in (2, 3, 4)},
    "vilalta-table5": starts_say,
    "kolluru-table1": triplets_say,
    "kolluru-table2": triplets_say,
    "xu-table1": attention_says,
    "vaishali": families_say,
    "ren-table3": sequences_say,
}
