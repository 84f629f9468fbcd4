"""Operators that repeat their data: Expand and Tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from onereshape.graphs.batch_rules.answers import any_place, only_first, reshaped_around, sized_mark
from onereshape.graphs.batch_rules.marks import Mark, marked, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, Unknown, few, whole
from onereshape.graphs.folding.folded_operators import Use
from onereshape.graphs.folding.folded_work import numbers
from onereshape.graphs.free_rules.alignment import Axis, axis_of, size_of
from onereshape.graphs.free_rules.grown import Growing, Inputs
from onereshape.graphs.free_rules.growth import grown_input
from onereshape.graphs.free_rules.meeting import ONE
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused, counted, paired
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size


def shape_expand(asking: Asking) -> Shapes:
    """Broadcast both ways: an entry of 1, or a target of fewer entries, leaves the dims of data as they are."""
    dims, target = asking.dims(0), asking.elements(1)
    if target is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(max(len(dims), count))]
    return [asking.broadcast(dims, tuple(map(asking.told, target)))]


def held_expand(holding: Holding) -> Elements:
    """The elements again wherever they are repeated."""
    data = holding.given(0)
    dims = np.broadcast_shapes(data.shape, tuple(whole(holding.given(1))))
    few(*dims)
    return [np.broadcast_to(data, dims)]


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


def _at_least(dims: Axes, rank: int) -> Axes:
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
    entries, rank = growing.entries(1, "shape"), len(view.output())
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        place, entry = axis - rank + view.rank(0), axis - rank + len(entries)
        if place >= 0 and view.dims(0)[place] != (1,):
            own[place] = size
        if entry >= 0 and entries[entry] != 1:
            entries[entry] = size
    return growing.reworded(own, 1, entries, "shape")


def work_expand(use: Use) -> int:
    return prod(np.broadcast_shapes(use.given(0).shape, tuple(numbers(use, 1))))


def shape_tile(asking: Asking) -> Shapes:
    """Tile, each dim times its repeats: `(2, 3), [1, 4] -> (2, 12)`."""
    if asking.opset < 6:
        return _shape_first_tile(asking)
    dims, repeats = asking.dims(0), asking.elements(1)
    if repeats is None or len(repeats) != len(dims):
        return [asking.unknown(len(dims))]
    return [
        tuple(
            size * asking.told(times) if times is not None else asking.new()
            for size, times in zip(dims, repeats, strict=True)
        )
    ]


def _shape_first_tile(asking: Asking) -> Shapes:
    """Before opset 6: so many copies along one axis, both of them in the type of data."""
    dims = list(asking.dims(0))
    count, axis = (_number(asking.floats(index)) for index in (1, 2))
    if axis is None:
        return [asking.unknown(len(dims))]
    place = counted(axis, len(dims))
    dims[place] = asking.new() if count is None else dims[place] * asking.told(count)
    return [tuple(dims)]


def _number(values: Sequence[Any] | None) -> int | None:
    """A whole number that stands alone."""
    if values is None or len(values) != 1 or int(values[0]) != values[0]:
        return None
    return int(values[0])


def _batch_first_tile(view: BatchView) -> Iterator[BatchAnswer]:
    """Before opset 6: so many copies along one axis."""
    mark = only_first(view)
    arrays = [view.state.folding.array(view.value(index)) for index in (1, 2)]
    count, axis = (None if array is None else _number(array.reshape(-1).tolist()) for array in arrays)
    if axis is None:
        raise Refused("its axis is computed at run time")
    if counted(axis, view.rank(0)) != mark.axis:
        yield BatchAnswer((mark,))
    elif count is None:
        raise Refused("its repeats are not known")
    else:
        yield BatchAnswer((mark._replace(outer=times(count, mark.outer)),))


def held_tile(holding: Holding) -> Elements:
    """The elements of all copies."""
    data, repeats = holding.given(0), whole(holding.given(1))
    if holding.opset < 6 or len(repeats) != data.ndim:
        raise Unknown
    few(*repeats, data.size)
    return [np.tile(data, repeats)]


def batch_tile(view: BatchView) -> Iterator[BatchAnswer]:
    """Copies after one another: of N too, all samples again after the last."""
    if view.opset < 6:
        yield from _batch_first_tile(view)
        return
    mark, dims = view.mark(0), view.dims(0)
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
    """Tile, each dim times its repeats: `(1, S), [4, 1] -> (4, S)`; suspect where repeats equal a freed size."""
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
    return growing.reworded(own, 1, entries, "repeats")


def work_tile(use: Use) -> int:
    """As much as all copies hold."""
    return use.given(0).size * prod(numbers(use, 1))


_REPEATS = Record(slots=frozenset({1}), moves=True, by_place=True, folds=True)

RECORDS = {
    "Expand": _REPEATS._replace(
        shape=shape_expand,
        elements=held_expand,
        batch=batch_expand,
        several=True,
        free=free_expand,
        grows=grow_expand,
        beside=True,
        takes={1: "wider dims"},
        work=work_expand,
    ),
    "Tile": _REPEATS._replace(
        shape=shape_tile,
        elements=held_tile,
        batch=batch_tile,
        free=free_tile,
        grows=grow_tile,
        takes={1: "repeats"},
        work=work_tile,
    ),
}
