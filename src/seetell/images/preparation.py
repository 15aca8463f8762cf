"""How pixels become the tensor that a network reads: one object, the same in training and at run time."""

import hashlib
import json
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from PIL import Image

from seetell.errors import ImageError, SeetellError
from seetell.images.decode import MAX_PIXELS, Source, decode, image_name
from seetell.settings import Settings, plain, read

Fit = Literal["shorter", "squash"]
Crops = Literal["centre", "ten"]
Interpolation = Literal["bilinear", "bicubic"]
Length = Annotated[int, Meta(ge=1, le=65_535)]
Channel = Annotated[float, Meta(ge=-1e6, le=1e6)]

_RESAMPLING = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


class Preparation(Settings, frozen=True):
    """Resize, crop and scale an image, always in the same way.

    The image is resized (with antialiasing), one or ten squares are cut from it, and each channel's values v of 0 to
    255 become (v / 255 − mean) / std. The result equals that of torchvision's `Resize`, `CenterCrop` or `TenCrop`,
    `ToTensor` and `Normalize` on Pillow images.

    Args:
        size: the side of the square that the network reads.
        resize: the length that the image is resized to; `size` or more, so that a crop never leaves the image.
        fit: `shorter` makes the shorter side `resize` long and keeps the proportions (Xu); `squash` makes both sides
            that long (Vilalta).
        crops: `centre`, or `ten`: top left, top right, bottom left, bottom right, centre, and the same of the mirror
            image (Vilalta).
        interpolation: `bilinear` or `bicubic`.
        mean: what is subtracted from each channel, on the scale from 0 to 1; ImageNet's by default.
        std: what each channel is then divided by.

    Example:
        >>> preparation = Preparation(size=224, resize=256)
        >>> preparation(Image.new("RGB", (640, 480))).shape
        (1, 3, 224, 224)
    """

    size: Length
    resize: Length
    fit: Fit = "shorter"
    crops: Crops = "centre"
    interpolation: Interpolation = "bilinear"
    mean: tuple[Channel, Channel, Channel] = (0.485, 0.456, 0.406)
    std: tuple[Channel, Channel, Channel] = (0.229, 0.224, 0.225)

    def __post_init__(self) -> None:
        for field in ("mean", "std"):
            msgspec.structs.force_setattr(self, field, tuple(map(float, getattr(self, field))))
        if self.resize < self.size:
            raise SeetellError(f"resize is {self.resize}; expected at least the size, {self.size}")
        if min(self.std) <= 0:
            raise SeetellError(f"std is {self.std}; expected numbers greater than 0")

    @property
    def crop_count(self) -> int:
        """How many squares an image becomes: 1 or 10."""
        return 10 if self.crops == "ten" else 1

    def __call__(self, image: Image.Image, *, name: str = "") -> NDArray[np.float32]:
        """Prepare an RGB image: float32, crops × 3 × size × size."""
        return self.scale(self.pixels(image, name=name))

    def open(self, source: Source, *, name: str | None = None) -> NDArray[np.float32]:
        """Decode and prepare: what `decode` takes becomes float32, crops × 3 × size × size."""
        name = name or image_name(source)
        return self(decode(source, name=name, at_least=self.resize), name=name)

    def pixels(self, image: Image.Image, *, name: str = "") -> NDArray[np.uint8]:
        """The squares that the network will see, not yet scaled: uint8, crops × size × size × 3.

        Args:
            image: an RGB image, as `decode` gives.
            name: the image's name in errors.
        """
        if image.mode != "RGB":
            raise ValueError(f"the image must be RGB, as decode() gives; this one is {image.mode}")
        width, height = self._resized(image.size)
        if width * height > MAX_PIXELS:
            raise ImageError(
                f"the image is too long and thin: {image.size[0]:,} × {image.size[1]:,} pixels",
                where=name,
                remedy="Cut it into pieces first",
            )
        resized = image.resize((width, height), _RESAMPLING[self.interpolation])
        left, top = self._centre(width, height)
        if self.crops == "centre":
            return np.array(resized.crop((left, top, left + self.size, top + self.size)))[np.newaxis]
        upright = np.asarray(resized)
        right, bottom = width - self.size, height - self.size
        corners = ((0, 0), (0, right), (bottom, 0), (bottom, right), (top, left))
        return np.stack(
            [
                version[y : y + self.size, x : x + self.size]
                for version in (upright, upright[:, ::-1])
                for y, x in corners
            ]
        )

    def scale(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Scale squares: uint8, any number × height × width × 3, to float32, the same number × 3 × height × width."""
        if pixels.dtype != np.uint8:  # values already scaled would be scaled again, and the network see nearly black
            raise TypeError(f"pixels are uint8, not {pixels.dtype}")
        count, height, width, _ = pixels.shape
        scaled = np.empty((count, 3, height, width), np.float32)
        # Channel by channel into contiguous memory: six times as fast as scaling all and transposing.
        for channel in range(3):
            plane = scaled[:, channel]
            np.divide(pixels[..., channel], 255, out=plane, dtype=np.float32)
            plane -= np.float32(self.mean[channel])
            plane /= np.float32(self.std[channel])
        return scaled

    def visible_box(self, image_size: tuple[int, int]) -> tuple[float, float, float, float]:
        """The part of an image that the centre crop sees: left, top, right and bottom, in fractions of its sides.

        The corner of cell (row, column) of an n × n grid of features is at left + column · (right − left) / n and
        top + row · (bottom − top) / n.

        Args:
            image_size: width and height of the upright image.
        """
        width, height = self._resized(image_size)
        left, top = self._centre(width, height)
        return left / width, top / height, (left + self.size) / width, (top + self.size) / height

    def to_json(self) -> dict[str, Any]:
        """All settings, as `from_json` takes them."""
        values: dict[str, Any] = plain(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_json(cls, values: object, *, where: str = "preparation") -> "Preparation":
        """Read what `to_json` wrote; all settings must be present.

        Args:
            values: the JSON object.
            where: the file or section the object comes from, for errors.
        """
        if not isinstance(values, dict):
            raise SeetellError(f"a preparation is a JSON object, not {values!r}", where=where)
        if missing := sorted(set(cls.__struct_fields__) - values.keys()):
            raise SeetellError(f"the preparation lacks {', '.join(missing)}", where=where)
        try:
            return read(cls, values, where=where)
        except SeetellError as error:
            raise SeetellError(error.problem, where=where, remedy=error.remedy) from None

    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with any setting."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    def _resized(self, image_size: tuple[int, int]) -> tuple[int, int]:
        width, height = image_size
        if self.fit == "squash":
            return self.resize, self.resize
        # Cut off, not rounded, and in this order of operations: so does torchvision.
        longer = int(self.resize * max(width, height) / min(width, height))
        return (self.resize, longer) if width <= height else (longer, self.resize)

    def _centre(self, width: int, height: int) -> tuple[int, int]:
        # Halves go to the even number, as torchvision's do.
        return round((width - self.size) / 2), round((height - self.size) / 2)
