"""The typed settings layer: what is accepted, and what errors say."""

from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from seetell.errors import DatasetError, SeetellError
from seetell.settings import Settings, differences, flatten, plain, read, read_kind


class Inner(Settings):
    beam: Annotated[int, Meta(ge=1, le=100)] = 3
    name: str = ""


class Outer(Settings):
    rate: float
    inner: Inner = Inner()
    rows: tuple[Inner, ...] = ()
    maybe: Inner | None = None
    named: dict[str, Inner] = msgspec.field(default_factory=dict)


def test_plain_values_become_settings_and_come_back() -> None:
    content = {"rate": 0.5, "inner": {"beam": 2}, "rows": [{"name": "a"}], "maybe": None, "named": {"x": {"beam": 9}}}
    settings = read(Outer, content)
    assert settings == Outer(0.5, Inner(beam=2), (Inner(name="a"),), None, {"x": Inner(beam=9)})
    assert read(Outer, plain(settings)) == settings


def test_a_whole_number_is_a_number() -> None:
    assert read(Outer, {"rate": 1}).rate == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "f.toml: rate is missing"),
        ({"rate": "1"}, "f.toml: rate is '1'; expected a number"),
        ({"rate": 1, "inner": {"beam": 0}}, "f.toml: inner.beam is 0; expected an integer ≥ 1"),
        ({"rate": 1, "inner": {"beam": 2.5}}, "f.toml: inner.beam is 2.5; expected an integer"),
        ({"rate": 1, "rows": [{}, {"beam": True}]}, "f.toml: rows[1].beam is True; expected an integer"),
        ({"rate": 1, "rate_": 2}, "f.toml: there is no setting 'rate_'. Did you mean 'rate'?"),
        ({"rate": 1, "inner": {"bems": 2}}, "f.toml: inner: there is no setting 'bems'. Did you mean 'beam'?"),
        ({"rate": 1, "rows": [{"bems": 2}]}, "f.toml: rows[0]: there is no setting 'bems'. Did you mean 'beam'?"),
        ({"rate": 1, "maybe": {"zzz": 2}}, "f.toml: maybe: there is no setting 'zzz'. Choose one of: beam, name"),
        ([], "f.toml: it is []; expected a table"),
    ],
)
def test_errors_name_the_key_the_value_and_the_remedy(content: object, message: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read(Outer, content, where="f.toml", error=DatasetError)
    assert str(caught.value) == message


def test_a_kind_chooses_the_type() -> None:
    kinds = {"inner": Inner, "outer": Outer}
    assert read_kind(kinds, {"kind": "inner", "beam": 7}, what="thing") == Inner(beam=7)
    with pytest.raises(SeetellError, match=r"there is no thing 'iner'. Did you mean 'inner'\?"):
        read_kind(kinds, {"kind": "iner"}, what="thing")
    with pytest.raises(SeetellError, match=r"the thing has no kind. Choose one of: inner, outer"):
        read_kind(kinds, {}, what="thing")


def test_differences_name_nested_keys() -> None:
    before = {"a": 1, "model": {"units": 3, "kind": "x"}, "phases": [{"epochs": 1}, {"epochs": 2}], "list": [1, 2]}
    after = {"a": 1, "model": {"units": 4, "kind": "x"}, "phases": [{"epochs": 1}, {"epochs": 5}], "list": [1, 2]}
    assert flatten(before)["phases.1.epochs"] == 2
    assert differences(before, after) == ["model.units", "phases.1.epochs"]
    assert differences(before, before) == []
    assert differences({"model": {}}, {"model": {"new": 1}}) == ["model.new", "model"]


def test_a_choice_that_does_not_exist_is_answered_with_the_nearest() -> None:
    class Choice(Settings, frozen=True):
        optimiser: Literal["adam", "rmsprop"] = "adam"
        crops: Literal[1, 10] = 1

    with pytest.raises(
        SeetellError, match=r"f: optimiser is 'rmsprob'; expected one of: adam, rmsprop. Did you mean 'rmsprop'\?"
    ):
        read(Choice, {"optimiser": "rmsprob"}, where="f")
    with pytest.raises(SeetellError, match=r"f: crops is 3; expected one of: 1, 10"):
        read(Choice, {"crops": 3}, where="f")


class Choice(Settings):
    fit: Literal["shorter", "squash"] = "shorter"
    maybe: Literal["a", "b"] | None = None
    size: int = 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"fit": "squish"}, "fit is 'squish'; expected one of: shorter, squash. Did you mean 'squash'?"),
        ({"fit": "none"}, "fit is 'none'; expected one of: shorter, squash"),
        ({"maybe": "c"}, "maybe is 'c'; expected one of: a, b"),
    ],
)
def test_choices_are_listed(content: dict[str, object], message: str) -> None:
    with pytest.raises(SeetellError) as caught:
        read(Choice, content)
    assert str(caught.value) == message
