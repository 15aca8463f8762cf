"""Five captions for a scene, with different words, order and detail; all of them are true.

Two describe how the objects relate, from either side; two more do so in another frame; the last names only the largest
object, and the ground.
"""

from seetell.data.scenes.chance import Chance
from seetell.data.scenes.world import GROUNDS, KINDS, Group, Scene

NUMBERS = ("no", "one", "two", "three", "four")
SIZE_WORDS = {"small": ("small", "little"), "large": ("large", "big")}


def captions(scene: Scene) -> tuple[str, ...]:
    """The scene's five captions."""
    return _captions(scene, Chance(scene.seed, scene.index, 3))


def _captions(scene: Scene, chance: Chance) -> tuple[str, ...]:
    one, other, *more = _statements(scene, chance)
    largest = max(scene.groups, key=lambda group: sum((b.right - b.left) * (b.bottom - b.top) for b in group.boxes))
    where = GROUNDS[scene.ground].phrases
    third, fourth = (chance.pick([one, other, *more]) for _ in range(2))
    return tuple(
        _sentence(words)
        for words in (
            f"{one} {chance.pick(where)}",
            f"{other} {chance.pick(where)}",
            f"{_there(third)} {chance.pick(where)}",
            f"{chance.pick(where)} {_there(fourth)}",
            f"{_named(largest, chance, size=True)} {chance.pick(where)}",
        )
    )


def _statements(scene: Scene, chance: Chance) -> list[str]:
    """The relations of the objects in several phrasings; the first two start from opposite sides."""
    with_sizes = chance.one_in(2)
    names = [_named(group, chance, size=with_sizes) for group in scene.groups]
    plain = [_named(group, chance, size=False) for group in scene.groups]
    relations = {relation.name for relation in scene.relations}
    if len(names) == 1:
        return [plain[0], names[0]]
    a, b, c = plain[0], plain[1], plain[-1]
    if "on top of" in relations:
        return [f"{names[1]} on top of {names[0]}", f"{a} under {b}", f"{b} on top of {a}"]
    if "between" in relations:
        return [
            f"{b} between {a} and {c}",
            f"{names[0]} to the left of {names[1]} and {names[2]}",
            f"{c} to the right of {b} and {a}",
            f"{a}, {b} and {c}",
        ]
    if len(names) == 3:
        return [
            f"{a} to the left of {b} below {c}",
            f"{names[2]} above {names[0]} and {names[1]}",
            f"{b} to the right of {a} below {c}",
            f"{a}, {b} and {c}",
        ]
    if "above" in relations:
        return [f"{names[1]} above {names[0]}", f"{a} below {b}", f"{a} and {b}"]
    return [f"{names[0]} to the left of {names[1]}", f"{b} to the right of {a}", f"{a} next to {b}", f"{b} and {a}"]


def _named(group: Group, chance: Chance, size: bool) -> str:
    """`a large red car`, `three blue fish`."""
    words = f"{chance.pick(SIZE_WORDS[group.size])} {group.colour}" if size else group.colour
    if group.count > 1:
        return f"{NUMBERS[group.count]} {words} {KINDS[group.kind].plural}"
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words} {group.kind}"


def _there(statement: str) -> str:
    return f"there {'is' if statement.split()[0] in ('a', 'an') else 'are'} {statement}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
