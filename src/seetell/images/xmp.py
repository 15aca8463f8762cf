"""Captions and tags as XMP: the sidecar file that image managers read."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/">
   <dc:description>
    <rdf:Alt><rdf:li xml:lang="x-default">{caption}</rdf:li></rdf:Alt>
   </dc:description>
   <Iptc4xmpCore:AltTextAccessibility>
    <rdf:Alt><rdf:li xml:lang="x-default">{caption}</rdf:li></rdf:Alt>
   </Iptc4xmpCore:AltTextAccessibility>{subject}
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""


def as_xmp(caption: str, tags: Sequence[str] = ()) -> str:
    """A caption as description and as alternative text, and tags as subjects.

    Args:
        caption: one sentence.
        tags: labels.
    """
    listed = "".join(f"<rdf:li>{escape(tag)}</rdf:li>" for tag in tags)
    subject = f"\n   <dc:subject><rdf:Bag>{listed}</rdf:Bag></dc:subject>" if tags else ""
    return _XMP.format(caption=escape(caption), subject=subject)
