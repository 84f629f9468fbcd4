"""Bounds of integers, which hold whatever is fed; a linear form that has bounds has not wrapped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.hashing import Array, Words
from onereshape.terms.tensor import Tensor, moderate, once, terms


def bounded(words: Words, dtype: ir.DataType, low: Any, high: Any) -> Tensor:
    """Integer terms with bounds, as far as the type holds them; objects of Python do not overflow."""
    info = np.iinfo(dtype.numpy()) if dtype.bitwidth >= 8 else None
    if low is None or high is None or info is None or not words.size:
        return terms(words, dtype)
    low, high = np.asarray(low), np.asarray(high)
    if np.min(once(low)) < info.min or np.max(once(high)) > info.max:
        return terms(words, dtype)
    return terms(words, dtype, low, high)


def bounds(tensor: Tensor) -> tuple[Array | None, Array | None]:
    """The bounds of integers.

    Bounds say too that a linear form has not wrapped: one that may have gets none, though its type has limits.
    """
    if tensor.values is not None:
        known = tensor.values.astype(np.int64) if moderate(tensor.values) else None
        return known, known
    return tensor.low, tensor.high


_ENDS: Final = np.iinfo(np.int64)
"""The ends of int64, which stand for no bounds."""


def each_bounds(tensor: Tensor) -> tuple[Array, Array]:
    """The bounds of each integer, or the ends of int64."""
    low, high = bounds(tensor)
    if low is not None and high is not None and low.dtype != np.uint64:
        return low.astype(np.int64, copy=False), high.astype(np.int64, copy=False)
    if tensor.least is not None and tensor.most is not None:
        return tensor.least, tensor.most
    none = np.broadcast_to(np.int64(0), tensor.shape)
    return none + _ENDS.min, none + _ENDS.max


def partly_bounded(tensor: Tensor, low: Array, high: Array, held: Array) -> Tensor:
    """Integer terms with bounds where they hold and are within the type."""
    if tensor.dtype.bitwidth < 8 or tensor.low is not None:
        return tensor
    info = np.iinfo(tensor.dtype.numpy())
    held = np.broadcast_to(held & (low >= info.min) & (high <= min(info.max, _ENDS.max)), tensor.shape)
    if not np.any(held):
        return tensor
    return replace(tensor, least=np.where(held, low, _ENDS.min), most=np.where(held, high, _ENDS.max), _cache={})


_LARGEST: Final = (1 << 63) - 1
"""The largest number that bounds hold."""
_SAFE: Final = 1 << 31
"""Bounds that may be added and multiplied in int64."""


def small(*arrays: Array | None) -> bool:
    """Whether all bounds are known and within 2^31, so that they may be added and multiplied in int64."""
    ends = [None if array is None else once(array) for array in arrays]
    return all(
        array is not None and (not array.size or (array.min() > -_SAFE and array.max() < _SAFE)) for array in ends
    )


def held(low: Array, high: Array) -> Array:
    """For each element, whether its bounds may be added and multiplied in int64."""
    return np.asarray((low > -_SAFE) & (high < _SAFE))
