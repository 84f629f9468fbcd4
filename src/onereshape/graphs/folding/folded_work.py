"""work(): how much a folded operator would make, or calculate, told from its inputs before anything is made.

A node of a few bytes can ask for more elements than any memory holds; a product of two small matrices can take hours.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from onereshape.graphs.folding.folded_operators import Unfolded, Use
from onereshape.graphs.registry import record_named

STEPS_PER_ELEMENT = 64
"""How many multiplications a product of matrices may take for each element that an array may have."""


def work(use: Use) -> int:
    """About how many elements the output has; of a product, how many steps it takes, in elements."""
    rule: Callable[[Use], int] = record_named(use.node.op_type).work or _given
    try:
        return rule(use)
    except (ValueError, IndexError, OverflowError, ZeroDivisionError):
        raise Unfolded from None  # what breaks the rules of its operator has no answer


def _given(use: Use) -> int:
    """The number of elements of all inputs: operators that do not broadcast seldom make more."""
    return sum(array.size for array in use.inputs if array is not None)


def broadcast(use: Use) -> int:
    """The number of elements of the inputs broadcast against one another: `(3, 1), (1, 4) -> 12`."""
    shapes = [array.shape for array in use.inputs if array is not None]
    return max(_given(use), prod(np.broadcast_shapes(*shapes)))


def numbers(use: Use, index: int) -> list[int]:
    """The numbers of an input."""
    return [int(each) for each in use.given(index).reshape(-1)]
