"""image(): an IR as the ONNX graph that says the same.

Each layer is drawn by its record with one or several nodes, each constant is an initializer that stays in the .bin, and
the tensor names of ports are the names of values.  A layer without a record is a node of the domain `openvino`, of
which nobody knows anything but what the file declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from graphlib import TopologicalSorter
from math import prod
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import DOMAIN, KEY, Mark, Net
from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError, data_type, declare_port, declare_self
from onereshape.formats.ir_as_onnx.layers import REASONS, RECORDS
from onereshape.formats.model_data import ModelData
from onereshape.formats.openvino.openvino_ir import original_of, root_of
from onereshape.formats.openvino.openvino_net import NetBody, Weights, body_of, data_of
from onereshape.formats.refusals import unreadable
from onereshape.ground.errors import FixError

OPSET = 22
"""Of the image, and the oldest IR version that has it."""
_IR_VERSION = 10
_SMALL = 1 << 12
"""Bytes of a constant that is read at once: targets, axes, scales."""
_HALF_BYTE = 4
_WIDTHS = frozenset({_HALF_BYTE, 8, 16, 32, 64})
"""Bits of the elements that are read."""
_STATES = frozenset({"ReadValue", "Assign"})


def image(model: ModelData) -> ir.Model:
    """The graph; the model is not changed."""
    original, net = original_of(model), root_of(model)
    weights = Weights(original.weights, original.size, model.path, original.start, original.added, original.folder)
    sheet = _Sheet(body_of(net, "net", model.path), weights)
    return sheet.drawn(net)


class _Sheet:
    """The graph as it is drawn."""

    def __init__(self, body: NetBody, weights: Weights) -> None:
        self.path = weights.path
        self._body = body
        self._weights = weights
        self._values: dict[tuple[str, str], ir.Value] = {}
        """By the layer and the port that makes it."""
        self._nodes: list[ir.Node] = []
        self._held: list[ir.Value] = []
        self._inputs: dict[str, ir.Value] = {}
        self._constants: dict[str, ir.TensorProtocol] = {}
        self._taken: set[str] = set(self._port_names())
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def drawn(self, root: ET.Element) -> ir.Model:
        results = []
        for number in self._in_order():
            element = self._body.layers[number]
            kind = element.get("type", "")
            if not kind:
                raise unreadable(self.path, f"layer {element.get('name')} has no type")
            if kind in _STATES:
                why = f"{self.path}: {kind} {element.get('name')} keeps a state between runs"
                raise FixError("unsupported-model", why=why)
            if kind == "Parameter":
                self._parameter(number, element)
            elif kind == "Const":
                self._constant(number, element)
            elif kind == "Result":
                results.append(number)
            else:
                self._layer(number, element)
        results.sort(key=[*self._body.layers].index)
        outputs = self._outputs(results)
        order = [*self._body.layers]
        parameters = dict(sorted(self._inputs.items(), key=lambda each: order.index(each[0])))
        graph = ir.Graph(
            [*parameters.values()],
            outputs,
            nodes=self._nodes,
            initializers=self._held,
            opset_imports={"": OPSET, DOMAIN: 1},
            name=root.get("name") or "net",
        )
        names = {value.name or "": number for number, value in parameters.items()}
        graph.meta[KEY] = Net(root, self._body, self._weights, names, tuple(results), self._constants, self._names)
        return ir.Model(graph, ir_version=_IR_VERSION)

    # What layers draw on

    def unused(self, name: str) -> str:
        """A name that no value has."""
        count = self._counts.get(name, 0)
        while (found := f"{name}_{count}" if count else name) in self._taken:
            count += 1
        self._counts[name] = count
        self._taken.add(found)
        return found

    def hold(self, name: str, array: np.ndarray[Any, Any]) -> ir.Value:
        """A constant that no layer of the net is."""
        called = self.unused(name)
        value = ir.Value(name=called, shape=ir.Shape(array.shape), const_value=ir.tensor(array, name=called))
        value.type = ir.TensorType(value.const_value.dtype)  # type: ignore[union-attr]
        self._held.append(value)
        return value

    # The parts of a net

    def _in_order(self) -> Iterable[str]:
        """The ids of all layers: a layer stands behind the layers that feed it."""
        needs: dict[str, list[str]] = {number: [] for number in self._body.layers}
        for (to, _), (start, _) in self._body.feeds.items():
            needs[to].append(start)
        return TopologicalSorter(needs).static_order()

    def _parameter(self, number: str, element: ET.Element) -> None:
        port = element.find("output/port")
        if port is None:
            raise unreadable(self.path, f"Parameter {element.get('name')} has no output")
        value = ir.Value(name=self._called(element, port))
        declare_self(value, element, self.path)
        value.meta[KEY] = number
        self._inputs[number] = value
        self._values[number, port.get("id", "")] = value

    def _constant(self, number: str, element: ET.Element) -> None:
        """An initializer whose elements stay where they are; one of a type that ONNX lacks is a node."""
        port = element.find("output/port")
        said = data_of(element)
        offset, size = self._weights.place(element)
        kind = data_type(said.get("element_type"))
        if port is None or "element_type" not in said:
            what = "output" if port is None else "element_type"
            raise unreadable(self.path, f"Const {element.get('name')} has no {what}")
        value = ir.Value(name=self._called(element, port))
        declare_self(value, element, self.path)
        dims = [] if value.shape is None else [dim for dim in value.shape if isinstance(dim, int)]
        if kind is None or not _is_read(kind) or value.shape is None or len(dims) != len(value.shape):
            self._layer(number, element)
            return
        needed = -(-prod(dims) * kind.bitwidth // 8)
        if needed > size:
            elements = f"{prod(dims)} of {said['element_type']}"
            raise unreadable(self.path, f"Const {element.get('name')} has {size} bytes, but {elements} need {needed}")
        read = partial(_read, self._weights, offset, needed, kind, dims)
        tensor = read() if needed <= _SMALL else ir.LazyTensor(read, kind, ir.Shape(dims), name=value.name)
        value.const_value = tensor
        value.meta[KEY] = number
        self._constants[number] = tensor
        self._held.append(value)
        self._values[number, port.get("id", "")] = value

    def _layer(self, number: str, element: ET.Element) -> None:
        ports = element.findall("input/port")
        fed = [self._body.feeds.get((number, port.get("id", ""))) for port in ports]
        inputs = [None if start is None else self._value(start, element) for start in fed]
        layer = Layer(element, inputs, self)
        if not layer.ports:
            raise unreadable(self.path, f"{layer.kind} {layer.name} has no output")
        record = RECORDS.get(layer.kind)
        outputs: list[ir.Value] = []
        why = REASONS.get(layer.kind, "") if record is None else ""
        if record is not None and layer.opset:
            try:
                outputs = record(layer)
            except UndrawnError as error:
                why = str(error)
        if not outputs:
            layer.nodes.clear()
            outputs = layer.draw_all(layer.kind, inputs, {"why": why} if why else {}, len(layer.ports), DOMAIN)
        drawing = layer.drawing(outputs)
        for part, node in enumerate(layer.nodes):
            node.meta[KEY] = Mark(drawing, part)
            node.name = layer.name if part == drawing.outputs[0].part else self.unused(f"{layer.name}/{part}")
        self._nodes += layer.nodes
        for port, value in zip(layer.ports, outputs, strict=False):
            value.name = self._called(element, port)
            declare_port(value, port, self.path)
            self._values[number, port.get("id", "")] = value

    def _outputs(self, results: list[str]) -> list[ir.Value]:
        """What the Results are fed; one value twice, or an input, is handed on by a node."""
        found: list[ir.Value] = []
        for number in results:
            element = self._body.layers[number]
            port = element.find("input/port")
            start = None if port is None else self._body.feeds.get((number, port.get("id", "")))
            if start is None:
                raise unreadable(self.path, f"Result {element.get('name')} is fed by nothing")
            value = self._value(start, element)
            if value in found or value.producer() is None:
                node = ir.node("Identity", [value], name=self.unused(f"{element.get('name')}/handed"))
                self._nodes.append(node)
                handed = node.outputs[0]
                handed.name, handed.type, handed.shape = self.unused(element.get("name", "")), value.type, value.shape
                value = handed
            found.append(value)
        return found

    def _value(self, start: tuple[str, str], user: ET.Element) -> ir.Value:
        found = self._values.get(start)
        if found is None:
            raise unreadable(self.path, f"layer {user.get('name')} is fed by port {start[1]} of layer {start[0]}")
        return found

    # Names

    def _called(self, element: ET.Element, port: ET.Element) -> str:
        """The first tensor name of a port that nobody has yet; else one after its layer."""
        names = sorted(_names_of(port), key=lambda name: name != element.get("name"))  # that of its layer first
        for name in names:
            if self._names.get(name) is None:
                self._names[name] = port.get("names", "")
                return name
        outputs = element.findall("output/port")
        own = element.get("name", "") or f"layer {element.get('id')}"
        return self.unused(own if len(outputs) < 2 else f"{own}.{outputs.index(port)}")

    def _port_names(self) -> Iterator[str]:
        for layer in self._body.layers.values():
            for port in layer.iterfind("output/port"):
                yield from _names_of(port)


def _is_read(kind: ir.DataType) -> bool:
    return kind != ir.DataType.STRING and kind.bitwidth in _WIDTHS


def _read(weights: Weights, offset: int, size: int, kind: ir.DataType, dims: list[int]) -> ir.TensorProtocol:
    """The elements of a constant; large ones stay in the file until they are needed."""
    if size <= _SMALL or weights.adds(offset):
        content = np.frombuffer(weights.read(offset, size), np.uint8)
    else:
        content = np.memmap(weights.file, np.uint8, "r", offset, (size,))
    if kind.bitwidth == _HALF_BYTE:  # the first of two is the lower one
        pairs = np.stack([content & 15, content >> _HALF_BYTE], -1).ravel()[: prod(dims)]
        return ir.Tensor(pairs.view(kind.numpy()).reshape(dims), kind)
    return ir.Tensor(content.view(kind.numpy().newbyteorder("<")).reshape(dims), kind)


def _names_of(port: ET.Element) -> list[str]:
    """The tensor names of a port; a comma in one is written with a backslash."""
    parts = re.split(r"(?<!\\),", port.get("names", ""))
    return [part.replace("\\,", ",") for part in parts if part]
