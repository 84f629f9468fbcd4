"""Operators of com.microsoft on quantised numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content
from onereshape.terms.records.contrib import added, matrices, places
from onereshape.terms.records.declared import BYTES, DOMAIN, Optional, declared, own, vector
from onereshape.terms.records.pools import max_pool
from onereshape.terms.records.quantised import (
    Factors,
    dequantize,
    limited,
    quantize,
    single,
    single_or_zero,
    whole,
    zero,
)
from onereshape.terms.records.quantised_windows import plan, watch_growth
from onereshape.terms.records.reshaping import joined
from onereshape.terms.tensor import Tensor

_NOTHING: Final = np.asarray(np.uint64(0))


def _pairs(call: Call, dtype: ir.DataType, *scales: int) -> list[Words]:
    """The words of scales at these inputs, and of the zero point after each, all single numbers: `1 -> inputs 1, 2`."""
    return [word for place in scales for word in (single(call, place), single_or_zero(call, place + 1, dtype))]


def _element(call: Call) -> Sequence[Tensor]:
    """A function of each element, of two scales and of two zero points."""
    data = call.tensor(0)
    words = call.words(0), *_pairs(call, data.dtype, 1, 3)
    return [limited(call.mixed(data.dtype, own(call, data.dtype.name, *call.settings()), *words).array, data.dtype)]


def _two(call: Call) -> Sequence[Tensor]:
    """QLinearAdd, QLinearMul: a function of two elements, and of a scale and a zero point for both and the answer."""
    dtype = call.tensor(0).dtype
    words = call.words(0), *_pairs(call, dtype, 1), call.words(3), *_pairs(call, dtype, 4, 6)
    return [limited(call.mixed(dtype, own(call, dtype.name), *words).array, dtype)]


def _concat(call: Call) -> Sequence[Tensor]:
    """Each part is brought to the scale of the whole."""
    given = call.tensors()
    if len(given) < 5 or len(given) % 3 != 2 or call.outputs > 1 or set(call.attributes) != {"axis"}:
        call.refuse("its parts have not each a scale and a zero point")
    dtype = given[1].dtype
    whole_scale = single(call, 0), single(call, 1)
    if given[0].dtype != ir.DataType.FLOAT or dtype.name not in BYTES.split():
        call.refuse(f"its scale is of type {given[0].dtype.name}, and its zero point of {dtype.name}")
    parts = []
    for place in range(2, len(given), 3):
        data = given[place]
        if (data.dtype, given[place + 1].dtype) != (dtype, ir.DataType.FLOAT):
            call.refuse("its parts are of several types")
        words = call.words(place), *_pairs(call, dtype, place + 1), *whole_scale
        parts.append(limited(call.mixed(dtype, own(call, dtype.name), *words).array, dtype))
    axis = call.attribute("axis")
    if not isinstance(axis, int):
        call.refuse("its axis is of another type")
    axis = call.axis(axis, parts[0].rank)
    if len({each.rank for each in parts}) > 1 or len({(*e.shape[:axis], *e.shape[axis + 1 :]) for e in parts}) > 1:
        call.refuse(f"the dims {[list(each.shape) for each in parts]} do not go together")
    return [joined(call, parts, axis)]


def _softmax(call: Call) -> Sequence[Tensor]:
    """QLinearSoftmax: before opset 13 over all axes from `axis` on, from 13 on along that axis alone."""
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis"), data.rank)
    axes = tuple(range(axis, data.rank)) if call.attribute("opset") < 13 else (axis,)
    along = content(call, data, axes, keep=True)
    words = call.words(0), along, *_pairs(call, data.dtype, 1, 3)
    key = own(call, data.dtype.name)
    return [limited(call.mixed(data.dtype, key, *words).array, data.dtype)]


def _space(call: Call) -> Tensor:
    """Data with the channels in front of space."""
    data = call.tensor(0)
    if data.rank < 3:
        call.refuse(f"the dims {list(data.shape)} have no space")
    watch_growth(call, data)
    return data.moved(lambda array: np.moveaxis(array, -1, 1)) if call.attribute("channels_last") else data


def _placed(call: Call, words: Words, dtype: ir.DataType) -> Sequence[Tensor]:
    return [limited(np.moveaxis(words, 1, -1) if call.attribute("channels_last") else words, dtype)]


def _global_pool(call: Call) -> Sequence[Tensor]:
    data = _space(call)
    axes = tuple(range(2, data.rank))
    image = content(call, data, axes, keep=True)
    key = own(call, data.dtype.name)
    return _placed(call, call.mixed(data.dtype, key, image, *_pairs(call, data.dtype, 1, 3)).array, data.dtype)


def _pool(call: Call) -> Sequence[Tensor]:
    """QLinearAveragePool: pads, and places beyond the pads, have words of their own, so that they are counted."""
    data = _space(call)
    if call.attribute("ceil_mode") not in {0, 1}:
        call.refuse("its mode is neither floor nor ceil")
    where = plan(call, data.shape[2:], call.attribute("kernel_shape"), ceil=bool(call.attribute("ceil_mode")))
    pads = [(0, 0), (0, 0), *zip(where.before, where.after, strict=True)]
    call.check_size([dim + sum(pad) for dim, pad in zip(data.shape, pads, strict=True)])
    words = np.pad(data.hashed(call.hashing), pads, constant_values=np.uint64(own(call, "pad")))
    nothing = (0,) * len(where.kernel)
    bare = type(where)(where.kernel, where.strides, where.dilations, nothing, nothing, where.counts)
    windows = bare.contents(call, words, np.asarray(np.uint64(own(call, "beyond"))))
    key = own(call, data.dtype.name, where.kernel, call.attribute("count_include_pad"))
    return _placed(call, call.mixed(data.dtype, key, windows, *_pairs(call, data.dtype, 1, 3)).array, data.dtype)


def _last_pool(call: Call) -> Sequence[Tensor]:
    """NhwcMaxPool: a MaxPool, with the channels behind space."""
    data = _space(replace(call, attributes={"channels_last": 1}))
    (found,) = max_pool(replace(call, inputs=(data,)))
    return [found.moved(lambda array: np.moveaxis(array, 1, -1))]


def _columns(call: Call, factors: Factors, scale: int, point: int) -> list[Words]:
    """The words of the scale and of the zero point of the right factor, per column; a zero point of 0 if not given."""
    if call.has(point):
        return [factors.per_column(scale), factors.per_column(point)]
    return [factors.per_column(scale), zero(call, factors.right.dtype).hashed(call.hashing)]


def _bias(call: Call, place: int, factors: Factors) -> Words:
    return vector(call, place, factors.right.shape[-1]).hashed(call.hashing) if call.has(place) else _NOTHING


def _dynamic_product(call: Call) -> Sequence[Tensor]:
    """DynamicQuantizeMatMul: the left factor is quantised as a whole, so that each row depends on all samples."""
    data = call.tensor(0)
    factors = Factors(call, data, call.tensor(1))
    if data.rank < 2 or factors.right.rank < 2:
        call.refuse("a factor is no matrix")
    columns = factors.columns(*_columns(call, factors, 2, 3))
    words = factors.rows(whole(call, data)), columns, _bias(call, 4, factors)
    return [call.mixed(data.dtype, own(call, call.has(4)), *words)]


def _scaled_product(call: Call) -> Sequence[Tensor]:
    left = call.tensor(0)
    factors = Factors(call, left, call.tensor(1))
    if left.rank < 2 or factors.right.rank < 2:
        call.refuse("a factor is no matrix")
    rows = factors.rows(single(call, 2), single_or_zero(call, 4, left.dtype))
    columns = factors.columns(*_columns(call, factors, 3, 5))
    dtype = call.tensor(2).dtype
    return [call.mixed(dtype, own(call, call.has(6), dtype.name), rows, columns, _bias(call, 6, factors))]


def _gemm(call: Call) -> Sequence[Tensor]:
    factors = matrices(call, 0, 3)
    rows = factors.rows(single(call, 1), single(call, 2))
    columns = factors.columns(factors.per_column(4), factors.per_column(5))
    if call.has(7) != call.has(8):
        call.refuse("it has a scale without a zero point, or a zero point without a scale")
    dtype = call.tensor(8).dtype if call.has(8) else ir.DataType.FLOAT
    out = [single(call, 7), single(call, 8)] if call.has(8) else []
    key = own(call, call.has(6), call.attribute("alpha"), dtype.name)
    return [limited(call.mixed(dtype, key, rows, columns, added(call, 6, factors.shape), *out).array, dtype)]


def _few_bits(call: Call) -> Sequence[Tensor]:
    """A product with packed weights: a column is of all of them and of its place."""
    data = call.tensor(0)
    width, inner = call.attribute("N"), call.attribute("K")
    if not data.rank or data.shape[-1] != inner or width < 1:
        call.refuse(f"the dims {list(data.shape)} do not end in {inner}")
    weights = [_content(call, place) for place in range(1, 5) if call.has(place)]
    given = tuple(call.has(place) for place in range(1, 6))
    bias = vector(call, 5, width).hashed(call.hashing) if call.has(5) else _NOTHING
    rows = content(call, data, (data.rank - 1,), keep=True)
    key = own(call, given, *call.settings())
    return [call.mixed(data.dtype, key, rows, places(call, width), bias, *weights)]


def _content(call: Call, place: int) -> Words:
    """A word for the whole content of an input and its dims."""
    found = call.tensor(place)
    return call.hashing.mix(call.key(found.shape, op="common"), content(call, found, range(found.rank)))


def _few_bits_gather(call: Call) -> Sequence[Tensor]:
    """What an index picks is of all of the table, of the index and of the place within a row."""
    data, index, scales = (call.tensor(place) for place in range(3))
    axis = call.axis(call.attribute("gather_axis"), data.rank)
    call.axis(call.attribute("quantize_axis"), data.rank)
    bits = call.attribute("bits")
    if bits not in {2, 4, 8}:
        call.refuse(f"there are no numbers of {bits} bits")
    dims = list(data.shape)
    if data.dtype == ir.DataType.UINT8:
        if axis:
            call.refuse("it gathers packed numbers along another axis than the first")
        dims[-1] *= 8 // bits
        if data.rank < 2 and bits < 8:
            call.refuse("its packed numbers have no row")
    before, behind = dims[:axis], dims[axis + 1 :]
    call.check_size((*before, *index.shape, *behind))
    spread = places(call, *before, *behind).reshape(*before, *[1] * index.rank, *behind)
    words = index.hashed(call.hashing).reshape(*index.shape, *[1] * len(behind))
    weights = [_content(call, place) for place in (0, 2, 3) if call.has(place)]
    if data.grows:
        call.not_for_all("picks from a table that grows with the number of samples")
    key = own(call, call.has(3), data.dtype.name, *call.settings())
    return [call.mixed(scales.dtype, key, spread, words, *weights)]


_PER_AXIS: Final = 13
"""The opset of ONNX from which there may be a scale for each place of an axis, as there may be here."""


def _quantize(call: Call) -> Sequence[Tensor]:
    return quantize(replace(call, version=_PER_AXIS))


def _dequantize(call: Call) -> Sequence[Tensor]:
    return dequantize(replace(call, version=_PER_AXIS))


_B: Final = {"T": BYTES, "F": "FLOAT"}
_FEW: Final[dict[str, Any]] = {"bits": 4, "block_size": 128, "gather_axis": 0, "quantize_axis": 1}
_POOL: Final[dict[str, Any]] = {
    "auto_pad": "NOTSET",
    "ceil_mode": 0,
    "channels_last": 0,
    "count_include_pad": 0,
    "kernel_shape": list,
    "pads": Optional(list),
    "strides": Optional(list),
}
_LAST_POOL: Final[dict[str, Any]] = {
    "auto_pad": "NOTSET",
    "ceil_mode": 0,
    "dilations": Optional(list),
    "kernel_shape": list,
    "pads": Optional(list),
    "strides": Optional(list),
}
_NARROW: Final = "FLOAT FLOAT16 BFLOAT16"
_WORDS: Final = f"{BYTES} INT16 UINT16 INT4 UINT4"

RECORDS: Final[dict[str | tuple[str, str], Record]] = {
    (DOMAIN, "QLinearAdd"): record(declared(_two, "T F T? T F T? F T?", _B)),
    (DOMAIN, "QLinearMul"): record(declared(_two, "T F T? T F T? F T?", _B)),
    (DOMAIN, "QLinearSigmoid"): record(declared(_element, "T F T? F T?", _B)),
    (DOMAIN, "QLinearLeakyRelu"): record(declared(_element, "T F T? F T?", _B, {"alpha": 0.01})),
    (DOMAIN, "QLinearConcat"): record(_concat),
    (DOMAIN, "QLinearSoftmax"): record(declared(_softmax, "T F T? F T", _B, {"axis": -1, "opset": int})),
    (DOMAIN, "QLinearAveragePool"): record(declared(_pool, "T F T? F T?", _B, _POOL)),
    (DOMAIN, "NhwcMaxPool"): record(declared(_last_pool, "T", _B, _LAST_POOL)),
    (DOMAIN, "QLinearGlobalAveragePool"): record(declared(_global_pool, "T F T F T", _B, {"channels_last": 0})),
    (DOMAIN, "DynamicQuantizeMatMul"): record(declared(_dynamic_product, "F T F T? F?", _B)),
    (DOMAIN, "MatMulIntegerToFloat"): record(
        declared(_scaled_product, "A B F F A? B? F?", {"A": BYTES, "B": BYTES, "F": "FLOAT FLOAT16"})
    ),
    (DOMAIN, "QGemm"): record(
        declared(
            _gemm,
            "A F A B F B C? F? Y?",
            {"A": BYTES, "B": BYTES, "C": "INT32", "F": "FLOAT", "Y": BYTES},
            {"alpha": 1.0, "transA": 0, "transB": 0},
        )
    ),
    (DOMAIN, "MatMulNBits"): record(
        declared(
            _few_bits,
            "T B T Z? G? T?",
            {"T": _NARROW, "B": "UINT8", "Z": f"UINT8 {_NARROW}", "G": "INT32"},
            {"K": int, "N": int, "accuracy_level": 0, "bits": 4, "block_size": int, "weight_prepacked": 0},
        )
    ),
    (DOMAIN, "GatherBlockQuantized"): record(
        declared(_few_bits_gather, "D I F D?", {"D": "INT4 UINT4 UINT8", "I": "INT32 INT64", "F": _NARROW}, _FEW)
    ),
    (DOMAIN, "QuantizeLinear"): record(
        declared(_quantize, "F F Q?", {"F": "FLOAT FLOAT16", "Q": _WORDS}, {"axis": Optional(int)})
    ),
    (DOMAIN, "DequantizeLinear"): record(
        declared(_dequantize, "Q F Q?", {"F": "FLOAT FLOAT16", "Q": f"{_WORDS} INT32"}, {"axis": Optional(int)})
    ),
}
