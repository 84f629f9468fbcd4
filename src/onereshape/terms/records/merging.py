"""Movement of the elements of several tensors into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call
from onereshape.terms.hashing import Array
from onereshape.terms.records.bounds import each_bounds, partly_bounded
from onereshape.terms.tensor import Tensor

_NONE: Final = np.iinfo(np.int64)

Together = Callable[[Sequence[Array]], Array]
"""Makes one array of an array from each tensor: a concatenation, say."""


def merged(call: Call, parts: Sequence[Tensor], together: Together) -> Tensor:
    """The elements of tensors put together, with bounds, slopes and places; numbers if all tensors are numbers."""
    kind = parts[0].dtype
    if any(each.dtype != kind for each in parts):
        call.refuse("its parts are of several types")
    beside: dict[str, Any] = {}
    for name in ("slope", "place"):
        given = [getattr(each, name) for each in parts]
        if any(each is not None for each in given):
            beside[name] = together(
                [
                    np.zeros(part.shape, np.int64) if each is None else each
                    for part, each in zip(parts, given, strict=True)
                ]
            )
    if all(each.known for each in parts):
        return Tensor(kind, values=together([each.array for each in parts]), **beside)
    found = Tensor(kind, words=together([each.linear(call.hashing) for each in parts]), **beside)
    if not kind.is_integer():
        return found
    ends = [each_bounds(each) for each in parts]
    low, high = (together([end[side] for end in ends]) for side in (0, 1))
    if all(each.known or each.low is not None for each in parts):
        return replace(found, low=low, high=high, _cache={})
    return partly_bounded(found, low, high, (low > _NONE.min) | (high < _NONE.max))
