"""Operators that join along an axis and take apart again: Concat and Split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.aligning import aligning
from onereshape.graphs.batch_rules.answers import common_mark, only_first
from onereshape.graphs.batch_rules.counting import from_zero
from onereshape.graphs.batch_rules.marks import Mark, marked, over, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchState, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, few
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.grown import Growing, Inputs
from onereshape.graphs.free_rules.meeting import ONE, Meeting
from onereshape.graphs.free_rules.spans import combined, larger
from onereshape.graphs.free_rules.state import Axes, FreeAnswer, shown
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.takes import EVERY
from onereshape.rule.sizes import Size, cut


def shape_concat(asking: Asking) -> Shapes:
    """Concat along `axis`: `(2, 3), (2, S) -> (2, S + 3)` for axis 1."""
    return [joined([asking.dims(index) for index in range(len(asking.node.inputs))], asking, 1)]


def joined(shapes: Sequence[Dims], asking: Asking, default: int) -> Dims:
    """The dims of several side by side, along the axis that an attribute names."""
    if len({len(dims) for dims in shapes}) != 1:
        raise Refused("its inputs have several ranks")
    axis = asking.axis(len(shapes[0]), default)
    if len(shapes) > 64 and not all(isinstance(dims[axis], int) for dims in shapes):
        total: Size = sum(size for dims in shapes if isinstance(size := dims[axis], int))
        for dims in shapes:
            total = total if isinstance(dims[axis], int) else dims[axis] + total
    else:
        total = shapes[0][axis]
        for dims in shapes[1:]:
            total = total + dims[axis]
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def held_concat(holding: Holding) -> Elements:
    """The elements side by side."""
    parts = holding.all()
    few(sum(array.size for array in parts))
    return [np.concatenate(parts, axis=holding.attribute("axis", 1))]


@aligning
def batch_concat(view: BatchView) -> Iterator[BatchAnswer]:
    """Side by side along an axis; what all samples share is repeated for each."""
    batched = view.batched()
    marks = [mark for index in batched if (mark := view.mark(index))]
    axis = view.axis(view.rank(0), 1)
    along = all(mark.axis == axis for mark in marks)
    if not along:
        mark = common_mark(marks, view)
        edits = [view.spread(index, mark) for index in range(len(view.node.inputs)) if index not in batched]
        yield BatchAnswer((mark,), tuple(edits))
        return
    if len(batched) == len(view.node.inputs) and len(set(marks)) == 1 and marks[0].outer == 1:
        yield BatchAnswer((marks[0]._replace(outer=len(batched)),))
    yield _joined_apart(view, axis)


def _joined_apart(view: BatchView, axis: int) -> BatchAnswer:
    """The rows of each sample joined by themselves: N on an axis of its own, and all along the next one."""
    node, output = view.node, view.output_dims()
    rows = [view.dims(index) for index in range(len(node.inputs))]
    marks = [view.mark(index) or Mark(axis, 1, dims[axis]) for index, dims in enumerate(rows)]
    sizes = " and ".join(
        str(mark.size(view.batch) if view.mark(index) else mark.inner) for index, mark in enumerate(marks)
    )
    why = f"it joins {sizes} along axis {axis}"
    if view.state.named or view.size != 1:  # then the model itself says where each sample's rows are: apart
        raise Refused(f"{why}, so that no sample stands together", mixes=True)
    if any(mark.outer != 1 for mark in marks):
        raise Refused(f"{why}, where samples stand between other entries", mixes=True)
    shared = [index for index in range(len(rows)) if view.mark(index) is None]
    spread = tuple(view.spread(index, marks[index]) for index in shared)
    home = Mark(axis, 1, output[axis])

    def split(dims: Sequence[Size], mark: Mark) -> tuple[Size, ...]:
        return (*dims[:axis], view.batch, mark.inner, *dims[axis + 1 :])

    pairs = list(zip(rows, marks, strict=True))
    targets = [view.sayable(marked(dims, mark, view.batch), split(dims, mark)) for dims, mark in pairs]
    last = view.sayable(split(output, home), marked(output, home, view.batch))

    def apply(build: Rewriter) -> None:
        for index, target in enumerate(targets):
            value = node.inputs[index]
            if value is not None:
                node.replace_input_with(index, build.insert(node, "Reshape", [value, build.vector(target)]))
        node.attributes["axis"] = ir.AttrInt64("axis", axis + 1)
        build.reshape_output(node, build.vector(last))

    message = f"{view.label} joins rows along axis {axis}, those of all samples one after the other"
    made = view.edit(None, message, f"axis {axis}", f"{view.batch} apart at axis {axis}", apply)
    return BatchAnswer((home,), (*spread, made))


def free_concat(view: FreeView) -> Iterator[FreeAnswer]:
    """Side by side along an axis; all others must agree."""
    dims = [view.dims(index) for index in range(len(view.node.inputs))]
    axis = view.axis(len(dims[0]), 1)
    total: Size = 0
    for own in dims:
        part = own[axis]
        total = (0 if part is None else size_of(part)) + total
    known = all(own[axis] is not None for own in dims)
    if known and view.move(total):
        view.state.join(total, tuple(size_of(own[axis] or ONE) for own in dims))

    def compute(meeting: Meeting) -> Axes:
        places = range(len(dims[0]))
        return tuple(((total,) if known else None) if place == axis else _joint(meeting, place) for place in places)

    yield Meeting(view).result(compute)


def _joint(meeting: Meeting, place: int) -> Axis | None:
    """Dims that must be equal: unlike in broadcasting, 1 is a size like any other."""
    indices = range(len(meeting.view.node.inputs))
    sizes = {size_of(axis) for index in indices if (axis := meeting.dims(index)[place]) is not None}
    if 1 in sizes and any(meeting.view.move(size) for size in sizes):
        raise Refused(f"it joins sizes {shown(sorted(sizes, key=str))}, of which one is always 1")
    return meeting.meet([(index, place) for index in indices])


def grow_concat(growing: Growing) -> Inputs:
    view = growing.view
    axis = view.axis(view.rank(0), 1)
    if axis in growing.wanted:
        why = f"which of the parts that {view.label} joins along axis {axis} is to grow is not known"
        raise Refused(f"{why}, where {growing.wanted[axis]} is needed")
    return {index: growing.exactly(index, growing.wanted) for index in range(len(view.node.inputs))}, {}


def shape_split(asking: Asking) -> Shapes:
    """Split along `axis`: `(2, 7)` by `[3, 4]` gives `(2, 3)` and `(2, 4)`; without sizes, parts of equal size."""
    dims, count = asking.dims(0), asking.count
    axis = asking.axis(len(dims), 0)
    if asking.opset == 1 and asking.has(1):
        return [(*dims[:axis], asking.new(), *dims[axis + 1 :]) for _ in range(count)]  # it was of the type of data
    sizes: Sequence[Size | None] | None = asking.elements(1) if asking.has(1) else asking.attribute("split")
    if sizes is None and not asking.has(1):
        sizes = _pieces(asking, dims[axis], count)
    found: list[Dims] = []
    for output in range(count):
        size = sizes[output] if sizes is not None and output < len(sizes) else None
        found.append((*dims[:axis], asking.told(size), *dims[axis + 1 :]))
    return found


def _pieces(asking: Asking, size: Size, count: int) -> Sequence[Size | None]:
    """Before version 18 the dim divides; since then the last piece, and only that, may be smaller."""
    if isinstance(size, int):
        return _even(size, count)
    return [None] * count if asking.opset >= 18 else [cut(size, count)] * count


def _even(size: int, count: int) -> list[int]:
    """As many pieces, of which the last may be smaller."""
    piece = -(-size // count)
    return [max(0, min(piece, size - piece * place)) for place in range(count)]


def held_split(holding: Holding) -> Elements:
    """The elements of each piece."""
    data, axis, count = holding.given(0), holding.attribute("axis", 0), len(holding.node.outputs)
    sizes = holding.numbers("split", 1)
    if sizes is None:
        sizes = _even(data.shape[axis], count)
    return list(np.split(data, np.cumsum(sizes)[: count - 1], axis=axis))


def batch_split(view: BatchView) -> Iterator[BatchAnswer]:
    """Apart along an axis that is not N, or along what stands outside N on its axis."""
    mark = only_first(view)
    axis, count = view.axis(view.rank(0), 0), len(view.node.outputs)
    if axis != mark.axis:
        yield BatchAnswer((mark,) * count, view.corrected(1, "split", {}) if view.has(1) else ())
        return
    sizes = {view.output_dims(index)[axis] for index in range(count)}
    inner = over(mark.outer, count)
    if len(sizes) != 1 or inner is None:
        raise Refused(f"it cuts axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    edits: tuple[Edit, ...] = ()
    if view.has(1) or "split" in view.node.attributes:
        whole = times(inner, view.batch, mark.inner)
        edits = view.corrected(1, "split", dict.fromkeys(range(count), whole)) if view.has(1) else (_even_split(view),)
    yield BatchAnswer((mark._replace(outer=inner),) * count, edits)


def _even_split(view: BatchView) -> Edit:
    node, sizes = view.node, list(view.attribute("split"))

    def drop(_: Rewriter) -> None:
        node.attributes.pop("split")

    message = f"{view.state.symbol} is forced to {view.size} by {view.label}: split = {sizes}"
    return view.edit(None, message, str(sizes), "even", drop)


def free_split(view: FreeView) -> Iterator[FreeAnswer]:
    """Split: equal parts of a free axis, or parts of which the free one takes the rest."""
    dims = view.dims(0)
    axis, count = view.axis(len(dims), 0), len(view.node.outputs)
    own = dims[axis]
    if own is None or not view.move(size_of(own)):
        parts = [view.output(index)[axis] for index in range(count)]
        yield FreeAnswer(tuple(_at(dims, axis, part) for part in parts))
        return
    size = size_of(own)
    given = view.live(1) if view.has(1) else view.attribute("split")
    if given is None and not view.has(1):
        part = cut(size, count)
        if not view.same(part * count, size):
            raise Refused(f"{size} does not divide by {count}")
        yield FreeAnswer(tuple(_at(dims, axis, part) for _ in range(count)))
        return
    numbers = [each for each in given or () if isinstance(each, int)]
    if len(numbers) != count:
        raise Refused("the sizes of its parts are computed at run time")
    if (apart := _at_seams(view, size, numbers)) is not None:
        edits = () if apart == numbers else ((view.reword(1, apart, "split") if view.has(1) else _no_split(view)),)
        yield FreeAnswer(tuple(_at(dims, axis, part) for part in apart), edits)
        return
    order = sorted(range(count), key=lambda index: -numbers[index])
    for free in order:
        sizes: list[Size] = list(numbers)
        sizes[free] = size - (sum(numbers) - numbers[free])
        edit = view.reword(1, sizes, "split") if view.has(1) else _no_split(view)
        yield FreeAnswer(tuple(_at(dims, axis, part) for part in sizes), (edit,), alone=count == 1)


def _at_seams(view: FreeView, size: Size, numbers: Sequence[int]) -> list[Size] | None:
    """The sizes of the parts, where a dim that was joined comes apart again."""
    seams, place = view.state.seams(size), 0
    found: list[Size] = []
    done: Size = 0
    for number in numbers:
        place += number
        if place not in seams:
            return None
        found.append(seams[place] - done)
        done = seams[place]
    return found


def _no_split(view: FreeView) -> Edit:
    raise Refused(f"its parts {list(view.attribute('split'))} are an attribute, which cannot say a free size")


def _at(dims: Axes, axis: int, size: Size | None) -> Axes:
    return (*dims[:axis], None if size is None else (size,), *dims[axis + 1 :])


def from_zero_concat(node: ir.Node, state: BatchState) -> bool:
    """Concat: whether the columns that count the samples begin at 0 or above."""
    return all(from_zero(each, state) for each in node.inputs if each is not None and each in state.counts)


RECORDS = {
    "Concat": Record(
        shape=shape_concat,
        elements=held_concat,
        batch=batch_concat,
        several=True,
        free=free_concat,
        grows=grow_concat,
        span=combined(larger),
        from_zero=from_zero_concat,
        by_place=True,
        sums=True,
        beside=True,
        carries=EVERY,
        folds=True,
    ),
    "Split": Record(
        shape=shape_split,
        elements=held_split,
        batch=batch_split,
        slots=frozenset({1}),
        free=free_split,
        beside=True,
        carries=frozenset({0}),
        takes={1: "parts"},
        folds=True,
    ),
}
