"""Recipes: layers, budgets, overrides, and that every recipe of the package can be read."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from seetell.learn.recipes import BUDGETS, Recipe, RecipeError, load_recipe, read_recipe, recipe_names
from seetell.learn.recipes.loss_settings import MaxOfHingesSettings, TripletSettings
from seetell.learn.recipes.model_settings import VisualSemanticSettings

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


def model_of(recipe: Recipe) -> VisualSemanticSettings:
    assert isinstance(recipe.model, VisualSemanticSettings)
    return recipe.model


def test_layers(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN)
    published = load_recipe(path, budget="published")
    assert [phase.epochs for phase in published.phases] == [200, 100]
    assert published.model == VisualSemanticSettings()
    small = load_recipe(path, dataset="coco")
    assert [phase.epochs for phase in small.phases] == [3, 3]
    assert model_of(small).dimensions == 2048
    assert small.name == "mine"
    assert [phase.epochs for phase in load_recipe(path, dataset="scenes").phases] == [2, 2]
    mine = load_recipe(path, settings=["phases.1.epochs=7", "model.word_dimensions = 50", "encoder.name=vgg16@a/b.pth"])
    assert [phase.epochs for phase in mine.phases] == [3, 7]
    assert model_of(mine).word_dimensions == 50
    assert mine.encoder.name == "vgg16@a/b.pth"


def test_a_file_extends_another_in_its_folder(tmp_path: Path) -> None:
    write(tmp_path, PLAIN, "base.toml")
    mine = load_recipe(write(tmp_path, 'extends = "base.toml"\n[model]\ndimensions = 7\n'), budget="published")
    assert (mine.name, model_of(mine).dimensions, len(mine.phases)) == ("mine", 7, 2)


def test_a_recipe_survives_json(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, PLAIN))
    assert Recipe.from_json(recipe.to_json()) == recipe


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("epochs = 200", "epochs = 'many'"), "phases[0].epochs is 'many'; expected an integer"),
        (("epochs = 200", "epochs = 0"), "phases[0].epochs is 0; expected an integer ≥ 1"),
        (("epochs = 200", "epoch = 200"), "Did you mean 'epochs'?"),
        (("epochs = 200", ""), "epochs is missing"),
        (('task = "retrieval"', 'task = "music"'), "task is 'music'"),
        (('task = "retrieval"', ""), "task is missing"),
        (('task = "retrieval"', "family = "), "this is not TOML"),
        (("[model]", "[modle]"), "Did you mean 'model'?"),
        (('kind = "visual_semantic"', 'kind = "visual_semantics"'), "Did you mean 'visual_semantic'?"),
        (('kind = "visual_semantic"', 'kind = "merge"'), "there is no model 'merge'"),
        (('kind = "visual_semantic"', ""), "the model has no kind"),
        (('kind = "max"', 'kind = "maximum"'), "[[phases]] 0 loss: there is no loss 'maximum'"),
        (("learning_rate = 1", "learning_rate = 0"), "phases[1].learning_rate is 0; expected a number > 0"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(write(tmp_path, PLAIN.replace(*change)), budget="published")
    assert message in str(caught.value)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize("setting", ["model.dimensions", "phases.9.epochs=1", "encoder.name.x=1", "text.size=3"])
def test_mistaken_overrides_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(RecipeError, match="--set"):
        load_recipe(write(tmp_path, PLAIN), settings=[setting])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("phases.epochs=0", "phases[0].epochs is 0; expected an integer ≥ 1"),
        ("phases.1.batch=0", "phases[1].batch is 0; expected an integer ≥ 1"),
        (
            "phases.schedule=cosin",
            "phases[0].schedule is 'cosin'; expected one of: constant, cosine. Did you mean 'cosine'?",
        ),
        ("phases.loss.margn=0.1", "there is no setting 'margn'. Did you mean 'margin'?"),
        ("phases.0.loss={kind='triplet', selection='k_hardes'}", "Did you mean 'k_hardest'?"),
        ("phases.0.loss={kind='triplet', k=3}", "k belongs to the selection 'k_hardest'"),
        ("model.dimension=3", "there is no setting 'dimension'. Did you mean 'dimensions'?"),
        ("model.dimensions=0", "dimensions is 0; expected an integer ≥ 1"),
        (
            "model.similarity=cosin",
            "similarity is 'cosin'; expected one of: cosine, order, euclidean. Did you mean 'cosine'?",
        ),
        (
            "training.optimiser=adamm",
            "training.optimiser is 'adamm'; expected one of: adam, adamw, rmsprop. Did you mean 'adam'?",
        ),
        ("training.captions=images", "training.captions is 'images', which the task retrieval does not have"),
        ("training.precision=16", "training.precision is 16; expected text"),
        ("training.seed=-1", "training.seed is -1; expected an integer ≥ 0"),
        ("encoder.crops=3", "encoder.crops is 3; expected one of: 1, 10"),
        ("encoder.view=center", "encoder.view is 'center'; expected one of: centre, whole. Did you mean 'centre'?"),
        ("encoder.layout=grit", "there is no layout 'grit'. Did you mean 'grid'?"),
        ("encoder.transform=standardize", "Did you mean 'standardise'?"),
        ("text.tokenizer=word", "text.tokenizer is 'word'; expected one of: words, ptb, pieces. Did you mean 'words'?"),
        ("text.tokenizer=pieces", "text.tokenizer is 'pieces', which only sentence encoders read"),
        ("decoding.beam=3", "there is no setting 'beam'"),
    ],
)
def test_an_override_is_checked_when_it_is_read_and_named(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(write(tmp_path, PLAIN), settings=["training.clip=2", setting, "text.minimum_count=2"])
    assert str(caught.value).startswith(f"--set {setting}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "setting", "message"),
    [
        ("merge", "decoding.bem=3", "Did you mean 'beam'?"),
        ("merge", "decoding.select=bleu", "select is 'bleu'; expected one of: bleu1, "),
        ("merge", "phases.0.loss.doubly_stochastic=1.0", "doubly_stochastic needs another model"),
        ("merge", "phases.loss={kind='hard_attention'}", "hard_attention needs another model"),
        ("merge-self-critical", "phases.loss.samples=1", "a single sample has no others"),
        ("merge-self-critical", "phases.loss.reward={spice=1.0}", "there is no setting 'spice'"),
        ("merge-self-critical", "phases.loss.temperature=0", "temperature is 0; expected a number > 0"),
        ("bce", "phases.loss.kind=sequence", "the model classifier is not trained by the loss 'sequence'"),
        ("joint", "phases.loss={kind='bce'}", "the model label_sequence is not trained by the loss 'bce'"),
        ("joint", "phases.loss.order=rare", "order is 'rare'"),
        ("joint", "model.part=init", "part is 'init'"),
        ("bce", "decoding.choose=bottom", "choose is 'bottom'; expected one of: top, thresholds"),
        ("best-retrieval", "model.pairs=7", "dimensions cannot be divided among 7 pairs"),
        ("best-caption", "encoder.transform=unit", "grid+levels has a transform of its own"),
    ],
)
def test_settings_of_every_task_are_checked(name: str, setting: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(name, settings=[setting])
    assert message in str(caught.value)


def test_a_mistake_is_traced_to_its_section_and_file(tmp_path: Path) -> None:
    path = write(tmp_path, PLAIN.replace('"phases.epochs" = 2', '"phases.epochs" = 0'))
    with pytest.raises(RecipeError, match=r"mine.toml: \[budget.scenes\]: phases\[0\].epochs is 0"):
        load_recipe(path, dataset="scenes")
    assert load_recipe(path).phases[0].epochs == 3
    base = write(tmp_path, PLAIN.replace("epochs = 100", "epochs = -1"), "base.toml")
    mine = write(tmp_path, f'extends = "{base.name}"\n')
    with pytest.raises(RecipeError, match=r"base.toml: phases\[1\].epochs is -1"):
        load_recipe(mine, budget="published")
    write(tmp_path, PLAIN.replace("epochs = 100", ""), "base.toml")
    with pytest.raises(RecipeError, match=r"mine.toml: phases\[1\]: epochs is missing"):
        load_recipe(mine, budget="published")


def test_a_name_almost_right_is_suggested() -> None:
    with pytest.raises(RecipeError, match="fne-mh"):
        load_recipe("fne-hm")
    with pytest.raises(RecipeError, match="there is no such recipe file"):
        load_recipe("nowhere/mine.toml")
    with pytest.raises(RecipeError, match="Did you mean 'published'"):
        load_recipe("merge", budget="publish")


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_of_the_package_can_be_read(name: str, budget: str) -> None:
    for dataset in ("", "flickr8k", "flickr30k", "coco", "scenes"):
        recipe = load_recipe(name, dataset=dataset, budget=budget)
        assert recipe.name == name
        assert Recipe.from_json(recipe.to_json()) == recipe


def test_reading_a_recipe_does_not_import_pytorch() -> None:
    program = (
        "import sys; from seetell.learn.recipes import load_recipe; load_recipe('merge'); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_changed_settings_are_checked_and_named() -> None:
    recipe = load_recipe("two-branch-k10")
    loss = recipe.phases[0].loss
    assert isinstance(loss, TripletSettings)
    other = replace(recipe, phases=(replace(recipe.phases[0], loss=replace(loss, k=3), epochs=1),), about="otherwise")
    assert recipe.changes(recipe) == {}
    assert recipe.changes(other) == {
        "phases.0.loss.k": (10, 3),
        "phases.0.epochs": (recipe.phases[0].epochs, 1),
    }
    assert recipe.with_settings(encoder={"crops": 10}).encoder.crops == 10
    with pytest.raises(RecipeError, match="crops is 2"):
        recipe.with_settings(encoder={"crops": 2})


def test_plain_tables_become_settings() -> None:
    phase: dict[str, Any] = {"loss": {"kind": "max", "margin": 1}, "epochs": 1, "learning_rate": 1}
    content = {"name": "mine", "task": "retrieval", "model": {"kind": "visual_semantic"}, "phases": [phase]}
    recipe = read_recipe(content)
    assert recipe.phases[0].loss == MaxOfHingesSettings(margin=1.0)
    assert (recipe.model.kind, recipe.phases[0].loss.kind) == ("visual_semantic", "max")
    for mistaken in ({"phases": []}, {"phases": {}}, {"phases": [3]}, {"model": 3}, {"phases": [{**phase, "loss": 3}]}):
        with pytest.raises(RecipeError, match="expected"):
            read_recipe({**content, **mistaken})


def test_table_1_of_vilalta() -> None:
    """A few cells of Table 1, typed in again from the paper."""
    wanted = [f"{embedding}-{pipeline}" for embedding in ("fc7", "fne") for pipeline in PIPELINES]
    assert set(wanted) <= set(recipe_names())

    def cell(name: str, dataset: str) -> tuple[object, ...]:
        recipe = load_recipe(name, dataset=dataset, budget="published")
        model = model_of(recipe)
        losses: list[Any] = [phase.loss for phase in recipe.phases]
        return (
            model.dimensions,
            model.word_dimensions,
            [(loss.kind, loss.margin, phase.learning_rate) for loss, phase in zip(losses, recipe.phases, strict=True)],
            model.similarity,
            model.absolute,
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
        totals = {sum(p.epochs for p in load_recipe(n).phases) for n in recipe_names() if n.startswith(prefix)}
        assert len(totals) == 1, prefix
