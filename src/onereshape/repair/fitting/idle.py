"""Nodes that do nothing at some sizes: a Pad by 0, a Resize to the own size, a Slice of all.

An exporter leaves them out where they do nothing, so one export has a node that another has not.  An export without
the node is taken to have it with numbers that do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.registry import operator_of
from onereshape.ground.numpy_types import Array

_THE_END = 2**31 - 1
"""Ends from here on are no sizes: they say that all is taken that is left."""

ConstantOf = Callable[[int], Array | None]
"""The number of an input of a node -> the constant that it is; None where it is none."""
Idling = Mapping[int | str, Any]
"""The inputs, and the attributes, with which a node does nothing."""


def _pad(node: ir.Node, given: ConstantOf, dims: Sequence[int]) -> Idling | None:
    if "pads" in node.attributes:
        return {"pads": [0] * (2 * len(dims))}
    pads = given(1)
    return None if pads is None else {1: np.zeros_like(pads)}


def _slice(node: ir.Node, given: ConstantOf, dims: Sequence[int]) -> Idling | None:
    if "starts" in node.attributes:
        count = len(node.attributes.get_ints("starts") or ())
        axes = node.attributes.get_ints("axes", range(count))
        return {"starts": [0] * count, "ends": [dims[axis] for axis in axes or ()]}
    starts = given(1)
    if starts is None:
        return None
    along = given(3) if len(node.inputs) > 3 and node.inputs[3] is not None else np.arange(len(starts))
    if along is None or any(not -len(dims) <= axis < len(dims) for axis in along.tolist()):
        return None
    sizes, ends = np.array([dims[axis] for axis in along.tolist()], starts.dtype), given(2)
    found: dict[int | str, Any] = {  # counted from the end, and to the end, where that is how the other one does it
        1: np.where(starts < 0, -sizes, 0),
        2: sizes if ends is None or ends.shape != sizes.shape else np.where(ends >= _THE_END, ends, sizes),
    }
    if len(node.inputs) > 4 and node.inputs[4] is not None:
        found[4] = np.ones_like(starts)
    return found


def _resize(node: ir.Node, given: ConstantOf, dims: Sequence[int]) -> Idling | None:
    if node.attributes.get_string("coordinate_transformation_mode") == "tf_crop_and_resize":
        return None
    axes = node.attributes.get_ints("axes") or range(len(dims))
    if "scales" in node.attributes:
        return {"scales": [1.0] * len(dims)}
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        return {3: np.array([dims[axis] for axis in axes], np.int64)}
    place = 1 if len(node.inputs) < 3 else 2
    scales = given(place)
    return None if scales is None else {place: np.ones_like(scales)}


def _expand(node: ir.Node, given: ConstantOf, dims: Sequence[int]) -> Idling | None:
    """An Expand, or a Reshape, to the dims that the data have."""
    target = given(1) if len(node.inputs) > 1 else None
    return {1: np.array(dims, np.int64)} if target is not None and target.shape == (len(dims),) else None


def _tile(node: ir.Node, _: ConstantOf, dims: Sequence[int]) -> Idling | None:
    return {1: np.ones(len(dims), np.int64)} if len(node.inputs) == 2 else None


IDLE: Mapping[str, Callable[[ir.Node, ConstantOf, Sequence[int]], Idling | None]] = {
    "Pad": _pad,
    "Slice": _slice,
    "Resize": _resize,
    "Upsample": _resize,
    "Expand": _expand,
    "Reshape": _expand,
    "Tile": _tile,
}
"""Operator -> the numbers with which it leaves data of given dims as they are; None where none do."""


def idling(node: ir.Node, given: ConstantOf, data: ir.Value, dims: Sequence[int]) -> ir.Node | None:
    """A copy of a node that leaves `data` as they are; it is in no graph, and its constants are no initializers."""
    numbers = IDLE[operator_of(node)](node, given, dims)
    if numbers is None:
        return None
    inputs: list[ir.Value | None] = [data]
    for place, value in enumerate(node.inputs[1:], 1):
        array = None if value is None else numbers.get(place, given(place))
        if value is not None and array is None:
            return None
        inputs.append(None if array is None else _constant(array, f"{node.name or node.op_type}/{place}"))
    attributes = [
        _attribute(attribute, numbers[name]) if name in numbers else attribute
        for name, attribute in node.attributes.data.items()
    ]
    made = ir.Node(node.domain, node.op_type, inputs, attributes, overload=node.overload, num_outputs=1)
    made.name, made.outputs[0].name = f"{node.name or node.op_type}/idle", f"{node.outputs[0].name}/idle"
    made.outputs[0].type, made.outputs[0].shape = data.type, ir.Shape(dims)
    return made


def _attribute(attribute: ir.Attr, numbers: list[Any]) -> ir.Attr:
    make = ir.AttrFloat32s if attribute.type == ir.AttributeType.FLOATS else ir.AttrInt64s
    return make(attribute.name, numbers)


def _constant(array: Array, name: str) -> ir.Value:
    tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=name)
    return ir.Value(name=name, shape=ir.Shape(array.shape), type=ir.TensorType(tensor.dtype), const_value=tensor)


def handed_on(value: ir.Value | None) -> ir.Value | None:
    """A value without the nodes that hand it on as it is, whatever its size."""
    while value is not None and (maker := value.producer()) is not None:
        test = _HANDING_ON.get(maker.op_type)
        if test is None or not _hands_on(maker, value, test):
            break
        value = maker.inputs[0]
    return value


def _hands_on(node: ir.Node, value: ir.Value, test: Callable[[ir.Node, ir.Value], bool]) -> bool:
    data = node.inputs[0] if node.inputs else None
    return node.domain in ONNX and data is not None and value.index() == 0 and test(node, data)


def _cast(node: ir.Node, data: ir.Value) -> bool:
    return data.dtype is not None and node.attributes.get_int("to") == data.dtype


def _transpose(node: ir.Node, _: ir.Value) -> bool:
    order = node.attributes.get_ints("perm")
    return order is not None and list(order) == list(range(len(order)))


def _dropout(node: ir.Node, _: ir.Value) -> bool:
    training = node.inputs[2] if len(node.inputs) > 2 else None
    said = None if training is None else constant_tensor(training)
    return training is None or (said is not None and not np.asarray(said.numpy()).any())


_HANDING_ON: Mapping[str, Callable[[ir.Node, ir.Value], bool]] = {
    "Identity": lambda _, __: True,
    "Cast": _cast,
    "Concat": lambda node, _: len(node.inputs) == 1,
    "Dropout": _dropout,
    "Transpose": _transpose,
}
"""Operator -> whether a node of it is the identity at all sizes."""
