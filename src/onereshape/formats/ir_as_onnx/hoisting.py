"""hoist(): what a repair spreads inside of a drawing is spread before it, so that the layer stays what it was.

An LSTM of OpenVINO has the batch first, its drawing turns that for ONNX: a first state that was made for one sample is
spread behind the turn, where no port is.  Spread before it and turned then, it is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import LayerPort, Made, mark_of

DimsByValue = dict[ir.Value, Sequence[int | None]]


class _Spread(NamedTuple):
    """An Expand between two nodes of a drawing."""

    turn: ir.Node
    expand: ir.Node
    user: ir.Node
    place: int


def hoist(graph: ir.Graph, dims: DimsByValue) -> None:
    """Moves each Expand that stands behind a Cast or a Transpose of a drawing before it; `dims` learns what is new."""
    for node in [*graph]:
        for place in range(len(node.inputs)):
            found = _spread(node, place)
            if found is not None:
                _move(graph, found, dims)


def _spread(node: ir.Node, place: int) -> _Spread | None:
    mark, value = mark_of(node), node.inputs[place]
    expand = None if value is None else value.producer()
    if mark is None or expand is None or expand.op_type != "Expand" or mark_of(expand) is not None:
        return None
    wires = mark.drawing.parts[mark.part].wires
    wire = wires[place] if place < len(wires) else None
    turn = None if expand.inputs[0] is None else expand.inputs[0].producer()
    own = None if turn is None else mark_of(turn)
    if turn is None or own is None or not isinstance(wire, Made):
        return None
    same = own.drawing.layer == mark.drawing.layer and own.part == wire.part
    outer = all(isinstance(each, LayerPort) for each in own.drawing.parts[own.part].wires)
    alone = len(turn.outputs[0].uses()) == 1 and turn.inputs[0] is not None
    if not (same and outer and alone) or turn.op_type not in {"Cast", "Transpose"}:
        return None
    return _Spread(turn, expand, node, place)


def _move(graph: ir.Graph, found: _Spread, dims: DimsByValue) -> None:
    turn, old = found.turn, found.expand.outputs[0]
    shape = found.expand.inputs[1]
    order: Sequence[int] | None = turn.attributes["perm"].value if turn.op_type == "Transpose" else None
    places = None if order is None else [order.index(axis) for axis in range(len(order))]
    if shape is not None and places is not None:
        shape = _picked(graph, found, shape, places)
    made = ir.node("Expand", [turn.inputs[0], shape], name=f"{found.expand.name}/before")
    graph.insert_before(turn, made)
    value = made.outputs[0]
    value.name = f"{old.name}/before"
    if old in dims:
        dims[value] = dims[old] if places is None else [dims[old][place] for place in places]
        dims[turn.outputs[0]] = dims[old]
    turn.replace_input_with(0, value)
    found.user.replace_input_with(found.place, turn.outputs[0])
    if not old.uses() and not old.is_graph_output():
        graph.remove(found.expand, safe=True)


def _picked(graph: ir.Graph, found: _Spread, shape: ir.Value, places: Sequence[int]) -> ir.Value:
    """The dims of a target in another order."""
    name = f"{found.expand.name}/dims"
    if shape.const_value is not None:
        return _held(graph, name, shape.const_value.numpy()[list(places)])
    picks = _held(graph, f"{name}/order", np.array(places, np.int64))
    made = ir.node("Gather", [shape, picks], {"axis": 0}, name=name)
    graph.insert_before(found.turn, made)
    made.outputs[0].name = name
    return made.outputs[0]


def _held(graph: ir.Graph, name: str, array: np.ndarray[Any, Any]) -> ir.Value:
    tensor = ir.tensor(array, name=name)
    value = ir.Value(name=name, const_value=tensor, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype))
    graph.register_initializer(value)
    return value
