"""OpenVINO IR, versions 10 and 11: an `.xml` with the layers and, beside it, a `.bin` with their constants.

The model is the root element of the XML; of the `.bin` nothing but the targets of Reshapes is read.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as ET

from onereshape.formats.model_data import ModelData, ReshapeNode
from onereshape.formats.openvino.openvino_pair import Longer, write_pair
from onereshape.formats.openvino.openvino_reshapes import reshapes as find_reshapes
from onereshape.formats.openvino.openvino_xml import LARGEST, encoded, parsed
from onereshape.formats.reading import content_of
from onereshape.formats.refusals import unreadable, unwritable
from onereshape.ground.atomic import replacing
from onereshape.ground.errors import FormatError

_VERSIONS = ("10", "11")
_TRIES = 10
_NOWHERE = Path()
"""The .bin of an IR that is in no file."""


@dataclass(frozen=True, slots=True)
class Original:
    """The files as they were; size and time tell whether the .bin still is."""

    xml: bytes
    weights: Path
    stamp: tuple[int, int] | None
    """None: there is no .bin."""
    added: bytes = b""
    """Constants that come behind those of the .bin,"""
    start: int = 0
    """from this byte on."""
    folder: object = None
    """An object that keeps a temporary folder of the files alive; None where the files are the user's."""

    @property
    def size(self) -> int | None:
        return None if self.stamp is None else self.stamp[0]


def load(path: str) -> ModelData:
    """The model of an .xml, with each constant checked to lie in the .bin; of a pair being replaced, old or new."""
    for _ in range(_TRIES):
        content = _content(path)
        try:
            model = _model(content, path)
        except FormatError:
            if _content(path) == content:
                raise
            continue
        if _content(path) == content:  # so the .bin was its own, too: see openvino_pair
            return model
    raise unreadable(path, "changes again and again while it is read")


def save(model: ModelData, path: str) -> None:
    """Writes an IR: its .xml, and the .bin of the same name unless the model was read with it and adds no constants."""
    original = original_of(model)
    weights = Path(path).with_suffix(".bin")
    if _stamp(original.weights) != original.stamp:
        raise unwritable(path, f"{original.weights.name!r} has changed since the model was read")
    unchanged = ET.tostring(root_of(model)) == ET.tostring(parsed(original.xml, model.path))
    content = original.xml if unchanged else encoded(root_of(model), path)
    if original.added:
        _save_longer(path, content, original)
        return
    if original.stamp is None or (weights.exists() and weights.samefile(original.weights)):
        with replacing(path) as file:
            file.write(content)
        return
    with original.weights.open("rb") as file:
        write_pair(path, content, file)


def _save_longer(path: str, content: bytes, original: Original) -> None:
    """The .xml, with a .bin that holds the old constants where they were, and new ones behind them."""
    if original.stamp is None:
        write_pair(path, content, io.BytesIO(b"\0" * original.start + original.added))
        return
    with original.weights.open("rb") as file:
        write_pair(path, content, Longer(file, original.start, original.added))


def rewritten(model: ModelData, net: ET.Element, added: bytes, start: int) -> ModelData:
    """A model that was read, with another net, which has more constants from a byte of the .bin on."""
    ET.indent(net, "\t")
    original = original_of(model)
    longer = replace(original, added=added, start=start)
    changed = ModelData("openvino", model.path, (), net, longer)
    return replace(changed, reshapes=reshapes(changed))


def reshapes(model: ModelData) -> tuple[ReshapeNode, ...]:
    """The view of the model as it is now."""
    original = original_of(model)
    return find_reshapes(root_of(model), original.weights, original.size, model.path, (original.start, original.added))


def data_files(model: ModelData) -> list[str]:
    """The .bin."""
    original = original_of(model)
    return [] if original.weights == _NOWHERE else [str(original.weights)]


def root_of(model: ModelData) -> ET.Element:
    """The root element of an IR."""
    return cast("ET.Element", model.content)


def original_of(model: ModelData) -> Original:
    """The files of an IR as they were."""
    return cast("Original", model.original)


def _content(path: str) -> bytes:
    return content_of(path, LARGEST, "and an IR keeps its weights in the .bin")


def read(content: bytes, name: str) -> ModelData:
    """The model of an .xml that is in no file; refuses one with constants, which are in its .bin."""
    if len(content) > LARGEST:
        raise unreadable(name, f"has more than {LARGEST} bytes, and an IR keeps its weights in the .bin")
    net = _net(content, name)
    if any(layer.get("type") == "Const" for layer in net.iter("layer")):
        why = "is an OpenVINO IR with constants, which are in its .bin: give the path of its .xml or an openvino.Model"
        raise unreadable(name, why)
    return ModelData("openvino", name, find_reshapes(net, _NOWHERE, None, name), net, Original(content, _NOWHERE, None))


def _net(content: bytes, path: str) -> ET.Element:
    net = parsed(content, path)
    if net.tag != "net" or net.get("version") not in _VERSIONS:
        what = f"version {net.get('version')} of <{net.tag}>"
        raise unreadable(
            path, f"is {what}, and only OpenVINO IRs (<net>) of version {' and '.join(_VERSIONS)} are known"
        )
    return net


def _model(content: bytes, path: str) -> ModelData:
    net = _net(content, path)
    weights = Path(path).with_suffix(".bin")
    original = Original(content, weights, _stamp(weights))
    return ModelData("openvino", path, find_reshapes(net, weights, original.size, path), net, original)


def _stamp(weights: Path) -> tuple[int, int] | None:
    if not weights.is_file():
        return None
    found = weights.stat()
    return found.st_size, found.st_mtime_ns
