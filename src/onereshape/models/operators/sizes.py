"""Operators that read the dims of a tensor: Shape and Size.  What they hold is followed by itself."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.models.batch.view import BatchAnswer, BatchView
from onereshape.models.facts.asking import Asking, Shapes
from onereshape.models.facts.elements import Elements, Holding, array_of, few
from onereshape.models.free.by_shape import by_shape
from onereshape.models.record import Record
from onereshape.sizes import product


def shape_shape(asking: Asking) -> Shapes:
    """As many entries as data has dims."""
    rank = len(asking.dims(0))
    return [(len(range(rank)[slice(asking.attribute("start", 0), asking.attribute("end"))]),)]


def held_shape(holding: Holding) -> Elements:
    """The dims."""
    sizes = holding.sizes()
    few(len(sizes))
    return [array_of(sizes[slice(holding.attribute("start", 0), holding.attribute("end"))])]


def shape_size(asking: Asking) -> Shapes:
    """One number."""
    asking.value(0)
    return [()]


def held_size(holding: Holding) -> Elements:
    """The product of the dims."""
    sizes = holding.sizes()
    return [array_of([None if None in sizes else product(size for size in sizes if size is not None)], ())]


def batch_sizes(view: BatchView) -> Iterator[BatchAnswer]:
    """Shape and Size: their values are followed by themselves."""
    view.rank(0)
    yield BatchAnswer(())


_SIZES = Record(from_dims=True, batch=batch_sizes, free=by_shape, folds=True)

RECORDS = {
    "Shape": _SIZES._replace(shape=shape_shape, elements=held_shape, beside=True),
    "Size": _SIZES._replace(shape=shape_size, elements=held_size),
}
