"""Hypothesis strategies: arrays of any layout, and reshapes that fit them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

Dims = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]


def dims(longest: int = 6, largest: int = 5, smallest: int = 0) -> st.SearchStrategy[Dims]:
    """Dims of small arrays."""
    return st.lists(st.integers(smallest, largest), max_size=longest).map(tuple)


@st.composite
def layouts(draw: st.DrawFn) -> Array:
    """An array of distinct elements, permuted, sliced with steps, reversed, broadcast, unaligned or read-only."""
    base = draw(dims(longest=4, largest=6))
    dtype = np.dtype(draw(st.sampled_from(["i1", "<i2", ">i4", "i8", "f4", "c16"])))
    array: Array = np.arange(prod(base)).astype(dtype).reshape(base)
    if draw(st.booleans()):
        array = array.transpose(draw(st.permutations(range(len(base)))))
    steps = draw(st.tuples(*(st.sampled_from([1, 2, -1, -2]) for _ in base)))
    sliced: Any = (*(slice(None, None, step) for step in steps), ...)
    array = array[sliced]
    if draw(st.booleans()):
        array = np.broadcast_to(array, (draw(st.integers(0, 3)), *array.shape))
    if draw(st.booleans()):
        raw = np.zeros(array.nbytes + 1, np.uint8)
        unaligned = raw[1:].view(array.dtype).reshape(array.shape)
        unaligned[...] = array
        array = unaligned
    array.flags.writeable = False
    return array


@st.composite
def factored(draw: st.DrawFn, volume: int, longest: int = 6) -> Dims:
    """Dims whose product is that volume."""
    if volume == 0:
        found = list(draw(dims(longest=longest - 1)))
        found.insert(draw(st.integers(0, len(found))), 0)
        return tuple(found)
    parts = [1] * draw(st.integers(0 if volume == 1 else 1, longest))
    left, prime = volume, 2
    while left > 1:
        if left % prime:
            prime += 1
            continue
        left //= prime
        parts[draw(st.integers(0, len(parts) - 1))] *= prime
    return tuple(parts)


@st.composite
def chunked(draw: st.DrawFn, dims: Dims, *, empty: bool = True) -> tuple[Dims, ...]:
    """Chunks along each axis, of uneven sizes; now and then one of size 0."""
    found = []
    for dim in dims:
        cuts = sorted(draw(st.sets(st.integers(1, dim - 1), max_size=4))) if dim > 1 else []
        sizes = [after - before for before, after in zip([0, *cuts], [*cuts, dim], strict=True)]
        if empty and draw(st.integers(0, 9)) == 0:
            sizes.insert(draw(st.integers(0, len(sizes))), 0)
        found.append(tuple(sizes))
    return tuple(found)


@st.composite
def worded(draw: st.DrawFn, data: Dims, output: Dims) -> tuple[int, ...]:
    """A target that may ask for `output`: some entries as -1, some that copy as 0."""
    copies = draw(st.sets(st.integers(0, 5)))
    words = list(output)
    for axis in copies:
        if axis < min(len(data), len(output)) and data[axis] == output[axis]:
            words[axis] = 0
    infers = draw(st.booleans())
    if words and infers:
        inferred = draw(st.integers(0, len(words) - 1))
        words[inferred] = -1
    return tuple(words)
