"""Operators that look entries up.  A constant index that is near the old end may have been counted from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onereshape.models.free.alignment import Axis, size_of
from onereshape.models.free.rules.pointwise import ONE, Meeting
from onereshape.models.free.state import Answer, Dims
from onereshape.models.free.view import View
from onereshape.models.free.formula import Formula, Size
from onereshape.models.free.growth import grown_input
from onereshape.models.free.spans import span_of
from onereshape.models.node_view import Refused, paired


def _doubt(view: View, index: int, own: Axis | None, columns: Any = None) -> str:
    """Why constant indices into a free axis cannot stay as they are, if so."""
    array = view.constant(index)
    if own is None or array is None or not view.move(size_of(own)) or array.size == 0:
        return ""
    size, then = size_of(own), view.state.then(size_of(own))
    largest = int(array.max() if columns is None else columns(array).max())
    if isinstance(then, int) and 0 < largest < then <= 2 * largest:
        return f"it takes entry {largest} of {then} along {size}: from the front or from the end is not known"
    return ""


def gather(view: View) -> Iterator[Answer]:
    """Entries along one axis."""
    dims, places = view.dims(0), view.dims(1)
    axis = view.axis(len(dims), 0)
    own = dims[axis]
    doubt = _doubt(view, 1, own)
    if doubt and not any(place != ONE for place in places):
        raise Refused(doubt)
    rows = None if own is None else size_of(own)
    span = span_of(view.state, view.value(1)) if isinstance(rows, int) else None
    if isinstance(span, Formula) and isinstance(rows, int):
        if view.state.then(span + 1) == rows:
            raise Refused(f"the table {view.value(0).name} has {rows} rows, one for each of {span + 1}")
        view.state.limit(span + 1, rows, f"{view.value(0).name} has {rows} rows")
    yield Answer(((*dims[:axis], *places, *dims[axis + 1 :]),), suspect=doubt)


def gather_elements(view: View) -> Iterator[Answer]:
    """One entry of data for each index, beside it along all other axes."""
    dims, places = view.dims(0), view.dims(1)
    axis = view.axis(len(dims), 0)
    found: list[Axis | None] = list(places)
    wanted: dict[int, Size] = {}
    for place, (own, index) in enumerate(paired(dims, places)):
        if place == axis or own is None or index is None or own == index:
            continue
        size, here = size_of(own), size_of(index)
        if view.move(size) and not view.move(here) and here == view.state.then(size):
            wanted[place] = size
            found[place] = own
    edits = (grown_input(view, 1, wanted)[0],) if wanted else ()
    suspect = "" if wanted else _doubt(view, 1, dims[axis])
    yield Answer((tuple(found),), edits, suspect=suspect)


def gather_nd(view: View) -> Iterator[Answer]:
    """A slice of data for each tuple of indices."""
    dims, places = view.dims(0), view.dims(1)
    batch = view.attribute("batch_dims", 0)
    count = _tuple(view, places)
    doubts = [_doubt(view, 1, dims[batch + column], _column(column)) for column in range(count)]

    def compute(meeting: Meeting) -> Dims:
        before = [meeting.meet([(0, axis), (1, axis)]) for axis in range(batch)]
        return (*before, *meeting.dims(1)[batch:-1], *dims[batch + count :])

    yield Meeting(view).result(compute)._replace(suspect=next(filter(None, doubts), ""))


def _column(column: int) -> Any:
    return lambda array: np.asarray(array)[..., column]


def _tuple(view: View, places: Dims) -> int:
    last = places[-1]
    count = None if last is None else size_of(last)
    if not isinstance(count, int):
        raise Refused(f"the indices {view.value(1).name} are tuples of a length that is not known")
    return count


def scatter_nd(view: View) -> Iterator[Answer]:
    """Data with other slices at the places of the indices."""
    dims, places = view.dims(0), view.dims(1)
    count = _tuple(view, places)

    def compute(meeting: Meeting) -> Dims:
        first = len(places) - 1
        for axis in range(first):
            meeting.meet([(1, axis), (2, axis)])
        for axis in range(count, len(dims)):
            meeting.meet([(0, axis), (2, axis - count + first)])
        return meeting.dims(0)

    doubts = [_doubt(view, 1, dims[column], _column(column)) for column in range(count)]
    answer = Meeting(view).result(compute)
    grown = any(edit.slot == 1 for edit in answer.edits)
    yield answer._replace(suspect="" if grown else next(filter(None, doubts), ""))


def scatter_elements(view: View) -> Iterator[Answer]:
    """Data with other entries."""
    dims = view.dims(0)
    axis = view.axis(len(dims), 0)

    def compute(meeting: Meeting) -> Dims:
        for place in range(len(dims)):
            meeting.meet([(1, place), (2, place)])
        return dims

    yield Meeting(view).result(compute)._replace(suspect=_doubt(view, 1, dims[axis]))


def top_k(view: View) -> Iterator[Answer]:
    """The largest entries along an axis."""
    dims = view.dims(0)
    axis = view.axis(len(dims), -1)
    live = view.live(1) if view.opset >= 10 else [view.attribute("k")]
    size = None if live is None else live[0]
    own = dims[axis]
    suspect = ""
    if own is not None and view.move(size_of(own)) and isinstance(size, int):
        then = view.state.then(size_of(own))
        if isinstance(then, int) and then <= 2 * size and size > 1:
            suspect = f"it takes {size} of {then} entries along {size_of(own)}"
    found: Dims = (*dims[:axis], None if size is None else (size,), *dims[axis + 1 :])
    yield Answer((found, found), suspect=suspect)


def found_at_run_time(view: View) -> Iterator[Answer]:
    """Outputs whose sizes depend on what is in data."""
    ranks = [view.output(index) for index in range(len(view.node.outputs))]
    yield Answer(tuple(tuple([None] * len(rank)) for rank in ranks))


def non_zero(view: View) -> Iterator[Answer]:
    """As many places as there are entries other than 0."""
    yield Answer((((view.rank(0),), None),))


RULES = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterND": scatter_nd,
    "ScatterElements": scatter_elements,
    "TopK": top_k,
    "NonZero": non_zero,
    **dict.fromkeys("Compress Unique NonMaxSuppression".split(), found_at_run_time),
}
