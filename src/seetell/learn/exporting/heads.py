"""A trained model as a head of a bundle: its graphs, its vocabulary, and its part of the manifest."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from seetell.bundle import CaptionerPart, ClassifierPart, Decoding, RetrieverPart, SequencePart, StatePart, TaggerPart
from seetell.learn.exporting.graphs import ImageSide, Scores, Start, Step, TextSide
from seetell.learn.exporting.trained import Trained
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.classifier import Scorer
from seetell.learn.onnx_graphs import to_onnx
from seetell.learn.weight_names import keep_names

Files = dict[str, bytes]
Part = CaptionerPart | TaggerPart | RetrieverPart


def make_head(trained: Trained) -> tuple[Part, Files]:
    """The part of the manifest, and the files that it names."""
    words = f"{trained.kind}.txt"
    files = {words: "".join(f"{symbol}\n" for symbol in _symbols(trained)).encode("utf-8")}
    common = (trained.layout.layout, words, trained.scores)
    settings = json.dumps(dict(trained.settings), sort_keys=True) if trained.settings else ""
    example = torch.randn(2, *trained.layout.shape, generator=torch.Generator().manual_seed(0))
    if trained.kind == "retriever":
        model: Any = trained.model
        tokens = torch.ones(2, 3, dtype=torch.long)
        files["retriever-images.onnx"] = _graph(ImageSide(model), {"features": example}, ["embeddings"])
        files["retriever-texts.onnx"] = _graph(
            TextSide(model), {"tokens": tokens, "lengths": torch.tensor([3, 2])}, ["embeddings"]
        )
        graphs = ("retriever-images.onnx", "retriever-texts.onnx")
        space = (trained.tokenizer, model.similarity, model.dimensions)
        return RetrieverPart(*common, *graphs, *space, training_settings=settings), files
    if trained.kind == "captioner":
        how = trained.captioning_decoding
        decoding = Decoding(how.beam, float(how.alpha), how.maximum_length, 0, how.block_ngrams)
        sequence, more = _sequence(trained, example, decoding)
        return CaptionerPart(*common, sequence, training_settings=settings), files | more
    tagging = trained.tagging_decoding
    if isinstance(trained.model, Scorer):
        files["tagger.onnx"] = _graph(Scores(trained.model), {"features": example}, ["logits", "probabilities"])
        thresholds = tuple(float(value) for value in trained.model.thresholds.tolist())
        top = tagging.top if tagging.choose == "top" else 0
        return TaggerPart(
            *common, None, ClassifierPart("tagger.onnx", thresholds, top), training_settings=settings
        ), files
    longest = tagging.maximum or len(trained.vocabulary.words)
    sequence, more = _sequence(trained, example, Decoding(tagging.beam, float(tagging.alpha), longest, 0, 1))
    return TaggerPart(*common, sequence, None, training_settings=settings), files | more


@torch.no_grad()
def _sequence(trained: Trained, example: Tensor, how: Decoding) -> tuple[SequencePart, Files]:
    model = cast(CaptionModel, trained.model)
    state = model.start(example)
    tokens = torch.full((2,), trained.vocabulary.start)
    _, after, attention = model.step(tokens, state)
    names = sorted(state)
    changing = [name for name in names if name not in model.constant and name in after]
    outputs = ["log_probs", *(["attention"] if attention is not None else [])]
    start, step = f"{trained.kind}-start.onnx", f"{trained.kind}-step.onnx"
    # Cloned: where h and c start as the same zeros, the exporter would treat them as one input.
    inputs = {"tokens": tokens, **{name: state[name].clone() for name in names}}
    files = {
        start: _graph(Start(model, names), {"features": example}, names),
        step: _graph(Step(model, names, changing), inputs, [*outputs, *(f"next_{name}" for name in changing)]),
    }
    parts = tuple(StatePart(name, tuple(state[name].shape[1:]), name not in changing) for name in names)
    return SequencePart(start, step, parts, attention is not None, how), files


def _graph(module: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str]) -> bytes:
    """A graph whose weights keep the model's names."""
    return keep_names(to_onnx(module, inputs, outputs), module)


def _symbols(trained: Trained) -> list[str]:
    """A classifier's labels in the order of its outputs; other vocabularies start with their special symbols."""
    if isinstance(trained.model, Scorer):
        return list(trained.vocabulary.words)
    return [trained.vocabulary.word(number) for number in range(len(trained.vocabulary))]
