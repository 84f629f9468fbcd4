"""Reshapes alone as an OpenVINO IR of version 11: the .xml and the .bin."""

from __future__ import annotations

import io
import re
from collections.abc import Hashable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from onereshape.formats.model_data import ModelData
from onereshape.formats.openvino.openvino_ir import root_of
from onereshape.formats.openvino.openvino_net import precision_of
from onereshape.formats.openvino.openvino_pair import write_pair
from onereshape.formats.openvino.openvino_xml import encoded
from onereshape.formats.reshape_plan import Link, PlanTensor, ReshapePlan, ReshapeStep, Wiring, not_whole
from onereshape.ground.dtypes import named
from onereshape.rule.dims import Dim, MaybeDims

Port = tuple[str, str]
"""A layer and one of its ports."""


class _Net:
    """An IR as it is written: layers one after the other, then edges and weights."""

    def __init__(self, name: str) -> None:
        self.root = ET.Element("net", name=name, version="11")
        self.layers = ET.SubElement(self.root, "layers")
        self.edges: list[tuple[Port, Port]] = []
        self.weights = b""

    def layer(self, name: str, type_: str, **data: str) -> tuple[str, ET.Element]:
        number = str(len(self.layers))
        layer = ET.SubElement(self.layers, "layer", id=number, name=name, type=type_, version="opset1")
        if data:
            ET.SubElement(layer, "data", data)
        return number, layer

    def finished(self, path: str) -> bytes:
        edges = ET.SubElement(self.root, "edges")
        for (start, start_port), (end, end_port) in self.edges:
            ends = {"from-layer": start, "from-port": start_port, "to-layer": end, "to-port": end_port}
            ET.SubElement(edges, "edge", ends)
        ET.indent(self.root, "\t")
        return encoded(self.root, path)


def write(plan: ReshapePlan, path: str) -> None:
    """Writes the .xml of a plan and the .bin beside it; what they are made of is known before a file is opened."""
    xml, weights = _content(plan, path)
    write_pair(path, xml, io.BytesIO(weights))


def _content(plan: ReshapePlan, path: str) -> tuple[bytes, bytes]:
    """Parameter, Const, Reshape and Result, in this order, each with the tensor names of the plan."""
    net = _Net("reshape")
    made: dict[str, Port] = {}
    for tensor in plan.inputs:
        number, layer = net.layer(
            tensor.name, "Parameter", shape=_shape(tensor.dims), element_type=tensor.type.openvino or ""
        )
        _port(ET.SubElement(layer, "output"), "0", tensor, by_name=True)
        made[tensor.name] = number, "0"
    for step in plan.steps:
        _reshape(net, step, made)
    for tensor in plan.outputs:
        number, layer = net.layer(f"{tensor.name}/sink_port_0", "Result")
        _port(ET.SubElement(layer, "input"), "0", tensor)
        net.edges.append((made[tensor.name], (number, "0")))
    return net.finished(path), net.weights


def _reshape(net: _Net, step: ReshapeStep, made: dict[str, Port]) -> None:
    target = step.target
    if target is None:
        target = _constant(net, step, made)
    copies = str(step.after.zero_copies).lower()
    number, layer = net.layer(step.name, "Reshape", special_zero=copies)
    inputs = ET.SubElement(layer, "input")
    for index, tensor in enumerate((step.data, target)):
        _port(inputs, str(index), tensor)
        net.edges.append((made[tensor.name], (number, str(index))))
    _port(ET.SubElement(layer, "output"), "2", step.output, by_name=True)
    made[step.output.name] = number, "2"


def _constant(net: _Net, step: ReshapeStep, made: dict[str, Port]) -> PlanTensor:
    """The Const of a target; of an empty one OpenVINO writes a byte, and reads no other."""
    words = np.array(step.after.target, "<i8").tobytes() or b"\0"
    integers = named("i64")
    assert integers is not None  # noqa: S101 - a row of our own table
    name = f"{step.name}/target"
    while name in made:
        name += "_"
    tensor = PlanTensor(name, (len(step.after.target or ()),), integers)
    place: dict[str, Any] = {"offset": str(len(net.weights)), "size": str(len(words))}
    number, layer = net.layer(name, "Const", element_type="i64", shape=_shape(tensor.dims), **place)
    _port(ET.SubElement(layer, "output"), "0", tensor)
    net.weights += words
    made[name] = number, "0"
    return tensor


def _port(side: ET.Element, number: str, tensor: PlanTensor, *, by_name: bool = False) -> None:
    kind = tensor.type.openvino or ""
    port = ET.SubElement(side, "port", id=number, precision=precision_of(kind))
    if by_name:
        port.set("names", tensor.name.replace(",", "\\,"))
    for dim in tensor.dims or ():
        ET.SubElement(port, "dim").text = str(dim if isinstance(dim, int) else -1)


def _shape(dims: MaybeDims) -> str:
    return "..." if dims is None else ",".join(_dim(dim) for dim in dims)


def _dim(dim: Dim) -> str:
    """A size, an interval, or ? for every other dim: the format has no names."""
    if isinstance(dim, tuple):
        low, high = dim
        return "?" if (low, high) == (0, None) else f"{low}..{'' if high is None else high}"
    return str(dim) if isinstance(dim, int) else "?"


def wiring(model: ModelData) -> Wiring:
    """The values of a file of nothing but Reshapes and their constants."""
    by_layer = {node.node.get("id"): node for node in model.reshapes}
    layers = root_of(model).findall("layers/layer")
    names: dict[Hashable, str] = {}
    feeds = {
        (edge.get("to-layer"), edge.get("to-port")): (edge.get("from-layer"), edge.get("from-port"))
        for edge in root_of(model).iterfind("edges/edge")
    }
    inputs, outputs, links = [], [], []
    for layer in layers:
        number, kind = layer.get("id"), layer.get("type")
        if kind not in {"Parameter", "Const", "Result"} and number not in by_layer:
            raise not_whole(model, f"{kind} {layer.get('name')} is no Reshape")
        for port in layer.iterfind("output/port"):
            tensor = re.split(r"(?<!\\),", port.get("names", ""))[0].replace("\\,", ",")
            names[number, port.get("id")] = (tensor if kind != "Const" else "") or layer.get("name", "")
        fed = [feeds.get((number, port.get("id"))) for port in layer.iterfind("input/port")]
        made: list[Any] = [(number, port.get("id")) for port in layer.iterfind("output/port")]
        if kind == "Parameter":
            inputs += made[:1]
        elif kind == "Result":
            outputs += fed[:1]
        elif kind == "Reshape":
            if len(fed) < 2 or None in fed[:2] or not made:
                raise not_whole(model, f"{by_layer[number].name} lacks an input or an output")
            links.append(Link(by_layer[number], fed[0], fed[1], made[0]))
    return Wiring(tuple(inputs), tuple(outputs), tuple(links), names)
