"""Normalisations: each element beside the content that it is normalised by, and its own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.content import content, content_of, growth, zero
from onereshape.terms.tensor import Tensor


def _over_last(call: Call) -> Sequence[Tensor]:
    """LayerNormalization, over all axes from `axis` on.

    It stays a record, as its body costs too much: with it the proof of a ViT-B/16 took 10.9 s instead of 4.5.
    """
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
    dtype = call.tensor(1).dtype
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


def _lp(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), data.rank)
    order = call.attribute("p", 2)
    if order not in {1, 2}:
        call.refuse(f"there is no norm {order}")
    return [call.mixed(data.dtype, call.key(order), call.words(0), content(call, data, (axis,), keep=True))]


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
    "LRN": record(_local_response),
    "LayerNormalization": record(_over_last),
    "LpNormalization": record(_lp),
}
