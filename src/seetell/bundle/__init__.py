"""The bundle format: a trained model as a folder of JSON, UTF-8 text and ONNX that is safe to open.

bundle.json         the manifest: heads, preparation, layouts, decoding defaults, scores, licence, hashes of all files
encoder.onnx        prepared pixels → features
captioner-….onnx    and so on: the graphs of each head
captioner.txt       its words, one per line
"""

from seetell.bundle.folder import Bundle, read_manifest, write_bundle
from seetell.bundle.manifest import FORMAT, PRECISIONS, Manifest
from seetell.bundle.registry import (
    InstalledBundle,
    add,
    builtin_folder,
    find_bundle,
    installed,
    remove,
    user_folder,
)
from seetell.bundle.schema import (
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
    StoredFile,
    TaggerPart,
)
from seetell.errors import BundleError

__all__ = [
    "FORMAT",
    "PRECISIONS",
    "Bundle",
    "BundleError",
    "CaptionerPart",
    "ClassifierPart",
    "Decoding",
    "EncoderPart",
    "Head",
    "InstalledBundle",
    "Layout",
    "Manifest",
    "RetrieverPart",
    "RetryPart",
    "Score",
    "SequencePart",
    "StatePart",
    "StoredFile",
    "TaggerPart",
    "add",
    "builtin_folder",
    "find_bundle",
    "installed",
    "read_manifest",
    "remove",
    "user_folder",
    "write_bundle",
]
