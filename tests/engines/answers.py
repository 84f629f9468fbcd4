"""What is put to an engine and what comes back, in one form for all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

INT64_MAX = 2**63 - 1
Dims = tuple[int, ...]
Interval = tuple[int, int | None]
Answer = tuple[int | Interval, ...] | Literal["unknown"] | None
"""The output dims (an interval where an inference leaves one open), not even their number, or None: refused."""
Ask = Callable[[Dims, Dims, bool], Answer]
Array = NDArray[Any]


@cache
def elements(data: Dims) -> Array:
    """Data whose elements are their own positions in C order."""
    return np.arange(prod(data), dtype=np.float32).reshape(data)


@cache
def int64(target: Dims) -> Array:
    return np.array(target, dtype=np.int64)


def dims_of(output: Array, data: Dims) -> Dims:
    """The dims of what an engine put out, its elements being those of data in the same order."""
    if not np.array_equal(output.ravel(), elements(data).ravel()):
        raise AssertionError(f"the engine changed the elements of data {data}: {output.ravel()[:10]}")
    return tuple(output.shape)
