"""The world of the scenes: kinds of objects, grounds, and the content of one scene."""

from dataclasses import dataclass

from seetell.data.records import Box

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of object.

    Args:
        name: singular.
        plural: plural.
        flies: it may be in the air.
        perches: it may be on top of another object.
        seat: how far below its top another object may sit, as a fraction of its height; None if none may.
    """

    name: str
    plural: str
    flies: bool = False
    perches: bool = False
    seat: float | None = None


KINDS = {
    kind.name: kind
    for kind in (
        Kind("balloon", "balloons", flies=True),
        Kind("bird", "birds", flies=True, perches=True),
        Kind("boat", "boats"),
        Kind("car", "cars", seat=0.06),
        Kind("cat", "cats", perches=True),
        Kind("dog", "dogs", perches=True),
        Kind("fish", "fish"),
        Kind("flower", "flowers"),
        Kind("house", "houses", seat=0.10),
        Kind("kite", "kites", flies=True),
        Kind("mushroom", "mushrooms", seat=0.06),
        Kind("star", "stars", flies=True, perches=True),
        Kind("tree", "trees", seat=0.06),
        Kind("umbrella", "umbrellas"),
    )
}


@dataclass(frozen=True, slots=True)
class Ground:
    """The setting of a scene.

    Args:
        name: also its label.
        phrases: how captions name it.
        home: the kinds of objects that are typical of it.
        horizon: its height, as a fraction from the top.
    """

    name: str
    phrases: tuple[str, ...]
    home: tuple[str, ...]
    horizon: float


GROUNDS = {
    ground.name: ground
    for ground in (
        Ground("beach", ("at the beach", "on a sandy beach"), ("umbrella", "kite", "boat", "bird", "dog"), 0.52),
        Ground("meadow", ("in a meadow", "in a grassy meadow"), ("flower", "mushroom", "tree", "kite", "dog"), 0.50),
        Ground("night", ("at night", "on a dark night"), ("star", "house", "cat", "tree", "mushroom"), 0.62),
        Ground("room", ("in a room", "inside a room"), ("cat", "dog", "umbrella", "flower", "balloon"), 0.60),
        Ground("sea", ("at sea", "out at sea"), ("boat", "fish", "bird", "balloon"), 0.38),
        Ground("snow", ("in the snow", "in the white snow"), ("house", "tree", "bird", "dog", "cat"), 0.55),
        Ground("street", ("in the street", "in a city street"), ("car", "house", "umbrella", "balloon", "cat"), 0.58),
    )
}

CLASSES = tuple(sorted([*KINDS, *GROUNDS]))


@dataclass(frozen=True, slots=True)
class Group:
    """One to four objects of the same kind; `mirrored` ones face left."""

    kind: str
    colour: str
    size: str
    boxes: tuple[Box, ...]
    mirrored: bool = False

    @property
    def count(self) -> int:
        return len(self.boxes)


@dataclass(frozen=True, slots=True)
class Relation:
    """That group number `subject` is `name` (`left of`, `above`, `on top of`, `between`) the groups `objects`."""

    name: str
    subject: int
    objects: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of one image."""

    seed: int
    index: int
    ground: str
    groups: tuple[Group, ...]
    relations: tuple[Relation, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The kinds of objects and the ground, in alphabetical order."""
        return tuple(sorted({self.ground, *(group.kind for group in self.groups)}))

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(box for group in self.groups for box in group.boxes)
