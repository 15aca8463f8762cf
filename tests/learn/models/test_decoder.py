"""A captioner behind the decoding protocol."""

import numpy as np
import pytest
import torch

from helpers.captioners import SETTINGS, START, captions, images, make
from seetell.decoding.protocol import attention_of
from seetell.learn.models.captioner import select
from seetell.learn.models.decoder import TorchDecoder


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("rows", [[1, 0, 3, 3, 5, 4], [0, 0, 1, 3, 4, 5], [5, 2], [5, 4], [2, 0, 4, 5]])
def test_rows_are_moved_as_the_model_itself_would(name: str, rows: list[int]) -> None:
    """Beams that change places within an image, beams that leave theirs, images that end or change places."""
    model, features = make(name), images(name, 3).repeat_interleave(2, 0)
    decoder = TorchDecoder(model)
    tokens = captions(6)
    held = decoder.select(decoder.start(features[::2].numpy()), np.array([0, 0, 1, 1, 2, 2]))
    state = model.start(features)
    for place in range(2):
        log_probs, held, attention = decoder.step(tokens[:, place].numpy(), held)
        wanted, state, looked = model.step(tokens[:, place], state)
        np.testing.assert_allclose(log_probs, wanted.detach().numpy(), atol=1e-5)
        weights, gate = attention_of(attention)
        if looked is not None:
            np.testing.assert_allclose(weights, looked.detach().numpy(), atol=1e-5)
        assert (weights is None) == (looked is None)
        assert (gate is not None) == (name in ("attend-soft", "attend-narrow", "attend-levels"))
    held = decoder.select(held, np.array(rows))
    state = select(state, torch.tensor(rows))
    after, _, _ = decoder.step(np.full(len(rows), START), held)
    wanted, _, _ = model.step(torch.full((len(rows),), START), state)
    np.testing.assert_allclose(after, wanted.detach().numpy(), atol=1e-5)


def test_what_an_image_holds_is_kept_once_and_not_copied_while_its_beams_change_places() -> None:
    decoder = TorchDecoder(make("attend-soft"))
    first = decoder.start(images("attend-soft", 2).numpy())
    held = decoder.select(first, np.array([0, 0, 1, 1]))
    _, held, _ = decoder.step(np.full(4, START), held)
    swapped = decoder.select(held, np.array([1, 0, 3, 3]))
    assert swapped.state["annotations"] is held.state["annotations"] is first.state["annotations"]
    assert len(swapped.state["h"]) == 3  # two hypotheses go on from one
    assert swapped.fan.tolist() == [1, 0, 2, 2]
    left = decoder.select(swapped, np.array([3, 2]))
    assert torch.equal(left.state["annotations"], first.state["annotations"][[1]])
