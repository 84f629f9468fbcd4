"""The layers of an OpenVINO IR and what feeds them: of its net, and of the branches and bodies in it.

A port without dims is of no dims or of unknown rank, the format does not tell which; only a Parameter and a Const say
more about themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from onereshape.formats.foreign import pointer
from onereshape.formats.reading import cycle, integer
from onereshape.formats.refusals import unreadable
from onereshape.ground import dtypes
from onereshape.rule.dims import Dim

PRECISIONS = {"f64": "FP64", "f32": "FP32", "f16": "FP16", "boolean": "BOOL", "u1": "BIN"}
"""What ports call types, where it is not the name in capitals."""
_TYPES = {precision: name for name, precision in PRECISIONS.items()}
_INTERVAL = re.compile(r"([0-9]{1,18})?\.\.([0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class NetBody:
    """The layers of a net, a branch or a loop's body, and what feeds their ports."""

    place: str
    layers: dict[str, ET.Element] = field(default_factory=dict)
    feeds: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(layer, port) that is fed -> (layer, port) that feeds it."""

    def places(self) -> Iterator[tuple[ET.Element, str]]:
        """Each layer with its place, by counting layers of its type: `net/Reshape#1` is the second Reshape."""
        counts: Counter[str] = Counter()
        for layer in self.layers.values():
            kind = layer.get("type", "")
            yield layer, f"{self.place}/{kind}#{counts[kind]}"
            counts[kind] += 1


def body_of(owner: ET.Element, place: str, path: str) -> NetBody:
    """The layers of an element, without those inside of them; refuses what is not wired soundly."""
    body = NetBody(place)
    for layer in owner.iterfind("layers/layer"):
        name = layer.get("id", "")
        if integer(name) is None or name in body.layers:
            raise unreadable(path, f"has a layer whose id is {name!r}, which is no number or given twice")
        body.layers[name] = layer
    for edge in owner.iterfind("edges/edge"):
        ends = [edge.get(key, "") for key in ("from-layer", "from-port", "to-layer", "to-port")]
        if ends[0] not in body.layers or ends[2] not in body.layers:
            raise unreadable(path, f"has an edge from layer {ends[0]!r} to layer {ends[2]!r}, which are not both there")
        body.feeds[ends[2], ends[3]] = (ends[0], ends[1])
    needs: dict[Any, list[str]] = {name: [] for name in body.layers}
    for (to, _), (start, _) in body.feeds.items():
        needs[to].append(start)
    if (found := cycle(needs)) is not None:
        raise unreadable(path, f"its layers are in a circle: {' -> '.join(found[:8])}")
    return body


def bodies(owner: ET.Element, place: str, path: str) -> Iterator[NetBody]:
    """The body of an element and those of the layers in it."""
    body = body_of(owner, place, path)
    yield body
    for layer, where in body.places():
        for child in layer:
            if child.find("layers") is not None:
                yield from bodies(child, f"{where}/{child.tag}", path)


@dataclass(frozen=True, slots=True)
class Weights:
    """The .bin of a model, of which only what is asked for is read."""

    file: Path
    size: int | None
    """None: there is no .bin."""
    path: str
    """The .xml, for messages."""
    start: int = 0
    """The byte from which on constants follow that are not written yet,"""
    added: bytes = b""
    """and the bytes of these constants."""
    folder: object = None
    """An object that keeps a temporary folder of the file alive; None where the file is the user's."""

    def adds(self, offset: int) -> bool:
        """Whether a place is behind what the file has."""
        return bool(self.added) and offset >= self.start

    def read(self, offset: int, size: int) -> bytes:
        """So many bytes from a place that was checked."""
        if self.adds(offset):
            return self.added[offset - self.start :][:size]
        with self.file.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def place(self, layer: ET.Element) -> tuple[int, int]:
        """Where the data of a Const are; refuses bytes that the .bin does not have."""
        data, name = data_of(layer), layer.get("name")
        offset, size = integer(data.get("offset")), integer(data.get("size"))
        if offset is None or size is None or offset < 0 or size < 0:
            why = f"Const {name} has offset {data.get('offset')!r} and size {data.get('size')!r}, which are no numbers"
            raise unreadable(self.path, why)
        if self.adds(offset) and offset + size <= self.start + len(self.added):
            return offset, size
        if self.size is None:
            raise unreadable(self.path, f"Const {name} is in {self.file.name!r}, which is not beside it")
        if offset + size > self.size:
            where = f"at bytes {offset} to {offset + size} of {self.file.name!r}"
            raise unreadable(self.path, f"Const {name} is {where}, which has {self.size}{pointer(self.file)}")
        return offset, size


def read_shape(text: str, path: str) -> tuple[Dim, ...] | None:
    """The attribute `shape` of a Parameter or a Const: `1,3,?,2..8`, `...` for unknown rank."""
    if text.strip() == "...":
        return None
    return tuple(_dim(part, path) for part in text.split(",")) if text.strip() else ()


def read_dims(port: ET.Element, path: str) -> tuple[Dim, ...] | None:
    """The dims of a port, None where there are none."""
    return tuple(_dim(dim.text or "", path) for dim in port.iterfind("dim")) or None


def _dim(text: str, path: str) -> Dim:
    text = text.strip()
    number = integer(text)
    if number is not None and number >= 0:
        return number
    if text in {"?", "-1"}:
        return None
    if found := _INTERVAL.fullmatch(text):
        low, high = (None if end is None else int(end) for end in found.groups())
        return (low or 0, high)
    raise unreadable(path, f"has a dim {text!r}, which is neither a size nor an interval")


def data_of(layer: ET.Element) -> dict[str, str]:
    """The attributes of a layer, as texts."""
    data = layer.find("data")
    return {} if data is None else data.attrib


def read_type(port: ET.Element) -> str | None:
    """The type of a port in the specification's name; `UNSPECIFIED` and the like are none."""
    precision = port.get("precision", "")
    name = _TYPES.get(precision.upper(), precision.lower())
    found = dtypes.named(name)
    return name if found is not None and found.openvino == name else None


def precision_of(kind: str) -> str:
    """What a port calls a type."""
    return PRECISIONS.get(kind, kind.upper())
