"""Retrieval sheets as one self-contained HTML page, light or dark like the reader's system."""

import base64
import io
from collections.abc import Mapping
from html import escape

from seetell.data import Record
from seetell.evaluation.retrieval_sheet import CaptionQuery, ImageQuery, Sheet
from seetell.evaluation.word_matches import MarkedText, WordMatch, meanings
from seetell.figures.retrieval_sheet import MEANINGS, RIGHT, WRONG, Colour, open_small

SIDE, SMALL = 320, 200  # of images, in pixels: queries and what they find

DARK_INK, DARK_PAPER = (236, 236, 239), (24, 24, 27)
DARK_MEANINGS: tuple[Colour, ...] = (
    (86, 170, 232),
    (240, 134, 62),
    (38, 196, 150),
    (222, 140, 186),
    (236, 176, 48),
    (176, 176, 182),
)
DARK_RIGHT, DARK_WRONG = (60, 200, 150), (255, 138, 92)

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
h2 { margin-top: 3rem; }
article { border-top: 1px solid var(--line); padding: 1.2rem 0; }
.image { display: grid; grid-template-columns: minmax(10rem, 20rem) 1fr 1fr; gap: 1.5rem; align-items: start; }
@media (max-width: 50rem) { .image { grid-template-columns: 1fr; } }
.row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.row figure { width: 12rem; }
figure { margin: 0; }
figcaption { margin-top: .5rem; }
img { max-width: 100%; display: block; border-radius: 3px; }
.row figure.right img { outline: 4px solid var(--right); }
.row figure.wrong img { outline: 4px dashed var(--wrong); }
figcaption, .pairs, .rank { color: var(--pale); font-size: .9rem; }
figcaption q { color: var(--ink); quotes: none; }
h4 { margin: 0 0 .3rem; font-size: .9rem; color: var(--pale); }
ul, ol { margin: 0; padding: 0; list-style: none; }
li { margin-bottom: .5rem; }
blockquote { margin: 0 0 1rem; font-size: 1.15rem; }
.tick { color: var(--right); font-weight: 700; }
.cross { color: var(--wrong); font-weight: 700; }
mark { color: inherit; padding: 0 .1em; border-bottom: .16em solid var(--mark);
  background: color-mix(in srgb, var(--mark) 18%, transparent); }
.pairs { margin: 1rem 0 0; grid-column: 1 / -1; }
.pairs span { margin-right: 1rem; white-space: nowrap; }
"""


def retrieval_page(sheets: Mapping[str, Sheet], title: str, about: str = "") -> str:
    """A page with one section per sheet.

    Args:
        sheets: by name.
        title: of the page.
        about: a sentence on what was retrieved from: the dataset, the split, the scores.
    """
    sections = "\n".join(_section(name, sheet) for name, sheet in sheets.items())
    pairs = [query.pairs for sheet in sheets.values() for query in sheet.queries]
    meant = max((number for each in pairs for number in meanings(each).values()), default=-1) + 1
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><style>{_colours(meant)}{_STYLE}</style></head>
<body>
<h1>{escape(title)}</h1>
{f"<p>{escape(about)}</p>" if about else ""}
<p>{_verdict(True)} is right, {_verdict(False)} is wrong. Words with similar meanings, by the cosine of their word
vectors, have the same mark within a query; the pairs are listed below it.</p>
{sections}
</body></html>
"""


def _section(name: str, sheet: Sheet) -> str:
    images = "\n".join(_image_query(query) for query in sheet.images)
    captions = "\n".join(_caption_query(query) for query in sheet.captions)
    return (
        f'<section id="{escape(name)}"><h2>{escape(sheet.title)}</h2>\n'
        f"<h3>Images, and the captions they find</h3>\n{images}\n"
        f"<h3>Captions, and the images they find</h3>\n{captions}\n</section>"
    )


def _image_query(query: ImageQuery) -> str:
    own = "\n".join(f"<li>{_text(caption)}</li>" for caption in query.captions)
    found = "\n".join(
        f"<li>{_verdict(each.right)} {_text(each.caption)} <span class=rank>{each.score:.3f}</span></li>"
        for each in query.found
    )
    return f"""<article class="image">
<figure>{_image(query.record, SIDE)}<figcaption>{escape(query.record.key)}<br>
first right answer: rank {query.rank:,}</figcaption></figure>
<div><h4>Its captions</h4><ul>
{own}
</ul></div>
<div><h4>Found</h4><ol>
{found}
</ol></div>
{_pairs(query.pairs)}</article>"""


def _caption_query(query: CaptionQuery) -> str:
    found = "\n".join(
        f'<figure class="{"right" if each.right else "wrong"}">{_image(each.record, SMALL)}'
        f"<figcaption>{_verdict(each.right)} {each.score:.3f} <q>{_text(each.caption)}</q></figcaption></figure>"
        for each in query.found
    )
    return f"""<article><blockquote>{_text(query.caption)}</blockquote>
<div class="row">
<figure>{_image(query.record, SMALL)}<figcaption>its image: rank {query.rank:,}</figcaption></figure>
{found}
</div>
{_pairs(query.pairs)}</article>"""


def _text(marked: MarkedText) -> str:
    parts, end = [], 0
    for mark in marked.marks:
        word = escape(marked.text[mark.start : mark.end])
        parts += [escape(marked.text[end : mark.start]), f"<mark class=m{mark.meaning}>{word}</mark>"]
        end = mark.end
    return "".join([*parts, escape(marked.text[end:])])


def _pairs(pairs: tuple[WordMatch, ...]) -> str:
    number = meanings(pairs)
    listed = [
        f"<span><mark class=m{number[pair.own]}>{escape(pair.own)} ⇔ {escape(pair.found)}</mark>"
        + ("" if pair.own == pair.found else f" {pair.cosine:.2f}")
        + "</span>"
        for pair in sorted(pairs, key=lambda pair: (number[pair.own], -pair.cosine))
    ]
    return f'<p class="pairs">{" ".join(listed)}</p>' if listed else ""


def _verdict(right: bool) -> str:
    kind, sign, name = ("tick", "✓", "right") if right else ("cross", "✗", "wrong")
    return f'<span class={kind} role=img aria-label="{name}">{sign}</span>'


def _image(record: Record, side: int) -> str:
    image = open_small(record, side)
    stream = io.BytesIO()
    image.save(stream, format="JPEG", quality=82)
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    alt = escape(record.captions[0] if record.captions else record.key)
    return f'<img width={image.width} height={image.height} alt="{alt}" src="data:image/jpeg;base64,{data}">'


def _colours(count: int) -> str:
    """The colours as variables, for light and dark, and one class per meaning."""
    light = _variables((28, 28, 30), (255, 255, 255), (96, 96, 104), (220, 220, 224), RIGHT, WRONG, MEANINGS)
    dark = _variables(DARK_INK, DARK_PAPER, (168, 168, 176), (58, 58, 64), DARK_RIGHT, DARK_WRONG, DARK_MEANINGS)
    styles = ("solid", "dashed", "dotted")
    classes = "".join(
        f".m{number} {{ --mark: var(--m{number % len(MEANINGS)}); "
        f"border-bottom-style: {styles[min(number // len(MEANINGS), 2)]}; }}\n"
        for number in range(count)
    )
    return f"""
:root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
{classes}"""


def _variables(
    ink: Colour, paper: Colour, pale: Colour, line: Colour, right: Colour, wrong: Colour, marks: tuple[Colour, ...]
) -> str:
    named = {"ink": ink, "paper": paper, "pale": pale, "line": line, "right": right, "wrong": wrong}
    named |= {f"m{number}": colour for number, colour in enumerate(marks)}
    return " ".join(f"--{name}: #{r:02x}{g:02x}{b:02x};" for name, (r, g, b) in named.items())
