"""Ordered content along axes as one word, ready to be an operand.

A fold is linear.  Two of them side by side in one mix would let an element of the one change places with an element of
the other, as multipliers commute; so each is mixed by itself, with the number of its elements: an integer 0 has the
word 0, and would not be seen at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from onereshape.terms.call import Call
from onereshape.terms.hashing import Words
from onereshape.terms.tensor import Tensor


def content(call: Call, tensor: Tensor, axes: Sequence[int], *, keep: bool = False) -> Words:
    """The elements along axes, in row-major order of the axes as they lie; the axes are gone, or kept as 1."""
    found = tensor.folded(call.hashing, tuple(sorted(axes)))
    return _finished(call, found, tensor.shape, axes, keep=keep)


def content_of(call: Call, words: Words, axes: Sequence[int], *, keep: bool = False) -> Words:
    """The same of words."""
    return _finished(call, call.hashing.fold(words, tuple(axes)), words.shape, axes, keep=keep)


def _finished(call: Call, folded: Words, shape: tuple[int, ...], axes: Sequence[int], *, keep: bool) -> Words:
    count = prod(shape[axis] for axis in axes)
    found = call.hashing.mix(call.hashing.key("content", count), folded)
    return np.expand_dims(found, tuple(sorted(axes))) if keep else found


def places(call: Call, count: int, rank: int, axis: int) -> Words:
    """A word for each place along an axis, to be broadcast."""
    found = call.hashing.leaves(call.hashing.key("place along"), count)
    return found.reshape([count if each == axis else 1 for each in range(rank)])


def zero(call: Call, tensor: Tensor) -> Words:
    """The word of the number 0 of a tensor's type."""
    return call.hashing.constants(np.zeros((), tensor.dtype.numpy()), tensor.dtype.name)


def growth(tensor: Tensor, axes: Sequence[int]) -> bool:
    """Whether one of these dims grows with the number of samples."""
    return any(tensor.growth[axis] for axis in axes) if tensor.growth else False
