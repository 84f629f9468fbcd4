"""Random arrays of every layout that the copy kernels tell apart: seeds in, arrays out."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 128, 130)
"""Around the sides of squares, panels and lines, where kernels go wrong."""


def random_dims(random: Random, most: int, longest: int = 5) -> tuple[int, ...]:
    """Dims of at most so many elements in all."""
    dims: list[int] = []
    for _ in range(random.randint(1, longest)):
        fitting = [size for size in SIZES if size * prod(dims) <= most]
        dims.append(random.choice(fitting))
    return tuple(dims)


def random_view(random: Random, base: Array) -> Array:
    """The array with its axes permuted, some of them taken in steps, backwards, or repeated."""
    view = base.transpose(random.sample(range(base.ndim), base.ndim))
    steps: Any = tuple(slice(None, None, random.choice((1, 1, 1, 1, 2, -1, -2, 3))) for _ in range(view.ndim))
    if random.random() < 0.4:
        view = view[steps]
    if random.random() < 0.1:
        view = np.broadcast_to(view[None], (random.randint(2, 5), *view.shape))
    if random.random() < 0.3 and view.shape[0] > 1:
        view = view[random.randint(0, view.shape[0] - 1) :]
    return view


def random_array(seed: int, most: int = 1 << 16, itemsize: int | None = None, offset: int | None = None) -> Array:
    """Random bytes in items of 1 to 32 bytes, not always aligned."""
    random = Random(seed)  # noqa: S311 - a seed that fails must fail again
    item = itemsize or random.choice((1, 1, 2, 2, 4, 4, 8, 8, 16, 16, random.randint(1, 32)))
    dims = random_dims(random, max(1, most // item))
    shift = random.choice((0, 0, 1, 4, 8)) if offset is None else offset
    raw = np.random.default_rng(seed).integers(0, 256, prod(dims) * item + shift, np.uint8)
    return random_view(random, raw[shift:].view(f"V{item}").reshape(dims))
