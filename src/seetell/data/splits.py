"""Splits: one set of names, which of two wins, and a split by hash for datasets that bring none.

The names are "train", "val", "test" and "extra" (more to train on, for a model that is to ship); "" is an image in
none. Other spellings are normalised: `training` → train; `dev`, `valid`, `validation` → val; `testing` → test; and
`restval`, Karpathy's name for COCO's validation images that he holds out for nothing, → train. `none` and `-` are "".
A name that is none of these is kept, in lower case.
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
    """A split's name as seetell spells it."""
    name = name.strip().lower()
    return _NAMES.get(name, name)


def stricter(first: str, second: str) -> str:
    """Of two splits that claim one image, the one that may have it: test before val before anything that is trained
    on, so that no held-out image is ever learned from; otherwise the first, unless it is none."""
    for held_out in HELD_OUT:
        if held_out in (first, second):
            return held_out
    return first or second


def by_hash(name: str, shares: Mapping[str, float]) -> str:
    """The split that a name falls into, in proportion to `shares`.

    The first eight bytes of the name's SHA-256, as a fraction of their range, choose a place in the shares laid end to
    end. It depends on nothing but the name: images added later never move the others from one split to another. The
    price is that the shares are met on average, not exactly.
    """
    place = int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") / 2**64
    place *= sum(shares.values())
    for split, share in shares.items():
        if place < share:
            return split
        place -= share
    return list(shares)[-1]  # rounding at the very end of the range
