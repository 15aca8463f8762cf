"""Reading JSON that may hold anything: every value is asked for by name and type; what nobody asked for is refused."""

import json
import math
from typing import Any, NoReturn

from seetell.errors import SeetellError

MAKE_AGAIN = "Export it again, or get a new copy of it"


class BundleError(SeetellError):
    """A bundle that is absent, damaged, from a newer seetell, or no bundle at all."""


class Fields:
    """One JSON object. Each method takes a value out; `finish` refuses what is left.

    Args:
        values: what is claimed to be an object.
        where: what errors call the place.
    """

    def __init__(self, values: object, where: str) -> None:
        self.where = where
        if not isinstance(values, dict):
            self.refuse(f"an object was expected, not {_shown(values)}")
        self._values: dict[str, Any] = dict(values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def refuse(self, problem: str) -> NoReturn:
        raise BundleError(problem, where=self.where, remedy=MAKE_AGAIN)

    def take(self, key: str) -> Any:
        """A value of any type."""
        if key not in self._values:
            self.refuse(f"{key} is missing")
        return self._values.pop(key)

    def finish(self) -> None:
        if self._values:
            self.refuse(f"{_shown(min(self._values))} is not known")

    def text(self, key: str, *, most: int = 10_000) -> str:
        return self._text(key, self.take(key), most)

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        value = self.text(key)
        if value not in choices:
            self.refuse(f"{key} is {_shown(value)}, which is none of: {', '.join(choices)}")
        return value

    def whole(self, key: str, least: int, most: int) -> int:
        return self._whole(key, self.take(key), least, most)

    def number(self, key: str, least: float, most: float) -> float:
        return self._number(key, self.take(key), least, most)

    def flag(self, key: str) -> bool:
        value = self.take(key)
        if not isinstance(value, bool):
            self.refuse(f"{key} is {_shown(value)}, which is not true or false")
        return value

    def texts(self, key: str, *, most: int = 1_000) -> tuple[str, ...]:
        return tuple(self._text(key, value, most) for value in self._list(key))

    def wholes(self, key: str, least: int, most: int) -> tuple[int, ...]:
        return tuple(self._whole(key, value, least, most) for value in self._list(key))

    def numbers(self, key: str, least: float, most: float) -> tuple[float, ...]:
        return tuple(self._number(key, value, least, most) for value in self._list(key))

    def inner(self, key: str) -> "Fields":
        """An object inside this one."""
        return Fields(self.take(key), f"{self.where}: {key}")

    def rows(self, key: str) -> list["Fields"]:
        """A list of objects."""
        return [Fields(value, f"{self.where}: {key}[{place}]") for place, value in enumerate(self._list(key))]

    def named(self, key: str, *, most: int) -> dict[str, "Fields"]:
        """An object whose names are free, and whose values are objects."""
        values = self.take(key)
        if not isinstance(values, dict) or len(values) > most:
            self.refuse(f"{key} is not an object of {most} entries at most")
        return {name: Fields(value, f"{self.where}: {key}") for name, value in values.items()}

    def metrics(self, key: str) -> dict[str, Any]:
        """Numbers and text under free names, nested at will."""
        values = self.take(key)
        self._check_metrics(key, values, depth=0)
        result: dict[str, Any] = values
        return result

    def _check_metrics(self, key: str, values: object, depth: int) -> None:
        if not isinstance(values, dict) or depth > 4 or len(values) > 200:
            self.refuse(f"{key} is not a table of numbers")
        for name, value in values.items():
            if isinstance(value, dict):
                self._check_metrics(name, value, depth + 1)
            elif isinstance(value, str):
                self._text(name, value, 1_000)
            else:
                self._number(name, value, -1e15, 1e15)

    def _list(self, key: str) -> list[Any]:
        values = self.take(key)
        if not isinstance(values, list) or len(values) > 100_000:
            self.refuse(f"{key} is {_shown(values)}, which is not a list")
        return values

    def _text(self, key: str, value: object, most: int) -> str:
        if not isinstance(value, str) or len(value) > most or not _encodable(value):
            self.refuse(f"{key} is {_shown(value)}, which is not text of {most} characters at most")
        return value

    def _whole(self, key: str, value: object, least: int, most: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.refuse(f"{key} is {_shown(value)}, which is not a whole number from {least:,} to {most:,}")
        return value

    def _number(self, key: str, value: object, least: float, most: float) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not math.isfinite(value) or not least <= value <= most:  # type: ignore[arg-type,operator]
            self.refuse(f"{key} is {_shown(value)}, which is not a number from {least:g} to {most:g}")
        return value  # type: ignore[return-value]


def canonical(content: object) -> bytes:
    """The one way in which a bundle's JSON is written."""
    return (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True) + "\n").encode("utf-8")


def _shown(value: object) -> str:
    """A value in a message: whatever it is, in a line."""
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
