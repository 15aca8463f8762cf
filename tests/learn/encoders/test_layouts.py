"""Shapes of large networks without weights (on PyTorch's meta device), and values of small ones against plain code."""

import pytest
import timm
import torch
from timm.models.vgg import VGG
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.learn.encoders import LAYOUTS, Encoder, LayoutSpec
from seetell.learn.encoders.layouts import Reader, taken_apart
from seetell.learn.encoders.weights import EncoderName


def shapes_only(name: str) -> Encoder:
    with torch.device("meta"):
        return Encoder(timm.create_model(name, num_classes=0), EncoderName(name, "random"))


def specs(name: str) -> dict[str, LayoutSpec]:
    return shapes_only(name).layout_specs([*LAYOUTS, "grid:4"])


@pytest.fixture(scope="module")
def vgg() -> VGG:
    """VGG's architecture, narrow."""
    torch.manual_seed(0)
    network = VGG(cfg=[4, 4, "M", 6, "M", 8, "M", 8, 8, "M", 8, "M"], num_classes=0, mlp_ratio=0.005)
    network.pretrained_cfg = {"input_size": (3, 224, 224)}
    return network.eval()


@pytest.fixture(scope="module")
def pixels() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(2, 3, 224, 224)


def vgg_by_hand(network: VGG, pixels: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Every layer after its ReLU, every pooling layer's output, and the map before the last of them."""
    layers, pools, x, before = [], [], pixels, pixels
    for module in network.features:
        if isinstance(module, nn.MaxPool2d):
            before, x = x, nn.functional.max_pool2d(x, 2)
            pools.append(x)
        elif isinstance(module, nn.Conv2d):
            x = nn.functional.conv2d(x, module.weight, module.bias, padding=1).clamp(min=0)
            layers.append(x)
    if not isinstance(network.pre_logits, nn.Identity):
        for module in (network.pre_logits.fc1, network.pre_logits.fc2):
            x = nn.functional.conv2d(x, module.weight, module.bias).clamp(min=0)
            layers.append(x)
    return layers, pools, before


class TestShapes:
    def test_vgg16(self) -> None:
        found = specs("vgg16")
        assert found["pooled"].shape == (4096,)
        assert found["grid"].shape == (196, 512)
        assert found["grid:4"].shape == (196, 512)
        assert found["levels"].sections == (64, 128, 256, 512, 512, 4096)
        full = found["full_network"]
        assert full.shape == (12_416,)
        assert len(full.sections) == 15
        assert sum(full.sections[:13]) == 4_224
        assert full.sections[13:] == (4096, 4096)

    def test_vgg16_with_convolutions_only(self) -> None:
        encoder = shapes_only("vgg16")
        encoder.network.pre_logits = nn.Identity()
        found = encoder.layout_specs(LAYOUTS)
        assert found["pooled"].shape == (512,)
        assert found["grid"].shape == (196, 512)
        assert found["levels"].sections == (64, 128, 256, 512, 512, 512)
        assert found["full_network"].shape == (4_224,)

    def test_vgg19(self) -> None:
        found = specs("vgg19")
        assert found["pooled"].shape == (4096,)
        assert found["grid"].shape == (196, 512)
        # 2·64 + 2·128 + 4·256 + 8·512 filters, and two layers of 4,096.
        assert found["full_network"].shape == (2 * 64 + 2 * 128 + 4 * 256 + 8 * 512 + 2 * 4096,)
        assert len(found["full_network"].sections) == 18

    def test_resnet50(self) -> None:
        found = specs("resnet50")
        assert found["pooled"].shape == (2048,)
        assert found["grid"].shape == (49, 2048)
        assert found["grid:4"].shape == (196, 1024)
        assert found["levels"].sections == (64, 256, 512, 1024, 2048, 2048)
        # The stem; each block's three convolutions; the shortcut of each stage's first block.
        blocks = {64: 3, 128: 4, 256: 6, 512: 3}
        expected = 64 + sum(count * (width + width + 4 * width) + 4 * width for width, count in blocks.items())
        assert found["full_network"].shape == (expected,) == (26_560,)
        assert len(found["full_network"].sections) == 53

    def test_inception_v3(self) -> None:
        found = specs("inception_v3")
        assert found["pooled"].shape == (2048,)
        assert found["grid"].shape == (64, 2048)
        assert len(found["full_network"].sections) == 94  # its convolutions

    @pytest.mark.parametrize(("name", "places", "total"), [("lite0", 49, 21_008), ("lite2", 81, 29_048)])
    def test_efficientnet_lite(self, name: str, places: int, total: int) -> None:
        encoder = shapes_only(f"tf_efficientnet_{name}")
        found = encoder.layout_specs(LAYOUTS)
        assert found["pooled"].shape == (1280,)
        assert found["grid"].shape == (places, 1280)
        stages = {"lite0": (16, 24, 40, 112, 320), "lite2": (16, 24, 48, 120, 352)}[name]
        assert found["levels"].sections == (*stages, 1280)
        convolutions = [module for module in encoder.network.modules() if isinstance(module, nn.Conv2d)]
        assert found["full_network"].sections == tuple(module.out_channels for module in convolutions)
        assert found["full_network"].shape == (total,)

    def test_a_windowed_transformer(self) -> None:
        encoder = shapes_only("swin_tiny_patch4_window7_224")
        found = encoder.layout_specs(LAYOUTS)
        assert found["grid"].shape == (49, 768)
        layers = [module for module in encoder.network.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
        widths = [getattr(layer, "out_channels", None) or layer.out_features for layer in layers]
        assert sorted(found["full_network"].sections) == sorted(widths)

    def test_sections_say_where_a_row_comes_from(self) -> None:
        found = specs("vgg16")
        assert found["full_network"].names[:2] == ("features.0", "features.2")
        assert found["full_network"].names[-1] == "pre_logits.fc2"
        assert found["levels"].names == (*(f"features.{i}" for i in (4, 9, 16, 23, 30)), "pooled")
        below = found.pop("grid+levels")
        assert (below.shape, below.sections) == ((196 + 11, 512), (512, 64, 128, 256, 512, 512, 4096))
        assert below.names == (*found["grid"].names, *found["levels"].names)
        assert below.levels == 5568
        assert all(sum(spec.sections) == spec.shape[-1] for spec in found.values())
        assert all(len(spec.sections) == len(spec.names) for spec in found.values())


class TestVGGValues:
    def encode(self, network: VGG, pixels: Tensor) -> dict[str, Tensor]:
        return Encoder(network, EncoderName("vgg16", "random")).encode(pixels, LAYOUTS)

    def test_with_fully_connected_layers(self, vgg: VGG, pixels: Tensor) -> None:
        with torch.no_grad():
            layers, pools, before = vgg_by_hand(vgg, pixels)
            found = self.encode(vgg, pixels)
        torch.testing.assert_close(found["pooled"], layers[-1][:, :, 0, 0])
        torch.testing.assert_close(found["full_network"], torch.cat([x.mean((2, 3)) for x in layers], 1))
        levels = torch.cat([*(x.mean((2, 3)) for x in pools), layers[-1][:, :, 0, 0]], 1)
        torch.testing.assert_close(found["levels"], levels)
        assert before.shape[2:] == (14, 14)
        for row in range(14):
            for column in range(14):
                torch.testing.assert_close(found["grid"][:, 14 * row + column], before[:, :, row, column])

    def test_with_convolutions_only(self, vgg: VGG, pixels: Tensor) -> None:
        head, vgg.pre_logits = vgg.pre_logits, nn.Identity()
        try:
            with torch.no_grad():
                layers, pools, before = vgg_by_hand(vgg, pixels)
                found = self.encode(vgg, pixels)
        finally:
            vgg.pre_logits = head
        last = before.mean((2, 3))
        torch.testing.assert_close(found["pooled"], last)
        torch.testing.assert_close(found["full_network"], torch.cat([x.mean((2, 3)) for x in layers], 1))
        torch.testing.assert_close(found["levels"], torch.cat([*(x.mean((2, 3)) for x in pools), last], 1))


class TestEfficientNetValues:
    def test_against_its_pieces_one_by_one(self) -> None:
        encoder = Encoder.load("tf_efficientnet_lite0@random")
        network = encoder.network
        with torch.no_grad():  # untrained statistics would make every normalisation nearly the identity
            for module in network.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.running_mean.uniform_(-1, 1)
                    module.running_var.uniform_(0.5, 2)
                    module.bias.uniform_(-1, 1)
        pixels = torch.randn(2, 3, 224, 224)

        def normalised(x: Tensor, norm: nn.BatchNorm2d) -> Tensor:
            return nn.functional.batch_norm(
                x, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps
            )

        layers, levels = [], []
        with torch.no_grad():
            x = normalised(network.conv_stem(pixels), network.bn1).clamp(0, 6)
            layers.append(x)
            for stage in network.blocks:
                for block in stage:
                    shortcut = x
                    if hasattr(block, "conv_pwl"):
                        x = normalised(block.conv_pw(x), block.bn1).clamp(0, 6)
                        layers.append(x)
                        x = normalised(block.conv_dw(x), block.bn2).clamp(0, 6)
                        layers.append(x)
                        x = normalised(block.conv_pwl(x), block.bn3)  # a linear bottleneck
                    else:
                        x = normalised(block.conv_dw(x), block.bn1).clamp(0, 6)
                        layers.append(x)
                        x = normalised(block.conv_pw(x), block.bn2)
                    layers.append(x)
                    x = x + shortcut if x.shape == shortcut.shape else x
                levels.append(x)
            x = normalised(network.conv_head(x), network.bn2).clamp(0, 6)
            layers.append(x)
        found = encoder.encode(pixels, LAYOUTS)
        close = {"rtol": 1e-4, "atol": 1e-4}
        torch.testing.assert_close(found["full_network"], torch.cat([y.mean((2, 3)) for y in layers], 1), **close)
        stages = [levels[i].mean((2, 3)) for i in (0, 1, 2, 4, 6)]  # where the map is about to shrink, and the end
        torch.testing.assert_close(found["levels"], torch.cat([*stages, x.mean((2, 3))], 1), **close)
        torch.testing.assert_close(found["grid"], x.flatten(2).transpose(1, 2), **close)
        torch.testing.assert_close(found["pooled"], x.mean((2, 3)), **close)


@pytest.mark.parametrize("name", ["test_efficientnet", "test_resnet", "test_convnext", "test_vit", "test_nfnet"])
def test_one_pass_for_all_layouts_gives_what_each_alone_gives(name: str) -> None:
    encoder = Encoder.load(f"{name}@random")
    pixels = torch.rand(3, 3, 160, 160)
    layouts = [*LAYOUTS, "grid:2"]
    together = encoder.encode(pixels, layouts)
    for layout in layouts:
        alone = encoder.encode(pixels, [layout])[layout]
        assert alone.equal(together[layout])
        assert encoder.layout(layout).shape == tuple(alone.shape[1:])
        # And no image depends on its neighbours in the batch.
        torch.testing.assert_close(encoder.encode(pixels[1:2], [layout])[layout], alone[1:2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["test_efficientnet", "test_resnet", "test_vit", "test_vgg"])
def test_levels_stand_below_a_grid(name: str) -> None:
    encoder = Encoder.load("vgg11@random" if name == "test_vgg" else f"{name}@random")
    pixels = torch.rand(2, 3, 160, 160)
    found = encoder.encode(pixels, ["grid", "levels", "grid+levels"])
    spec = encoder.layout("grid+levels")
    grid, row = taken_apart(found["grid+levels"], spec.levels)
    assert grid.equal(found["grid"])
    assert row.equal(found["levels"])
    assert spec.levels == sum(spec.sections[1:])
    rest = found["grid+levels"][:, grid.shape[1] :].flatten(1)[:, spec.levels :]
    assert not rest.any()


def test_a_transformers_class_token_is_not_a_place() -> None:
    encoder = Encoder.load("test_vit@random")
    pixels = torch.rand(1, 3, 160, 160)
    tokens = encoder.network.forward_features(pixels)
    assert tokens.shape[1] == 101
    torch.testing.assert_close(encoder.encode(pixels, ["grid"])["grid"], tokens[:, 1:])
    block = {}
    handle = encoder.network.blocks[5].register_forward_hook(lambda module, given, out: block.update(out=out))
    levels = encoder.encode(pixels, ["levels"])["levels"]
    handle.remove()
    torch.testing.assert_close(levels[:, 5 * 64 : 6 * 64], block["out"][:, 1:].mean(1))


class TestRefusals:
    @pytest.mark.parametrize("layout", ["", "Grid", "grid:0", "grid:x", "pooled:2"])
    def test_what_is_no_layout(self, small: Encoder, layout: str) -> None:
        with pytest.raises(SeetellError, match=r"full_network, grid\+levels, grid:N"):
            small.layout(layout)

    def test_a_stage_that_the_network_has_not(self, small: Encoder) -> None:
        with pytest.raises(SeetellError, match="this network has 5 stages"):
            small.layout("grid:6")

    def test_stages_that_nobody_lists(self, small: Encoder) -> None:
        network = small.replica().network
        network.feature_info = []
        with pytest.raises(SeetellError, match="does not list the stages"):
            Reader(network, ["levels"])

    def test_grids_of_ten_crops(self, small: Encoder) -> None:
        with pytest.raises(SeetellError, match="cannot be averaged"):
            small.encode(torch.rand(1, 10, 3, 160, 160), ["pooled", "grid"])
