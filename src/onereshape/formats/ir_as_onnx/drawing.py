"""Drawing: how a layer of an IR is drawn with ONNX nodes, and whether it is still what the layer says.

The drawing hangs on the nodes (`meta`), and goes with them when a model is copied.  A layer whose nodes are as they
were drawn is written as it was read, fed by whatever feeds its drawing now; one that was changed is spelled anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import onnx_ir as ir

from onereshape.formats.openvino.openvino_net import NetBody, Weights

KEY = "openvino"
"""Under which `meta` has a `Net` (of a graph), a `Mark` (of a node) or the id of a layer (of a value)."""
DOMAIN = "openvino"
"""Of nodes that stand for a layer that nobody knows how to draw."""


class LayerPort(NamedTuple):
    """An input of a node that is a port of its layer."""

    place: int


class Made(NamedTuple):
    """An input of a node that another node of the same layer makes."""

    part: int
    output: int


class HeldAttribute(NamedTuple):
    """An input of a node that is a constant of the drawing alone, as an attribute of the layer is."""

    name: str


Wire = LayerPort | Made | HeldAttribute | None


class Sized(NamedTuple):
    """A dim of an input for which a drawing is right, and for no other."""

    place: int
    axis: int
    size: int | None


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """One node of a drawing, as it was drawn."""

    op: str
    attributes: Mapping[str, Any]
    wires: tuple[Wire, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """The nodes that stand for a layer."""

    layer: str
    """The id of the layer."""
    parts: tuple[DrawnNode, ...]
    outputs: tuple[Made, ...]
    """The node and its output for each output port."""
    twins: Mapping[int, int]
    """Ports that are fed what an earlier one is, which has the wires of both."""
    sizes: tuple[Sized, ...] = ()
    """What it is right for: with other sizes the layer says something else."""


class Mark(NamedTuple):
    """The part that a node has in the drawing of a layer."""

    drawing: Drawing
    part: int


@dataclass(frozen=True, slots=True)
class Net:
    """The IR that a graph is the image of."""

    root: ET.Element
    body: NetBody
    weights: Weights
    parameters: Mapping[str, str]
    """The id of the Parameter of each input of the graph,"""
    results: tuple[str, ...]
    """and of the Result of each output."""
    constants: Mapping[str, ir.TensorProtocol]
    """The tensor of each Const, by the id of the layer."""
    names: Mapping[str, str]
    """The tensor names, as the file writes them, of the values that have some."""


def net_of(graph: ir.Graph) -> Net | None:
    """The IR that a graph is the image of, if it is one."""
    found: Net | None = graph.meta.get(KEY)
    return found


def mark_of(node: ir.Node) -> Mark | None:
    """The Mark of a node: its drawing and its part in it; None for a node that a repair added."""
    found: Mark | None = node.meta.get(KEY)
    return found


def is_within(node: ir.Node, net: Net | None, kind: str) -> bool:
    """Whether a node is in the drawing of a layer of another type than this."""
    mark = mark_of(node)
    return mark is not None and net is not None and net.body.layers[mark.drawing.layer].get("type") != kind


def fed(drawing: Drawing, nodes: Mapping[int, ir.Node]) -> dict[int, ir.Value] | None:
    """What feeds each port of a layer now; None where its drawing is not what it was.

    Nodes may be missing that no other node of the drawing needs, for an output that nobody reads.
    """
    if not _is_closed(drawing, nodes):
        return None
    ports: dict[int, ir.Value] = {}
    for index, node in nodes.items():
        part = drawing.parts[index]
        if node.op_type != part.op or len(node.inputs) != len(part.wires) or not _same(node, part.attributes):
            return None
        for value, wire in zip(node.inputs, part.wires, strict=True):
            if not _fits(value, wire, nodes, ports):
                return None
    return ports


def is_right(drawing: Drawing, ports: Mapping[int, ir.Value]) -> bool:
    """Whether a drawing is right for the values in its ports: some drawings are so for one size of a dim only."""
    return all(_size(ports[each.place].shape, each.axis) == (each.size,) for each in drawing.sizes)


def _size(shape: ir.Shape | None, axis: int) -> tuple[int | None] | None:
    """The size of a dim in a tuple, `(None,)` where it is unknown; None where there is no such axis."""
    if shape is None or axis >= len(shape):
        return None
    dim = shape[axis]
    return (dim if isinstance(dim, int) else None,)


def _is_closed(drawing: Drawing, nodes: Mapping[int, ir.Node]) -> bool:
    """Whether nobody outside reads what is between the nodes of a drawing."""
    for index, node in nodes.items():
        for place, value in enumerate(node.outputs):
            if Made(index, place) in drawing.outputs:
                continue
            if value.is_graph_output() or any(nodes.get(_part(use.node)) is not use.node for use in value.uses()):
                return False
    return True


def _part(node: ir.Node) -> int:
    """Which node of a drawing it is; of none it is -1."""
    mark = mark_of(node)
    return -1 if mark is None else mark.part


def _same(node: ir.Node, attributes: Mapping[str, Any]) -> bool:
    now = node.attributes
    return now.keys() == attributes.keys() and all(now[name].value == value for name, value in attributes.items())


def _fits(value: ir.Value | None, wire: Wire, nodes: Mapping[int, ir.Node], ports: dict[int, ir.Value]) -> bool:
    if wire is None or value is None:
        return wire is None and value is None
    if isinstance(wire, Made):
        return wire.part in nodes and value is nodes[wire.part].outputs[wire.output]
    if isinstance(wire, HeldAttribute):
        return value.name == wire.name and value.is_initializer()
    return ports.setdefault(wire.place, value) is value
