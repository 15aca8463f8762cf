import io
from concurrent.futures import ThreadPoolExecutor

import pytest
import timm
import torch
from torch import nn

from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.learn.encoders import LAYOUTS, Encoder
from seetell.learn.encoders.weights import EncoderName


def without_weights(name: str) -> Encoder:
    with torch.device("meta"):
        return Encoder(timm.create_model(name, num_classes=0), EncoderName(name, "random"))


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return torch.allclose(found, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))


class TestPreparation:
    def test_of_efficientnet_lite(self) -> None:
        half = (0.5, 0.5, 0.5)
        assert without_weights("tf_efficientnet_lite2").preparation() == Preparation(
            size=260, resize=292, interpolation="bicubic", mean=half, std=half
        )

    def test_of_vgg(self) -> None:
        encoder = without_weights("vgg16")
        assert encoder.preparation() == Preparation(size=224, resize=256)
        assert encoder.preparation("ten") == Preparation(size=224, resize=256, fit="squash", crops="ten")

    def test_of_the_whole_image(self) -> None:
        encoder = without_weights("vgg16")
        assert encoder.preparation(view="whole") == Preparation(size=224, resize=224, fit="squash")
        assert encoder.preparation(view="whole", size=288) == Preparation(size=288, resize=288, fit="squash")
        assert encoder.preparation(size=448) == Preparation(size=448, resize=512)

    def test_of_a_view_that_there_is_not(self) -> None:
        encoder = without_weights("vgg16")
        with pytest.raises(SeetellError, match=r"no view 'wide'.*centre, whole"):
            encoder.preparation(view="wide")
        with pytest.raises(SeetellError, match="ten crops see the whole image already"):
            encoder.preparation("ten", view="whole")

    @pytest.mark.parametrize("name", ["resnet50", "inception_v3", "densenet121", "test_vit"])
    def test_resizes_as_timm_itself_does(self, name: str) -> None:
        encoder = without_weights(name)
        transform = timm.data.create_transform(**timm.data.resolve_model_data_config(encoder.network))
        resize, crop = transform.transforms[:2]
        preparation = encoder.preparation()
        assert preparation.resize == resize.size
        assert crop.size == (preparation.size, preparation.size)
        assert resize.interpolation.value == preparation.interpolation
        normalise = transform.transforms[-1]
        assert torch.tensor(preparation.mean).equal(torch.as_tensor(normalise.mean))
        assert torch.tensor(preparation.std).equal(torch.as_tensor(normalise.std))


class TestEncode:
    def test_crops_are_averaged(self, small: Encoder) -> None:
        pixels = torch.rand(2, 10, 3, 160, 160)
        layouts = ["pooled", "levels", "full_network"]
        found = small.encode(pixels, layouts)
        for image in range(2):
            for layout in layouts:
                each = torch.stack([small.encode(crop[None], [layout])[layout][0] for crop in pixels[image]])
                assert close(found[layout][image], each.mean(0))

    def test_gives_what_the_module_gives_without_gradients(self, small: Encoder) -> None:
        pixels = torch.rand(2, 3, 160, 160)
        for layout in LAYOUTS:
            with_gradients = small(pixels, layout)
            assert with_gradients.requires_grad
            found = small.encode(pixels, [layout])[layout]
            assert not found.requires_grad
            assert found.equal(with_gradients)


class TestTraining:
    def test_gradients_reach_every_weight(self) -> None:
        encoder = Encoder.load("test_resnet@random").train()
        encoder(torch.rand(2, 3, 160, 160), "full_network").square().sum().backward()
        assert all(weight.grad is not None for weight in encoder.parameters())

    def test_looking_at_layouts_does_not_touch_statistics_or_modes(self) -> None:
        encoder = Encoder.load("test_resnet@random").train()
        encoder.network.layer1.eval()  # as someone does who trains the rest
        before = encoder.fingerprint()
        encoder.layout_specs(LAYOUTS)
        assert encoder.taps
        assert encoder.fingerprint() == before
        assert encoder.network.layer2.training
        assert not encoder.network.layer1.training


class TestForInference:
    @pytest.mark.parametrize("name", ["test_efficientnet", "test_resnet", "test_vit", "test_nfnet"])
    def test_gives_the_same_values(self, name: str) -> None:
        encoder = Encoder.load(f"{name}@random")
        torch.manual_seed(3)
        for module in encoder.network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
        quick = encoder.for_inference()
        pixels = torch.randn(2, 3, 160, 160)
        expected, found = encoder.encode(pixels, LAYOUTS), quick.encode(pixels, LAYOUTS)
        for layout in LAYOUTS:
            assert close(found[layout], expected[layout])

    def test_folds_what_can_be_folded_and_leaves_the_original_alone(self) -> None:
        encoder = Encoder.load("test_resnet@random")
        before = encoder.fingerprint()
        quick = encoder.for_inference()
        assert not any(isinstance(module, nn.BatchNorm2d) for module in quick.network.modules())
        assert any(isinstance(module, nn.BatchNorm2d) for module in encoder.network.modules())
        assert encoder.fingerprint() == before
        assert quick.fingerprint() == before  # what it makes is what the original makes

    def test_a_network_that_cannot_be_folded_is_left_as_it_is(self) -> None:
        class Both(nn.Module):
            """A convolution whose output is normalised and also used as it is."""

            pretrained_cfg = {"input_size": (3, 8, 8)}  # noqa: RUF012
            num_features = 3

            def __init__(self) -> None:
                super().__init__()
                self.conv, self.bn = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
                self.bn.running_var.fill_(9)

            def forward_features(self, x: torch.Tensor) -> torch.Tensor:
                y: torch.Tensor = self.conv(x)
                return y + self.bn(y)

            def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
                return x.mean((2, 3))

        encoder = Encoder(Both(), EncoderName("both"))
        pixels = torch.rand(2, 3, 8, 8)
        assert close(encoder.for_inference().encode(pixels, ["grid"])["grid"], encoder.encode(pixels, ["grid"])["grid"])


def test_replicas_share_weights_and_run_side_by_side(small: Encoder) -> None:
    replicas = [small.replica() for _ in range(4)]
    for replica in replicas:
        assert all(a is b for a, b in zip(replica.parameters(), small.parameters(), strict=True))
    pixels = torch.rand(4, 4, 1, 3, 160, 160)

    def all_of(replica: Encoder, some: torch.Tensor) -> torch.Tensor:
        return torch.cat([replica.encode(each, ["full_network"])["full_network"] for each in some])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(all_of, replicas, pixels))
    assert all(close(each, all_of(small, some)) for each, some in zip(found, pixels, strict=True))


class TestFingerprint:
    def test_changes_with_any_weight_and_statistic(self) -> None:
        encoder = Encoder.load("test_resnet@random")
        prints = {encoder.fingerprint()}
        with torch.no_grad():
            encoder.network.layer4[0].conv1.weight[0, 0, 0, 0] += 1e-6
            prints.add(encoder.fingerprint())
            encoder.network.bn1.running_var[0] += 1
            prints.add(encoder.fingerprint())
        assert len(prints) == 3

    def test_says_nothing_of_where_the_weights_came_from(self) -> None:
        encoder = Encoder.load("test_resnet@random")
        again = Encoder(encoder.network, EncoderName("test_resnet.r160_in1k", "elsewhere.pth"))
        other = Encoder(encoder.network, EncoderName("test_resnet2"))
        assert again.fingerprint() == encoder.fingerprint() != other.fingerprint()
        assert len(encoder.fingerprint()) == 16


def test_can_be_exported(small: Encoder) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")

    class All(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reader = small.reader(LAYOUTS)

        def forward(self, pixels: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(self.reader(pixels).values())

    buffer = io.BytesIO()
    example = torch.rand(2, 3, 160, 160)
    batch = {0: torch.export.Dim("images")}
    torch.onnx.export(All().eval(), (example,), dynamo=True, dynamic_shapes=(batch,), verbose=False).save(buffer)
    session = onnxruntime.InferenceSession(buffer.getvalue())
    pixels = torch.rand(3, 3, 160, 160)
    found = session.run(None, {session.get_inputs()[0].name: pixels.numpy()})
    for values, expected in zip(found, small.encode(pixels, LAYOUTS).values(), strict=True):
        assert close(torch.from_numpy(values), expected)
