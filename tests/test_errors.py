"""Errors name the problem, where it is, and the remedy."""

from seetell.errors import ImageError, MissingExtraError, SeetellError


def test_where_problem_remedy_in_one_line() -> None:
    error = SeetellError("the caption is empty", where="captions.txt:12", remedy="Delete the line")
    assert str(error) == "captions.txt:12: the caption is empty. Delete the line"


def test_parts_may_be_left_out() -> None:
    assert str(ImageError("this is not an image")) == "this is not an image"


def test_a_missing_extra_says_how_to_install_it() -> None:
    assert "pip install 'seetell[learn]'" in str(MissingExtraError("PyTorch", "learn"))
