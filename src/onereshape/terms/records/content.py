"""Ordered content along axes as one word, ready to be an operand.

A fold is linear: one of folds would let elements change places, as multipliers commute, and an integer 0, which has
the word 0, would not be seen at its end.  So each fold is mixed by itself, with the number of its elements.
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
    """The content of words along axes, which are gone, or kept as 1."""
    return _finished(call, call.hashing.fold(words, tuple(axes)), words.shape, axes, keep=keep)


def _finished(call: Call, folded: Words, shape: tuple[int, ...], axes: Sequence[int], *, keep: bool) -> Words:
    count = prod(shape[axis] for axis in axes)
    found = call.hashing.mix(call.hashing.key("content", count), folded)
    return np.expand_dims(found, tuple(sorted(axes))) if keep else found


def places(call: Call, count: int, rank: int, axis: int) -> Words:
    """A word for each place along an axis, to be broadcast: count 5, rank 3, axis 1 -> words of `(1, 5, 1)`."""
    found = call.hashing.leaves(call.hashing.key("place along"), count)
    return found.reshape([count if each == axis else 1 for each in range(rank)])


def zero(call: Call, tensor: Tensor) -> Words:
    """The word of the number 0 of a tensor's type."""
    return call.hashing.constants(np.zeros((), tensor.dtype.numpy()), tensor.dtype.name)


def switch(call: Call, name: str, default: int = 0) -> bool:
    """An attribute that is 0 or 1, as a bool; refused with any other value."""
    found = call.attribute(name, default)
    if found not in {0, 1}:
        call.refuse(f"its attribute {name} is {found}")
    return bool(found)


def growth(tensor: Tensor, axes: Sequence[int]) -> bool:
    """Whether one of these dims grows with the number of samples."""
    return any(tensor.growth[axis] for axis in axes) if tensor.growth else False
