"""The last stages of a network as part of a model, against the network itself."""

import pytest
import torch
from torch import nn

from seetell.learn.encoders import Encoder
from seetell.learn.models.later_stages import LaterStages
from seetell.learn.recipes import RecipeError

PIXELS = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))


def random_encoder(name: str) -> Encoder:
    torch.manual_seed(0)
    return Encoder.load(f"{name}@random")


@pytest.mark.parametrize(
    ("name", "layout"),
    [("tf_efficientnet_lite0", "grid:4"), ("tf_efficientnet_lite0", "grid:5"), ("resnet18", "grid:3")],
)
def test_they_end_where_the_network_ends(name: str, layout: str) -> None:
    encoder = random_encoder(name)
    read = encoder.encode(PIXELS, [layout, "grid"])
    later = LaterStages(encoder, layout, nn.Identity())
    with torch.no_grad():
        torch.testing.assert_close(later(read[layout]), read["grid"], atol=1e-4, rtol=1e-4)
    assert later.width == read["grid"].shape[2]


def test_they_are_trained_and_the_encoder_is_not_touched() -> None:
    encoder = random_encoder("tf_efficientnet_lite0")
    before = encoder.fingerprint()
    later = LaterStages(encoder, "grid:4", nn.Identity()).train()
    given = encoder.encode(PIXELS, ["grid:4"])["grid:4"].clone()
    later(given).square().mean().backward()
    assert all(parameter.grad is not None for parameter in later.parameters())
    with torch.no_grad():
        for parameter in later.parameters():
            parameter.add_(1.0)
    assert encoder.fingerprint() == before


@pytest.mark.parametrize(("name", "layout"), [("tf_efficientnet_lite0", "grid:4"), ("resnet18", "grid:3")])
def test_trained_they_can_be_put_back_into_the_network(name: str, layout: str) -> None:
    encoder = random_encoder(name)
    later = LaterStages(encoder, layout, nn.Identity())
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in later.parameters():
            parameter.add_(0.1 * parameter.std() * torch.randn(parameter.shape, generator=generator))
        wanted = later(encoder.encode(PIXELS, [layout])[layout])
    before = encoder.encode(PIXELS, ["grid"])["grid"]
    changed = later.put_into(encoder, layout)
    torch.testing.assert_close(changed.encode(PIXELS, ["grid"])["grid"], wanted, atol=1e-4, rtol=1e-4)
    assert (wanted - before).abs().max() > 0.01
    assert changed.fingerprint() != encoder.fingerprint()
    torch.testing.assert_close(encoder.encode(PIXELS, ["grid"])["grid"], before)


def test_a_layout_that_nothing_follows_is_refused() -> None:
    encoder = random_encoder("tf_efficientnet_lite0")
    for layout in ("grid", "pooled", "grid:9"):
        with pytest.raises(RecipeError, match="nothing after"):
            LaterStages(encoder, layout, nn.Identity())


def test_a_network_whose_stages_do_not_follow_each_other_is_refused() -> None:
    encoder = random_encoder("tf_efficientnet_lite0")
    encoder.network.blocks[5].register_forward_hook(lambda module, given, returned: returned * 2)  # type: ignore[index]
    network: nn.Module = encoder.network
    forward = network.forward_features
    network.forward_features = lambda pixels: forward(pixels) + 1.0  # type: ignore[assignment,operator]
    with pytest.raises(RecipeError, match="on their own"):
        LaterStages(encoder, "grid:4", nn.Identity())
