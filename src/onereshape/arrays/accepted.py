"""What `reshape` is given, as a type checker sees it: arrays of any library, targets, attributes and chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, SupportsIndex, TypeVar

import numpy as np


class AnyArray(Protocol):
    """An array of NumPy, PyTorch, JAX, CuPy, Dask or the array API; no library is imported to name its own."""

    @property
    def shape(self) -> Sequence[object]:
        """The dims."""

    @property
    def dtype(self) -> object:
        """The type of its elements."""


A = TypeVar("A", bound=AnyArray)
D = TypeVar("D", bound=np.dtype[np.generic])
S = TypeVar("S", bound=np.generic)

GivenTarget = Iterable[SupportsIndex] | AnyArray
"""A target: integers, or a 1-D array of them."""
Attribute = SupportsIndex | Iterable[SupportsIndex]
"""The value of an attribute: a flag (`allowzero`, `special_zero`) or integers (`shape`)."""
Chunk = int | str | Sequence[int] | None
Chunks = int | str | Sequence[Chunk] | Mapping[int, Chunk]
"""Chunks of a Dask array, in all forms that Dask takes."""
