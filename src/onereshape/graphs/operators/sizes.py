"""Operators that read the dims of a tensor: Shape and Size.  What they hold is followed by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.counting import always_from_zero
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import ElementArray, Elements, Holding, array_of, few
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.record import Record
from onereshape.rule.sizes import product


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
    """Size: `()`, a single number."""
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


def dims_shape(node: ir.Node, dims: Sequence[int]) -> ElementArray:
    """The dims."""
    start, end = (node.attributes.get(name) for name in ("start", "end"))
    return np.array(dims[None if start is None else start.value : None if end is None else end.value], np.int64)


def dims_size(_: ir.Node, dims: Sequence[int]) -> ElementArray:
    """Their product."""
    return np.array(np.prod(dims, dtype=object), np.int64)


_SIZES = Record(batch=batch_sizes, free=by_shape, folds=True)

RECORDS = {
    "Shape": _SIZES._replace(
        shape=shape_shape, elements=held_shape, from_dims=dims_shape, beside=True, from_zero=always_from_zero
    ),
    "Size": _SIZES._replace(shape=shape_size, elements=held_size, from_dims=dims_size),
}
