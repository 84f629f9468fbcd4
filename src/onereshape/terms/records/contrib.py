"""Operators of com.microsoft on floats: activations, normalisations, fused products and convolutions, samplings."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content, content_of
from onereshape.terms.records.declared import DOMAIN, FLOATS, Optional, declared, own, vector
from onereshape.terms.records.quantised import Factors
from onereshape.terms.records.quantised_windows import convolution, per_filter
from onereshape.terms.tensor import Tensor, numbers, terms


def places(call: Call, *dims: int) -> Words:
    """A word for each place in a tensor with `dims`, which are its dims."""
    call.check_size(dims)
    return call.hashing.leaves(call.key(op="place"), prod(dims)).reshape(dims)


def _activation(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    return [call.mixed(data.dtype, own(call, *call.settings()), call.words(0))]


def _biased(call: Call) -> Sequence[Tensor]:
    """An activation of data and a bias, which goes along the last axis."""
    data = call.tensor(0)
    if not call.has(1):
        return _activation(call)
    if not data.rank:
        call.refuse("its data are a single number")
    bias = vector(call, 1, data.shape[-1])
    return [call.mixed(data.dtype, own(call, "biased"), call.words(0), bias.hashed(call.hashing))]


def _rows(call: Call, words: Words, axes: int, *parts: Any) -> tuple[Words, Words]:
    """Words normalised along their last axes, each mixed with the content along these axes; and that content."""
    behind = tuple(range(words.ndim - axes, words.ndim))
    along = content_of(call, words, behind, keep=True)
    along = call.hashing.mix(own(call, "content", *parts, words.shape[words.ndim - axes :]), along)
    return call.hashing.mix(own(call, "normalised"), words, along), along


def _skip(call: Call) -> Sequence[Value]:
    """A sum, and its normalisation along the last axis."""
    data, skip = call.tensor(0), call.tensor(1)
    has_beta = call.op == "SkipLayerNormalization"
    if data.rank not in {2, 3} or skip.shape not in {data.shape, (1, *data.shape[1:]), data.shape[-2:]}:
        call.refuse(f"the dims {list(data.shape)} and {list(skip.shape)} do not go together")
    if data.rank == 2 and skip.shape != data.shape:
        call.refuse(f"the dims {list(data.shape)} and {list(skip.shape)} do not go together")
    width = data.shape[-1]
    given = [place for place in range(2, 5 if has_beta else 4) if call.has(place)]
    parameters = {place: vector(call, place, width).hashed(call.hashing) for place in given}
    bias = parameters.pop(4 if has_beta else 3, None)
    added = [call.words(0), call.words(1)] if bias is None else [call.words(0), call.words(1), bias]
    total = call.mixed(data.dtype, own(call, "sum", len(added)), *added)
    normal, _ = _rows(call, total.array, 1, call.attribute("epsilon"))
    found = call.mixed(data.dtype, own(call, tuple(parameters)), normal, *parameters.values())
    return [found, None, None, total]


def _simplified(call: Call) -> Sequence[Value]:
    """RMS normalisation along all axes from one on; onnxruntime has it in the domain of ONNX."""
    data, scale = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attribute("axis"), data.rank)
    if scale.shape != data.shape[axis:]:
        call.refuse(f"its scale has the dims {list(scale.shape)}, and its data {list(data.shape)} from {axis} on")
    if call.outputs > 1 and data.dtype != ir.DataType.FLOAT:
        call.refuse("its second output is of a type that depends on the engine")
    asked = call.attribute("epsilon"), call.attribute("stash_type")
    normal, along = _rows(call, call.words(0), data.rank - axis, *asked)
    found = call.mixed(scale.dtype, own(call, scale.dtype.name), normal, call.words(1))
    return [found, terms(call.hashing.mix(own(call, "deviation"), along), data.dtype)]


def _embedding(call: Call) -> Sequence[Value]:
    """Rows of tables by identifiers, their sum and its normalisation: [b, s, h] is of what is at [b, s]."""
    ids = call.tensor(0)
    if ids.rank != 2:
        call.refuse("its identifiers have not two dims")
    batch, length = ids.shape
    tables = [call.tensor(place) for place in (2, 3, 4) if call.has(place)]
    if call.has(1) != call.has(4) or any(each.rank != 2 for each in tables):
        call.refuse("its tables are not those of its identifiers")
    width = tables[0].shape[1]
    if any(each.shape[1] != width for each in tables):
        call.refuse("its tables are of several widths")
    if call.has(1) and call.tensor(1).shape != ids.shape:
        call.refuse("its identifiers have several dims")
    if call.has(8):
        if call.tensor(8).shape not in {(batch, length), (1, length)}:
            call.refuse("its positions have other dims")
        position = call.words(8)
    else:
        if ids.growth and ids.growth[1]:
            call.not_for_all("counts places of a dim that grows with the number of samples")
        position = call.hashing.constants(np.arange(length), "INT64")[None]
    segment = call.words(1) if call.has(1) else np.zeros((), np.uint64)
    rows = [call.hashing.mix(own(call, each.shape), content(call, each, (0, 1))) for each in tables]
    given = np.broadcast_to(call.hashing.mix(own(call, "ids"), ids.hashed(call.hashing), segment, position), ids.shape)
    key = own(call, "sum", len(tables))
    call.check_size((*ids.shape, width))
    total = call.hashing.mix(key, given[:, :, None], places(call, width), *rows)
    normal, _ = _rows(call, total, 1, call.attribute("epsilon"))
    scales = [vector(call, place, width).hashed(call.hashing) for place in (5, 6)]
    found: list[Value] = [call.mixed(tables[0].dtype, own(call), normal, *scales), None]
    if call.outputs > 1:
        found[1] = _mask_index(call, batch, length)
    return [*found, terms(total, tables[0].dtype)]


def _mask_index(call: Call, batch: int, length: int) -> Value:
    if not call.has(7):
        return None
    mask = call.tensor(7)
    if mask.shape != (batch, length):
        call.refuse("its mask has other dims than its identifiers")
    return terms(call.hashing.mix(own(call, "mask"), content(call, mask, (1,))), ir.DataType.INT32)


def _turned(tensor: Tensor, turns: Any) -> Tensor:
    return tensor.moved(lambda array: array.swapaxes(-1, -2)) if turns else tensor


def matrices(call: Call, left: int, right: int) -> Factors:
    """The factors of a product of two matrices, turned as `transA` and `transB` say."""
    given = [call.tensor(place) for place in (left, right)]
    if any(each.rank != 2 for each in given):
        call.refuse("its factors are no matrices")
    turned = [_turned(each, call.attribute(name)) for each, name in zip(given, ("transA", "transB"), strict=True)]
    return Factors(call, *turned)


def added(call: Call, place: int, shape: tuple[int, ...]) -> Words:
    """The words of an addend of a product with dims `shape`, refused unless it broadcasts to them; 0 if not given."""
    if not call.has(place):
        return np.asarray(np.uint64(0))
    found = call.tensor(place)
    try:
        fits = np.broadcast_shapes(found.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        call.refuse(f"the dims {list(found.shape)} do not go into {list(shape)}")
    return found.hashed(call.hashing)


def _gemm(call: Call) -> Sequence[Tensor]:
    factors = matrices(call, 0, 1)
    bias = added(call, 2, factors.shape)
    key = own(call, call.has(2), *call.settings("transA", "transB"))
    return [call.mixed(call.tensor(0).dtype, key, factors.rows(), factors.columns(), bias)]


def _convolved(call: Call) -> Sequence[Tensor]:
    data, weights = call.tensor(0), call.tensor(1)
    outside = numbers(np.zeros((), data.dtype.numpy()), data.dtype).hashed(call.hashing)
    made = convolution(call, data, weights, outside)
    filters, rank = weights.shape[0], data.rank - 2
    bias = np.asarray(np.uint64(0))
    if call.has(2):
        vector(call, 2, filters)
        bias = per_filter(call, 2, filters, rank)
    other = np.asarray(np.uint64(0))
    if call.has(3):
        if call.tensor(3).shape != made.windows.shape:
            call.refuse(f"it is added to {list(call.tensor(3).shape)}, and has the dims {list(made.windows.shape)}")
        other = call.words(3)
    asked = call.settings("group", "pads", "strides", "dilations", "kernel_shape", "auto_pad")
    key = own(call, made.inner, call.has(2), call.has(3), *asked)
    return [call.mixed(data.dtype, key, made.windows, made.filters, bias, other)]


def _inverse(call: Call) -> Sequence[Tensor]:
    data = call.square(0)
    matrix = content(call, data, (data.rank - 2, data.rank - 1), keep=True)
    return [call.mixed(data.dtype, own(call, data.shape[-1]), matrix, places(call, *data.shape[-2:]))]


def _triangle(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    offset = int(call.scalar(1)) if call.has(1) else 0
    if data.rank < 2:
        call.refuse("its data are no matrix")
    height, width = data.shape[-2:]
    if data.growth and any(data.growth[-2:]):
        call.not_for_all("keeps a triangle of a dim that grows with the number of samples")
    apart = np.arange(width) - np.arange(height)[:, None]
    kept = apart >= offset if call.attribute("upper") else apart <= offset
    none = np.zeros((), data.array.dtype if data.known else data.dtype.numpy())
    if data.values is not None:
        return [numbers(np.where(kept, data.values, none), data.dtype)]
    zero = numbers(none, data.dtype).linear(call.hashing)
    ends = [None if end is None else np.where(kept, end, 0) for end in (data.integers.low, data.integers.high)]
    return [terms(np.where(kept, data.linear(call.hashing), zero), data.dtype, *ends)]


def _grid(call: Call) -> Sequence[Tensor]:
    """[n, c, h, w] is of the point at [n, h, w] and of all of [n, c]."""
    data, grid = call.tensor(0), call.tensor(1)
    if data.rank != 4 or grid.rank != 4 or grid.shape[3] != 2 or grid.shape[0] != data.shape[0]:
        call.refuse(f"the dims {list(data.shape)} and {list(grid.shape)} do not go together")
    image = content(call, data, (2, 3), keep=True)
    point = content(call, grid, (3,))[:, None]
    return [call.mixed(data.dtype, own(call, *data.shape[2:], *call.settings()), image, point)]


_CONVOLUTION: Final[dict[str, Any]] = {
    "auto_pad": "NOTSET",
    "dilations": Optional(list),
    "group": 1,
    "kernel_shape": Optional(list),
    "pads": Optional(list),
    "strides": Optional(list),
}
_ALL: Final = f"{FLOATS} BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64"
_NARROW: Final = "FLOAT FLOAT16 BFLOAT16"
_ONE: Final = {"T": FLOATS}
_SMALL: Final = {"epsilon": 1e-12}

RECORDS: Final[dict[str | tuple[str, str], Record]] = {
    (DOMAIN, "Gelu"): record(declared(_activation, "T", _ONE)),
    (DOMAIN, "QuickGelu"): record(declared(_activation, "T", _ONE, {"alpha": 1.702})),
    (DOMAIN, "FastGelu"): record(declared(_biased, "T T?", _ONE)),
    (DOMAIN, "BiasGelu"): record(declared(_biased, "T T", _ONE)),
    (DOMAIN, "SkipLayerNormalization"): record(declared(_skip, "T T T T? T?", {"T": _NARROW}, _SMALL, 4)),
    (DOMAIN, "SkipSimplifiedLayerNormalization"): record(declared(_skip, "T T T T?", {"T": _NARROW}, _SMALL, 4)),
    "SimplifiedLayerNormalization": record(
        declared(_simplified, "T V", {"T": FLOATS, "V": FLOATS}, {"axis": -1, "epsilon": 1e-5, "stash_type": 1}, 2)
    ),
    (DOMAIN, "EmbedLayerNormalization"): record(
        declared(
            _embedding,
            "I I? T T T? T T I? I?",
            {"I": "INT32", "T": "FLOAT FLOAT16"},
            {**_SMALL, "mask_index_type": Optional(int)},
            3,
        )
    ),
    (DOMAIN, "FusedGemm"): record(
        declared(
            _gemm,
            "T T T?",
            {"T": "FLOAT FLOAT16 DOUBLE"},
            {
                "activation": Optional(str),
                "activation_alpha": Optional(float),
                "activation_beta": Optional(float),
                "activation_gamma": Optional(float),
                "alpha": 1.0,
                "beta": 1.0,
                "transA": 0,
                "transB": 0,
            },
        )
    ),
    (DOMAIN, "FusedConv"): record(
        declared(
            _convolved,
            "T T T? T?",
            {"T": "FLOAT FLOAT16 DOUBLE"},
            {**_CONVOLUTION, "activation": Optional(str), "activation_params": Optional(list)},
        )
    ),
    (DOMAIN, "Inverse"): record(declared(_inverse, "T", {"T": "FLOAT FLOAT16 DOUBLE"})),
    (DOMAIN, "Trilu"): record(declared(_triangle, "T K?", {"T": _ALL, "K": "INT64"}, {"upper": 1})),
    (DOMAIN, "GridSample"): record(
        declared(
            _grid,
            "T T",
            {"T": "FLOAT FLOAT16 DOUBLE"},
            {"align_corners": 0, "mode": "bilinear", "padding_mode": "zeros"},
        )
    ),
}
