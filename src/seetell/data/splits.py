"""Splits: one set of names, which of two conflicting ones wins, and a split by hash for datasets without any.

The names are "train", "val", "test" and "extra" (more training images, for models that are released); "" means that an
image is in no split. Other spellings are normalised: `training` → train; `dev`, `valid`, `validation` → val; `testing`
→ test; and `restval`, Karpathy's name for the COCO validation images that he does not hold out, → train. `none` and `-`
→ "". Any other name is kept, in lower case.
"""

from collections.abc import Mapping
from hashlib import sha256

HELD_OUT = ("test", "val")

_NAMES = {
    "training": "train",
    "restval": "train",
    "dev": "val",
    "valid": "val",
    "validation": "val",
    "testing": "test",
    "none": "",
    "-": "",
}


def normalise(name: str) -> str:
    """The canonical name of a split.

    Example:
        >>> normalise(" Validation ")
        'val'
    """
    name = name.strip().lower()
    return _NAMES.get(name, name)


def stricter(first: str, second: str) -> str:
    """The split that keeps an image that two of them list: test before val before all others, so that no held-out image
    is ever trained on; otherwise the first one that is not empty."""
    for held_out in HELD_OUT:
        if held_out in (first, second):
            return held_out
    return first or second


def by_hash(name: str, shares: Mapping[str, float]) -> str:
    """The split that a name falls into, in proportion to `shares`.

    The first eight bytes of the name's SHA-256, as a fraction of their range, choose a position in the shares laid end
    to end. The split depends only on the name, so images that are added later never move others to another split; in
    return, the shares are met on average, not exactly.
    """
    position = int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64
    position *= sum(shares.values())
    for split, share in shares.items():
        if position < share:
            return split
        position -= share
    return list(shares)[-1]  # rounding at the very end of the range
