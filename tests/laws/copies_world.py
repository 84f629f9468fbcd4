"""Copies of every kind that the kernels tell apart, around every extent at which they change their ways.

A `Recipe` says which bytes there are and how they are seen; where they lie is the caller's choice, so that the law of
the copies and the sanitizers run over the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from onereshape.arrays.view_or_copy import CopyPlan, copy_plan
from tests.arrays.copying import Array, random_dims, random_view

Dims = tuple[int, ...]

ITEMS = (1, 2, 3, 4, 8, 12, 16, 24)
THREADS = range(1, 10)
LINE = 64


@dataclass(frozen=True, slots=True)
class Recipe:
    """An array of `dims` items of `item` bytes in C order, and the view of it that is copied."""

    name: str
    item: int
    dims: Dims
    view: Callable[[Array], Array]

    @property
    def nbytes(self) -> int:
        return prod(self.dims) * self.item

    def seen(self, base: Array) -> Array:
        """The view of these bytes, which are `nbytes`."""
        return self.view(base.view(f"V{self.item}").reshape(self.dims))


def extents(item: int) -> tuple[int, ...]:
    """Few planes, and around half a square's side, a square's side and a line, one and two of each."""
    side, line = max(2, 16 // item), max(4, LINE // item)
    near = {edge + more for edge in (side // 2, side, line) for more in (-1, 0, 1)} - {0}
    return tuple(sorted(near | {1, 2, 3, 4, 5, 2 * side, 2 * line + 1}))


def world(item: int) -> Iterator[Recipe]:
    """Every layout at every pair of extents: na items along the source's axis, nb along the destination's."""
    for (name, (dims, view)), na, nb in product(LAYOUTS.items(), extents(item), extents(item)):
        yield Recipe(f"{name}, {na} by {nb} items of {item}", item, dims(na, nb), view)
    yield from long(item)


def _reverse(base: Array) -> Array:
    return base.transpose()


def _rows_reversed(base: Array) -> Array:
    """All axes but the last the other way round."""
    return base.transpose(*reversed(range(base.ndim - 1)), base.ndim - 1)


def _gap(base: Array) -> Array:
    return base[..., : base.shape[-1] - 1].transpose()


def _overlapping(base: Array) -> Array:
    """Runs each of which begins in the middle of the one before, so that halves of them follow each other."""
    nb, runs, na = base.shape
    step, item = max(1, na // 2), base.itemsize
    return as_strided(base, (na, runs, nb), (item, step * item, runs * na * item), writeable=False)


Layout = tuple[Callable[[int, int], Dims], Callable[[Array], Array]]

LAYOUTS: dict[str, Layout] = {
    "alone": (lambda na, nb: (nb, na), _reverse),
    "behind an axis": (lambda na, nb: (3, nb, na), lambda base: base.transpose(0, 2, 1)),
    "going on": (lambda na, nb: (nb, 5, na), _reverse),
    "going on twice": (lambda na, nb: (nb, 2, 3, na), _reverse),
    "going on behind an axis": (lambda na, nb: (3, nb, 2, na), lambda base: base.transpose(0, 3, 2, 1)),
    "going on backwards": (lambda na, nb: (nb, 3, na), lambda base: base[::-1, ::-1].transpose()),
    "with a gap": (lambda na, nb: (nb, 3, na + 1), _gap),
    "overlapping": (lambda na, nb: (nb, 4, na), _overlapping),
    "in steps": (lambda na, nb: (nb, 2, 2 * na), lambda base: base[..., ::2].transpose()),
    "in rows": (lambda na, nb: (na, nb + 1, 2), lambda base: base[:, 1:, 0]),
    "repeated": (
        lambda na, nb: (nb, na),
        lambda base: np.broadcast_to(base.T[:, None], (base.shape[1], 3, base.shape[0])),
    ),
}


def long(item: int) -> Iterator[Recipe]:
    """Past the longest run by little and by much, past four lines, and rows so far apart that they crowd the cache.

    Columns of eight lines and more, which are put together where their lines begin anywhere.  And rows that lie
    together, around the lengths from which on their whole lines are written, and the library's copy; also more of them
    in a column, and more columns, than are moved at a time.
    """
    high = max(1, LINE // item)
    for dims in [
        (high, 257),
        (2 * high + 1, 515),
        (high, 3, 259),
        (high, 1040),
        (high + 3, 1030),
        (4 * high + 5, 9),
        (5, 4 * high + 5),
        (high, 17, 64),
        (high + 1, 3, 1040),
        (high, max(1, 4096 // item)),
        (high + 5, 4, max(1, 1024 // item)),
        (16, 9, max(1, 4096 // item)),
        (3, 2, 2, 3, 16),
        (8 * high - 1, 70),
        (8 * high + 1, max(2, 16 // item)),
        (17 * high + 3, 67),
        (9 * high + 1, 2, 66),
    ]:
        yield Recipe(f"long, {dims} items of {item}", item, dims, _reverse)
    for nbytes in (449, 511, 512, 513, 575, 576, 1000, 4096, 4097):
        dims = (7, 5, -(-nbytes // item))
        yield Recipe(f"long rows, {dims} items of {item}", item, dims, lambda base: base.transpose(1, 0, 2))
    for dims in [(19, 3, -(-520 // item)), (2, 18, 2, 3, -(-640 // item)), (300, 2, 2, -(-512 // item))]:
        yield Recipe(f"long rows, {dims} items of {item}", item, dims, _rows_reversed)


def random_recipe(seed: int, most: int = 1 << 14) -> Recipe:
    """Random dims, items and view; now and then of far more bytes than `most`."""
    random = Random(seed)  # noqa: S311 - a seed that fails must fail again
    item = random.choice((1, 1, 2, 2, 4, 4, 8, 8, 16, 16, random.randint(1, 32)))
    dims = random_dims(random, (16 * most if random.random() < 0.02 else most) // item)
    order = random.random()
    return Recipe(f"seed {seed}, {dims} items of {item}", item, dims, lambda base: random_view(Random(order), base))  # noqa: S311


def random_cut(seed: int, nbytes: int) -> tuple[int, int]:
    """How many threads, and the fewest bytes for each."""
    random = Random(f"cut {seed}")  # noqa: S311
    return random.choice(THREADS), random.choice((1, 1, 1, 16, LINE, 1000, max(1, nbytes // 3)))


def plan_of(view: Array) -> CopyPlan:
    return copy_plan(view.shape, view.strides, view.itemsize)


def kernels_plan(kernels: Any, view: Array) -> Any:
    """The plan, in the form of these kernels."""
    plan = plan_of(view)
    return kernels.Plan(plan.item, plan.dims, plan.source, plan.destination, plan.source_axis)
