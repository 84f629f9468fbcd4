"""Numbers of samples: a Range over N, and what is computed from it to index the batch.

A model that is dynamic already counts its samples: `x[arange(N), last]`.  Such a tensor is not the same function of
every sample; what sample n has is what it would have alone, plus n times something.  That something passes through
every operator that is linear, and an indexing operator accepts it where it is just what the batch needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from onereshape.models.batch.view import Array, BatchState, BatchView
from onereshape.models.node_view import Refused
from onereshape.models.record import Record, record_of


def counted(view: BatchView) -> Array | None:
    """What each sample adds to the output of a node that reads numbers of samples; None where none does."""
    mine = {index: counts for index in view.batched() if (counts := view.counts(index)) is not None}
    record = record_of(view.node)
    if not mine or record.from_dims is not None or (record.indexes and set(mine) == {1}):
        return None
    linear = record.sums or record.multiplies or (record.moves and not record.picks)
    if not linear or view.size != 1 or not _integers(view, record):
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
    if record.multiplies and (len(mine) > 1 or any(feed is None for feed in feeds)):
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
    if maker is None:
        return False
    record = record_of(maker)
    if record.from_zero is not None:
        return record.from_zero(maker, state)
    return record.moves and not record.picks and all_from_zero(maker.inputs[:1], state)


def all_from_zero(values: Sequence[ir.Value | None], state: BatchState) -> bool:
    """The same of several, of which there is one at least."""
    return bool(values) and all(each is not None and from_zero(each, state) for each in values)


def always_from_zero(_: ir.Node, __: BatchState) -> bool:
    """Of an operator that counts."""
    return True


def _integers(view: BatchView, record: Record) -> bool:
    """Whether an operator leaves integers what they are."""
    chosen = None if record.kinds is None else record.kinds(lambda _: None, view.attribute)
    return chosen is None or chosen[0] in {ir.DataType.INT64, ir.DataType.INT32}
