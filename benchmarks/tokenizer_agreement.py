"""How far seetell's tokenizers agree with those they stand for, on captions of your own.

    python benchmarks/tokenizer_agreement.py Flickr8k.token.txt captions.jsonl

`ptb` is compared with pycocoevalcap's PTBTokenizer (needs Java and `pip install 'seetell[metrics]'`), `words` with
NLTK's word tokenizer (`pip install nltk`), each sentence by itself. Files: a caption a line; `name<TAB>caption`, as
Flickr8k's token file; or JSON lines with `caption` or `captions`.
"""

import argparse
import importlib.util
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from seetell.text import Tokenizer, ptb, words
from seetell.text.treebank import sentences

TokenLists = list[list[str]]


def captions(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if path.suffix == ".jsonl":
                record = json.loads(line)
                texts = record["captions"] if "captions" in record else [record["caption"]]
            else:
                texts = [line.rpartition("\t")[2]]
            # pycocoevalcap pairs captions with lines: one that held a line break would shift all after it
            yield from (" ".join(text.split()) for text in texts if text.strip())


def pycocoevalcap_tokens(texts: list[str], batch: int) -> TokenLists:
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-Dfile.encoding=UTF-8")  # as Java 18 and later do of themselves
    found: TokenLists = []
    for start in range(0, len(texts), batch):
        some = {number: [{"caption": text}] for number, text in enumerate(texts[start : start + batch])}
        tokenized = PTBTokenizer().tokenize(some)
        found += [tokenized[number][0].split() for number in some]
    return found


def nltk_tokens(texts: list[str]) -> TokenLists:
    from nltk.tokenize import NLTKWordTokenizer

    tokenize = NLTKWordTokenizer().tokenize
    return [[token.lower() for sentence in sentences(text) for token in tokenize(sentence)] for text in texts]


def compare(name: str, ours: Tokenizer, theirs: Callable[[list[str]], TokenLists], texts: list[str], show: int) -> None:
    ours(texts[0])  # so that nothing is measured but the work
    start = time.perf_counter()
    found = [ours(text) for text in texts]
    middle = time.perf_counter()
    expected = theirs(texts)
    end = time.perf_counter()
    different = [row for row in zip(texts, found, expected, strict=True) if row[1] != row[2]]
    equal = len(texts) - len(different)
    print(f"{name}: {len(texts):,} captions, {equal:,} equal, {100 * equal / len(texts):.4f} %", end="")
    print(f"; {len(texts) / (middle - start):,.0f} captions/s against {len(texts) / (end - middle):,.0f}")
    for text, one, other in different[:show]:
        print(f"  {text}\n    ours   {' '.join(one)}\n    theirs {' '.join(other)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", type=int, default=20, help="how many differences to print")
    parser.add_argument("--batch", type=int, default=50_000, help="captions to a call of Java")
    arguments = parser.parse_args()
    for path in arguments.files:
        texts = list(captions(path))
        print(path)
        if shutil.which("java") and importlib.util.find_spec("pycocoevalcap"):
            compare("ptb", ptb, partial(pycocoevalcap_tokens, batch=arguments.batch), texts, arguments.show)
        else:
            print("ptb: not compared: Java or pycocoevalcap is missing")
        if importlib.util.find_spec("nltk"):
            compare("words", words, nltk_tokens, texts, arguments.show)
        else:
            print("words: not compared: NLTK is missing")


if __name__ == "__main__":
    main()
