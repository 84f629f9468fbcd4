"""Convolutions: the channels of a group are folded, then the places of a window, beside the folded weights.

Each is a sum of products in the end, so that padding is as a Pad with zeros, and a kernel of one place as a MatMul.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.contractions import centred, dot
from onereshape.terms.records.sliding import Windows, check_growth, contents, padded, windows_of
from onereshape.terms.tensor import Tensor


def _conv(call: Call) -> Sequence[Tensor]:
    bias = call.tensor(2) if call.has(2) else None
    return [_convolved(call, call.tensor(0), call.tensor(1), bias)]


def _convolved(call: Call, data: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    group = _group(call, data, weights)
    outputs, channels, *kernel = weights.shape
    if data.shape[1] != channels * group or outputs % group:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} do not go together in {group} groups")
    windows = windows_of(call, data.shape[2:], kernel)
    check_growth(call, data, windows)
    rows = _rows(call, data, group, windows)
    columns = weights.folded(call.hashing, tuple(range(1, weights.rank)))
    return _together(call, data, rows, columns.reshape(group, -1), bias)


def _group(call: Call, data: Tensor, weights: Tensor) -> int:
    """The number of groups, of operands that may be those of a convolution."""
    group = int(call.attribute("group", 1))
    if data.rank < 3 or weights.rank != data.rank or group < 1:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} are not those of a convolution")
    kernel = call.attribute("kernel_shape")
    if (kernel and tuple(kernel) != weights.shape[2:]) or not prod(weights.shape[2:]):
        call.refuse(f"its kernel_shape {kernel} is not that of weights of {list(weights.shape)}")
    if group > 1 and (any(data.growth[1:2]) or weights.grows):
        call.doubt("has groups of channels that grow with the number of samples")
    return group


def _rows(call: Call, data: Tensor, group: int, windows: Sequence[Windows]) -> Words:
    """The content of each window: one for each sample, group and place."""
    zero = call.hashing.constants(np.zeros((), data.dtype.numpy()), data.dtype.name)
    dims = (data.shape[0], group, data.shape[1] // group, *data.shape[2:])
    words = call.hashing.fold(data.hashed(call.hashing).reshape(dims), (2,))
    pad = call.hashing.fold(np.broadcast_to(zero, (1, dims[2])), (1,))
    if any(each.kernel > 1 for each in windows):
        key = call.key(op="Channels")
        words, pad = call.hashing.mix(key, words), call.hashing.mix(key, pad)
    return contents(call, padded(call, words, windows, pad), windows)


def _together(call: Call, data: Tensor, rows: Words, columns: Words, bias: Tensor | None) -> Tensor:
    """Rows of samples, groups and places beside columns of groups and output channels."""
    outputs, places = columns.size, rows.shape[2:]
    if bias is not None:
        if bias.shape != (outputs,):
            call.refuse(f"its bias has dims {list(bias.shape)}, and there are {outputs} channels")
        columns = call.hashing.mix(call.key(op="Bias"), columns, bias.hashed(call.hashing).reshape(columns.shape))
    columns = columns.reshape(*columns.shape, *[1] * len(places))
    found = dot(call, data.dtype, rows[:, :, None], columns)
    return found.moved(lambda array: array.reshape(data.shape[0], outputs, *places))


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
    return [_convolved(call, centred(call, data, zeros[0]), centred(call, weights, zeros[1]), None)]


RECORDS: Final[dict[str, Record]] = {
    "Conv": record(_conv),
    "ConvInteger": record(_conv_integer),
}
