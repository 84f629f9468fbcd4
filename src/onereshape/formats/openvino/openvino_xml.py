"""The XML of an OpenVINO IR: read with limits, and written so that it reads back the same."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import DefusedXMLParser  # type: ignore[import-untyped]

from onereshape.formats.refusals import cause, unreadable, unwritable
from onereshape.ground.errors import FormatError

LARGEST = 1 << 27
"""Bytes of an .xml; its elements take about twenty times as much."""
_DEEPEST = 256
"""Elements within elements; a body within a body takes four."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 has no words for, not even as references."""


class _Builder(ET.TreeBuilder):
    """Keeps comments, and refuses a tree too deep to walk."""

    def __init__(self) -> None:
        super().__init__(insert_comments=True, insert_pis=True)
        self.depth = 0

    def start(self, tag: str, attrs: dict[str, str]) -> ET.Element:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"elements within elements, more than {_DEEPEST} deep")
        return super().start(tag, attrs)

    def end(self, tag: str) -> ET.Element:
        self.depth -= 1
        return super().end(tag)


def parsed(content: bytes, path: str) -> ET.Element:
    """The root element; no document type and no entity is read."""
    parser = DefusedXMLParser(target=_Builder(), forbid_dtd=True)
    try:
        parser.feed(content)
        root: ET.Element = parser.close()
    except DefusedXmlException:
        raise unreadable(
            path, "declares a document type or entities, which no IR needs and which are not read"
        ) from None
    except (ET.ParseError, ValueError, LookupError) as error:
        raise unreadable(path, f"is not sound XML: {cause(error)}") from None
    return root


def encoded(net: ET.Element, path: str) -> bytes:
    """The content of an .xml; refuses a model that would not read back as it is."""
    try:
        content: bytes = b'<?xml version="1.0"?>\n' + ET.tostring(net, "utf-8") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise unwritable(path, f"the model cannot be written: {cause(error)}") from None
    if wrong := next((text for text in _texts(net) if _NOT_XML.search(text)), None):
        shown = ascii(wrong if len(wrong) <= 80 else wrong[:77] + "...")
        raise unwritable(path, f"XML has no words for the character {_NOT_XML.findall(wrong)[0]!a} of {shown}")
    if len(content) > LARGEST:
        raise unwritable(path, f"its XML has {len(content)} bytes, and none of more than {LARGEST} is read")
    try:
        same = ET.tostring(parsed(content, path)) == ET.tostring(net)
    except FormatError as error:
        raise unwritable(path, f"it would not read back: it {error.fields['why']}") from None
    if not same:
        raise unwritable(path, "it would not read back as it is: XML has no words for some of its text")
    return content


def _texts(net: ET.Element) -> list[str]:
    found: list[str | None] = []
    for element in net.iter():
        found += [*element.attrib, *element.attrib.values(), element.text, element.tail]
    return [text for text in found if text]
