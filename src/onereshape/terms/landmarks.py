"""Landmarks: the numbers that functions were given, by which those of another model are found, rounded otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from math import ceil, log2
from typing import Any, Final

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]

TOLERANCE: Final = 1e-6
"""How far numbers may be apart, relative to themselves and to those around them."""
_ENOUGH: Final = 5
"""Elements of a slice whose largest is not small by chance: these, and one more for four times the slices."""
_AXES: Final = 5
"""Axes of which all orders are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Numbers that were seen, and what is the same of them in any order of their axes."""

    numbers: Numbers
    marks: tuple[float, float, float, float]


@dataclass(slots=True)
class Landmarks:
    """All arrays that were given to a function, by their number of elements."""

    floor: float = 0.0
    """How far numbers may be apart in any case; where it is not 0, the room of the largest number is that of all."""
    learns: bool = True
    """Whether arrays that are new are kept."""
    _known: dict[int, list[_Known]] = field(default_factory=dict)

    def settled(self, numbers: Numbers) -> Numbers:
        """The numbers that were seen before within the tolerance, or these: kept to be found by later ones.

        >>> seen = Landmarks()
        >>> seen.settled(np.array([1.0, 2.0])), seen.settled(np.array([1.0 + 1e-9, 2.0]))
        (array([1., 2.]), array([1., 2.]))
        >>> seen.settled(np.array([[1.0], [2.001]]))
        array([[1.   ],
               [2.001]])
        """
        numbers = np.array(numbers, order="C")
        numbers += 0.0  # 0.0 and -0.0 are one number
        if not numbers.size:
            return numbers
        marks = _marks(numbers)
        known = self._known.setdefault(numbers.size, [])
        for each in known:
            if _may_match(each.marks, marks, numbers.size, self.floor):
                for candidate in _arranged(each.numbers, numbers.shape):
                    if self.close(numbers, candidate):
                        return candidate
        if self.learns:
            known.append(_Known(numbers, marks))
        return numbers

    def close(self, numbers: Numbers, others: Numbers) -> bool:
        """Whether all numbers are within the tolerance of others of the same dims."""
        if not self.floor:
            return close(numbers, others)
        most = float(np.abs(numbers - others).max(initial=0.0))
        return most <= TOLERANCE * float(np.abs(others).max(initial=0.0)) + self.floor


def _marks(numbers: Numbers) -> tuple[float, float, float, float]:
    """The first and the last element, which no order of axes moves, the sum of the squares and the largest."""
    flat = numbers.reshape(-1)
    return float(flat[0]), float(flat[-1]), float(np.dot(flat, flat)), float(np.abs(flat).max())


def _may_match(one: tuple[float, ...], two: tuple[float, ...], size: int, floor: float) -> bool:
    room = 4 * TOLERANCE * max(one[3], two[3]) + floor
    if abs(one[3] - two[3]) > room or any(abs(one[place] - two[place]) > room for place in (0, 1)):
        return False
    return abs(one[2] - two[2]) <= room * max(one[3], two[3]) * size


def _arranged(known: Numbers, shape: tuple[int, ...]) -> Iterator[Numbers]:
    """Known numbers with these dims: in their own order, then with their axes in others, then the other way."""
    yield known.reshape(shape)
    own, wanted = ([dim for dim in dims if dim != 1] for dims in (known.shape, shape))
    if 1 < len(own) <= _AXES:
        plain = known.reshape(own)
        for order in permutations(range(len(own))):
            if order != tuple(range(len(own))):
                yield plain.transpose(order).reshape(shape)
    if 1 < len(wanted) <= _AXES and len(wanted) > len(own):
        for order in permutations(range(len(wanted))):
            if order != tuple(range(len(wanted))):
                moved = known.reshape([wanted[axis] for axis in order])
                yield moved.transpose(np.argsort(order)).reshape(shape)


def close(numbers: Numbers, others: Numbers) -> bool:
    """Whether all numbers are within the tolerance of others of the same dims.

    >>> close(np.array([1.0, 1e3]), np.array([1.0, 1e3 + 1e-4])), close(np.array([1.0]), np.array([1.1]))
    (True, False)
    """
    apart = np.abs(numbers - others)
    largest = float(np.abs(others).max(initial=0.0))
    most = float(apart.max(initial=0.0))
    if not most <= 2 * TOLERANCE * largest:  # NaN is close to nothing
        return most == 0
    return most == 0 or bool(np.all(apart <= TOLERANCE * (np.abs(others) + _scale(others, largest))))


def _scale(numbers: Numbers, largest: float) -> Numbers:
    """The scale around each number: the smallest, over the axes, of the largest number beside it there."""
    size = np.abs(numbers)
    scale: Numbers = np.full((1,) * numbers.ndim, largest)
    for axis in range(numbers.ndim):
        slices = numbers.shape[axis]
        if numbers.size >= (_ENOUGH + ceil(log2(slices) / 2)) * slices:
            others = tuple(other for other in range(numbers.ndim) if other != axis)
            scale = np.minimum(scale, size.max(axis=others, keepdims=True))
    return scale
