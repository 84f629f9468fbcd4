"""Operators that read the dims of a tensor: Shape and Size.  What they hold is followed by itself."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.models.batch.view import Answer as BatchAnswer, View as BatchView
from onereshape.models.free.state import Answer as FreeAnswer
from onereshape.models.free.view import View as FreeView
from onereshape.models.record import Record


def batch_sizes(view: BatchView) -> Iterator[BatchAnswer]:
    """Shape and Size: their values are followed by themselves."""
    view.rank(0)
    yield BatchAnswer(())


def free_sizes(view: FreeView) -> Iterator[FreeAnswer]:
    """Shape and Size: what they hold is followed by itself."""
    whole = range(view.rank(0))[slice(view.attribute("start", 0), view.attribute("end"))]
    yield FreeAnswer((((len(whole),),) if view.node.op_type == "Shape" else (),))


_SIZES = Record(batch=batch_sizes, free=free_sizes, sizes=True, folds=True)

RECORDS = {"Shape": _SIZES._replace(beside=True), "Size": _SIZES}
