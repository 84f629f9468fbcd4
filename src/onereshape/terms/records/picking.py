"""Picking elements by an index: by numbers it is movement, by data a function of the index and of all it may pick.

An index within [-L, L) counts from the end if it is negative, so that it stands for its remainder modulo L; bounds of
an index bound what it may pick, which then counts from the lower bound on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.forms import place_of, slope_of
from onereshape.terms.hashing import Array, Words
from onereshape.terms.records.arithmetic import modulo
from onereshape.terms.tensor import Tensor, terms

_WINDOWS: Final = 1 << 14
"""Different ranges that the indices of one node may have."""


def places(call: Call, index: Tensor, length: int) -> Array:
    """Known indices, counted from the front."""
    found = index.array.astype(np.int64)
    if found.size and (found.min() < -length or found.max() >= length):
        call.refuse(f"an index is not within the {length} places that there are")
    return np.where(found < 0, found + length, found)


def check_index(call: Call, index: Tensor, growth: int) -> None:
    """Doubts an index that need not pick of its own sample for every N.

    Along a dim of p * N * q it is c + slope * N + place * s with place = q, and slope a multiple of it; that c is
    within [0, q) shows at N = 1.
    """
    slope, place = np.asarray(slope_of(index)), np.asarray(place_of(index))
    if not growth:
        if index.depends:
            call.doubt("picks by a number that depends on the number of samples")
        return
    if index.size and (not np.all(place > 0) or np.any(slope % np.maximum(place, 1)) or np.any(slope < 0)):
        call.doubt("picks fixed places of a dim that grows with the number of samples")


def windows(call: Call, index: Tensor, length: int) -> tuple[Words, Array, Array]:
    """Words of data-dependent indices counted from their lower bounds, and the bounds of what each may pick."""
    low, high = index.low, index.high
    if low is None or high is None or (index.size and (low.min() < 0 or high.max() >= length)):
        if index.depends:
            call.doubt("picks by a number that depends on the number of samples and has no bounds")
        index = modulo(call, index, np.asarray(length, np.int64))
        low, high = np.zeros(index.shape, np.int64), np.full(index.shape, length - 1, np.int64)
    words = index.hashed(call.hashing) - low.astype(np.uint64) * call.hashing.unit
    return words, low, high


def growth_of(tensor: Tensor, axis: int) -> int:
    """By how much a dim grows with N."""
    return tensor.growth[axis] if tensor.growth else 0


def _gather(call: Call) -> Sequence[Tensor]:
    data, index = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    length = data.shape[axis]
    shape = (*data.shape[:axis], *index.shape, *data.shape[axis + 1 :])
    call.check_size(shape)
    check_index(call, index, growth_of(data, axis))
    if index.values is not None:
        picked = places(call, index, length)
        return [data.moved(lambda array: np.take(array, picked, axis))]
    if data.depends:
        call.doubt("picks by data among numbers that depend on the number of samples")
    if not length:
        call.refuse("picks from nothing")
    words, low, high = windows(call, index, length)
    ranges, which = np.unique(np.stack([low.ravel(), high.ravel()], -1), axis=0, return_inverse=True)
    if len(ranges) > _WINDOWS:
        call.refuse(f"its indices have {len(ranges)} different ranges")
    contents = [_content(call, data, axis, int(first), int(last)) for first, last in ranges]
    if len(contents) == 1:
        content = np.expand_dims(contents[0], tuple(range(axis, axis + index.rank)))
    else:
        content = np.take(np.stack(contents, axis), which.reshape(index.shape), axis)
    behind = (1,) * (data.rank - axis - 1)
    found = call.hashing.mix(call.key(op="Pick"), words.reshape(*index.shape, *behind), content)
    found = np.broadcast_to(found, shape)
    if data.is_integer and data.values is not None and data.size:
        return [terms(found, data.dtype, np.asarray(int(data.values.min())), np.asarray(int(data.values.max())))]
    return [terms(found, data.dtype)]


def _content(call: Call, data: Tensor, axis: int, first: int, last: int) -> Words:
    """All that an index may pick, in its order."""
    if first == 0 and last == data.shape[axis] - 1:
        return data.folded(call.hashing, (axis,))
    part = data.moved(lambda array: array[(slice(None),) * axis + (slice(first, last + 1),)])
    return part.folded(call.hashing, (axis,))


RECORDS: Final[dict[str, Record]] = {
    "Gather": record(_gather, carries=True),
}
