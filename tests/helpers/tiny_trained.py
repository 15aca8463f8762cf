"""Untrained models on a tiny untrained encoder: all that exporting needs, in seconds."""

from typing import Any

import numpy as np
import torch
from PIL import Image

from seetell.learn.encoders import Encoder
from seetell.learn.encoders.layouts import taken_apart
from seetell.learn.encoders.transform import FullNetworkTransform, LevelsBelow, Standardise
from seetell.learn.exporting import Trained
from seetell.learn.models import ModelInputs, build
from seetell.learn.models.classifier import Scorer
from seetell.learn.models.sentences import SentenceEncoder
from seetell.learn.recipes import read_model_settings
from seetell.learn.recipes.recipe import DECODING
from seetell.settings import read
from seetell.text import LABEL_SPECIALS, Vocabulary

WORDS = [f"word{number}" for number in range(40)]
LABELS = ["cat", "dog", "sports ball", "car", "tree", "person"]
TEXTS = ["word1 word2", "word3", "a sentence of word4 and word5 and others that are not known", "", "word7 " * 30]

LSTM = {"units": 24, "word_dimensions": 12}
LABEL = {"kind": "label_sequence", "units": 24, "label_dimensions": 8, "attention_dimensions": 16}
ORDER = {"similarity": "order", "absolute": True, "dimensions": 16, "word_dimensions": 12}
MATCH = {"hidden": 24, "looks": 2, "units": 12, "dimensions": 16, "word_dimensions": 12}
SENTENCES = {"hidden": 24, "dimensions": 16}
MODELS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    # name: kind, layout, [model], [decoding]
    "attend-soft": ("captioner", "grid", {"kind": "attend", "attention_dimensions": 16, **LSTM}, {"beam": 3}),
    "attend-hard": ("captioner", "grid", {"kind": "attend", "attention": "hard", "gate": False, **LSTM}, {"beam": 2}),
    "attend-levels": ("captioner", "grid+levels", {"kind": "attend", **LSTM}, {"beam": 2}),
    "merge": ("captioner", "pooled", {"kind": "merge", **LSTM}, {"beam": 1}),
    "initial": ("captioner", "pooled", {"kind": "initial", **LSTM}, {"alpha": 0.7, "block_ngrams": 2}),
    "convolutional": ("captioner", "grid", {"kind": "convolutional", "kernel": 3, "layers": 2, "width": 24}, {}),
    "visual-semantic": ("retriever", "full_network", {"kind": "visual_semantic", **ORDER}, {}),
    "attentive-match": ("retriever", "grid", {"kind": "attentive_match", **MATCH}, {}),
    "sentence-match": ("retriever", "pooled", {"kind": "sentence_match", "trained_layers": 1, **SENTENCES}, {}),
    "two-branch": ("retriever", "pooled", {"kind": "two_branch", "layers": [24, 12]}, {}),
    "classifier": ("tagger", "pooled", {"kind": "classifier", "activation": "softmax"}, {"choose": "top", "top": 2}),
    "grid-classifier": ("tagger", "grid", {"kind": "grid_classifier", "hidden": 16}, {"choose": "thresholds"}),
    "joint": ("tagger", "levels", {"part": "joint", **LABEL}, {"beam": 3}),
    "seq2seq-attn": ("tagger", "levels", {"part": "seq2seq-shared", "attention": True, **LABEL}, {"beam": 1}),
}


def photographs(count: int = 6) -> list[Image.Image]:
    """Images that differ from each other."""
    random = np.random.default_rng(5)
    made = []
    for _ in range(count):
        small = random.integers(0, 256, (5, 7, 3), dtype=np.uint8)
        made.append(Image.fromarray(small).resize((224, 160), Image.Resampling.BICUBIC))
    return made


def fitted(encoder: Encoder, layout: str) -> torch.nn.Module:
    """A transform that is fitted on the photographs, so that an untrained network tells them apart."""
    pixels = torch.from_numpy(np.concatenate([encoder.preparation()(image) for image in photographs()]))
    read = encoder.encode(pixels, [layout])[layout]
    if levels := encoder.layout(layout).levels:
        return LevelsBelow(Standardise.fit([taken_apart(read, levels)[1].numpy()]))
    values = read.numpy()
    kind = FullNetworkTransform if layout == "full_network" else Standardise
    return kind.fit([values.reshape(-1, values.shape[-1])])


def make(name: str, encoder: Encoder, seed: int = 0) -> Trained:
    kind, layout, settings, decoding = MODELS[name]
    torch.manual_seed(seed)
    spec = encoder.layout(layout)
    vocabulary = Vocabulary(LABELS, LABEL_SPECIALS) if kind == "tagger" else Vocabulary(WORDS)
    given: dict[str, Any] = {
        "features": spec.shape[-1],
        "sections": spec.sections,
        "words": len(vocabulary),
        "labels": len(LABELS),
        "transform": fitted(encoder, layout),
        "trained": 20,
    }
    if spec.levels:
        given["levels"] = spec.levels
    if name in ("attentive-match", "two-branch"):
        given["vectors"] = torch.randn(len(vocabulary), 9)
    if name == "sentence-match":
        given["sentences"] = SentenceEncoder(len(vocabulary), width=8, layers=2, heads=2, inner=16, positions=64)
    model = build(read_model_settings(settings), ModelInputs(**given)).eval()
    if isinstance(model, Scorer):
        model.thresholds.copy_(torch.linspace(-0.3, 0.3, len(LABELS)))
    for parameter in model.parameters():  # untrained, all words are about equally probable: make some more so
        parameter.data.mul_(2.0)
    if kind == "captioner":
        model.output.bias.data[vocabulary.end] -= 5  # captions of some words
    how = read(DECODING[{"captioner": "captioning", "retriever": "retrieval", "tagger": "tagging"}[kind]], decoding)
    tokenizer = "pieces" if name == "sentence-match" else "words"
    return Trained(name, kind, model, vocabulary, encoder, encoder.preparation(), spec, tokenizer, how)
