"""Rests: what ramps and counts may be just as well, where the sizes of all exports leave the same rest.

Even sizes do not tell `2*i/S` from `i/floor(S/2)`, nor odd ones a ramp from -1 to 1 from what counts from the middle,
`(i - floor(S/2))/floor(S/2)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, sizes_at
from onereshape.repair.fitting.families.linear_readings import LinearReading
from onereshape.repair.fitting.families.positions import Position, PositionTerm, Scale
from onereshape.repair.fitting.families.writing import sizes_of
from onereshape.repair.fitting.wholes import as_plain, part_of, parts_of, whole
from onereshape.rule.sizes import Formula, Size

Form = tuple[int, bool, int, int, bool, float] | None
_BESIDE = (0, -1, 1, -2, 2)
"""What is added to a size of which a start may be a part."""


def rests(exported: Exported, reading: LinearReading) -> list[LinearReading]:
    """The readings that the rests do not tell from this one, and that are as plain."""
    if exported.arrays[0].dtype.kind != "f" or all(term.scale.size == 1 for term in reading.terms):
        return []
    found: list[tuple[Form, list[LinearReading]]] = []
    for place, term in enumerate(reading.terms):
        scaled = [] if term.scale.size == 1 else [term, *_scaled(exported, term)]
        started = [each for one in scaled for each in _started(exported, reading, place, one)]
        found.append((_form(term), [*(_with(reading, place, each) for each in scaled[1:]), *started]))
    told = {form for form, others in found if form is not None and not others}
    return [each for form, others in found if form not in told for each in others]


def _form(term: PositionTerm) -> Form:
    """How a term depends on the size of its axis; None if it depends on another size: one axis tells of its like."""
    size, start = term.position.size, term.position.start
    scale, first = term.scale.size - size, start + size if isinstance(start, Formula) else start
    if isinstance(scale, Formula) or isinstance(first, Formula):
        return None
    return term.position.step, isinstance(start, Formula), first, scale, term.scale.over, _least(term)


def _with(reading: LinearReading, place: int, term: PositionTerm) -> LinearReading:
    return reading._replace(terms=(*reading.terms[:place], term, *reading.terms[place + 1 :]), error=np.inf)


def _least(term: PositionTerm) -> float:
    """The least slope of a term that is not 0."""
    sizes = np.abs(term.slope.astype(np.float64)) * term.position.step
    return float(np.min(sizes, where=sizes > 0, initial=np.inf))


def _scaled(exported: Exported, term: PositionTerm) -> Iterator[PositionTerm]:
    """A term with parts of its scale, rounded."""
    least = _least(term)
    for many in parts_of(exported, term.scale.size):
        times = 1 / many if term.scale.over else many
        if as_plain(least * times, least):
            slope = (term.slope * times).astype(term.slope.dtype)
            parts = part_of(term.scale.size, many)
            yield from (term._replace(slope=slope, scale=Scale(part, term.scale.over)) for part in parts)


def _started(exported: Exported, reading: LinearReading, place: int, term: PositionTerm) -> Iterator[LinearReading]:
    """A reading with a term that starts at a part of a size, rounded, and has nothing else added."""
    own = np.broadcast_to(term.slope != 0, reading.base.shape)
    others = [np.broadcast_to(each.slope != 0, own.shape) for at, each in enumerate(reading.terms) if at != place]
    if any(np.any(own & other) for other in others):
        return
    starts = _starts(exported, reading.base, term)
    values = None if starts is None else whole(-starts, 16 * float(np.finfo(exported.arrays[0].dtype).eps))
    base = np.where(own, 0, reading.base).astype(reading.base.dtype)
    for start in _halved(exported, values) if values is not None and len({*values}) > 1 else ():
        position = Position(term.position.axis, term.position.size, 1, 0 - start)
        slope = (term.slope * term.position.step).astype(term.slope.dtype)
        yield _with(reading._replace(base=base), place, term._replace(position=position, slope=slope))


def _starts(exported: Exported, base: Array, term: PositionTerm) -> Array | None:
    """Where a term with its base is 0, in entries before the first, in each export; None where columns differ."""
    own = np.broadcast_to(term.slope != 0, base.shape)
    slope = np.broadcast_to(term.slope, base.shape)[own].astype(np.float64) * term.position.step
    found = []
    for binding in exported.bindings:
        start = term.position.first(binding) / term.position.step
        starts = start + base[own].astype(np.float64) / (slope * term.scale.at(binding))
        if not (np.abs(starts - starts[0]) <= 1e-5 * abs(starts[0])).all():
            return None
        found.append(float(starts[0]))
    return np.array(found)


def _halved(exported: Exported, values: tuple[int, ...]) -> Iterator[Size]:
    """The parts of sizes, and of one or two more or less, that have these values in the exports."""
    for size in sizes_of(exported):
        for more in _BESIDE:
            numbers = sizes_at(size + more, exported.bindings) or ()
            for many in parts_of(exported, size + more):
                if values == tuple(number // many for number in numbers):
                    yield from part_of(size + more, many)
