"""Indices that count along the batch.

In a model of one sample the sample's own number is 0, wherever an index counts along the batch.  With N samples it is
the sample's place: a Range over N, times the elements that one sample has on that axis.
"""

from __future__ import annotations

import onnx_ir as ir

from onereshape.graphs.batch_rules.counting import from_zero, steps
from onereshape.graphs.batch_rules.marks import Mark, over
from onereshape.graphs.batch_rules.numbering import added
from onereshape.graphs.batch_rules.spreading import Shift, shifted
from onereshape.graphs.batch_rules.view import BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size


def entries_of(view: BatchView, mark: Mark) -> Size:
    """How many entries one sample has on the axis that carries N, where they stand together."""
    if mark.outer != 1:
        raise _scattered(view, mark)
    return mark.inner


def step_of(view: BatchView, mark: Mark) -> int:
    """The entries of one sample on the axis that carries N: `Mark(0, 1, 16) -> 16`; a formula is refused."""
    if not isinstance(mark.inner, int):
        raise _scattered(view, mark)
    entries_of(view, mark)
    return mark.inner


def counted_step(view: BatchView, mark: Mark) -> Size:
    """The entries of one sample on the axis of N; a formula only where input 1 counts the samples already."""
    return step_of(view, mark) if view.counts(1) is None else entries_of(view, mark)


def _scattered(view: BatchView, mark: Mark) -> Refused:
    size = mark.size(view.batch)
    return Refused(f"it picks from axis {mark.axis}, which is {size}, and no sample stands together there")


def check_counts(view: BatchView, *, along_batch: bool) -> None:
    """Numbers of samples can only pick from the batch."""
    if view.counts(1) is not None and not along_batch:
        raise Refused("it would pick by the numbers of the samples from what is not the batch")


def offset(view: BatchView, index: int, shift: Shift) -> tuple[Edit, ...]:
    """Indices that count along N: each sample's own, moved to where its entries stand."""
    if view.counts(index) is not None and _count_already(view, index, shift):
        return ()
    if view.size != 1 and view.counts(index) is None:
        raise Refused(not_each(view, index), mixes=True)
    if not isinstance(shift.step, int):
        raise Refused(f"the numbers of the samples would have to be counted by {shift.step}")
    if view.opset < 7:
        raise Refused("the numbers of the samples would have to be added to its indices, which needs opset 7")
    if shift.home.outer != 1:
        raise Refused("its indices carry the batch between other sizes")
    if not view.state.declared(shift.home.inner):
        raise Refused(f"how many of {view.value(index).name} each sample has is known at run time only")
    node, value = view.node, view.value(index)
    shift = shift._replace(short=view.state.dtype(value) == ir.DataType.INT32)

    def apply(build: Rewriter) -> None:
        indices = node.inputs[index]
        if indices is not None:
            node.replace_input_with(index, shifted(build, node, indices, shift))

    message = f"{value.name} counts through the batch for {view.label}, as if there were {view.size_words()}"
    return (view.edit(index, message, "0", f"{shift.step} * (0 to {view.state.symbol} - 1)", apply),)


def own(view: BatchView, index: int, shift: Shift) -> tuple[Edit, ...]:
    """The edits that make indices for N samples of shared ones: `[0, 1]` of 2 samples becomes `[0, 1 ... N-1]`."""
    if view.size == 1:
        return (view.spread(index, shift.home), *offset(view, index, shift))
    array = view.state.folding.array(view.value(index))
    if array is not None and added(array, shift.home, view.size) is None:
        raise Refused(not_each(view, index), mixes=True)
    edit = view.spread(index, shift.home, counting=True)
    if not steps(edit.counts, shift.step, shift.column, shift.width):
        raise Refused(not_each(view, index), mixes=True)
    if array is None or ((array if shift.column is None else array[..., shift.column]) < 0).any():
        raise Refused(_reaching(view, index), mixes=True)
    return (edit,)


def _reaching(view: BatchView, index: int) -> str:
    """Why indices that count several samples, and may be below 0 within them, cannot be those of N."""
    name, one = view.value(index).name, "an export of one sample may be freed"
    return f"it picks by {name}, which may be less than its sample begins with, and reach into the one before; {one}"


def _column(value: ir.Value, view: BatchView, column: int | None) -> ir.Value:
    """What a column of indices is made of, where several samples have such columns side by side; else all of them."""
    maker, dims = value.producer(), view.state.dims(value)
    if view.size == 1 or column is None or maker is None or maker.op_type != "Concat" or dims is None:
        return value
    axis = maker.attributes.get("axis")
    if axis is None or axis.value not in (-1, len(dims) - 1):
        return value
    before = 0
    for each in maker.inputs:
        own = None if each is None else view.state.dims(each)
        if each is None or own is None or not isinstance(own[-1], int):
            return value
        before += own[-1]
        if column < before:
            return each
    return value


def not_each(view: BatchView, index: int) -> str:
    """Why indices of several samples cannot be those of N."""
    name, size = view.value(index).name, view.size_words()
    own = "and not from each sample its own; an export of one sample may be freed"
    return f"it picks by {name} from the {size} that the model was exported with, {own}"


def no_axis(view: BatchView, index: int) -> str:
    """Why indices that have no axis for N cannot be those of N samples."""
    return not_each(view, index) if view.size > 1 else "its indices have no axis for the batch"


def _count_already(view: BatchView, index: int, shift: Shift) -> bool:
    """Whether indices that count the samples pick what is wanted; where they reach back, each sample must do so alone.

    Index -1 is the last entry of one sample alone.  With N samples it is the last entry of the last, so a model that
    says how it counts through N samples means another sample there.
    """
    if not steps(view.counts(index), shift.step, shift.column, shift.width):
        why = f"its indices count the samples by other steps than {shift.step}"
        raise Refused(why, mixes=True, final=view.state.named)
    value = view.value(index)
    if from_zero(_column(value, view, shift.column), view.state):
        return True
    if view.size != 1:
        raise Refused(_reaching(view, index), mixes=True)
    alone = view.state.folding.array(value)
    reaches = None if alone is None else alone if shift.column is None else alone[..., shift.column]
    if reaches is None:
        return False
    if (reaches < 0).any() and view.state.named:
        raise Refused("its indices count the samples from below 0, so each picks from another", mixes=True, final=True)
    return bool((reaches >= 0).all())


def free_homes(view: BatchView, dims: tuple[Size, ...], lead: int = 0) -> list[Mark]:
    """The axes of a tensor without a mark where N of it can stand: first those that are the batch and no more."""
    found = [
        Mark(axis, 1, inner)
        for axis, dim in enumerate(dims)
        if axis >= lead and (inner := over(dim, view.size)) is not None
    ]
    return sorted(found, key=lambda mark: not mark.bare)
