"""The demo, with a toy model instead of the built-in one."""

import io
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from helpers.tiny_bundles import write_colours
from seetell.errors import SeetellError

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def _examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_it_captions_matches_and_searches_every_photograph(tmp_path: Path) -> None:
    import demo
    from samples import SAMPLES

    bundle = write_colours(tmp_path / "colours")
    console = Console(file=io.StringIO(), width=200, highlight=False)
    for _ in range(2):  # a second time in the same folder, too
        demo.main(str(bundle.path), tmp_path / "out", console=console)
    text = console.file.getvalue()
    assert all(text.count(f"\n{sample.name}") + text.startswith(sample.name) >= 2 for sample in SAMPLES)
    assert all(f"Search: {search}" in text for search in demo.SEARCHES)
    assert all(text.count(each) == 2 for each in demo.TEXTS)
    credits = (tmp_path / "out" / "photographs" / "CREDITS.txt").read_text(encoding="utf-8")
    for sample in SAMPLES:
        assert f"{sample.name}: {sample.credit}" in credits
        with Image.open(tmp_path / "out" / "photographs" / sample.name) as image:
            assert min(image.size) >= 200
    for sheet in ("photographs.png", "attention.png"):
        with Image.open(tmp_path / "out" / sheet) as image:
            assert image.width > 400


def test_missing_photographs_are_an_error_with_a_remedy() -> None:
    from samples import Sample

    with pytest.raises(SeetellError, match=r"seetell\[demo\]"):
        _ = Sample("a.png", "no_such_package", "a.png", "nobody").path
    with pytest.raises(SeetellError, match=r"seetell\[demo\]"):
        _ = Sample("a.png", "seetell", "no-such-file.png", "nobody").path


def test_the_docs_credit_everybody() -> None:
    from samples import SAMPLES

    page = (EXAMPLES.parent / "docs" / "images" / "CREDITS.md").read_text(encoding="utf-8")
    assert [sample.name for sample in SAMPLES if f"| `{sample.name}` |" not in page or sample.credit not in page] == []
