"""Checkpoints: whole or not there, and readable without running anything."""

from pathlib import Path

import pytest
import torch

from seetell.learn.training import checkpoints
from seetell.learn.training.checkpoints import Checkpoint, CheckpointError, flatten_optimiser, restore_optimiser


def some(value: float) -> Checkpoint:
    weights = torch.full((2, 3), value)
    return Checkpoint({"w": weights, "tied": weights}, {"average.w": weights + 1}, {"epoch": int(value)})


def test_the_newest_is_read_and_the_older_removed(tmp_path: Path) -> None:
    for value in (1.0, 2.0, 3.0):
        checkpoints.save(tmp_path, "last", some(value))
    read = checkpoints.load(tmp_path, "last")
    assert read.model["w"].eq(3).all()
    assert read.model["tied"].eq(3).all()
    assert read.training["average.w"].eq(4).all()
    assert read.state == {"epoch": 3}
    assert len(list((tmp_path / "last").iterdir())) == 1


def test_half_a_checkpoint_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill between any two writes leaves the one before."""
    checkpoints.save(tmp_path, "last", some(1.0))
    real_save, real_write = checkpoints.save_file, checkpoints.write_json
    for deadline in range(4):
        writes = iter(range(100))

        def guarded(real, *arguments, writes=writes, deadline=deadline):  # type: ignore[no-untyped-def]
            if next(writes) == deadline:
                raise KeyboardInterrupt
            return real(*arguments)

        monkeypatch.setattr(checkpoints, "save_file", lambda *a, g=guarded: g(real_save, *a))
        monkeypatch.setattr(checkpoints, "write_json", lambda *a, g=guarded: g(real_write, *a))
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(tmp_path, "last", some(2.0))
        assert checkpoints.load(tmp_path, "last").state == {"epoch": 1}
    monkeypatch.undo()
    checkpoints.save(tmp_path, "last", some(2.0))
    assert checkpoints.load(tmp_path, "last").state == {"epoch": 2}


def test_a_damaged_one_is_refused_with_its_file(tmp_path: Path) -> None:
    checkpoints.save(tmp_path, "best", some(1.0))
    file = next((tmp_path / "best").glob("*/model.safetensors"))
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        checkpoints.load(tmp_path, "best")


def test_no_checkpoint(tmp_path: Path) -> None:
    assert not checkpoints.exists(tmp_path, "best")
    with pytest.raises(CheckpointError, match="no 'best' checkpoint"):
        checkpoints.load(tmp_path, "best")


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
def test_an_optimiser_goes_on_as_if_nothing_happened(kind: type[torch.optim.Optimizer], tmp_path: Path) -> None:
    def steps(optimiser: torch.optim.Optimizer, weight: torch.Tensor, count: int) -> None:
        for _ in range(count):
            optimiser.zero_grad()
            (weight**2).sum().backward()
            optimiser.step()

    weight = torch.tensor([3.0, -2.0], requires_grad=True)
    optimiser = kind([weight], lr=0.1)  # type: ignore[call-arg]
    steps(optimiser, weight, 3)
    tensors, rest = flatten_optimiser(optimiser)
    checkpoints.save(tmp_path, "last", Checkpoint({"w": weight}, tensors, {"optimiser": rest}))
    steps(optimiser, weight, 3)

    stored = checkpoints.load(tmp_path, "last")
    again = stored.model["w"].clone().requires_grad_()
    other = kind([again], lr=0.5)  # type: ignore[call-arg]
    restore_optimiser(other, stored.training, stored.state["optimiser"])
    steps(other, again, 3)
    assert torch.equal(weight, again)
