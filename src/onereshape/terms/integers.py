"""Integers: what is known of a tensor's integers beside their numbers or terms, bounds and how they depend on N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from onereshape.terms.hashing import Array

Part = Array | int
"""A part of integers that N or the sample's place decides, for each element, or 0."""

ENDS: Final = np.iinfo(np.int64)
"""The ends of int64, which stand for no bounds."""
_FARTHEST: Final = 1 << 62
_SAFE: Final = 1 << 31
"""Bounds that may be added and multiplied in int64."""


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """What is known of integers whatever is fed; arrays have the dims of the tensor.

    For N samples and the sample s that an element belongs to, value = c + slope * N + place * s, where c is a number or
    a term: the dims of `[N, 3]` are the numbers `[7, 3]` at N = 7 with the slope `[1, 0]`.
    """

    low: Array | None = None
    """Bounds of terms: low <= value <= high.  They say too that a linear form has not wrapped."""
    high: Array | None = None
    least: Array | None = None
    """Bounds where only some elements have any: the ends of int64 stand for none."""
    most: Array | None = None
    slope: Part = 0
    place: Part = 0

    @property
    def by_place(self) -> bool:
        """Whether they depend on the place of the sample."""
        return not isinstance(self.place, int)

    @property
    def depend(self) -> bool:
        """Whether they depend on N or on the place of the sample."""
        return self.by_place or not isinstance(self.slope, int)


NOTHING: Final = Integers()
"""No bounds, and no slope: what is known of most tensors."""


def once(array: Array) -> Array:
    """A broadcast array without its repetitions: dims of 1 where all elements along an axis are the same in memory.

    >>> once(np.broadcast_to(np.array([[5], [6]]), (2, 1000))).shape
    (2, 1)
    """
    return array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]


def moderate(ends: Array) -> bool:
    """Whether bounds may be negated, and are the same as INT64."""
    ends = once(np.asarray(ends))
    return not ends.size or bool(ends.max() <= _FARTHEST and ends.min() >= -_FARTHEST)


def small(*arrays: Array | None) -> bool:
    """Whether all bounds are known and within 2^31, so that they may be added and multiplied in int64."""
    ends = [None if array is None else once(array) for array in arrays]
    return all(
        array is not None and (not array.size or (array.min() > -_SAFE and array.max() < _SAFE)) for array in ends
    )


def held(low: Array, high: Array) -> Array:
    """For each element, whether its bounds may be added and multiplied in int64."""
    return np.asarray((low > -_SAFE) & (high < _SAFE))


def sign_of(value: int, slope: int, samples: int) -> Literal["negative", "zero", "positive", "varies"]:
    """The sign of c + slope * N for all N >= 1, from its value at N = samples.

    >>> sign_of(7, 1, 7), sign_of(6, 1, 7), sign_of(-1, 0, 7), sign_of(0, 0, 7)
    ('positive', 'varies', 'negative', 'zero')
    """
    first = value - slope * (samples - 1)  # at N = 1
    if slope > 0:
        return "positive" if first > 0 else "varies"
    if slope < 0:
        return "negative" if first < 0 else "varies"
    return "positive" if value > 0 else "negative" if value < 0 else "zero"
