"""The bundle: what was learned, as a folder of JSON, UTF-8 text and ONNX that anybody can open without danger.

bundle.json         heads, preparation, layouts, decoding defaults, scores, licence, hashes of all files
encoder.onnx        prepared pixels → features
captioner-….onnx    and so on, a file or two a head
captioner.txt       its words, one a line
"""

from seetell.bundle.fields import BundleError
from seetell.bundle.folder import Bundle, read_manifest, write_bundle
from seetell.bundle.manifest import PRECISIONS, Manifest
from seetell.bundle.parts import (
    CaptionerPart,
    ClassifierPart,
    Decoding,
    EncoderPart,
    Head,
    Layout,
    RetrieverPart,
    RetryPart,
    Score,
    SequencePart,
    StatePart,
    TaggerPart,
)
from seetell.bundle.registry import Place, add, builtin_folder, find, installed, remove, user_folder

__all__ = [
    "PRECISIONS",
    "Bundle",
    "BundleError",
    "CaptionerPart",
    "ClassifierPart",
    "Decoding",
    "EncoderPart",
    "Head",
    "Layout",
    "Manifest",
    "Place",
    "RetrieverPart",
    "RetryPart",
    "Score",
    "SequencePart",
    "StatePart",
    "TaggerPart",
    "add",
    "builtin_folder",
    "find",
    "installed",
    "read_manifest",
    "remove",
    "user_folder",
    "write_bundle",
]
