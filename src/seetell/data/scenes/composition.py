"""The composition of a scene: what is in it, and where.

Scenes come in pairs: 2k and 2k + 1 have the same objects on the same ground, with colours or positions exchanged. Their
captions have the same words in another order, so a model that ignores word order cannot distinguish them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from seetell.data.records import Box
from seetell.data.scenes.chance import Chance
from seetell.data.scenes.sketches import sketch
from seetell.data.scenes.world import COLOURS, GROUNDS, KINDS, Group, Relation, Scene

# As often as each is listed.
ARRANGEMENTS = ("alone", "row", "row", "row", "column", "column", "stack", "trio", "row and sky")

MARGIN = 0.075  # a centre crop of seven eighths cuts off no object
SPAN = 1 - 2 * MARGIN
SMALL, LARGE = 0.205, 0.34  # the longer side of an object


@dataclass(frozen=True, slots=True)
class _Part:
    """A group without a position."""

    kind: str
    colour: str
    size: str
    count: int


@dataclass(frozen=True, slots=True)
class _Slot:
    """The area for a group, as fractions of the image."""

    left: float
    top: float
    right: float
    bottom: float


def scene(seed: int, index: int) -> Scene:
    """Scene `index` of a seed, independent of all other scenes.

    Args:
        seed: at least 0.
        index: at least 0.
    """
    ground, arrangement, parts = _cast(Chance(seed, index - index % 2), second=index % 2 == 1)
    chance = Chance(seed, index, 1)
    return Scene(seed, index, ground, tuple(_arrange(chance, arrangement, parts)), _relations(arrangement))


def _cast(chance: Chance, second: bool) -> tuple[str, str, list[_Part]]:
    """Ground, arrangement and parts: those of a row from left to right, those above others last."""
    ground = chance.pick(tuple(GROUNDS))
    arrangement = chance.pick(ARRANGEMENTS)
    anything = tuple(KINDS)
    flying = tuple(kind.name for kind in KINDS.values() if kind.flies)
    match arrangement:
        case "alone":
            roles = [anything]
        case "row":
            roles = [anything, anything]
        case "column":
            roles = [anything, flying]
        case "stack":
            roles = [
                tuple(kind.name for kind in KINDS.values() if kind.seat is not None),
                tuple(kind.name for kind in KINDS.values() if kind.perches),
            ]
        case "trio":
            roles = [anything, anything, anything]
        case _:
            roles = [anything, anything, flying]
    colours = chance.shuffled(COLOURS)
    parts: list[_Part] = []
    for position, role in enumerate(roles):
        kind = _kind(chance, ground, role)
        if any(part.kind == kind for part in parts):  # two groups of one kind should be rare
            kind = _kind(chance, ground, role)
        size, count = _size_and_count(chance, arrangement, position)
        parts.append(_Part(kind, colours[position], size, count))
    return ground, arrangement, _exchanged(chance, arrangement, parts) if second else parts


def _kind(chance: Chance, ground: str, role: Sequence[str]) -> str:
    """Mostly what is typical of the ground; one time in eight, anything."""
    home = [kind for kind in role if kind in GROUNDS[ground].home]
    return chance.pick(role) if chance.one_in(8) or not home else chance.pick(home)


def _size_and_count(chance: Chance, arrangement: str, position: int) -> tuple[str, int]:
    if arrangement == "stack":
        return ("large", 1) if position == 0 else ("small", 1)
    if chance.one_in(2):
        return "large", chance.pick((1, 1, 2)) if arrangement in ("alone", "column") else 1
    most = 2 if arrangement == "trio" else 3 if arrangement == "row and sky" else 4
    return "small", max(1, chance.below(most + 1))  # one of them is twice as likely as any other number


def _exchanged(chance: Chance, arrangement: str, parts: list[_Part]) -> list[_Part]:
    if arrangement == "alone":  # nothing to exchange: another count
        part = parts[0]
        return [replace(part, count=5 - part.count, size="small")]
    first, second, *rest = parts
    if arrangement in ("column", "stack") or chance.one_in(2):
        return [replace(first, colour=second.colour), replace(second, colour=first.colour), *rest]
    return [second, first, *rest]


def _relations(arrangement: str) -> tuple[Relation, ...]:
    match arrangement:
        case "alone":
            return ()
        case "row":
            return (Relation("left of", 0, (1,)),)
        case "column":
            return (Relation("above", 1, (0,)),)
        case "stack":
            return (Relation("on top of", 1, (0,)),)
        case "trio":
            return (Relation("left of", 0, (1,)), Relation("left of", 1, (2,)), Relation("between", 1, (0, 2)))
        case _:
            return (Relation("left of", 0, (1,)), Relation("above", 2, (0, 1)))


def _arrange(chance: Chance, arrangement: str, parts: list[_Part]) -> list[Group]:
    near, far = MARGIN, 1 - MARGIN
    floor = _Slot(near, 0.50, far, far)
    sky = _Slot(near, near, far, 0.48)
    match arrangement:
        case "alone":
            slots = [sky if KINDS[parts[0].kind].flies and not chance.one_in(3) else floor]
        case "row" | "trio":
            high = all(KINDS[part.kind].flies for part in parts)
            rows = sky if high else floor
            edges = [near + SPAN * n / len(parts) for n in range(len(parts) + 1)]
            slots = [_Slot(a, rows.top, b, rows.bottom) for a, b in pairwise(edges)]
        case "column":
            slots = [floor, sky]
        case "stack":
            return _stack(chance, parts, floor)
        case _:
            slots = [_Slot(near, 0.50, 0.5, far), _Slot(0.5, 0.50, far, far), sky]
    return [_placed(chance, part, slot) for part, slot in zip(parts, slots, strict=True)]


def _extent(part: _Part, scale: float) -> tuple[float, float]:
    """Width and height of one object."""
    side = (LARGE if part.size == "large" else SMALL) * scale
    aspect = sketch(part.kind).aspect
    return (side, side / aspect) if aspect > 1 else (side * aspect, side)


def _placed(chance: Chance, part: _Part, slot: _Slot) -> Group:
    """The objects of a group side by side, in rows if the slot is too narrow, at a random position in the slot."""
    gap = 0.012
    width, height = slot.right - slot.left - gap, slot.bottom - slot.top
    item_width, item_height = _extent(part, chance.between(0.92, 1.04))

    def fit(columns: int) -> float:
        """The scale at which the objects fit into this many columns."""
        rows = -(-part.count // columns)
        across, down = (width + gap) / columns - gap, (height + gap) / rows - gap
        return min(1.0, across / item_width, down / item_height)

    columns = max(range(part.count, 0, -1), key=fit)
    rows, shrink = -(-part.count // columns), fit(columns)
    item_width, item_height = item_width * shrink, item_height * shrink
    step_x, step_y = item_width + gap, item_height + gap
    x = slot.left + gap / 2 + chance.between(0, width - columns * step_x + gap)
    y = slot.top + chance.between(0.0, height - rows * step_y + gap)
    boxes = []
    for n in range(part.count):
        row, column = divmod(n, columns)
        indent = (columns - min(columns, part.count - row * columns)) / 2  # a short last row is centred
        left, top = x + (column + indent) * step_x, y + row * step_y
        boxes.append(Box(part.kind, left, top, left + item_width, top + item_height))
    return Group(part.kind, part.colour, part.size, tuple(boxes), mirrored=chance.one_in(2))


def _stack(chance: Chance, parts: list[_Part], floor: _Slot) -> list[Group]:
    below, above = parts
    carrier = _placed(chance, below, floor)
    box = carrier.boxes[0]
    width, height = _extent(above, 1.0)
    seat = box.top + (KINDS[below.kind].seat or 0.0) * (box.bottom - box.top)
    left = (box.left + box.right - width) / 2
    rider = Box(above.kind, left, seat - height, left + width, seat)
    return [carrier, Group(above.kind, above.colour, above.size, (rider,), mirrored=chance.one_in(2))]
