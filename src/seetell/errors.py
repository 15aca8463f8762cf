"""Errors meant for people: what is wrong, where, and what to do about it.

Every error that a user can cause is a `SeetellError`. The command line prints it without a traceback and exits with 2;
anything else that escapes is a bug in seetell.
"""

import difflib
from collections.abc import Iterable


class SeetellError(Exception):
    """A problem the user can do something about.

    Args:
        problem: what is wrong, in one sentence, without a final full stop.
        where: the file, the line (`captions.txt:12`) or the setting it was found in.
        remedy: what to call or change next.

    Example:
        >>> print(SeetellError("the caption is empty", where="captions.txt:12", remedy="Delete the line"))
        captions.txt:12: the caption is empty. Delete the line
    """

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        return f"{text}. {self.remedy}" if self.remedy else text


class ImageError(SeetellError):
    """An image that cannot be read; `where` names it."""


class DatasetError(SeetellError):
    """A dataset that cannot be read, or holds nothing usable."""


class BundleError(SeetellError):
    """A model that cannot be opened: its bundle is missing, damaged, of another format version, or not a bundle."""


class ClosedError(SeetellError):
    """A model that was used after it had been closed."""


class LibraryError(SeetellError):
    """A library that cannot be opened or written, or is asked for something it does not hold."""


class RecipeError(SeetellError):
    """A training recipe that cannot be read, or holds settings that do not fit together."""


class MissingExtraError(SeetellError):
    """A feature that needs an optional part of the package.

    Args:
        needs: the missing package, as people call it.
        extra: the extra of `pip install 'seetell[extra]'` that brings it.
    """

    def __init__(self, needs: str, extra: str) -> None:
        super().__init__(
            f"this needs {needs}, which is not installed", remedy=f"Install it with: pip install 'seetell[{extra}]'"
        )


def did_you_mean(name: str, known: Iterable[str], *, shown: int = 12) -> str:
    """A remedy for an unknown name: the nearest known one, or what there is to choose from.

    Args:
        name: what was asked for.
        known: the valid names.
        shown: how many valid names to list at most.

    Example:
        >>> did_you_mean("bems", ["beam", "alpha"])
        "Did you mean 'beam'?"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    if not names:
        return ""
    return f"Choose one of: {', '.join(names[:shown])}{', …' if len(names) > shown else ''}"
