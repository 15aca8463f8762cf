"""A table reproduced on a few scenes with an untrained network: rows are trained once, and the page holds them."""

from pathlib import Path

import pytest

from seetell.errors import SeetellError
from seetell.learn.page import Command, Figure, Heading, Page, Paragraph, Table
from seetell.learn.recipes import load
from seetell.learn.reproduce import reproduce, write_page
from seetell.learn.tables import TABLES, full_network_says, published_figures, starts_say, table, triplets_say

SMALL = [
    "encoder.name=test_efficientnet@random",
    "model.dimensions=16",
    "model.word_dimensions=8",
    "phases.epochs=1",
    "phases.batch=16",
]


def test_rows_are_trained_once_and_put_beside_what_was_published(tmp_path: Path) -> None:
    said: list[str] = []
    page = reproduce(
        table("vilalta-table2"), ["scenes:60"], tmp_path, rows=["FNE-SH", "fc7-sh"], settings=SMALL, say=said.append
    )
    text = page.read_text(encoding="utf-8")
    published = load("fne-sh").published["flickr8k"]["image_to_text"]
    assert f"| FNE-SH, published | {published['r1']} | {published['r5']} |" in text
    assert "**FC7-SH, measured**" in text
    assert "Not run here: FC7-SH-bl" in text
    assert "budget `two-cores`" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        *("runs", "vilalta-table2.md", "vilalta-table2.html", "vilalta-table2.png"),
    }
    trained = [line for line in said if line.startswith("epoch")]
    assert len(trained) == 2
    reproduce(table("vilalta-table2"), ["scenes:60"], tmp_path, rows=["FC7-SH"], settings=SMALL, say=said.append)
    assert [line for line in said if line.startswith("epoch")] == trained
    assert write_page(table("vilalta-table2"), ["scenes:60"], tmp_path).read_text(encoding="utf-8") == text


def test_seeds_and_starts(tmp_path: Path) -> None:
    rows = ["table5-fc7-moe-bl"]
    page = reproduce(table("vilalta-table5"), ["scenes:60"], tmp_path, rows=["FC7-MOE-bl"], settings=SMALL, seeds=2)
    assert "2 seeds" in page.read_text(encoding="utf-8")
    assert "Runs that started to learn: FC7-MOE-BL " in page.read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {rows[0], f"{rows[0]}-seed2"}


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match="no table 'vilalta-table9'"):
        table("vilalta-table9")
    with pytest.raises(SeetellError, match="no row 'FNE-XX'"):
        reproduce(table("vilalta-table2"), ["scenes:60"], tmp_path, rows=["FNE-XX"])
    with pytest.raises(SeetellError, match="no row has been trained yet"):
        write_page(table("vilalta-table2"), ["scenes:60"], tmp_path)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_is_a_recipe(name: str) -> None:
    for row in TABLES[name].rows:
        assert load(row).name == row


def test_published_sum_of_recalls() -> None:
    """27.3 + 56.8 + 69.3 + 21.2 + 47.1 + 59.7, Table 2 of Vilalta et al."""
    assert published_figures(load("fne-mh").published["flickr8k"])["sum_of_recalls"] == pytest.approx(281.4)


def one(value: float) -> list[dict[str, float]]:
    return [{"sum_of_recalls": value}]


def test_what_a_page_says_follows_from_the_figures() -> None:
    wins = {"fc7-sh": one(240), "fne-sh": one(260), "fc7-mh": one(245), "fne-mh": one(268)}
    first, second = full_network_says(wins)
    assert "in 2 of the 2 pipelines" in first
    assert "SH +20.0, MH +23.0; on average +21.5" in first
    assert second.endswith("the first holds and the second holds.")
    first, second = full_network_says({**wins, "fne-sh": one(230), "fne-mh": one(250)})
    assert "in 1 of the 2" in first
    assert second.endswith("the first does not hold and the second does not hold.")
    assert full_network_says({"fne-sh": one(3)}) == []
    assert "as in the document" in triplets_say({"two-branch-k1": one(200), "two-branch-k10": one(50)})[0]
    assert "unlike" in triplets_say({"two-branch-k1": one(200), "two-branch-k10": one(190)})[0]
    assert "A 1/2" in starts_say({"table5-a": [{"started": 1.0}, {"started": 0.0}]})[0]


def test_a_page_in_markdown_and_html() -> None:
    page = Page("A & B")
    page.add(Heading("Head"), Paragraph("1 < 2"), Command("seetell x\n  y"), Table(["", "n"], [["a|b", "1"]]))
    page.add(Figure("f.png", "a figure"))
    assert page.markdown() == (
        "# A & B\n\n## Head\n\n1 < 2\n\n    seetell x\n      y\n\n"
        "|  | n |\n| --- | ---: |\n| a\\|b | 1 |\n\n![a figure](f.png)\n"
    )
    html = page.html()
    assert "<h1>A &amp; B</h1>" in html
    assert "<p>1 &lt; 2</p>" in html
    assert "<td>a|b</td><td>1</td>" in html
    assert '<img src="f.png" alt="a figure">' in html
