"""Indices that count along the batch.

In a model of one sample the sample's own number is 0, wherever an index counts along the batch.  With N samples it is
the sample's place: a Range over N, times the elements that one sample has on that axis.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from onereshape.sizes import Size
from onereshape.models.rewrite import Rewriter
from onereshape.models.batch.counting import from_zero
from onereshape.models.batch.marks import Mark
from onereshape.models.batch.view import BatchView
from onereshape.models.batch.writing import Shift, shifted
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused


def entries_of(view: BatchView, mark: Mark) -> Size:
    """How many entries one sample has on the axis that carries N, where they stand together."""
    if mark.outer != 1:
        raise _scattered(view, mark)
    if view.size != 1:
        raise Refused(f"it picks from axis {mark.axis} by numbers that count through {view.size} samples")
    return mark.inner


def step_of(view: BatchView, mark: Mark) -> int:
    """The same, where it is a number."""
    if not isinstance(mark.inner, int):
        raise _scattered(view, mark)
    entries_of(view, mark)
    return mark.inner


def counted_step(view: BatchView, mark: Mark) -> Size:
    """The same of what may count the samples already, by a size that is no number."""
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
    if not isinstance(shift.step, int):
        raise Refused(f"the numbers of the samples would have to be counted by {shift.step}")
    if view.opset < 11:
        raise Refused("the numbers of the samples are a Range, which needs opset 11")
    if shift.home.outer != 1:
        raise Refused("its indices carry the batch between other sizes")
    node, value = view.node, view.value(index)
    shift = shift._replace(short=view.state.dtype(value) == ir.DataType.INT32)

    def apply(build: Rewriter) -> None:
        indices = node.inputs[index]
        if indices is not None:
            node.replace_input_with(index, shifted(build, node, indices, shift))

    message = f"{value.name} counts through the batch for {view.label}, as if there were {view.size_words()}"
    return (view.edit(index, message, "0", f"{shift.step} * (0 to {view.state.symbol} - 1)", apply),)


def _count_already(view: BatchView, index: int, shift: Shift) -> bool:
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


def free_homes(dims: tuple[Size, ...], lead: int = 0) -> Iterator[Mark]:
    """The axes of a tensor that all samples share where N of it can stand: first those of size 1."""
    ones = [Mark(axis) for axis, dim in enumerate(dims) if axis >= lead and dim == 1]
    others = [Mark(axis, 1, dim) for axis, dim in enumerate(dims) if axis >= lead and dim != 1]
    if not ones and not others:
        raise Refused("its indices have no axis for the batch")
    yield from (*ones, *others)
