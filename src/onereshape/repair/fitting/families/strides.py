"""Strides: counts in steps of 16, along an axis of 4 and 6 entries, where a size is 64 and 96.

The step may be a number, or what detectors take for it: the picture's size by the number of entries, rounded down.  No
export tells which, where that is so in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Limit, at_least, sizes_at
from onereshape.repair.fitting.families.linear_readings import LinearReading
from onereshape.rule.sizes import Formula, Size, cut, symbol

_LEAST = 4
"""Counts in steps of less are common as such: every other place of a sequence."""
_TRIED = 1024
"""Sizes below those of the exports."""

Quotient = tuple[Size, int]
"""A size by the length of an axis, rounded down, and the number that it is in all exports."""


def strides(exported: Exported, reading: LinearReading) -> tuple[Quotient, ...]:
    """The quotients that must stay numbers, so that a step may be the number or the quotient alike."""
    return tuple(
        found
        for term in reading.terms
        if term.scale.size == 1
        for found in quotients(term.position.size, term.slope, exported.bindings)
    )


def quotients(length: Size, slopes: Array, bindings: Sequence[Binding]) -> Iterator[Quotient]:
    """The quotients of a free size by the length of an axis that are the step of its count in all exports."""
    steps = np.abs(slopes[slopes != 0])
    step = int(steps.min()) if steps.size else 0
    lengths = sizes_at(length, bindings)
    if not isinstance(length, Formula) or length.name is not None or lengths is None or min(lengths) < 1:
        return
    if step < _LEAST or np.any(steps % step):
        return
    for name in sorted(length.symbols):
        sizes = [binding[name] for binding in bindings]
        if all(size // each == step for size, each in zip(sizes, lengths, strict=True)):
            yield cut(symbol(name), length), step


def from_where(quotient: Quotient, bindings: Sequence[Binding], steps: Mapping[str, int]) -> Iterator[Limit]:
    """The size down to which a quotient of one symbol is that number, in the steps of that symbol."""
    size, number = quotient
    if isinstance(size, int) or len(size.symbols) > 1:
        return
    (name,) = size.symbols
    step, least = steps.get(name, 1), min(binding[name] for binding in bindings)
    smaller = range(least - step, 0, -step)[:_TRIED]
    last = next((each for each in smaller if sizes_at(size, [{name: each}]) != (number,)), None)
    if last is not None:
        yield at_least(symbol(name), last + step, "a step that may be a size by a number of entries is another before")
