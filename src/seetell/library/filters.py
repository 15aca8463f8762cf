"""Which images a search, a listing or a count is restricted to."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from seetell.errors import LibraryError

AnyPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Filters:
    """Restricts which images are searched, listed or counted. An image has to meet all conditions.

    Args:
        tags: the image has every one of these tags; upper and lower case are the same.
        not_tags: the image has none of these tags.
        folder: a file of the image lies in this folder or below it.
        since: the image was taken at this time or later, in seconds since 1970.

    Example:
        >>> Filters(tags=["beach"], not_tags=["person"])
        Filters(tags=('beach',), not_tags=('person',), folder='', since=None)
    """

    tags: Sequence[str] = ()
    not_tags: Sequence[str] = ()
    folder: AnyPath = ""
    since: float | None = None

    def __post_init__(self) -> None:
        for name in ("tags", "not_tags"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise LibraryError(
                    f"{name} is a list of tags, not a text", where="Filters", remedy=f"Write {name}=[{value!r}]"
                )
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "folder", absolute_folder(self.folder))

    def __bool__(self) -> bool:
        return bool(self.tags or self.not_tags or self.folder or self.since is not None)


def absolute_folder(path: AnyPath | None) -> str:
    """The absolute path of a folder, with `~` expanded; "" for none."""
    return "" if path is None or not os.fspath(path) else os.path.abspath(os.path.expanduser(os.fspath(path)))


NO_FILTERS = Filters()
