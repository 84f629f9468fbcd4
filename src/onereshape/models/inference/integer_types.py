"""The type of a tensor of integers: what it says of itself, or what it is made from."""

from __future__ import annotations

import onnx_ir as ir


def integer_type(value: ir.Value | None) -> ir.DataType | None:
    """The type, or None where nothing on its way says it."""
    while value is not None:
        given = value.dtype or (None if value.const_value is None else value.const_value.dtype)
        node = value.producer()
        if given is not None or node is None or node.domain not in {"", "ai.onnx"}:
            return given
        if node.op_type in {"Shape", "Size"}:
            return ir.DataType.INT64
        if node.op_type == "Cast":
            return ir.DataType(node.attributes.get_int("to", 0))
        if node.op_type == "Constant":
            tensor = node.attributes.get("value")
            return ir.DataType.INT64 if tensor is None else tensor.as_tensor().dtype
        if node.op_type == "ConstantOfShape":
            return None
        value = node.inputs[1 if node.op_type == "Where" else 0] if node.inputs else None
    return None
