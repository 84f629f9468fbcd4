"""Tensor: a value of a term run, as numbers where they follow from shapes and constants, as terms elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.hashing import Array, Hashing, Words

Move = Callable[[Array], Array]
"""The array of moved elements from an array: a transpose, a slice."""

_KEPT: Final = 1 << 20
"""Words of a constant that are kept for its next reader."""
_LARGEST: Final = (1 << 63) - 1
"""The largest integer of INT64."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """Numbers (`values`) or terms (`words`), never both.

    Arrays that go beside them have the same dims and are moved with them.  For terms that are integers `low` and `high`
    are bounds, which hold whatever is fed.  `slope` and `place` say how integers depend on the number of samples N and
    on the sample s that an element belongs to: value = c + slope * N + place * s, where c is a number or a term.
    """

    dtype: ir.DataType
    values: Array | None = None
    words: Words | None = None
    low: Array | None = None
    high: Array | None = None
    slope: Array | None = None
    place: Array | None = None
    least: Array | None = None
    most: Array | None = None
    """Bounds where only some elements have any: the ends of int64 stand for none."""
    growth: tuple[int, ...] = ()
    """By how much each dim grows with N; () where none does."""
    outer: int = 1
    """How many times the samples follow one another along the dim that grows."""
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def array(self) -> Array:
        """The numbers, or the terms where there are no numbers."""
        if self.values is not None:
            return self.values
        if self.words is None:
            raise TypeError("a tensor has numbers or terms")
        return self.words

    @property
    def known(self) -> bool:
        """Whether the elements are numbers, not terms."""
        return self.values is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dims."""
        return tuple(self.array.shape)

    @property
    def rank(self) -> int:
        """The number of dims."""
        return self.array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.array.size

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers; booleans are not."""
        return self.dtype.is_integer()

    @property
    def depends(self) -> bool:
        """Whether the integers depend on N or on the place of the sample."""
        return self.slope is not None or self.place is not None

    @cached_property
    def grows(self) -> bool:
        """Whether a dim grows with N."""
        return any(self.growth)

    def inner(self, axis: int) -> int:
        """The places of a sample that lie together along a dim that grows: p of outer * N * p; 0 where no dim grows."""
        return self.growth[axis] // self.outer if self.growth else 0

    def moved(self, move: Move) -> Tensor:
        """A tensor of moved elements, with bounds, slopes and places moved alike; the dims' growth is found anew."""
        beside: dict[str, Any] = {}
        for name in _BESIDE:
            array = getattr(self, name)
            beside[name] = None if array is None else move(array)
        for name in ("slope", "place"):  # those that are left may all be 0
            if beside[name] is not None and not beside[name].any():
                beside[name] = None
        return replace(self, **beside, growth=(), outer=1, _cache={})

    @property
    def wraps(self) -> bool:
        """Whether the integers may be what is left of a linear form in their type: nothing shows that it fits."""
        if not self.is_integer or self.dtype == ir.DataType.INT64:
            return False  # words are modulo 2^64, as INT64 is
        return self.low is None if self.values is None else self.dtype == ir.DataType.UINT64

    def linear(self, hashing: Hashing) -> Words:
        """A word for each element, in which integers are linear; what wraps means a number only in its own type."""
        if self.words is not None:
            return self.words
        found: Words | None = self._cache.get("linear")
        if found is None:
            found = hashing.constants(self.array, self.dtype.name)
            if found.size <= _KEPT:
                self._cache["linear"] = found
        return found

    def hashed(self, hashing: Hashing) -> Words:
        """A word for each element, for functions of it: that of an integer is of its value, whatever its type."""
        words = self.linear(hashing)
        if not self.wraps:
            return words
        found: Words | None = self._cache.get("words")
        if found is None:
            found = hashing.mix(hashing.key("wraps", self.dtype.name), words)
            if self.values is not None:
                found = np.where(self.values > _LARGEST, found, words)
            if found.size <= _KEPT:
                self._cache["words"] = found
        return found

    def folded(self, hashing: Hashing, axes: tuple[int, ...]) -> Words:
        """The content along axes; that of a constant is kept."""
        if self.words is not None:
            return hashing.fold(self.hashed(hashing), axes)
        found: Words | None = self._cache.get(axes)
        if found is None:
            if self.wraps:
                found = hashing.fold(self.hashed(hashing), axes)
            else:
                found = hashing.fold_constants(self.array, self.dtype.name, axes)
            self._cache[axes] = found
        return found


def settled(tensor: Tensor) -> Tensor:
    """Integers as numbers where their bounds meet, as after a part of a Concat is taken.

    >>> hashing = Hashing(1)
    >>> words = numbers(np.array([5, -1])).hashed(hashing)
    >>> five = np.array([5, -1])
    >>> settled(terms(words, ir.DataType.INT64, five, five)).values
    array([ 5, -1])
    """
    low, high = (tensor.low, tensor.high) if tensor.low is not None else (tensor.least, tensor.most)
    if tensor.words is None or low is None or high is None or not np.array_equal(low, high):
        return tensor
    values = low.astype(tensor.dtype.numpy())
    return replace(tensor, values=values, words=None, low=None, high=None, least=None, most=None, _cache={})


_BESIDE: Final = ("values", "words", "slope", "place", "low", "high", "least", "most")


def numbers(values: Array, dtype: ir.DataType | None = None) -> Tensor:
    """A tensor of numbers.

    >>> numbers(np.array([2, 3])).shape
    (2,)
    """
    return Tensor(ir.DataType.from_numpy(values.dtype) if dtype is None else dtype, values=values)


_FARTHEST: Final = 1 << 62


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


def terms(words: Words, dtype: ir.DataType, low: Array | None = None, high: Array | None = None) -> Tensor:
    """A tensor of terms; bounds are broadcast, and left out if they are not far from the ends of INT64."""
    if low is None or high is None or not (moderate(low) and moderate(high)):
        return Tensor(dtype, words=words)
    low, high = (np.broadcast_to(np.asarray(bound, np.int64), words.shape) for bound in (low, high))
    return Tensor(dtype, words=words, low=low, high=high)
