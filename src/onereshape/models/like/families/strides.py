"""Strides: counts in steps of 16, along an axis of 4 and 6 entries, where a size is 64 and 96.

The step may be a number, or what detectors take for it: the picture's size by the number of entries, rounded down.  No
export tells which, where all of them are divisible by it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onereshape.models.like.exported import Exported
from onereshape.models.like.families.positions import Term
from onereshape.models.like.families.reading import Reading
from onereshape.sizes import Formula, Size, over, symbol

_LEAST = 4
"""Counts in steps of less are common as such: every other place of a sequence."""


def strides(exported: Exported, reading: Reading) -> tuple[Size, ...]:
    """What must be whole, so that it does not matter whether steps are a number or a size by the length of an axis."""
    return tuple(size for term in reading.terms if term.scale.size == 1 for size in _divided(exported, term))


def _divided(exported: Exported, term: Term) -> Iterator[Size]:
    """The sizes by the step of a term which are the length of its axis in all exports."""
    length = term.position.size
    if not isinstance(length, Formula) or length.name is not None:
        return
    lengths = exported.sizes(length)
    for name in sorted(length.symbols):
        sizes = [binding[name] for binding in exported.bindings]
        step = sizes[0] // max(lengths[0], 1)
        steps = np.abs(term.slope[term.slope != 0])
        if step < _LEAST or not steps.size or steps.min() != step or np.any(steps % step):
            continue
        if all(size == step * each for size, each in zip(sizes, lengths, strict=True)):
            yield over(symbol(name), step)
