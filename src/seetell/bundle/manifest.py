"""The manifest, `bundle.json`: which graphs a bundle has, how images are prepared for them, and how well they score."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Self, get_args

from msgspec import Meta, field

from seetell.bundle.schema import (
    DEVICES,
    EXPORT_AGAIN,
    CaptionerPart,
    EncoderPart,
    Head,
    Line,
    Precision,
    RetrieverPart,
    Sha256,
    ShortLine,
    StoredFile,
    TaggerPart,
    Text,
    is_file_name,
)
from seetell.errors import BundleError, SeetellError
from seetell.settings import Settings, plain, read

FORMAT = 2
PRECISIONS: tuple[str, ...] = get_args(Precision)
MOST_FILES = 64
LARGEST_BUNDLE = 8 << 30  # bytes
LARGEST_VOCABULARY = 64_000_000

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
# No result depends on these.
_DESCRIPTION = ("name", "about", "made_by", "licence", "training_data", "supersedes")
_DESCRIPTION_OF_HEAD = ("scores", "training_settings")
# Written into the file in addition to the manifest's own fields.
_ENVELOPE = ("format", "fingerprint", "checksum")


def check_name(name: str, where: str) -> str:
    """Refuse what cannot be a bundle's name, which is also a folder's."""
    if not _NAME.fullmatch(name) or name.partition(".")[0] in DEVICES or name.endswith(".") or ".." in name:
        raise BundleError(
            f"{name[:60]!r} cannot be a bundle's name",
            where=where,
            remedy="A name has up to 60 lower-case letters, digits, hyphens, dots and underscores",
        )
    return name


def canonical_json(content: object) -> bytes:
    """The one way in which a bundle's JSON is written."""
    return (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True) + "\n").encode("utf-8")


class Manifest(Settings, frozen=True, omit_defaults=True, dict=True):
    """The description of a bundle.

    Args:
        name: what people call the model; also a folder's name.
        about: one paragraph for people.
        made_by: the program that wrote it.
        licence: under which terms it may be used.
        training_data: addresses or names of the datasets it was trained on.
        precision: of the weights.
        encoder: the image network.
        captioner, tagger, retriever: the heads it has.
        files: size and hash of every file.
        supersedes: fingerprints of earlier bundles that compute the same results.
    """

    name: ShortLine
    about: Text
    made_by: ShortLine
    licence: Text
    training_data: tuple[Line, ...]
    precision: Precision
    encoder: EncoderPart
    captioner: CaptionerPart | None = None
    tagger: TaggerPart | None = None
    retriever: RetrieverPart | None = None
    files: Annotated[dict[str, StoredFile], Meta(max_length=MOST_FILES)] = field(default_factory=dict)
    supersedes: tuple[Sha256, ...] = ()

    @property
    def heads(self) -> tuple[Head, ...]:
        return tuple(head for head in (self.captioner, self.tagger, self.retriever) if head is not None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which of captioner, tagger and retriever there are."""
        return tuple(head.KIND for head in self.heads)

    @property
    def named(self) -> list[str]:
        """Every file that the encoder and the heads name, the encoder's graph first."""
        return [self.encoder.graph, *(name for head in self.heads for name in head.files)]

    @property
    def graphs(self) -> tuple[str, ...]:
        """Every graph that the encoder and the heads name."""
        return tuple(name for name in self.named if name.endswith(".onnx"))

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the results: it changes with anything that could change one, and with nothing else."""
        content = self._content()
        for key in _DESCRIPTION:
            content.pop(key, None)
        for kind in self.kinds:
            for key in _DESCRIPTION_OF_HEAD:
                content[kind].pop(key, None)
        return hashlib.sha256(canonical_json(content)).hexdigest()

    def to_json(self) -> bytes:
        content = {**self._content(), "fingerprint": self.fingerprint}
        return canonical_json({**content, "checksum": hashlib.sha256(canonical_json(content)).hexdigest()})

    @classmethod
    def from_json(cls, content: Mapping[str, Any], where: str) -> Self:
        """Read what `to_json` wrote; refuse whatever does not fit together.

        Args:
            content: the parsed file, which has this version's format number.
            where: the file, for errors.
        """
        manifest = cls._read({key: value for key, value in content.items() if key not in _ENVELOPE}, where)
        if content.get("fingerprint") != manifest.fingerprint:
            raise _invalid("the fingerprint does not match the bundle's content", where)
        return manifest

    def validated(self, where: str) -> Self:
        """The manifest, checked like one that is read from a file: for manifests that were built in Python."""
        return type(self)._read({key: value for key, value in self._content().items() if key != "format"}, where)

    @classmethod
    def _read(cls, content: Mapping[str, Any], where: str) -> Self:
        try:
            manifest = read(cls, content, where=where, remedy=EXPORT_AGAIN, error=BundleError)
        except SeetellError as error:  # a part's own check, which does not know the file
            raise BundleError(error.problem, where=error.where or where, remedy=error.remedy or EXPORT_AGAIN) from None
        manifest._check(where)
        return manifest

    def _check(self, where: str) -> None:
        """Refuse parts that do not fit together."""
        check_name(self.name, where)
        if not self.heads:
            raise _invalid("the bundle has no captioner, no tagger and no retriever", where)
        known = {layout.name for layout in self.encoder.layouts}
        for head in self.heads:
            if head.layout not in known:
                raise _invalid(f"{head.KIND}.layout is {head.layout!a}, which the encoder does not output", where)
        if self.captioner is not None and self.captioner.rerank_weight is not None and self.retriever is None:
            raise _invalid("captioner.rerank_weight is set, but there is no retriever to compute similarities", where)
        if sum(stored.size for stored in self.files.values()) > LARGEST_BUNDLE:
            raise _invalid(f"the bundle is larger than {LARGEST_BUNDLE:,} bytes", where)
        for name, stored in self.files.items():
            if not is_file_name(name):
                raise _invalid(f"{name[:60]!a} is not a valid name for a file of a bundle", where)
            if name.endswith(".txt") and stored.size > LARGEST_VOCABULARY:
                raise _invalid(f"{name} is too large for a vocabulary", where)
        named = self.named
        if len(named) != len(set(named)):
            raise _invalid("a file is used for two purposes", where)
        if set(named) != set(self.files):
            odd = min(set(named) ^ set(self.files))
            raise _invalid(f"{odd[:60]!a} is used but not listed, or listed but not used", where)

    def _content(self) -> dict[str, Any]:
        return {"format": FORMAT, **plain(self)}


def _invalid(problem: str, where: str) -> BundleError:
    return BundleError(problem, where=where, remedy=EXPORT_AGAIN)
