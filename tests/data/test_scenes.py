"""Scenes: drawn images must agree with their own truth, and be the same everywhere."""

import re
from collections import Counter
from io import BytesIO
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from seetell.data.records import Box
from seetell.data.scenes import Group, Scene, draw, scene, scenes
from seetell.errors import DatasetError

KINDS = ["balloon", "bird", "boat", "car", "cat", "dog", "fish", "flower"]
KINDS += ["house", "kite", "mushroom", "star", "tree", "umbrella"]
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple"]
NUMBERS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4}
SIZES = {"small": "small", "little": "small", "large": "large", "big": "large"}
PLACES = {
    "beach": {"at the beach", "on a sandy beach"},
    "meadow": {"in a meadow", "in a grassy meadow"},
    "night": {"at night", "on a dark night"},
    "room": {"in a room", "inside a room"},
    "sea": {"at sea", "out at sea"},
    "snow": {"in the snow", "in the white snow"},
    "street": {"in the street", "in a city street"},
}
THING = re.compile(
    rf"\b({'|'.join(NUMBERS)}) (?:({'|'.join(SIZES)}) )?({'|'.join(COLOURS)}) ({'|'.join(KINDS)})(s?)\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def dataset():
    return scenes()


@pytest.fixture(scope="module")
def truths():
    return [scene(7, index) for index in range(2000)]


def around(group: Group) -> Box:
    boxes = group.boxes
    return Box(
        group.kind,
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )


def is_so(relation: str, one: Group, other: Group) -> bool:
    """Whether a relation holds, judged by the boxes alone."""
    a, b = around(one), around(other)
    match relation:
        case "to the left of":
            return a.right <= b.left
        case "to the right of":
            return is_so("to the left of", other, one)
        case "next to":
            return is_so("to the left of", one, other) or is_so("to the left of", other, one)
        case "above":
            return a.bottom <= b.top
        case "below":
            return is_so("above", other, one)
        case "on top of":
            height = b.bottom - b.top
            return b.top - 0.01 <= a.bottom <= b.top + 0.2 * height and b.left <= (a.left + a.right) / 2 <= b.right
        case "under":
            return is_so("on top of", other, one)
    raise AssertionError(relation)


def read_caption(caption: str, truth: Scene) -> tuple[str, list[Group]]:
    """The caption with its things replaced by numbers and its ground by G, and the groups that these things are."""
    named: list[Group] = []

    def number(match: re.Match[str]) -> str:
        article, size, colour, kind, plural = match.groups()
        count = NUMBERS[article.lower()]
        fitting = [group for group in truth.groups if (group.kind, group.colour) == (kind, colour)]
        assert len(fitting) == 1, f"{match[0]!r} is not in the image: {caption}"
        assert fitting[0].count == count, caption
        assert size is None or SIZES[size] == fitting[0].size, caption
        assert bool(plural) == (count > 1 and kind != "fish"), caption
        if count == 1:
            assert (article.lower() == "an") == ((size or colour)[0] in "aeiou"), caption
        named.append(fitting[0])
        return str(len(named) - 1)

    words = THING.sub(number, caption)
    assert words[-1] == "."
    assert caption[0].isupper()
    words = words[:-1].lower()
    grounds = [place for place in sorted(PLACES[truth.ground], key=len, reverse=True) if place in words]
    assert grounds, f"not at this ground: {caption}"
    return words.replace(grounds[0], "G"), named


SENTENCE = re.compile(r"(?:there (?P<command>is|are) )?(?P<said>.+) G|G there (?P<verb_last>is|are) (?P<said_last>.+)")


@pytest.mark.parametrize("start", range(0, 400, 100))
def test_every_caption_is_true(start, dataset, truths):
    for index in range(start, start + 100):
        truth = truths[index]
        for caption in dataset.records[index].captions:
            words, named = read_caption(caption, truth)
            sentence = SENTENCE.fullmatch(words)
            assert sentence, caption
            said, command = sentence["said"] or sentence["said_last"], sentence["command"] or sentence["verb_last"]
            if command:
                assert (command == "is") == (named[0].count == 1), caption
            if re.fullmatch(r"0|0 and 1|0, 1 and 2", said):
                continue
            if said == "0 between 1 and 2":
                assert is_so("to the left of", named[1], named[0]), caption
                assert is_so("to the left of", named[0], named[2]), caption
                continue
            claims = re.fullmatch(r"0 ([a-z ]+) 1(?: (and|below) 2)?", said)
            assert claims, caption
            assert is_so(claims[1], named[0], named[1]), caption
            if claims[2] == "and":
                assert is_so(claims[1], named[0], named[2]), caption
            elif claims[2] == "below":
                assert is_so("below", named[0], named[2]), caption
                assert is_so("below", named[1], named[2]), caption


def test_captions_differ_in_wording_and_detail(dataset, truths):
    for record, truth in zip(dataset.records, truths, strict=True):
        assert len(record.captions) == 5
        assert len(set(record.captions)) >= 3
        mentions = [len(THING.findall(caption)) for caption in record.captions]
        assert max(mentions) == len(truth.groups)
        assert min(mentions) == 1
        assert sum(number == len(truth.groups) for number in mentions) >= 4


def test_labels_are_what_is_in_the_image(dataset, truths):
    for record, truth in zip(dataset.records, truths, strict=True):
        assert set(record.labels) == {truth.ground} | {group.kind for group in truth.groups}
        assert list(record.labels) == [label for label in dataset.classes if label in record.labels]
        assert Counter(box.label for box in record.boxes) == sum(
            (Counter({group.kind: group.count}) for group in truth.groups), Counter()
        )
    assert sorted(dataset.classes) == sorted([*KINDS, *PLACES])


def test_relations_hold_by_the_boxes(truths):
    words = {"left of": "to the left of", "above": "above", "on top of": "on top of"}
    for truth in truths:
        for relation in truth.relations:
            subject, objects = truth.groups[relation.subject], [truth.groups[number] for number in relation.objects]
            if relation.name == "between":
                assert is_so("to the left of", objects[0], subject)
                assert is_so("to the left of", subject, objects[1])
            else:
                assert all(is_so(words[relation.name], subject, thing) for thing in objects)


def test_things_are_whole_and_apart(truths):
    for truth in truths:
        for box in truth.boxes:
            assert 0.0625 <= box.left < box.right <= 0.9375  # what a centre crop of seven eighths keeps
            assert 0.0625 <= box.top < box.bottom <= 0.9375
        if not any(relation.name == "on top of" for relation in truth.relations):
            for a, b in combinations(truth.boxes, 2):
                assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top


def test_small_and_large_are_told_apart_by_eye(truths):
    sides: dict[str, list[float]] = {"small": [], "large": []}
    for truth in truths:
        for group in truth.groups:
            sides[group.size] += [max(box.right - box.left, box.bottom - box.top) for box in group.boxes]
    assert max(sides["small"]) * 1.2 < min(sides["large"])


@pytest.mark.parametrize("index", range(0, 60, 3))
def test_boxes_hold_what_is_drawn_and_fit_tightly(index):
    truth = scene(7, index)
    bare, full = (np.asarray(draw(truth, objects=objects), dtype=int) for objects in (False, True))
    side = len(full)
    changed = (bare != full).any(axis=2)
    boxed = np.zeros_like(changed)
    for box in truth.boxes:
        left, top = int(box.left * side), int(box.top * side)
        right, bottom = int(np.ceil(box.right * side)) + 1, int(np.ceil(box.bottom * side)) + 1
        boxed[top:bottom, left:right] = True
        ys, xs = np.nonzero(changed[top:bottom, left:right])
        assert ys.min() <= 2
        assert xs.min() <= 2
        assert ys.max() >= bottom - top - 4
        assert xs.max() >= right - left - 4
    assert not (changed & ~boxed).any()


HUES = {
    "red": (345, 10),
    "orange": (20, 40),
    "yellow": (45, 60),
    "green": (110, 150),
    "blue": (210, 235),
    "purple": (275, 300),
}


@pytest.mark.parametrize("index", range(1, 60, 3))
def test_things_have_the_colour_that_is_said(index):
    truth = scene(7, index)
    image = draw(truth)
    hue, saturation, _ = (np.asarray(band, dtype=float) for band in image.convert("HSV").split())
    for group in truth.groups:
        low, high = HUES[group.colour]
        degrees = hue / 255 * 360
        of_colour = (degrees >= low) & (degrees <= high) if low < high else (degrees >= low) | (degrees <= high)
        for box in group.boxes:
            part = np.s_[int(box.top * 256) : int(box.bottom * 256), int(box.left * 256) : int(box.right * 256)]
            assert (of_colour & (saturation > 150))[part].mean() > 0.12, (truth.index, group)


def test_images_are_png_and_the_same_every_time():
    first, again = scenes(6).records, scenes(6).records
    assert first == again
    for one, other in zip(first, again, strict=True):
        data = one.image.read()
        assert data == other.image.read()
        with Image.open(BytesIO(data)) as image:
            assert (image.format, image.mode, image.size) == ("PNG", "RGB", (256, 256))
    assert len({record.image.read() for record in first}) == 6
    assert first[3].image.name == "scene-7-00003.png"


def test_another_seed_gives_other_scenes():
    ours, others = scenes(20, seed=1), scenes(20, seed=2)
    assert not {record.captions for record in ours.records} & {record.captions for record in others.records}
    assert not {record.key for record in ours.records} & {record.key for record in others.records}
    assert ours.records[0].image.read() != others.records[0].image.read()


def test_a_scene_does_not_depend_on_how_many_there_are(dataset):
    assert scenes(30).records == dataset.records[:30]


def test_pairs_share_their_things_but_not_the_order(truths, dataset):
    """What makes word order matter: the same words, differently arranged, and never on two sides of a split."""
    swapped = 0
    for index in range(0, 2000, 2):
        one, other = truths[index], truths[index + 1]
        assert dataset.records[index].split == dataset.records[index + 1].split
        assert one.ground == other.ground
        assert one.labels == other.labels
        if len(one.groups) > 1:
            assert sorted(group.colour for group in one.groups) == sorted(group.colour for group in other.groups)
            assert [(group.kind, group.colour) for group in one.groups] != [
                (group.kind, group.colour) for group in other.groups
            ]
            words = [
                {tuple(sorted(caption.lower().split())) for caption in dataset.records[number].captions}
                for number in (index, index + 1)
            ]
            swapped += bool(words[0] & words[1])
    assert swapped > 500


def test_two_thousand_scenes_are_varied_and_sanely_spread(dataset, truths):
    assert {name: len(dataset.split(name)) for name in ("train", "val", "test")} == {
        "train": 1600,
        "val": 200,
        "test": 200,
    }
    count = len(truths)
    labels = Counter(label for record in dataset.records for label in record.labels)
    assert all(0.05 * count < labels[label] < 0.30 * count for label in dataset.classes)
    assert {len(record.labels) for record in dataset.records} == {2, 3, 4}
    groups = [group for truth in truths for group in truth.groups]
    for fact in ("colour", "size", "count"):
        frequencies = Counter(getattr(group, fact) for group in groups)
        assert len(frequencies) == {"colour": 6, "size": 2, "count": 4}[fact]
        assert min(frequencies.values()) > 0.05 * len(groups)
    assert len(Counter(len(truth.groups) for truth in truths)) == 3
    relations = Counter(relation.name for truth in truths for relation in truth.relations)
    assert all(relations[name] > 0.05 * count for name in ("left of", "above", "on top of", "between"))
    assert len({(truth.ground, truth.groups) for truth in truths}) == count
    words = {
        word.strip(".,").lower()
        for record in dataset.records
        for caption in record.captions
        for word in caption.split()
    }
    assert 60 < len(words) < 150
    for split in ("val", "test"):
        seen = {word for record in dataset.split("train") for caption in record.captions for word in caption.split()}
        assert all(
            word in seen for record in dataset.split(split) for caption in record.captions for word in caption.split()
        )


def test_things_go_with_grounds_but_not_always(dataset):
    def share(kind: str, ground: str | None = None) -> float:
        of = [record for record in dataset.records if ground is None or ground in record.labels]
        return sum(kind in record.labels for record in of) / len(of)

    for kind, ground in (("fish", "sea"), ("car", "street"), ("star", "night"), ("flower", "meadow")):
        assert share(kind, ground) > 2 * share(kind)
        assert any(kind in record.labels and ground not in record.labels for record in dataset.records)


@pytest.mark.parametrize(("count", "seed"), [(0, 7), (-3, 7), (10, -1)])
def test_impossible_wishes_are_refused_with_a_remedy(count, seed):
    with pytest.raises(DatasetError) as caught:
        scenes(count, seed)
    assert caught.value.remedy
