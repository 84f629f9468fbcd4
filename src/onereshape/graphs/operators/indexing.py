"""Operators that pick elements of data by indices: Gather, GatherElements, GatherND and OneHot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, each_home, only_first, reshaped_around
from onereshape.graphs.batch_rules.indices import (
    check_counts,
    counted_step,
    entries_of,
    free_homes,
    no_axis,
    not_each,
    offset,
    own,
    step_of,
)
from onereshape.graphs.batch_rules.marks import Mark, homes, marked
from onereshape.graphs.batch_rules.spreading import Shift
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, few, whole
from onereshape.graphs.folding.folded_operators import Use, reference
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.indices import beside, column_of, doubt_of, tuple_length
from onereshape.graphs.free_rules.meeting import ONE, Meeting
from onereshape.graphs.free_rules.spans import span_of
from onereshape.graphs.free_rules.state import Axes, FreeAnswer, Limit
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size


def shape_gather(asking: Asking) -> Shapes:
    """Gather: data (5, 7) and indices (2, 3) along axis 0 give (2, 3, 7)."""
    dims, places = asking.dims(0), asking.dims(1)
    axis = asking.axis(len(dims), 0)
    return [(*dims[:axis], *places, *dims[axis + 1 :])]


def held_gather(holding: Holding) -> Elements:
    """The entries that are looked up."""
    data, indices = holding.given(0), holding.given(1)
    places = np.asarray(whole(indices), dtype=np.int64).reshape(indices.shape)
    axis = holding.axis(data.ndim, 0)
    few(places.size, *data.shape[:axis], *data.shape[axis + 1 :])
    return [np.asarray(np.take(data, places, axis=axis), dtype=object)]


def batch_gather(view: BatchView) -> Iterator[BatchAnswer]:
    """Slices of data along one axis."""
    data, indices = view.mark(0), view.mark(1)
    axis = view.axis(view.rank(0), 0)
    check_counts(view, along_batch=data is not None and data.axis == axis)
    if data is None and indices is not None:
        yield BatchAnswer((indices.at(indices.axis + axis),))
    elif indices is None and data is not None and data.axis != axis:
        yield BatchAnswer((data.at(data.axis + (view.rank(1) - 1 if data.axis > axis else 0)),))
    elif indices is None and data is not None:
        yield from _gather_sample(view, data, axis)
    elif data is not None and indices is not None and data.axis == axis:
        step = counted_step(view, data)
        yield BatchAnswer((indices.at(indices.axis + axis),), offset(view, 1, Shift(step, indices, view.rank(1))))
    elif data is not None and indices is not None:
        yield _gather_each(view, data, indices, axis)


def _gather_sample(view: BatchView, data: Mark, axis: int) -> Iterator[BatchAnswer]:
    """Gather along the axis of N with indices that all samples share: each sample picks from its own entries."""
    if view.size != 1:
        yield from _gather_counted(view, data, axis)
        return
    dims, picked, output = view.dims(0), view.dims(1), view.output_dims()
    step = entries_of(view, data)
    numbers = view.state.folding.array(view.value(1)) if view.state.named else None
    if numbers is not None and (numbers < 0).any():
        raise Refused("it picks from the last sample back, which is another one for each number of samples", mixes=True)
    apart = (*dims[:axis], view.batch, step, *dims[axis + 1 :])
    whole = (*dims[:axis], 1, *picked, *dims[axis + 1 :])  # the result, with N on an axis of its own

    def answer(home: Mark) -> BatchAnswer:
        return BatchAnswer((home,), (_gathered_apart(view, axis, apart, marked(output, home, view.batch)),))

    none = f"it picks single entries from axis {axis}, which is {data.size(view.batch)}, and leaves no axis for it"
    yield from each_home(homes(whole, Mark(axis), output, 1), answer, lambda: none)


def _gather_counted(view: BatchView, data: Mark, axis: int) -> Iterator[BatchAnswer]:
    """Gather along the axis of N from several samples: constants that count them, `[0, 16]`, are made to count N."""
    step, rank = step_of(view, data), view.rank(1)

    def answer(home: Mark) -> BatchAnswer:
        return BatchAnswer((home.at(home.axis + axis),), own(view, 1, Shift(step, home, rank)))

    yield from each_home(free_homes(view, view.dims(1)), answer, lambda: not_each(view, 1))


def _gathered_apart(view: BatchView, axis: int, apart: tuple[Size, ...], output: tuple[Size, ...]) -> Edit:
    """The edit that splits N from the axis of a Gather, `(N*16, 8) -> (N, 16, 8)`, and gathers along the next axis."""
    data = view.dims(0)
    between = (*apart[: axis + 1], *view.dims(1), *data[axis + 1 :])
    edit = reshaped_around(view, [(0, list(apart))], (between, output), f"{view.batch} apart at axis {axis}")
    node = view.node

    def apply(build: Rewriter) -> None:
        edit.apply(build)
        node.attributes["axis"] = ir.AttrInt64("axis", axis + 1)

    count = apart[axis + 1]
    message = f"{view.label} picks from axis {axis}, {count} entries of each sample, as if there were 1 sample"
    return edit.reported(message=message)._replace(apply=apply)


def _gather_each(view: BatchView, data: Mark, indices: Mark, axis: int) -> BatchAnswer:
    """Each sample by its own indices, along an axis that is not N: a GatherND with batch_dims."""
    if data != Mark(0) or indices != Mark(0) or axis != 1 or view.opset < 12 or view.size != 1:
        raise Refused("data and indices both carry the batch, and the axis that is picked from is not next to it")
    node, output = view.node, view.output_dims()
    picked = (view.batch, *view.dims(1)[1:], *view.dims(0)[2:])
    target = view.sayable(picked, (view.batch, *output[1:]))

    def apply(build: Rewriter) -> None:
        wide = build.insert(node, "Cast", [view.value(1)], {"to": int(ir.DataType.INT64)})
        column = build.insert(node, "Reshape", [wide, build.integers([0] * view.rank(1) + [1])])
        found = build.insert(node, "GatherND", [view.value(0), column], {"batch_dims": 1})
        build.replace(node, "Reshape", [found, build.vector(target)])

    message = f"{view.label} would pick from all samples by the indices of each"
    return BatchAnswer((Mark(0),), (view.edit(1, message, "Gather", "GatherND batch_dims=1", apply),))


def free_gather(view: FreeView) -> Iterator[FreeAnswer]:
    """Gather: data (S, 7) and indices (T, 3) along axis 0 give (T, 3, 7); a table limits how large an index may get."""
    dims, places = view.dims(0), view.dims(1)
    axis = view.axis(len(dims), 0)
    own = dims[axis]
    doubt = doubt_of(view, 1, own)
    if doubt and not any(place != ONE for place in places):
        raise Refused(doubt)
    rows = None if own is None else size_of(own)
    span = span_of(view.state, view.value(1)) if isinstance(rows, int) else None
    if isinstance(span, Formula) and isinstance(rows, int):
        if view.state.then(span + 1) == rows:
            raise Refused(f"the table {view.value(0).name} has {rows} rows, one for each of {span + 1}")
        view.state.limit(span + 1, rows, f"{view.value(0).name} has {rows} rows")
    yield FreeAnswer(((*dims[:axis], *places, *dims[axis + 1 :]),), suspect=doubt)


def grow_gather(growing: Growing) -> Inputs:
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


def limit_gather(growing: Growing, inputs: Mapping[int, Grown]) -> tuple[Limit, ...]:
    """How far indices that grew may go."""
    return _reach(growing.view, inputs[1].span) if 1 in inputs else ()


def _reach(view: FreeView, span: Size | None) -> tuple[Limit, ...]:
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


def work_gather(use: Use) -> int:
    data, axis = use.given(0).shape, int(use.attribute("axis", 0))
    return int(use.given(1).size * prod(data[:axis]) * prod(data[axis:][1:]))


def shape_gather_elements(asking: Asking) -> Shapes:
    """GatherElements: data (5, 7) and indices (2, 7) give (2, 7)."""
    return [asking.dims(1)]


def batch_gather_elements(view: BatchView) -> Iterator[BatchAnswer]:
    """One element per index, along one axis; GatherElements and ScatterElements."""
    axis = view.axis(view.rank(0), 0)
    home = common_mark([mark for index in view.batched() if (mark := view.mark(index))], view)
    rows = [view.dims(index)[home.axis] for index in range(len(view.node.inputs))]
    if {*rows} != {home.size(view.size)}:
        sizes = " and ".join(dict.fromkeys(map(str, rows)))
        raise Refused(f"its inputs have {sizes} entries at axis {home.axis}, where the batch is")
    edits = [view.spread(index, home) for index in range(len(view.node.inputs)) if view.mark(index) is None]
    if home.axis == axis:
        raise Refused(f"it picks from axis {axis}, which is {home.size(view.batch)}", mixes=True)
    yield BatchAnswer((home,), tuple(edits))


def free_gather_elements(view: FreeView) -> Iterator[FreeAnswer]:
    """GatherElements: the dims of the indices, which beside the gathered axis agree with data of the same length."""
    dims = view.dims(0)
    axis = view.axis(len(dims), 0)

    def compute(meeting: Meeting) -> Axes:
        for place in beside(view, axis, meeting.dims(0), meeting.dims(1)):
            meeting.meet([(0, place), (1, place)], broadcasts=False)
        return meeting.dims(1)

    answer = Meeting(view).result(compute)
    grown = any(edit.slot == 1 for edit in answer.edits)
    yield answer._replace(suspect="" if grown else doubt_of(view, 1, dims[axis]))


def grow_gather_elements(growing: Growing) -> Inputs:
    """As many places as there are indices; data must be as large but for the axis along which it is looked up."""
    view = growing.view
    axis = view.axis(view.rank(0), 0)
    found = {1: growing.exactly(1, growing.wanted)}
    beside = {each: size for each, size in growing.wanted.items() if each != axis}
    if beside:
        found[0] = growing.exactly(0, beside)
    return found, {}


def shape_gather_nd(asking: Asking) -> Shapes:
    """GatherND: data (5, 7, 8) and indices (3, 2) give (3, 8), a slice of data for each row of indices."""
    dims, places = asking.dims(0), asking.dims(1)
    lead = asking.attribute("batch_dims", 0)
    width = places[-1]
    if not isinstance(width, int) or lead + width > len(dims):
        raise Refused("how many numbers pick a slice is not known")
    return [(*places[:-1], *dims[lead + width :])]


def batch_gather_nd(view: BatchView) -> Iterator[BatchAnswer]:
    """Slices of data, each by a row of numbers for its first axes."""
    data, indices = view.mark(0), view.mark(1)
    lead, rank = view.attribute("batch_dims", 0), view.rank(1)
    if not rank or not 0 <= lead < min(view.rank(0), rank):
        raise Refused(f"it has {lead} batch_dims for data of rank {view.rank(0)} and indices of rank {rank}")
    width = view.dims(1)[-1]
    if indices is not None and indices.axis == rank - 1:
        raise Refused("its indices carry the batch among their numbers", mixes=True)
    if not isinstance(width, int):
        raise Refused("how many numbers pick a slice is not known")
    check_counts(view, along_batch=data is not None and lead <= data.axis < lead + width)
    if data is None and indices is not None:
        if indices.axis < lead:
            yield BatchAnswer((indices,), (view.spread(0, indices),))
        else:
            yield BatchAnswer((indices,))
    elif data is not None and data.axis < lead:
        home = common_mark([data, indices or data], view)
        yield BatchAnswer((home,), () if indices is not None else (view.spread(1, home),))
    elif data is not None and data.axis >= lead + width:
        if indices is not None:
            raise Refused("data and indices carry the batch at different places", mixes=True)
        yield BatchAnswer((data.at(rank - 1 + data.axis - lead - width),))
    elif data is not None:
        yield from _picked(view, data, indices, lead)


def _picked(view: BatchView, data: Mark, indices: Mark | None, lead: int) -> Iterator[BatchAnswer]:
    """N is one of the axes that the numbers pick from: the sample's own, by its place."""
    if indices is not None and indices.axis < lead:
        raise Refused("its indices carry the batch where data does not", mixes=True)
    step, rank, width = step_of(view, data), view.rank(1), view.dims(1)[-1]

    def answer(home: Mark) -> BatchAnswer:
        shift = Shift(step, home, rank, data.axis - lead, width if isinstance(width, int) else 0)
        return BatchAnswer((home,), offset(view, 1, shift) if indices is not None else own(view, 1, shift))

    places = [indices] if indices is not None else free_homes(view, view.dims(1)[:-1], lead)
    yield from each_home(places, answer, lambda: no_axis(view, 1))


def free_gather_nd(view: FreeView) -> Iterator[FreeAnswer]:
    """GatherND: data (S, 7) and indices (T, 1) give (T, 7), a slice of data for each row of indices."""
    dims, places = view.dims(0), view.dims(1)
    batch = view.attribute("batch_dims", 0)
    count = tuple_length(view, places)
    doubts = [doubt_of(view, 1, dims[batch + column], column_of(column)) for column in range(count)]

    def compute(meeting: Meeting) -> Axes:
        before = [meeting.meet([(0, axis), (1, axis)], broadcasts=False) for axis in range(batch)]
        return (*before, *meeting.dims(1)[batch:-1], *dims[batch + count :])

    yield Meeting(view).result(compute)._replace(suspect=next(filter(None, doubts), ""))


def grow_gather_nd(growing: Growing) -> Inputs:
    """GatherND grows by more indices: input 1 with more rows, where no axis of data is taken whole."""
    view = growing.view
    last = view.rank(1) - 1
    if any(axis >= last for axis in growing.wanted) or view.attribute("batch_dims", 0):
        raise Refused(f"{view.label} takes whole slices")
    return {1: growing.exactly(1, growing.wanted)}, {}


def work_gather_nd(use: Use) -> int:
    data, indices = use.given(0), use.given(1)
    depth = indices.shape[-1] + int(use.attribute("batch_dims", 0))
    return int(indices.size * prod(data.shape[depth:]))


def shape_one_hot(asking: Asking) -> Shapes:
    """OneHot, an axis for the classes: `(N, 3)` and depth 10 give `(N, 3, 10)`."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims) + 1, -1)
    return [(*dims[:axis], asking.first(1), *dims[axis:])]


def batch_one_hot(view: BatchView) -> Iterator[BatchAnswer]:
    """A new axis for the classes."""
    mark = only_first(view)
    rank = view.rank(0) + 1
    axis = view.axis(rank, -1)
    yield BatchAnswer((mark.at(mark.axis + (mark.axis >= axis)),))


def work_one_hot(use: Use) -> int:
    """OneHot: the numbers times the classes, `(2, 3)` and depth 10 are 60 elements."""
    return use.given(0).size * int(use.given(1).reshape(()).item())


def fold_one_hot(use: Use) -> list[Array]:
    depth = use.given(1).reshape(())
    return reference(use._replace(inputs=[use.inputs[0], depth, use.inputs[2]]))


_PICKS = Record(moves=True, picks=True, takes={1: "index"}, folds=True)

RECORDS = {
    "Gather": _PICKS._replace(
        shape=shape_gather,
        elements=held_gather,
        batch=batch_gather,
        several=True,
        free=free_gather,
        grows=grow_gather,
        limits=limit_gather,
        indexes=1,
        beside=True,
        work=work_gather,
    ),
    "GatherElements": _PICKS._replace(
        shape=shape_gather_elements,
        batch=batch_gather_elements,
        free=free_gather_elements,
        grows=grow_gather_elements,
        limits=limit_gather,
    ),
    "GatherND": _PICKS._replace(
        shape=shape_gather_nd,
        batch=batch_gather_nd,
        several=True,
        free=free_gather_nd,
        grows=grow_gather_nd,
        indexes=1,
        takes={1: "index by columns"},
        work=work_gather_nd,
    ),
    "OneHot": Record(
        shape=shape_one_hot,
        batch=batch_one_hot,
        free=by_shape,
        takes={0: "index below", 1: "limit"},
        folds=True,
        fold=fold_one_hot,
        work=work_one_hot,
    ),
}
