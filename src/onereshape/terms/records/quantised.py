"""Quantised numbers: an element with its scale and its zero point, and products of such.

A zero point that is left out is 0.  A scale is one number, one for each place of an axis, or one for each block of it:
it is spread to the dims of the data, so that no axis enters a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array, Words
from onereshape.terms.records import arithmetic, comparisons, pointwise, quotients, reductions
from onereshape.terms.tensor import Tensor, numbers, terms

_OUTPUT_TYPE: Final = {"QuantizeLinear": ir.DataType.UINT8}


def zero(call: Call, dtype: ir.DataType) -> Tensor:
    """The zero point 0 of a type, which is meant where none is given."""
    try:
        return numbers(np.zeros((), dtype.numpy()), dtype)
    except TypeError:
        call.refuse(f"{dtype.name} is a type of which there are no numbers")


def single(call: Call, place: int) -> Words:
    """The word of the input at a place, refused unless it is a single number."""
    found = call.tensor(place)
    if found.size != 1 or found.rank > 1:
        call.refuse(f"input {place} has the dims {list(found.shape)}, and should be one number")
    return found.hashed(call.hashing).reshape(())


def single_or_zero(call: Call, place: int, dtype: ir.DataType) -> Words:
    """The word of a zero point, the single number in the input at a place; of 0 where it is not given."""
    if not call.has(place):
        return zero(call, dtype).hashed(call.hashing)
    if call.tensor(place).dtype != dtype:
        call.refuse(f"input {place} is not of type {dtype.name}")
    return single(call, place)


def limited(words: Words, dtype: ir.DataType) -> Tensor:
    """Terms of a type, with the bounds of the type where it is an integer of at most 32 bits: INT8 -> -128 to 127."""
    if not dtype.is_integer() or dtype.bitwidth > 32:
        return terms(words, dtype)
    signed = dtype.is_signed()
    top = (1 << (dtype.bitwidth - signed)) - 1
    return terms(words, dtype, np.asarray(-top - 1 if signed else 0), np.asarray(top))


def spread(call: Call, data: Tensor, parameter: Tensor) -> Tensor:
    """A scale or a zero point, ready to be broadcast to the data."""
    block = int(call.attribute("block_size", 0) or 0)
    if block:
        return _blocks(call, data, parameter, block)
    if parameter.size == 1 and parameter.rank <= 1:
        return parameter.moved(lambda array: array.reshape(()))
    if parameter.rank != 1 or call.version < 13:
        call.refuse(f"the dims {list(parameter.shape)} of a scale do not go with the dims {list(data.shape)}")
    axis = call.axis(int(call.attribute("axis", 1)), data.rank)
    if parameter.size != data.shape[axis]:
        call.refuse(f"it has {parameter.size} scales, and its data have the dims {list(data.shape)}")
    behind = data.rank - axis - 1
    return parameter.moved(lambda array: array.reshape(-1, *[1] * behind))


def _blocks(call: Call, data: Tensor, parameter: Tensor, block: int) -> Tensor:
    if block < 0 or parameter.rank != data.rank or not data.rank:
        call.refuse(f"the dims {list(parameter.shape)} of a scale are not those of blocks of {list(data.shape)}")
    axis = call.axis(int(call.attribute("axis", 1)), data.rank)
    wanted = list(data.shape)
    wanted[axis] = -(-data.shape[axis] // block)
    if list(parameter.shape) != wanted:
        call.refuse(f"the dims {list(parameter.shape)} of a scale are not {wanted}, those of blocks of {block}")
    if data.growth and data.growth[axis] // data.outer % block:
        call.not_for_all("cuts into blocks a dim that grows with the number of samples")
    return parameter.moved(lambda array: np.repeat(array, block, axis).take(range(data.shape[axis]), axis))


def _parameters(call: Call, data: Tensor, dtype: ir.DataType) -> tuple[Tensor, Tensor]:
    """The scale and the zero point of a node, ready to be broadcast; a zero point must be of type `dtype`."""
    scale = call.tensor(1)
    if not call.has(2):
        return spread(call, data, scale), zero(call, dtype)
    point = call.tensor(2)
    if point.dtype != dtype:
        call.refuse(f"its zero point is of type {point.dtype.name}, not {dtype.name}")
    if point.shape != scale.shape and not point.size == scale.size == 1:
        call.refuse(f"its scale has the dims {list(scale.shape)}, and its zero point {list(point.shape)}")
    return spread(call, data, scale), spread(call, data, point)


def _type(call: Call, given: Any, otherwise: ir.DataType) -> ir.DataType:
    try:
        return ir.DataType(int(given)) if given else otherwise
    except ValueError:
        call.refuse(f"there is no type {given}")


def quantize(call: Call) -> Sequence[Tensor]:
    """QuantizeLinear."""
    data = call.tensor(0)
    inferred = call.tensor(2).dtype if call.has(2) else _OUTPUT_TYPE["QuantizeLinear"]
    dtype = _type(call, call.attribute("output_dtype", 0), inferred)
    scale, point = _parameters(call, data, dtype)
    precision = _type(call, call.attribute("precision", 0), scale.dtype)
    return [quantized(call, data, scale, point, precision, saturates=bool(call.attribute("saturate", 1)))]


def quantized(  # noqa: PLR0913 - what the formula has
    call: Call, data: Tensor, scale: Tensor, point: Tensor, precision: ir.DataType, *, saturates: bool = True
) -> Tensor:
    """saturate(round(x / scale) + zero point)."""
    dtype = point.dtype
    if data.values is not None and scale.values is not None and point.values is not None:
        exact = _rounded(data, scale, point, precision)
        if exact is not None:
            return numbers(exact, dtype)
    plain = {data.dtype, scale.dtype, precision} == {ir.DataType.FLOAT}
    if plain and dtype == ir.DataType.UINT8:
        return _by_steps(call, data, scale, point)
    wraps = ("wraps",) if dtype.is_floating_point() and not saturates else ()
    key = call.key(dtype.name, precision.name, *wraps, op="QuantizeLinear")
    found = call.mixed(dtype, key, *(each.hashed(call.hashing) for each in (data, scale, point)))
    return limited(found.array, dtype)


def _by_steps(call: Call, data: Tensor, scale: Tensor, point: Tensor) -> Tensor:
    """QuantizeLinear to UINT8 as Div, Round, Cast, Add and Clip would do it, with the terms that these give."""
    zero, top = (numbers(np.asarray(number, np.float32)) for number in (0, 255))
    steps = _step(call, "Round", _step(call, "Div", data, scale))
    moved = _step(call, "Add", steps, _step(call, "Cast", point, to=int(ir.DataType.FLOAT)))
    return _step(call, "Cast", _step(call, "Clip", moved, zero, top), to=int(ir.DataType.UINT8))


def _rounded(data: Tensor, scale: Tensor, point: Tensor, precision: ir.DataType) -> Array | None:
    """QuantizeLinear of FLOAT numbers to integers of 8 or 16 bits; None where engines may round differently."""
    plain = {data.dtype, scale.dtype, precision} == {ir.DataType.FLOAT}
    if not plain or not point.is_integer or point.dtype.bitwidth not in {8, 16}:
        return None
    quotient = np.rint(np.divide(data.array, scale.array))
    if not np.all(np.isfinite(quotient)):
        return None
    limits = np.iinfo(point.dtype.numpy())
    return np.asarray(np.clip(quotient.astype(np.float64) + point.array, limits.min, limits.max)).astype(
        point.dtype.numpy()
    )


def dequantize(call: Call) -> Sequence[Tensor]:
    """DequantizeLinear: (x - zero point) * scale."""
    data = call.tensor(0)
    scale, point = _parameters(call, data, data.dtype)
    dtype = _type(call, call.attribute("output_dtype", 0), scale.dtype)
    small = data.is_integer and data.dtype.bitwidth <= 16 and {scale.dtype, dtype} == {ir.DataType.FLOAT}
    if small and data.values is not None and scale.values is not None and point.values is not None:
        apart = data.values.astype(np.int32) - point.values.astype(np.int32)
        return [numbers(np.asarray(np.multiply(apart.astype(np.float32), scale.values)), dtype)]
    key = call.key(data.dtype.name, dtype.name, op="DequantizeLinear")
    return [call.mixed(dtype, key, *(each.hashed(call.hashing) for each in (data, scale, point)))]


def whole(call: Call, tensor: Tensor) -> Words:
    """The content of a tensor in any order: what its least and its largest element depend on."""
    found = call.hashing.mix(call.key(op="element"), tensor.hashed(call.hashing))
    return np.asarray(np.sum(found, dtype=np.uint64))


def _dynamic(call: Call) -> Sequence[Tensor]:
    """DynamicQuantizeLinear by its formula in plain operators: all samples share a scale and a zero point.

    It stays a record, as repairs write this very formula for each sample; ONNX's body has no scale of 1 for zeros.
    """
    data = call.tensor(0)
    if not data.size:
        call.refuse("there is no least and no largest of no elements")
    zero, one, top = (numbers(np.asarray(number, np.float32)) for number in (0, 1, 255))
    ends = [_step(call, op, _step(call, f"Reduce{op}", data, keepdims=0), zero) for op in ("Min", "Max")]
    width = _step(call, "Sub", ends[1], ends[0])
    flat = _step(call, "Equal", width, zero)
    scale = _step(call, "Where", flat, one, _step(call, "Div", width, top))
    near = _step(call, "Clip", _step(call, "Neg", _step(call, "Div", ends[0], scale)), zero, top)
    point = _step(call, "Cast", _step(call, "Round", near), to=int(ir.DataType.UINT8))
    return [quantized(call, data, scale, point, ir.DataType.FLOAT), scale, point][: call.outputs]


_STEPS: Final = {
    **arithmetic.RECORDS,
    **quotients.RECORDS,
    **comparisons.RECORDS,
    **pointwise.RECORDS,
    **reductions.RECORDS,
}
_STEP_VERSION: Final = 13
"""The opset version of the operators that a formula is made of."""


def _step(call: Call, op: str, *inputs: Tensor, **attributes: int) -> Tensor:
    """The result of the operator `op` on these inputs, as if it were a node of its own."""
    step = replace(call, op=op, version=_STEP_VERSION, inputs=inputs, outputs=1, attributes=attributes)
    (found,) = _STEPS[op].rule(step)
    if not isinstance(found, Tensor):
        call.refuse(f"{op} gives no tensor")
    return found


RECORDS: Final[dict[str, Record]] = {
    "QuantizeLinear": record(quantize),
    "DequantizeLinear": record(dequantize),
    "DynamicQuantizeLinear": record(_dynamic),
}
