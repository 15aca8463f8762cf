"""caption, tag, similar and models, as scripts call them."""

import csv
import html
import io
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image
from typer.testing import CliRunner, Result

from helpers.tiny_bundles import files, manifest, write_tiny
from seetell.bundle import write_bundle
from seetell.cli import app, main
from seetell.cli.caption_output import as_csv
from seetell.errors import ImageError
from seetell.library import Library
from seetell.runtime import CaptionResult, open_model


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEETELL_MODELS", str(tmp_path / "data"))
    monkeypatch.setattr("seetell.bundle.registry.builtin_folder", lambda: tmp_path / "none")
    return write_tiny(tmp_path / "made").path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    Image.new("RGB", (20, 12), (240, 20, 20)).save(folder / "red.png")
    Image.new("RGB", (12, 20), (20, 20, 240)).save(folder / "deep" / "blue & white.jpg")
    (folder / "notes.txt").write_text("no image", encoding="utf-8")
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def lines(result: Result) -> list[str]:
    return result.stdout.splitlines()


def captions_of(bundle: Path, *images: Path) -> list[str]:
    with open_model(bundle) as model:
        return [result.text for result in model.captioner(list(images))]


def test_uncertain_captions_are_marked(photos: Path, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    unsure = replace(tiny.captioner, rerank_weight=1.0, uncertain_below=1000.0)
    bundle = write_bundle(tmp_path / "unsure", replace(tiny, captioner=unsure), files()).path
    red = photos / "red.png"
    (caption,) = captions_of(bundle, red)
    assert lines(run("caption", red, "--model", bundle)) == [f"{red}\tperhaps {caption}"]
    row = json.loads(run("caption", red, "--model", bundle, "--json").stdout)
    assert (row["caption"], row["uncertain"]) == (caption, True)
    assert row["similarity"] < 1000
    (row,) = csv.DictReader(io.StringIO(run("caption", red, "--model", bundle, "--csv").stdout))
    assert (row["caption"], row["uncertain"], row["error"]) == (caption, "yes", "")
    assert f'alt="perhaps {html.escape(caption)}"' in run("caption", red, "--model", bundle, "--html").stdout
    run("caption", red, "--model", bundle, "--sidecar", "txt")
    assert red.with_suffix(".txt").read_text(encoding="utf-8") == f"perhaps {caption}\n"


def test_captions_as_text_json_csv_and_html(bundle: Path, photos: Path) -> None:
    blue, red = photos / "deep" / "blue & white.jpg", photos / "red.png"
    captions = captions_of(bundle, blue, red)
    result = run("caption", photos, "--model", bundle)
    assert result.exit_code == 0
    assert lines(result) == [f"{blue}\t{captions[0]}", f"{red}\t{captions[1]}"]
    rows = [json.loads(line) for line in lines(run("caption", red, blue, "--model", bundle, "--json"))]
    assert [(row["path"], row["caption"]) for row in rows] == [(str(red), captions[1]), (str(blue), captions[0])]
    assert all(row["score"] < 0 for row in rows)
    several = json.loads(run("caption", red, "--model", bundle, "--json", "--best", 3).stdout)
    assert len(several["captions"]) == 3
    table = list(csv.DictReader(io.StringIO(run("caption", photos, "--model", bundle, "--csv").stdout)))
    assert [row["caption"] for row in table] == captions
    page = run("caption", photos, "--model", bundle, "--html").stdout
    assert f'alt="{html.escape(captions[0])}"' in page
    assert "blue &amp; white.jpg" in page


def test_unreadable_images_are_reported_and_counted_in_the_exit_code(bundle: Path, photos: Path) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    result = run("caption", photos, "--model", bundle, "--json")
    assert result.exit_code == 3
    rows = [json.loads(line) for line in lines(result)]
    assert [sorted(row) for row in rows] == [
        ["error", "path"],
        ["caption", "path", "score"],
        ["caption", "path", "score"],
    ]
    assert "1 of 3 images" in result.stderr
    assert run("caption", photos / "broken.jpg", photos / "absent.jpg", "--model", bundle).exit_code == 2
    assert run("tag", photos, "--model", bundle).exit_code == 3
    for form in ("--csv", "--html"):
        assert "broken.jpg" in run("caption", photos / "broken.jpg", "--model", bundle, form).stdout


def test_sidecars_never_overwrite(bundle: Path, photos: Path) -> None:
    (photos / "red.txt").write_text("mine\n", encoding="utf-8")
    result = run("caption", photos, "--model", bundle, "--sidecar", "txt")
    assert "existing .txt files left unchanged: 1" in result.stderr
    assert (photos / "red.txt").read_text(encoding="utf-8") == "mine\n"
    (caption,) = captions_of(bundle, photos / "deep" / "blue & white.jpg")
    assert (photos / "deep" / "blue & white.txt").read_text(encoding="utf-8") == f"{caption}\n"
    run("caption", photos, "--model", bundle, "--sidecar", "xmp")
    tree = ET.parse(photos / "deep" / "blue & white.xmp")
    item = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
    assert [each.text for each in tree.iter(item)] == [caption, caption]


def test_attention_panels(bundle: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "deep" / "red.png").write_bytes((photos / "red.png").read_bytes())
    assert run("caption", photos, "--model", bundle, "--attention", tmp_path / "panels").exit_code == 0
    panels = sorted((tmp_path / "panels").iterdir())
    assert len(panels) == 3
    with Image.open(panels[0]) as panel:
        assert panel.width > 100


def test_mistakes_are_one_line(
    bundle: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEETELL_MODELS", str(photos / "red.png" / "models"))
    write_tiny(tmp_path / "tagger", ("tagger",))
    for arguments, problem in (
        (["caption", photos, "--model", bundle, "--json", "--csv"], "exclude each other"),
        (["caption", photos, "--model", tmp_path / "absent"], "no such folder"),
        (["caption", photos, "--model", "nonesuch"], "'nonesuch'"),
        (["caption", photos, "--model", tmp_path / "tagger"], "it has only a tagger"),
        (["caption", tmp_path / "made", "--model", bundle], "no image in this folder"),
        (["caption", photos, "--model", bundle, "--attention", photos / "red.png"], "folder cannot be made"),
        (["evaluate", tmp_path / "absent", "--data", "scenes:20"], "no such folder"),
        (["evaluate", "nonesuch", "--data", "scenes:20"], "'nonesuch'"),
        (["evaluate", photos, "--data", "scenes:20"], "neither a run nor a model"),
        (["evaluate", bundle, "--data", "scenes:20", "--split", "dev"], "split 'dev'"),
        (["evaluate", bundle, "--data", "scenes:20", "--sheet", tmp_path / "x"], "--sheet applies to runs only"),
        (["models", "add", bundle], "the bundle cannot be written"),
        (["models", "remove", "tiny"], "'tiny'"),
    ):
        monkeypatch.setattr(sys, "argv", ["seetell", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert (caught.value.code, printed.out) == (2, ""), (arguments, printed)
        (line,) = printed.err.splitlines()
        assert line.startswith("seetell: ")
        assert problem in line


def test_tags(bundle: Path, photos: Path) -> None:
    result = run("tag", photos / "red.png", "--model", bundle)
    assert result.exit_code == 0
    assert lines(result)[0].startswith(f"{photos / 'red.png'}\tred ")
    row = json.loads(run("tag", photos / "red.png", "--model", bundle, "--json").stdout)
    assert row["tags"][0]["label"] == "red"
    assert 0.5 < row["tags"][0]["confidence"] <= 1
    assert len(json.loads(run("tag", photos / "red.png", "--model", bundle, "--json", "--top", 2).stdout)["tags"]) == 2
    assert "(no tags)" in run("tag", photos / "red.png", "--model", bundle, "--threshold", 1).stdout


def test_similar(bundle: Path, photos: Path) -> None:
    result = run("similar", photos / "red.png", "a red thing", "blue", "zebra", "--model", bundle, "--json")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in lines(result)]
    assert sorted(row["text"] for row in rows) == ["a red thing", "blue", "zebra"]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "zebra" in result.stderr
    assert len(lines(run("similar", photos / "red.png", "red", "--model", bundle))) == 1


def test_models_are_listed_shown_added_and_removed(bundle: Path, photos: Path) -> None:
    assert lines(run("models", "--json")) == []
    assert run("models", "add", bundle).exit_code == 0
    (row,) = [json.loads(line) for line in lines(run("models", "--json"))]
    assert row["name"] == "tiny"
    assert row["kinds"] == ["captioner", "tagger", "retriever"]
    assert row["scores"]["captioner"][0]["metrics"]["bleu4"] == 12.5
    listing = run("models").stdout
    assert "Apache-2.0" in listing
    assert "  captioner: bleu4 12.5 (toys, test)" in listing
    assert "  retriever: image_to_text.r1 50.0 (toys, test)" in listing
    assert "  bleu4 12.5, image_to_text.r1 50.0\n" in run("models", "show", "tiny").stdout
    shown = run("models", "show", "tiny").stdout
    assert row["fingerprint"] in shown
    assert "toys: three colours" in shown
    assert json.loads(run("models", "show", "tiny", "--json").stdout)["fingerprint"] == row["fingerprint"]
    assert run("caption", photos, "--model", "tiny").exit_code == 0
    assert "split 'dev'" in str(run("evaluate", "tiny", "--data", "scenes:20", "--split", "dev").exception)  # found
    (Path(row["path"]) / "bundle.json").write_text("{}", encoding="utf-8")
    assert "error" in json.loads(run("models", "--json").stdout)
    assert "!" in run("models").stdout
    assert run("models", "remove", "tiny").exit_code == 0
    assert lines(run("models", "--json")) == []


def test_caption_and_index_see_the_same_files(
    bundle: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links to folders, hidden files and folders, resource forks, upper-case suffixes, broken links."""
    monkeypatch.setenv("SEETELL_LIBRARY", str(tmp_path / "library"))
    image = (photos / "red.png").read_bytes()
    for name in (".hidden/a.png", "deep/b.PNG", ".c.png", "._d.png", "elsewhere/e.png"):
        (photos / name).parent.mkdir(exist_ok=True)
        (photos / name).write_bytes(image + name.encode())
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f.png").write_bytes(image + b"f")
    (photos / "link").symlink_to(outside, target_is_directory=True)
    (photos / "deep" / "loop").symlink_to(photos, target_is_directory=True)
    assert run("index", photos, "--model", bundle, "--quiet").exit_code == 0
    with Library.open() as library:
        indexed = sorted(path for each in library.images(limit=100) for path in each.files)
    captioned = sorted(json.loads(line)["path"] for line in lines(run("caption", photos, "--model", bundle, "--json")))
    tagged = sorted(json.loads(line)["path"] for line in lines(run("tag", photos, "--model", bundle, "--json")))
    assert captioned == tagged == indexed
    assert {Path(path).name for path in captioned} == {
        "red.png",
        "blue & white.jpg",
        "b.PNG",
        ".c.png",
        "e.png",
        "f.png",
    }
    (photos / "gone.jpg").symlink_to(photos / "nowhere.jpg")
    result = run("caption", photos, "--model", bundle, "--quiet")
    assert result.exit_code == 3
    assert "gone.jpg: broken link" in result.stderr


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_csv_never_holds_a_formula(start: str) -> None:
    name = f"{start}1+1.jpg"
    result = CaptionResult(name, ImageError("there is no such file", where=name))
    (row,) = csv.reader([as_csv(result)])
    assert row[0] == f"'{name}"
    assert row[-1].startswith("'")


def test_zero_is_a_threshold(bundle: Path, photos: Path) -> None:
    """0 is a value, not the absence of one: every label of the model is given."""
    rows = json.loads(run("tag", photos / "red.png", "--model", bundle, "--json", "--threshold", 0).stdout)
    default = json.loads(run("tag", photos / "red.png", "--model", bundle, "--json").stdout)
    assert len(rows["tags"]) > len(default["tags"])


def test_a_wrong_sidecar_names_the_right_ones(bundle: Path, photos: Path) -> None:
    result = run("caption", photos, "--model", bundle, "--sidecar", "doc")
    assert result.exit_code == 2
    assert "'txt', 'xmp'" in result.stderr
