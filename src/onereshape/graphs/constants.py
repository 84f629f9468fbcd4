"""The tensor that a value always is: of an initializer, or of a Constant node."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX

_TYPES: dict[str, Any] = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}


DEFAULTS = 4
"""The version of the format since which an initializer that is an input too is a default: others may be given, of all
dims that the input has.  Before, initializers had to be inputs, and yet nobody could give them another value."""


def constant_tensor(value: ir.Value) -> Any | None:
    """The tensor, or None if the value is no constant.  onnx-ir's own `get_const_tensor` would name it in passing."""
    if value.const_value is not None:
        return value.const_value
    maker = value.producer()
    if maker is None or maker.op_type != "Constant" or maker.domain not in ONNX or len(maker.attributes) != 1:
        return None
    ((name, attribute),) = maker.attributes.data.items()
    if attribute.is_ref():
        return None
    if name == "value":
        return attribute.value
    return ir.tensor(np.array(attribute.value, _TYPES[name])) if name in _TYPES else None


def dims_of_tensor(tensor: Any) -> tuple[int, ...]:
    """The dims of a tensor, without the shape that onnx-ir would make of them each time."""
    if type(tensor) is ir.TensorProtoTensor:
        return tuple(tensor.raw.dims)
    return tuple(tensor.shape.numpy())
