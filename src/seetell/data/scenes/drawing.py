"""Scenes as images: the ground, then the objects, drawn large and reduced for smooth edges."""

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from seetell.data.scenes.composition import scene
from seetell.data.scenes.grounds import Colour, draw_ground
from seetell.data.scenes.sketches import sketch
from seetell.data.scenes.world import Group, Scene

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

SIDE = 256  # pixels
OVERSAMPLING = 2

BODY: dict[str, Colour] = {
    "red": (214, 32, 38),
    "orange": (247, 132, 18),
    "yellow": (250, 214, 32),
    "green": (24, 150, 56),
    "blue": (30, 88, 222),
    "purple": (150, 46, 180),
}
PAINT: dict[str, Colour] = {
    "ink": (32, 30, 36),
    "white": (250, 250, 246),
    "wood": (122, 80, 46),
    "cream": (244, 230, 204),
    "glass": (190, 222, 236),
    "metal": (196, 198, 204),
    "beak": (228, 160, 60),
    "stem": (70, 122, 52),
    "lamp": (255, 244, 190),
    "moonlit": (222, 224, 240),
}


def shades(colour: str) -> dict[str, Colour]:
    """The shades of an object of this colour, its outline included."""
    red, green, blue = BODY[colour]
    return PAINT | {
        "body": (red, green, blue),
        "dark": (red * 7 // 10, green * 7 // 10, blue * 7 // 10),
        "light": (red + (255 - red) * 4 // 10, green + (255 - green) * 4 // 10, blue + (255 - blue) * 4 // 10),
        "outline": (red * 3 // 10, green * 3 // 10, blue * 3 // 10),
    }


def draw(scene: Scene, *, objects: bool = True) -> "Image":
    """The scene as an RGB image of SIDE × SIDE pixels.

    Args:
        scene: what to draw.
        objects: without them, only the ground is drawn.
    """
    from PIL import ImageDraw

    canvas = draw_ground(scene, SIDE * OVERSAMPLING)
    if objects:
        pen = ImageDraw.Draw(canvas)
        for group in scene.groups:
            _draw_group(pen, group, "moonlit" if scene.ground == "night" else "outline")
    return canvas.reduce(OVERSAMPLING)


def _draw_group(pen: "ImageDraw", group: Group, outline: str) -> None:
    kind, paint = sketch(group.kind), shades(group.colour)
    for box in group.boxes:
        corner = np.array([box.right if group.mirrored else box.left, box.top]) * SIDE * OVERSAMPLING
        size = np.array([box.right - box.left, box.bottom - box.top]) * SIDE * OVERSAMPLING
        if group.mirrored:
            size[0] = -size[0]
        for points in kind.outline:
            pen.polygon((points * size + corner).ravel().tolist(), fill=paint[outline])
        for shape in kind.shapes:
            pen.polygon((shape.points * size + corner).ravel().tolist(), fill=paint[shape.shade])


@dataclass(frozen=True, slots=True)
class SceneImage:
    """An image that is drawn when it is read."""

    seed: int
    index: int

    @property
    def name(self) -> str:
        return f"scene-{self.seed}-{self.index:05d}.png"

    def read(self) -> bytes:
        encoded = BytesIO()
        draw(scene(self.seed, self.index)).save(encoded, format="PNG", compress_level=1)
        return encoded.getvalue()
