"""What each kind of object looks like: closed shapes on a board of 100 × 100, y downwards, facing right.

A shape is filled with a shade. `body`, `dark` and `light` are shades of the object's colour; the others are fixed
paints. All shapes end up as polygons, so that the bounding box of an object is exact.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

OUTLINE = 1.6  # the width of the outline, in board units


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    shade: str
    points: Points  # n × 2


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """The shapes of a kind, scaled so that the outline fits the unit square; `aspect` is width / height."""

    aspect: float
    outline: tuple[Points, ...]
    shapes: tuple[Shape, ...]


def _oval(shade: str, left: float, top: float, right: float, bottom: float) -> Shape:
    angles = np.linspace(0, 2 * np.pi, 28, endpoint=False)
    centre = np.array([(left + right) / 2, (top + bottom) / 2])
    radii = np.array([(right - left) / 2, (bottom - top) / 2])
    return Shape(shade, centre + radii * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _polygon(shade: str, *coordinates: float) -> Shape:
    return Shape(shade, np.array(coordinates, dtype=np.float64).reshape(-1, 2))


def _curve(shade: str, *coordinates: float) -> Shape:
    """A closed Catmull-Rom spline through the given points."""
    knots = np.array(coordinates, dtype=np.float64).reshape(-1, 1, 2)
    before, after, beyond = np.roll(knots, 1, axis=0), np.roll(knots, -1, axis=0), np.roll(knots, -2, axis=0)
    t = np.linspace(0, 1, 6, endpoint=False)[:, None]
    points = 0.5 * (
        2 * knots
        + (after - before) * t
        + (2 * before - 5 * knots + 4 * after - beyond) * t**2
        + (3 * knots - before - 3 * after + beyond) * t**3
    )
    return Shape(shade, points.reshape(-1, 2))


def _star(shade: str, radius: float, inner: float) -> Shape:
    angles = np.arange(10) * np.pi / 5 - np.pi / 2
    radii = np.where(np.arange(10) % 2 == 0, radius, inner)[:, None]
    return Shape(shade, 50 + radii * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def _petals(shade: str, x: float, y: float, reach: float, radius: float) -> tuple[Shape, ...]:
    angles = np.arange(6) * np.pi / 3 + np.pi / 6
    centres = [(x + reach * np.cos(angle), y + reach * np.sin(angle)) for angle in angles]
    return tuple(_oval(shade, cx - radius, cy - radius, cx + radius, cy + radius) for cx, cy in centres)


_SHAPES: dict[str, tuple[Shape, ...]] = {
    "dog": (
        _curve("body", 18, 50, 8, 40, 2, 24, 7, 22, 13, 36, 24, 42),  # tail
        _polygon("dark", 27, 62, 37, 62, 36, 92, 27, 92),  # far legs
        _polygon("dark", 62, 62, 71, 62, 71, 92, 62, 92),
        _curve("body", 16, 46, 30, 40, 52, 41, 66, 36, 76, 44, 75, 62, 62, 70, 34, 68, 18, 66),
        _polygon("body", 17, 58, 28, 62, 27, 92, 17, 92),  # near legs
        _polygon("body", 52, 62, 62, 62, 61, 92, 52, 92),
        _curve("body", 60, 42, 64, 24, 74, 14, 86, 18, 91, 26, 99, 29, 98, 38, 86, 42, 76, 50),
        _curve("dark", 70, 15, 77, 17, 76, 30, 71, 40, 64, 38, 65, 25),  # ear
        _oval("ink", 81, 22, 86, 28),
        _oval("ink", 94, 26, 100, 32),
        _polygon("white", 63, 43, 77, 47, 76, 53, 62, 49),  # collar
    ),
    "cat": (
        _curve("body", 66, 88, 88, 84, 90, 64, 82, 52, 87, 46, 97, 60, 96, 84, 84, 97, 66, 98),  # tail
        _curve("body", 36, 46, 64, 46, 74, 72, 72, 98, 28, 98, 26, 72),
        _curve("light", 42, 58, 58, 58, 60, 78, 50, 86, 40, 78),
        _polygon("body", 25, 28, 24, 2, 46, 14),  # ears
        _polygon("body", 75, 28, 76, 2, 54, 14),
        _polygon("light", 30, 20, 29, 9, 39, 15),
        _polygon("light", 70, 20, 71, 9, 61, 15),
        _oval("body", 23, 10, 77, 54),
        _oval("white", 32, 24, 45, 38),
        _oval("white", 55, 24, 68, 38),
        _oval("ink", 37, 25, 43, 37),
        _oval("ink", 57, 25, 63, 37),
        _polygon("ink", 46, 39, 54, 39, 50, 44),
        _polygon("ink", 38, 42, 14, 38, 14, 40, 38, 44),  # whiskers
        _polygon("ink", 62, 42, 86, 38, 86, 40, 62, 44),
        _polygon("ink", 38, 46, 16, 48, 16, 50, 38, 48),
        _polygon("ink", 62, 46, 84, 48, 84, 50, 62, 48),
        _oval("dark", 33, 90, 48, 99),  # paws
        _oval("dark", 52, 90, 67, 99),
    ),
    "bird": (
        _polygon("dark", 2, 36, 28, 46, 24, 60, 4, 56),  # tail
        _polygon("beak", 88, 28, 100, 34, 88, 40),
        _polygon("beak", 50, 74, 53, 74, 54, 90, 60, 92, 50, 92),  # legs
        _polygon("beak", 40, 74, 43, 74, 44, 90, 50, 92, 40, 92),
        _curve("body", 20, 48, 44, 36, 64, 28, 72, 18, 86, 18, 93, 32, 86, 50, 72, 70, 48, 78, 28, 66),
        _curve("dark", 22, 34, 30, 12, 42, 24, 60, 46, 58, 60, 40, 60),  # wing
        _oval("white", 77, 23, 87, 34),
        _oval("ink", 80, 25, 86, 32),
    ),
    "fish": (
        _polygon("dark", 24, 50, 2, 26, 8, 50, 2, 74),  # tail
        _curve("dark", 38, 32, 50, 16, 66, 18, 72, 34),  # fins
        _polygon("dark", 46, 66, 44, 82, 62, 68),
        _curve("body", 20, 50, 40, 30, 66, 26, 88, 36, 99, 50, 88, 64, 66, 74, 40, 70),
        _curve("light", 30, 56, 60, 64, 86, 60, 66, 72, 44, 68),
        _curve("dark", 68, 30, 74, 50, 68, 70, 71, 70, 79, 50, 72, 30),  # gill
        _oval("white", 80, 36, 92, 48),
        _oval("ink", 84, 39, 91, 46),
    ),
    "tree": (
        _polygon("wood", 44, 50, 56, 50, 57, 86, 64, 98, 36, 98, 43, 86),
        _oval("body", 8, 32, 44, 66),
        _oval("body", 56, 32, 92, 66),
        _oval("body", 14, 14, 50, 48),
        _oval("body", 50, 14, 86, 48),
        _oval("body", 30, 2, 70, 38),
        _oval("body", 28, 34, 72, 70),
        _curve("light", 28, 30, 36, 14, 54, 8, 44, 16, 36, 28),
        _curve("dark", 46, 64, 64, 60, 72, 46, 76, 58, 66, 67),
    ),
    "house": (
        _polygon("dark", 66, 10, 78, 10, 78, 36, 66, 30),  # chimney
        _polygon("body", 14, 44, 86, 44, 86, 96, 14, 96),
        _polygon("body", 2, 46, 50, 8, 98, 46),
        _polygon("white", 2, 46, 98, 46, 96, 50, 4, 50),  # eaves
        _polygon("glass", 22, 58, 36, 58, 36, 72, 22, 72),
        _polygon("glass", 64, 58, 78, 58, 78, 72, 64, 72),
        _polygon("ink", 43, 70, 57, 70, 57, 96, 43, 96),
        _oval("white", 44, 24, 56, 36),
    ),
    "car": (
        _curve("body", 20, 48, 30, 26, 42, 20, 60, 20, 72, 30, 80, 48),
        _polygon("glass", 30, 44, 36, 29, 49, 27, 49, 44),
        _polygon("glass", 53, 44, 53, 27, 63, 29, 72, 44),
        _curve("body", 2, 54, 6, 46, 30, 43, 76, 43, 94, 48, 99, 60, 97, 68, 50, 70, 4, 68),
        _polygon("dark", 3, 60, 98, 60, 97, 67, 4, 67),
        _oval("lamp", 90, 50, 98, 58),
        _oval("ink", 14, 56, 36, 78),
        _oval("ink", 64, 56, 86, 78),
        _oval("metal", 20, 62, 30, 72),
        _oval("metal", 70, 62, 80, 72),
    ),
    "boat": (
        _polygon("wood", 47, 4, 51, 4, 51, 74, 47, 74),
        _curve("light", 54, 8, 72, 34, 88, 64, 54, 64),  # sails
        _polygon("white", 44, 16, 44, 64, 14, 64),
        _polygon("body", 51, 4, 66, 9, 51, 14),  # pennant
        _curve("body", 2, 70, 26, 72, 74, 72, 98, 68, 90, 86, 78, 95, 24, 95, 10, 86),
        _polygon("white", 8, 77, 93, 76, 92, 80, 10, 81),
    ),
    "balloon": (
        _polygon("ink", 36, 62, 38, 62, 44, 84, 42, 84),  # ropes
        _polygon("ink", 62, 62, 64, 62, 58, 84, 56, 84),
        _polygon("wood", 40, 82, 60, 82, 57, 98, 43, 98),
        _curve("body", 50, 2, 76, 10, 86, 32, 76, 54, 62, 70, 38, 70, 24, 54, 14, 32, 24, 10),
        _curve("white", 50, 3, 34, 12, 28, 34, 36, 56, 44, 69, 47, 69, 43, 54, 39, 34, 42, 12),
        _curve("white", 50, 3, 66, 12, 72, 34, 64, 56, 56, 69, 53, 69, 57, 54, 61, 34, 58, 12),
    ),
    "flower": (
        _polygon("stem", 48, 60, 52, 60, 53, 98, 47, 98),
        _curve("stem", 50, 94, 58, 80, 74, 78, 68, 90, 58, 96),
        *_petals("body", 50, 35, 21, 15),
        _oval("body", 34, 19, 66, 51),
        _oval("white", 40, 25, 60, 45),
    ),
    "star": (_star("body", 48, 22), _oval("light", 42, 30, 49, 37)),
    "kite": (
        _curve("ink", 50, 62, 44, 74, 56, 84, 50, 98, 53, 99, 60, 84, 48, 74, 53, 62),  # tail
        _polygon("body", 38, 70, 48, 75, 58, 70, 58, 80, 48, 76, 38, 80),
        _polygon("body", 46, 84, 56, 89, 66, 84, 66, 94, 56, 90, 46, 94),
        _polygon("body", 50, 2, 84, 26, 50, 68, 16, 26),
        _polygon("light", 50, 2, 84, 26, 50, 26),
        _polygon("ink", 49, 2, 51, 2, 51, 68, 49, 68),
        _polygon("ink", 16, 25, 84, 25, 84, 27, 16, 27),
    ),
    "mushroom": (
        _curve("cream", 38, 48, 62, 48, 62, 72, 70, 96, 30, 96, 38, 72),
        _curve("body", 3, 52, 14, 24, 50, 6, 86, 24, 97, 52, 74, 60, 50, 62, 26, 60),
        _oval("white", 42, 14, 58, 28),
        _oval("white", 20, 30, 34, 44),
        _oval("white", 66, 28, 82, 42),
        _oval("white", 46, 40, 56, 50),
    ),
    "umbrella": (
        _polygon("ink", 48, 2, 52, 2, 52, 88, 48, 88),
        _curve("ink", 48, 84, 48, 98, 34, 98, 32, 88, 36, 88, 40, 94, 45, 92, 45, 84),  # handle
        _curve("body", 2, 54, 8, 30, 26, 13, 50, 8, 74, 13, 92, 30, 98, 54, 82, 47, 66, 54, 50, 47, 34, 54, 18, 47),
        _curve("light", 50, 9, 38, 22, 34, 53, 42, 49, 50, 47),
        _curve("dark", 50, 9, 78, 20, 97, 52, 90, 49, 82, 47, 74, 50, 66, 53, 62, 24),
    ),
}


def _grown(points: Points) -> Points:
    """The polygon grown by OUTLINE, its sharp corners cut."""
    following = np.roll(points, -1, axis=0)
    area = np.sum(points[:, 0] * following[:, 1] - following[:, 0] * points[:, 1])
    edges = following - points
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) * np.sign(area)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    before = np.roll(normals, 1, axis=0)
    return np.stack([points + OUTLINE * before, points + OUTLINE * normals], axis=1).reshape(-1, 2)


@cache
def sketch(kind: str) -> Sketch:
    """How a kind of object is drawn."""
    shapes = _SHAPES[kind]
    outline = [_grown(shape.points) for shape in shapes]
    everything = np.concatenate(outline)
    corner, far = everything.min(axis=0), everything.max(axis=0)
    width, height = far - corner
    return Sketch(
        aspect=float(width / height),
        outline=tuple((points - corner) / (far - corner) for points in outline),
        shapes=tuple(Shape(shape.shade, (shape.points - corner) / (far - corner)) for shape in shapes),
    )
