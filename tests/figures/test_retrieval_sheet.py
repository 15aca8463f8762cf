"""Retrieval sheets as images and as a page."""

import base64
import io
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from seetell.data import Record
from seetell.errors import ImageError
from seetell.evaluation.retrieval_sheet import EmbeddedSplit, Sheet, retrieval_sheets
from seetell.evaluation.word_matches import Mark, MarkedText
from seetell.figures import retrieval_page, retrieval_sheet
from seetell.figures.retrieval_page import DARK_INK, DARK_MEANINGS, DARK_PAPER, DARK_RIGHT, DARK_WRONG
from seetell.figures.retrieval_sheet import MEANINGS, RIGHT, WRONG, draw_sheet
from seetell.figures.sheet import INK, PALE, PAPER
from seetell.text import WordVectors

NASTY = 'A <script>alert("dog")</script> & a cat\'s café – <b>big</b>'


@dataclass(frozen=True)
class Plain:
    """An image of one colour."""

    name: str
    colour: tuple[int, int, int]

    def read(self) -> bytes:
        stream = io.BytesIO()
        Image.new("RGB", (400, 300), self.colour).save(stream, format="PNG")
        return stream.getvalue()


@dataclass(frozen=True)
class Gone:
    name: str = "gone.jpg"

    def read(self) -> bytes:
        raise ImageError("there is no such file", where=self.name)


@pytest.fixture
def sheets() -> dict[str, Sheet]:
    records = [
        Record("<red>.png", Plain("red.png", (200, 0, 0)), (NASTY, "a dog and a cat")),
        Record("gone.jpg", Gone(), ("a puppy runs",)),
        Record("blue.png", Plain("blue.png", (0, 0, 200)), ("a boat",)),
    ]
    captions = [caption for record in records for caption in record.captions]
    random = np.random.default_rng(1)
    split = EmbeddedSplit(
        records, captions, random.normal(size=(3, 5)), random.normal(size=(4, 5)), np.array([0, 0, 1, 2])
    )
    vectors = WordVectors(["dog", "puppy", "cat"], np.array([[1, 0], [0.9, 0.3], [0, 1]], dtype=np.float32))
    return retrieval_sheets(split, vectors, count=3, k=3)


class Reader(HTMLParser):
    """What a browser would see: every element with its attributes, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def test_the_page_holds_everything_and_asks_for_nothing(sheets: dict[str, Sheet]) -> None:
    page = retrieval_page.retrieval_page(sheets, "What <it> finds", "a & b")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert "script" not in {tag for tag, _ in reader.elements}
    assert "link" not in {tag for tag, _ in reader.elements}
    assert "url(" not in page
    assert "What <it> finds" in reader.text
    assert "a & b" in reader.text
    assert NASTY in reader.text
    images = [attributes for tag, attributes in reader.elements if tag == "img"]
    assert len(images) == sum(1 for s in sheets.values() for _ in s.images) + sum(
        1 + len(query.found) for s in sheets.values() for query in s.captions
    )
    for attributes in images:
        source = attributes["src"] or ""
        assert source.startswith("data:image/jpeg;base64,")
        with Image.open(io.BytesIO(base64.b64decode(source.partition(",")[2]))) as image:
            assert str(image.width) == attributes["width"]
            assert max(image.size) <= retrieval_page.SIDE
        assert attributes["alt"]


def test_the_page_marks_what_the_sheet_marks(sheets: dict[str, Sheet]) -> None:
    page = retrieval_page.retrieval_page({"best": sheets["best"]}, "t")
    query = sheets["best"].images[0]
    for found in query.found:
        for mark in found.caption.marks:
            assert f"<mark class=m{mark.meaning}>{found.caption.text[mark.start : mark.end]}</mark>" in page
    verdicts = re.findall(r'aria-label="(right|wrong)"', page.partition("</p>")[2].partition("</article>")[0])
    assert verdicts == ["right" if found.right else "wrong" for found in query.found]
    assert "dog ⇔ puppy" in page
    used = set(re.findall(r"class=(m\d+)", page))
    assert all(f".{name} {{" in page for name in used)


def contrast(first: tuple[int, int, int], second: tuple[int, int, int]) -> float:
    """WCAG 2: (lighter + 0.05) / (darker + 0.05) of the relative luminances."""

    def luminance(colour: tuple[int, int, int]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    darker, lighter = sorted([luminance(first), luminance(second)])
    return (lighter + 0.05) / (darker + 0.05)


def test_colours_stand_out() -> None:
    for paper, ink, marks in ((PAPER, INK, MEANINGS), (DARK_PAPER, DARK_INK, DARK_MEANINGS)):
        assert contrast(paper, ink) > 7
        assert all(contrast(paper, mark) >= 3 for mark in marks)
    for colour, paper in (
        (PALE, PAPER),
        (RIGHT, PAPER),
        (WRONG, PAPER),
        (DARK_RIGHT, DARK_PAPER),
        (DARK_WRONG, DARK_PAPER),
    ):
        assert contrast(colour, paper) >= 4.5
    assert len(MEANINGS) == len(DARK_MEANINGS) == len({*MEANINGS}) == len({*DARK_MEANINGS})


def test_the_image_shows_queries_verdicts_and_marks(sheets: dict[str, Sheet]) -> None:
    image = draw_sheet(sheets["best"])
    pixels = {colour for _, colour in image.getcolors(1 << 24) or []}
    assert {(200, 0, 0), (0, 0, 200), (190, 190, 190)} <= pixels  # two images, and one that is gone
    assert {RIGHT, WRONG, MEANINGS[0], INK} <= pixels
    assert (0, 0, 0) not in pixels  # nothing was pasted beyond what there is
    assert image.tobytes() == draw_sheet(sheets["best"]).tobytes()


def test_marks_lie_under_their_words() -> None:
    text = "the orange hat " * 6 + "dog"
    at = text.index("dog")
    image = retrieval_sheet._text(MarkedText(text, (Mark(at, at + 3, 2),)), 200)
    pixels = np.asarray(image)
    rows, columns = np.nonzero((pixels == MEANINGS[2]).all(2))
    assert rows.min() > image.height - retrieval_sheet.LINE  # in the last line alone
    length = retrieval_sheet.font(retrieval_sheet.TEXT).getlength("dog")
    assert np.ptp(columns) + 1 == pytest.approx(length, abs=3)


def test_meanings_of_one_colour_differ_in_the_style_of_their_line() -> None:
    def gaps(meaning: int) -> int:
        image = np.asarray(retrieval_sheet._text(MarkedText("wheelbarrow", (Mark(0, 11, meaning),)), 200))
        line = (image == MEANINGS[0]).all(2).any(0)
        return int(np.count_nonzero(np.diff(line.astype(int), prepend=0) == 1)) - 1

    solid, dashed, dotted = (gaps(round * len(MEANINGS)) for round in range(3))
    assert 0 == solid < dashed < dotted


def test_letters_that_the_font_has_not_are_replaced() -> None:
    assert retrieval_sheet._drawable("café – niño") == "cafe - nino"


def test_a_sheet_without_captions_or_images_can_be_drawn() -> None:
    assert draw_sheet(Sheet("Nothing", (), ())).width > 100
    assert "Nothing" in retrieval_page.retrieval_page({"none": Sheet("Nothing", (), ())}, "t")
