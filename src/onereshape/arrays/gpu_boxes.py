"""From the plan of a copy to boxes of its elements, for the kernels in `gpu_boxes.cu` and `gpu_squares.cu`.

A box has an extent along each dim; `gpu_shapes` chooses them, and `gpu_banks` how a box lies in shared memory.  All is
by fixed rules on integers.  Sizes, strides and tables are run-time numbers, so that a new shape compiles nothing: there
is one kernel for each unit of bytes and each width of a read, and one more for units in squares.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from onereshape.arrays.gpu_plans import Boxes, Layout, boxes_in
from onereshape.arrays.gpu_shapes import Shape, best
from onereshape.arrays.gpu_squares import ROOMS, TRIMS, pays, side_of, speed, woven
from onereshape.arrays.layout import CopyPlan

_ROOMS = 32768, 16384, 8192
"""The bytes of a box, the next only where no box of more fits."""

_LARGE, _LESS = 49152, 0.98
"""The bytes of a box of units of a word or more where those of less cost more: fewer of them fit a processor."""

_AT_LEAST = 512
"""The boxes of a copy, where they hold some KB."""

_OTHERS = {1: (49152, 0, False), 2: (32768, 512, False)}
_OTHER = 24576, 0, None
"""By the unit and for others: room, threads and way of boxes that are often faster where the best by rule are not."""


@lru_cache(maxsize=4096)
def boxes_of(
    plan: CopyPlan, alignment: int, room: int = 0, threads: int = 0, squares: bool | None = None
) -> Boxes | None:
    """The launch for a plan whose source begins at a multiple of `alignment` bytes; None where there is no box.

    Other boxes than the rule's have another `room`, in bytes, or other `threads`, or are in squares, or not.
    """
    if plan.dims == (1,):
        return None
    unit = gcd(16, alignment, plan.item, *plan.source)
    dims = list(zip(plan.dims, plan.source, plan.destination, strict=True))
    if plan.item > unit:
        dims.append((plan.item // unit, unit, unit))
    share = max(2048, plan.nbytes // _AT_LEAST)
    layout = Layout(dims, unit, alignment)
    found = None if squares else _plain(layout, room or _ROOMS[0], share, threads)
    if squares is False or side_of(dims, unit) is None:
        return found
    other = _in_squares(layout, room, share, threads)
    return other if other is not None and (found is None or pays(other.run, found.run)) else found


def other_boxes(plan: CopyPlan, alignment: int, boxes: Boxes) -> Boxes | None:
    """Other boxes than these, which no rule here tells from them; None where there are none."""
    found = boxes_of(plan, alignment, *_OTHERS.get(boxes.unit, _OTHER))
    return None if found == boxes else found


def _plain(layout: Layout, room: int, share: int, threads: int) -> Boxes | None:
    """The boxes whose units are gathered one by one."""
    dims, unit, _ = layout
    for most in (room, *(less for less in _ROOMS if less < room)):
        shape = best(dims, unit, min(most, share))
        if shape is not None and most == _ROOMS[0] < share and unit >= 4:
            larger = best(dims, unit, min(_LARGE, share))
            shape = larger if larger is not None and larger.cost < _LESS * shape.cost else shape
        found = None if shape is None else boxes_in(layout, shape, threads, None)
        if found is not None:
            return found
    return None


def _in_squares(layout: Layout, room: int, share: int, threads: int) -> Boxes | None:
    """The best boxes in squares, woven where they can be; None where there are none."""
    dims, unit, _ = layout
    side = side_of(dims, unit)
    if side is None:
        return None
    total = unit * prod(size for size, _, _ in dims)
    for weave in (True, False):
        found: dict[Shape, tuple[float, Boxes]] = {}
        for most in (room,) if room else ROOMS:
            shape = best(dims, unit, min(most, share), () if weave else TRIMS)
            if shape is None or shape in found or shape.extents[side] < 4 // unit:
                continue
            if weave and not woven(dims, shape.extents, unit, side):
                continue
            boxes = boxes_in(layout, shape, threads, side)
            if boxes is not None:
                found[shape] = speed(boxes.cost, total / boxes.boxes, boxes.shared, boxes.threads), boxes
        if found:
            return max(found.values(), key=lambda pair: pair[0])[1]
    return None
