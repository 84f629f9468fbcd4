"""From the plan of a copy to boxes of its elements, for the kernels in `gpu_boxes.cu` and `gpu_squares.cu`.

A box has an extent along each dim; `gpu_shapes` chooses them, and `gpu_banks` how a box lies in shared memory.  All is
by fixed rules on integers.  Sizes, strides and tables are run-time numbers, so that a new shape compiles nothing: there
is one kernel for each unit of bytes and each width of a read, and one more for units in squares.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

from onereshape.arrays.gpu_banks import SECTOR
from onereshape.arrays.gpu_plans import Boxes, Layout, boxes_in
from onereshape.arrays.gpu_shapes import Shape, best
from onereshape.arrays.gpu_squares import ROOMS, TRIMS, pays, side_of, speed, woven
from onereshape.arrays.view_or_copy import CopyPlan

_ROOMS = 32768, 16384, 8192
"""The bytes of a box, the next only where no box of more fits."""

_LARGE, _LESS = 49152, 0.98
"""The bytes of a box of units of a word or more where those of less cost more: fewer of them fit a processor."""

_AT_LEAST = 512
"""The boxes of a copy, where they hold some KB."""

_FAR = 1 << 40
"""How far apart rows are taken to lie that lie anywhere."""


class Cutting(NamedTuple):
    """How boxes are cut: their bytes, their threads (0: by rule), and whether in squares (None: by rule).

    `lined`: reads and writes begin with lines of memory, whatever that costs in banks.  `flat`: see `_flat`.
    """

    room: int = 0
    threads: int = 0
    squares: bool | None = None
    lined: bool = False
    flat: bool = False


BY_RULE = Cutting()

OTHERS = (
    Cutting(24576, squares=False),
    Cutting(16384, lined=True),
    Cutting(24576, flat=True),
    Cutting(49152, threads=512, squares=False),
    Cutting(squares=False, lined=True),
    Cutting(20480),
    Cutting(12288),
    Cutting(65536, squares=False),
    Cutting(32768, flat=True),
    Cutting(16384, threads=128, squares=False),
)
"""Ways that are often faster where the rule's is not: which one, no rule here tells.

Of 40 these are the ten that gain most together, over 2,198 random layouts of 64 MB and more; the first gains most.
"""


@lru_cache(maxsize=4096)
def boxes_of(plan: CopyPlan, alignment: int, way: Cutting = BY_RULE) -> Boxes | None:
    """The launch for a plan whose source begins at a multiple of `alignment` bytes; None where there is no box."""
    if plan.dims == (1,):
        return None
    unit = gcd(16, alignment, plan.item, *plan.source)
    dims = tuple(zip(plan.dims, plan.source, plan.destination, strict=True))
    if plan.item > unit:
        dims += ((plan.item // unit, unit, unit),)
    share = max(2048, plan.nbytes // _AT_LEAST)
    layout = Layout(dims, unit, alignment, way.lined)
    if way.flat:
        return _flat(layout, way.room, share)
    found = None if way.squares else _plain(layout, way.room or _ROOMS[0], share, way.threads)
    if way.squares is False or side_of(dims, unit) is None:
        return found
    other = _in_squares(layout, way.room, share, way.threads)
    return other if other is not None and (found is None or pays(other.run, found.run)) else found


def ways_of(plan: CopyPlan, alignment: int) -> list[Boxes]:
    """The boxes by the rule, and others."""
    found = (boxes_of(plan, alignment, way) for way in (BY_RULE, *OTHERS))
    return list(dict.fromkeys(boxes for boxes in found if boxes is not None))


def _plain(layout: Layout, room: int, share: int, threads: int) -> Boxes | None:
    """The boxes whose units are gathered one by one."""
    dims, unit, *_ = layout
    for most in (room, *(less for less in _ROOMS if less < room)):
        shape = best(dims, unit, min(most, share))
        if shape is not None and most == _ROOMS[0] < share and unit >= 4:
            larger = best(dims, unit, min(_LARGE, share))
            shape = larger if larger is not None and larger.cost < _LESS * shape.cost else shape
        found = None if shape is None else boxes_in(layout, shape, threads, None)
        if found is not None:
            return found
    return None


def _flat(layout: Layout, room: int, share: int) -> Boxes | None:
    """Boxes that are cut anywhere along all inner dims as one, which rows of the source cross; None where none fit.

    So inner dims of 17 by 13 need not be cut at multiples of 13.
    """
    dims, unit, alignment, lined, _ = layout
    side = next((axis for axis, (_, stride, _) in enumerate(dims) if stride == unit), len(dims))
    inner = dims[side + 1 :]
    size = prod(size for size, _, _ in inner)
    if len(inner) < 2 or size >= 1 << 31 or min(stride for _, stride, _ in inner) <= 0:
        return None
    one = size, _FAR + gcd(SECTOR, *(stride for _, stride, _ in inner)), unit
    shape = best((dims[side], one), unit, min(room, share))
    if shape is None or shape.extents[1] == size:
        return None
    before = (1,) * side
    joined = frozenset(axis + side for axis in shape.joined)
    shape = Shape((*before, *shape.extents), (*before, *shape.steps), joined, shape.trim, shape.cost)
    return boxes_in(Layout((*dims[: side + 1], one), unit, alignment, lined, inner), shape, 0, None)


def _in_squares(layout: Layout, room: int, share: int, threads: int) -> Boxes | None:
    """The best boxes in squares, woven where they can be; None where there are none."""
    dims, unit, *_ = layout
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
