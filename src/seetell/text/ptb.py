"""The tokenizer that caption metrics are defined with.

`ptb` agrees with pycocoevalcap: the PTB tokenizer of Stanford CoreNLP 3.4.1, lower-cased, and then without punctuation.
It needs no Java: it was written by observing the original on some 400,000 words and on all short strings over small
alphabets.

The original is a lexer: of the rules that match at a position the longest match wins, and of equally long ones the
first; the lookahead of a rule counts towards its length. `_RULES` follows that.

There are two deliberate differences. The original looks across the end of a caption that closes with an initial
("Highway 5 S."), so that the result depends on the next caption; here, captions are independent. And no token contains
white space: a telephone number or "2 1/2", one token there, is split here, as BLEU and CIDEr split at white space.
"""

import re
from collections.abc import Callable
from functools import cache

# Letters with the marks that combine with them: Python's \w less digits, underscore, superscripts and fractions.
_L = (
    "A-Za-zªµºÀ-ÖØ-öø-\u02c1\u02c6-\u1fff\u2c00-\u2dff\u3005-\u3007\u3031-\u3035\u3040-\u30fa\u30fc-\ud7ff\uf900-\ufdff"
    "\ufe70-\ufefc\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc"
)
_LD = _L + "0-9"
_HYPHEN = "[-\u058a\u2010\u2011]"
_APOSTROPHE = "['’\x92]"
_ANY_APOSTROPHE = "['’\x92‘‛`\x91]"


def _words(text: str) -> list[str]:
    return text.split()


# Abbreviations that keep their full stop in upper and lower case: titles, …
_TITLES = _words(
    "adj adm adv alex assoc asst atty ave brig capt cf cie cmdr col comdr cpl dept det dr drs elec ens ft gen gov "
    "govs hon insp invt jos lieut lt maj messrs mfg mlle mme mr mrs ms msgr mt mtg natl pfc ph pres prof profs pvt "
    "rep reps rev sen sens sfc sgt spc st ste supt treas vs wm"
)
# … those that may also end a sentence, …
_ENDINGS = _words(
    "al ala apr ariz assn aug bancorp bhd bldg blvd bros calif co colo conn corp cos ct dak dec ed.d esq est etc ext "
    "feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo mon mont neb nev nov oct okla "
    "penn ph.d plc ppte ppty pptys pte ptes pty ptys rd rt sep sept seq sq sr sys tel tenn thu thurs tue tues univ va "
    "vt wed wis wisc wyo"
)
ABBREVIATIONS = _TITLES + _ENDINGS
# … those that are ordinary words without a capital, …
_CAPITALISED_ABBREVIATIONS = _words("Ark Az Del Ill La Mass Miss Ore Pa Tex Wash")
# … and those that only precede a number.
ABBREVIATIONS_OF_NUMBERS = _words("art ca fig figs no nos op pp prop")
# Before one of these, the full stop after a single letter ends the sentence.
_SENTENCE_STARTS = _words(
    "A About According Additionally After An As At But Earlier He Her Here However If In It Last Many More Mr. Ms. "
    "Now Once One Other Our She Since So Some Such That The Their Then There These They This We What When While Yet "
    "You"
)

_SPLIT = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}
# pycocoevalcap removes brackets by their upper-case names, but after lower-casing: so brackets stay.
_SYMBOLS = {
    "(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-",
    "£": "#", "€": "$", "¤": "$", "₠": "$", "\x80": "$", "¢": "cents",
    "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3",
    "“": "``", "«": "``", "\x93": "``", "”": "''", "»": "''", "\x94": "''", '"': "''",
    "‘": "`", "‛": "`", "‹": "`", "\x91": "`", "’": "'", "›": "'", "\x92": "'",
    "–": "--", "—": "--", "―": "--", "\x96": "--", "\x97": "--", "…": "...",
    "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'", "&nbsp;": "", "&mdash;": "--", "&ndash;": "--",
}  # fmt: skip
_REMOVED = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";", ""])


def _any_of(words: list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _symbol(token: str) -> str:
    return _SYMBOLS.get(token, token)


def _each_symbol(token: str) -> str:
    return "".join(_SYMBOLS.get(character, character) for character in token)


def _brackets(token: str) -> str:
    return token.replace("(", "-lrb-").replace(")", "-rrb-")


def _straight(token: str) -> str:
    return re.sub("[’\x92]", "'", token).replace("‘", "`")


def _dash(token: str) -> str:
    return token if len(token) > 4 else "--"


def _ellipsis(token: str) -> str:
    return "..."


def _ampersand(token: str) -> str:
    return token.replace("&amp;", "&")


_Change = Callable[[str], str]
_RULES: list[tuple[str, _Change | None]] = []


def _rule(token: str, ahead: str = "", change: _Change | None = None) -> None:
    """Add a rule: group 1 of its pattern is the token, the rest is its lookahead."""
    _RULES.append((f"({token}){ahead}", change))


# Addresses, names on networks, markup
_NO = r'\s"<>|()'
_END = _NO + r".!?{},-"
_PATH = rf"[^{_NO}]+[^{_END}]"
_EMAIL = rf"[A-Za-z0-9][^{_NO}]*@(?:[^{_NO}.]+\.)*[^{_NO}.]+"
_TAG = r"[A-Za-z][A-Za-z0-9_:.-]*"
_ATTRIBUTE = rf'\s+{_TAG}(?:\s*=\s*(?:"[^"]*"|\'[^\']*\'))?'
_rule(rf"(?i:https?://){_PATH}")
_rule(rf"(?i:www)\.(?:[^{_NO}.!?{{}},]+\.)+[A-Za-z]{{2,4}}(?:/{_PATH})?")
_rule(rf"[{_L}][{_LD}]*(?:\.[{_L}][{_LD}]*)*\.(?i:com|net|org|edu)/{_PATH}")
_rule(_EMAIL)
_rule(r"@[A-Za-z_][A-Za-z_0-9]*")
_rule(rf"#[{_L}]+")
_rule(rf"<!?{_TAG}(?:{_ATTRIBUTE})*\s*/?\s*>|<\?{_TAG}(?:{_ATTRIBUTE})*\s*\?>|</{_TAG}\s*>|<!--.*?-->|<{_EMAIL}>")

# Contractions. The word before one ends there; `n't` includes the n.
_CLITIC = f"{_APOSTROPHE}(?i:s|m|d|ll|re|ve)"
_rule(rf"[{_L}]*(?![nN])[{_L}]", f"[nN]{_ANY_APOSTROPHE}[tT]")
_rule(rf"[{_L}]+", rf"{_CLITIC}(?:[^{_L}]|$)")
_rule(_CLITIC, f"(?:[^{_L}]|$)", _straight)
_rule(f"[nN]{_ANY_APOSTROPHE}[tT]", "", _straight)
_rule(f"[yY]{_APOSTROPHE}", f"[{_L}]")
_rule(f"(?i:{_APOSTROPHE}(?:em|till?|cause|n{_APOSTROPHE}?)|[djl]{_APOSTROPHE}|ol{_APOSTROPHE})")
_rule("'[tT]", "(?i:is|was)")
_rule(rf"{_APOSTROPHE}[2-9]0s|{_APOSTROPHE}\d\d(?=\s|$)")
_rule("'", rf"[{_L}]\S")  # an opening quotation mark
_rule(_CLITIC, "", _straight)

# Words that keep their apostrophe: O'Neil, d'art, T'Pol; Hawai'i, ma'am; and some by name
_NAME = rf"(?:[dloDLO]{_ANY_APOSTROPHE}[{_LD}]{{2,}}|[A-HJ-XZ]{_ANY_APOSTROPHE}[{_L}]{{2,}})"
_rule(
    rf"{_NAME}|n{_ANY_APOSTROPHE}[{_L}]{{2,}}|[{_L}]+[aeiouyAEIOUY]{_ANY_APOSTROPHE}[aeiouA-Z][{_L}]*|o{_ANY_APOSTROPHE}o"
)
_KEPT = _words("c'est c'mon cap'n dunkin' e'er ev'ry li'l nat'l nor'easter o'er s'mores somethin'")
_rule(f"(?i:{'|'.join(_KEPT)})".replace("'", _ANY_APOSTROPHE))

# Numbers
_rule(r"[-+±]?[.,:]?\d+(?:[.,:]\d+)*")
_rule(r"(?:\d{1,4}[-\s])?\d{1,4}[/\u2044]\d{1,4}")
_rule(r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}")
_rule(r"(?:\(\d{2,4}\)\s?|\+?\d{2,4}[-\s](?:\d{2,4}[-\s])?)\d{3,4}[-\s]?\d{3,5}", "", _brackets)

# Abbreviations, and words with full stops inside; those that may end a sentence look two characters ahead
_rule(rf"[{_L}][{_LD}]*(?:[.!?][{_L}][{_LD}]*)+")
_STARTS = _SENTENCE_STARTS + [word.upper() for word in _SENTENCE_STARTS]
_rule(f"[{_L}]", rf"\.\s+(?:{_any_of(_STARTS)})(?:\s|$)")
_rule(rf"[{_L}](?:\.[{_L}])*\.?")
_rule(rf"(?i:{_any_of(ABBREVIATIONS)})\.")
_CAPITALISED = "|".join(f"{word[0]}(?i:{word[1:]})" for word in _CAPITALISED_ABBREVIATIONS)
_rule(rf"(?:{_CAPITALISED}|(?i:{_any_of(_ENDINGS)}))\.", r"(?s:..)?")
_rule(rf"(?i:{_any_of(ABBREVIATIONS_OF_NUMBERS)})\.", r"\s?\d")
_rule(rf"(?:{_NAME}|[{_L}][{_LD}]*(?:\.[{_L}][{_LD}]*)+|[{_LD}]+(?:(?:_|[.,]*-)[{_LD}]+)*)\.", "[,;:]")

# Words: plain, hyphened, with strokes, underscores, and full stops or exclamation marks inside
_rule(f"[{_LD}\xad]+", "", lambda token: token.replace("\xad", ""))
_rule(rf"(?:{_NAME}|[{_LD}][{_LD}.,]*)(?:{_HYPHEN}(?:{_NAME}|[{_LD}]+))+")
_rule(rf"[{_LD}][{_LD}.,]*(?:{_HYPHEN}[{_LD}]+)*{_HYPHEN}[{_L}](?:\.[{_L}])+\.")
_rule("(?i:anti|pro)-")
_rule(r"[A-Za-z0-9]+(?:-[A-Za-z]+)*(?:\\?/[A-Za-z0-9]+(?:-[A-Za-z]+)*){1,2}")
_rule(rf"[{_LD}]+(?:[-_][{_LD}]+)+")
_rule(r"[A-Z]+(?:(?:\+|&(?:amp;)?)[A-Z]+)+", "", _ampersand)

# Symbols
_rule(r"&(?i:lt|gt|quot|apos|nbsp|mdash|ndash|#\d+);", "", _symbol)
_rule(r"&(?:(?i:amp);)?", "", _ampersand)
_rule(r"[A-Z]+\$|[Cc]\+\+|[CFcf]#")
_rule(r"[<>]?[:;=][-o*']?[()DPdpO\\{@|\[\]](?![A-Za-z0-9])", "", _brackets)
_rule(r"\^_\^|-_-|[oO]_[oO]|>_>|<_<|T_T")
_rule(r"[!?]+|\*+|_+|@+|#+|>>|<<|''|``")
_rule(r"--+", "", _dash)
_rule(r"\.\.\.+|\.\s\.\s\.", "", _ellipsis)
_rule("[“”‘’«»‹›‛]{2}", "", _each_symbol)
_rule(
    r"[!-/:-@\[-`{-~¡-©«¬®-´¶-¹»-¿×÷\x80\x91-\x94\x96\x97\u2013-\u2042\u2044\u2070-\u208e\u20a0\u20a4\u20ac\u2100-\u2bff"
    r"\u3001\u3002\uffe5]",
    "",
    _symbol,
)
# What no rule matches (emoji, control characters, unassigned code points) is skipped.

# Nearly every caption is words, commas and a full stop: these two give the same tokens as the rules, faster.
_PLAIN_WORDS = re.compile(r'(?:[A-Za-z]+(?:-[A-Za-z]+)*,?(?:[\s"]+|$))+')
_PLAIN_END = re.compile(r'([A-Za-z]{2,})\.(?:[\s"]+|$)')
_BLANK = re.compile(r"""(?:[\s"]|[.,;:!?'-](?=\s|$))+""")
_NOT_A_WORD = re.compile('[,"]')
_MAY_KEEP_FULL_STOP = frozenset(
    [*ABBREVIATIONS, *ABBREVIATIONS_OF_NUMBERS, *(word.lower() for word in _CAPITALISED_ABBREVIATIONS)]
)


def ptb(text: str) -> list[str]:
    """Tokenize a caption as pycocoevalcap does: lower case, without punctuation.

    Args:
        text: a caption.

    Example:
        >>> ptb('A man\\'s dog doesn\\'t fetch the "frisbee", e.g. in the U.S.')
        ['a', 'man', "'s", 'dog', 'does', "n't", 'fetch', 'the', 'frisbee', 'e.g.', 'in', 'the', 'u.s.']
    """
    tokens: list[str] = []
    position, end = 0, len(text)
    while position < end:
        if match := _PLAIN_WORDS.match(text, position):
            words = _NOT_A_WORD.sub(" ", match.group().lower()).split()
            if _SPLIT.keys().isdisjoint(words):
                tokens += words
            else:
                tokens += [part for word in words for part in _SPLIT.get(word, (word,))]
            position = match.end()
        elif match := _BLANK.match(text, position):
            position = match.end()
        elif (match := _PLAIN_END.match(text, position)) and match[1].lower() not in _MAY_KEEP_FULL_STOP:
            word = match[1].lower()
            tokens += _SPLIT.get(word, (word,))
            position = match.end()
        else:
            position, found = _longest(text, position)
            tokens += found
    return tokens


@cache
def _compiled() -> list[tuple[re.Pattern[str], _Change | None]]:
    """The rules, compiled on first use: that takes a tenth of a second."""
    return [(re.compile(pattern), change) for pattern, change in _RULES]


def _longest(text: str, position: int) -> tuple[int, list[str]]:
    """Apply the rule with the longest match at `position`; returns the end of the match, and the tokens."""
    reach, end, change = position, position + 1, None
    for pattern, rule_change in _compiled():
        match = pattern.match(text, position)
        if match is not None and match.end() > reach:
            reach, end, change = match.end(), match.end(1), rule_change
    if reach == position:
        return end, []
    token = text[position:end].lower()
    if change is not None:
        token = change(token)
    if reach == end and token in _SPLIT:
        return end, list(_SPLIT[token])
    return end, [part for part in token.split() if part not in _REMOVED]
