"""Bundles at work on ONNX Runtime: captions, tags, embeddings; no PyTorch needed.

suite = open_bundle()
for result in suite.captioner(paths):
    print(result.picture, result.error or result.text)
"""

from seetell.runtime.captioner import Captioner
from seetell.runtime.results import Caption, Captioned, Described, Embedded, Match, Tag, Tagged
from seetell.runtime.retriever import Retriever
from seetell.runtime.stream import AnyPicture, Pictures
from seetell.runtime.suite import Suite, open_bundle
from seetell.runtime.tagger import Tagger

__all__ = [
    "AnyPicture",
    "Caption",
    "Captioned",
    "Captioner",
    "Described",
    "Embedded",
    "Match",
    "Pictures",
    "Retriever",
    "Suite",
    "Tag",
    "Tagged",
    "Tagger",
    "open_bundle",
]
