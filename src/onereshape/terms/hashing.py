"""Hashes of 64 bits that stand for expressions, and how they are put together.

All arithmetic is modulo 2^64.  `mix` stands for a function of its operands in their order, `blend` for one that does
not mind the order, `fold` for ordered content along axes: a weighted sum, so that it costs no more than reading the
array, which is always mixed before it stands for anything.  Integers are linear, so that words may differ by a large
power of 2 that every odd multiplier leaves as it is: all that is summed is stirred before.  The multipliers come from
a seed that is drawn at random: whoever makes a model does not know them.

What is written here in NumPy is the definition; the C++ kernels do the same where they were built.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import prod
from typing import Any, Final, Literal

import numpy as np

try:
    from onereshape.terms import _terms
except ImportError:  # installed without a compiler
    _terms = None  # type: ignore[assignment]

Words = np.ndarray[Any, np.dtype[np.uint64]]
Array = np.ndarray[Any, np.dtype[Any]]

_MASK: Final = (1 << 64) - 1
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT, _HALF = np.uint64(33), np.uint64(32)
_wrapping = np.errstate(over="ignore")
"""Arrays wrap in silence; NumPy minds it of single words."""


def available() -> bool:
    """Whether the kernels were built."""
    return _terms is not None


class Hashing:
    """The hash functions of one seed."""

    def __init__(self, seed: int, *, kernels: bool = True) -> None:
        self.seed = seed & _MASK
        self._kernels = kernels and available()
        self._multipliers: Words = np.empty(0, np.uint64)
        self._keys: dict[str, int] = {}
        self._taps: dict[tuple[str, int, int], Words] = {}
        self.unit = np.uint64(self.key("integer") | 1)
        """What an integer is multiplied with: h(a + b) = h(a) + h(b), h(c * a) = c * h(a)."""
        self._stir = self.key("stir") | 1

    def key(self, *parts: Any) -> int:
        """A word for names and attributes.

        >>> Hashing(1).key("Relu") == Hashing(1).key("Relu") != Hashing(2).key("Relu")
        True
        """
        text = repr([_whole(each) if isinstance(each, np.ndarray) else each for each in parts])
        found = self._keys.get(text)  # by what is written: 1, 1.0 and True are equal, and so are 0.0 and -0.0
        if found is None:
            found = self._keys[text] = self._key(text.encode("utf-8", "surrogatepass"))
        return found

    def _key(self, text: bytes) -> int:
        digest = blake2b(text, digest_size=8, key=self.seed.to_bytes(8, "little")).digest()
        return int.from_bytes(digest, "little")

    def is_real(self, _kind: str) -> bool:
        """Whether elements of this type are read as real numbers, and not as expressions of floats."""
        return False

    def opaque(self, words: Words) -> Words:
        """The words of elements for a function of which nothing is known: the elements' own."""
        return words

    @_wrapping
    def multipliers(self, count: int) -> Words:
        """An odd word for each of `count` places; more places begin with the words of fewer."""
        if len(self._multipliers) < count:
            places = np.arange(max(count, 2 * len(self._multipliers), 1024), dtype=np.uint64)
            self._multipliers = self._finished(places * self.unit + np.uint64(self.key("place"))) | np.uint64(1)
        return self._multipliers[:count]

    @_wrapping
    def taps(self, kind: str, slot: int, count: int) -> Words:
        """Odd words for a kind and a slot, none of them a multiplier, with which folded content is folded or mixed."""
        found = self._taps.get((kind, slot, count))
        if found is None:
            places = np.arange(count, dtype=np.uint64)
            found = self._finished(places * self.unit + np.uint64(self.key(kind, slot))) | np.uint64(1)
            self._taps[kind, slot, count] = found
        return found

    @_wrapping
    def mix(self, key: int, *operands: Words) -> Words:
        """The words of a function (its key) of operands in their order; dims broadcast: `[3], [2, 1] -> [2, 3]`."""
        odd = self.taps("operand", 0, len(operands))
        if self._kernels:
            return _terms.mix(key, odd, *operands)
        total: Any = np.uint64(key)
        for place, (factor, operand) in enumerate(zip(odd, operands, strict=True)):
            total = _stirred(total, factor) + operand if place else total + operand * factor
        return self._finished(np.asarray(total))

    @_wrapping
    def blend(self, key: int, *operands: Words) -> Words:
        """The words of a function (its key) of operands in any order: Add, Max."""
        if self._kernels:
            return _terms.blend(key, *operands)
        total: Any = np.uint64(key)
        for operand in operands:
            total = total + self._finished(operand + np.uint64(key))
        return self._finished(np.asarray(total))

    def fold(self, words: Words, axes: Sequence[int]) -> Words:
        """The content along axes in its order, which are gone: words of `[2, 3, 4]` along (1,) -> words of `[2, 4]`."""
        places, count = _places(words, axes)
        return self._folded(words, places, self.multipliers(count))

    @_wrapping
    def _folded(self, words: Words, places: Sequence[int], odd: Words) -> Words:
        if self._kernels:
            return _terms.fold(words, places, odd, self._stir)
        rest = [axis for axis in range(words.ndim) if axis not in places]
        moved = words.transpose(*rest, *places).reshape(*(words.shape[axis] for axis in rest), len(odd))
        return np.asarray(self._summed(moved) @ odd)

    def fold_constants(self, array: Array, kind: str, axes: Sequence[int]) -> Words:
        """The content of constants along axes, as `fold` has it of their words, which need not be there at one time."""
        if not self._kernels or array.dtype.kind in "OUSc":
            return self.fold(self.constants(array, kind), axes)
        places, count = _places(array, axes)
        values, means, unit, key = self._plain(array, kind)
        return _terms.fold_numbers(values, places, self.multipliers(count), self._stir, means, unit, key)

    def slide(  # noqa: PLR0913, PLR0917 - what a window is
        self, words: Words, axis: int, kernel: int, stride: int, dilation: int, slot: int
    ) -> Words:
        """The content of each window along an axis; slots keep windows along several axes apart.

        >>> Hashing(1).slide(np.arange(7, dtype=np.uint64), 0, 3, 2, 1, 0).shape
        (3,)
        """
        axis %= words.ndim
        room = words.shape[axis] - (kernel - 1) * dilation
        if min(kernel, stride, dilation, room) < 1:
            raise ValueError(f"no window of {kernel} with steps {stride} and {dilation} in {words.shape[axis]}")
        count, step = (room - 1) // stride + 1, words.strides[axis]
        seen = np.lib.stride_tricks.as_strided(
            words,
            (*words.shape[:axis], count, *words.shape[axis + 1 :], kernel),
            (*words.strides[:axis], step * stride, *words.strides[axis + 1 :], step * dilation),
            writeable=False,
        )
        return self._folded(seen, [words.ndim], self.taps("tap", slot, kernel))

    @_wrapping
    def running(self, words: Words, axis: int) -> Words:
        """The content along an axis up to each place."""
        axis %= words.ndim
        odd = self.multipliers(words.shape[axis])
        if self._kernels:
            return _terms.running(words, axis, odd, self._stir)
        shape = [1] * words.ndim
        shape[axis] = words.shape[axis]
        weighted: Words = self._summed(words) * odd.reshape(shape)
        return np.cumsum(weighted, axis, dtype=np.uint64)

    @_wrapping
    def leaves(self, key: int, count: int) -> Words:
        """Words for the elements of an input, or for places."""
        if self._kernels:
            return _terms.leaves(count, int(self.unit), key)
        return self._finished(np.arange(count, dtype=np.uint64) * self.unit + np.uint64(key))

    @_wrapping
    def constants(self, array: Array, kind: str) -> Words:
        """Words for numbers by their value: integers are linear, all else goes by its bits."""
        array = np.asarray(array)  # a single number too
        if array.dtype == object or array.dtype.kind in "USO":
            texts = [_text(each) for each in array.ravel()]
            return np.array([self.key("text", each) for each in texts], np.uint64).reshape(array.shape)
        if array.dtype.kind == "c":
            pair = np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
            return self.mix(self.key(kind), *(self.constants(pair[..., part], kind) for part in (0, 1)))
        values, means, unit, key = self._plain(array, kind)
        if self._kernels:
            return _terms.numbers(values, means, unit, key)
        if means == "integers":
            return values.astype(np.int64, copy=False).astype(np.uint64) * np.uint64(unit)
        return self._finished(np.asarray(values.astype(np.uint64) * np.uint64(unit) + np.uint64(key)))

    def _plain(self, array: Array, kind: str) -> tuple[Array, Literal["bits", "integers", "booleans"], int, int]:
        """Numbers as a kernel takes them, how it reads them (`bits` of a float), and their multiplier and key."""
        unit = int(self.unit)
        if array.dtype.kind in "iu" or kind.startswith(("INT", "UINT")):
            plain = array.dtype.kind in "iu" and array.dtype.isnative
            return (array if plain else array.astype(np.int64)), "integers", unit, 0
        if array.dtype.kind == "b":
            return array, "booleans", 1, self.key("bool")
        return array.view(f"u{array.dtype.itemsize}"), "bits", unit, self.key("float", kind)

    def _summed(self, words: Words) -> Words:
        """Words as they go into a sum; none of them is 0, as the number 0 is."""
        stir = np.uint64(self._stir)
        found: Words = _stirred(words + stir, stir)
        return found

    @staticmethod
    def _finished(words: Words) -> Words:
        """A bijection that leaves nothing linear."""
        found = words ^ (words >> _SHIFT)
        found *= _FIRST
        found ^= found >> _SHIFT
        found *= _SECOND
        found ^= found >> _SHIFT
        return found


def _whole(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    """An array with all its numbers: its repr leaves some out."""
    return array.dtype.name, array.shape, array.tobytes()


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def _stirred(words: Any, factor: np.uint64) -> Any:
    """A bijection that costs half as much as the last one, and is enough before a sum."""
    found = (words ^ (words >> _HALF)) * factor
    return found ^ (found >> _HALF)


def _places(array: Array, axes: Sequence[int]) -> tuple[list[int], int]:
    """Axes in their order, counted from the front, and how many elements there are along them."""
    places = sorted(axis % array.ndim for axis in axes)
    return places, prod(array.shape[axis] for axis in places)
