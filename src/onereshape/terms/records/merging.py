"""Movement of the elements of several tensors into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onereshape.terms.call import Call
from onereshape.terms.hashing import Array
from onereshape.terms.records.arithmetic import bounds
from onereshape.terms.tensor import Tensor

Together = Callable[[Sequence[Array]], Array]
"""From an array of each tensor to the array of their elements."""


def merged(call: Call, parts: Sequence[Tensor], together: Together) -> Tensor:
    """The elements of some tensors put together, with all that goes beside them; numbers if all are numbers."""
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
    ends = [bounds(each) for each in parts] if kind.is_integer() else [(None, None)]
    if all(low is not None and high is not None for low, high in ends):
        for side, name in enumerate(("low", "high")):
            beside[name] = together([np.asarray(end[side], np.int64) for end in ends])
    return Tensor(kind, words=together([each.hashed(call.hashing) for each in parts]), **beside)
