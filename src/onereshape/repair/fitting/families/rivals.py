"""Rivals: starts that say as much as a start at a size with a number of its own added, and need no number.

A number that is added is read from the exports, and two of them hardly tell more than that: `i + floor(W/2)` down the
pictures of 12 x 20 and 23 x 9 counts from `16 - floor((H + 1)/2)` too.  Which of both it is, nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, sizes_at
from onereshape.repair.fitting.families.linear_readings import (
    LinearReading,
    Scaled,
    Start,
    allowed_of,
    likely,
    moved,
    places_of,
    reading_of,
    rest_of,
)
from onereshape.repair.fitting.families.planes import Plane
from onereshape.repair.fitting.families.writing import sizes_of
from onereshape.rule.sizes import Formula, Size, cut, symbol


def rivals(
    exported: Exported,
    planes: Sequence[Plane],
    axes: Sequence[int],
    scales: Sequence[Sequence[Scaled]],
    readings: Sequence[LinearReading],
) -> list[LinearReading]:
    """The readings from one start without a number, of what would else be read with a start and a number."""
    if not all(_has_number(reading) for reading in readings):
        return []
    known = _starts(exported)
    zero: Start = (1, 0, (0,) * len(exported.bindings))
    places = places_of([each[0] for each in scales])
    bases = np.array([plane.base.reshape(-1)[places] for plane in planes])
    allowed = allowed_of(planes).reshape(-1)[places]
    found = []
    for scaled, started in product(product(*scales), axes):
        chosen = [
            moved(exported, axis, known if axis == started else (zero,), each, places)
            for axis, each in zip(axes, scaled, strict=True)
        ]
        for positions in likely(bases, chosen, allowed, bare=True):
            pairs = list(zip(positions, scaled, strict=True))
            rest = rest_of(exported, planes, pairs)
            if rest is not None and not rest.base.any():
                found.append(reading_of(exported, pairs, rest))
    return [reading for reading in found if reading is not None]


def _has_number(reading: LinearReading) -> bool:
    """Whether a reading starts at a size, and adds something that is neither 1 nor one step."""
    if not reading.base.any() or not any(term.position.sized for term in reading.terms):
        return False
    steps = [np.ones(1), *(term.slope * term.position.step for term in reading.terms)]
    return not any(_is_step(reading.base, step) for step in steps)


def _is_step(base: Array, step: Array) -> bool:
    """Whether a base is one step, up or down, or nothing where there is no such step."""
    return bool(np.allclose(np.abs(base.astype(np.float64)), np.abs(step), rtol=1e-4, atol=0))


def starts_of(exported: Exported) -> list[Start]:
    """The sizes that tensors have, and halves of those of the constant, rounded down and up; forwards and backwards."""
    return _both_ways(
        exported, [(1, size) for size in (*_halves(exported, (0, 1)), *sizes_of(exported), *exported.known)]
    )


def _starts(exported: Exported) -> tuple[Start, ...]:
    """The starts of rivals: `starts_of`, (S - 1)/2 and (S + 2)/2 rounded down, H - W; of floats exact halves too."""
    sizes = [(1, size) for size in _halves(exported, (-1, 2))]
    sizes += [(1, symbol(one) - symbol(other)) for one, other in combinations(exported.bindings[0], 2)]
    if exported.arrays[0].dtype.kind == "f":
        sizes += [(2, size - less) for size in sizes_of(exported) for less in (0, 1)]
    return *starts_of(exported), *_both_ways(exported, sizes)


def _both_ways(exported: Exported, sizes: Iterable[tuple[int, Size]]) -> list[Start]:
    """Steps and starts, both ways, with their values: `(1, S) -> (1, S, (12, 23)), (1, -S, (-12, -23))`."""
    found: list[Start] = []
    for step, size in dict.fromkeys(sizes):
        values = sizes_at(size, exported.bindings)
        if values is not None:
            found += [(step, size, values), (step, 0 - size, tuple([-value for value in values]))]
    return found


def _halves(exported: Exported, beside: Sequence[int]) -> Iterator[Size]:
    """The halves of all sizes with something added, rounded down."""
    for size in sizes_of(exported):
        yield from (half for more in beside if isinstance(half := cut(size + more, 2), Formula))
