"""The sizes at which the terms of two models that mean the same are put beside each other: 0, 1 and others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import count
from math import prod
from typing import Final

import onnx_ir as ir

from onereshape.prove.evidence import Sizes
from onereshape.prove.runs.told_sizes import told_sizes
from onereshape.prove.values.draw import UNNAMED
from onereshape.prove.values.input_roles import fed
from onereshape.prove.values.naming import Groups, groupings

_LARGER: Final = (16, 64, 224)
"""Sizes for models that take none of the small ones."""
_MOST_ELEMENTS: Final = 1 << 22
"""The most elements of all inputs, at sizes that may not suit."""
_ZEROS: Final = 6
"""The most dims that are tried as 0, one at a time."""


def names_of(model: ir.Model) -> list[str]:
    """The dims of inputs that have no size of their own, by name."""
    dims = [dim for value in fed(model) for dim in value.shape or () if not isinstance(dim, int)]
    return sorted({dim.value or UNNAMED for dim in dims})


def other_sizes(model: ir.Model, never_empty: Collection[str], taken: Callable[[], bool]) -> Iterator[Sizes]:
    """Sizes that differ from every other dim of the model, then 1, then 0.

    `never_empty` are the names that are stated to be 1 at least; `taken` says whether the model took any sizes so far:
    dims that have no name of their own are of one size where it did not.
    """
    names, sure = names_of(model), told_sizes(model).sure
    groups: Groups = []
    different: Sizes = {}
    for groups in groupings(names):
        different = {**_apart(model, groups), **sure}
        yield different
        if taken():
            break
    yield {**dict.fromkeys(names, 1), **sure}
    for group in [each for each in groups if not {*each} & {*never_empty, *sure}][:_ZEROS]:
        yield {**different, **dict.fromkeys(group, 0)}


def some_sizes(model: ir.Model) -> Iterator[dict[str, int]]:
    """Sizes that differ from every other dim of the model; then such with dims alike that have no name of their own."""
    sure = told_sizes(model).sure
    return ({**_apart(model, groups), **sure} for groups in groupings(names_of(model)))


def usual_sizes(model: ir.Model) -> Iterator[Sizes]:
    """Larger sizes for a model that takes none of the others, but few samples, and no huge inputs."""
    first = {
        dim.value or UNNAMED for value in fed(model) for dim in list(value.shape or ())[:1] if not isinstance(dim, int)
    }
    few, sure = next(some_sizes(model)), told_sizes(model).sure
    for size in _LARGER:
        sizes = {name: each if name in first else size for name, each in few.items()}
        sizes.update(sure)
        if _elements(model, sizes) <= _MOST_ELEMENTS:
            yield sizes


def _elements(model: ir.Model, sizes: Sizes) -> int:
    """The number of elements of all inputs together, at these sizes."""
    shapes = [
        [dim if isinstance(dim, int) else sizes[dim.value or UNNAMED] for dim in each.shape or ()]
        for each in fed(model)
    ]
    return sum(prod(dims) for dims in shapes)


def _apart(model: ir.Model, groups: Groups) -> dict[str, int]:
    graph = model.graph
    values = [
        *graph.inputs,
        *graph.initializers.values(),
        *(each for node in graph.all_nodes() for each in node.outputs),
    ]
    taken = {dim for value in values for dim in value.shape or () if isinstance(dim, int)}
    free = (size for size in count(2) if size not in taken)
    return {name: size for group, size in zip(groups, free) for name in group}  # noqa: B905 - sizes have no end
