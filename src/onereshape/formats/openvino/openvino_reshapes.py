"""The Reshapes of an OpenVINO IR: of its net, and of the branches and bodies in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from onereshape.formats.model_data import LONGEST_TARGET, ReshapeNode
from onereshape.formats.openvino.openvino_net import NetBody, Weights, bodies, data_of, read_dims, read_shape, read_type
from onereshape.formats.refusals import unreadable
from onereshape.ground import dtypes
from onereshape.rule.dims import Dim
from onereshape.rule.specs import spec as find_spec


def reshapes(
    net: ET.Element, weights: Path, size: int | None, path: str, added: tuple[int, bytes] = (0, b"")
) -> tuple[ReshapeNode, ...]:
    """One entry per Reshape, in the order of the file; `size` is that of the .bin, None where there is none.

    `added` are constants that are not written yet, with the byte of the .bin from which on they will be.
    """
    reader = _Reader(Weights(weights, size, path, *added))
    found = []
    for body in bodies(net, "net", path):
        for layer, place in body.places():
            kind = layer.get("type", "")
            if kind == "Const":
                reader.weights.place(layer)
            elif kind == "Reshape" and re.fullmatch(r"opset[0-9]+", layer.get("version", "opset1")):
                found.append(reader.entry(layer, body, place))
    return tuple(found)


class _Reader:
    """Makes the entries of the view."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.path = weights.path

    def entry(self, layer: ET.Element, body: NetBody, place: str) -> ReshapeNode:
        inputs = layer.findall("input/port")
        fed = [self._fed(layer, port, body) for port in inputs[:2]]
        data, element_type = self._port(inputs[0], *fed[0]) if inputs else (None, None)
        target, source, target_type = self._target(inputs[1], *fed[1]) if len(inputs) > 1 else (None, "missing", None)
        output = layer.find("output/port")
        declared = None if output is None else read_dims(output, self.path)
        return ReshapeNode(
            name=layer.get("name") or place,
            place=place,
            spec=find_spec("openvino"),
            data=data,
            target=target,
            attributes={name: _value(text) for name, text in data_of(layer).items()},
            element_type=element_type,
            output=() if declared is None and target == () and output is not None else declared,
            target_from=source,
            target_type=target_type,
            node=layer,
        )

    def _fed(self, layer: ET.Element, port: ET.Element, body: NetBody) -> tuple[ET.Element | None, ET.Element | None]:
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
        kind = read_type(port) or (None if output is None else read_type(output))
        said = {} if producer is None else data_of(producer)
        if producer is not None and producer.get("type") in {"Parameter", "Const"} and "shape" in said:
            return read_shape(said["shape"], self.path), kind or said.get("element_type")
        return read_dims(port, self.path), kind

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
            kind = data_of(producer).get("element_type")
            if dims is None or len(dims) != 1:
                return None, f"Const {name}, which has dims {None if dims is None else list(dims)}", kind
            return self._constant(producer, kind, length), f"Const {name}", kind
        return unknown, f"input {name}" if type_ == "Parameter" else f"computed by {type_} {name}", kind

    def _constant(self, layer: ET.Element, kind: str | None, count: Any) -> tuple[Dim, ...] | None:
        """The integers of a Const; those of less than a byte are not unpacked."""
        offset, size = self.weights.place(layer)
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
        data = self.weights.read(offset, count * dtype.itemsize)
        return tuple(np.frombuffer(data, dtype.newbyteorder("<")).tolist())


def _value(text: str) -> Any:
    """A truth value as OpenVINO reads it; any other text stays as it is, for the operator to refuse."""
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
