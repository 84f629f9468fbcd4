"""View or copy: what a reshape does to memory, from integers alone.

A reshape keeps the elements' order, so it is a view whenever the strides of data can walk the output dims, and a copy
of data into C order otherwise.  Here is which of the two, the strides of the view, and the plan of the copy, which
every kernel follows.  No array is touched and no library is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal

from onereshape.ground.integers import Dims

CopyKind = Literal["rows", "transpose", "interleave", "deinterleave", "blocks"]

WORDS = (1, 2, 4, 8, 16)
"""The items, in bytes, that a register can hold and transpose."""

FEW = (2, 3, 4)
"""The sizes of a dim that is interleaved whole."""

LINE = 64
"""The bytes of a cache line, which is best read and written whole."""

RUN = 1024
"""The items that are read in one go before any is written."""

LONG = 64 * 1024
"""The bytes of an item from which on the order of items no longer matters, and they are copied as they come."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A copy into C order: items of `item` bytes over `dims`, from strides `source` to strides `destination`, in bytes.

    An item is a run of bytes that is whole on both sides; the dims are the fewest that say it, outermost first as the
    destination has them.  `source_axis` is the dim along which the source moves least, `destination_axis` the one along
    which the destination does, which is the last; `tile` counts the items along each that are moved together.  Long
    items are rows, copied in the destination's order: for them the two axes are one.
    """

    kind: CopyKind
    item: int
    dims: Dims
    source: Dims
    destination: Dims
    source_axis: int
    destination_axis: int
    tile: tuple[int, int]

    @property
    def nbytes(self) -> int:
        return prod(self.dims) * self.item


@lru_cache(maxsize=4096)
def view_strides(dims: Dims, strides: Dims, itemsize: int, output: Dims) -> Dims | None:
    """The strides of a view with the dims `output`, which hold as many elements; None if only a copy has them.

    >>> view_strides((2, 3, 4), (48, 16, 4), 4, (2, 12))
    (48, 4)
    >>> view_strides((3, 2), (4, 12), 4, (6,)) is None
    True
    """
    if 0 in dims:
        return c_strides(output, itemsize)
    runs = collapse(dims, strides)
    found: list[int] = []
    size, stride = runs.pop() if runs else (1, itemsize)
    for dim in reversed(output):
        if dim != 1 and size == 1:
            size, stride = runs.pop()
        if size % dim:
            return None
        found.append(stride)
        size //= dim
        stride *= dim
    return tuple(reversed(found))


def c_strides(dims: Dims, itemsize: int) -> Dims:
    """The strides of an array in C order; an empty dim counts as one of 1, as NumPy has it."""
    found, stride = [], itemsize
    for dim in reversed(dims):
        found.append(stride)
        stride *= dim or 1
    return tuple(reversed(found))


def collapse(dims: Dims, strides: Dims) -> list[tuple[int, int]]:
    """The (size, stride) pairs of the fewest dims that walk the same elements in the same order.

    >>> collapse((2, 3, 1, 4), (48, 16, 7, 4))
    [(24, 4)]
    >>> collapse((3, 2), (4, 12))
    [(3, 4), (2, 12)]
    """
    found: list[tuple[int, int]] = []
    for size, stride in zip(dims, strides, strict=True):
        if size == 1:
            continue
        if found and found[-1][1] == stride * size:
            size *= found.pop()[0]  # noqa: PLW2901 - the two are one dim
        found.append((size, stride))
    return found


@lru_cache(maxsize=4096)
def copy_plan(dims: Dims, strides: Dims, itemsize: int) -> CopyPlan:
    """How to copy data of these dims, none of them 0, into C order.

    >>> copy_plan((2, 3, 4), (4, 8, 24), 4).kind
    'transpose'
    >>> copy_plan((2, 4, 3), (96, 12, 4), 4).dims
    (2,)
    """
    runs = collapse(dims, strides)
    item = itemsize
    if runs and runs[-1][1] == itemsize:
        item *= runs.pop()[0]
    if not runs:
        return CopyPlan("rows", item, (1,), (item,), (item,), 0, 0, (1, 1))
    sizes = tuple(size for size, _ in runs)
    source = tuple(stride for _, stride in runs)
    destination = c_strides(sizes, item)
    last = len(runs) - 1
    moving = [axis for axis, stride in enumerate(source) if stride]
    # Of equal strides the innermost: its destination is nearest too.
    fast = min(reversed(moving), key=lambda axis: abs(source[axis]), default=last) if item < LONG else last
    kind = _kind(item, sizes, source, fast, last)
    return CopyPlan(kind, item, sizes, source, destination, fast, last, _tile(item, sizes[fast], sizes[last]))


def _kind(item: int, sizes: Dims, source: Dims, fast: int, last: int) -> CopyKind:
    if fast == last:
        return "rows"
    if item not in WORDS or source[fast] != item:
        return "blocks"
    if sizes[last] in FEW and fast == last - 1:
        return "interleave"
    if sizes[fast] in FEW and source[last] == sizes[fast] * item:
        return "deinterleave"
    return "transpose"


def _tile(item: int, along_source: int, along_destination: int) -> tuple[int, int]:
    """A long run on the source's side, a whole line on the destination's: reads must be long, writes whole."""
    return min(along_source, RUN), min(along_destination, max(1, LINE // item))
