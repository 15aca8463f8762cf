"""The merge captioner against the paper's own layer table and data matrix."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pack_padded_sequence

from seetell.learn.models.inputs import ModelInputs
from seetell.learn.models.merge import Merge
from seetell.learn.recipes.model_settings import MergeSettings

# The worked example of Vaishali, section VII: its vocabulary (0 is padding), captions and data matrix (Table 2.3).
VOCABULARY = ["<pad>", "black", "cat", "endseq", "grass", "is", "on", "road", "sat", "startseq"]
VOCABULARY += ["the", "walking", "white"]
CAPTIONS = ["startseq the black cat sat on grass endseq", "startseq the white cat is walking on road endseq"]
TABLE = [
    (1, [9], 10),
    (1, [9, 10], 1),
    (1, [9, 10, 1], 2),
    (1, [9, 10, 1, 2], 8),
    (1, [9, 10, 1, 2, 8], 6),
    (1, [9, 10, 1, 2, 8, 6], 4),
    (1, [9, 10, 1, 2, 8, 6, 4], 3),
    (2, [9], 10),
    (2, [9, 10], 12),
    (2, [9, 10, 12], 2),
    (2, [9, 10, 12, 2], 5),
    (2, [9, 10, 12, 2, 5], 11),
    (2, [9, 10, 12, 2, 5, 11], 6),
    (2, [9, 10, 12, 2, 5, 11, 6], 7),
    (2, [9, 10, 12, 2, 5, 11, 6, 7], 3),
]
LONGEST = 34  # the paper pads every partial caption to its longest


def parameters(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_the_layer_table() -> None:
    model = Merge(MergeSettings(word_dimensions=50), ModelInputs(features=2048, words=1848))
    assert parameters(model.words) == 92_400
    assert parameters(model.image) == 524_544
    assert parameters(model.recurrent) == 314_368
    assert parameters(model.dense) == 65_792
    assert parameters(model.output) == 474_936
    assert parameters(model) == 1_472_040


def numbers() -> list[list[int]]:
    return [[VOCABULARY.index(word) for word in caption.split()] for caption in CAPTIONS]


def test_the_data_matrix_of_the_worked_example() -> None:
    built = [(i + 1, caption[:n], caption[n]) for i, caption in enumerate(numbers()) for n in range(1, len(caption))]
    assert built == TABLE


def expanded_loss(model: Merge, images: Tensor) -> Tensor:
    """The paper's way: a row for each partial caption, padded to the longest, the LSTM's state after its last word.

    Recomputed with PyTorch's own LSTM, whose gates come in another order and whose second bias is left at zero.
    """
    partial = torch.zeros(len(TABLE), LONGEST, dtype=torch.long)
    for row, (_, words, _) in enumerate(TABLE):
        partial[row, : len(words)] = torch.tensor(words)
    image = images[[number - 1 for number, _, _ in TABLE]]
    target = torch.tensor([word for _, _, word in TABLE])
    lstm = nn.LSTM(model.words.dimensions, model.recurrent.units, batch_first=True)

    def reordered(matrix: Tensor) -> Tensor:
        i, f, o, c = matrix.chunk(4)
        return torch.cat([i, f, c, o])

    weights = {
        "weight_ih_l0": reordered(model.recurrent.input.weight),
        "weight_hh_l0": reordered(model.recurrent.recurrent.weight),
        "bias_ih_l0": reordered(model.recurrent.input.bias),
        "bias_hh_l0": torch.zeros(4 * model.recurrent.units),
    }
    lengths = [len(words) for _, words, _ in TABLE]
    packed = pack_padded_sequence(model.words(partial), lengths, batch_first=True, enforce_sorted=False)
    _, (last, _) = torch.func.functional_call(lstm, weights, (packed,))
    merged = model.image(image).relu() + last[0]
    return cross_entropy(model.output(model.dense(merged).relu()), target)


def whole_loss(model: Merge, images: Tensor) -> Tensor:
    tokens = torch.zeros(2, max(map(len, numbers())), dtype=torch.long)
    for row, caption in enumerate(numbers()):
        tokens[row, : len(caption)] = torch.tensor(caption)
    logits = model(images, tokens[:, :-1]).logits
    return cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)


def test_whole_captions_equal_the_expanded_table_in_loss_and_gradients() -> None:
    torch.manual_seed(0)
    model = Merge(
        MergeSettings(units=16, word_dimensions=6, dropout=0.0), ModelInputs(features=20, words=len(VOCABULARY))
    ).double()
    images = torch.randn(2, 20, dtype=torch.double)
    torch.set_default_dtype(torch.double)
    try:
        expanded, whole = expanded_loss(model, images), whole_loss(model, images)
    finally:
        torch.set_default_dtype(torch.float)
    torch.testing.assert_close(whole, expanded)
    names, values = zip(*model.named_parameters(), strict=True)
    for name, a, b in zip(
        names, torch.autograd.grad(whole, values), torch.autograd.grad(expanded, values), strict=True
    ):
        assert a.abs().max() > 0, name
        torch.testing.assert_close(a, b, msg=name)
