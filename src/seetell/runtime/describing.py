"""All heads of a bundle on the same features."""

from collections.abc import Sequence
from dataclasses import dataclass

from seetell.errors import ImageError
from seetell.runtime.captioning import CaptionGenerator
from seetell.runtime.embedding import Embedder
from seetell.runtime.encoder import Features
from seetell.runtime.results import Description
from seetell.runtime.tagging import TagPredictor


@dataclass(frozen=True)
class DescriptionHead:
    """Captions, tags and embeds the images of a batch, as far as the bundle can."""

    generator: CaptionGenerator | None
    predictor: TagPredictor | None
    embedder: Embedder | None
    task: str = "Describing"

    def results(self, names: Sequence[str], features: Features) -> list[Description]:
        vectors = self.embedder.embed_features(features[self.embedder.layout]) if self.embedder else None
        captions = self.generator.captions(features, embeddings=vectors) if self.generator else [()] * len(names)
        tagged = self.predictor.tags(features[self.predictor.layout]) if self.predictor else [((), None)] * len(names)
        rows = zip(names, captions, tagged, [None] * len(names) if vectors is None else vectors, strict=True)
        return [Description(name, None, best, tags, vector) for name, best, (tags, _), vector in rows]

    def failed(self, name: str, error: ImageError) -> Description:
        return Description(name, error)
