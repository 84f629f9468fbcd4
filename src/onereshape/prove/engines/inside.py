"""The elements of all values inside a run, of which a small input may make many: a picture from a few numbers.

It is counted from dims alone, so that what is run is the same on every machine, however much memory is free there.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

import onnx_ir as ir

from onereshape.graphs.shapes import facts_of
from onereshape.prove.engines.engine import Array

MOST: Final = 1 << 29
"""Elements of all values of a run: 2 GiB of float32 if none of them made room for the next."""


def elements_inside(model: ir.Model, feeds: Mapping[str, Array]) -> int:
    """The number of elements of all values that are fed or made; a dim that only a run tells counts as 1."""
    facts = facts_of(model, {name: dict(enumerate(array.shape)) for name, array in feeds.items()})
    made = (dims for value, dims in facts.sizes.items() if not value.is_initializer())
    return sum(prod(size if isinstance(size, int) else 1 for size in dims) for dims in made)
