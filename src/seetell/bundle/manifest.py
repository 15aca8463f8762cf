"""What `bundle.json` says: which graphs there are, how images are prepared for them, and how well they do."""

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from seetell.bundle.fields import BundleError, Fields, canonical
from seetell.bundle.parts import DEVICES, CaptionerPart, EncoderPart, Head, RetrieverPart, TaggerPart

FORMAT = 1
PRECISIONS = ("float32", "float16", "int8")
MOST_FILES = 64
LARGEST_FILE = (1 << 31) - 1  # bytes; what an ONNX graph can have
LARGEST_BUNDLE = 8 << 30

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
_HEXADECIMAL = re.compile(r"[0-9a-f]{64}")
_DESCRIPTION = ("name", "about", "made_by", "licence", "training_data")  # what no result depends on
_DESCRIPTION_OF_HEAD = ("scores", "trained_as")


def check_name(name: str, where: str) -> str:
    """Refuse what cannot be a bundle's name, which is also a folder's."""
    if not _NAME.fullmatch(name) or name.partition(".")[0] in DEVICES or name.endswith(".") or ".." in name:
        raise BundleError(
            f"{name[:60]!r} cannot be a bundle's name",
            where=where,
            remedy="A name has up to 60 lower-case letters, digits, hyphens, dots and underscores",
        )
    return name


@dataclass(frozen=True)
class Stored:
    """A file's size in bytes, and its SHA-256."""

    size: int
    sha256: str

    @classmethod
    def read(cls, fields: Fields) -> Self:
        stored = cls(fields.whole("size", 1, LARGEST_FILE), fields.text("sha256", most=64))
        fields.finish()
        if not _HEXADECIMAL.fullmatch(stored.sha256):
            fields.refuse("the hash of a file is not one")
        return stored

    @classmethod
    def of(cls, data: bytes) -> Self:
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Manifest:
    """All that a bundle says about itself.

    `fingerprint` changes with anything that could change a result, and with nothing else: not with the scores, the
    name or the licence.
    """

    name: str
    about: str
    made_by: str
    licence: str
    training_data: tuple[str, ...]
    precision: str
    encoder: EncoderPart
    captioner: CaptionerPart | None = None
    tagger: TaggerPart | None = None
    retriever: RetrieverPart | None = None
    files: Mapping[str, Stored] = field(default_factory=dict)

    @property
    def heads(self) -> tuple[Head, ...]:
        return tuple(head for head in (self.captioner, self.tagger, self.retriever) if head is not None)

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(head.KIND for head in self.heads)

    @property
    def graphs(self) -> tuple[str, ...]:
        """Every graph that it names."""
        return tuple(name for name in self.named if name.endswith(".onnx"))

    @property
    def named(self) -> list[str]:
        """Every file that its parts name, the encoder's graph first."""
        names = [self.encoder.graph]
        for head in self.heads:
            names.append(head.vocabulary)
            if isinstance(head, RetrieverPart):
                names += [head.images, head.texts]
            elif isinstance(head, CaptionerPart | TaggerPart):
                if head.sequence is not None:
                    names += [head.sequence.start, head.sequence.step]
                if isinstance(head, TaggerPart) and head.classifier is not None:
                    names.append(head.classifier.graph)
                if isinstance(head, CaptionerPart) and head.retry is not None:
                    names.append(head.retry.words)
        return names

    @property
    def fingerprint(self) -> str:
        content = self._content()
        for key in _DESCRIPTION:
            del content[key]
        for head in self.heads:
            for key in _DESCRIPTION_OF_HEAD:
                content[head.KIND].pop(key, None)
        return hashlib.sha256(canonical(content)).hexdigest()

    def to_json(self) -> bytes:
        content = {**self._content(), "fingerprint": self.fingerprint}
        return canonical({**content, "checksum": hashlib.sha256(canonical(content)).hexdigest()})

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            **{key: getattr(self, key) for key in _DESCRIPTION},
            "precision": self.precision,
            "encoder": self.encoder.to_json(),
            **{head.KIND: _without_nothing(dataclasses.asdict(head)) for head in self.heads},
            "files": {name: dataclasses.asdict(stored) for name, stored in self.files.items()},
        }

    @classmethod
    def from_json(cls, content: object, where: str) -> Self:
        """Read what `to_json` wrote, once the format is known to be ours; refuse whatever does not hold together."""
        fields = Fields(content, where)
        fields.take("format")
        fields.take("checksum")
        fingerprint = fields.text("fingerprint", most=64)
        manifest = cls(
            check_name(fields.text("name", most=100), where),
            fields.text("about"),
            fields.text("made_by", most=100),
            fields.text("licence"),
            fields.texts("training_data"),
            fields.choice("precision", PRECISIONS),
            EncoderPart.read(fields.inner("encoder")),
            CaptionerPart.read(fields.inner("captioner")) if "captioner" in fields else None,
            TaggerPart.read(fields.inner("tagger")) if "tagger" in fields else None,
            RetrieverPart.read(fields.inner("retriever")) if "retriever" in fields else None,
            {name: Stored.read(stored) for name, stored in fields.named("files", most=MOST_FILES).items()},
        )
        fields.finish()
        manifest.check(where)
        if fingerprint != manifest.fingerprint:
            fields.refuse("the fingerprint is not that of what the bundle holds")
        return manifest

    def check(self, where: str) -> None:
        """Refuse parts that do not fit together."""
        fields = Fields({}, where)
        if not self.heads:
            fields.refuse("it neither captions, nor tags, nor matches")
        known = {layout.name for layout in self.encoder.layouts}
        for head in self.heads:
            if head.layout not in known:
                fields.refuse(f"its {head.KIND} reads a layout that its encoder does not give")
        if self.captioner is not None and self.captioner.rerank_weight is not None and self.retriever is None:
            fields.refuse("its captions are to be matched with images, and it cannot match")
        if sum(stored.size for stored in self.files.values()) > LARGEST_BUNDLE:
            fields.refuse("it is too large")
        named = self.named
        if len(named) != len(set(named)):
            fields.refuse("one of its files is used for two things")
        if set(named) != set(self.files):
            odd = min(set(named) ^ set(self.files))
            fields.refuse(f"{odd[:60]!a} is used but not listed, or listed but not used")


def _without_nothing(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None and value != ""}
