"""Models at work on ONNX Runtime: captions, tags, embeddings; no PyTorch needed.

model = open_model()
for result in model.captioner(paths):
    print(result.name, result.error or result.text)
"""

from seetell.runtime.captioner import Captioner
from seetell.runtime.inputs import ImageLike, ImagesLike
from seetell.runtime.model import Model, open_model
from seetell.runtime.pipeline import Pipeline, PipelineHead
from seetell.runtime.results import Caption, CaptionResult, Description, Embedding, Match, Result, Tag, TagResult
from seetell.runtime.retriever import Retriever
from seetell.runtime.tagger import Tagger

__all__ = [
    "Caption",
    "CaptionResult",
    "Captioner",
    "Description",
    "Embedding",
    "ImageLike",
    "ImagesLike",
    "Match",
    "Model",
    "Pipeline",
    "PipelineHead",
    "Result",
    "Retriever",
    "Tag",
    "TagResult",
    "Tagger",
    "open_model",
]
