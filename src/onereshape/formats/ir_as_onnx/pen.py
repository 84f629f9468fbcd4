"""Pen: writes the layers of an IR; and functions by which a spelling reads the attributes and inputs of its node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import KEY, Net
from onereshape.formats.openvino.openvino_net import precision_of
from onereshape.ground.dtypes import named

Port = tuple[str, str]
"""A layer and one of its output ports."""
PortDims = Sequence[int | None] | None

_ALIGNED = 64
"""Bytes between the places where constants begin."""


class UnspelledError(Exception):
    """OpenVINO has no layer for a node, or nobody knows it."""


class Pen:
    """The writer of an IR's layers: old layers are copied, new ones added, and the wires between them noted."""

    def __init__(self, net: Net, dims: Mapping[ir.Value, Sequence[int | None]]) -> None:
        self.layers: dict[str, ET.Element] = {}
        """By id, in the order in which they were written."""
        self.feeds: dict[Port, Port] = {}
        """The output port that feeds each input port."""
        self.added = bytearray(net.weights.added)
        """Constants that come behind those of the .bin,"""
        self.start = net.weights.start if net.weights.added else -(-(net.weights.size or 0) // _ALIGNED) * _ALIGNED
        """from this byte on."""
        self._net = net
        self._dims = dims
        self._places: dict[ir.Value, Port] = {}
        self._next = 1 + max((int(number) for number in net.body.layers), default=-1)
        self._taken = {layer.get("name", "") for layer in net.body.layers.values()}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Port] = {}
        self._node: ir.Node | None = None
        self._own: ET.Element | None = None

    def turn(self, node: ir.Node, own: ET.Element | None) -> None:
        """What is written next is for a node; `own` is the layer whose last node it is, for its id and its name."""
        self._node, self._own = node, own

    # What was there

    def copied(self, number: str) -> ET.Element:
        """Writes a layer of the net as the file has it, and gives the copy."""
        element = self.layers[number] = copy.deepcopy(self._net.body.layers[number])
        return element

    def put_out(self, element: ET.Element, values: Sequence[ir.Value | None]) -> None:
        """Notes what comes out of the ports of a layer; nothing of one that nobody reads."""
        for port, value in zip(element.iterfind("output/port"), values, strict=False):
            if value is None:
                continue
            self._places[value] = element.get("id", ""), port.get("id", "")
            self.say(port, value)
            self._name(port, value)

    def say(self, port: ET.Element, value: ir.Value) -> None:
        """Writes the dims of a value into a port, where they are known and the port says other dims."""
        dims = self.dims_of(value)
        if dims is None:
            return
        now = [str(-1 if dim is None else dim) for dim in dims]
        if now != [each.text for each in port.iterfind("dim")]:
            say_dims(port, now)

    def dims_of(self, value: ir.Value) -> PortDims:
        """What is known of the dims of a value."""
        return self._dims.get(value)

    # What is new

    def place(self, value: ir.Value) -> Port:
        """The port that a value comes out of; a constant that is asked for the first time is written."""
        if value in self._places:
            return self._places[value]
        number = value.meta.get(KEY)
        tensor = value.const_value
        if tensor is None:
            raise UnspelledError(f"value {value.name} comes from nowhere")
        if number is not None and self._net.constants.get(number) is tensor:
            self.put_out(self.copied(number), [value])
        else:
            self._places[value] = self.constant(tensor.numpy())
        return self._places[value]

    def constant(self, array: np.ndarray[Any, Any]) -> Port:
        """A new Const; of an empty one OpenVINO writes a byte, and reads no other."""
        kind = type_name(ir.DataType.from_numpy(array.dtype))
        content = np.ascontiguousarray(array).tobytes()
        key = kind, array.shape, content
        if key not in self._constants:
            self.added += b"\0" * (-(len(self.added)) % _ALIGNED)
            where = {"offset": str(self.start + len(self.added)), "size": str(len(content) or 1)}
            self.added += content or b"\0"
            said = {"element_type": kind, "shape": ", ".join(map(str, array.shape)), **where}
            number = self._number()
            element = self._element(number, self._unused(f"onereshape/constant_{number}"), "Const", 1, said)
            _port(ET.SubElement(element, "output"), "0", kind, array.shape)
            self._constants[key] = number, "0"
        return self._constants[key]

    def layer(  # noqa: PLR0913, PLR0917 - what a layer is
        self,
        kind: str,
        opset: int,
        inputs: Sequence[Port],
        data: Mapping[str, str],
        outputs: Sequence[ir.Value] = (),
        inner: tuple[str, PortDims] | None = None,
        more: Sequence[tuple[str, PortDims]] = (),
    ) -> Port:
        """Writes a layer that makes `outputs` of a node, or a step to them (`inner`, `more`); gives its first port."""
        own = self._own if outputs and self._own is not None and self._own.get("type") == kind else None
        number = self._number() if own is None else own.get("id", "")
        name = (self._node.name if self._node is not None else "") or kind
        called = own.get("name", "") if own is not None else self._unused(name if outputs else f"{name}/{kind}")
        element = self._element(number, called, kind, opset, data)
        if own is not None:
            element.extend(copy.deepcopy(note) for note in own.iterfind("rt_info"))
        ports = ET.SubElement(element, "input")
        for place, start in enumerate(inputs):
            self.feeds[number, str(place)] = start
            source = next(each for each in self.layers[start[0]].iterfind("output/port") if each.get("id") == start[1])
            port = ET.SubElement(ports, "port", {"id": str(place), "precision": source.get("precision", "")})
            port.extend(copy.deepcopy(dim) for dim in source.iterfind("dim"))
        side = ET.SubElement(element, "output")
        if inner is not None:
            for place, each in enumerate((inner, *more)):
                _port(side, str(len(inputs) + place), *each)
        for place, value in enumerate(outputs):
            port = _port(side, str(len(inputs) + place), type_name(kind_of(value)), self.dims_of(value))
            self._name(port, value)
            self._places[value] = number, str(len(inputs) + place)
        return number, str(len(inputs))

    def _element(self, number: str, name: str, kind: str, opset: int, data: Mapping[str, str]) -> ET.Element:
        words = {"id": number, "name": name, "type": kind, "version": f"opset{opset}"}
        element = self.layers[number] = ET.Element("layer", words)
        if data:
            ET.SubElement(element, "data", dict(data))
        return element

    def _number(self) -> str:
        self._next += 1
        return str(self._next - 1)

    def _unused(self, name: str) -> str:
        found, count = name, 0
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def _name(self, port: ET.Element, value: ir.Value) -> None:
        """The tensor names go with the value that has them."""
        names = self._net.names.get(value.name or "")
        if names:
            port.set("names", names)
        elif "names" in port.attrib:
            del port.attrib["names"]


def say_dims(port: ET.Element, dims: Sequence[str]) -> None:
    """Replaces the dims of a port by texts such as `["-1", "3"]`, and leaves its other children behind them."""
    rest = [each for each in port if each.tag != "dim"]
    port[:] = []
    for dim in dims:
        ET.SubElement(port, "dim").text = dim
    port.extend(rest)


def _port(side: ET.Element, number: str, kind: str, dims: PortDims) -> ET.Element:
    port = ET.SubElement(side, "port", {"id": number, "precision": precision_of(kind)})
    say_dims(port, [str(-1 if dim is None else dim) for dim in dims or ()])
    return port


Spelling = Callable[[Pen, ir.Node], None]


def type_name(kind: ir.DataType | None) -> str:
    """OpenVINO's name of a type."""
    found = None if kind is None else named(kind.name.lower())
    if found is None or found.openvino is None:
        raise UnspelledError(f"OpenVINO has no type {None if kind is None else kind.name.lower()}")
    return found.openvino


def attribute(node: ir.Node, name: str, default: Any = None) -> Any:
    """An attribute of a node."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def places(pen: Pen, node: ir.Node) -> list[Port]:
    """The ports that feed a node's inputs, none of which may be missing."""
    if any(value is None for value in node.inputs):
        raise UnspelledError(f"{node.op_type} lacks an input")
    return [pen.place(value) for value in node.inputs if value is not None]


def integers(pen: Pen, numbers: Any) -> Port:
    """A constant of whole numbers."""
    return pen.constant(np.asarray(numbers, np.int64))


def listed(numbers: Sequence[int]) -> str:
    """Whole numbers as an attribute has them."""
    return ", ".join(str(each) for each in numbers)


def rank_of(value: ir.Value | None) -> int:
    """How many dims a value has."""
    if value is None or value.shape is None:
        raise UnspelledError("a value of unknown rank")
    return len(value.shape)


def kind_of(value: ir.Value) -> ir.DataType | None:  # noqa: PLR0911 - one for each way to know it
    """The type of a value that a repair made: said, or that of what its node works on."""
    if value.dtype is not None:
        return value.dtype
    node = value.producer()
    if node is None:
        return None if value.const_value is None else value.const_value.dtype
    if node.op_type in {"Shape", "NonZero", "Size"}:
        return ir.DataType.INT64
    if node.op_type == "Cast":
        return ir.DataType(node.attributes["to"].as_int())
    if node.op_type in {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Not", "Xor"}:
        return ir.DataType.BOOL
    if node.op_type == "ConstantOfShape":
        tensor = node.attributes.get("value")
        return ir.DataType.FLOAT if tensor is None else tensor.as_tensor().dtype
    source = node.inputs[1 if node.op_type == "Where" else 0]
    return None if source is None else kind_of(source)
