"""Where numbers come from: constants, dims, ranges."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.records.pointwise import type_of
from onereshape.terms.tensor import Tensor, formed, numbers


def _constant(call: Call) -> Sequence[Tensor]:
    for name, value in call.attributes.items():
        if name == "value":
            array = _array(call, value)
            text = value.dtype == ir.DataType.STRING
            return [numbers(np.array(array, object) if text else array, value.dtype)]
        if name in {"value_int", "value_ints"}:
            return [numbers(np.asarray(value, np.int64))]
        if name in {"value_float", "value_floats"}:
            return [numbers(np.asarray(value, np.float32))]
        if name in {"value_string", "value_strings"}:
            return [numbers(np.asarray(value, object), ir.DataType.STRING)]
    return call.refuse("is of a kind that is not dense")


def _array(call: Call, value: ir.TensorProtocol) -> Array:
    """The numbers of an attribute."""
    try:
        return value.numpy()
    except (ValueError, TypeError, OSError):
        call.refuse("its numbers cannot be read")


def _shape(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    rank = data.rank
    start, end = call.attribute("start", 0), call.attribute("end")
    part = slice(_clamped(start, rank), _clamped(rank if end is None else end, rank))
    dims = np.array(data.shape[part], np.int64)
    growth = np.array(data.growth[part] if data.growth else np.zeros(len(dims)), np.int64)
    return [formed(dims, ir.DataType.INT64, growth, 0)]


def _clamped(place: int, rank: int) -> int:
    return min(max(place + rank if place < 0 else place, 0), rank)


def _size(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    growing = [(dim, growth) for dim, growth in zip(data.shape, data.growth, strict=False) if growth]
    slope = 0
    if growing:
        dim, growth = growing[0]
        if len(growing) > 1 or dim != growth * call.samples:
            call.not_for_all("counts elements in a way that is not proportional to the number of samples")
        else:
            slope = data.size // call.samples if call.samples else 0
    return [formed(np.array(data.size, np.int64), ir.DataType.INT64, slope, 0)]


def _constant_of_shape(call: Call) -> Sequence[Tensor]:
    dims = call.integers(0, sized=True)
    call.check_size(dims)
    value = call.attribute("value")
    if value is None:
        return [numbers(np.broadcast_to(np.zeros((), np.float32), dims))]
    array = _array(call, value)
    if array.size != 1:
        call.refuse(f"its value has {array.size} elements")
    return [numbers(np.broadcast_to(array.reshape(()), dims), value.dtype)]


_INT64: Final = 1 << 63
_WHOLE: Final = {
    ir.DataType.DOUBLE: 1 << 53,
    ir.DataType.FLOAT: 1 << 24,
    ir.DataType.FLOAT16: 1 << 11,
    ir.DataType.BFLOAT16: 1 << 8,
}
"""The largest integer up to which each type of floats holds every integer: an engine may add step by step."""


def _range(call: Call) -> Sequence[Tensor]:
    given = call.tensors()
    dtype = given[0].dtype
    ends = [call.scalar(place) for place in range(3)]
    if not all(isfinite(each) and int(each) == each for each in ends):
        call.refuse("counts in fractions, which engines round as they like")
    start, limit, delta = map(int, ends)
    if delta == 0:
        call.refuse("its step is 0")
    if max(abs(start), abs(limit)) > _WHOLE.get(dtype, _INT64):
        call.refuse(f"counts beyond the integers that {dtype.name} holds, and engines round as they like")
    count = max(-(-(limit - start) // delta), 0)
    call.check_size([count])
    values = np.asarray(start + np.arange(count) * delta).astype(dtype.numpy())
    if not any(each.depends for each in given):
        return [numbers(values, dtype)]
    slopes = [int(np.max(each.integers.slope)) for each in given]
    places = [np.any(each.integers.place) for each in given]
    length = (limit - start) - (slopes[1] - slopes[0]) * call.samples  # what is left of it at N = 0
    if any(places) or slopes[2] or slopes[0] or slopes[1] != delta or length:
        call.not_for_all("counts to a number that is not a step for each sample")
        return [numbers(values, dtype)]
    return [formed(values, dtype, 0, delta)]


def _eye(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    kind = call.attribute("dtype")
    rows, columns = call.dims("R C")
    dtype = data.dtype if kind is None else type_of(call, kind)
    return [numbers(np.eye(rows, columns, k=call.attribute("k", 0), dtype=dtype.numpy()), dtype)]


RECORDS: Final[dict[str, Record]] = {
    "Constant": record(_constant),
    "ConstantOfShape": record(_constant_of_shape, carries=True),
    "EyeLike": record(_eye, uniform=False),
    "Range": record(_range, carries=True),
    "Shape": record(_shape, carries=True),
    "Size": record(_size, carries=True),
}
