"""Element types: each dialect's name for them, and NumPy's dtype.

Names are spelled as in the specifications: ONNX's `tensor(float)` is `float`, OpenVINO's and oneDNN's is `f32`.  A
dtype of None means that the type exists in a dialect but NumPy (with ml_dtypes) has nothing to hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type; a dialect's name is None where the dialect lacks it."""

    name: str
    """NumPy's or ml_dtypes' name, or the dialect's where they have none."""
    onnx: str | None
    openvino: str | None
    onednn: str | None
    numpy: DType | None

    def named_in(self, dialect: str) -> str | None:
        """That dialect's name of the type."""
        name: str | None = getattr(self, dialect)
        return name


def _row(
    scalar: Any, onnx: str | None, openvino: str | None, onednn: str | None, name: str | None = None
) -> ElementType:
    dtype = None if scalar is None else np.dtype(scalar)
    return ElementType(name or str(dtype), onnx, openvino, onednn, dtype)


STRING = _row(np.object_, "string", "string", None, "string")
"""Strings come as StringDType, as objects and in fixed width; the dtype here is what a reader gives."""

ELEMENT_TYPES: tuple[ElementType, ...] = (
    #    NumPy / ml_dtypes         ONNX              OpenVINO   oneDNN
    _row(np.float32, "float", "f32", "f32"),
    _row(np.float64, "double", "f64", "f64"),
    _row(np.float16, "float16", "f16", "f16"),
    _row(ml_dtypes.bfloat16, "bfloat16", "bf16", "bf16"),
    _row(np.int8, "int8", "i8", "s8"),
    _row(np.int16, "int16", "i16", None),
    _row(np.int32, "int32", "i32", "s32"),
    _row(np.int64, "int64", "i64", "s64"),
    _row(np.uint8, "uint8", "u8", "u8"),
    _row(np.uint16, "uint16", "u16", None),
    _row(np.uint32, "uint32", "u32", None),
    _row(np.uint64, "uint64", "u64", None),
    _row(np.bool_, "bool", "boolean", "boolean"),
    _row(np.complex64, "complex64", None, None),
    _row(np.complex128, "complex128", None, None),
    _row(ml_dtypes.float8_e4m3fn, "float8e4m3fn", "f8e4m3", "f8_e4m3"),
    _row(ml_dtypes.float8_e4m3fnuz, "float8e4m3fnuz", None, None),
    _row(ml_dtypes.float8_e5m2, "float8e5m2", "f8e5m2", "f8_e5m2"),
    _row(ml_dtypes.float8_e5m2fnuz, "float8e5m2fnuz", None, None),
    _row(ml_dtypes.float8_e8m0fnu, "float8e8m0", "f8e8m0", "e8m0"),
    _row(ml_dtypes.float4_e2m1fn, "float4e2m1", "f4e2m1", "f4_e2m1"),
    _row(ml_dtypes.int4, "int4", "i4", "s4"),
    _row(ml_dtypes.uint4, "uint4", "u4", "u4"),
    _row(ml_dtypes.int2, "int2", None, None),
    _row(ml_dtypes.uint2, "uint2", "u2", None),
    STRING,
    _row(None, None, "u1", None, "u1"),
    _row(None, None, "u3", None, "u3"),
    _row(None, None, "u6", None, "u6"),
    _row(None, None, "nf4", None, "nf4"),
)

_BY_DTYPE = {row.numpy: row for row in ELEMENT_TYPES if row.numpy is not None}
_BY_NAME: dict[str, ElementType] = {}
for _row_ in ELEMENT_TYPES:
    for _name in (_row_.name, _row_.onnx, _row_.openvino, _row_.onednn):
        if _name is not None:
            _BY_NAME.setdefault(_name, _row_)


def of_dtype(dtype: DType) -> ElementType | None:
    """The element type that a NumPy dtype holds, or None; byte order and string width make no difference."""
    found = _BY_DTYPE.get(dtype)
    if found is not None:
        return found
    if dtype.kind in "TUS":  # StringDType, str, bytes
        return STRING
    # A dtype that is not the machine's own order; void dtypes (records) have no order to change.
    return _BY_DTYPE.get(dtype.newbyteorder("=")) if dtype.kind in "iufc" else None


def named(name: str) -> ElementType | None:
    """The element type of that name in any dialect or in NumPy: `float`, `f32` and `float32` are one."""
    return _BY_NAME.get(name)


@cache
def stored_as(storage: str) -> tuple[ElementType, ...]:
    """The element types that NumPy writes into a file under one anonymous dtype, as `V1` for most of one byte."""
    return tuple(
        row for row in ELEMENT_TYPES if row.numpy is not None and row.numpy.isbuiltin == 2 and row.numpy.str == storage
    )


def type_name(dtype: DType) -> str:
    """NumPy's or ml_dtypes' name of a type, whatever the specification."""
    element_type = of_dtype(dtype)
    return str(dtype).lstrip("|") if element_type is None else element_type.name
