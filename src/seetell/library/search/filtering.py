"""`Filters` as SQL."""

import os

from seetell.library.filters import Filters
from seetell.library.storage import rows


def condition(filters: Filters) -> tuple[str, list[object]]:
    """An SQL condition on `images i`, and its parameters."""
    parts, values = list[str](), list[object]()
    for label in filters.tags:
        parts.append("EXISTS (SELECT 1 FROM tags WHERE image = i.id AND label = ? COLLATE NOCASE)")
        values.append(label)
    for label in filters.not_tags:
        parts.append("NOT EXISTS (SELECT 1 FROM tags WHERE image = i.id AND label = ? COLLATE NOCASE)")
        values.append(label)
    if filters.folder:
        below, bounds = rows.below(os.fspath(filters.folder))
        parts.append(f"EXISTS (SELECT 1 FROM files WHERE image = i.id AND {below})")
        values += bounds
    if filters.since is not None:
        parts.append("i.taken >= ?")
        values.append(filters.since)
    return " AND ".join(parts) or "1", values
