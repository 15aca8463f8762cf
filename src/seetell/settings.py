"""The one typed settings layer: recipes, bundle manifests, run and row records are read here, and checked when read.

Settings are `msgspec` structs. A field's type, and the limits in its `Meta`, are the whole validator::

    class Decoding(Settings):
        beam: Annotated[int, Meta(ge=1, le=100)] = 3
        alpha: float = 0.0

    decoding = read(Decoding, {"beam": 0}, where="recipe.toml: [decoding]")
    # SeetellError: recipe.toml: [decoding]: beam is 0; expected an integer ≥ 1

An unknown key is an error that names the nearest valid one. Nothing is converted silently: "3" is not a number.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from seetell.errors import SeetellError, did_you_mean

Read = TypeVar("Read")

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_EXPECTED = re.compile(r"Expected (.*?)(?:, got .*)?")
_CHOICE = re.compile(r"Invalid enum value .*", re.DOTALL)
_RANGE = re.compile(r"(Number|Integer value) out of range")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_TYPES = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of all settings: immutable, compared by value, no unknown keys."""


def read(
    kind: type[Read], content: object, *, where: str = "", remedy: str = "", error: type[SeetellError] = SeetellError
) -> Read:
    """Turn plain values (from JSON or TOML) into settings of one type.

    Args:
        kind: a `Settings` class, or any type that msgspec knows.
        content: plain dictionaries, lists, text and numbers.
        where: the file and section, for errors.
        remedy: what errors advise when there is no nearest key to name.
        error: which kind of `SeetellError` to raise.

    Example:
        >>> class Size(Settings):
        ...     width: int
        >>> read(Size, {"width": 3})
        Size(width=3)
    """
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as problem:
        _raise(kind, content, str(problem), where, remedy, error)


def read_kind(
    kinds: Mapping[str, type[Read]],
    content: Mapping[str, Any],
    *,
    what: str,
    where: str = "",
    error: type[SeetellError] = SeetellError,
) -> Read:
    """Read a table whose `kind` names one of several types: `{ kind = "max", margin = 0.2 }`.

    Args:
        kinds: the types by name.
        what: what the table describes ("loss", "model"), for errors.
    """
    rest = dict(content)
    kind = rest.pop("kind", None)
    if not isinstance(kind, str) or kind not in kinds:
        problem = f"the {what} has no kind" if kind is None else f"there is no {what} {kind!r}"
        raise error(problem, where=where, remedy=did_you_mean(str(kind or ""), kinds))
    return read(kinds[kind], rest, where=where, error=error)


def plain(settings: object) -> Any:
    """Settings as dictionaries, lists, text and numbers, for JSON."""
    return msgspec.to_builtins(settings)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as one, with dotted keys: `{"a": {"b": 1}}` becomes `{"a.b": 1}`."""
    return dict(_flat(values, prefix))


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The dotted keys whose values differ between two nested tables, in order.

    Example:
        >>> differences({"model": {"units": 3}}, {"model": {"units": 4}})
        ['model.units']
    """
    old, new = flatten(before), flatten(after)
    return [key for key in {**new, **old} if old.get(key) != new.get(key)]


def _flat(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    rows: Any = values.items() if isinstance(values, Mapping) else enumerate(values)
    for key, value in rows:
        name = f"{prefix}.{key}" if prefix else str(key)
        tables = isinstance(value, list | tuple) and value and all(isinstance(each, Mapping) for each in value)
        if (isinstance(value, Mapping) and value) or tables:
            yield from _flat(value, name)
        else:
            yield name, value


def _raise(kind: Any, content: object, message: str, where: str, remedy: str, error: type[SeetellError]) -> NoReturn:
    """Translate msgspec's message: name the key as a user wrote it, its value, and the nearest valid key."""
    problem, _, path = message.partition(" - at `$")
    steps = [name or int(index) for name, index in _STEP.findall(path.rstrip("`")) if index != "..."]
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
    place = f"{where}: {key}" if where and key else where or key
    if unknown := _UNKNOWN.fullmatch(problem):
        known = _field_names(_type_at(kind, steps))
        raise error(f"there is no setting {unknown[1]!r}", where=place, remedy=did_you_mean(unknown[1], known))
    if missing := _MISSING.fullmatch(problem):
        raise error(f"{missing[1]} is missing", where=place, remedy=remedy)
    if expected := _EXPECTED.fullmatch(problem):
        problem = f"{key or 'it'} is {_shown(_value_at(content, steps))}; expected {_wanted(expected[1])}"
        raise error(problem, where=where, remedy=remedy)
    if _CHOICE.fullmatch(problem):
        value, choices = (
            _value_at(content, steps),
            [str(each) for each in _choices(_type_at(kind, steps)) if each != ""],
        )
        near = get_close_matches(str(value), choices, n=1)
        problem = f"{key or 'it'} is {_shown(value)}; expected one of: {', '.join(choices)}"
        raise error(problem, where=where, remedy=f"Did you mean {near[0]!r}?" if near else remedy)
    if _RANGE.fullmatch(problem):
        problem = f"{key or 'it'} is {_shown(_value_at(content, steps))}; expected a smaller number"
        raise error(problem, where=where, remedy=remedy)
    raise error(f"{key}: {problem}" if key else problem, where=where, remedy=remedy)


def _wanted(expected: str) -> str:
    """`int` >= 1 → an integer ≥ 1."""
    text = re.sub(r"`([a-z]+)( \| null)?`", lambda found: _TYPES.get(found[1], found[1]), expected)
    return text.replace(">=", "≥").replace("<=", "≤")


def _shown(value: object) -> str:
    """A value in an error message: one short line, whatever it is."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _value_at(content: Any, steps: list[Any]) -> object:
    for step in steps:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            return None
    return content


def _type_at(kind: Any, steps: list[Any]) -> Any:
    """The type that a path through nested settings leads to."""
    for step in steps:
        for each in _alternatives(kind):
            if isinstance(step, str) and isinstance(each, type) and issubclass(each, msgspec.Struct):
                kind = get_type_hints(each).get(step)
                break
            if get_args(each) and get_origin(each) is not None:
                kind = get_args(each)[0 if isinstance(step, int) else -1]
                break
    return next((each for each in _alternatives(kind) if _field_names(each)), kind)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    import types

    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _choices(kind: Any) -> tuple[Any, ...]:
    """The values of a `Literal`, bare, annotated or optional."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(choice for each in get_args(kind) if not isinstance(each, str | int) for choice in _choices(each))


def _field_names(kind: Any) -> tuple[str, ...]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return tuple(kind.__struct_encode_fields__)
    return ()
