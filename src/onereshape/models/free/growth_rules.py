"""How each operator grows: which of its inputs must be larger for an axis of its output to be so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onereshape.models.batch.rules.pointwise import ELEMENTWISE
from onereshape.models.free.alignment import size_of
from onereshape.models.free.formula import Formula, Size
from onereshape.models.free.grown import Grown, Growing, Inputs
from onereshape.models.free.state import Limit, shown, sizes
from onereshape.models.free.view import View
from onereshape.models.node_view import Refused


def _elementwise(growing: Growing) -> Inputs:
    """Every operand that has more than one entry there."""
    view = growing.view
    rank = len(view.output())
    indices = range(len(view.node.inputs))
    for axis, size in growing.wanted.items():
        if not any(_spans(view, index, axis, rank) for index in indices):
            raise Refused(f"no operand of {view.label} has more than one entry at axis {axis}, where {size} is needed")
    wanted = dict(growing.wanted)
    found: dict[int, Grown] = {}
    for _ in range(rank + 1):  # an operand that grew further than asked takes the others with it
        before = dict(wanted)
        for index in indices:
            own = {axis - rank + view.rank(index): wanted[axis] for axis in wanted if _spans(view, index, axis, rank)}
            if own:
                found[index] = growing.input(index, own)
                wanted |= _grown_axes(view, found[index], rank)
        if wanted == before:
            break
    return found, wanted


def _grown_axes(view: View, grown: Grown, rank: int) -> dict[int, Size]:
    """The axes of the output at which a grown operand has a free size."""
    found = {axis + rank - len(grown.dims): size for axis, size in enumerate(sizes(grown.dims))}
    return {axis: size for axis, size in found.items() if size is not None and view.move(size)}


def _spans(view: View, index: int, axis: int, rank: int) -> bool:
    """Whether an operand has more than one entry at an axis of the output."""
    if not view.has(index):
        return False
    place = axis - rank + view.rank(index)
    return place >= 0 and view.dims(index)[place] != (1,)


def _moved(growing: Growing, origins: Sequence[int | None]) -> Inputs:
    """For operators that only move axes: each axis of the output is one of data, or new."""
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        origin = origins[axis]
        if origin is None:
            raise Refused(f"{growing.view.label} makes axis {axis}, which has size 1, where {size} is needed")
        own[origin] = size
    grown = growing.input(0, own)
    own = {place: size for place, size in enumerate(sizes(grown.dims)) if size is not None}
    further = {place: size for place, size in own.items() if growing.view.move(size)}
    return {0: grown}, {axis: further[origin] for axis, origin in enumerate(origins) if origin in further}


def _same_axes(growing: Growing) -> Inputs:
    return _moved(growing, range(growing.view.rank(0)))


def _transpose(growing: Growing) -> Inputs:
    view = growing.view
    return _moved(growing, list(view.attribute("perm", ())) or list(range(view.rank(0)))[::-1])


def _unsqueeze(growing: Growing) -> Inputs:
    view = growing.view
    rank = len(view.output())
    new = view.axes(1, rank) or []
    old = iter(range(rank))
    return _moved(growing, [None if axis in new else next(old) for axis in range(rank)])


def _squeeze(growing: Growing) -> Inputs:
    view = growing.view
    axes = view.axes(1, view.rank(0))
    gone = [axis for axis, each in enumerate(view.dims(0)) if each == (1,)] if axes is None else axes
    return _moved(growing, [axis for axis in range(view.rank(0)) if axis not in gone])


def _expand(growing: Growing) -> Inputs:
    view = growing.view
    shape, rank = view.words(1), len(view.output())
    if shape is None or None in shape:
        raise Refused(f"the shape of {view.label} is computed at run time from what is not known")
    entries = [size for size in shape if size is not None]
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        place, entry = axis - rank + view.rank(0), axis - rank + len(entries)
        if place >= 0 and view.dims(0)[place] != (1,):
            own[place] = size
        if entry >= 0 and entries[entry] != 1:
            entries[entry] = size
    found = {0: growing.exactly(0, own)} if own else {}
    if entries != shape:
        found[1] = growing.vector(1, entries, "shape")
    return found, {}


def _constant_of_shape(growing: Growing) -> Inputs:
    shape = growing.view.words(0)
    if shape is None or None in shape:
        raise Refused(f"the shape of {growing.view.label} is computed at run time from what is not known")
    entries = [growing.wanted.get(axis, size) for axis, size in enumerate(shape) if size is not None]
    return {0: growing.vector(0, entries, "shape")}, {}


def _tile(growing: Growing) -> Inputs:
    view = growing.view
    repeats = view.words(1)
    if repeats is None or None in repeats or view.opset < 6:
        raise Refused(f"the repeats of {view.label} are not known")
    entries = [size for size in repeats if size is not None]
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        if view.dims(0)[axis] == (1,):
            entries[axis] = size
        elif entries[axis] == 1:
            own[axis] = size
        else:
            raise Refused(f"{view.label} repeats {view.known(0)[axis][0]} entries {entries[axis]} times at axis {axis}")
    found = {0: growing.exactly(0, own)} if own else {}
    if entries != repeats:
        found[1] = growing.vector(1, entries, "repeats")
    return found, {}


def _range(growing: Growing) -> Inputs:
    view = growing.view
    start, step = (view.live(index) for index in (0, 2))
    whole = start is not None and isinstance(start[0], int) and step == [1]
    if not whole or start is None or start[0] is None:
        raise Refused(f"{view.label} counts in steps that are not known to be 1")
    limit = growing.wanted[0] + start[0]
    view.computable([limit])
    before = view.live(1)
    message = view.forced(growing.wanted[0], "limit", "?" if before is None else before[0])
    change = view.change(view.value(1), message, shown(before), str(limit))
    return {1: Grown((), lambda writer, _: writer.scalar(limit), limit - 1, changes=(change,))}, {}


def _gather(growing: Growing) -> Inputs:
    view = growing.view
    axis, places = view.axis(view.rank(0), 0), view.rank(1)
    data: dict[int, Size] = {}
    indices: dict[int, Size] = {}
    for each, size in growing.wanted.items():
        if axis <= each < axis + places:
            indices[each - axis] = size
        else:
            data[each if each < axis else each - places + 1] = size
    found: dict[int, Grown] = {}
    if data:
        found[0] = growing.exactly(0, data)
    if indices:
        found[1] = growing.exactly(1, indices)
    return found, {}


def limits_of(growing: Growing, inputs: Mapping[int, Grown]) -> tuple[Limit, ...]:
    """How far a copy may grow: its indices, or its slice, must stay within a table."""
    op = growing.view.node.op_type
    if op in {"Gather", "GatherElements"} and 1 in inputs:
        return _reach(growing.view, inputs[1].span)
    return _ends(growing) if op == "Slice" else ()


def _reach(view: View, span: Size | None) -> tuple[Limit, ...]:
    """How far the indices of a Gather may go."""
    axis = view.dims(0)[view.axis(view.rank(0), 0)]
    rows = None if axis is None else size_of(axis)
    if rows is None or span is None:
        return ()  # the operator itself refuses an index that is too large
    if isinstance(span, int) or view.state.same(rows, span + 1):
        return ()
    if rows == view.state.then(span + 1):
        raise Refused(f"the table {view.value(0).name} has {rows} rows, one for each of {span + 1}")
    if not isinstance(rows, int):
        raise Refused(f"the indices of {view.label} go up to {span}, and {view.value(0).name} has {rows} rows")
    return (Limit(span + 1, rows, f"{view.value(0).name} has {rows} rows"),)  # type: ignore[arg-type]


def _slice(growing: Growing) -> Inputs:
    """The end of a slice from a table that is long enough."""
    view = growing.view
    starts, ends, axes = _cut(view)
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


def _cut(view: View) -> tuple[list[int], list[int], list[int]]:
    """The starts, ends and axes of a Slice that takes every entry of a part."""
    starts, ends = (None, None) if view.opset < 10 else (view.integers(1), view.integers(2))
    steps = [1] if starts is None or not view.has(4) else view.integers(4)
    if starts is None or ends is None or steps is None or any(step != 1 for step in steps):
        raise Refused(f"the bounds of {view.label} are not constants with a step of 1")
    axes = view.axes(3, view.rank(0))
    return starts, ends, list(range(len(starts))) if axes is None else axes


def _ends(growing: Growing) -> tuple[Limit, ...]:
    view, found = growing.view, list[Limit]()
    starts, _, axes = _cut(view)
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


def _concat(growing: Growing) -> Inputs:
    view = growing.view
    axis = view.axis(view.rank(0), 1)
    if axis in growing.wanted:
        why = f"which of the parts that {view.label} joins along axis {axis} is to grow is not known"
        raise Refused(f"{why}, where {growing.wanted[axis]} is needed")
    return {index: growing.exactly(index, growing.wanted) for index in range(len(view.node.inputs))}, {}


def _matmul(growing: Growing) -> Inputs:
    """The rows of the first, and the columns of the second."""
    view = growing.view
    rank = len(view.output())
    found: dict[int, Grown] = {}
    for axis, size in growing.wanted.items():
        index = {rank - 2: 0, rank - 1: 1}.get(axis)
        if index is None or view.rank(0) < 2 or view.rank(1) < 2:
            raise Refused(f"{view.label} has {view.output()[axis]} matrices at axis {axis}, where {size} is needed")
        found[index] = growing.exactly(index, {axis - rank + view.rank(index): size})
    return found, {}


def _reshape(growing: Growing) -> Inputs:
    """A dim that is a dim of data too: both begin and end at the same place in row-major order."""
    view = growing.view
    target = view.integers(1) if view.opset >= 5 else None
    output, data = view.output(), sizes(view.dims(0))
    if target is None or None in output or None in data or len(target) != len(output):
        raise Refused(f"the target of {view.label} is not a constant")
    own: dict[int, Size] = {}
    entries: list[Size] = list(target)
    for axis, size in growing.wanted.items():
        place = _counterpart(data, output, axis)
        if place is None:
            raise Refused(f"{view.label} makes the {output[axis]} at axis {axis} of other dims, where {size} is needed")
        own[place] = size
        if target[axis] > 0:
            entries[axis] = size
    found = {0: growing.exactly(0, own)}
    if entries != target:
        found[1] = growing.vector(1, entries, "shape")
    return found, {}


def _counterpart(data: Sequence[Size | None], output: Sequence[Size | None], axis: int) -> int | None:
    before = _product(output[:axis])
    for place, size in enumerate(data):
        if size == output[axis] and size != 1 and _product(data[:place]) == before:
            return place
    return None


def _product(parts: Sequence[Size | None]) -> Size:
    total: Size = 1
    for part in parts:
        total = total * (part or 0)
    return total


def _gather_nd(growing: Growing) -> Inputs:
    """The places that are looked up, one tuple of indices each."""
    view = growing.view
    last = view.rank(1) - 1
    if any(axis >= last for axis in growing.wanted) or view.attribute("batch_dims", 0):
        raise Refused(f"{view.label} takes whole slices")
    return {1: growing.exactly(1, growing.wanted)}, {}


def _gather_elements(growing: Growing) -> Inputs:
    """As many places as there are indices; data must be as large but for the axis along which it is looked up."""
    view = growing.view
    axis = view.axis(view.rank(0), 0)
    found = {1: growing.exactly(1, growing.wanted)}
    beside = {each: size for each, size in growing.wanted.items() if each != axis}
    if beside:
        found[0] = growing.exactly(0, beside)
    return found, {}


def _scatter_nd(growing: Growing) -> Inputs:
    """Axes that are taken as a whole: of data, and of what replaces a part of it."""
    view = growing.view
    last = size_of(view.known(1)[-1])
    places = view.rank(1) - 1
    if not isinstance(last, int) or any(axis < last for axis in growing.wanted):
        raise Refused(f"{view.label} writes at places that are counted along the axis that must grow")
    updates = {axis - last + places: size for axis, size in growing.wanted.items()}
    return {0: growing.exactly(0, growing.wanted), 2: growing.exactly(2, updates)}, {}


RULES: dict[str, Callable[[Growing], Inputs]] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    "Trilu": _same_axes,
    "CumSum": _same_axes,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Expand": _expand,
    "ConstantOfShape": _constant_of_shape,
    "Tile": _tile,
    "Range": _range,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "GatherElements": _gather_elements,
    "ScatterND": _scatter_nd,
    "Slice": _slice,
    "Concat": _concat,
    "MatMul": _matmul,
    "Reshape": _reshape,
}
