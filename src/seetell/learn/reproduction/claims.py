"""Conclusions about the measured figures, computed from them: does a paper's claim hold here?

Every function takes the figures of one dataset and returns sentences; rows that have not run are not mentioned.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from seetell.learn.reproduction.tables import label, published, table
from seetell.learn.reproduction.tables.ren import LABEL_SEQUENCES
from seetell.learn.reproduction.tables.vilalta import PIPELINES

Results = Mapping[str, Sequence[Mapping[str, float]]]  # row → the flat metrics of each seed

LEARNED = 50.0  # with a smaller sum of recalls among 1,000 images, training has hardly started


def mean(results: Results, row: str, metric: str) -> float | None:
    """The mean of a row's metric over its seeds; None if it has not run."""
    values = _values(results, row, metric)
    return sum(values) / len(values) if values else None


def spread(results: Results, row: str, metric: str) -> float | None:
    """The standard deviation over a row's seeds; None for fewer than two."""
    values = _values(results, row, metric)
    return statistics.stdev(values) if len(values) > 1 else None


def _values(results: Results, row: str, metric: str) -> list[float]:
    return [seed[metric] for seed in results.get(row, ()) if metric in seed]


def gain(results: Results, without: str, having: str, metric: str) -> float | None:
    """One row's mean minus another's; None unless both have run."""
    pair = mean(results, without, metric), mean(results, having, metric)
    return None if pair[0] is None or pair[1] is None else pair[1] - pair[0]


def full_network_claims(results: Results) -> list[str]:
    """Whether the full-network embedding always wins, and by more than the pipelines differ."""
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
    by_pipeline = ", ".join(f"{name} {gained:+.1f}" for name, gained in gains.items())
    average = sum(gains.values()) / len(gains)
    lines = [
        f"{network} full-network embedding has the higher sum of recalls in {len(won)} of the {len(gains)} pipelines "
        f"that learned with both embeddings: {by_pipeline}; on average {average:+.1f}."
    ]
    wins = [sum(gained > 0 for gained in seed) for seed in zip(*by_seed, strict=False)]
    if len(wins) > 1:
        lines.append(f"Counted for each of {len(wins)} seeds separately, it wins in {listed(wins)} of them.")
    if stuck:
        lines.append(f"Excluded, because one of the two hardly started to learn: {', '.join(stuck)}.")
    if len(gains) > 1:
        apart = {side: max(values) - min(values) for side, values in scores.items()}
        lines.append(
            f"The best and the worst of these pipelines differ by {apart['fc7']:.1f} points with FC7 and by "
            f"{apart['fne']:.1f} with FNE. The paper finds that FNE always wins, and by more than the pipelines "
            f"differ; here the first claim {_holds(len(won) == len(gains))} and the second "
            f"{_holds(average > max(apart.values()))}."
        )
    return lines


def start_claims(results: Results) -> list[str]:
    """How often training started, with either maximum, and whether the curriculum helps."""
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
            f"After five epochs with the sum of hinges: {_starts(cured)}. The paper reports that no run with a "
            f"curriculum failed to start; here that {_holds(not failed)}."
        )
    return lines


def _variant(row: str) -> str:
    """How a row differs from Table 5's own: `anchors`, `curriculum`, or "" if it does not."""
    return next((word for word in ("anchors", "curriculum") if row.endswith(f"-{word}")), "")


def _starts(results: Results) -> str:
    labels = {name: label(table("vilalta-table5").row(name)).partition(",")[0] for name in results}
    return ", ".join(
        f"{labels[name]} {sum(seed['started'] for seed in seeds):.0f}/{len(seeds)}" for name, seeds in results.items()
    )


def _as_published(results: Results) -> str:
    """For how many configurations the majority of runs started, or not, as in the paper."""
    paper = table("vilalta-table5")
    rows = {name: published(paper.row(name), paper.published_on)["started"] for name in results}
    same = [name for name, share in rows.items() if ((mean(results, name, "started") or 0) > 0.5) == (share > 0.5)]
    return f"the majority agrees with the paper for {len(same)} of {len(rows)} configurations"


def negatives_claims(results: Results) -> list[str]:
    """Whether ten hard negatives are much worse than one, and whether other settings help."""
    one, ten = (mean(results, f"two-branch-{k}", "sum_of_recalls") for k in ("k1", "k10"))
    if one is None or ten is None:
        return []
    verdict = "as in the paper" if ten < 0.6 * one else "unlike the paper, where it collapses"
    lines = [f"With ten hard negatives the sum of recalls is {ten:.1f}, with one {one:.1f}: {verdict}."]
    tuned = {
        name: score
        for name in ("slow", "lambda1", "margin02")
        if (score := mean(results, f"two-branch-k10-{name}", "sum_of_recalls")) is not None
    }
    if tuned:
        best = max(tuned, key=lambda name: tuned[name])
        tuned_label = label(table("kolluru-table1").row(f"two-branch-k10-{best}"))
        against = max(one, mean(results, "two-branch-k1-lambda1", "sum_of_recalls") or one)
        lines.append(
            f"The best of the other settings with ten is “{tuned_label}” with {tuned[best]:.1f}; the best with one "
            f"negative has {against:.1f}."
        )
    return lines


def attention_claims(results: Results) -> list[str]:
    """Whether hard attention beats soft, and what each part of soft attention adds."""
    lines = []
    soft, hard = (mean(results, f"attend-{kind}", "bleu4_no_bp") for kind in ("soft", "hard"))
    if soft is not None and hard is not None:
        verdict = "as in the paper" if hard > soft else "unlike the paper"
        lines.append(f"BLEU-4 without penalty is {hard:.1f} with hard attention and {soft:.1f} with soft: {verdict}.")
    if (expected := gain(results, "attend-hard", "attend-hard-expected", "bleu4_no_bp")) is not None:
        lines.append(
            f"Decoding hard attention with the expected context changes BLEU-4 without penalty by {expected:+.1f}."
        )
    for without, having, part in (
        ("no-gate", "attend-soft", "The gate adds"),
        ("no-ds", "attend-soft", "The doubly stochastic penalty adds"),
        ("mixed", "attend-soft-buckets", "Batches of captions of one length, instead of all lengths, add"),
    ):
        bleu, cider = (gain(results, f"attend-soft-{without}", having, m) for m in ("bleu4_no_bp", "cider"))
        if bleu is not None and cider is not None:
            lines.append(f"{part} {bleu:+.1f} to BLEU-4 without penalty and {cider:+.1f} to CIDEr.")
    if (beams := gain(results, "attend-soft-greedy", "attend-soft", "bleu4_no_bp")) is not None:
        lines.append(f"Beam search adds {beams:+.1f} to BLEU-4 without penalty, compared with greedy decoding.")
    return lines


def captioner_claims(results: Results) -> list[str]:
    """The captioners from best to worst, and what longer word vectors and self-critical training add."""
    scores = {name: score for name in results if (score := mean(results, name, "cider")) is not None}
    ranking = ", ".join(f"{name} {scores[name]:.1f}" for name in sorted(scores, key=lambda name: -scores[name]))
    lines = [f"By CIDEr: {ranking}."] if len(scores) > 1 else []
    for without, having, what in (
        ("merge", "merge-300", "Word vectors of 300 dimensions instead of 50 add"),
        ("merge", "merge-self-critical", "Self-critical training of merge adds"),
        ("attend-soft", "attend-soft-self-critical", "Self-critical training of soft attention adds"),
    ):
        if (cider := gain(results, without, having, "cider")) is not None:
            lines.append(f"{what} {cider:+.1f} to CIDEr.")
    return lines


def sequence_claims(results: Results) -> list[str]:
    """Whether label sequences beat the CNN alone, which is best, whether attention helps, and the sweep's findings."""
    scores = {name: score for name in results if (score := mean(results, name, "f1_of_means")) is not None}
    return [*_sequences_against_cnn(scores), *_sequence_gains(results), *_sequence_rates(scores)]


def _sequences_against_cnn(scores: Mapping[str, float]) -> list[str]:
    sequences = {name: scores[name] for name in LABEL_SEQUENCES if name in scores}
    alone = {name: scores[name] for name in ("warp", "softmax", "bce") if name in scores}
    lines = []
    if sequences and alone:
        lines.append(
            f"The paper finds every label sequence better than the CNN alone, which always predicts three labels. "
            f"Here label sequences reach an F1 of {_range(sequences.values())}, the CNN alone "
            f"{_range(alone.values())}: the claim {_holds(min(sequences.values()) > max(alone.values()))}."
        )
    if len(sequences) > 1:
        best = max(sequences, key=lambda name: sequences[name])
        lines.append(
            f"The paper's best is CNN seq2seq with 69.5, followed by CNN as initialisation and seq2seq with attention, "
            f"both 69.4. Here the best is {best} with {sequences[best]:.1f}; the best and the worst differ by "
            f"{max(sequences.values()) - min(sequences.values()):.1f} points."
        )
    return lines


def _sequence_gains(results: Results) -> list[str]:
    pairs = {
        "Attention adds to F1: {gains}. In the paper: +1.1 for joint, −5.3 for init, −0.1 for seq2seq.": {
            name: (name, f"{name}-attn") for name in ("joint", "init", "seq2seq")
        },
        "Beam search with five beams adds to the F1 of greedy decoding: {gains}.": {
            name: (name, f"{name}-beam5") for name in LABEL_SEQUENCES
        },
        "GloVe label embeddings, compared with Xavier initialisation, add to F1: {gains}.": GLOVE,
        "One LSTM for reading and generating, compared with two, adds to F1: {gains}.": SHARED,
    }
    lines = []
    for text, compared in pairs.items():
        gains = {name: gain(results, *pair, "f1_of_means") for name, pair in compared.items()}
        if shown := _gains(gains):
            lines.append(text.format(gains=shown))
    return lines


def _sequence_rates(scores: Mapping[str, float]) -> list[str]:
    lines = []
    for name in ("joint", "init", "seq2seq"):
        rows = {"0.001": f"{name}-rate0001", "0.0005": name, "0.0001": f"{name}-rate00001"}
        rates = {rate: score for rate, row in rows.items() if (score := scores.get(row)) is not None}
        if len(rates) > 1:
            shown = ", ".join(f"{score:.1f} with {rate}" for rate, score in rates.items())
            lines.append(f"F1 of {name} by learning rate: {shown}. The paper's best rows use 0.0001.")
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


def listed(values: Sequence[object], word: str = "and") -> str:
    """`1, 2 and 3`."""
    *most, last = map(str, values)
    return f"{', '.join(most)} {word} {last}" if most else last


def _range(values: Iterable[float]) -> str:
    low, high = min(values := list(values)), max(values)
    return f"{low:.1f}" if len(values) == 1 else f"{low:.1f} to {high:.1f}"


CLAIMS: Mapping[str, Callable[[Results], list[str]]] = {
    **{f"vilalta-table{number}": full_network_claims for number in (2, 3, 4)},
    "vilalta-table5": start_claims,
    "kolluru-table1": negatives_claims,
    "kolluru-table2": negatives_claims,
    "xu-table1": attention_claims,
    "vaishali": captioner_claims,
    "ren-table3": sequence_claims,
}
