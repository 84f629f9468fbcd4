"""Tensor: a value of a term run, as numbers where they follow from shapes and constants, as terms elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.integers import ENDS, NOTHING, Integers, Part, moderate, once

Move = Callable[[Array], Array]
"""The array of moved elements from an array: a transpose, a slice."""

_KEPT: Final = 1 << 20
"""Words of a constant that are kept for its next reader."""
_LARGEST: Final = (1 << 63) - 1
"""The largest integer of INT64."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """Numbers (`values`) or terms (`words`), never both, and what is known of them if they are integers."""

    dtype: ir.DataType
    values: Array | None = None
    words: Words | None = None
    integers: Integers = NOTHING
    growth: tuple[int, ...] = ()
    """By how much each dim grows with N; () where none does."""
    outer: int = 1
    """How many times the samples follow one another along the dim that grows."""
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

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
        return self.integers.depend

    @cached_property
    def grows(self) -> bool:
        """Whether a dim grows with N."""
        return any(self.growth)

    def inner(self, axis: int) -> int:
        """The places of a sample that lie together along a dim that grows: p of outer * N * p; 0 where no dim grows."""
        return self.growth[axis] // self.outer if self.growth else 0

    def moved(self, move: Move) -> Tensor:
        """A tensor of moved elements, with bounds, slopes and places moved alike; the dims' growth is found anew."""
        values = None if self.values is None else move(self.values)
        words = None if self.words is None else move(self.words)
        if self.integers is NOTHING:
            return Tensor(self.dtype, values, words)
        low, high, least, most = (
            None if end is None else move(end)
            for end in (self.integers.low, self.integers.high, self.integers.least, self.integers.most)
        )
        slope, place = (
            0 if isinstance(part, int) else _or_nothing(move(part))
            for part in (self.integers.slope, self.integers.place)
        )
        return Tensor(self.dtype, values, words, Integers(low, high, least, most, slope, place))

    def leaning(self, slope: Part, place: Part) -> Tensor:
        """The integers with slopes and places, which are broadcast; those that are 0 everywhere are left out."""
        parts = [
            np.broadcast_to(np.asarray(part, np.int64), self.shape) if np.any(part) else 0 for part in (slope, place)
        ]
        return replace(self, integers=replace(self.integers, slope=parts[0], place=parts[1]))

    def slopes(self) -> Array:
        """The slope of each integer."""
        return np.broadcast_to(np.asarray(self.integers.slope, np.int64), self.shape)

    def places(self) -> Array:
        """The factor of the sample's place in each integer."""
        return np.broadcast_to(np.asarray(self.integers.place, np.int64), self.shape)

    def bounds(self) -> tuple[Array | None, Array | None]:
        """The bounds of the integers.

        Bounds say too that a linear form has not wrapped: one that may have gets none, though its type has limits.
        """
        if self.values is not None:
            known = self.values.astype(np.int64) if moderate(self.values) else None
            return known, known
        return self.integers.low, self.integers.high

    def each_bounds(self) -> tuple[Array, Array]:
        """The bounds of each integer, or the ends of int64."""
        low, high = self.bounds()
        if low is not None and high is not None and low.dtype != np.uint64:
            return low.astype(np.int64, copy=False), high.astype(np.int64, copy=False)
        if self.integers.least is not None and self.integers.most is not None:
            return self.integers.least, self.integers.most
        none = np.broadcast_to(np.int64(0), self.shape)
        return none + ENDS.min, none + ENDS.max

    def partly_bounded(self, low: Array, high: Array, held: Array) -> Tensor:
        """Integer terms with bounds where they hold and are within the type."""
        if self.dtype.bitwidth < 8 or self.integers.low is not None:
            return self
        info = np.iinfo(self.dtype.numpy())
        held = np.broadcast_to(held & (low >= info.min) & (high <= min(info.max, ENDS.max)), self.shape)
        if not np.any(held):
            return self
        least, most = np.where(held, low, ENDS.min), np.where(held, high, ENDS.max)
        return replace(self, integers=replace(self.integers, least=least, most=most))

    @property
    def wraps(self) -> bool:
        """Whether the integers may be what is left of a linear form in their type: nothing shows that it fits."""
        if not self.is_integer or self.dtype == ir.DataType.INT64:
            return False  # words are modulo 2^64, as INT64 is
        return self.integers.low is None if self.values is None else self.dtype == ir.DataType.UINT64

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
        real = hashing.is_real(self.dtype.name)
        if not self.wraps and not real:
            return words
        found: Words | None = self._cache.get("words")
        if real and found is None:
            found = self._cache["words"] = hashing.opaque(words)
        if found is None:
            found = hashing.mix(hashing.key("wraps", self.dtype.name), words)
            if self.values is not None:
                found = np.where(self.values > _LARGEST, found, words)
            if found.size <= _KEPT:
                self._cache["words"] = found
        return found

    def folded(self, hashing: Hashing, axes: tuple[int, ...]) -> Words:
        """The content along axes; that of a constant is kept."""
        if self.words is not None or hashing.is_real(self.dtype.name):
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
    known = tensor.integers
    low, high = (known.low, known.high) if known.low is not None else (known.least, known.most)
    if tensor.words is None or low is None or high is None or not np.array_equal(low, high):
        return tensor
    values, leaning = low.astype(tensor.dtype.numpy()), Integers(slope=known.slope, place=known.place)
    return replace(tensor, values=values, words=None, integers=leaning)


def _or_nothing(part: Array) -> Part:
    """Slopes or places, or 0 where all that are left are 0."""
    return part if part.any() else 0


def numbers(values: Array, dtype: ir.DataType | None = None) -> Tensor:
    """A tensor of numbers.

    >>> numbers(np.array([2, 3])).shape
    (2,)
    """
    return Tensor(ir.DataType.from_numpy(values.dtype) if dtype is None else dtype, values=values)


def formed(values: Array, dtype: ir.DataType, slope: Part, place: Part) -> Tensor:
    """A tensor of numbers with slopes and places."""
    return Tensor(dtype, values=values).leaning(slope, place)


def terms(words: Words, dtype: ir.DataType, low: Array | None = None, high: Array | None = None) -> Tensor:
    """A tensor of terms; bounds are broadcast, and left out if they are not far from the ends of INT64."""
    if low is None or high is None or not (moderate(low) and moderate(high)):
        return Tensor(dtype, words=words)
    low, high = (np.broadcast_to(np.asarray(bound, np.int64), words.shape) for bound in (low, high))
    return Tensor(dtype, words=words, integers=Integers(low, high))


def bounded(words: Words, dtype: ir.DataType, low: Any, high: Any) -> Tensor:
    """Integer terms with bounds, as far as the type holds them; objects of Python do not overflow."""
    info = np.iinfo(dtype.numpy()) if dtype.bitwidth >= 8 else None
    if low is None or high is None or info is None or not words.size:
        return terms(words, dtype)
    low, high = np.asarray(low), np.asarray(high)
    if np.min(once(low)) < info.min or np.max(once(high)) > info.max:
        return terms(words, dtype)
    return terms(words, dtype, low, high)
