"""Movement of the elements of several tensors into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from onereshape.terms.call import Call
from onereshape.terms.hashing import Array
from onereshape.terms.integers import ENDS
from onereshape.terms.tensor import Tensor, formed

Together = Callable[[Sequence[Array]], Array]
"""Makes one array of an array from each tensor: a concatenation, say."""


def merged(call: Call, parts: Sequence[Tensor], together: Together) -> Tensor:
    """The elements of tensors put together, with bounds, slopes and places; numbers if all tensors are numbers."""
    kind = parts[0].dtype
    if any(each.dtype != kind for each in parts):
        call.refuse("its parts are of several types")
    slope = together([each.slopes() for each in parts]) if any(each.depends for each in parts) else 0
    place = together([each.places() for each in parts]) if any(each.integers.by_place for each in parts) else 0
    if all(each.known for each in parts):
        return formed(together([each.array for each in parts]), kind, slope, place)
    found = Tensor(kind, words=together([each.linear(call.hashing) for each in parts])).leaning(slope, place)
    if not kind.is_integer():
        return found
    ends = [each.each_bounds() for each in parts]
    low, high = (together([end[side] for end in ends]) for side in (0, 1))
    if all(each.known or each.integers.low is not None for each in parts):
        return replace(found, integers=replace(found.integers, low=low, high=high))
    return found.partly_bounded(low, high, (low > ENDS.min) | (high < ENDS.max))
