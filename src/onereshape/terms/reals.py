"""Reals: the second reading of a model, in which floats are real numbers and what is no arithmetic is any function.

A float element is a number of 64 bits, drawn at random for an input.  Sums, products and what is linear are calculated
with these numbers, so that it does not matter how they are written: their order and grouping, factors that are
distributed, a scale that is folded into weights.  Every other function is opaque: its answer is a new random number
that follows from the function and its operands.  Two formulas that are the same polynomials of the same opaque
functions get the same numbers, but for rounding; two that are not get others, whatever was drawn.

Before an opaque function the operands are put beside those that were seen before: what is within the tolerance of one
of them is taken for it.  So constants that were calculated in advance, and are rounded otherwise, do not part two
models, and no rounding is handed on.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.integers import once
from onereshape.terms.landmarks import Landmarks, Numbers

KINDS: Final = frozenset({"FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"})
"""The element types that are read as real numbers."""
_OWN: Final = np.uint64(0x800FFFFFFFFFFFFF)
"""The sign and the fraction of a float of 64 bits."""
_BIAS: Final = 1023
_FRACTION: Final = np.uint64(52)
_LARGE: Final = 1024.0
"""Beyond this a constant would hide what it is added to: it is some number, the same wherever it stands."""
_FEW: Final = 8
"""Numbers that are no more powers of 2 below 1 are not small."""
_FLOOR: Final = 1e-8
"""How far numbers may be apart where those of inputs are small."""


class Reals(Hashing):
    """The hash functions of one seed, and all numbers that opaque functions were given.

    `below` is how many powers of 2 the numbers of inputs and opaque functions are below 1: beside small ones, a small
    constant counts, and the rounding of others, that nearly cancel, is allowed for.
    """

    def __init__(self, seed: int, *, below: int = 0) -> None:
        super().__init__(seed)
        self.below = below
        self._exponent = np.uint64(_BIAS - below) << _FRACTION
        self.landmarks = Landmarks(_FLOOR if below > _FEW else 0.0)

    def is_real(self, kind: str) -> bool:
        """Whether elements of this type are real numbers."""
        return kind in KINDS

    def mix(self, key: int, *operands: Words) -> Words:
        """The answer of a function (its key) of operands in their order, as the bits of a number."""
        return self._drawn(super().mix(key, *operands))

    def blend(self, key: int, *operands: Words) -> Words:
        """The answer of a function (its key) of operands in any order, as the bits of a number."""
        return self._drawn(super().blend(key, *operands))

    def leaves(self, key: int, count: int) -> Words:
        """The bits of a number for each element of an input, or for each place."""
        return self._drawn(super().leaves(key, count))

    def _drawn(self, words: Words) -> Words:
        """The bits of numbers between 1 and 2, of either sign, or as far below: `0 -> 1.0`."""
        return np.asarray((words & _OWN) | self._exponent)

    def multiple(self, step: int, powers: int) -> float:
        """Some number near 2^(step * powers), another for each step: no two that are raised by steps are alike."""
        word = np.asarray(self.key("multiple", step), np.uint64)
        return float(np.abs(self._drawn(word).view(np.float64))) * 2.0 ** (self.below + step * powers)

    def constants(self, array: Array, kind: str) -> Words:
        """The bits of constants as 64-bit floats; a very large one is some number."""
        if kind not in KINDS:
            return super().constants(array, kind)
        found: Numbers = np.asarray(array).astype(np.float64)
        if found.size and not (found.max() <= _LARGE and found.min() >= -_LARGE):
            large = ~(np.abs(found) <= _LARGE)
            words = super().constants(np.where(large, found, 0.0), "DOUBLE")
            found = np.where(large, self._drawn(words).view(np.float64), found)
        return np.asarray(found).view(np.uint64)

    def opaque(self, words: Words) -> Words:
        """The words of numbers, given as bits: equal ones, and such as are as good as equal, have the same."""
        few = once(words)
        found = super().mix(self.key("real"), self.landmarks.settled(few.view(np.float64)).view(np.uint64))
        return np.broadcast_to(found, words.shape)
