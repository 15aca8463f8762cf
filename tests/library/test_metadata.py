"""The metadata of image files."""

import io
import struct
import time

import pytest
from PIL import ExifTags, Image

from seetell.images.metadata import plain, read_metadata

XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Ein Hund &amp; sein Ball</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>Hund</rdf:li><rdf:li>Ball</rdf:li></rdf:Bag></dc:subject>
<Iptc4xmpCore:AltTextAccessibility><rdf:Alt><rdf:li xml:lang="x-default">A dog</rdf:li></rdf:Alt>
</Iptc4xmpCore:AltTextAccessibility></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""


def saved(kind: str = "JPEG", **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20)).save(buffer, kind, **options)
    return buffer.getvalue()


def iptc(*records: tuple[int, bytes]) -> bytes:
    """A JPEG with an IPTC-IIM block, as Photoshop writes it: by the specifications, byte for byte."""
    block = b"".join(b"\x1c\x02" + bytes([kind]) + struct.pack(">H", len(text)) + text for kind, text in records)
    block += b"\0" * (len(block) % 2)
    resource = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(block)) + block
    content = b"Photoshop 3.0\0" + resource
    data = saved()
    return data[:2] + b"\xff\xed" + struct.pack(">H", len(content) + 2) + content + data[2:]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_xmp_in_every_format(kind: str) -> None:
    if kind in ("JPEG", "WEBP"):
        data = saved(kind, xmp=XMP.encode())
    elif kind == "TIFF":
        data = saved(kind, tiffinfo={700: XMP.encode()})
    else:
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_itxt("XML:com.adobe.xmp", XMP)
        data = saved(kind, pnginfo=info)
    found = read_metadata(data)
    assert found.description == "Ein Hund & sein Ball · A dog · Hund, Ball"
    assert (found.width, found.height) == (30, 20)


def test_iptc() -> None:
    data = iptc((120, "Ein Hündchen".encode()), (25, b"dog"), (25, b"ball"), (105, b"Sch\xf6n"))
    assert read_metadata(data).description == "Schön · Ein Hündchen · dog, ball"
    assert read_metadata(iptc((120, b"once"), (105, b"Once"))).description == "Once"


def test_exif() -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = "A dog"
    exif[ExifTags.Base.Orientation] = 6
    exif[0x9C9C] = "ein Kommentar\0".encode("utf-16-le")
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = "2021:06:05 04:03:02"
    found = read_metadata(saved(exif=exif))
    assert found.description == "A dog · ein Kommentar"
    assert (found.width, found.height) == (20, 30)
    assert found.taken is not None
    assert time.localtime(found.taken)[:6] == (2021, 6, 5, 4, 3, 2)


@pytest.mark.parametrize("text", ["OLYMPUS DIGITAL CAMERA", "SONY DSC", "  "])
def test_what_cameras_write_is_no_description(text: str) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.ImageDescription] = text
    assert read_metadata(saved(exif=exif)).description == ""


def test_damaged_or_hostile_metadata_are_left_out() -> None:
    bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>"
    for xmp in (XMP[: len(XMP) // 2], XMP.replace("<dc:subject>", "<dc:"), XMP.replace("<rdf:RDF", bomb + "<rdf:RDF")):
        assert read_metadata(saved(xmp=xmp.encode())).description == ""
    assert read_metadata(b"").description == ""
    assert read_metadata(saved()[:50]).width == 0
    assert read_metadata(saved(exif=b"Exif\0\0rubbish")).description == ""


def test_plain() -> None:
    assert plain(" a\n b\0\tc \udce9 ") == "a b c"
