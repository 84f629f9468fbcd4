"""Arrays of random bits and any strides."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.uint64) -> Array:
    """Random bits."""
    count = prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer(rng.bytes(max(count, 1))[:count], dtype).reshape(shape)


def strided(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.uint64) -> Array:
    """An array in any order, with gaps, backwards, broadcast, or not aligned."""
    order = rng.permutation(len(shape))
    steps = rng.integers(1, 3, len(shape))
    around = drawn(rng, tuple(int(shape[axis] * steps[axis]) for axis in order), dtype)
    found = around[tuple(slice(None, None, int(steps[axis])) for axis in order)].transpose(np.argsort(order))
    found = found[tuple(slice(None, None, int(rng.choice([1, 1, -1]))) for _ in shape)]
    if found.ndim and rng.random() < 0.2:
        axis = int(rng.integers(found.ndim))
        found = np.broadcast_to(found.take([0], axis), shape) if shape[axis] else found
    if rng.random() < 0.2:
        raw = np.empty(found.nbytes + 1, np.uint8)
        unaligned: Array = np.ndarray(found.shape, found.dtype, raw, 1)
        unaligned[...] = found
        found = unaligned
    assert found.shape == shape
    return found


def shapes(rng: np.random.Generator, most: int = 5) -> tuple[int, ...]:
    """Dims, now and then empty."""
    rank = int(rng.integers(0, most))
    return tuple(int(dim) for dim in rng.choice([0, 1, 2, 3, 5, 9, 17], rank, p=[0.02, 0.2, 0.2, 0.2, 0.18, 0.1, 0.1]))


def narrowed(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Dims that are broadcast to these."""
    kept = tuple(1 if rng.random() < 0.3 else dim for dim in shape)
    return kept[int(rng.integers(0, len(kept) + 1)) if rng.random() < 0.3 else 0 :]
