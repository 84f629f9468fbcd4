"""OpenVINO IR, versions 10 and 11: an `.xml` with the layers and, beside it, a `.bin` with their constants.

The model is the root element of the XML; of the `.bin` nothing but the targets of Reshapes is read.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import DefusedXMLParser  # type: ignore[import-untyped]

from onereshape.formats.atomic import replacing
from onereshape.formats.model import content_of, Model, ReshapeNode, cause, unreadable, unwritable
from onereshape.formats.openvino_reshapes import reshapes as find_reshapes

_VERSIONS = ("10", "11")
_LARGEST = 1 << 27
"""Bytes of an .xml; its elements take about twenty times as much."""
_DEEPEST = 256
"""Elements within elements; a body within a body takes four."""


@dataclass(frozen=True, slots=True)
class _Original:
    """The files as they were; size and time tell whether the .bin still is."""

    xml: bytes
    weights: Path
    stamp: tuple[int, int] | None
    """None: there is no .bin."""

    @property
    def size(self) -> int | None:
        return None if self.stamp is None else self.stamp[0]


def load(path: str) -> Model:
    """The model of an .xml, with each constant checked to lie in the .bin."""
    content = content_of(path, _LARGEST, "and an IR keeps its weights in the .bin")
    net = _parsed(content, path)
    if net.tag != "net" or net.get("version") not in _VERSIONS:
        what = f"version {net.get('version')} of <{net.tag}>"
        raise unreadable(
            path, f"is {what}, and only OpenVINO IRs (<net>) of version {' and '.join(_VERSIONS)} are known"
        )
    weights = Path(path).with_suffix(".bin")
    original = _Original(content, weights, _stamp(weights))
    return Model("openvino", path, find_reshapes(net, weights, original.size, path), net, original)


def save(model: Model, path: str) -> None:
    """Writes the .xml, and the .bin of the same name beside it unless that is the one that was read."""
    original: _Original = model.original
    weights = Path(path).with_suffix(".bin")
    if _stamp(original.weights) != original.stamp:
        raise unwritable(path, f"{original.weights.name!r} has changed since the model was read")
    unchanged = ET.tostring(model.ir) == ET.tostring(_parsed(original.xml, model.path))
    content = original.xml if unchanged else b'<?xml version="1.0"?>\n' + ET.tostring(model.ir, "utf-8") + b"\n"
    with ExitStack() as files:  # both are written before either is renamed
        files.enter_context(replacing(path)).write(content)
        if original.stamp is not None and not (weights.exists() and weights.samefile(original.weights)):
            copy = files.enter_context(replacing(str(weights)))
            shutil.copyfileobj(files.enter_context(original.weights.open("rb")), copy, 1 << 20)


def reshapes(model: Model) -> tuple[ReshapeNode, ...]:
    """The view of the model as it is now."""
    return find_reshapes(model.ir, model.original.weights, model.original.size, model.path)


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


def _parsed(content: bytes, path: str) -> ET.Element:
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


def _stamp(weights: Path) -> tuple[int, int] | None:
    if not weights.is_file():
        return None
    found = weights.stat()
    return found.st_size, found.st_mtime_ns
