"""Operators that draw random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Kind, by_attribute
from onereshape.graphs.free_rules.meeting import same_dims
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record


def shape_random(asking: Asking) -> Shapes:
    """RandomNormal and RandomUniform: the dims that an attribute gives."""
    return [tuple(asking.attribute("shape"))]


def batch_random_like(view: BatchView) -> Iterator[BatchAnswer]:
    """Random numbers in the shape of a tensor."""
    yield BatchAnswer((only_first(view),))


def shape_multinomial(asking: Asking) -> Shapes:
    """Multinomial: `(N, classes) -> (N, sample_size)`."""
    dims = asking.dims(0)
    return [(dims[0], asking.attribute("sample_size", 1))]


def batch_multinomial(view: BatchView) -> Iterator[BatchAnswer]:
    """Multinomial: N may be the rows, axis 0; the classes, axis 1, belong to one row."""
    mark = only_first(view)
    if mark.axis != 0:
        raise Refused(f"it draws from axis {mark.axis}, its classes, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


RECORDS = {
    **dict.fromkeys(
        ("RandomNormal", "RandomUniform"), Record(shape=shape_random, kinds=by_attribute("dtype", Kind.FLOAT))
    ),
    **dict.fromkeys(
        ("RandomNormalLike", "RandomUniformLike"),
        Record(shape=same, kinds=by_attribute("dtype", 0), batch=batch_random_like, free=same_dims),
    ),
    "Bernoulli": Record(shape=same, kinds=by_attribute("dtype", 0), batch=batch_random_like, free=same_dims),
    "Multinomial": Record(shape=shape_multinomial, kinds=by_attribute("dtype", Kind.INT32), batch=batch_multinomial),
}
