"""Compare a bundle with its checkpoints on real images and texts."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from seetell.bundle import Decoding
from seetell.decoding import Decoded, Decoder, Rules
from seetell.errors import SeetellError
from seetell.learn.exporting.trained import Trained
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.classifier import Scorer
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.tasks.tagging.decode import choose_labels
from seetell.runtime import ImageLike, Model
from seetell.runtime.inputs import name_image
from seetell.runtime.sequence import decode, rules

CLOSE = 1e-3  # embeddings and log-probabilities
TIE = 1e-4  # sequences whose log-probabilities are this close may swap
Array = NDArray[Any]


class MismatchError(SeetellError):
    """A bundle whose results differ from its checkpoint's; it is not written."""


def compare(model: Model, trained: Sequence[Trained], images: Sequence[ImageLike], texts: Sequence[str]) -> None:
    """Refuse a bundle whose results differ from those of the checkpoints.

    Heads get the same features as the checkpoint's and must agree to `CLOSE`; captions and tags are also compared end
    to end, from the image to the words, and must be the same.
    """
    seen = model.encoder.encode([name_image(image, index) for index, image in enumerate(images)])
    if not seen.indices:
        raise SeetellError("there is no readable image to compare the bundle with its checkpoint on")
    layouts = [one.layout.layout for one in trained]
    torch_features = _encode(trained[0], [images[index] for index in seen.indices], layouts)
    for layout, wanted in torch_features.items():
        far = float(np.abs(seen.features[layout] - wanted).max()) / max(1.0, float(np.abs(wanted).max()))
        _check(far, "encoder", f"{layout} features")
    for one in trained:
        features = torch_features[one.layout.layout]
        through = seen.features[one.layout.layout]
        if one.kind == "retriever":
            _compare_retriever(model, one, features, texts)
        elif one.kind == "captioner":
            part = model.manifest.captioner
            assert part is not None
            law = rules(one.vocabulary, part.sequence.decoding)
            _compare_sequences(model.captioner.decoder, one, features, through, law, part.sequence.decoding)
        elif isinstance(one.model, Scorer):
            _compare_classifier(model, one, features, through)
        else:
            tagger = model.manifest.tagger
            assert tagger is not None
            assert tagger.sequence is not None
            how = tagger.sequence.decoding
            _compare_sequences(model.tagger.decoder, one, features, through, rules(one.vocabulary, how), how)


def _encode(trained: Trained, images: Sequence[ImageLike], layouts: Sequence[str]) -> dict[str, Array]:
    """Features as in training: the encoder without folding, one image at a time."""
    found: dict[str, list[Array]] = {layout: [] for layout in layouts}
    for image in images:
        source: Any = image.read() if hasattr(image, "read") else image
        pixels = torch.from_numpy(trained.preparation.open(source))
        for layout, values in trained.encoder.encode(pixels[None] if len(pixels) > 1 else pixels, list(found)).items():
            found[layout].append(values.numpy())
    return {layout: np.concatenate(values) for layout, values in found.items()}


@torch.no_grad()
def _compare_retriever(model: Model, one: Trained, features: Array, texts: Sequence[str]) -> None:
    network: Any = one.model
    retriever = model.retriever
    wanted = network.images(torch.from_numpy(features)).numpy()
    _check(float(np.abs(retriever.embed_features(features) - wanted).max()), one.name, "embeddings of images")
    if not texts:
        return
    numbers = [one.vocabulary.encode(retriever.tokenizer(text) or ["<unk>"]) for text in texts]
    tokens = torch.zeros(len(texts), max(map(len, numbers)), dtype=torch.long)
    for row, sequence in enumerate(numbers):
        tokens[row, : len(sequence)] = torch.tensor(sequence)
    wanted = network.texts(tokens, torch.tensor([len(sequence) for sequence in numbers])).numpy()
    _check(float(np.abs(retriever.embed_texts(texts) - wanted).max()), one.name, "embeddings of texts")


def _compare_sequences(
    decoder: Decoder[Any], one: Trained, features: Array, through: Array, law: Rules, how: Decoding
) -> None:
    reference = TorchDecoder(cast(CaptionModel, one.model))
    wanted = decode(reference, features, law, how)
    _compare_steps(decoder, reference, features, [best[0] for best in wanted], law, one.name)
    for (mine, *_), (theirs, *_) in zip(decode(decoder, through, law, how), wanted, strict=True):
        if mine.tokens.tolist() != theirs.tokens.tolist() and abs(mine.score - theirs.score) > TIE:
            words = [" ".join(one.vocabulary.decode(each.tokens.tolist())) for each in (mine, theirs)]
            raise MismatchError(f"the bundle's caption is {words[0]!r}, the checkpoint's {words[1]!r}", where=one.name)


def _compare_steps(
    mine: Decoder[Any], theirs: Decoder[Any], features: Array, wanted: Sequence[Decoded], law: Rules, name: str
) -> None:
    """Step both decoders through the checkpoint's sequences, to the end of the longest."""
    longest = max((len(each.tokens) for each in wanted), default=0)
    tokens = np.full((len(wanted), longest + 1), law.start)
    for row, each in enumerate(wanted):
        tokens[row, 1 : len(each.tokens) + 1] = each.tokens
        tokens[row, len(each.tokens) + 1 :] = law.end
    states: list[Any] = [mine.start(features), theirs.start(features)]
    for column in tokens.T.astype(np.int64):
        found = []
        for which, decoder in enumerate((mine, theirs)):
            log_probs, states[which], _ = decoder.step(column, states[which])
            found.append(log_probs)
        _check(float(np.abs(found[0] - found[1]).max()), name, "log-probabilities")


@torch.no_grad()
def _compare_classifier(model: Model, one: Trained, features: Array, through: Array) -> None:
    network, settings = cast(Scorer, one.model), one.tagging_decoding
    logits = network(torch.from_numpy(features)).numpy()
    wanted = choose_labels(network, logits, settings)
    edges = (
        network.thresholds.numpy()
        if settings.choose == "thresholds"
        else -np.sort(-logits, axis=1)[:, [settings.top - 1]]
    )
    near = np.abs(logits - edges) < TIE
    for given, free in ((features, np.zeros_like(near)), (through, near)):
        for row, (tags, confidences) in enumerate(model.tagger.tags(given)):
            assert confidences is not None
            _check(float(np.abs(confidences - wanted.confidence[row]).max()), one.name, "confidences")
            found = {one.vocabulary.words.index(tag.label) for tag in tags}
            differing = found ^ set(np.flatnonzero(wanted.chosen[row]).tolist())
            if any(not free[row, label] for label in differing):
                labels = ", ".join(one.vocabulary.words[label] for label in sorted(differing))
                raise MismatchError(f"the bundle and the checkpoint disagree on the labels {labels}", where=one.name)


def _check(far: float, where: str, what: str) -> None:
    if not far <= CLOSE:  # NaN is refused as well
        raise MismatchError(
            f"the {what} differ from the checkpoint's by {far:.2g}; at most {CLOSE:g} is allowed",
            where=where,
            remedy="This is a bug in seetell or in the exporter; the bundle was not written",
        )
