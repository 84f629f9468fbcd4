"""Likeness of nodes and constants across exports: what must be equal, what may differ, and differences in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_bulk import BulkTensor
from onereshape.graphs.registry import operator_of
from onereshape.ground.numpy_types import Array

Nodes = tuple[ir.Node, ...]
"""One node of each export."""

_SINGLE = (ir.AttributeType.INT, ir.AttributeType.FLOAT)
_SEVERAL = (ir.AttributeType.INTS, ir.AttributeType.FLOATS)
_NUMBERS = (*_SINGLE, *_SEVERAL)
GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
"""Tuples, as the hash of such a type is slow, and this is asked of every node."""
_PIECE = 1 << 22
"""Bytes that are compared at once."""
_SMALL = 1 << 14
"""Bytes that are copied rather than compared in place."""


def signature(node: ir.Node) -> tuple[Any, ...]:
    """What paired nodes have in common: the operator, and all of its attributes but for the numbers in them."""
    attributes = [_attribute(name, attribute) for name, attribute in sorted(node.attributes.data.items())]
    present = tuple(value is None for value in node.inputs)
    return operator_of(node), present, len(node.outputs), tuple(attributes)


def same_kind(one: ir.Node, other: ir.Node) -> bool:
    """Whether two nodes have the same signature, without writing it down."""
    if one.op_type != other.op_type or len(one.outputs) != len(other.outputs):
        return False
    given, taken = one.inputs, other.inputs
    if len(given) != len(taken) or (
        (None in given or None in taken) and [each is None for each in given] != [each is None for each in taken]
    ):
        return False
    mine, others = one.attributes.data, other.attributes.data
    if len(mine) != len(others) or (one.domain != other.domain and operator_of(one) != operator_of(other)):
        return False
    for name, attribute in mine.items():
        same = others.get(name)
        if same is None or not _same_attribute(name, attribute, same):
            return False
    return True


def _same_attribute(name: str, one: ir.Attr, other: ir.Attr) -> bool:
    """Whether two attributes are the same, but for the numbers in them."""
    kind = one.type
    if kind in _NUMBERS and other.type == kind and not one.is_ref() and not other.is_ref():
        return kind in _SINGLE or len(one.value) == len(other.value)
    return _attribute(name, one) == _attribute(name, other)


def _attribute(name: str, attribute: ir.Attr) -> tuple[Any, ...]:
    if attribute.is_ref():
        return name, attribute.ref_attr_name
    if attribute.type in _NUMBERS:
        return name, attribute.type, len(attribute.value) if isinstance(attribute.value, Sequence) else None
    if attribute.type in GRAPHS:
        return name, attribute.type, *((len(each.inputs), len(each.outputs)) for each in graphs_of(attribute))
    if attribute.type == ir.AttributeType.TENSOR:
        array = np.asarray(attribute.value.numpy())
        return name, array.dtype.str, array.shape, array.tobytes()
    return name, str(attribute.value)


def graphs_of(attribute: ir.Attr) -> Sequence[ir.Graph]:
    """The graphs that an attribute holds."""
    if attribute.is_ref() or attribute.type not in GRAPHS:
        return []
    return [attribute.as_graph()] if attribute.type == ir.AttributeType.GRAPH else list(attribute.as_graphs())


def differing_numbers(nodes: Nodes) -> list[tuple[str, tuple[Any, ...]]]:
    """The attributes whose numbers differ, with the value in each export: `[("kernel_shape", ((3, 4), (5, 7)))]`."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for name, attribute in nodes[0].attributes.data.items():
        if attribute.type in _NUMBERS and not attribute.is_ref():
            values = [node.attributes.data[name].value for node in nodes]
            if values.count(values[0]) < len(values):
                found.append((name, tuple(map(_hashable, values))))
    return found


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) else value


def stored_alike(one: Any, other: Any) -> bool:
    """Whether two tensors are stored alike, byte by byte; others may be equal all the same."""
    if isinstance(one, BulkTensor) and isinstance(other, BulkTensor):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and np.array_equal(one.numpy().view(np.uint8), other.numpy().view(np.uint8))
    if type(one) is not ir.TensorProtoTensor or type(other) is not ir.TensorProtoTensor:
        return one is other
    left, right = one.raw, other.raw
    if left == right:
        return bool(left.HasField("raw_data"))  # other numbers are equal where -0 is 0
    if left.data_type != right.data_type or left.dims != right.dims or not left.HasField("raw_data"):
        return False
    return right.HasField("raw_data") and bool(left.raw_data == right.raw_data)


def equal(one: Array, other: Array) -> bool:
    """Whether two constants are the same, to the bit; compared piece by piece, so that large ones are not copied."""
    if one is other:
        return True
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.hasobject:
        return bool(np.array_equal(one, other))
    if one.nbytes <= _SMALL:
        return one.tobytes() == other.tobytes()
    left, right = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    places = range(0, left.size, _PIECE)
    return all(np.array_equal(left[place : place + _PIECE], right[place : place + _PIECE]) for place in places)


def unlikeness(values: Sequence[ir.Value]) -> str:
    """How the places differ at which exports stop to be alike."""
    makers = [value.producer() for value in values]
    counts = [len(maker.inputs) for maker in makers if maker is not None]
    if len({maker and maker.op_type for maker in makers}) == 1 and len({*counts}) > 1:
        several = " and ".join(map(str, dict.fromkeys(counts)))
        return f"{_told(values[0])} has {several} inputs, as if a loop over a size had been written out"
    known = [maker for maker in makers if maker is not None]
    if len(known) == len(makers) and len({operator_of(maker) for maker in known}) == 1:
        names = {name for maker in known for name in maker.attributes}
        differ = sorted(name for name in names if len({_given(maker, name) for maker in known}) > 1)
        if differ:
            return f"the attribute {differ[0]} of {_told(values[0])} is another, or missing, in another export"
    first = _told(values[0])
    other = next((told for value in values if (told := _told(value)) != first), first)
    return f"{first} of one export stands beside {other} of another"


def _given(node: ir.Node, name: str) -> tuple[Any, ...]:
    """An attribute, as far as it must be the same in all exports."""
    return _attribute(name, node.attributes[name]) if name in node.attributes else ()


def _told(value: ir.Value) -> str:
    maker = value.producer()
    if maker is None:
        return f"{'the constant' if value.is_initializer() else 'the input'} {value.name}"
    domain = f"{maker.domain}::" if maker.domain not in {"", "ai.onnx"} else ""
    return f"{domain}{maker.op_type} {maker.name or value.name}"


def label(node: ir.Node) -> str:
    """A node in a message."""
    return node.name or f"{node.op_type} of {node.outputs[0].name}"
