"""A retrieval sheet as one image: queries, what should have been found and what was, with matching words marked.

A mark is a line under the word and a tint behind it, in the colour of its meaning; from the seventh meaning on, colours
are reused with a dashed line, then with a dotted one. The words themselves stay dark, readable without colour vision.
"""

import unicodedata
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageOps

from seetell.data import Record
from seetell.errors import ImageError
from seetell.evaluation.retrieval_sheet import CaptionQuery, ImageQuery, Sheet
from seetell.evaluation.word_matches import MarkedText
from seetell.figures.sheet import GAP, INK, PALE, PAPER, font, wrapped
from seetell.images import decode

Colour = tuple[int, int, int]

# After Okabe and Ito, whose colours colour-blind readers can distinguish; without the palest, the others darkened until
# a line has a contrast of 3 : 1 against white paper.
MEANINGS: tuple[Colour, ...] = (
    (0, 114, 178),
    (213, 94, 0),
    (0, 140, 102),
    (176, 84, 138),
    (168, 116, 0),
    (92, 92, 98),
)
RIGHT, WRONG = (0, 122, 82), (196, 60, 0)

SIDE = 220  # of a query's image
COLUMN = 380  # of the text next to it
SMALL = 170  # of an image that was found
TEXT, LINE = 15, 22


def draw_sheet(sheet: Sheet) -> Image.Image:
    """The whole sheet, image queries first."""
    parts = [_words(sheet.title, COLUMN * 2, 24)]
    if sheet.images:
        parts.append(_words("Images, and the captions they find", COLUMN * 2, 18))
    parts += [_image_query(query) for query in sheet.images]
    if sheet.captions:
        parts.append(_words("Captions, and the images they find", COLUMN * 2, 18))
    parts += [_caption_query(query) for query in sheet.captions]
    return _framed(_below(parts, 2 * GAP))


def open_small(record: Record, side: int) -> Image.Image:
    """A record's image, no side longer than `side`; a grey square where it cannot be read."""
    try:
        image = decode(record.image.read(), name=record.image.name, at_least=side)
    except ImageError:
        return Image.new("RGB", (side, side), (190, 190, 190))
    return ImageOps.contain(image, (side, side))


def _image_query(query: ImageQuery) -> Image.Image:
    left = _below([open_small(query.record, SIDE), _words(f"first right answer: rank {query.rank}", SIDE, 13, PALE)])
    own = _below([_words("Its captions", COLUMN, 13, PALE), *(_text(each, COLUMN) for each in query.captions)], 6)
    found = [_side_by_side([_verdict(each.right), _text(each.caption, COLUMN)]) for each in query.found]
    return _side_by_side([left, own, _below([_words("Found", COLUMN, 13, PALE), *found], 6)])


def _caption_query(query: CaptionQuery) -> Image.Image:
    heading = _text(query.caption, COLUMN * 2)
    cells = [_below([open_small(query.record, SMALL), _words(f"its image: rank {query.rank}", SMALL, 13, PALE)])]
    for each in query.found:
        image = ImageOps.expand(open_small(each.record, SMALL - 8), 4, RIGHT if each.right else WRONG)
        cells.append(_below([image, _verdict(each.right), _text(each.caption, SMALL)], 4))
    return _below([heading, _side_by_side(cells)])


def _text(marked: MarkedText, width: int) -> Image.Image:
    """A marked text in lines of at most `width` pixels."""
    lines = _lines(_drawable(marked.text), width)
    image = Image.new("RGB", (width, LINE * max(1, len(lines))), PAPER)
    draw = ImageDraw.Draw(image)
    for number, words in enumerate(lines):
        top = number * LINE
        for x, start, word in words:
            for mark in marked.marks:
                if start <= mark.start and mark.end <= start + len(word):
                    before = font(TEXT).getlength(word[: mark.start - start])
                    until = font(TEXT).getlength(word[: mark.end - start])
                    _mark(draw, (x + before, top, x + until, top + LINE - 3), mark.meaning)
            draw.text((x, top), word, fill=INK, font=font(TEXT))
    return image


def _drawable(text: str) -> str:
    """A text of the same length in letters of Pillow's font, which has no accents and no dashes."""
    bare = (unicodedata.normalize("NFKD", character)[0] for character in text)
    return "".join("-" if unicodedata.category(character) == "Pd" else character for character in bare)


def _lines(text: str, width: int) -> list[list[tuple[float, int, str]]]:
    """Words as (x, index in the text, word), line by line."""
    lines: list[list[tuple[float, int, str]]] = [[]]
    x, index = 0.0, 0
    for word in text.split():
        index = text.index(word, index)
        length = font(TEXT).getlength(word)
        if lines[-1] and x + length > width and word[0].isalnum():  # a full stop never stands alone
            lines.append([])
            x = 0.0
        lines[-1].append((x, index, word))
        x += length + font(TEXT).getlength(" ")
        index += len(word)
    return lines


def _mark(draw: ImageDraw.ImageDraw, box: tuple[float, float, float, float], meaning: int) -> None:
    left, top, right, bottom = box
    colour = MEANINGS[meaning % len(MEANINGS)]
    draw.rectangle((left - 1, top, right, bottom), fill=_tint(colour))
    style = meaning // len(MEANINGS)
    dash = {0: right - left + 1, 1: 5}.get(style, 2)  # pixels of line, and then of gap
    x = left - 1
    while x < right:
        draw.rectangle((x, bottom - 1, min(x + dash, right), bottom + 1), fill=colour)
        x += 2 * dash


def _tint(colour: Colour) -> Colour:
    red, green, blue = (round(255 - 0.18 * (255 - value)) for value in colour)
    return red, green, blue


def _verdict(right: bool) -> Image.Image:
    """A tick or a cross: Pillow's font has neither."""
    image = Image.new("RGB", (18, 18), PAPER)
    draw = ImageDraw.Draw(image)
    if right:
        draw.line([(2, 9), (7, 14), (16, 3)], fill=RIGHT, width=3)
    else:
        draw.line([(3, 3), (15, 15)], fill=WRONG, width=3)
        draw.line([(15, 3), (3, 15)], fill=WRONG, width=3)
    return image


def _words(text: str, width: int, size: int, colour: Colour = INK) -> Image.Image:
    lines = wrapped(text, width, size)
    image = Image.new("RGB", (width, round(1.4 * size) * max(1, len(lines))), PAPER)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((0, number * round(1.4 * size)), line, fill=colour, font=font(size))
    return image


def _below(parts: Sequence[Image.Image], gap: int = GAP) -> Image.Image:
    joined = Image.new("RGB", (max(p.width for p in parts), sum(p.height + gap for p in parts) - gap), PAPER)
    y = 0
    for part in parts:
        joined.paste(part, (0, y))
        y += part.height + gap
    return joined


def _side_by_side(parts: Sequence[Image.Image], gap: int = GAP) -> Image.Image:
    joined = Image.new("RGB", (sum(p.width + gap for p in parts) - gap, max(p.height for p in parts)), PAPER)
    x = 0
    for part in parts:
        joined.paste(part, (x, 0))
        x += part.width + gap
    return joined


def _framed(image: Image.Image) -> Image.Image:
    return ImageOps.expand(image, 2 * GAP, PAPER)
