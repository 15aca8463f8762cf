"""Bundles at work on ONNX Runtime: captions, tags, embeddings; no PyTorch needed.

model = open_model()
for result in model.captioner(paths):
    print(result.image, result.error or result.text)
"""

from seetell.runtime.captioner import Captioner
from seetell.runtime.model import Model, open_model
from seetell.runtime.results import Caption, Captioned, Described, Embedded, Match, Tag, Tagged
from seetell.runtime.retriever import Retriever
from seetell.runtime.stream import ImageLike, ImagesLike
from seetell.runtime.tagger import Tagger

__all__ = [
    "Caption",
    "Captioned",
    "Captioner",
    "Described",
    "Embedded",
    "ImageLike",
    "ImagesLike",
    "Match",
    "Model",
    "Retriever",
    "Tag",
    "Tagged",
    "Tagger",
    "open_model",
]
