"""The examples of docs/api.md run, and print what they show."""

import doctest
from pathlib import Path

import pytest
from PIL import Image

from helpers.tiny_bundles import write_colours

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}


def test_every_example_gives_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "bundles"))
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    write_colours(tmp_path / "bundles" / "colours")
    (tmp_path / "photos").mkdir()
    for name, colour in COLOURS.items():
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{name}.png")
    for name in ("blue", "red"):
        (tmp_path / "photos" / f"{name}.png").write_bytes((tmp_path / f"{name}.png").read_bytes())
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"no image")
    rows = [f"{name}.png,test,a {name} thing,{name}" for name in COLOURS]
    (tmp_path / "mine.csv").write_text("\n".join(["file,split,caption,labels", *rows]) + "\n", encoding="utf-8")
    output: list[str] = []
    example = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, "api.md", str(PAGE), 0)
    assert len(example.examples) > 40
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    assert runner.run(example, out=output.append).failed == 0, "".join(output)
    with Image.open("red-attention.png") as sheet:
        assert sheet.width > 40
