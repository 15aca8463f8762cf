"""All pages of results from records: what they say, that they are the same twice, and what is left alone."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.sample_records import sample
from seetell.errors import SeetellError
from seetell.learn.reproduction.costs import COMMAND, FILE, Cost, read_costs, write_costs
from seetell.learn.reproduction.pages.overview import BEGIN, END, write_results
from seetell.learn.reproduction.records import RowRecord

README = f"# Mine\n\n## Results\n\n{BEGIN}\nold\n{END}\n\n## Licence\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """docs/results with records of three tables, pages of a person's own, and the README above them."""
    made = tmp_path / "docs" / "results"
    records = [
        *(sample("vilalta-table2", row, {"sum_of_recalls": s}) for row, s in (("fc7-mh", 240.0), ("fne-mh", 270.0))),
        sample("kolluru-table1", "two-branch-k1", {"sum_of_recalls": 180.0}),
        sample("kolluru-table1", "two-branch-k10", {"sum_of_recalls": 60.0}),
        sample("vaishali", "merge", {"cider": 44.0, "bleu4": 18.0, "mean_length": 9.0}, seconds=600),
        sample("vaishali", "attend-soft", {"cider": 54.0, "bleu4": 22.0, "mean_length": 9.5}, seconds=1800),
        *(
            sample("vilalta-table5", "table5-fne-moe-abs", {"started": started, "sum_of_recalls": 9.0}, seed=seed)
            for seed, started in enumerate((1.0, 0.0, 1.0, 1.0, 1.0), 1)
        ),
    ]
    for record in records:
        record.write(made / "rows" / record.table)
    cost(made, {"merge": 600, "attend-soft": 1800})
    (made / "rows" / "vaishali" / "about.md").write_text("Seven ways\nto caption.\n\nAnd two more.\n", encoding="utf-8")
    (made / "builtin.md").write_text("# The built-in model\n\nGood.\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    return made


def cost(folder: Path, seconds: Mapping[str, float]) -> None:
    """Write what rows on Flickr8k cost to train."""
    write_costs(folder / "rows" / FILE, {f"{row}.flickr8k": Cost(each, 50.0, 7.0) for row, each in seconds.items()})


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_twice_gives_the_same_files(folder: Path) -> None:
    root = folder.parents[1]
    write_results(folder, root / "README.md")
    first = files(root)
    assert {"docs/results/vaishali.png", "docs/results/across.md", "docs/results/README.md"} <= first.keys()
    write_results(folder, root / "README.md")
    assert files(root) == first


def test_a_table_of_a_person_stays_a_table(folder: Path) -> None:
    table = "|  | with | without |\n| --- | ---: | ---: |\n| SH | **276.8** | – |"
    (folder / "rows" / "vaishali" / "about.md").write_text(f"Tried:\n\n{table}\n\nSo it was.\n", encoding="utf-8")
    write_results(folder)
    assert f"Tried:\n\n{table}\n\nSo it was.\n" in text(folder / "vaishali.md")
    page = text(folder / "vaishali.html")
    assert "<tr><th></th><th>with</th><th>without</th></tr>" in page
    assert "<tr><td>SH</td><td><strong>276.8</strong></td><td>–</td></tr>" in page


def test_a_page_begins_with_what_a_person_says_and_ends_with_commands(folder: Path) -> None:
    write_results(folder)
    page = text(folder / "vaishali.md")
    assert (
        "related models\n\nSeven ways to caption.\n\nAnd two more.\n\nMeasured on flickr8k, test split (1,000" in page
    )
    assert "| **merge, measured** |" in page
    assert "By CIDEr: attend-soft 54.0, merge 44.0." in page
    assert page.endswith(
        "## Commands\n\n    seetell learn reproduce vaishali --data flickr8k:PATH --out DIR --rows merge,attend-soft\n"
    )


def test_starts_are_counted_over_seeds(folder: Path) -> None:
    write_results(folder)
    page = text(folder / "vilalta-table5.md")
    assert "| FNE-MOE-abs, published | 4/5 |" in page
    assert "| **FNE-MOE-abs, measured** | 4/5 |" in page
    assert (
        "Runs that started to learn: FNE-MOE-abs 4/5; the majority agrees with the paper for 1 of 1 configurations"
        in page
    )
    assert "--seeds" not in page  # five are the table's


def test_several_seeds_have_a_mean_and_a_deviation(folder: Path) -> None:
    for row, score in (("fc7-mh", 250.0), ("fne-mh", 274.0)):
        record = sample("vilalta-table2", row, {"sum_of_recalls": score}, seed=2, seconds=270)
        record.write(folder / "rows" / "vilalta-table2")
    write_results(folder, folder.parents[1] / "README.md")
    page = text(folder / "vilalta-table2.md")
    assert "2 seeds; 12 min 00 s of training in total." in page
    assert "| 272.0 ± 2.8 | -9.4 | 2 | 3.0 |" in page  # 270 and 274; 90 and 270 seconds
    assert "Counted for each of 2 seeds separately, it wins in 1 and 1 of them." in page
    assert "--seeds 2" in page
    assert "| FNE-MH | flickr8k | 281.4 | **272.0** ± 2.8 | -9.4 | 3.0 |" in text(folder / "README.md")
    across = text(folder / "across.md")
    assert "| 245.0 | 272.0 | +27.0 ± 7.6 |" in across  # √(7.07² + 2.83²)


def test_starts_with_the_other_maximum_are_told_apart(folder: Path) -> None:
    for seed in (1, 2):
        metrics = {"started": 0.0, "sum_of_recalls": 5.0}
        row = "table5-fne-moe-abs-anchors"
        sample("vilalta-table5", row, metrics, seed=seed).write(folder / "rows" / "vilalta-table5")
    write_results(folder)
    page = text(folder / "vilalta-table5.md")
    assert "the majority agrees with the paper for 1 of 1 configurations" in page
    assert (
        "With the maximum over anchors: FNE-MOE-abs 0/2; the majority agrees with the paper for 0 of 1 configurations"
        in page
    )
    assert "| FNE-MOE-abs, over anchors, published | 4/5 |" in page


def test_the_index_gathers_the_headline_rows(folder: Path) -> None:
    write_results(folder)
    page = text(folder / "README.md")
    assert "The 11 runs took 53 min 30 s of training in total." in page
    assert "| FNE-MH | flickr8k | 281.4 | **270.0** | -11.4 | 1.5 |" in page
    assert "| FNE-POE | flickr8k | 269.3 | not run |  |  |" in page
    assert "| K = 1 | flickr8k | 219.5 (flickr30k) | **180.0** |  | 1.5 |" in page  # of another dataset: no Δ
    assert "Not run: the images of Flickr30k are not available." in page
    assert "[The built-in model](builtin.md)" in page
    assert text(folder / "vilalta-table3.md").count(", published |") == 20


def test_the_readme_has_the_rows_that_ran_between_its_marks(folder: Path) -> None:
    readme = folder.parents[1] / "README.md"
    write_results(folder, readme)
    before, drawn = text(readme).split(BEGIN)
    assert before == "# Mine\n\n## Results\n\n"
    assert drawn.endswith(f"{END}\n\n## Licence\n")
    link = "[Vilalta et al., Table 2 (Flickr8k)](docs/results/vilalta-table2.md)"
    assert f"| {link} | FNE-MH | sum of recalls | flickr8k | 281.4 | **270.0** | -11.4 | 1.5 |" in drawn
    assert "not run" not in drawn
    assert "old" not in drawn
    readme.write_text("# Without marks\n", encoding="utf-8")
    with pytest.raises(SeetellError, match="markers of the results table"):
        write_results(folder, readme)


def test_across_compares_rows_that_ran(folder: Path) -> None:
    write_results(folder)
    page = text(folder / "across.md")
    assert "the best of 2 rows by CIDEr is Soft-Attention (54.0 in 30 min 00 s)." in page
    assert "is ours" not in page
    line = next(line for line in page.splitlines() if line.startswith("| attention instead of one vector"))
    assert line.endswith("| 44.0 | 54.0 | +10.0 | 10 min 00 s | 30 min 00 s |")
    line = next(line for line in page.splitlines() if line.startswith("| the gate"))
    assert line.endswith("| not run | not run | not run | – | – |")
    line = next(line for line in page.splitlines() if line.startswith("| all layers instead of the last, maximum"))
    assert line.endswith("| 240.0 | 270.0 | +30.0 | – | – |")  # nobody measured what they cost
    assert "No row of ren-table3 on coco has a record: not run." in page


def test_across_says_which_model_is_ours(folder: Path) -> None:
    sample("xu-table1", "best-caption", {"cider": 61.0}).write(folder / "rows" / "xu-table1")
    cost(folder, {"best-caption": 600})
    write_results(folder)
    page = text(folder / "across.md")
    assert "the best of 3 rows by CIDEr is best-caption (61.0 in 10 min 00 s)." in page
    assert "the best of the papers' own models is Soft-Attention (54.0 in 30 min 00 s)." in page


def test_across_names_the_rows_to_choose_from(folder: Path) -> None:
    rows = {"attend-soft-self-critical": 58.0, "initial": 43.0, "convolutional": 50.0, "retrieval-based": 20.0}
    rows["merge-300"] = 53.0
    for row, cider in rows.items():
        sample("vaishali", row, {"cider": cider}).write(folder / "rows" / "vaishali")
    cost(folder, {"attend-soft-self-critical": 1200, "initial": 900, "merge-300": 1700})
    write_results(folder)
    page = text(folder / "across.md")
    # Not `initial`, which is worse and slower than `merge`, nor what has less than half of the best figure, nor
    # `convolutional`, whose cost nobody measured, nor `merge-300`, which is hardly quicker than what is better.
    assert (
        "No row is both better and faster to train than Soft-Attention, self-critical (58.0 in 50 min 00 s), "
        "Soft-Attention (54.0 in 30 min 00 s) or merge (44.0 in 10 min 00 s)."
    ) in page
    line = next(line for line in page.splitlines() if line.startswith("| self-critical fine-tuning, soft attention"))
    assert line.endswith("| 54.0 | 58.0 | +4.0 | 30 min 00 s | 50 min 00 s |")  # with what it starts from
    assert page.count("| images captioned per second |") == 1  # retrievers caption nothing


def test_speed_is_of_one_run_where_there_was_one(folder: Path) -> None:
    sample("vaishali", "initial", {"cider": 43.0, "mean_length": 9.0}).write(folder / "rows" / "vaishali")
    write_results(folder)
    page = text(folder / "vaishali.md")
    assert "all rows taking turns in one run." in page
    assert f"    {COMMAND}\n" in page
    assert "| merge | 1,000 | 10.0 | 50 | 7 |" in page
    assert "| CNN-LSTM | 1,000 | – | – | – |" in page  # its own clock's time would not compare
    (folder / "rows" / FILE).unlink()
    write_results(folder)
    page = text(folder / "vaishali.md")
    assert "one run" not in page
    assert "| merge | 1,000 | 10.0 | 2 | 500 |" in page  # parameters, minutes, 1,200 captions in 600 s, 1,000 in 2 s


def test_costs_are_added_to_and_damaged_ones_named(folder: Path) -> None:
    path = folder / "rows" / FILE
    cost(folder, {"initial": 60})
    assert read_costs(path).keys() == {"merge.flickr8k", "attend-soft.flickr8k", "initial.flickr8k"}
    damaged = {
        "{": "not the costs of rows",
        '{"merge.flickr8k": {"seconds": "long"}}': "seconds is 'long'; expected a number",
        '{"merge.flickr8k": 3}': "expected a table",
        '{"merge.flickr8k": {}}': "seconds is missing",
    }
    for content, problem in damaged.items():
        path.write_text(content, encoding="utf-8")
        with pytest.raises(SeetellError, match=problem) as caught:
            write_results(folder)
        assert caught.value.where.startswith(str(path))
        assert "benchmarks/rows.py" in caught.value.remedy


def test_a_page_with_rows_that_no_record_gives_is_left_alone(folder: Path) -> None:
    old = "# Old\n\n| **merge, measured** | 1 |\n| **CNN-LSTM, measured** | 2 |\n"
    (folder / "vaishali.md").write_text(old, encoding="utf-8")
    (folder / "ren-table3.md").write_text("# Old\n\n| **WARP, measured** | 2 |\n", encoding="utf-8")
    lines = write_results(folder)
    assert text(folder / "vaishali.md") == old
    assert any("vaishali.md has rows without a record: CNN-LSTM" in line for line in lines)
    assert "from before records were kept" in text(folder / "README.md")
    sample("vaishali", "initial", {"cider": 50.0, "mean_length": 9.0}).write(folder / "rows" / "vaishali")
    write_results(folder)
    assert "| **CNN-LSTM, measured** |" in text(folder / "vaishali.md")
    assert text(folder / "ren-table3.md").startswith("# Old")


def test_several_datasets_on_one_page(folder: Path) -> None:
    sample("vaishali", "merge", {"cider": 70.0, "mean_length": 9.0}, dataset="coco").write(folder / "rows" / "vaishali")
    write_results(folder)
    page = text(folder / "vaishali.md")
    assert page.index("## On flickr8k") < page.index("| **Soft-Attention, measured** |") < page.index("## On coco")
    assert "(vaishali-coco.png)" in page
    assert (folder / "vaishali-coco.png").exists()


def test_pytorch_is_not_loaded(folder: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from seetell.learn.reproduction.pages.overview import write_results; "
        f"write_results(Path({str(folder)!r})); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_damaged_record_stops_it(folder: Path) -> None:
    path = folder / "rows" / "vaishali" / "merge.flickr8k.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(SeetellError) as raised:
        write_results(folder)
    assert raised.value.where == str(path)
    with pytest.raises(SeetellError, match="there are no records"):
        write_results(folder / "rows")


def test_records_are_small(folder: Path) -> None:
    for path in (folder / "rows").glob("*/*.json"):
        assert isinstance(RowRecord.read(path), RowRecord)
        assert path.stat().st_size < 4_000
