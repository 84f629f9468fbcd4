"""Convolutions: the channels of a group are folded, then the places of a window, beside the folded weights.

Each is a sum of products in the end, so that padding is as a Pad with zeros, and a kernel of one place as a MatMul.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.contractions import centred, dot, less, within_type
from onereshape.terms.records.sliding import (
    Windows,
    automatic,
    check_growth,
    contents,
    halves,
    padded,
    pads_of,
    sizes,
    windows_of,
    within,
)
from onereshape.terms.tensor import Tensor, numbers

_SAME_IS_SAID: Final = 11


def _conv(call: Call) -> Sequence[Tensor]:
    bias = call.tensor(2) if call.has(2) else None
    return [_convolved(call, call.tensor(0), call.tensor(1), bias)]


def _convolved(call: Call, data: Tensor, weights: Tensor, bias: Tensor | None, outside: Tensor | None = None) -> Tensor:
    """The convolution of data, with zeros beside the data, or the number `outside`."""
    group, kernel = group_of(call, data, weights), weights.shape[2:]
    windows = windows_of(call, data.shape[2:], kernel)
    check_growth(call, data, windows)
    words, zero = _folded_channels(call, data, group, kernel, outside)
    rows = contents(call, padded(call, words, windows, zero), windows)
    columns = weights.folded(call.hashing, tuple(range(1, weights.rank)))
    return _together(call, data, rows, columns.reshape(group, -1), bias)


def group_of(call: Call, data: Tensor, weights: Tensor) -> int:
    """The number of groups, of operands that go together in them."""
    group = int(call.attribute("group", 1))
    if data.rank != weights.rank or group < 1:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} do not go together in {group} groups")
    filters = f"{group}D M Y *K" if call.op == "ConvTranspose" else f"{group}M D Y *K"
    call.dims(f"N {group}D X *S", filters, *([] if call.op == "ConvInteger" else [f"{group}M ?"]))
    kernel = call.attribute("kernel_shape")
    if (kernel and tuple(kernel) != weights.shape[2:]) or not prod(weights.shape[2:]):
        call.refuse(f"its kernel_shape {kernel} is not that of weights of {list(weights.shape)}")
    if group > 1 and (any(data.growth[1:2]) or weights.grows):
        call.not_for_all("has groups of channels that grow with the number of samples")
    return group


def _folded_channels(
    call: Call, data: Tensor, group: int, kernel: Sequence[int], outside: Tensor | None = None
) -> tuple[Words, Words]:
    """The words of data with the channels of each group folded, `[N, group, ...]`, and of a pad folded alike."""
    zero = call.hashing.constants(np.zeros((), data.dtype.numpy()), data.dtype.name)
    if outside is not None:
        zero = outside.hashed(call.hashing)
    dims = (data.shape[0], group, data.shape[1] // group, *data.shape[2:])
    words = call.hashing.fold(data.hashed(call.hashing).reshape(dims), (2,))
    pad = call.hashing.fold(np.broadcast_to(zero, (1, dims[2])), (1,))
    if prod(kernel) == 1:
        return words, pad
    key = call.key(op="Channels")
    return call.hashing.mix(key, words), call.hashing.mix(key, pad)


def _together(call: Call, data: Tensor, rows: Words, columns: Words, bias: Tensor | None) -> Tensor:
    """The answer `[N, outputs, *places]` of rows `[N, group, *places]` and filters `[group, outputs / group]`."""
    outputs, places = columns.size, rows.shape[2:]
    if bias is not None:
        columns = call.hashing.mix(call.key(op="Bias"), columns, bias.hashed(call.hashing).reshape(columns.shape))
    columns = columns.reshape(*columns.shape, *[1] * len(places))
    found = dot(call, data.dtype, rows[:, :, None], columns)
    return found.moved(lambda array: array.reshape(data.shape[0], outputs, *places))


def _conv_transpose(call: Call) -> Sequence[Tensor]:
    """A convolution of the elements with zeros between them, by a kernel that is read backwards."""
    data, weights = call.tensor(0), call.tensor(1)
    bias = call.tensor(2) if call.has(2) else None
    group = group_of(call, data, weights)
    channels, outputs, *kernel = weights.shape
    windows = spread_windows(call, data.shape[2:], kernel)
    check_growth(call, data, windows)
    words, zero = _folded_channels(call, data, group, kernel)
    rows = _spread_rows(call, words, zero, windows)
    over = (0, *range(2, weights.rank))
    if group == 1:
        columns = weights.folded(call.hashing, over)[None]
    else:
        parts = weights.hashed(call.hashing).reshape(group, channels // group, outputs, *kernel)
        columns = call.hashing.fold(parts, (1, *range(3, parts.ndim)))
    return [_together(call, data, rows, columns, bias)]


def spread_windows(call: Call, dims: Sequence[int], kernel: Sequence[int]) -> list[Windows]:
    """The windows in which a ConvTranspose adds each element, along each axis; `count` is the size of the answer."""
    count = len(dims)
    strides, dilations = sizes(call, "strides", count), sizes(call, "dilations", count)
    pads, how = pads_of(call, count), automatic(call)
    more = [int(each) for each in call.attribute("output_padding") or [0] * count]
    asked = call.attribute("output_shape") or [None] * count
    if len(more) != count or len(asked) != count:
        call.refuse("its output_padding or output_shape is not that of its axes")
    if how.startswith("SAME") and call.version < _SAME_IS_SAID:
        call.refuse("it is not said how it is padded")
    found = []
    for size, width, stride, dilation, pad, extra, wanted in zip(
        dims, kernel, strides, dilations, pads, more, asked, strict=True
    ):
        if not 0 <= extra < max(stride, dilation) or not size:
            call.refuse(f"its output_padding {more} is not below its strides or dilations")
        whole = stride * (size - 1) + extra + (width - 1) * dilation + 1
        target = size * stride if wanted is None and how.startswith("SAME") else wanted
        begin, end = pad if target is None else halves(whole - target, upper=how == "SAME_UPPER")
        if target is not None and (whole < target or (call.version < _SAME_IS_SAID and begin != end)):
            call.refuse("it is not said how it is padded")
        if whole - begin - end < 1:
            call.refuse("its pads are larger than what it makes")
        found.append(Windows(size, width, stride, dilation, begin, end, whole - begin - end))
    return found


def _spread_rows(call: Call, words: Words, zero: Words, windows: Sequence[Windows]) -> Words:
    """The content that each place of a ConvTranspose's answer reads: data apart by strides, with `zero` in between."""
    outer = words.shape[:2]
    dims = [(each.size - 1) * each.stride + 1 for each in windows]
    call.check_size((*outer, *dims))
    apart = np.empty((*outer, *dims), np.uint64)
    apart[...] = zero
    apart[within(slice(None, None, each.stride) for each in windows)] = words
    before = [each.reach - 1 - each.begin for each in windows]
    apart = apart[within(slice(max(-each, 0), None) for each in before)]
    steps = [
        Windows(size, each.kernel, 1, each.dilation, max(first, 0), 0, each.count)
        for size, each, first in zip(apart.shape[2:], windows, before, strict=True)
    ]
    backwards = tuple(range(2, apart.ndim))
    return np.flip(contents(call, np.flip(padded(call, apart, steps, zero), backwards), steps), backwards)


def _conv_integer(call: Call) -> Sequence[Tensor]:
    data, weights = call.tensor(0), call.tensor(1)
    zeros = [call.tensor(place) if call.has(place) else None for place in (2, 3)]
    if zeros[0] is not None:
        if zeros[0].size != 1:
            call.refuse("its zero point is not a scalar")
        zeros[0] = zeros[0].moved(lambda array: array.reshape(()))
    if zeros[1] is not None:
        one = zeros[1].size == 1
        if not one and zeros[1].shape != weights.shape[:1]:
            call.refuse("the zero points of its weights are not one, nor one for each channel")
        dims = [1 if one else -1, *[1] * (weights.rank - 1)]
        zeros[1] = zeros[1].moved(lambda array: array.reshape(dims))
    wide, filters = centred(call, data, zeros[0]), centred(call, weights, zeros[1])
    count = prod(filters.shape[1:])
    if zeros[0] is None or zeros[0].known or not filters.known:
        return [within_type(_convolved(call, wide, filters, None), wide, filters, count)]
    # sum((y - z) * w) = sum(y * w) - z * sum(w), where y is z beside the data
    wide, point = centred(call, data, None), centred(call, zeros[0], None)
    found = within_type(_convolved(call, wide, filters, None, point), wide, filters, count)
    sums = filters.array.astype(np.int64).sum(tuple(range(1, filters.rank))).reshape(-1, *[1] * (filters.rank - 2))
    if np.any(np.abs(sums) > np.iinfo(np.int32).max):
        call.refuse("a sum of its weights is beyond 32 bits")
    return [less(call, found, point, numbers(sums.astype(np.int32), ir.DataType.INT32))]


RECORDS: Final[dict[str, Record]] = {
    "Conv": record(_conv),
    "ConvInteger": record(_conv_integer),
    "ConvTranspose": record(_conv_transpose),
}
