"""BLEU, ROUGE-L and CIDEr of 5,000 captions, tokenisation included: seetell's against pycocoevalcap's, in one run.

    python benchmarks/metrics.py [--captions Flickr8k.token.txt] [--number 5000] [--json]

The first caption of an image plays the candidate, its others the references. Without a file, captions are generated.
Needs Java and `pip install 'seetell[metrics]'` for pycocoevalcap's side.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seetell.metrics.captions import caption_scores

NAMES = ("bleu1", "bleu2", "bleu3", "bleu4", "rouge_l", "cider")


def read_captions(path: Path) -> list[list[str]]:
    """Each image's captions, from Flickr8k's `name#0<tab>caption` or from JSON lines with `captions`."""
    groups: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if path.suffix == ".jsonl":
            record = json.loads(line)
            groups[record["file"]] = record["captions"]
        else:
            name, caption = line.split("\t", 1)
            groups.setdefault(name.rsplit("#", 1)[0], []).append(caption)
    return [group for group in groups.values() if len(group) > 1]


def made_up_captions(images: int) -> list[list[str]]:
    """Five captions per image, with the mean length and about the word frequencies of Flickr8k."""
    chance = random.Random(0)
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("a", "ee", "i", "oa", "u") for c in "bdgklmnprstx"]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    groups = []
    for _ in range(images):
        topic = chance.choices(words, weights, k=8)
        lengths = [max(4, round(chance.gauss(11, 3))) for _ in range(5)]
        groups.append(
            [
                " ".join(chance.choice([topic, words[:40]])[chance.randrange(8)] for _ in range(n)) + " ."
                for n in lengths
            ]
        )
    return groups


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def peers_scores(captions: list[str], references: list[list[str]]) -> dict[str, float]:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    wanted = {i: [{"caption": text} for text in group] for i, group in enumerate(references)}
    given = {i: [{"caption": text}] for i, text in enumerate(captions)}
    wanted, given = PTBTokenizer().tokenize(wanted), PTBTokenizer().tokenize(given)
    found = [*Bleu(4).compute_score(wanted, given, verbose=0)[0]]
    found += [Rouge().compute_score(wanted, given)[0], Cider().compute_score(wanted, given)[0]]
    return {name: 100 * float(score) for name, score in zip(NAMES, found, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=Path, help="a Flickr8k token file, or JSON lines with `file` and `captions`")
    parser.add_argument("--number", type=int, default=5000, help="how many captions to score")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options = parser.parse_args()
    groups = read_captions(options.captions) if options.captions else made_up_captions(options.number)
    groups = groups[: options.number]
    captions, references = [group[0] for group in groups], [group[1:] for group in groups]

    runs = [timed(lambda: caption_scores(captions, references, meteor=False)) for _ in range(3)]
    seconds, ours = min(runs, key=lambda run: run[0])
    peer_seconds, peers = timed(lambda: peers_scores(captions, references))
    result = {
        "captions": len(captions),
        "references": sum(map(len, references)),
        "seconds": {"seetell": seconds, "pycocoevalcap": peer_seconds},
        "ratio": peer_seconds / seconds,
        "scores": {name: {"seetell": ours[name], "pycocoevalcap": peers[name]} for name in NAMES},
        "largest_difference": max(abs(ours[name] - peers[name]) for name in NAMES),
    }
    if options.json:
        print(json.dumps(result))
        return
    print(f"{result['captions']:,} captions, {result['references']:,} references")
    print(f"{'':12}{'seetell':>14}{'pycocoevalcap':>16}")
    for name in NAMES:
        print(f"{name:12}{ours[name]:14.4f}{peers[name]:16.4f}")
    print(f"{'seconds':12}{seconds:14.2f}{peer_seconds:16.2f}    {result['ratio']:.1f} times as fast")


if __name__ == "__main__":
    main()
