"""Preparation against plain loops and worked examples; torchvision's own transforms judge it in tests/learn."""

import io
import json
import random

import numpy as np
import pytest
from PIL import Image

from seetell.errors import ImageError, SeetellError
from seetell.images import Preparation, decode


def photo(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_scaling_equals_a_plain_loop() -> None:
    preparation = Preparation(size=4, resize=4, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    pixels = np.random.default_rng(1).integers(0, 256, (2, 4, 5, 3), dtype=np.uint8)
    scaled = preparation.scale(pixels)
    assert scaled.shape == (2, 3, 4, 5)
    assert scaled.dtype == np.float32
    assert scaled.flags.c_contiguous
    for (crop, row, column, channel), value in np.ndenumerate(pixels):
        expected = (int(value) / 255 - preparation.mean[channel]) / preparation.std[channel]
        assert scaled[crop, channel, row, column] == pytest.approx(expected, abs=1e-6)


def test_only_bytes_are_scaled() -> None:
    with pytest.raises(TypeError, match="float32"):
        Preparation(size=4, resize=4).scale(np.zeros((1, 4, 4, 3), np.float32))  # type: ignore[arg-type]


def test_the_centre_of_an_image_that_needs_no_resizing() -> None:
    image = photo(11, 8)
    got = Preparation(size=4, resize=8).pixels(image)
    # (11 − 4) / 2 = 3.5 goes to the even 4; (8 − 4) / 2 = 2
    assert (got == np.asarray(image)[None, 2:6, 4:8]).all()
    assert got.flags.writeable  # as PyTorch asks of what it shares


def test_ten_crops_of_an_image_that_needs_no_resizing() -> None:
    image = photo(9, 8)
    got = Preparation(size=5, resize=8, crops="ten").pixels(image)
    pixels = np.asarray(image)
    mirror = pixels[:, ::-1]
    for first, version in ((0, pixels), (5, mirror)):
        assert (got[first] == version[:5, :5]).all()
        assert (got[first + 1] == version[:5, 4:]).all()
        assert (got[first + 2] == version[3:, :5]).all()
        assert (got[first + 3] == version[3:, 4:]).all()
        assert (got[first + 4] == version[2:7, 2:7]).all()  # halves go to the even number
    assert len(got) == 10 == Preparation(size=5, resize=8, crops="ten").crop_count
    assert Preparation(size=5, resize=8).crop_count == 1


def test_squashing_sees_the_whole_image() -> None:
    image = Image.new("RGB", (40, 10), "black")
    image.paste("white", (0, 0, 20, 10))
    got = Preparation(size=8, resize=8, fit="squash").pixels(image)[0]
    assert (got[:, :3] == 255).all()
    assert (got[:, 5:] == 0).all()


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (200, 3), (17, 31), (640, 479)])
@pytest.mark.parametrize("fit", ["shorter", "squash"])
@pytest.mark.parametrize("crops", ["centre", "ten"])
def test_shapes_for_all_proportions(size: tuple[int, int], fit: str, crops: str) -> None:
    preparation = Preparation(size=24, resize=29, fit=fit, crops=crops)  # type: ignore[arg-type]
    got = preparation(photo(*size))
    assert got.shape == (preparation.crop_count, 3, 24, 24)
    assert got.dtype == np.float32
    assert (got == preparation(photo(*size))).all()


def test_open_is_decoding_and_preparing() -> None:
    stream = io.BytesIO()
    photo(90, 70).save(stream, "PNG")
    preparation = Preparation(size=32, resize=40, interpolation="bicubic")
    content = stream.getvalue()
    assert (preparation.open(content) == preparation(decode(content))).all()
    with pytest.raises(ImageError) as caught:
        preparation.open(content[:100], name="half.png")
    assert caught.value.where == "half.png"


def test_large_photographs_are_decoded_small_and_look_the_same() -> None:
    x, y = np.meshgrid(np.linspace(0, 9, 1200), np.linspace(0, 7, 900))
    waves = np.stack([np.sin(x * y), np.cos(x + y), np.sin(x - y)], axis=2)
    stream = io.BytesIO()
    Image.fromarray(((waves + 1) * 127).astype(np.uint8)).save(stream, "JPEG", quality=95)
    preparation = Preparation(size=64, resize=72)
    quick = preparation.open(stream.getvalue())
    assert decode(stream.getvalue(), at_least=72).size == (300, 225)
    assert abs(quick - preparation(decode(stream.getvalue()))).mean() < 0.02


def test_threads_of_an_image_are_refused_by_name() -> None:
    thread = Image.new("RGB", (1, 60_000))
    preparation = Preparation(size=224, resize=256)
    with pytest.raises(ImageError, match="too long and thin") as caught:
        preparation.open(thread, name="thread.png")
    assert caught.value.where == "thread.png"
    assert Preparation(size=224, resize=256, fit="squash")(thread).shape == (1, 3, 224, 224)


def test_images_must_be_rgb() -> None:
    with pytest.raises(ValueError, match="must be RGB"):
        Preparation(size=4, resize=4)(Image.new("L", (5, 5)))


@pytest.mark.parametrize("size", [(640, 480), (480, 640), (301, 200), (7, 5), (100, 100)])
@pytest.mark.parametrize("fit", ["shorter", "squash"])
def test_the_visible_box_is_what_the_crop_shows(size: tuple[int, int], fit: str) -> None:
    # Red grows from left to right and green from top to bottom, so colours identify positions in the image.
    width, height = size
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height)
    image = Image.fromarray((np.stack([x, y, x * 0], axis=2) * 255).round().astype(np.uint8))
    preparation = Preparation(size=40, resize=48, fit=fit)  # type: ignore[arg-type]
    left, top, right, bottom = preparation.visible_box(size)
    assert 0 <= left < right <= 1
    assert 0 <= top < bottom <= 1
    seen = preparation.pixels(image)[0] / 255
    across, down = (np.arange(40) + 0.5) / 40, (np.arange(40) + 0.5) / 40
    margin = 0.5 / min(size) + 0.005  # beyond the outermost pixels' centres colours stay the same
    assert abs(seen[20, :, 0] - (left + across * (right - left))).max() < margin
    assert abs(seen[:, 20, 1] - (top + down * (bottom - top))).max() < margin


def test_the_visible_box_of_worked_examples() -> None:
    assert Preparation(size=224, resize=256).visible_box((512, 256)) == (144 / 512, 16 / 256, 368 / 512, 240 / 256)
    # 256 · 5 / 3 = 426.67 is cut off to 426
    assert Preparation(size=224, resize=256).visible_box((5, 3)) == (101 / 426, 16 / 256, 325 / 426, 240 / 256)
    assert Preparation(size=224, resize=224).visible_box((10, 10)) == (0, 0, 1, 1)
    assert Preparation(size=192, resize=256, fit="squash").visible_box((999, 1)) == (0.125, 0.125, 0.875, 0.875)


def test_json_and_back() -> None:
    chance = random.Random(5)
    seen = set()
    for _ in range(50):
        size = chance.randrange(1, 400)
        preparation = Preparation(
            size=size,
            resize=size + chance.randrange(50),
            fit=chance.choice(["shorter", "squash"]),
            crops=chance.choice(["centre", "ten"]),
            interpolation=chance.choice(["bilinear", "bicubic"]),
            mean=(chance.random(), chance.random(), 0),
            std=(chance.random(), 1, 1 / 3),
        )
        text = json.dumps(preparation.to_json())
        again = Preparation.from_json(json.loads(text))
        assert again == preparation
        assert hash(again) == hash(preparation)
        assert again.fingerprint() == preparation.fingerprint()
        seen.add(preparation.fingerprint())
    assert len(seen) == 50


def test_the_fingerprint_changes_with_every_setting_and_never_by_itself() -> None:
    base = Preparation(size=224, resize=256)
    changes: list[dict[str, object]] = [
        {"size": 223},
        {"resize": 257},
        {"fit": "squash"},
        {"crops": "ten"},
        {"interpolation": "bicubic"},
        {"mean": [0.485, 0.456, 0.407]},
        {"std": [0.229, 0.224, 0.226]},
    ]
    prints = [Preparation.from_json(base.to_json() | change).fingerprint() for change in changes]
    assert {change for pair in changes for change in pair} == base.to_json().keys()
    assert len({base.fingerprint(), *prints}) == 8
    assert Preparation(size=224, resize=256, mean=(0, 0, 0), std=(1, 1, 1)).fingerprint() == (
        Preparation(size=224, resize=256, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)).fingerprint()
    )
    # Stores and bundles on disk know preparations by it.
    assert base.fingerprint() == "c467f7a1b99ff1b1"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"size": 0}, "size is 0"),
        ({"size": "224"}, "size is '224'"),
        ({"size": True}, "size is True"),
        ({"resize": 256.0}, "resize is 256.0"),
        ({"resize": 10**30}, "resize is 1000.*≤ 65535"),
        ({"resize": 223}, "resize is 223; expected at least the size, 224"),
        ({"fit": "longer"}, "fit is 'longer'; expected one of: shorter, squash"),
        ({"fit": ["shorter"]}, "fit is"),
        ({"crops": "five"}, "crops is 'five'; expected one of: centre, ten"),
        ({"interpolation": "nearest"}, "interpolation is .*bilinear, bicubic"),
        ({"mean": 0.5}, "mean is 0.5; expected a list"),
        ({"mean": [0.5, 0.5]}, "mean is .* of length 3"),
        ({"mean": [0.5, 0.5, float("nan")]}, r"mean\[2\] is nan; expected a number"),
        ({"mean": [0.5, 0.5, "0.5"]}, r"mean\[2\] is '0.5'; expected a number"),
        ({"std": [1, 1, 10**400]}, r"std\[2\] is 1000.*expected a smaller number"),
        ({"std": [1, 0, 1]}, "std is .* greater than 0"),
        ({"colour": "grey"}, "no setting 'colour'"),
    ],
)
def test_wrong_settings_are_named(change: dict[str, object], reason: str) -> None:
    values = Preparation(size=224, resize=256).to_json() | change
    with pytest.raises(SeetellError, match=reason) as caught:
        Preparation.from_json(values, where="bundle.json")
    assert caught.value.where == "bundle.json"


def test_missing_settings_are_named() -> None:
    with pytest.raises(SeetellError, match="lacks crops, fit, interpolation, mean, resize, std"):
        Preparation.from_json({"size": 3})
    for values in (None, [], "preparation", 3):
        with pytest.raises(SeetellError, match="JSON object"):
            Preparation.from_json(values)
