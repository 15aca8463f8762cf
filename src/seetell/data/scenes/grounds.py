"""The grounds of scenes: sky and floor in varying light, with a few details."""

from typing import TYPE_CHECKING

from seetell.data.scenes.chance import Chance
from seetell.data.scenes.world import GROUNDS, Scene

if TYPE_CHECKING:
    from PIL.Image import Image

Colour = tuple[int, int, int]

# Upper part (top, at the horizon), lower part (at the horizon, bottom).
LIGHT: dict[str, tuple[Colour, Colour, Colour, Colour]] = {
    "beach": ((132, 200, 240), (206, 234, 246), (246, 226, 174), (228, 198, 138)),
    "meadow": ((150, 206, 244), (222, 240, 248), (214, 230, 160), (186, 210, 122)),
    "night": ((14, 16, 46), (48, 50, 100), (40, 58, 62), (24, 38, 44)),
    "room": ((238, 222, 204), (228, 208, 186), (186, 138, 96), (160, 112, 74)),
    "sea": ((188, 222, 242), (228, 240, 246), (120, 196, 212), (52, 130, 164)),
    "snow": ((190, 204, 222), (220, 228, 238), (252, 252, 255), (226, 234, 246)),
    "street": ((200, 214, 224), (226, 230, 232), (148, 148, 152), (112, 112, 118)),
}


class _Brush:
    """Draws on a square canvas in fractions of its side."""

    def __init__(self, canvas: "Image") -> None:
        from PIL import ImageDraw

        self.side = canvas.width
        self._pen = ImageDraw.Draw(canvas)

    def rectangle(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        self._pen.rectangle([self.side * left, self.side * top, self.side * right, self.side * bottom], fill=fill)

    def oval(self, x: float, y: float, width: float, height: float, fill: Colour) -> None:
        """Around (x, y)."""
        corners = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
        self._pen.ellipse([self.side * value for value in corners], fill=fill)

    def polygon(self, *coordinates: float, fill: Colour) -> None:
        self._pen.polygon([self.side * value for value in coordinates], fill=fill)


def draw_ground(scene: Scene, side: int) -> "Image":
    """A canvas of side × side pixels with the ground of a scene."""
    from PIL import Image

    chance = Chance(scene.seed, scene.index, 2)
    horizon = GROUNDS[scene.ground].horizon + chance.between(-0.03, 0.03)
    canvas = Image.new("RGB", (side, side))
    top, low, high, bottom = LIGHT[scene.ground]
    line = round(horizon * side)
    lift = chance.between(-8, 8)
    canvas.paste(_gradient(top, low, lift, (side, line)), (0, 0))
    canvas.paste(_gradient(high, bottom, lift, (side, side - line)), (0, line))
    MARKS[scene.ground](_Brush(canvas), chance, horizon)
    return canvas


def _gradient(above: Colour, below: Colour, lift: float, size: tuple[int, int]) -> "Image":
    """From one colour down to the other, a little lighter on the left: the light comes from there."""
    from PIL import Image

    corners = Image.new("RGB", (2, 2))
    for x, side_light in enumerate((10, -10)):
        for y, colour in enumerate((above, below)):
            red, green, blue = (max(0, min(255, round(value + lift + side_light))) for value in colour)
            corners.putpixel((x, y), (red, green, blue))
    coarse = corners.resize((size[0] // 4, size[1] // 4), Image.Resampling.BILINEAR)  # four times finer takes longest
    return coarse.resize(size, Image.Resampling.NEAREST)


def _clouds(brush: _Brush, chance: Chance, fill: Colour) -> None:
    for _ in range(1 + chance.below(2)):
        x, y, size = chance.between(0.1, 0.9), chance.between(0.06, 0.26), chance.between(0.10, 0.16)
        brush.oval(x, y, size, size * 0.5, fill)
        brush.oval(x - size * 0.5, y + size * 0.12, size * 0.8, size * 0.36, fill)
        brush.oval(x + size * 0.5, y + size * 0.12, size * 0.8, size * 0.36, fill)


def _meadow(brush: _Brush, chance: Chance, horizon: float) -> None:
    _clouds(brush, chance, (250, 252, 254))
    brush.oval(chance.between(0.1, 0.4), horizon + 0.04, 0.9, 0.2, (202, 222, 146))
    for _ in range(22):
        x, y = chance.between(0.02, 0.98), chance.between(horizon + 0.08, 0.97)
        brush.polygon(x - 0.012, y, x - 0.008, y - 0.03, x, y, x + 0.004, y - 0.035, x + 0.012, y, fill=(140, 172, 84))


def _beach(brush: _Brush, chance: Chance, horizon: float) -> None:
    _clouds(brush, chance, (250, 252, 254))
    brush.rectangle(0, horizon - 0.1, 1, horizon, (84, 168, 204))
    brush.rectangle(0, horizon - 0.012, 1, horizon + 0.006, (244, 248, 250))
    for _ in range(30):
        brush.oval(chance.between(0, 1), chance.between(horizon + 0.05, 0.98), 0.014, 0.008, (206, 174, 114))


def _night(brush: _Brush, chance: Chance, horizon: float) -> None:
    x = chance.between(0.1, 0.9)
    brush.oval(x, 0.12, 0.13, 0.13, (236, 234, 214))
    brush.oval(x + 0.03, 0.105, 0.11, 0.11, (22, 24, 58))
    for _ in range(26):
        brush.oval(chance.between(0, 1), chance.between(0, horizon - 0.08), 0.007, 0.007, (222, 224, 240))
    brush.oval(chance.between(0.1, 0.9), horizon + 0.05, 1.0, 0.22, (34, 50, 56))


def _room(brush: _Brush, chance: Chance, horizon: float) -> None:
    for n in range(12):
        brush.rectangle(n / 12, 0, n / 12 + 0.02, horizon, (224, 202, 178))
    brush.rectangle(0, horizon - 0.025, 1, horizon, (250, 246, 238))
    x = chance.between(0.1, 0.62)
    brush.rectangle(x, 0.08, x + 0.28, 0.36, (250, 248, 242))
    for column in range(2):
        for row in range(2):
            left, top = x + 0.015 + column * 0.13, 0.095 + row * 0.13
            brush.rectangle(left, top, left + 0.12, top + 0.12, (186, 216, 236))
    brush.oval(0.5, 0.86, 0.8, 0.2, (206, 176, 150))


def _sea(brush: _Brush, chance: Chance, horizon: float) -> None:
    _clouds(brush, chance, (252, 253, 254))
    for _ in range(24):
        y = chance.between(horizon + 0.03, 0.97)
        x, width = chance.between(0, 1), 0.03 + 0.06 * (y - horizon)
        for left in (x - width, x):
            right, crest = left + width, left + width / 2
            brush.polygon(left, y, crest, y - 0.012, right, y, crest, y - 0.005, fill=(196, 230, 236))


def _snow(brush: _Brush, chance: Chance, horizon: float) -> None:
    brush.oval(chance.between(0.0, 0.3), horizon + 0.06, 1.0, 0.26, (246, 248, 253))
    brush.oval(chance.between(0.7, 1.0), horizon + 0.07, 0.9, 0.22, (238, 243, 250))
    for _ in range(44):
        size = chance.between(0.008, 0.018)
        brush.oval(chance.between(0, 1), chance.between(0, 0.98), size, size, (255, 255, 255))


def _street(brush: _Brush, chance: Chance, horizon: float) -> None:
    left = 0.0
    while left < 1:
        width, top = chance.between(0.12, 0.2), horizon - chance.between(0.22, 0.46)
        grey = 176 + chance.below(24)
        brush.rectangle(left, top, left + width, horizon, (grey, grey, grey + 6))
        for row in range(int((horizon - top - 0.04) / 0.07)):
            for column in range(int(width / 0.05)):
                x, y = left + 0.015 + column * 0.05, top + 0.025 + row * 0.07
                brush.rectangle(x, y, x + 0.022, y + 0.035, (grey - 26, grey - 22, grey - 12))
        left += width
    brush.rectangle(0, horizon, 1, horizon + 0.05, (190, 188, 184))
    for n in range(5):
        x = n * 0.22 + 0.02
        brush.polygon(x, 0.80, x + 0.12, 0.80, x + 0.11, 0.825, x - 0.01, 0.825, fill=(238, 236, 226))


MARKS = {
    "beach": _beach,
    "meadow": _meadow,
    "night": _night,
    "room": _room,
    "sea": _sea,
    "snow": _snow,
    "street": _street,
}
