"""Normalisations: each element beside the content that it is normalised by, and its own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content, content_of, growth, zero
from onereshape.terms.tensor import Tensor


def _over_last(call: Call) -> Sequence[Tensor]:
    """LayerNormalization and RMSNormalization, over all axes from `axis` on."""
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), data.rank)
    axes = tuple(range(axis, data.rank))
    parameters = []
    for place in range(1, len(call.inputs)):
        if not call.has(place):
            continue
        each = call.tensor(place)
        if not _broadcasts(each.shape, data.shape):
            call.refuse(f"the dims {list(each.shape)} of input {place} do not broadcast to {list(data.shape)}")
        parameters.append(each.hashed(call.hashing))
    epsilon, stash = call.attribute("epsilon", 1e-5), call.attribute("stash_type", 1)
    around = content(call, data, axes, keep=True)
    dtype = call.tensor(1).dtype  # RMSNormalization gives the type of its scale
    key = call.key(epsilon, stash, len(parameters), dtype.name)
    found = [call.mixed(dtype, key, call.words(0), around, *parameters)]
    if call.outputs > 1:
        try:
            kind = ir.DataType(stash)
        except ValueError:
            call.refuse(f"there is no type {stash}")
        found.append(call.mixed(kind, call.key("mean", stash), around))
        found.append(call.mixed(kind, call.key("deviation", stash, epsilon), around))
    return found


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether the one side alone is broadcast.

    >>> _broadcasts((3, 1), (2, 3, 4)), _broadcasts((2,), (1,))
    (True, False)
    """
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _channels(call: Call, data: Tensor, place: int, count: int, repeats: int = 1) -> Words:
    """A parameter for each channel, to be broadcast."""
    words = np.repeat(call.shaped(place, count).hashed(call.hashing), repeats)
    return words.reshape(-1, *[1] * (data.rank - 2))


def _by_channel(call: Call) -> Sequence[Tensor]:
    """InstanceNormalization and GroupNormalization: over a group of channels and all places."""
    data = call.tensor(0)
    if data.rank < (3 if call.op == "InstanceNormalization" else 2):
        call.refuse(f"its data have {data.rank} axes")
    channels = data.shape[1]
    by_group = call.op == "GroupNormalization"
    groups = int(call.attribute("num_groups")) if by_group else channels
    if groups < 0 or (channels and not groups) or (groups and channels % groups):
        call.refuse(f"{channels} channels do not divide into {groups} groups")
    if growth(data, (1,)):
        call.not_for_all("its channels grow with the number of samples")
    each = channels // groups if groups else 1
    whole = data.moved(lambda array: array.reshape(data.shape[0], groups, each, *data.shape[2:]))
    around = content(call, whole, range(2, data.rank + 1))
    around = np.repeat(around, each, 1).reshape(*data.shape[:2], *[1] * (data.rank - 2))
    shared = by_group and call.version < 21
    parameters = [
        _channels(call, data, place, groups if shared else channels, each if shared else 1) for place in (1, 2)
    ]
    stash = call.attribute("stash_type") if by_group else None
    return [
        call.mixed(data.dtype, call.key(call.attribute("epsilon", 1e-5), stash), call.words(0), around, *parameters)
    ]


def _lp(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), data.rank)
    order = call.attribute("p", 2)
    if order not in {1, 2}:
        call.refuse(f"there is no norm {order}")
    return [call.mixed(data.dtype, call.key(order), call.words(0), content(call, data, (axis,), keep=True))]


def _mean_variance(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axes = call.axes(call.attribute("axes", [0, 2, 3]), data.rank)
    return [call.mixed(data.dtype, call.key(), call.words(0), content(call, data, axes, keep=True))]


def _local_response(call: Call) -> Sequence[Tensor]:
    """LRN: a window over the channels; beyond them are zeros, which add nothing to a sum of squares."""
    data = call.tensor(0)
    size = int(call.attribute("size"))
    if data.rank < 2 or size < 1:
        call.refuse(f"a window of {size} over data of {data.rank} axes is none")
    if growth(data, (1,)):
        call.not_for_all("its channels grow with the number of samples")
    count = data.shape[1]
    if not count:
        return [data]
    before, after = (min(each, count) for each in ((size - 1) // 2, size // 2))
    words = data.hashed(call.hashing)
    call.check_size((*data.shape, before + after + 1))
    beyond = np.broadcast_to(zero(call, data), (data.shape[0], before + after, *data.shape[2:]))
    padded = np.concatenate([beyond[:, :before], words, beyond[:, before:]], 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1, 1)
    key = call.key(size, *(call.attribute(name) for name in ("alpha", "beta", "bias")))
    return [call.mixed(data.dtype, key, words, content_of(call, windows, (data.rank,)))]


RECORDS: Final[dict[str, Record]] = {
    "GroupNormalization": record(_by_channel),
    "InstanceNormalization": record(_by_channel),
    "LRN": record(_local_response),
    "LayerNormalization": record(_over_last),
    "LpNormalization": record(_lp),
    "MeanVarianceNormalization": record(_mean_variance),
    "RMSNormalization": record(_over_last),
}
