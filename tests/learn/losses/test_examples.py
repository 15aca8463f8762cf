"""The examples in the docstrings of losses, models and recipes run, and every public loss has one."""

import doctest
import inspect
import pkgutil
from importlib import import_module

import pytest

from seetell.learn import losses, models, recipes

PACKAGES = (losses, models, recipes)
MODULES = [
    name
    for package in PACKAGES
    for name in (
        package.__name__,
        *(f"{package.__name__}.{each.name}" for each in pkgutil.iter_modules(package.__path__)),
    )
]
DOCUMENTED = [name for name in losses.__all__ if callable(getattr(losses, name)) and name != "Selection"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = import_module(name)
    result = doctest.testmod(module)
    assert result.failed == 0


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_loss_has_arguments_and_an_example(name: str) -> None:
    thing = getattr(losses, name)
    text = inspect.getdoc(thing) or ""
    assert ">>>" in text
    assert "Args:" in text or not set(inspect.signature(thing).parameters) - {"args", "kwargs"}


def test_registries_hold_settings_with_the_same_fields_as_the_constructors() -> None:
    exceptions = {"triplet": {"k"}, "cross_entropy": {"doubly_stochastic", "sampling"}, "self_critical": None}
    registries = {**losses.RANKING_LOSSES, **losses.TAG_LOSSES, **losses.CAPTION_LOSSES}
    for kind, (settings, made) in registries.items():
        assert settings().kind == kind
        extra = exceptions.get(kind, set())
        if extra is not None:
            constructor = set(inspect.signature(made).parameters) - {"args", "kwargs"}
            assert set(settings.__struct_fields__) - extra == constructor, kind
    for kind, (settings, _) in models.MODELS.items():
        assert settings().kind == kind
    by_task = {kind for kinds in recipes.MODEL_SETTINGS.values() for kind in kinds}
    assert by_task == set(models.MODELS)
