"""Recipes: layers, budgets, overrides, and that every recipe of the package can be read."""

from pathlib import Path

import pytest

from seetell.learn import recipes
from seetell.learn.recipes import RecipeError, load_recipe

PIPELINES = ["sh", "sh-bl", "mh", "mh-bl", "soe", "soe-bl", "moe", "moe-bl", "ph", "poe"]


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


PLAIN = """
task = "retrieval"
[model]
kind = "visual_semantic"
[[phases]]
loss = { kind = "max", margin = 0.2 }
epochs = 200
learning_rate = 0.0002
[[phases]]
loss = { kind = "sum", margin = 0.2 }
epochs = 100
learning_rate = 1
[dataset.coco]
"model.dimensions" = 2048
[budget]
"phases.epochs" = 3
[budget.scenes]
"phases.epochs" = 2
"""


def test_layers(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN)
    published = load_recipe(path, budget="published")
    assert [phase.epochs for phase in published.phases] == [200, 100]
    assert "dimensions" not in published.model
    small = load_recipe(path, dataset="coco")
    assert [phase.epochs for phase in small.phases] == [3, 3]
    assert small.model["dimensions"] == 2048
    assert small.name == "mine"
    assert [phase.epochs for phase in load_recipe(path, dataset="scenes").phases] == [2, 2]
    mine = load_recipe(path, settings=["phases.1.epochs=7", "model.word_dimensions = 50", "encoder.name=vgg16@a/b.pth"])
    assert [phase.epochs for phase in mine.phases] == [3, 7]
    assert mine.model["word_dimensions"] == 50
    assert mine.encoder.name == "vgg16@a/b.pth"


def test_a_file_extends_one_beside_it(tmp_path: Path) -> None:
    write(tmp_path, PLAIN, "base.toml")
    mine = load_recipe(write(tmp_path, 'extends = "base.toml"\n[model]\ndimensions = 7\n'), budget="published")
    assert (mine.name, mine.model["dimensions"], len(mine.phases)) == ("mine", 7, 2)


def test_a_recipe_survives_json(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, PLAIN))
    assert recipes.Recipe.from_json(recipe.to_json()) == recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("epochs = 200", "epochs = 'many'"), "epochs is 'many', which is not an int"),
        (("epochs = 200", "epoch = 200"), "Did you mean 'epochs'?"),
        (("epochs = 200", ""), "missing 1 required positional argument: 'epochs'"),
        (('task = "retrieval"', 'task = "music"'), "task is 'music'"),
        (('task = "retrieval"', "family = "), "this is not TOML"),
        (("[model]", "[modle]"), "Did you mean 'model'?"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(write(tmp_path, PLAIN.replace(*change)), budget="published")
    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize("setting", ["model.dimensions", "phases.9.epochs=1", "encoder.name.x=1", "text.size=3"])
def test_mistaken_overrides_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(RecipeError):
        load_recipe(write(tmp_path, PLAIN), settings=[setting])


def test_a_name_almost_right_is_suggested() -> None:
    with pytest.raises(RecipeError, match="fne-mh"):
        load_recipe("fne-hm")
    with pytest.raises(RecipeError, match="there is no such recipe file"):
        load_recipe("nowhere/mine.toml")


@pytest.mark.parametrize("budget", recipes.BUDGETS)
@pytest.mark.parametrize("name", recipes.available())
def test_every_recipe_of_the_package_can_be_read(name: str, budget: str) -> None:
    for dataset in ("", "flickr8k", "flickr30k", "coco", "scenes"):
        recipe = load_recipe(name, dataset=dataset, budget=budget)
        assert recipe.name == name


def test_table_1_of_vilalta() -> None:
    """A few cells of Table 1, typed in again from the paper."""
    wanted = [f"{embedding}-{pipeline}" for embedding in ("fc7", "fne") for pipeline in PIPELINES]
    assert set(wanted) <= set(recipes.available())

    def cell(name: str, dataset: str) -> tuple[object, ...]:
        recipe = load_recipe(name, dataset=dataset, budget="published")
        return (
            recipe.model["dimensions"],
            recipe.model["word_dimensions"],
            [(phase.loss["kind"], phase.loss["margin"], phase.learning_rate) for phase in recipe.phases],
            recipe.model["similarity"],
            recipe.model.get("absolute", False),
        )

    assert cell("fne-sh", "flickr8k") == (1536, 1024, [("sum", 0.2, 0.0002)], "cosine", False)
    assert cell("fc7-mh", "flickr30k") == (1536, 1024, [("max", 0.2, 0.0002)], "cosine", False)
    assert cell("fne-mh", "coco") == (2048, 2000, [("max", 0.2, 0.00025)], "cosine", False)
    assert cell("fne-moe", "flickr8k") == (1536, 1536, [("max", 0.05, 0.001)], "order", True)
    assert cell("fc7-moe-bl", "flickr8k") == (1024, 300, [("max", 0.2, 0.0002)], "order", False)
    assert cell("fne-poe", "flickr8k") == (1024, 1024, [("sum", 0.05, 0.001), ("max", 0.05, 0.0001)], "order", True)
    for name in wanted:
        recipe = load_recipe(name, budget="published")
        assert (recipe.encoder.name, recipe.encoder.crops) == ("vgg16", 10)
        assert recipe.encoder.layout == ("pooled" if name.startswith("fc7") else "full_network")
        assert recipe.training.clip == 2


def test_compared_rows_share_one_budget_in_epochs() -> None:
    for prefix in ("fc7-", "fne-", "two-branch-"):
        totals = {sum(p.epochs for p in load_recipe(n).phases) for n in recipes.available() if n.startswith(prefix)}
        assert len(totals) == 1, prefix
