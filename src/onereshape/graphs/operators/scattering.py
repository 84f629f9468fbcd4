"""Operators that write updates into data, at places given by indices: Scatter, ScatterElements and ScatterND."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, each_home
from onereshape.graphs.batch_rules.indices import check_counts, free_homes, no_axis, offset, own, step_of
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.masks import Put
from onereshape.graphs.batch_rules.spreading import Shift
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.elements import Elements, Holding, Unknown, whole
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.grown import Growing, Inputs
from onereshape.graphs.free_rules.indices import beside, column_of, doubt_of, tuple_length
from onereshape.graphs.free_rules.meeting import Meeting
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused, counted
from onereshape.graphs.operators.indexing import batch_gather_elements
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter


def free_scatter_elements(view: FreeView) -> Iterator[FreeAnswer]:
    """ScatterElements: the dims of data; updates agree with indices, and with data where indices cover an axis."""
    dims = view.dims(0)
    axis = view.axis(len(dims), 0)

    def compute(meeting: Meeting) -> Axes:
        all_of = beside(view, axis, meeting.dims(0), meeting.dims(1))
        for place in range(len(dims)):
            indices = range(0 if place in all_of else 1, 3)
            meeting.meet([(index, place) for index in indices], broadcasts=False)
        return meeting.dims(0)

    yield Meeting(view).result(compute)._replace(suspect=doubt_of(view, 1, dims[axis]))


def held_scatter_elements(holding: Holding) -> Elements:
    """A vector with some of its entries replaced, as torch writes the dims of an index; none of them twice."""
    data, indices, updates = (holding.given(index) for index in range(3))
    places = [counted(place, len(data)) for place in whole(indices)] if data.ndim == 1 else []
    plain = holding.attribute("reduction", "none") == "none" and indices.shape == updates.shape
    if data.ndim != 1 or not plain or len({*places}) != indices.size:
        raise Unknown
    found = data.copy()
    found[places] = updates
    return [found]


def batch_scatter_nd(view: BatchView) -> Iterator[BatchAnswer]:
    """Data with some slices replaced, each chosen by a row of numbers."""
    put = view.state.puts.get(view.node)
    if put is not None:
        yield _put(view, put)
        return
    data, indices, updates = (view.mark(index) for index in range(3))
    rank, width = view.rank(1), view.dims(1)[-1]
    if indices is not None and indices.axis == rank - 1:
        raise Refused("its indices carry the batch among their numbers", mixes=True)
    if not isinstance(width, int):
        raise Refused("how many numbers choose a slice is not known")
    home = data
    if home is None and updates is not None and updates.axis >= rank - 1 and indices is None:
        home = updates.at(updates.axis - (rank - 1) + width)
    check_counts(view, along_batch=home is None or home.axis < width)
    if home is not None and home.axis >= width:
        if indices is not None:
            raise Refused("data and indices carry the batch at different places", mixes=True)
        place = home.at(home.axis - width + rank - 1)
        if updates is not None and updates != place:
            raise Refused("data and updates carry the batch at different places", mixes=True)
        edits = ([] if data is not None else [view.spread(0, home)]) + (
            [] if updates is not None else [view.spread(2, place)]
        )
        yield BatchAnswer((home,), tuple(edits))
        return
    yield from _scatter_along(view, home, (indices, updates), width)


def _put(view: BatchView, put: Put) -> BatchAnswer:
    """An assignment by a mask, as a Where."""
    mark, mask = view.mark(0), view.state.marks.get(put.mask)
    shared = mask is None and view.size == 1 and mark is not None and mark.bare  # one that is broadcast
    if mark is None or not (shared or mark == mask):
        raise Refused("its data and the mask of what is replaced carry the batch at different places", mixes=True)
    node = view.node

    def apply(build: Rewriter) -> None:
        data = view.value(0)
        if view.state.dtype(data) != ir.DataType.BOOL:
            build.replace(node, "Where", [put.mask, put.number, data])
            return
        # onnxruntime has no Where of truths.
        written = build.insert(node, "And", [put.mask, put.number])
        kept = build.insert(node, "And", [build.insert(node, "Not", [put.mask]), data])
        build.replace(node, "Or", [written, kept])

    message = f"{view.label} writes {put.number.name} at the places of {put.mask.name}, those of all samples in one row"
    return BatchAnswer((mark,), (view.edit(None, message, "ScatterND", "Where", apply),))


def _scatter_along(
    view: BatchView, home: Mark | None, marks: tuple[Mark | None, Mark | None], width: int
) -> Iterator[BatchAnswer]:
    """N is one of the axes that the numbers choose, or data is not yet batched at all."""
    rank, dims = view.rank(1), view.dims(0)
    indices, updates = marks
    rows = [mark for mark in marks if mark is not None]
    if any(mark.axis >= rank - 1 for mark in rows):
        raise Refused("indices and updates carry the batch at different places", mixes=True)
    places = [common_mark(rows, view)] if rows else free_homes(view, view.dims(1)[:-1])
    datas = [home] if home is not None else free_homes(view, dims[:width])

    def answer(target: Mark, place: Mark) -> BatchAnswer:
        shift = Shift(step_of(view, target), place, rank, target.axis, width)
        edits = [] if home is not None else [view.spread(0, target)]
        edits += own(view, 1, shift) if indices is None else offset(view, 1, shift)
        edits += [] if updates is not None else [view.spread(2, place)]
        return BatchAnswer((target,), tuple(edits))

    both = [(target, place) for target in datas for place in places]
    yield from each_home(both, lambda pair: answer(*pair), lambda: no_axis(view, 1))


def free_scatter_nd(view: FreeView) -> Iterator[FreeAnswer]:
    """Data with other slices at the places of the indices."""
    dims, places = view.dims(0), view.dims(1)
    count = tuple_length(view, places)

    def compute(meeting: Meeting) -> Axes:
        first = len(places) - 1
        for axis in range(first):
            meeting.meet([(1, axis), (2, axis)], broadcasts=False)
        for axis in range(count, len(dims)):
            meeting.meet([(0, axis), (2, axis - count + first)], broadcasts=False)
        return meeting.dims(0)

    doubts = [doubt_of(view, 1, dims[column], column_of(column)) for column in range(count)]
    answer = Meeting(view).result(compute)
    grown = any(edit.slot == 1 for edit in answer.edits)
    yield answer._replace(suspect="" if grown else next(filter(None, doubts), ""))


def grow_scatter_nd(growing: Growing) -> Inputs:
    """Axes that are taken as a whole: of data, and of what replaces a part of it."""
    view = growing.view
    last = size_of(view.known(1)[-1])
    places = view.rank(1) - 1
    if not isinstance(last, int) or any(axis < last for axis in growing.wanted):
        raise Refused(f"{view.label} writes at places that are counted along the axis that must grow")
    updates = {axis - last + places: size for axis, size in growing.wanted.items()}
    return {0: growing.exactly(0, growing.wanted), 2: growing.exactly(2, updates)}, {}


_SCATTER = Record(shape=same_first, batch=batch_gather_elements)
_PUTS = _SCATTER._replace(elements=held_scatter_elements, carries=frozenset({0}), folds=True)

RECORDS = {
    "Scatter": _SCATTER,
    "ScatterElements": _PUTS._replace(free=free_scatter_elements, takes={1: "index"}),
    "ScatterND": _PUTS._replace(
        elements=None,
        batch=batch_scatter_nd,
        several=True,
        free=free_scatter_nd,
        grows=grow_scatter_nd,
        indexes=1,
        takes={1: "index by columns"},
    ),
}
