"""From tokens back to a readable sentence."""

from collections.abc import Iterable

_JOINED_TO_THE_LEFT = frozenset([".", ",", "!", "?", ";", ":", ")", "]", "}", "%", "''", "...", "”", "’", "»"])
_JOINED_TO_THE_RIGHT = frozenset(["(", "[", "{", "$", "#", "``", "“", "‘", "«", "`"])
_CLITICS = frozenset(["n't", "'s", "'m", "'d", "'ll", "'re", "'ve"])
_PAIRS = frozenset(
    [("can", "not"), ("gim", "me"), ("gon", "na"), ("got", "ta"), ("lem", "me"), ("more", "'n"), ("wan", "na")]
)
_WRITTEN = {
    "-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}", "``": '"', "''": '"', "`": "'"
}  # fmt: skip


def detokenise(tokens: Iterable[str]) -> str:
    """Join tokens into a sentence: "a man 's dog" becomes "a man's dog", "do n't" becomes "don't".

    Args:
        tokens: of either tokenizer, `ptb` or `words`.

    Example:
        >>> detokenise(["a", "man", "'s", "dog", "does", "n't", "sit", ",", "``", "he", "''", "says", "."])
        'a man\\'s dog doesn\\'t sit, "he" says.'
    """
    text, before, quoted = "", "", False
    for token in tokens:
        mark = _WRITTEN.get(token, token) if token.startswith("-") else token
        if mark == "'":  # opens a quotation, closes it, or makes a possessive (dogs')
            quoted = not quoted and not before.endswith("s")
            mark = "`" if quoted else "''"
            written = "'"
        else:
            written = _WRITTEN.get(mark, mark)
        joined = (
            mark in _JOINED_TO_THE_LEFT
            or mark in _CLITICS
            or (before, mark) in _PAIRS
            or before in _JOINED_TO_THE_RIGHT
        )
        text += written if joined or not text else " " + written
        before = mark
    return text
