"""caption, tag, similar and bundles, as scripts call them."""

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
from seetell.runtime import open_model


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


def told(bundle: Path, *images: Path) -> list[str]:
    with open_model(bundle) as model:
        return [result.text for result in model.captioner(list(images))]


def test_doubtful_captions_say_so(photos: Path, tmp_path: Path) -> None:
    tiny = manifest()
    assert tiny.captioner is not None
    unsure = replace(tiny.captioner, rerank_weight=1.0, uncertain_below=1000.0)
    bundle = write_bundle(tmp_path / "unsure", replace(tiny, captioner=unsure), files()).path
    red = photos / "red.png"
    (caption,) = told(bundle, red)
    assert lines(run("caption", red, "--bundle", bundle)) == [f"{red}\tperhaps {caption}"]
    row = json.loads(run("caption", red, "--bundle", bundle, "--json").stdout)
    assert (row["caption"], row["uncertain"]) == (caption, True)
    assert row["similarity"] < 1000
    (row,) = csv.DictReader(io.StringIO(run("caption", red, "--bundle", bundle, "--csv").stdout))
    assert (row["caption"], row["uncertain"], row["error"]) == (caption, "yes", "")
    assert f'alt="perhaps {html.escape(caption)}"' in run("caption", red, "--bundle", bundle, "--html").stdout
    run("caption", red, "--bundle", bundle, "--sidecar", "txt")
    assert red.with_suffix(".txt").read_text(encoding="utf-8") == f"perhaps {caption}\n"


def test_captions_as_text_json_csv_and_html(bundle: Path, photos: Path) -> None:
    blue, red = photos / "deep" / "blue & white.jpg", photos / "red.png"
    captions = told(bundle, blue, red)
    result = run("caption", photos, "--bundle", bundle)
    assert result.exit_code == 0
    assert lines(result) == [f"{blue}\t{captions[0]}", f"{red}\t{captions[1]}"]
    rows = [json.loads(line) for line in lines(run("caption", red, blue, "--bundle", bundle, "--json"))]
    assert [(row["path"], row["caption"]) for row in rows] == [(str(red), captions[1]), (str(blue), captions[0])]
    assert all(row["score"] < 0 for row in rows)
    several = json.loads(run("caption", red, "--bundle", bundle, "--json", "--best", 3).stdout)
    assert len(several["captions"]) == 3
    table = list(csv.DictReader(io.StringIO(run("caption", photos, "--bundle", bundle, "--csv").stdout)))
    assert [row["caption"] for row in table] == captions
    page = run("caption", photos, "--bundle", bundle, "--html").stdout
    assert f'alt="{html.escape(captions[0])}"' in page
    assert "blue &amp; white.jpg" in page


def test_unreadable_images_are_reported_and_counted_in_the_exit_code(bundle: Path, photos: Path) -> None:
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    result = run("caption", photos, "--bundle", bundle, "--json")
    assert result.exit_code == 3
    rows = [json.loads(line) for line in lines(result)]
    assert [sorted(row) for row in rows] == [
        ["error", "path"],
        ["caption", "path", "score"],
        ["caption", "path", "score"],
    ]
    assert "1 of 3 images" in result.stderr
    assert run("caption", photos / "broken.jpg", photos / "absent.jpg", "--bundle", bundle).exit_code == 1
    assert run("tag", photos, "--bundle", bundle).exit_code == 3
    for form in ("--csv", "--html"):
        assert "broken.jpg" in run("caption", photos / "broken.jpg", "--bundle", bundle, form).stdout


def test_sidecars_never_overwrite(bundle: Path, photos: Path) -> None:
    (photos / "red.txt").write_text("mine\n", encoding="utf-8")
    result = run("caption", photos, "--bundle", bundle, "--sidecar", "txt")
    assert "1 images had a .txt file already" in result.stderr
    assert (photos / "red.txt").read_text(encoding="utf-8") == "mine\n"
    (caption,) = told(bundle, photos / "deep" / "blue & white.jpg")
    assert (photos / "deep" / "blue & white.txt").read_text(encoding="utf-8") == f"{caption}\n"
    run("caption", photos, "--bundle", bundle, "--sidecar", "xmp")
    tree = ET.parse(photos / "deep" / "blue & white.xmp")
    item = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
    assert [each.text for each in tree.iter(item)] == [caption, caption]


def test_attention_panels(bundle: Path, photos: Path, tmp_path: Path) -> None:
    (photos / "deep" / "red.png").write_bytes((photos / "red.png").read_bytes())
    assert run("caption", photos, "--bundle", bundle, "--attention", tmp_path / "panels").exit_code == 0
    panels = sorted((tmp_path / "panels").iterdir())
    assert len(panels) == 3
    with Image.open(panels[0]) as panel:
        assert panel.width > 100


def test_mistakes_are_one_line(
    bundle: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEETELL_MODELS", str(photos / "red.png" / "bundles"))
    write_tiny(tmp_path / "tagger", ("tagger",))
    for arguments, problem in (
        (["caption", photos, "--bundle", bundle, "--json", "--csv"], "exclude each other"),
        (["caption", photos, "--bundle", bundle, "--sidecar", "doc"], "no sidecar of the kind 'doc'"),
        (["caption", photos, "--bundle", tmp_path / "absent"], "no such folder"),
        (["caption", photos, "--bundle", "nonesuch"], "no bundle is called 'nonesuch'"),
        (["caption", photos, "--bundle", tmp_path / "tagger"], "it has a tagger only"),
        (["caption", tmp_path / "made", "--bundle", bundle], "no image in this folder"),
        (["caption", photos, "--bundle", bundle, "--attention", photos / "red.png"], "folder cannot be made"),
        (["evaluate", tmp_path / "absent", "--data", "scenes:20"], "no such folder"),
        (["evaluate", "nonesuch", "--data", "scenes:20"], "no bundle is called 'nonesuch'"),
        (["evaluate", photos, "--data", "scenes:20"], "neither a run nor a bundle"),
        (["evaluate", bundle, "--data", "scenes:20", "--split", "dev"], "split 'dev'"),
        (["evaluate", bundle, "--data", "scenes:20", "--length", "1"], "--length is for caption runs only"),
        (["bundles", "add", bundle], "the bundle cannot be written"),
        (["bundles", "remove", "tiny"], "no bundle is called 'tiny'"),
    ):
        monkeypatch.setattr(sys, "argv", ["seetell", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        printed = capsys.readouterr()
        assert (caught.value.code, printed.out) == (1, ""), (arguments, printed)
        (line,) = printed.err.splitlines()
        assert line.startswith("seetell: ")
        assert problem in line


def test_tags(bundle: Path, photos: Path) -> None:
    result = run("tag", photos / "red.png", "--bundle", bundle)
    assert result.exit_code == 0
    assert lines(result)[0].startswith(f"{photos / 'red.png'}\tred ")
    row = json.loads(run("tag", photos / "red.png", "--bundle", bundle, "--json").stdout)
    assert row["tags"][0]["label"] == "red"
    assert 0.5 < row["tags"][0]["confidence"] <= 1
    assert len(json.loads(run("tag", photos / "red.png", "--bundle", bundle, "--json", "--top", 2).stdout)["tags"]) == 2
    assert "(nothing it knows)" in run("tag", photos / "red.png", "--bundle", bundle, "--threshold", 1).stdout


def test_similar(bundle: Path, photos: Path) -> None:
    result = run("similar", photos / "red.png", "a red thing", "blue", "zebra", "--bundle", bundle, "--json")
    assert result.exit_code == 0
    rows = [json.loads(line) for line in lines(result)]
    assert sorted(row["text"] for row in rows) == ["a red thing", "blue", "zebra"]
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert "zebra" in result.stderr
    assert len(lines(run("similar", photos / "red.png", "red", "--bundle", bundle))) == 1


def test_bundles_are_listed_shown_added_and_removed(bundle: Path, photos: Path) -> None:
    assert lines(run("bundles", "--json")) == []
    assert run("bundles", "add", bundle).exit_code == 0
    (row,) = [json.loads(line) for line in lines(run("bundles", "--json"))]
    assert row["name"] == "tiny"
    assert row["kinds"] == ["captioner", "tagger", "retriever"]
    assert row["scores"]["captioner"][0]["metrics"]["bleu4"] == 12.5
    listing = run("bundles").stdout
    assert "Apache-2.0" in listing
    assert "  captioner: bleu4 12.5 (toys, test)" in listing
    assert "  retriever: image_to_text.r1 50.0 (toys, test)" in listing
    assert "  bleu4 12.5, image_to_text.r1 50.0\n" in run("bundles", "show", "tiny").stdout
    shown = run("bundles", "show", "tiny").stdout
    assert row["fingerprint"] in shown
    assert "toys: three colours" in shown
    assert json.loads(run("bundles", "show", "tiny", "--json").stdout)["fingerprint"] == row["fingerprint"]
    assert run("caption", photos, "--bundle", "tiny").exit_code == 0
    assert "split 'dev'" in str(run("evaluate", "tiny", "--data", "scenes:20", "--split", "dev").exception)  # found
    (Path(row["path"]) / "bundle.json").write_text("{}", encoding="utf-8")
    assert "error" in json.loads(run("bundles", "--json").stdout)
    assert "!" in run("bundles").stdout
    assert run("bundles", "remove", "tiny").exit_code == 0
    assert lines(run("bundles", "--json")) == []
