"""The Reshapes of an OpenVINO IR: of its net, and of the branches and bodies in it.

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

import numpy as np

from onereshape import dtypes
from onereshape.dims import Dim
from onereshape.formats.model import LONGEST_TARGET, ReshapeNode, cycle, integer, unreadable
from onereshape.specs import spec as find_spec

_PRECISIONS = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bool": "boolean", "bin": "u1"}
"""What ports call types, where it is not the name in capitals."""
_INTERVAL = re.compile(r"([0-9]{1,18})?\.\.([0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class _Body:
    """The layers of a net, a branch or a loop's body, and what feeds their ports."""

    place: str
    layers: dict[str, ET.Element] = field(default_factory=dict)
    feeds: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(layer, port) that is fed -> (layer, port) that feeds it."""


def reshapes(net: ET.Element, weights: Path, size: int | None, path: str) -> tuple[ReshapeNode, ...]:
    """One entry per Reshape, in the order of the file; `size` is that of the .bin, None where there is none."""
    reader = _Reader(weights, size, path)
    found = []
    for body in _bodies(net, "net", path):
        counts: Counter[str] = Counter()
        for layer in body.layers.values():
            kind = layer.get("type", "")
            place = f"{body.place}/{kind}#{counts[kind]}"
            counts[kind] += 1
            if kind == "Const":
                reader.check(layer)
            elif kind == "Reshape" and re.fullmatch(r"opset[0-9]+", layer.get("version", "opset1")):
                found.append(reader.entry(layer, body, place))
    return tuple(found)


def _bodies(owner: ET.Element, place: str, path: str) -> Iterator[_Body]:
    """The body of an element and those of the layers in it."""
    body = _Body(place)
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
    yield body
    counts: Counter[str] = Counter()
    for layer in body.layers.values():
        kind = layer.get("type", "")
        for child in layer:
            if child.find("layers") is not None:
                yield from _bodies(child, f"{place}/{kind}#{counts[kind]}/{child.tag}", path)
        counts[kind] += 1


class _Reader:
    """Makes the entries of the view."""

    def __init__(self, weights: Path, size: int | None, path: str) -> None:
        self.weights = weights
        self.size = size
        self.path = path

    def entry(self, layer: ET.Element, body: _Body, place: str) -> ReshapeNode:
        inputs = layer.findall("input/port")
        fed = [self._fed(layer, port, body) for port in inputs[:2]]
        data, element_type = self._port(inputs[0], *fed[0]) if inputs else (None, None)
        target, source, target_type = self._target(inputs[1], *fed[1]) if len(inputs) > 1 else (None, "missing", None)
        output = layer.find("output/port")
        declared = None if output is None else self._dims(output)
        return ReshapeNode(
            name=layer.get("name") or place,
            place=place,
            spec=find_spec("openvino"),
            data=data,
            target=target,
            attributes={name: _value(text) for name, text in _data(layer).items()},
            element_type=element_type,
            output=() if declared is None and target == () and output is not None else declared,
            target_from=source,
            target_type=target_type,
            node=layer,
        )

    def check(self, layer: ET.Element) -> tuple[int, int]:
        """Where the data of a Const are; refuses bytes that the .bin does not have."""
        data, name = _data(layer), layer.get("name")
        offset, size = integer(data.get("offset")), integer(data.get("size"))
        if offset is None or size is None or offset < 0 or size < 0:
            why = f"Const {name} has offset {data.get('offset')!r} and size {data.get('size')!r}, which are no numbers"
            raise unreadable(self.path, why)
        if self.size is None:
            raise unreadable(self.path, f"Const {name} is in {self.weights.name!r}, which is not beside it")
        if offset + size > self.size:
            where = f"at bytes {offset} to {offset + size} of {self.weights.name!r}"
            raise unreadable(self.path, f"Const {name} is {where}, which has {self.size}")
        return offset, size

    def _fed(self, layer: ET.Element, port: ET.Element, body: _Body) -> tuple[ET.Element | None, ET.Element | None]:
        """The layer that feeds a port, and its port."""
        start = body.feeds.get((layer.get("id", ""), port.get("id", "")))
        if start is None:
            return None, None
        producer = body.layers[start[0]]
        return producer, next((each for each in producer.iterfind("output/port") if each.get("id") == start[1]), None)

    def _port(
        self, port: ET.Element, producer: ET.Element | None, output: ET.Element | None
    ) -> tuple[tuple[Dim, ...] | None, str | None]:
        """The dims and the type of what comes in; version 10 gives the type only where it goes out."""
        kind = _type(port) or (None if output is None else _type(output))
        said = {} if producer is None else _data(producer)
        if producer is not None and producer.get("type") in {"Parameter", "Const"} and "shape" in said:
            return self._shape(said["shape"]), kind or said.get("element_type")
        return self._dims(port), kind

    def _target(
        self, port: ET.Element, producer: ET.Element | None, output: ET.Element | None
    ) -> tuple[tuple[Dim, ...] | None, str, str | None]:
        dims, kind = self._port(port, producer, output)
        length = dims[0] if dims is not None and len(dims) == 1 else None
        unknown = (None,) * length if isinstance(length, int) and length <= LONGEST_TARGET else None
        if producer is None:
            return unknown, "missing", kind
        type_, name = producer.get("type", ""), producer.get("name", "")
        if type_ == "Const":
            kind = _data(producer).get("element_type")
            if dims is None or len(dims) != 1:
                return None, f"Const {name}, which has dims {None if dims is None else list(dims)}", kind
            return self._constant(producer, kind, length), f"Const {name}", kind
        return unknown, f"input {name}" if type_ == "Parameter" else f"computed by {type_} {name}", kind

    def _constant(self, layer: ET.Element, kind: str | None, count: Any) -> tuple[Dim, ...] | None:
        """The integers of a Const; those of less than a byte are not unpacked."""
        offset, size = self.check(layer)
        if not isinstance(count, int) or count > LONGEST_TARGET:
            why = f"Const {layer.get('name')} holds {count} integers for a target, more than {LONGEST_TARGET}"
            raise unreadable(self.path, why)
        element_type = dtypes.named(kind or "")
        dtype = None if element_type is None or element_type.openvino != kind else element_type.numpy
        if dtype is None or dtype.kind not in "iu":
            return (None,) * count
        if count * dtype.itemsize != size and count:  # OpenVINO writes a byte for an empty one
            why = f"Const {layer.get('name')} has {size} bytes, but {count} of {kind} need {count * dtype.itemsize}"
            raise unreadable(self.path, why)
        with self.weights.open("rb") as file:
            file.seek(offset)
            data = file.read(count * dtype.itemsize)
        return tuple(np.frombuffer(data, dtype.newbyteorder("<")).tolist())

    def _shape(self, text: str) -> tuple[Dim, ...] | None:
        """The attribute `shape` of a Parameter or a Const: `1,3,?,2..8`, `...` for unknown rank."""
        if text.strip() == "...":
            return None
        return tuple(self._dim(part) for part in text.split(",")) if text.strip() else ()

    def _dims(self, port: ET.Element) -> tuple[Dim, ...] | None:
        return tuple(self._dim(dim.text or "") for dim in port.iterfind("dim")) or None

    def _dim(self, text: str) -> Dim:
        text = text.strip()
        number = integer(text)
        if number is not None and number >= 0:
            return number
        if text in {"?", "-1"}:
            return None
        if found := _INTERVAL.fullmatch(text):
            low, high = (None if end is None else int(end) for end in found.groups())
            return (low or 0, high)
        raise unreadable(self.path, f"has a dim {text!r}, which is neither a size nor an interval")


def _data(layer: ET.Element) -> dict[str, str]:
    data = layer.find("data")
    return {} if data is None else data.attrib


def _value(text: str) -> Any:
    """A truth value as OpenVINO reads it; any other text stays as it is, for the operator to refuse."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)


def _type(port: ET.Element) -> str | None:
    """The type of a port in the specification's name; `UNSPECIFIED` and the like are none."""
    precision = port.get("precision", "").lower()
    name = _PRECISIONS.get(precision, precision)
    found = dtypes.named(name)
    return name if found is not None and found.openvino == name else None
