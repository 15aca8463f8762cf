"""Synthetic scenes: images drawn on demand, with captions, labels and boxes, for tests and tutorials."""

from seetell.data.dataset import Dataset
from seetell.data.records import Record
from seetell.data.scenes.captions import captions
from seetell.data.scenes.composition import scene
from seetell.data.scenes.drawing import SceneImage, draw
from seetell.data.scenes.world import CLASSES, Group, Relation, Scene
from seetell.errors import DatasetError

__all__ = ["Group", "Relation", "Scene", "SceneImage", "draw", "scene", "scenes"]


def scenes(count: int = 2000, seed: int = 7) -> Dataset:
    """Drawn images of coloured objects, each with five captions, labels and bounding boxes.

    A scene depends only on its seed and index, so `scenes(100)` is the start of `scenes(2000)`. Scenes come in pairs of
    the same objects rearranged (see `composition`), which stay in one split: of every ten pairs the second is for
    validation, the third for testing and the others for training; any multiple of twenty is split 80/10/10.

    Args:
        count: how many.
        seed: another seed gives other scenes.

    Example:
        >>> scenes(2).records[0].captions[0]
        'A blue bird to the left of three orange boats below a yellow balloon at sea.'
    """
    if count < 1:
        raise DatasetError(f"the number of scenes is {count}", where="scenes", remedy="Take at least one: scenes:2000")
    if seed < 0:
        raise DatasetError(f"the seed is {seed}", where="scenes", remedy="Choose a seed that is not negative")
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
