"""Captions read without their padding, and the LSTM that does so, beside PyTorch's own."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from seetell.learn.models.lstm import LSTM
from seetell.learn.models.packing import Packing

TOKENS = torch.tensor([[1, 5, 6, 7], [1, 8, 9, 0], [1, 4, 0, 0]])


def test_words_come_place_by_place_and_padding_never() -> None:
    packing = Packing.of(TOKENS)
    assert packing.rows == (3, 3, 2, 1)
    assert packing.pack(TOKENS).tolist() == [1, 1, 1, 5, 8, 4, 6, 9, 7]
    assert [part.tolist() for part in packing.split(packing.pack(TOKENS))] == [[1, 1, 1], [5, 8, 4], [6, 9], [7]]
    assert torch.equal(packing.unpack(packing.pack(TOKENS)), TOKENS)


def test_captions_in_another_order_are_read_with_their_padding() -> None:
    packing = Packing.of(TOKENS.flip(0))
    assert packing.rows == (3, 3, 3, 3)
    assert torch.equal(packing.unpack(packing.pack(TOKENS.flip(0))), TOKENS.flip(0))


def test_the_lstm_and_its_gradients_are_those_of_pytorch() -> None:
    torch.manual_seed(0)
    ours, peer = LSTM(5, 6), nn.LSTM(5, 6, batch_first=True)
    order = [0, 1, 3, 2]  # PyTorch's gates are i f c o
    with torch.no_grad():
        for theirs, value in (
            (peer.weight_ih_l0, ours.input.weight),
            (peer.weight_hh_l0, ours.recurrent.weight),
            (peer.bias_ih_l0, ours.input.bias),
        ):
            theirs.copy_(torch.cat([value.chunk(4)[gate] for gate in order]))
        peer.bias_hh_l0.zero_()
    packing = Packing.of(TOKENS)
    inputs, h, c = torch.randn(3, 4, 5, requires_grad=True), torch.randn(3, 6), torch.randn(3, 6)
    states = ours(packing.pack(inputs), h, c, packing)
    expected, _ = peer(pack_padded_sequence(inputs, torch.tensor([4, 3, 2]), batch_first=True), (h[None], c[None]))
    torch.testing.assert_close(states, expected.data)

    weights = torch.randn_like(states)
    (mine,) = torch.autograd.grad((states * weights).sum(), inputs, retain_graph=True)
    (theirs,) = torch.autograd.grad((expected.data * weights).sum(), inputs, retain_graph=True)
    torch.testing.assert_close(mine, theirs)
    (states * weights).sum().backward()
    (expected.data * weights).sum().backward()
    for value, peers in ((ours.recurrent.weight, peer.weight_hh_l0), (ours.input.weight, peer.weight_ih_l0)):
        assert value.grad is not None
        assert peers.grad is not None
        torch.testing.assert_close(torch.cat([value.grad.chunk(4)[gate] for gate in order]), peers.grad)
