"""ONNX Runtime against PyTorch, on the same pixels."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from timm.models.vgg import VGG
from torch import Tensor, nn

from seetell.data import Record
from seetell.learn.encoders import LAYOUTS, Encoder, encode_dataset
from seetell.learn.encoders.engines import Engine, OnnxEngine, TorchEngine, fastest_engine
from seetell.learn.encoders.keys import image_key
from seetell.learn.encoders.pipeline import EncodingPipeline
from seetell.learn.encoders.weights import EncoderName
from seetell.progress import Progress

CPU = torch.device("cpu")


def livened(encoder: Encoder) -> Encoder:
    """With normalisations that change something, as trained ones do."""
    torch.manual_seed(3)
    for module in encoder.network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return encoder


def agree(found: dict[str, Any], expected: dict[str, Tensor]) -> None:
    assert list(found) == list(expected)
    for layout, values in expected.items():
        assert found[layout].dtype == np.float32
        assert values.std() > 0
        torch.testing.assert_close(torch.from_numpy(found[layout]), values, rtol=1e-3, atol=1e-3 * float(values.std()))


def pixels_of(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


def narrow_vgg(*, convolutions_only: bool) -> Encoder:
    torch.manual_seed(0)
    network = VGG(cfg=[4, 4, "M", 6, "M", 8, "M", 8, 8, "M", 8, "M"], num_classes=0, mlp_ratio=0.005)
    network.pretrained_cfg = {"input_size": (3, 224, 224)}
    if convolutions_only:
        network.pre_logits = nn.Identity()
    return Encoder(network, EncoderName("vgg16", "random"))


class Plain(nn.Module):
    """A network with a convolution, and a twist: what it does with its own output."""

    pretrained_cfg = {"input_size": (3, 8, 8)}  # noqa: RUF012
    num_features = 3

    def __init__(self, twist: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.twist = nn.Conv2d(3, 3, 1), twist

    def forward_features(self, x: Tensor) -> Tensor:
        return self.twist(self.conv(x))

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        return x.mean((2, 3))


def branching(x: Tensor) -> Tensor:
    """What no exporter can follow: what is computed depends on the values."""
    return x * 2 if float(x.detach().sum()) > 0 else x * 3


def without_counterpart(x: Tensor) -> Tensor:
    return torch.special.bessel_j0(x)


class TestOnnxEngine:
    @pytest.mark.parametrize("name", ["test_efficientnet", "test_resnet", "test_vit", "test_nfnet", "test_convnext"])
    def test_gives_every_layout_as_pytorch_does(self, name: str) -> None:
        encoder = livened(Encoder.load(f"{name}@random"))
        layouts = [*LAYOUTS, "grid:2"]
        pixels = pixels_of(2, 1, 3, 160, 160)
        engine = fastest_engine(encoder, layouts, 160, CPU)
        assert isinstance(engine, OnnxEngine)
        agree(engine(pixels), encoder.encode(pixels[:, 0], layouts))

    @pytest.mark.parametrize("layout", [*LAYOUTS, "grid:1", "grid:4"])
    def test_gives_each_layout_alone(self, small: Encoder, layout: str) -> None:
        pixels = pixels_of(1, 1, 3, 160, 160)
        agree(fastest_engine(small, [layout], 160, CPU)(pixels), small.encode(pixels[:, 0], [layout]))

    @pytest.mark.parametrize("convolutions_only", [False, True])
    def test_vgg(self, convolutions_only: bool) -> None:
        encoder = narrow_vgg(convolutions_only=convolutions_only)
        pixels = pixels_of(2, 1, 3, 224, 224)
        engine = fastest_engine(encoder, LAYOUTS, 224, CPU)
        assert isinstance(engine, OnnxEngine)
        agree(engine(pixels), encoder.encode(pixels[:, 0], LAYOUTS))

    def test_squares_of_another_size(self, small: Encoder) -> None:
        pixels = pixels_of(1, 1, 3, 96, 96)
        engine = fastest_engine(small, ["grid", "levels"], 96, CPU)
        assert isinstance(engine, OnnxEngine)
        agree(engine(pixels), small.encode(pixels[:, 0], ["grid", "levels"]))

    def test_crops_are_averaged(self, small: Encoder) -> None:
        layouts = ["pooled", "levels", "full_network"]
        pixels = pixels_of(2, 10, 3, 160, 160)
        agree(fastest_engine(small, layouts, 160, CPU)(pixels), small.encode(pixels, layouts))

    def test_an_image_gives_the_same_bits_in_any_company_and_thread(self, small: Encoder) -> None:
        engine = fastest_engine(small, ["grid"], 160, CPU)
        pixels = pixels_of(8, 1, 3, 160, 160)
        together = engine(pixels)["grid"]
        with ThreadPoolExecutor(4) as pool:
            alone = list(pool.map(lambda one: engine(one)["grid"], [*pixels.split(1)] * 3))
        np.testing.assert_array_equal(np.concatenate(alone), np.concatenate([together] * 3))

    def test_is_made_without_a_word_and_leaves_no_file(
        self, small: Encoder, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        fastest_engine(small, LAYOUTS, 160, CPU)
        assert capfd.readouterr() == ("", "")
        assert not list(tmp_path.iterdir())


class TestFallingBack:
    @pytest.mark.parametrize("twist", [branching, without_counterpart])
    def test_what_cannot_be_exported_runs_in_pytorch_with_a_message(
        self, twist: Callable[[Tensor], Tensor], capfd: pytest.CaptureFixture[str]
    ) -> None:
        encoder = Encoder(Plain(twist), EncoderName("plain"))
        messages: list[str] = []
        engine = fastest_engine(encoder, ["grid"], 8, CPU, Progress(write=messages.append))
        assert isinstance(engine, TorchEngine)
        assert len(messages) == 1
        assert messages[0].startswith("plain runs in PyTorch")
        assert "\n" not in messages[0]
        assert capfd.readouterr() == ("", "")
        pixels = pixels_of(3, 1, 3, 8, 8)
        agree(engine(pixels), encoder.encode(pixels[:, 0], ["grid"]))

    def test_the_same_network_without_a_twist_does_not(self) -> None:
        messages: list[str] = []
        encoder = Encoder(Plain(nn.Identity()), EncoderName("plain"))
        assert isinstance(fastest_engine(encoder, ["grid"], 8, CPU, Progress(write=messages.append)), OnnxEngine)
        assert not messages

    def test_features_are_stored_all_the_same(
        self, make_records: Callable[[int], list[Record]], tmp_path: Path
    ) -> None:
        encoder = Encoder(Plain(branching), EncoderName("plain"))
        messages: list[str] = []
        progress = Progress(write=messages.append)
        report = encode_dataset(make_records(5), encoder, ["pooled"], root=tmp_path, device="cpu", progress=progress)
        assert report.new == 5
        assert [line.startswith("plain runs in PyTorch") for line in messages] == [False, True]


@pytest.mark.parametrize("options", [{}, {"view": "whole"}, {"view": "whole", "size": 96}, {"crops": "ten"}])
def test_engines_agree_from_the_file_on(
    small: Encoder, make_records: Callable[[int], list[Record]], options: dict[str, Any]
) -> None:
    layouts = ["pooled", "levels"]
    preparation = small.preparation(**options)
    images = [(image_key(record.image.read()), record) for record in make_records(3)]

    def features(engine: Engine | None) -> dict[str, Any]:
        pipeline = EncodingPipeline(small, layouts, preparation, batch_size=2, threads=2, device="cpu")
        if engine is not None:
            pipeline.engine = engine
        found = list(pipeline.run(images))
        return {layout: np.concatenate([each.values[layout] for each in found]) for layout in layouts}

    in_torch = features(TorchEngine(small.for_inference(), layouts))
    agree(features(None), {layout: torch.from_numpy(values) for layout, values in in_torch.items()})
