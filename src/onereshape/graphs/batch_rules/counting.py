"""Numbers of samples: a Range over N, and what is computed from it to index the batch.

A model that is dynamic already counts its samples: `x[arange(N), last]`.  Such a tensor is not the same function of
every sample; what sample n has is what it would have alone, plus n times something.  That something passes through
every operator that is linear, and an indexing operator accepts it where it is just what the batch needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.view import BatchState, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.elements import evaluated
from onereshape.graphs.facts.kinds import KindRule
from onereshape.graphs.node_view import Refused
from onereshape.graphs.registry import record_of
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size, is_size


def counted(view: BatchView, edits: Sequence[Edit] = ()) -> Array | None:
    """What each sample adds to the output of a node that reads numbers of samples; None where none does.

    Constants that count the samples are put in its place by edits.
    """
    mine = {index: counts for index in view.batched() if (counts := view.counts(index)) is not None}
    mine |= {edit.slot: edit.counts for edit in edits if edit.counts is not None and edit.slot is not None}
    record = record_of(view.node)
    if not mine or record.from_dims is not None or set(mine) == {record.indexes}:
        return None
    linear = record.sums or record.multiplies or (record.moves and not record.picks)
    if not linear or not _integers(view, record.kinds):
        numbers = view.value(min(mine)).name
        raise Refused(f"it calculates with {numbers}, which counts through all samples")
    feeds: list[Array | None] = []
    for index in range(len(view.node.inputs)):
        if not view.has(index):
            feeds.append(None)
        elif index in mine:
            feeds.append(mine[index])
        elif record.sums:
            feeds.append(np.zeros([dim if isinstance(dim, int) else 1 for dim in view.dims(index)], object))
        else:
            feeds.append(_known(view, index))
    if record.by_place and not all(isinstance(dim, int) for index in mine for dim in view.dims(index)):
        raise Refused("it moves the numbers of the samples by sizes that are not known")
    if record.multiplies and (len(mine) > 1 or any(feed is None for feed in feeds)):
        raise Refused("it multiplies the numbers of the samples by what differs from sample to sample")
    found = _applied(view, feeds)
    if found is None:
        raise Refused("what it does to the numbers of the samples is not known")
    return found if found.any() else None


def steps(counts: Array | None, step: Size, column: int | None, width: int) -> bool:
    """Whether indices, or their column `column`, grow by exactly `step` from one sample to the next."""
    wanted = np.zeros(1 if column is None else width, object)
    wanted[column or 0] = step
    return counts is not None and np.array_equal(counts, np.broadcast_to(wanted, counts.shape))


def _applied(view: BatchView, feeds: Sequence[Array | None]) -> Array | None:
    """What a node gives on these numbers, or sizes; None where that is not known."""
    if not any(isinstance(each, Formula) for feed in feeds if feed is not None for each in feed.flat):
        return view.state.folding.applied(view.node, feeds)
    found, *_ = evaluated(view.node, feeds, view.state.dims, view.opset, view.state.dtype)
    return None if found is None or any(each is None for each in found.flat) else found


def _known(view: BatchView, index: int) -> Array | None:
    """What an input holds that is the same for all samples: numbers, or sizes."""
    value = view.value(index)
    found = view.state.folding.array(value)
    if found is not None or view.mark(index) is not None or view.sized(index):
        return found
    held = view.state.integers(value)
    return None if held is None or any(each is None for each in held.flat) else held


def from_zero(value: ir.Value, state: BatchState) -> bool:
    """Whether what counts the samples in these indices begins at 0 or above, so that no sample reaches back."""
    array = state.folding.array(value)  # of one sample: the others have the same, or count on from it
    if array is not None:
        return bool((array >= 0).all())
    held = state.integers(value)  # of sizes none is below 0
    if (
        held is not None
        and value not in state.marks
        and all(isinstance(e, int | Formula) and is_size(e) for e in held.flat)
    ):
        return True
    maker = value.producer()
    if maker is None:
        return False
    record = record_of(maker)
    rule: Callable[[ir.Node, BatchState], bool] | None = record.from_zero
    if rule is not None:
        return rule(maker, state)
    return bool(record.moves and not record.picks) and all_from_zero(maker.inputs[:1], state)


def all_from_zero(values: Sequence[ir.Value | None], state: BatchState) -> bool:
    """Whether no value is below 0 in any sample, as `from_zero` tells; False for no values at all."""
    return bool(values) and all(each is not None and from_zero(each, state) for each in values)


def always_from_zero(_: ir.Node, __: BatchState) -> bool:
    """The `from_zero` rule of an operator that never gives a number below 0: Shape, ArgMax."""
    return True


def _integers(view: BatchView, kinds: KindRule | None) -> bool:
    """Whether integers stay integers: no attribute chooses the type of the output, or it chooses int32 or int64."""
    chosen = None if kinds is None else kinds(lambda _: None, view.attribute)
    return chosen is None or chosen[0] in {ir.DataType.INT64, ir.DataType.INT32}
