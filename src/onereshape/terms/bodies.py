"""The bodies that ONNX itself gives for operators: an operator without a record is run by its body, if it has any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.serde import SerdeError, deserialize_function

from onereshape.terms.call import Value
from onereshape.terms.tensor import Tensor


def filled(schema: Any, attributes: Mapping[str, ir.Attr]) -> dict[str, ir.Attr]:
    """The attributes of a node, and those that its schema gives a value to: a body reads them all."""
    return {**_defaults(schema), **attributes}


@lru_cache(maxsize=512)
def _defaults(schema: Any) -> dict[str, ir.Attr]:
    found = {name: each.default_value for name, each in schema.attributes.items()}
    there = {name: each for name, each in found.items() if each.type != onnx.AttributeProto.UNDEFINED}
    return {name: ir.from_proto(each) for name, each in there.items()}


def body_of(
    schema: Any, opset: int, node: ir.Node, inputs: Sequence[Value], attributes: Mapping[str, ir.Attr]
) -> ir.Function | None:
    """The newest body that is not above an opset; None where there is none, or where it cannot be made.

    It is of the opset that it was written for, which it says.  Some are made for the types of the inputs: these are
    told with their ranks and without their dims, so that no size gets into a body as a number.
    """
    if schema.non_deterministic:
        return None
    version = max((each for each in schema.function_opset_versions if each <= opset), default=None)
    if version is not None:
        return _plain(schema, version)
    version = max((each for each in schema.context_dependent_function_opset_versions if each <= opset), default=None)
    if version is None or not all(value is None or isinstance(value, Tensor) for value in inputs):
        return None
    proto = onnx.NodeProto(op_type=node.op_type, name=node.name or "")
    proto.input.extend("" if value is None else f"input_{place}" for place, value in enumerate(inputs))
    proto.output.extend(value.name or "" for value in node.outputs)
    proto.attribute.extend(ir.to_proto(each) for each in filled(schema, attributes).values())
    types = tuple(_type(value).SerializeToString() for value in inputs)
    return _made(schema, version, proto.SerializeToString(deterministic=True), types)


@lru_cache(maxsize=512)
def _plain(schema: Any, version: int) -> ir.Function | None:
    return _read(schema.get_function_with_opset_version(version))


@lru_cache(maxsize=512)
def _made(schema: Any, version: int, node: bytes, types: tuple[bytes, ...]) -> ir.Function | None:
    try:
        made = schema.get_context_dependent_function_with_opset_version(version, node, list(types))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None
    return _read(made)


def _read(text: bytes) -> ir.Function | None:
    proto = onnx.FunctionProto.FromString(text) if text else onnx.FunctionProto()
    made = {name for node in proto.node for name in node.output}.union(proto.input)
    while proto.output and proto.output[-1] not in made:
        proto.output.pop()  # one that was not asked for
    if not proto.node or not made.issuperset(proto.output):
        return None
    try:
        return deserialize_function(proto)
    except SerdeError:
        return None


def _type(value: Value) -> onnx.TypeProto:
    found = onnx.TypeProto()
    if isinstance(value, Tensor):
        found.tensor_type.elem_type = int(value.dtype)
        found.tensor_type.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in range(value.rank))
    return found
