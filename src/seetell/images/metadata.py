"""The metadata of an image file: its size, when it was taken, and what people wrote into it.

Descriptions are taken from XMP (`dc:title`, `dc:description`, the IPTC's texts for the blind, `dc:subject`), from
IPTC-IIM (title, headline, caption, keywords) and from EXIF (ImageDescription, and Windows' title, comment and
keywords). Damaged metadata are left out: they do not make the image worse.
"""

import contextlib
import io
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from PIL import ExifTags, Image, ImageFile, IptcImagePlugin

from seetell.images.decode import register_heic

LONGEST = 4_000  # characters of a description
LARGEST_XMP = 2_000_000  # bytes

_FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "GIF", "BMP", "HEIF")
_PACKET = re.compile(rb"<x:xmpmeta\b.*?</x:xmpmeta>", re.DOTALL)
_DC, _IPTC = "{http://purl.org/dc/elements/1.1/}", "{http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/}"
_ITEM = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"
_XMP = (
    *(f"{_DC}title", f"{_DC}description", f"{_IPTC}AltTextAccessibility", f"{_IPTC}ExtDescrAccessibility"),
    f"{_DC}subject",
)
_IIM = ((2, 5), (2, 105), (2, 120), (2, 25))
_WINDOWS = (0x9C9B, 0x9C9C, 0x9C9E)  # XPTitle, XPComment, XPKeywords: UTF-16
# What cameras write where a person could have written something.
_NOT_WRITTEN = re.compile(r"(?i)olympus digital camera|samsung|sony dsc|minolta digital camera|default|untitled|dcim.*")


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of an image.

    Args:
        width, height: upright; 0 if unknown.
        taken: when, by the camera's clock, in seconds since 1970.
        description: titles, captions and keywords that people wrote.
    """

    width: int = 0
    height: int = 0
    taken: float | None = None
    description: str = ""


def read_metadata(data: bytes) -> Metadata:
    """Read the metadata in the bytes of an image file, without decoding the image."""
    texts = list(_xmp(data))
    if data[4:8] == b"ftyp":
        register_heic()
    width = height = 0
    taken = None
    # Pillow's plug-ins raise nearly everything on damaged data.
    with contextlib.suppress(Exception), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        width, height = image.size
        with contextlib.suppress(Exception):
            texts += _iim(image)
        exif = image.getexif()
        if exif.get(ExifTags.Base.Orientation, 1) in (5, 6, 7, 8):
            width, height = height, width
        texts += _exif(exif)
        taken = _time(exif)
    return Metadata(width, height, taken, _joined(texts))


def plain(text: str) -> str:
    """Text on one line, without characters that cannot be stored."""
    return " ".join(text.encode("utf-8", "ignore").decode("utf-8").replace("\0", " ").split())


def _joined(texts: list[str]) -> str:
    """Each text once: programs write the same into XMP, IPTC and EXIF."""
    kept: dict[str, str] = {}
    for text in texts:
        text = plain(text)
        if text and not _NOT_WRITTEN.fullmatch(text):
            kept.setdefault(text.casefold(), text)
    return " · ".join(kept.values())[:LONGEST]


def _xmp(data: bytes) -> Iterator[str]:
    # A packet is found by its tags wherever it stands, as the XMP specification provides for.
    found = _PACKET.search(data)
    # XMP has no use for a document type, except to exhaust the memory with entities.
    if found is None or len(found[0]) > LARGEST_XMP or b"<!DOCTYPE" in found[0] or b"<!ENTITY" in found[0]:
        return
    try:
        tree = ElementTree.fromstring(found[0])
    except (ElementTree.ParseError, ValueError, LookupError):
        return
    for name in _XMP:
        for element in tree.iter(name):
            items = [item.text for item in element.iter(_ITEM) if item.text] or [element.text or ""]
            yield ", ".join(items) if name.endswith("subject") else items[0]


def _iim(image: ImageFile.ImageFile) -> Iterator[str]:
    found = IptcImagePlugin.getiptcinfo(image) or {}
    for key in _IIM:
        value = found.get(key)
        values = value if isinstance(value, list) else [value] if value else []
        if values:
            yield ", ".join(_text(each) for each in values)


def _exif(exif: Image.Exif) -> Iterator[str]:
    value = exif.get(ExifTags.Base.ImageDescription)
    if isinstance(value, bytes | str):
        yield _text(value.encode("latin-1", "ignore") if isinstance(value, str) else value)
    for tag in _WINDOWS:
        value = exif.get(tag)
        if isinstance(value, bytes):
            yield value.decode("utf-16-le", "ignore")


def _text(value: bytes) -> str:
    """Decode UTF-8, or Latin-1 as old programs wrote it."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _time(exif: Image.Exif) -> float | None:
    inner = exif.get_ifd(ExifTags.IFD.Exif)
    for value in (inner.get(ExifTags.Base.DateTimeOriginal), exif.get(ExifTags.Base.DateTime)):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            # The camera's clock has no time zone; this computer's is assumed.
            return time.mktime(time.strptime(str(value)[:19], "%Y:%m:%d %H:%M:%S"))
    return None
