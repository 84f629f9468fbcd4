"""Hashes of 64 bits that stand for expressions, and how they are put together.

All arithmetic is modulo 2^64.  `mix` stands for a function of its operands in their order, `blend` for one that does
not mind the order, `fold` for ordered content along axes: it is linear, so that it costs no more than reading the
array, and is always mixed before it stands for anything.  The multipliers come from a seed that is drawn at random:
whoever makes a model does not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import prod
from typing import Any, Final

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]
Array = np.ndarray[Any, np.dtype[Any]]

_MASK: Final = (1 << 64) - 1
_FIRST, _SECOND = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_wrapping = np.errstate(over="ignore")
"""Arrays wrap in silence; NumPy minds it of single words."""


class Hashing:
    """The functions of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed & _MASK
        self._multipliers: Words = np.empty(0, np.uint64)
        self._keys: dict[tuple[Any, ...], int] = {}
        self._taps: dict[tuple[str, int, int], Words] = {}
        self.unit = np.uint64(self.key("integer") | 1)
        """What an integer is multiplied with: h(a + b) = h(a) + h(b), h(c * a) = c * h(a)."""

    def key(self, *parts: Any) -> int:
        """A word for names and attributes.

        >>> Hashing(1).key("Relu") == Hashing(1).key("Relu") != Hashing(2).key("Relu")
        True
        """
        try:
            return self._keys[parts]
        except KeyError:
            pass
        except TypeError:  # an array among them
            return self._key(parts)
        found = self._keys[parts] = self._key(parts)
        return found

    def _key(self, parts: tuple[Any, ...]) -> int:
        text = repr(parts).encode("utf-8", "surrogatepass")
        digest = blake2b(text, digest_size=8, key=self.seed.to_bytes(8, "little")).digest()
        return int.from_bytes(digest, "little")

    @_wrapping
    def multipliers(self, count: int) -> Words:
        """Odd words, one for each place; the first of them are always the same."""
        if len(self._multipliers) < count:
            places = np.arange(max(count, 1024), dtype=np.uint64)
            self._multipliers = self._finished(places * self.unit + np.uint64(self.key("place"))) | np.uint64(1)
        return self._multipliers[:count]

    @_wrapping
    def taps(self, kind: str, slot: int, count: int) -> Words:
        """Odd words that are none of those of places: content that was folded may be folded or mixed with them."""
        found = self._taps.get((kind, slot, count))
        if found is None:
            places = np.arange(count, dtype=np.uint64)
            found = self._finished(places * self.unit + np.uint64(self.key(kind, slot))) | np.uint64(1)
            self._taps[kind, slot, count] = found
        return found

    @_wrapping
    def mix(self, key: int, *operands: Words) -> Words:
        """A function of its operands, in their order; they are broadcast."""
        odd = self.taps("operand", 0, len(operands))
        total = np.uint64(key)
        for factor, operand in zip(odd, operands, strict=True):
            total = total + operand * factor
        return self._finished(np.asarray(total))

    @_wrapping
    def blend(self, key: int, *operands: Words) -> Words:
        """A function of its operands in any order."""
        total = np.uint64(key)
        for operand in operands:
            total = total + self._finished(operand + np.uint64(key))
        return self._finished(np.asarray(total))

    @_wrapping
    def fold(self, words: Words, axes: Sequence[int]) -> Words:
        """The content along axes, in its order; the axes are gone."""
        places = sorted(axis % words.ndim for axis in axes)
        rest = [axis for axis in range(words.ndim) if axis not in places]
        count = prod(words.shape[axis] for axis in places)
        moved = words.transpose(*rest, *places).reshape(*(words.shape[axis] for axis in rest), count)
        return np.asarray(moved @ self.multipliers(count))

    @_wrapping
    def slide(  # noqa: PLR0913, PLR0917 - what a window is
        self, words: Words, axis: int, kernel: int, stride: int, dilation: int, slot: int
    ) -> Words:
        """The content of each window along an axis; slots keep windows along several axes apart.

        >>> Hashing(1).slide(np.arange(7, dtype=np.uint64), 0, 3, 2, 1, 0).shape
        (3,)
        """
        count = (words.shape[axis] - (kernel - 1) * dilation - 1) // stride + 1
        before = (slice(None),) * axis
        if count == 1:
            line = np.moveaxis(words, axis, -1)[..., : kernel * dilation : dilation]
            return np.expand_dims(line @ self.taps("tap", slot, kernel), axis)
        parts = [
            words[(*before, slice(first, first + (count - 1) * stride + 1, stride))]
            for first in range(0, kernel * dilation, dilation)
        ]
        odd = self.taps("tap", slot, kernel)
        total: Words = parts[0] * odd[0]
        for part, factor in zip(parts[1:], odd[1:], strict=True):
            total += part * factor
        return total

    @_wrapping
    def running(self, words: Words, axis: int) -> Words:
        """The content along an axis up to each place."""
        shape = [1] * words.ndim
        shape[axis] = words.shape[axis]
        weighted: Words = words * self.multipliers(words.shape[axis]).reshape(shape)
        return np.cumsum(weighted, axis, dtype=np.uint64)

    @_wrapping
    def leaves(self, key: int, count: int) -> Words:
        """Words for the elements of an input, or for places."""
        return self._finished(np.arange(count, dtype=np.uint64) * self.unit + np.uint64(key))

    @_wrapping
    def constants(self, array: Array, kind: str) -> Words:
        """Words for numbers by their value: integers are linear, all else goes by its bits."""
        if array.dtype == object or array.dtype.kind in "USO":
            texts = [_text(each) for each in array.ravel()]
            return np.array([self.key("text", each) for each in texts], np.uint64).reshape(array.shape)
        if array.dtype.kind in "iu" or kind.startswith(("INT", "UINT")):
            return array.astype(np.int64, copy=False).astype(np.uint64) * self.unit
        if array.dtype.kind == "b":
            return self._finished(array.astype(np.uint64) + np.uint64(self.key("bool")))
        if array.dtype.kind == "c":
            pair = np.ascontiguousarray(array).view(array.real.dtype).reshape(*array.shape, 2)
            return self.mix(self.key(kind), *(self.constants(pair[..., part], kind) for part in (0, 1)))
        bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
        return self._finished(bits.astype(np.uint64) * self.unit + np.uint64(self.key("float", kind)))

    @staticmethod
    def _finished(words: Words) -> Words:
        """A bijection that leaves nothing linear."""
        found = words ^ (words >> _SHIFT)
        found *= _FIRST
        found ^= found >> _SHIFT
        found *= _SECOND
        found ^= found >> _SHIFT
        return found


def _text(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
