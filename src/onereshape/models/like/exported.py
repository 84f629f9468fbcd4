"""Exported: a constant as each of several exports has it; Fit: how it goes on at any size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.models.rewrite import Rewriter
from onereshape.sizes import Formula, Size

Array = np.ndarray[Any, Any]
Binding = Mapping[str, int]
"""The sizes of the free symbols, in one export."""


class Exported(NamedTuple):
    """A constant as each export has it."""

    arrays: tuple[Array, ...]
    """One for each export, all of one type and rank."""
    bindings: tuple[Binding, ...]
    """The sizes of the free symbols in each export."""
    dims: tuple[Size, ...]
    """Its dims, as formulas of the free symbols: in each export they are those of the array."""
    known: tuple[Size, ...] = ()
    """Sizes that tensors of the model have, as such formulas: what lengths and borders may be made of."""

    @property
    def growing(self) -> tuple[int, ...]:
        """The axes whose size depends on the symbols."""
        return tuple(axis for axis, size in enumerate(self.dims) if isinstance(size, Formula))


class Limit(NamedTuple):
    """A size that must not grow beyond a number."""

    size: Size
    most: int
    why: str


class Fit(NamedTuple):
    """How a constant goes on: right in every export, and at all other sizes what the family says."""

    words: str
    """What it is, after "the constant": `counts along axis 1`."""
    at: Callable[[Binding], Array]
    """The constant at given sizes, calculated by NumPy: what `make` computes in a model."""
    make: Callable[[Rewriter], ir.Value]
    """Writes the nodes that compute it."""
    limits: tuple[Limit, ...] = ()
    """Up to which sizes it is known."""


def size_at(size: Size, binding: Binding) -> int:
    """A size at given sizes of its symbols."""
    found = size.at(binding) if isinstance(size, Formula) else size
    if found.denominator != 1:
        raise ValueError(f"{size} is no whole number at {dict(binding)}")
    return int(found)


def dims_at(dims: tuple[Size, ...], binding: Binding) -> tuple[int, ...]:
    """Dims at given sizes of their symbols."""
    return tuple(size_at(size, binding) for size in dims)


def agrees(fit: Fit, exported: Exported) -> bool:
    """Whether a fit is right in every export: integers and truth values exactly, floats to rounding."""
    return all(alike(fit.at(binding), array) for binding, array in zip(exported.bindings, exported.arrays, strict=True))


def alike(found: Array, array: Array) -> bool:
    """Whether an array is another one: integers and truth values exactly, floats to rounding."""
    if found.shape != array.shape or found.dtype != array.dtype:
        return False
    if array.dtype.kind != "f":
        return bool(np.array_equal(found, array))
    finite = np.isfinite(array)
    if not np.array_equal(found[~finite], array[~finite], equal_nan=True) or not np.all(np.isfinite(found[finite])):
        return False
    if not finite.any():
        return True
    one, other = found[finite].astype(np.float64), array[finite].astype(np.float64)
    rounding = 8 * float(np.finfo(array.dtype).eps)
    return bool(np.all(np.abs(one - other) <= rounding * np.maximum(np.abs(other), float(np.abs(other).max()))))
