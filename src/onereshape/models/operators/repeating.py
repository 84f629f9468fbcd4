"""Operators that repeat what they are given, or make as much as they are told: Expand, Tile, ConstantOfShape, Range."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
import onnx_ir as ir

from onereshape.sizes import Size
from onereshape.models.batch.answers import any_place, reshaped_around, sized_mark
from onereshape.models.rewrite import Rewriter
from onereshape.models.batch.folded_operators import Use
from onereshape.models.batch.folded_work import numbers
from onereshape.models.batch.marks import Mark, marked, times
from onereshape.models.batch.view import Answer as BatchAnswer, View as BatchView
from onereshape.models.free.alignment import Axis, axis_of, size_of
from onereshape.sizes import cut
from onereshape.models.free.grown import Grown, Growing, Inputs
from onereshape.models.free.growth import grown_input
from onereshape.models.free.meeting import ONE
from onereshape.models.free.spans import Spans
from onereshape.models.free.state import Answer as FreeAnswer, Dims, shown
from onereshape.models.free.view import View as FreeView
from onereshape.models.node_view import Refused, paired
from onereshape.models.record import Record


def batch_expand(view: BatchView) -> Iterator[BatchAnswer]:
    """Sizes of 1 grow; N stays where it is."""
    mark = view.mark(0)
    if mark is None:
        grown = _grown(view, 1)
        if grown is None:
            yield BatchAnswer((), (view.pin(1),))
        else:
            yield from (BatchAnswer((home,)) for home in any_place(grown))
        return
    before, output = view.original(1), view.output_dims()
    if before is None:
        raise Refused("its shape is computed at run time from what is not known")
    axis = mark.axis + len(output) - view.rank(0)
    entry = axis - (len(output) - len(before))
    live = (view.live(1) or before)[entry] if entry >= 0 else 1
    said = before[entry] if entry >= 0 else 1
    if said in (1, view.dims(0)[mark.axis]) or live == mark.size(view.batch):
        own = {} if entry < 0 else {entry: live if live == mark.size(view.batch) else 1}
        yield BatchAnswer((mark.at(axis),), view.corrected(1, "shape", own))
        return
    if not mark.bare or view.size != 1 or not isinstance(said, int):
        raise Refused(f"it grows axis {axis}, which is {mark.size(view.batch)}, to {said}")
    yield _expand_apart(view, mark, axis, said)


def _expand_apart(view: BatchView, mark: Mark, axis: int, copies: int) -> BatchAnswer:
    """Several copies of each sample on the axis that N has for itself."""
    dims, output = view.dims(0), view.output_dims()
    split = [*dims[: mark.axis], view.batch, 1, *dims[mark.axis + 1 :]]
    grown = [
        1 if place >= 0 and dims[place] == size else size for place, size in enumerate(output, len(dims) - len(output))
    ]
    if not all(isinstance(size, int) for size in grown):
        raise Refused("it grows to sizes that are computed at run time")
    wide: list[Size] = [*grown[:axis], 1, copies, *grown[axis + 1 :]]
    home = Mark(axis, 1, copies)
    between = (*output[:axis], view.batch, copies, *output[axis + 1 :])
    sides = (between, marked(output, home, view.batch))
    edit = reshaped_around(view, [(0, split)], sides, f"{view.batch} x {copies} at axis {axis}")
    node = view.node

    def apply(build: Rewriter) -> None:
        edit.apply(build)
        node.replace_input_with(1, build.vector(wide))

    return BatchAnswer((home,), (edit._replace(apply=apply),))


def _grown(view: BatchView, index: int) -> Mark | None:
    """Where a tensor that all samples share grows with N; None where its sizes are no batch."""
    try:
        home = sized_mark(view, index)
    except Refused:
        return None
    if view.node.op_type != "Expand":
        return home
    # The sizes are counted from the right, and may be fewer than the axes.
    rank = len(view.output_dims())
    home = home.at(home.axis + rank - len(view.live(index) or ()))
    here = home.axis - rank + view.rank(0)
    return None if here >= 0 and view.dims(0)[here] != 1 else home


def free_expand(view: FreeView) -> Iterator[FreeAnswer]:
    """Sizes of 1 grow; a number for a size that is free anyway becomes 1."""
    dims, shape = view.dims(0), view.live(1)
    if shape is None:
        yield FreeAnswer((_at_least(dims, len(view.output())),))
        return
    rank = max(len(dims), len(shape))
    entries = list(shape)
    found: list[Axis | None] = []
    wanted: dict[int, Size] = {}
    suspect = ""
    for axis in range(rank):
        place, entry = axis - rank + len(dims), axis - rank + len(shape)
        own = dims[place] if place >= 0 else ONE
        said = entries[entry] if entry >= 0 else 1
        if said == 1 or own is None or (said is None and own != ONE):
            found.append(own)
        elif own == ONE:
            found.append(None if said is None else (said,))
            suspect = suspect or _suspect(view, axis, said)
        else:
            found.append(_grown_to(view, own, said, place, wanted))
            if said is not None and not view.move(said) and view.move(size_of(own)):
                entries[entry] = 1
    edits = [grown_input(view, 0, wanted)[0]] if wanted else []
    if entries != shape:
        first = next(place for place, old in enumerate(shape) if entries[place] != old)
        free = found[rank - len(shape) + first]
        known = [size for size in entries if size is not None]
        if len(known) < len(entries):
            raise Refused("its shape is computed from what is not known, and would have to be rewritten")
        edits.append(view.reword(1, known, "shape", None if free is None else size_of(free)))
    yield FreeAnswer((tuple(found),), tuple(edits), suspect=suspect)


def _at_least(dims: Dims, rank: int) -> Dims:
    """What is known of a result that is not smaller than data: a dim that is more than 1 already."""
    return (*[None] * (rank - len(dims)), *(own if own is not None and own != ONE else None for own in dims))


def _grown_to(view: FreeView, own: Axis, said: Size | None, place: int, wanted: dict[int, Size]) -> Axis:
    """A dim of more than one entry that must be what the shape says."""
    here = size_of(own)
    if said is None or view.state.same(here, said):
        return own
    if view.move(said) and not view.move(here) and view.state.then(said) == here:
        wanted[place] = said
        return (said,)
    if view.move(here) and (said == view.state.then(here) or (view.move(said) and view.same(here, said))):
        return own
    raise Refused(f"it grows {here} at axis {place} to {said}")


def _suspect(view: FreeView, axis: int, said: Size | None) -> str:
    """Why a number must not stay: it is one of the sizes that were freed."""
    own = {
        str(size): view.state.then(size)
        for each in view.dims(0)
        if each is not None and view.move(size := size_of(each))
    }
    for name, size in {**view.state.sizes, **own}.items():
        if said == size and size != 1:
            return f"it makes {said} entries at axis {axis}, and whether that is {name} or always {said} is not known"
    return ""


def grow_expand(growing: Growing) -> Inputs:
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


def work_expand(use: Use) -> int:
    return prod(np.broadcast_shapes(use.given(0).shape, tuple(numbers(use, 1))))


def batch_tile(view: BatchView) -> Iterator[BatchAnswer]:
    """Copies after one another: of N too, all samples again after the last."""
    mark, dims = view.mark(0), view.dims(0)
    if view.opset < 6:
        raise Refused("before opset 6 it takes its repeats otherwise")
    if mark is None:
        home = _grown(view, 1)
        grown = None if home is None else home._replace(inner=times(home.inner, dims[home.axis]))
        yield BatchAnswer((), (view.pin(1),)) if grown is None else BatchAnswer((grown,))
        return
    repeats = view.original(1)
    count = None if repeats is None else repeats[mark.axis]
    if count is None:
        raise Refused("its repeats are not known")
    yield BatchAnswer((mark._replace(outer=times(count, mark.outer)),), view.corrected(1, "repeats", {}))


def free_tile(view: FreeView) -> Iterator[FreeAnswer]:
    """Copies after one another."""
    dims, repeats = view.dims(0), view.live(1)
    if view.opset < 6 or repeats is None:
        raise Refused("its repeats are not known")
    found: list[Axis | None] = []
    suspect = ""
    for axis, (own, count) in enumerate(paired(dims, repeats)):
        found.append(None if own is None or count is None else own if count == 1 else axis_of(count, *own))
        suspect = suspect or (_suspect(view, axis, count) if own == ONE else "")
    yield FreeAnswer((tuple(found),), suspect=suspect)


def grow_tile(growing: Growing) -> Inputs:
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


def work_tile(use: Use) -> int:
    """As much as all copies hold."""
    return use.given(0).size * prod(numbers(use, 1))


def batch_constant_of_shape(view: BatchView) -> Iterator[BatchAnswer]:
    """A constant of computed dims: one that depends on N carries it."""
    try:
        home = sized_mark(view, 0)
    except Refused:
        yield BatchAnswer((), (view.pin(0),))
        return
    yield from (BatchAnswer((each,)) for each in any_place(home))


def free_constant_of_shape(view: FreeView) -> Iterator[FreeAnswer]:
    """The dims that an input gives."""
    live = view.live(0)
    rank = len(view.output())
    yield FreeAnswer((tuple([None] * rank if live is None else [None if size is None else (size,) for size in live]),))


def grow_constant_of_shape(growing: Growing) -> Inputs:
    shape = growing.view.words(0)
    if shape is None or None in shape:
        raise Refused(f"the shape of {growing.view.label} is computed at run time from what is not known")
    entries = [growing.wanted.get(axis, size) for axis, size in enumerate(shape) if size is not None]
    return {0: growing.vector(0, entries, "shape")}, {}


def work_constant_of_shape(use: Use) -> int:
    """As many elements as the dims multiply to."""
    return prod(numbers(use, 0))


def batch_range(view: BatchView) -> Iterator[BatchAnswer]:
    """A Range over N counts the samples; where that does not help, it is that of one sample."""
    live, size = view.live(1), view.size
    if size == 1 and view.integers(0) == [0] and live == [view.batch] and view.integers(2) == [1]:
        yield BatchAnswer((Mark(0),), counts=np.array([1], object))
    yield BatchAnswer((), tuple(view.pin(index) for index in range(3) if view.sized(index)))


def free_range(view: FreeView) -> Iterator[FreeAnswer]:
    """As many numbers as there are between the limits."""
    parts = [view.live(index) for index in range(3)]
    start, limit, step = (None if part is None else part[0] for part in parts)
    if start is None or limit is None or not isinstance(step, int) or step < 1:
        yield FreeAnswer(((None,),))
        return
    yield FreeAnswer((((cut(limit - start + (step - 1), step),),),))


def grow_range(growing: Growing) -> Inputs:
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


def span_range(spans: Spans, node: ir.Node, _: int) -> Size | None:
    limit = node.inputs[1]
    elements = None if limit is None else spans.state.live(limit)
    if elements is None or elements.size != 1 or elements.reshape(-1)[0] is None:
        return None
    last: Size = elements.reshape(-1)[0]
    return last - 1


def work_range(use: Use) -> int:
    start, limit, step = (use.given(index).reshape(()).item() for index in range(3))
    return max(0, int((limit - start) / step) + 1)


RECORDS = {
    "Expand": Record(
        batch=batch_expand,
        slots=frozenset({1}),
        several=True,
        free=free_expand,
        grows=grow_expand,
        moves=True,
        carries=True,
        by_place=True,
        sizes=True,
        beside=True,
        folds=True,
        work=work_expand,
    ),
    "Tile": Record(
        batch=batch_tile,
        slots=frozenset({1}),
        free=free_tile,
        grows=grow_tile,
        moves=True,
        by_place=True,
        folds=True,
        work=work_tile,
    ),
    "ConstantOfShape": Record(
        batch=batch_constant_of_shape,
        slots=frozenset({0}),
        several=True,
        free=free_constant_of_shape,
        grows=grow_constant_of_shape,
        carries=True,
        sizes=True,
        folds=True,
        work=work_constant_of_shape,
    ),
    "Range": Record(
        batch=batch_range,
        slots=frozenset({0, 1, 2}),
        several=True,
        free=free_range,
        grows=grow_range,
        span=span_range,
        folds=True,
        work=work_range,
    ),
}
