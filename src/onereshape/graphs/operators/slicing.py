"""Slice: a part of some axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product as combinations
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import only_first
from onereshape.graphs.batch_rules.marks import Mark, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, Unknown
from onereshape.graphs.folding.folded_operators import Unfolded, Use
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.state import FreeAnswer, Limit
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted, paired
from onereshape.graphs.operators.filling import steps_on
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import LAST, Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size, cut, is_size, largest, smallest

_BOUNDS = ("starts", "ends", "axes", "steps")
Read = Callable[[int], Sequence[Size | None] | None]
"""The number of an input -> the sizes that the input holds, None where they are not known."""

_BEYOND = 10**8
"""An end that no batch reaches: whoever writes one means all there are."""
_BOUNDS_ARE_INPUTS = 10
_NAMED = ((1, "starts"), (2, "ends"))
_ALL = 2**31 - 1
"""An end of a slice that no size reaches; exporters write it, or the largest int64, for "to the end"."""


def _bounds(view: NodeView, read: Read, name: str, index: int) -> Sequence[Size | None] | None:
    """One of the vectors of a Slice, which were attributes before opset 10; `read` says what an input holds."""
    return view.attribute(name) if view.opset < 10 else read(index)


def shape_slice(asking: Asking) -> Shapes:
    """The exact number of elements, also where the dim is shorter than the cut; unknown where the cut is."""
    dims = list(asking.dims(0))
    starts, ends, axes, steps = (_bounds(asking, asking.elements, name, index) for index, name in enumerate(_BOUNDS, 1))
    count = next((len(each) for each in (axes, starts, ends) if each is not None), asking.length(1))
    if count is None or (axes is None and asking.has(3)):
        return [asking.unknown(len(dims))]
    unread = steps is None and asking.has(4)
    for place in range(count):
        number = place if axes is None else axes[place]
        if not isinstance(number, int):  # along which axis is told at run time
            return [asking.unknown(len(dims))]
        axis = counted(number, len(dims))
        start, end = (None if each is None else each[place] for each in (starts, ends))
        step = None if unread else 1 if steps is None else steps[place]
        dims[axis] = asking.size(_sliced(dims[axis], start, end, step))
    return [tuple(dims)]


def _sliced(size: Size, start: Size | None, end: Size | None, step: Size | None) -> Size | None:
    """How many elements a slice takes of a dim; None where that is not known, or engines differ."""
    if not isinstance(start, int) or not isinstance(step, int) or step == 0:
        return None
    if not isinstance(end, int):
        whole = end is not None and start >= 0 and step == 1 and is_size(end)
        return largest(0, smallest(end, size) - start) if whole and end is not None else None
    if step < 0 and end >= _ALL:  # "to the end", which is not the same end for all
        return None
    if isinstance(size, int):
        return len(range(*_taken(size, start, end, step).indices(size)))
    # What lies beyond the dim on the one side need not be clamped: the difference is below 0 then anyway.
    if step > 0:
        begin: Size = start if start >= 0 else _below(size, start, 0)
        stop: Size = size if end >= _ALL else smallest(end, size) if end >= 0 else _below(size, end, 0)
        return steps_on(stop - begin, step)
    if start >= _ALL or start == -1:
        begin = size - 1
    else:
        begin = smallest(start if start >= 0 else _below(size, start, 0), size - 1)
    stop = end if end >= 0 else _below(size, end, -1)
    return steps_on(begin - stop, -step)


def _below(size: Size, place: int, low: int) -> Size:
    """A place that is counted from the end, and not before `low`."""
    return low if place <= -_ALL else largest(low, size + place)


def _taken(size: int, start: int, end: int, step: int) -> slice:
    """A slice as Python has it, but for a start before the first element: going backwards it is the first."""
    return slice(0 if step < 0 and start < -size else start, end, step)


def held_slice(holding: Holding) -> Elements:
    """The elements of the part."""
    data = holding.given(0)
    starts, ends = holding.numbers("starts", 1), holding.numbers("ends", 2)
    if starts is None or ends is None:
        raise Unknown
    axes, steps = holding.numbers("axes", 3), holding.numbers("steps", 4)
    index: list[Any] = [slice(None)] * data.ndim
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, range(len(starts)) if axes is None else axes, steps, strict=True):
        if step < 0 and end >= _ALL:  # "to the end", which engines understand differently
            raise Unknown
        index[axis] = _taken(data.shape[axis], start, end, step)
    return [data[tuple(index)]]


def batch_slice(view: BatchView) -> Iterator[BatchAnswer]:
    """A part of some axes; of N's own axis the whole, or some of the rows of samples that follow one another there."""
    mark, dims = only_first(view), view.dims(0)
    rank = len(dims)
    starts, ends = (_bounds(view, view.original, name, index) for index, name in enumerate(_BOUNDS[:2], 1))
    axes = view.axes(3, rank) if view.opset < 10 or view.has(3) else None
    if axes is None:
        axes = list(range(rank if starts is None else len(starts)))
    place = axes.index(mark.axis) if mark.axis in axes else None
    own: dict[str, dict[int, Size]] = {"starts": {}, "ends": {}, "steps": {}}
    if place is not None:
        steps = view.original(4) if view.has(4) else [1] * len(axes)
        if starts is None or ends is None or steps is None:
            raise Refused("what it takes is computed at run time")
        from_end = view.state.named and isinstance(starts[place], int) and starts[place] < 0  # type: ignore[operator]
        bounds = starts[place], ends[place], steps[place]
        if not from_end and _takes_all(*bounds, dims[mark.axis]):
            own = {"starts": {place: 0}, "ends": {place: _whole_end(view, mark, place, ends[place])}}
        elif not from_end and (rows := _rows(view, mark, *bounds)) is not None:
            one = times(mark.inner, view.batch)
            end = times(rows[1], one) if rows[1] != mark.outer else _whole_end(view, mark, place, ends[place])
            own = {"starts": {place: times(rows[0], one)}, "ends": {place: end}}
            if view.state.named and any(_live(view, index, place) != own[name][place] for index, name in _NAMED):
                raise Refused(f"it takes a part of axis {mark.axis}, which is {mark.size(view.batch)}")
            mark = mark._replace(outer=rows[1] - rows[0])
        else:
            raise Refused(_what(mark, view, *bounds), mixes=view.size > 1)
        own["steps"] = {place: 1}
    edits = [
        edit for name, index in (("starts", 1), ("ends", 2), ("steps", 4)) for edit in _part(view, name, index, own)
    ]
    yield BatchAnswer((mark,), tuple(edits))


def _what(mark: Mark, view: BatchView, start: Size | None, end: Size | None, step: Size | None) -> str:
    """What a Slice does to the axis that carries N, where it does not take all of it in its order."""
    axis = f"axis {mark.axis}, which is {mark.size(view.batch)}"
    here = view.dims(0)[mark.axis]
    known = isinstance(start, int) and isinstance(end, int) and isinstance(step, int) and isinstance(here, int)
    if known and step < 0 and len(range(here)[_taken(here, start, end, step)]) == here:  # type: ignore[operator, arg-type]
        return f"it reverses {axis}, so that the samples come out in another order"
    return f"it takes a part of {axis}"


def _live(view: BatchView, index: int, place: int) -> Size | None:
    """An entry of a vector when N is free."""
    live = view.live(index)
    return None if live is None else live[place]


def _rows(
    view: BatchView, mark: Mark, start: Size | None, end: Size | None, step: Size | None
) -> tuple[int, int] | None:
    """Which of the rows of all samples a Slice takes, where several follow one another: `chunk` of `cat([x, x])`."""
    outer, inner = mark.outer, mark.inner
    if not isinstance(outer, int) or not isinstance(inner, int) or not isinstance(start, int):
        return None
    if not isinstance(end, int) or outer == 1 or step != 1 or view.opset < _BOUNDS_ARE_INPUTS:
        return None
    row, size = view.size * inner, outer * view.size * inner
    first, last = (min(max(place + size if place < 0 else place, 0), size) for place in (start, end))
    if first % row or last % row or first >= last:
        return None
    return first // row, last // row


def _whole_end(view: BatchView, mark: Mark, place: int, end: Size | None) -> Size:
    """The end of a Slice that takes all of N: N or a huge number is kept as written, 12 becomes the largest integer."""
    live = view.live(2) if view.opset >= 10 else None
    if live is not None and live[place] == mark.size(view.batch):
        return mark.size(view.batch)
    wide = view.opset < 10 or view.state.dtype(view.value(2)) == ir.DataType.INT64
    return end if isinstance(end, int) and end >= _BEYOND else LAST if wide else _ALL


def _part(view: BatchView, name: str, index: int, own: Mapping[str, Mapping[int, Size]]) -> tuple[Edit, ...]:
    """The edit of one of a Slice's vectors."""
    if view.opset >= 10:
        return view.corrected(index, name, own[name]) if view.has(index) else ()
    if name == "steps":
        return ()
    node, before = view.node, list(view.attribute(name, ()))
    wanted = [own[name].get(place, number) for place, number in enumerate(before)]
    if wanted == before:
        return ()

    def set_attribute(_: Rewriter) -> None:
        node.attributes[name] = ir.AttrInt64s(name, wanted)

    message = f"{view.state.symbol} is forced to {view.size} by {view.label}: {name} = {before}"
    return (view.edit(None, message, str(before), str(wanted), set_attribute),)


def _takes_all(start: Size | None, end: Size | None, step: Size | None, here: Size) -> bool:
    """Whether a slice takes all of an axis of the original, in its order."""
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
        return False
    if not isinstance(here, int):
        return start == 0 and step == 1 and end >= _BEYOND
    return step > 0 and list(range(here)[start:end:step]) == list(range(here))


class _SliceReading(NamedTuple):
    """One way to read the bounds of a slice along one axis."""

    size: Axis | None
    whole: Size | None = None
    """All of the axis."""
    start: Size | None = None
    """A start to write, None to keep what is there."""
    end: Size | None = None


def free_slice(view: FreeView) -> Iterator[FreeAnswer]:
    """A part of some axes; a bound that was the old size is the free one."""
    dims = view.dims(0)
    starts, ends = (_bounds(view, view.live, name, index) for index, name in enumerate(_BOUNDS[:2], 1))
    axes = view.axes(3, len(dims)) if view.has(3) or "axes" in view.node.attributes else None
    if starts is None or ends is None:
        cut_axes = range(len(dims)) if axes is None else axes
        yield FreeAnswer((tuple(None if axis in cut_axes else own for axis, own in enumerate(dims)),))
        return
    axes = list(range(len(starts))) if axes is None else axes
    steps = (view.live(4) or [None] * len(axes)) if view.has(4) else [1] * len(axes)
    ways = [_cuts(view, dims[axis], axis, bounds) for axis, *bounds in paired(axes, starts, ends, steps)]
    for chosen in combinations(*ways):
        found = list(dims)
        for axis, way in zip(axes, chosen, strict=True):
            found[axis] = way.size
        edits = _new_bounds(view, chosen, starts, ends)
        yield FreeAnswer((tuple(found),), edits, alone=all(len(way) == 1 for way in ways))


def _new_bounds(
    view: FreeView, chosen: Sequence[_SliceReading], starts: Sequence[Size | None], ends: Sequence[Size | None]
) -> tuple[Edit, ...]:
    edits = []
    for name, index, before, new in (
        ("starts", 1, starts, [way.start for way in chosen]),
        ("ends", 2, ends, [way.end for way in chosen]),
    ):
        wanted = [old if size is None else size for old, size in zip(before, new, strict=True)]
        if wanted == list(before):
            continue
        numbers = [size for size in wanted if size is not None]
        if len(numbers) < len(wanted):
            raise Refused(f"its {name} are computed from what is not known, and would have to be rewritten")
        if view.opset >= 10:
            first = next(place for place, old in enumerate(before) if wanted[place] != old)
            edits.append(view.reword(index, numbers, name, chosen[first].whole))
        else:
            plain = [size for size in numbers if isinstance(size, int)]
            edits.append(view.set_attribute(name, f"{view.label} has a fixed bound: {name}", before, plain))
    return tuple(edits)


def _cuts(view: FreeView, own: Axis | None, axis: int, bounds: Sequence[Size | None]) -> list[_SliceReading]:
    """The ways to read the bounds along one axis."""
    start, end, step = bounds
    if own is None or start is None or end is None or not isinstance(step, int):
        return [_SliceReading(None)]
    whole = size_of(own)
    if not view.move(whole):
        return [_fixed(view, whole, axis, (start, end, step))]
    then = view.state.then(whole)
    if not isinstance(then, int):
        raise Refused(f"it cuts axis {axis}, which is {whole}")
    if step < 0:
        return [_backwards(own, start, end, step, axis)]
    found = []
    for first, last in combinations(_places(view, start, whole, then), _places(view, end, whole, then)):
        size = cut(last.place - first.place + (step - 1), step)
        if not isinstance(size, int) or size > 0:
            found.append(_SliceReading(own if size == whole else (size,), whole, first.word, last.word))
    return found


class _BoundWord(NamedTuple):
    """A bound of a Slice as a place in the original, and the entry to write for it; None keeps the entry."""

    place: Size
    word: Size | None = None


def _places(view: FreeView, bound: Size, whole: Size, then: int) -> list[_BoundWord]:
    """What a bound can mean: a number near the old end may have been counted from it, or be the half of it."""
    if not isinstance(bound, int) or 0 <= 2 * bound < then:
        return [_BoundWord(bound)]
    if bound < 0:
        return [_BoundWord(whole + bound if bound + then > 0 else 0)]
    if bound >= then:
        return [_BoundWord(whole, None if bound >= _ALL else LAST)]
    if (seam := view.state.seams(whole).get(bound)) is not None:
        return [_BoundWord(seam, None if isinstance(seam, int) else seam)]
    half = cut(whole, 2)
    halves = [_BoundWord(half, half)] if 2 * bound == then and view.computes([half]) else []
    return [_BoundWord(bound), _BoundWord(whole - (then - bound), bound - then), *halves]


def _fixed(view: FreeView, whole: Size, axis: int, bounds: tuple[Size, Size, int]) -> _SliceReading:
    """A part of a fixed axis, which may be as long as a free size."""
    start, end, step = bounds
    if not view.move(start) and not view.move(end):
        size = view.output()[axis]
        return _SliceReading(None if size is None else (size,))
    if not isinstance(whole, int) or step != 1 or (isinstance(end, int) and end < 0):
        return _SliceReading(None)
    stop: Size = whole if isinstance(end, int) and end >= whole else end
    view.state.limit(stop, whole, f"{view.value(0).name} has {whole} entries along axis {axis}")
    return _SliceReading((stop - start,))


def _backwards(own: Axis, start: Size, end: Size, step: int, axis: int) -> _SliceReading:
    """All of an axis, from the last entry to the first."""
    if step == -1 and start == -1 and isinstance(end, int) and end < -_ALL:
        return _SliceReading(own)
    raise Refused(f"it goes backwards along axis {axis}, which is {size_of(own)}, from {start} to {end}")


def grow_slice(growing: Growing) -> Inputs:
    """The end of a slice from a table that is long enough."""
    view = growing.view
    starts, ends, axes = _plain(view)
    entries: list[Size] = list(ends)
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        whole = view.dims(0)[axis]
        if axis not in axes:
            own[axis] = size
            continue
        place = axes.index(axis)
        if starts[place] < 0 or whole is None:
            raise Refused(f"{view.label} counts from the end of axis {axis}")
        if starts[place] == 0 and view.state.original(view.node.outputs[0]) and size_of(whole) == view.output()[axis]:
            own[axis] = size
            if ends[place] < 2**31 - 1:
                entries[place] = size
        else:
            entries[place] = size + starts[place]
    found = {0: growing.exactly(0, own)} if own else {}
    if entries != ends:
        found[2] = growing.vector(2, entries, "ends")
    return found, {}


def _plain(view: FreeView) -> tuple[list[int], list[int], list[int]]:
    """The starts, ends and axes of a Slice that takes every entry of a part."""
    starts, ends = (None, None) if view.opset < 10 else (view.integers(1), view.integers(2))
    steps = [1] if starts is None or not view.has(4) else view.integers(4)
    if starts is None or ends is None or steps is None or any(step != 1 for step in steps):
        raise Refused(f"the bounds of {view.label} are not constants with a step of 1")
    axes = view.axes(3, view.rank(0))
    return starts, ends, list(range(len(starts))) if axes is None else axes


def limit_slice(growing: Growing, _: Mapping[int, Grown]) -> tuple[Limit, ...]:
    """How far the end of a slice may go."""
    view, found = growing.view, list[Limit]()
    starts, __, axes = _plain(view)
    for axis, size in growing.wanted.items():
        whole = view.dims(0)[axis]
        rows = None if whole is None else size_of(whole)
        if axis not in axes or rows == view.output()[axis]:
            continue
        end = size + starts[axes.index(axis)]
        if not isinstance(rows, int) or not isinstance(end, Formula):
            raise Refused(f"it is not known whether {view.value(0).name} is as long as {end}")
        if rows == view.state.then(end):
            raise Refused(f"the table {view.value(0).name} has {rows} entries along axis {axis}, one for each of {end}")
        found.append(Limit(end, rows, f"{view.value(0).name} has {rows} entries along axis {axis}"))
    return tuple(found)


_FARTHEST = frozenset({2**31 - 1, 2**63 - 1})
"""Ends that mean "to the end"; going backwards, engines do not agree which end that is."""


def fold_slice(use: Use) -> list[Array]:
    """As in Python, but for a start before the first element: going backwards, it is the first."""
    data = use.given(0)
    starts, ends = use.list("starts", 1), use.list("ends", 2)
    if starts is None or ends is None:
        raise Unfolded
    axes = use.list("axes", 3) or list(range(len(starts)))
    steps = use.list("steps", 4) or [1] * len(starts)
    index: list[Any] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and end in _FARTHEST:
            raise Unfolded
        index[axis] = _taken(data.shape[axis], start, end, step)
    return [data[tuple(index)]]


RECORDS = {
    "Slice": Record(
        shape=shape_slice,
        elements=held_slice,
        batch=batch_slice,
        slots=frozenset({1, 2, 4}),
        free=free_slice,
        grows=grow_slice,
        limits=limit_slice,
        moves=True,
        by_place=True,
        beside=True,
        takes={1: "starts", 2: "ends", 3: "axes", 4: "steps"},
        folds=True,
        fold=fold_slice,
    ),
}
