"""Numbers of samples: a Range over N, and what is computed from it to index the batch.

A model that is dynamic already counts its samples: `x[arange(N), last]`.  Such a tensor is not the same function of
every sample; what sample n has is what it would have alone, plus n times something.  That something passes through
every operator that is linear, and an indexing operator accepts it where it is just what the batch needs.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onereshape.models.batch.view import Array, BatchState, BatchView
from onereshape.models.node_view import Refused
from onereshape.models.record import record_of


def counted(view: BatchView) -> Array | None:
    """What each sample adds to the output of a node that reads numbers of samples; None where none does."""
    mine = {index: counts for index in view.batched() if (counts := view.counts(index)) is not None}
    op, record = view.node.op_type, record_of(view.node)
    if not mine or (record.indexes and set(mine) == {1}):
        return None
    linear = record.sums or op == "Mul" or (record.moves and not record.picks)
    if not linear or view.size != 1 or (op == "Cast" and not _to_integer(view)):
        raise Refused("it would calculate with the numbers of the samples")
    feeds: list[Array | None] = []
    for index in range(len(view.node.inputs)):
        if not view.has(index):
            feeds.append(None)
        elif index in mine:
            feeds.append(mine[index])
        elif record.sums:
            feeds.append(np.zeros([dim if isinstance(dim, int) else 1 for dim in view.dims(index)], object))
        else:
            feeds.append(view.state.folding.array(view.value(index)))
    if record.by_place and not all(isinstance(dim, int) for index in mine for dim in view.dims(index)):
        raise Refused("it moves the numbers of the samples by sizes that are not known")
    if op == "Mul" and (len(mine) > 1 or any(feed is None for feed in feeds)):
        raise Refused("it multiplies the numbers of the samples by what differs from sample to sample")
    found = view.state.folding.applied(view.node, feeds)
    if found is None:
        raise Refused("what it does to the numbers of the samples is not known")
    return found if found.any() else None


def from_zero(value: ir.Value, state: BatchState) -> bool:
    """Whether what counts the samples in these indices begins at 0 or above, so that no sample reaches back."""
    array = state.folding.array(value)  # of one sample: the others have the same, or count on from it
    if array is not None:
        return bool((array >= 0).all())
    maker = value.producer()
    if maker is None or maker.domain not in {"", "ai.onnx"}:
        return False
    if maker.op_type in {"Range", "ArgMax", "ArgMin", "Shape"}:
        return True
    if maker.op_type == "Mod":
        divisor = None if maker.inputs[1] is None else state.folding.array(maker.inputs[1])
        return divisor is not None and not maker.attributes.get_int("fmod", 0) and bool((divisor > 0).all())
    if maker.op_type == "Concat":  # of several columns, only those that count the samples
        return all(from_zero(each, state) for each in maker.inputs if each is not None and each in state.counts)
    record = record_of(maker)
    first = record.moves and not record.picks
    moved = maker.inputs[:1] if first else maker.inputs if maker.op_type in {"Add", "Mul"} else ()
    return bool(moved) and all(each is not None and from_zero(each, state) for each in moved)


def _to_integer(view: BatchView) -> bool:
    return ir.DataType(view.attribute("to")) in {ir.DataType.INT64, ir.DataType.INT32}
