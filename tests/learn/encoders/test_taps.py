import torch
from timm.layers import BatchNormAct2d
from torch import Tensor, nn

from seetell.learn.encoders.taps import find_taps, watching


def taps(network: nn.Module) -> list[tuple[str, str, int]]:
    network.eval()
    return [(tap.layer, tap.module, tap.call) for tap in find_taps(network, torch.rand(1, 3, 8, 8))]


class Residual(nn.Module):
    """conv1 → bn1 → relu → conv2 → bn2, plus its input, → the same relu again."""

    def __init__(self, *, in_place: bool) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        self.conv2, self.bn2 = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)
        self.relu = nn.ReLU(inplace=in_place)
        self.in_place = in_place

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.in_place:
            y += x
        else:
            y = y + x
        out: Tensor = self.relu(y)
        return out


def test_an_activation_directly_after_a_layer_is_read() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Conv2d(4, 5, 1))
    assert taps(network) == [("0", "1", 0), ("3", "3", 0)]


def test_normalisation_and_activation_in_either_order_and_through_dropout() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout2d(), nn.SiLU(),
        nn.Conv2d(4, 4, 1), nn.GELU(), nn.BatchNorm2d(4),
        nn.Conv2d(4, 4, 1), BatchNormAct2d(4),
        nn.Conv2d(4, 4, 1), BatchNormAct2d(4, apply_act=False),
    )  # fmt: skip
    assert taps(network) == [("0", "3", 0), ("4", "6", 0), ("7", "8", 0), ("9", "10", 0)]


def test_a_second_normalisation_belongs_to_what_follows() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 1), BatchNormAct2d(4), BatchNormAct2d(4), nn.Conv2d(4, 4, 1))
    assert taps(network) == [("0", "1", 0), ("3", "3", 0)]


def test_an_addition_ends_the_search_even_in_place() -> None:
    expected = [("conv1", "relu", 0), ("conv2", "bn2", 0)]
    assert taps(Residual(in_place=False)) == expected
    assert taps(Residual(in_place=True)) == expected


def test_a_layer_that_runs_twice_counts_twice() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.act = nn.Conv2d(3, 3, 1), nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.act(self.layer(self.act(self.layer(self.act(x)))))
            return out

    assert taps(Twice()) == [("layer", "act", 1), ("layer", "act", 2)]


def test_fully_connected_layers_have_their_channels_last() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Flatten(2), nn.Linear(64, 7), nn.GELU())
    found = find_taps(network, torch.rand(1, 3, 8, 8))
    assert [(tap.layer, tap.module, tap.width, tap.axis) for tap in found] == [("0", "0", 4, 1), ("2", "3", 7, -1)]


def test_outputs_are_seen_as_they_were_before_the_network_overwrote_them() -> None:
    network = Residual(in_place=True).eval()
    pixels = torch.rand(2, 3, 8, 8)
    seen: dict[int, Tensor] = {}
    with torch.no_grad():
        with watching(network, [("bn2", 0), ("relu", 1)], lambda i, output: seen.update({i: output.clone()})):
            end = network(pixels)
        first = network.bn1(network.conv1(pixels)).relu()
        torch.testing.assert_close(seen[0], network.bn2(network.conv2(first)))
        torch.testing.assert_close(seen[1], end)
    seen.clear()
    network(pixels)
    assert not seen  # watching is over
