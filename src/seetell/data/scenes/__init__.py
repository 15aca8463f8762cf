"""Scenes: images that the package draws itself, with captions, labels and boxes, for tests and tutorials."""

from seetell.data.dataset import Dataset
from seetell.data.records import Record
from seetell.data.scenes.casting import scene
from seetell.data.scenes.drawing import SceneImage, draw
from seetell.data.scenes.wording import captions
from seetell.data.scenes.world import CLASSES, Group, Relation, Scene
from seetell.errors import DatasetError

__all__ = ["Group", "Relation", "Scene", "SceneImage", "draw", "scene", "scenes"]


def scenes(count: int = 2000, seed: int = 7) -> Dataset:
    """Drawn images of coloured things on a ground, each with five captions, its labels and where everything is.

    A scene depends on its seed and index alone, so `scenes(100)` is the warm_start of `scenes(2000)`. Scenes come in
    pairs of the same things rearranged (see `casting`), and a pair is never torn: of every ten pairs the second is for
    validation, the third for testing and the others for training; any multiple of twenty is split 80/10/10.
    """
    if count < 1:
        raise DatasetError(f"{count} scenes are asked for", where="scenes", remedy="Ask for at least one: scenes:2000")
    if seed < 0:
        raise DatasetError(f"the seed is {seed}", where="scenes", remedy="Take a seed that is not negative")
    return Dataset("scenes", tuple(_record(seed, index) for index in range(count)), classes=CLASSES)


def _record(seed: int, index: int) -> Record:
    truth, image = scene(seed, index), SceneImage(seed, index)
    return Record(
        key=image.name.removesuffix(".png"),
        image=image,
        captions=captions(truth),
        labels=truth.labels,
        split={1: "val", 2: "test"}.get(index // 2 % 10, "train"),
        boxes=truth.boxes,
    )
