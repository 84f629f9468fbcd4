"""Operators that put more around some axes, or cut it off: Pad and CenterCropPad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from onereshape.graphs.batch_rules.answers import only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.folding.folded_operators import Unfolded, Use, reference
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted
from onereshape.graphs.record import Record
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size

_Amounts = Sequence[Size | None]


def _pads(view: NodeView, read: Callable[[int], _Amounts | None]) -> _Amounts | None:
    """How much is put at the front of each axis, and then at the end; `read` says what an input holds."""
    if view.opset >= 11:
        return read(1)
    return list(view.attribute("pads" if view.opset > 1 else "paddings", ()))


def shape_pad(asking: Asking) -> Shapes:
    """Pad, entries added before and after axes: `(2, 3)` and pads `[0, 1, 0, 2]` give `(2, 6)`."""
    dims = list(asking.dims(0))
    pads = _pads(asking, asking.elements)
    axes = list(range(len(dims)))
    if asking.has(3):
        given = asking.integers(3)
        if given is None:
            return [asking.unknown(len(dims))]
        axes = [counted(axis, len(dims)) for axis in given]
    if pads is None:
        return [tuple(asking.new() if axis in axes else size for axis, size in enumerate(dims))]
    if len(pads) != 2 * len(axes):
        raise Refused(f"it has {len(pads)} pads for {len(axes)} axes")
    for place, axis in enumerate(axes):
        before, after = pads[place], pads[place + len(axes)]
        total = None if before is None or after is None else dims[axis] + before + after
        dims[axis] = asking.new() if total is None else total
        if isinstance(total, int) and total < 0:
            raise Refused("it cuts away more than there is")
    return [tuple(dims)]


def batch_pad(view: BatchView) -> Iterator[BatchAnswer]:
    """More entries around some axes; around N, none."""
    mark, rank = only_first(view), view.rank(0)
    pads = _pads(view, view.original)
    axes = (view.axes(3, rank) or []) if view.has(3) else list(range(rank))
    if pads is None:
        raise Refused("its pads are computed at run time")
    if len(pads) != 2 * len(axes):
        raise Refused(f"it has {len(pads)} pads for {len(axes)} axes")
    if mark.axis in axes:
        place = axes.index(mark.axis)
        around = (pads[place], pads[place + len(axes)])
        where = f"axis {mark.axis}, which is {mark.size(view.batch)}"
        if None in around:
            raise Refused(f"its pads are computed at run time, and may be others than 0 for {where}")
        if around != (0, 0):
            raise Refused(f"it pads {where}", mixes=True)
    yield BatchAnswer((mark,), () if view.opset < 11 else view.corrected(1, "pads", {}))


def free_pad(view: FreeView) -> Iterator[FreeAnswer]:
    """More at both ends of an axis."""
    dims = view.dims(0)
    pads = _pads(view, view.live)
    axes = view.axes(3, len(dims)) if view.has(3) else list(range(len(dims)))
    if pads is not None and len(pads) != 2 * len(axes or ()):
        raise Refused(f"it has {len(pads)} pads for {len(axes or ())} axes")
    found: list[Axis | None] = list(dims)
    for place, axis in enumerate(axes or ()):
        own = dims[axis]
        around = None if pads is None else (pads[place], pads[place + len(axes or ())])
        if own is None or around is None or around[0] is None or around[1] is None:
            found[axis] = None
        elif around != (0, 0):
            found[axis] = (size_of(own) + around[0] + around[1],)
    yield FreeAnswer((tuple(found),))


def work_pad(use: Use) -> int:
    shape, by = use.given(0).shape, use.list("pads", 1) or []
    given = use.optional(3)
    axes = range(len(shape)) if given is None else [int(axis) for axis in given]
    grown = list(shape)
    for place, axis in enumerate(axes):
        grown[axis] += max(0, int(by[place])) + max(0, int(by[place + len(axes)]))
    return int(prod(grown))


def shape_center_crop_pad(asking: Asking) -> Shapes:
    """CenterCropPad: the dims of data, with the sizes of input 1 at `axes`."""
    dims, sizes = list(asking.dims(0)), asking.elements(1)
    axes = [counted(axis, len(dims)) for axis in asking.attribute("axes", range(len(dims)))]
    if sizes is not None and len(sizes) != len(axes):
        raise Refused("it has not a size for each axis")
    for place, axis in enumerate(axes):
        dims[axis] = asking.size(None if sizes is None else sizes[place])
    return [tuple(dims)]


def batch_center_crop_pad(view: BatchView) -> Iterator[BatchAnswer]:
    """CenterCropPad: N stays if `shape` does not name its axis, or names it with its size, which becomes N."""
    mark, rank = only_first(view), view.rank(0)
    axes = [counted(axis, rank) for axis in view.attribute("axes", range(rank))]
    if mark.axis not in axes:
        yield BatchAnswer((mark,), view.corrected(1, "shape", {}))
        return
    place, asked = axes.index(mark.axis), view.original(1)
    if asked is None or len(asked) != len(axes) or asked[place] is None:
        raise Refused(f"which size it gives axis {mark.axis}, {mark.size(view.batch)}, is not known")
    if asked[place] != mark.size(view.size):
        raise Refused(f"it cuts or pads axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,), view.corrected(1, "shape", {place: mark.size(view.batch)}))


def free_center_crop_pad(view: FreeView) -> Iterator[FreeAnswer]:
    """CenterCropPad: the dims by its shape rule; a free axis that is given its old size is refused."""
    dims, sizes = view.dims(0), view.live(1)
    for place, axis in enumerate(view.attribute("axes", range(len(dims)))):
        own = dims[counted(axis, len(dims))]
        size = None if sizes is None or place >= len(sizes) else sizes[place]
        if own is not None and view.move(size_of(own)) and view.state.then(size_of(own)) == size:
            raise Refused(f"it gives axis {axis}, which is {size_of(own)}, a size of {size}")
    yield from by_shape(view)


def fold_pad(use: Use) -> list[Array]:
    """What is left where pads are negative, engines see differently."""
    by = use.list("pads", 1)
    if by is None or min(by, default=0) < 0:
        raise Unfolded
    return reference(use)


RECORDS = {
    "Pad": Record(
        shape=shape_pad,
        batch=batch_pad,
        slots=frozenset({1}),
        free=free_pad,
        carries=frozenset({0}),
        takes={1: "pads", 3: "axes"},
        folds=True,
        fold=fold_pad,
        work=work_pad,
    ),
    "CenterCropPad": Record(
        shape=shape_center_crop_pad,
        batch=batch_center_crop_pad,
        slots=frozenset({1}),
        free=free_center_crop_pad,
        carries=frozenset({0}),
        takes={1: "new dims"},
    ),
}
