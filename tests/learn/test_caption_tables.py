"""The tables of captioners: every row is a recipe, and what is said follows the figures."""

import pytest

from seetell.learn.recipes import load
from seetell.learn.tables import table


@pytest.mark.parametrize("name", ["xu-table1", "vaishali"])
def test_rows_are_caption_recipes(name: str) -> None:
    for row in table(name).rows:
        recipe = load(row, dataset="flickr8k")
        assert recipe.family == "captions"
        assert recipe.row


def test_what_xu_published() -> None:
    assert table("xu-table1").rows == ("attend-soft", "attend-hard", "best-caption")
    found = {row: load(row).published["flickr8k"]["bleu4_no_bp"] for row in ("attend-soft", "attend-hard")}
    assert found == {"attend-soft": 19.5, "attend-hard": 21.3}


def test_what_is_said_follows_the_figures() -> None:
    says = table("xu-table1").says
    assert says({"attend-soft": [{"bleu4_no_bp": 20.0}]}) == []
    results = {"attend-soft": [{"bleu4_no_bp": 20.0}], "attend-hard": [{"bleu4_no_bp": 21.0}, {"bleu4_no_bp": 17.0}]}
    assert says(results)[0].endswith("is 19.0 with hard attention and 20.0 with soft: unlike in the document.")
    order = table("vaishali").says({"merge": [{"cider": 40.0}], "initial": [{"cider": 45.0}]})
    assert order == ["By CIDEr: initial 45.0, merge 40.0."]
