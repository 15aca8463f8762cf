"""From a recipe's table, `{ kind = "max", margin = 0.2 }`, to the object it names."""

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from seetell.errors import SeetellError

Made = TypeVar("Made")


def made(kinds: Mapping[str, type[Made]], settings: Mapping[str, Any], what: str) -> Made:
    """An object of the kind that the settings name, made with the other settings."""
    given = dict(settings)
    kind = given.pop("kind", None)
    if kind not in kinds:
        problem = f"there is no {what} called {kind!r}" if kind else f"the {what} has no kind"
        raise SeetellError(problem, remedy=f"Choose one of: {', '.join(kinds)}")
    known = inspect.signature(kinds[kind]).parameters
    if unknown := sorted(given.keys() - known.keys()):
        raise SeetellError(
            f"the {what} {kind!r} has no setting called {unknown[0]!r}", remedy=f"It knows: {', '.join(known)}"
        )
    try:
        return kinds[kind](**given)
    except ValueError as error:
        raise SeetellError(str(error), where=f"{what} {kind!r}") from None
