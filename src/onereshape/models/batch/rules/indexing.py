"""Operators that pick elements by number.

In a model of one sample the sample's own number is 0, wherever an index counts along the batch.  With N samples it is
the sample's place: a Range over N, times the elements that one sample has on that axis.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from onereshape.dims import Size
from onereshape.models.batch.rules.counting import from_zero
from onereshape.models.batch.rules.pointwise import common_mark, reshaped_around
from onereshape.models.batch.rules.rule import Rule, each_home
from onereshape.models.rewrite import Rewriter, Shift
from onereshape.models.batch.marks import Mark, homes, marked
from onereshape.models.batch.view import Answer, View
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused


def gather(view: View) -> Iterator[Answer]:
    """Slices of data along one axis."""
    data, indices = view.mark(0), view.mark(1)
    axis = view.axis(view.rank(0), 0)
    _check_counts(view, along_batch=data is not None and data.axis == axis)
    if data is None and indices is not None:
        yield Answer((indices.at(indices.axis + axis),))
    elif indices is None and data is not None and data.axis != axis:
        yield Answer((data.at(data.axis + (view.rank(1) - 1 if data.axis > axis else 0)),))
    elif indices is None and data is not None:
        yield from _gather_sample(view, data, axis)
    elif data is not None and indices is not None and data.axis == axis:
        step = _step(view, data)
        yield Answer((indices.at(indices.axis + axis),), _offset(view, 1, Shift(step, indices, view.rank(1))))
    elif data is not None and indices is not None:
        yield _gather_each(view, data, indices, axis)


def _gather_sample(view: View, data: Mark, axis: int) -> Iterator[Answer]:
    """The same indices for all samples, along the axis that carries N: each sample picks from its own entries."""
    dims, picked, output = view.dims(0), view.dims(1), view.output_dims()
    step = _step(view, data)
    numbers = view.state.folding.array(view.value(1)) if view.state.named else None
    if numbers is not None and (numbers < 0).any():
        raise Refused("it picks from the last sample back, which is another one for each number of samples", mixes=True)
    apart = (*dims[:axis], view.batch, step, *dims[axis + 1 :])
    whole = (*dims[:axis], 1, *picked, *dims[axis + 1 :])  # the result, with N on an axis of its own

    def answer(home: Mark) -> Answer:
        return Answer((home,), (_gathered_apart(view, axis, apart, marked(output, home, view.batch)),))

    none = f"it picks single entries from axis {axis}, which is {data.size(view.batch)}, and leaves no axis for it"
    yield from each_home(homes(whole, Mark(axis), output, 1), answer, none)


def _gathered_apart(view: View, axis: int, apart: tuple[Size, ...], output: tuple[Size, ...]) -> Edit:
    """The same Gather with N on an axis of its own, before the one that is picked from."""
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


def _gather_each(view: View, data: Mark, indices: Mark, axis: int) -> Answer:
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
    return Answer((Mark(0),), (view.edit(1, message, "Gather", "GatherND batch_dims=1", apply),))


def _step(view: View, mark: Mark) -> int:
    """How many entries one sample has on the axis that carries N, where they stand together."""
    if mark.outer != 1 or not isinstance(mark.inner, int):
        raise Refused(
            f"it picks from axis {mark.axis}, which is {mark.size(view.batch)}, and no sample stands together there"
        )
    if view.size != 1:
        raise Refused(f"it picks from axis {mark.axis} by numbers that count through {view.size} samples")
    return mark.inner


def _check_counts(view: View, *, along_batch: bool) -> None:
    """Numbers of samples can only pick from the batch."""
    if view.counts(1) is not None and not along_batch:
        raise Refused("it would pick by the numbers of the samples from what is not the batch")


def _offset(view: View, index: int, shift: Shift) -> tuple[Edit, ...]:
    """Indices that count along N: each sample's own, moved to where its entries stand."""
    if view.counts(index) is not None and _count_already(view, index, shift):
        return ()
    if view.opset < 11:
        raise Refused("the numbers of the samples are a Range, which needs opset 11")
    if shift.home.outer != 1:
        raise Refused("its indices carry the batch between other sizes")
    node, value = view.node, view.value(index)
    shift = shift._replace(short=view.state.dtype(value) == ir.DataType.INT32)

    def apply(build: Rewriter) -> None:
        indices = node.inputs[index]
        if indices is not None:
            node.replace_input_with(index, build.shifted(node, indices, shift))

    message = f"{value.name} counts through the batch for {view.label}, as if there were {view.size_words()}"
    return (view.edit(index, message, "0", f"{shift.step} * (0 to {view.state.symbol} - 1)", apply),)


def _count_already(view: View, index: int, shift: Shift) -> bool:
    """Whether indices that count the samples pick what is wanted; where they reach back, each sample must do so alone.

    Index -1 is the last entry of one sample alone.  With N samples it is the last entry of the last, so a model that
    says how it counts through N samples means another sample there.
    """
    counts = view.counts(index)
    wanted = np.zeros(1 if shift.column is None else shift.width, object)
    wanted[shift.column or 0] = shift.step
    if counts is None or not np.array_equal(counts, np.broadcast_to(wanted, counts.shape)):
        why = f"its indices count the samples by other steps than {shift.step}"
        raise Refused(why, mixes=True, final=view.state.named)
    value = view.value(index)
    if from_zero(value, view.state):
        return True
    alone = view.state.folding.array(value)
    reaches = None if alone is None else alone if shift.column is None else alone[..., shift.column]
    if reaches is None:
        return False
    if (reaches < 0).any() and view.state.named:
        raise Refused("its indices count the samples from below 0, so each picks from another", mixes=True, final=True)
    return bool((reaches >= 0).all())


def gather_elements(view: View) -> Iterator[Answer]:
    """One element per index, along one axis; GatherElements and ScatterElements."""
    axis = view.axis(view.rank(0), 0)
    home = common_mark([mark for index in view.batched() if (mark := view.mark(index))], view)
    rows = {view.dims(index)[home.axis] for index in range(len(view.node.inputs))}
    if rows != {home.size(view.size)}:
        raise Refused(f"its inputs have {sorted(map(str, rows))} entries at axis {home.axis}, where the batch is")
    edits = [view.spread(index, home) for index in range(len(view.node.inputs)) if view.mark(index) is None]
    if home.axis == axis:
        raise Refused(f"it picks from axis {axis}, which is {home.size(view.batch)}", mixes=True)
    yield Answer((home,), tuple(edits))


def gather_nd(view: View) -> Iterator[Answer]:
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
    _check_counts(view, along_batch=data is not None and lead <= data.axis < lead + width)
    if data is None and indices is not None:
        if indices.axis < lead:
            yield Answer((indices,), (view.spread(0, indices),))
        else:
            yield Answer((indices,))
    elif data is not None and data.axis < lead:
        home = common_mark([data, indices or data], view)
        yield Answer((home,), () if indices is not None else (view.spread(1, home),))
    elif data is not None and data.axis >= lead + width:
        if indices is not None:
            raise Refused("data and indices carry the batch at different places", mixes=True)
        yield Answer((data.at(rank - 1 + data.axis - lead - width),))
    elif data is not None:
        yield from _picked(view, data, indices, lead)


def _picked(view: View, data: Mark, indices: Mark | None, lead: int) -> Iterator[Answer]:
    """N is one of the axes that the numbers pick from: the sample's own, by its place."""
    if indices is not None and indices.axis < lead:
        raise Refused("its indices carry the batch where data does not", mixes=True)
    step, rank, width = _step(view, data), view.rank(1), view.dims(1)[-1]
    for home in [indices] if indices is not None else free_homes(view.dims(1)[:-1], lead):
        spread = () if indices is not None else (view.spread(1, home),)
        shift = Shift(step, home, rank, data.axis - lead, width if isinstance(width, int) else 0)
        yield Answer((home,), (*spread, *_offset(view, 1, shift)))


def free_homes(dims: tuple[Size, ...], lead: int = 0) -> Iterator[Mark]:
    """The axes of a tensor that all samples share where N of it can stand: first those of size 1."""
    ones = [Mark(axis) for axis, dim in enumerate(dims) if axis >= lead and dim == 1]
    others = [Mark(axis, 1, dim) for axis, dim in enumerate(dims) if axis >= lead and dim != 1]
    if not ones and not others:
        raise Refused("its indices have no axis for the batch")
    yield from (*ones, *others)


def scatter_nd(view: View) -> Iterator[Answer]:
    """Data with some slices replaced, each chosen by a row of numbers."""
    data, indices, updates = (view.mark(index) for index in range(3))
    rank, width = view.rank(1), view.dims(1)[-1]
    if indices is not None and indices.axis == rank - 1:
        raise Refused("its indices carry the batch among their numbers", mixes=True)
    if not isinstance(width, int):
        raise Refused("how many numbers choose a slice is not known")
    home = data
    _check_counts(view, along_batch=home is not None and home.axis < width)
    if home is None and updates is not None and updates.axis >= rank - 1 and indices is None:
        home = updates.at(updates.axis - (rank - 1) + width)
    if home is not None and home.axis >= width:
        if indices is not None:
            raise Refused("data and indices carry the batch at different places", mixes=True)
        place = home.at(home.axis - width + rank - 1)
        if updates is not None and updates != place:
            raise Refused("data and updates carry the batch at different places", mixes=True)
        edits = ([] if data is not None else [view.spread(0, home)]) + (
            [] if updates is not None else [view.spread(2, place)]
        )
        yield Answer((home,), tuple(edits))
        return
    yield from _scatter_along(view, home, (indices, updates), width)


def _scatter_along(
    view: View, home: Mark | None, marks: tuple[Mark | None, Mark | None], width: int
) -> Iterator[Answer]:
    """N is one of the axes that the numbers choose, or data is not yet batched at all."""
    rank, dims = view.rank(1), view.dims(0)
    indices, updates = marks
    rows = [mark for mark in marks if mark is not None]
    if any(mark.axis >= rank - 1 for mark in rows):
        raise Refused("indices and updates carry the batch at different places", mixes=True)
    places = [common_mark(rows, view)] if rows else list(free_homes(view.dims(1)[:-1]))
    datas = [home] if home is not None else [Mark(axis, 1, dim) for axis, dim in enumerate(dims[:width])]
    for target in sorted(datas, key=lambda mark: not mark.bare):
        step = _step(view, target)
        for place in places:
            edits = [] if home is not None else [view.spread(0, target)]
            edits += [] if indices is not None else [view.spread(1, place)]
            edits += _offset(view, 1, Shift(step, place, rank, target.axis, width))
            edits += [] if updates is not None else [view.spread(2, place)]
            yield Answer((target,), tuple(edits))


RULES = {
    "Gather": Rule(gather, several=True),
    "GatherElements": Rule(gather_elements),
    "ScatterElements": Rule(gather_elements),
    "Scatter": Rule(gather_elements),
    "GatherND": Rule(gather_nd, several=True),
    "ScatterND": Rule(scatter_nd, several=True),
}
