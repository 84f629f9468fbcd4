"""The tensors of an ONNX model: of a type that ONNX defines, and with the elements that their dims announce.

Whoever asks onnx-ir for the elements of another gets an error of NumPy's, so a model with such a tensor is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import onnx
import onnx_ir as ir
from onnx import helper

from onereshape.formats.onnx.onnx_bulk import bulk_of
from onereshape.formats.onnx.onnx_lists import Lists
from onereshape.formats.refusals import unreadable

_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data")
_TENSOR = onnx.AttributeProto.TENSOR
_MOST_DIMS = 64
"""Dims of an array of NumPy's."""
_MOST_BYTES = 2**63 - 1


def check_tensors(proto: onnx.ModelProto, path: str, lists: Lists) -> None:
    """Refuses a model with a tensor of a type that ONNX does not define, or with other data than its dims announce."""
    for tensor, what in tensors_of(proto):
        if bulk_of(tensor, lists) is None and (why := _complaint(tensor)) is not None:
            raise unreadable(path, f"{what} {why}")


def tensors_of(proto: onnx.ModelProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    """Every tensor of a model, in its functions and subgraphs too, with its name for messages: `initializer W`."""
    yield from _in_graph(proto.graph)
    for function in proto.functions:
        yield from _in_nodes(function.node)


def _in_graph(graph: onnx.GraphProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    for tensor in graph.initializer:
        yield tensor, f"initializer {tensor.name}"
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Any) -> Iterator[tuple[onnx.TensorProto, str]]:
    """The tensors in the attributes of nodes, in subgraphs too; protobuf limits how deep those are."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t") or (attribute.type == _TENSOR and not attribute.ref_attr_name):
                yield attribute.t, _called(attribute, node)
            for tensor in attribute.tensors:
                yield tensor, _called(attribute, node)
            if attribute.HasField("g"):
                yield from _in_graph(attribute.g)
            for graph in attribute.graphs:
                yield from _in_graph(graph)


def _called(attribute: onnx.AttributeProto, node: onnx.NodeProto) -> str:
    return f"attribute {attribute.name} of {node.op_type} {node.name or next(iter(node.output), '')}"


def _complaint(tensor: onnx.TensorProto) -> str | None:
    """What is wrong with a tensor; where its external data are is looked at elsewhere."""
    try:
        kind = ir.DataType(tensor.data_type)
    except ValueError:
        return f"has elements of type {tensor.data_type}, which ONNX does not define"
    if kind == ir.DataType.UNDEFINED:
        return "has elements of no type"
    dims = list(tensor.dims)
    if min(dims, default=0) < 0:
        return f"has a negative dim: {dims}"
    bits = 8 if kind == ir.DataType.STRING else kind.bitwidth
    if len(dims) > _MOST_DIMS or prod(max(dim, 1) for dim in dims) * bits > 8 * _MOST_BYTES:
        return f"has dims that no array can have: {dims[:8]}{' ...' if len(dims) > 8 else ''}"
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return "has strings in another file" if kind == ir.DataType.STRING else None
    return _miscounted(tensor, kind, prod(dims), bits)


def _miscounted(tensor: onnx.TensorProto, kind: ir.DataType, count: int, bits: int) -> str | None:
    """What is wrong with the number of elements: in raw bytes, or in the field of the type."""
    used = [name for name in _FIELDS if len(getattr(tensor, name))]
    if tensor.HasField("raw_data") and (count or tensor.raw_data):
        used.append("raw_data")
    if len(used) > 1:
        return f"has its data twice, in {' and '.join(used)}"
    if used == ["raw_data"] and kind != ir.DataType.STRING:
        there, needed = len(tensor.raw_data), -(-count * bits // 8)
    else:  # small types are packed by bytes, and a complex number is two entries
        entry = 8 if bits < 8 else bits // 2 if kind in {ir.DataType.COMPLEX64, ir.DataType.COMPLEX128} else bits
        there, needed = len(getattr(tensor, helper.tensor_dtype_to_field(tensor.data_type))), -(-count * bits // entry)
    if there == needed:
        return None
    found = there * count / needed if needed else there
    return f"has {found:g} of the {count} elements that its dims announce"
