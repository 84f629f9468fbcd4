"""Numbers that depend on N: value = c + slope * N + place * s, and what can be said of them for every N >= 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from onereshape.terms.hashing import Array
from onereshape.terms.tensor import Tensor

Part = Array | int


def slope_of(tensor: Tensor) -> Part:
    """The slopes of a tensor's integers, or 0."""
    return 0 if tensor.slope is None else tensor.slope


def place_of(tensor: Tensor) -> Part:
    """The factors of the sample's place in a tensor's integers, or 0."""
    return 0 if tensor.place is None else tensor.place


def formed(values: Array, dtype: Any, slope: Part, place: Part) -> Tensor:
    """A tensor of numbers with slopes and places."""
    return leaning(Tensor(dtype, values=values), slope, place)


def leaning(tensor: Tensor, slope: Part, place: Part) -> Tensor:
    """Integers with slopes and places, which are broadcast; those that are 0 everywhere are left out."""
    parts = [
        np.broadcast_to(np.asarray(part, np.int64), tensor.shape) if np.any(part) else None for part in (slope, place)
    ]
    return replace(tensor, slope=parts[0], place=parts[1], _cache={})


def plain(tensor: Tensor) -> Tensor:
    """A tensor's numbers without slopes, places and growth."""
    return Tensor(tensor.dtype, values=tensor.values)


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
