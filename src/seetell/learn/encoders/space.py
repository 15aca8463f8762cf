"""Where feature stores are kept, and whether the disk has space for them."""

import os
import shutil
from pathlib import Path

from seetell.errors import SeetellError

_HEADROOM = 1 << 30  # bytes that are left free on the disk


def default_root() -> Path:
    """The default folder of stores: $SEETELL_STORE, or `features` in the user's cache folder."""
    if chosen := os.environ.get("SEETELL_STORE"):
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("seetell", appauthor=False) / "features"


def check_space(root: Path, needed: int) -> None:
    """Refuse to start what does not fit the disk."""
    free = shutil.disk_usage(root).free
    if needed + _HEADROOM > free:
        raise SeetellError(
            f"the features need {size_text(needed)}, but only {size_text(max(0, free - _HEADROOM))} can be used "
            f"({size_text(free)} are free, of which {size_text(_HEADROOM)} stay reserved)",
            where=str(root),
            remedy="Free some space, or choose another disk with --store",
        )


def size_text(size: float) -> str:
    """A number of bytes for people: 207.4 KB, 1.7 GB."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
