"""Affine: a base plus, along each axis that grows, a slope times a position.

The slopes and the base may differ along the axes that do not grow.  A position starts at 0, or runs backwards, or is
centred, or starts at a size; a slope may be that of a ramp, one part of a size, or a multiple of a size.  In each
export alone the entries must lie on such a plane; what it has to do with the sizes is then read from all of them.
What else a slope may be a part of (`scales`), what the rests of all sizes do not tell from it (`rests`), or where else
it may start (`rivals`), is another reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, reduce
from itertools import islice, product

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit, Items, Limit, agrees, at_least, size_at
from onereshape.repair.fitting.families.linear_readings import (
    LinearReading,
    Pair,
    Rest,
    Start,
    allowed_of,
    likely,
    measured,
    moved,
    places_of,
    reading_of,
    rest_of,
)
from onereshape.repair.fitting.families.planes import Plane, is_bent, plane_of
from onereshape.repair.fitting.families.positions import Position, PositionTerm, Scale, working
from onereshape.repair.fitting.families.rests import rests
from onereshape.repair.fitting.families.rivals import rivals
from onereshape.repair.fitting.families.scales import Scales, scales_of
from onereshape.repair.fitting.families.strides import strides
from onereshape.repair.fitting.families.writing import first_along, probes, sizes_of
from onereshape.rule.sizes import Formula, Size, cut, exact

_FEWEST = 3
"""Entries along an axis, in one export at least, from which a slope can be read."""
_MOST_STEP = 2**20
"""Of numbers that count in the plainest way: marks are no steps."""
_SURE = 6
"""Entries from which floating-point numbers that are not round lie in a line."""
_ROUND = 4096
"""Parts of 1 that are round numbers."""
_PROBES = 6
"""Sizes at which two readings are compared."""


def affine(exported: Exported) -> Fit | None:
    """A base plus a slope times a position, along each axis that grows; with other ways to read it as such."""
    if not exported.growing or is_bent(exported):
        return None
    counting = _counting(exported)
    return _on_planes(exported) if counting is None else _read(exported, [counting])


def _on_planes(exported: Exported) -> Fit | None:
    """Affine readings of entries that lie on a plane in each export, from the bases and the slopes of the planes."""
    planes = [plane_of(array, exported.growing) for array in exported.arrays]
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes) or not known or not _still(known):
        return None
    axes = tuple(axis for axis in exported.growing if any(plane.slopes[axis].any() for plane in known))
    if not axes or any(max(array.shape[axis] for array in exported.arrays) < _FEWEST for axis in axes):
        return None
    if any(len({array.shape[axis] for array in exported.arrays}) == 1 and not known[0].plain(axis) for axis in axes):
        return None  # an axis that is as long in all of them does not show what the size has to do with it
    scales = [scales_of(exported, known, axis) for axis in axes]
    read: dict[tuple[Position, ...], LinearReading | None] = {}
    if all(found.all and found.all[0][0] == Scale() for found in scales):
        counted = tuple(Position(axis, exported.dims[axis]) for axis in axes)
        pairs = [(at, found.all[0]) for at, found in zip(counted, scales, strict=True)]
        rest = rest_of(exported, known, pairs)
        plain = None if rest is None else reading_of(exported, pairs, rest)
        if plain is not None and not plain.base.any():  # it counts from 0, and there is nothing more to say
            return _read(exported, [plain])
        read[counted] = plain
    plainest = _plainest(exported, known, axes, scales, read)
    if not plainest:
        return None
    return _read(exported, plainest, rivals(exported, known, axes, [found.all for found in scales], plainest))


def _counting(exported: Exported) -> LinearReading | None:
    """Numbers that count from a round number, in the same round steps in all exports: most that grow are such."""
    first, axes = exported.arrays[0], exported.growing
    lengths = {axis: [array.shape[axis] for array in exported.arrays] for axis in axes}
    start = first_along(first, axes)
    if any(array.item(0) != first.item(0) or (first_along(array, axes) != start).any() for array in exported.arrays):
        return None
    if any(min(each) < 2 or len({*each}) == 1 for each in lengths.values()):
        return None
    kind = working(first.dtype)
    base = start.astype(kind)
    terms: list[PositionTerm] = []
    for axis in axes:
        line = first_along(first, [other for other in axes if other != axis])
        with np.errstate(invalid="ignore", over="ignore"):
            slope = line[(*(slice(None),) * axis, slice(1, 2))].astype(kind) - base
        if slope.any():
            terms.append(PositionTerm(Position(axis, exported.dims[axis]), slope))
    if not terms or any(max(lengths[term.position.axis]) < _FEWEST for term in terms):
        return None
    numbers = [base, *(term.slope for term in terms)]
    if any(not (np.abs(each) <= _MOST_STEP).all() for each in numbers):
        return None
    if kind.kind == "f" and any((np.rint(each * _ROUND) != each * _ROUND).any() for each in numbers):
        return None
    reading = measured(LinearReading(tuple(terms), base, first.dtype, exported.dims), exported)
    return reading if reading.error == 0 and (not base.any() or _alone(exported, terms)) else None


def _alone(exported: Exported, terms: Sequence[PositionTerm]) -> bool:
    """Whether no start at a size says as little as a number that is added: none is the same in all exports."""
    most = 4 * max(exported.of.rounding) if exported.arrays[0].dtype.kind == "f" else 0
    for axis, slope in ((term.position.axis, term.slope) for term in terms):
        starts = _starts_of(exported, axis, Scale())
        if any(isinstance(start, Formula) and len({*values}) == 1 for _, start, values in starts):
            return False
        if float(np.abs(slope).max()) <= most:
            return False  # it is lost in rounding where it starts
    return True


def _plainest(
    exported: Exported,
    planes: Sequence[Plane],
    axes: Sequence[int],
    scales: Sequence[Scales],
    read: Mapping[tuple[Position, ...], LinearReading | None],
) -> list[LinearReading]:
    """The readings that say least beside the slopes; some positions were read before."""
    unlikely = {scale for found in scales for scale in found.unlikely}
    places = places_of([found.all[0] for found in scales if found.all])
    tried = [
        [moved(exported, axis, _starts_of(exported, axis, each[0]), each, places) for each in found.all]
        for axis, found in zip(axes, scales, strict=True)
    ]
    bases = np.array([plane.base.reshape(-1)[places] for plane in planes])
    allowed = allowed_of(planes).reshape(-1)[places]
    levels: dict[int, list[LinearReading]] = {}
    for chosen in product(*tried):
        sized = sum(each.scaled[0].size != 1 for each in chosen)
        if levels and sized > min(levels):
            continue
        bare = any(each.scaled[0] in unlikely for each in chosen)
        for positions in sorted(likely(bases, chosen, allowed, bare=bare), key=_starts):
            if levels and _starts(positions) + sized > min(levels):
                break  # what says more than others do
            pairs = [(position, each.scaled) for position, each in zip(positions, chosen, strict=True)]
            rest = rest_of(exported, planes, pairs)
            if rest is None or (bare and rest.base.any()):
                continue
            level = _level(pairs, rest)
            if levels and level > min(levels):
                continue
            reading = read[positions] if positions in read else reading_of(exported, pairs, rest)
            if reading is not None:
                levels.setdefault(level, []).append(reading)
    return levels[min(levels)] if levels else []


def _still(planes: Sequence[Plane]) -> bool:
    """Whether the entries that grow along no axis are the same in all exports: no position tells how they differ."""
    first, *others = planes
    still = reduce(np.logical_and, [slope == 0 for plane in planes for slope in plane.slopes.values()])
    if not still.any():
        return True
    return not any(((np.abs(each.base - first.base) > allowed_of(planes)) & still).any() for each in others)


def _level(pairs: Sequence[Pair], rest: Rest) -> int:
    """How much a reading says beside the slopes: of a base, and of sizes that positions or slopes depend on."""
    sized = _starts([position for position, _ in pairs]) + sum(scale.size != 1 for _, (scale, _) in pairs)
    if not rest.base.any():
        return sized
    return sized + 1 + any(_far_fetched(position) for position, _ in pairs if position.sized) + _is_odd(rest)


def _starts(positions: Sequence[Position]) -> int:
    """How many positions start at a size."""
    return sum(position.sized for position in positions)


def _far_fetched(position: Position) -> bool:
    """Whether it starts in the middle of its axis, or at another size: with something added, so may much else."""
    size = position.size
    return position.step != 1 or position.start not in (0 - size, 1 - size, size, size - 1, exact(1 - size, 2))


def _is_odd(rest: Rest) -> bool:
    """Whether something is added that is no round number: any start leaves some number, at times the same by chance."""
    if rest.base.dtype.kind != "f":
        return False
    base, allowed = rest.base.astype(np.float64).reshape(-1), rest.allowed.reshape(-1)
    for rounded in _ROUNDED:
        odd = ~(np.abs(rounded(base) - base) <= allowed)
        if not odd.any():
            return False
        base, allowed = base[odd], allowed[odd]
    return True


def _of_digits(numbers: Array, digits: int) -> Array:
    """Numbers of so many digits."""
    size = 10.0 ** (np.floor(np.log10(np.where(numbers == 0, 1, np.abs(numbers)))) - digits + 1)
    return np.asarray(np.rint(numbers / size) * size)


_ROUNDED: tuple[Callable[[Array], Array], ...] = (
    lambda numbers: np.rint(numbers * _ROUND) / _ROUND,
    lambda numbers: np.rint(numbers * 6) / 6,
    lambda numbers: _of_digits(numbers, 3),
    lambda numbers: np.pi * _of_digits(numbers / np.pi, 2),
)
"""Numbers as round ones that are near."""


def _halves(size: Size) -> list[Size]:
    """Starts at the middle of an axis, one of the two where there are two."""
    if exact(1 - size, 2) is not None:
        return []
    return list(dict.fromkeys(start for each in (cut(size, 2), cut(size + 1, 2)) for start in (0 - each, 1 - each)))


def _read(exported: Exported, readings: Sequence[LinearReading], beside: Sequence[LinearReading] = ()) -> Fit | None:
    """The best reading, with those that say something else at other sizes; some are never the best."""
    best, *others = readings
    if others:
        best, *others = sorted(readings, key=lambda each: (each.error, bool(np.any(each.base))))
    if not _enough(exported, best):
        return None
    others += [*beside, *rests(exported, best)]
    places = _distinct(exported, [best, *others]) if others else [0]
    kept = [[best, *others][place] for place in places]
    several = len({_words(each) for each in kept}) < len(kept)
    made = [
        (
            each,
            Fit(
                _words(each, steps=several),
                each.at,
                each.make,
                _limits(each),
                odd=_odd(each),
                kept=strides(exported, each),
            ),
        )
        for each in kept
    ]
    fits = [fit for each, fit in made if not each.error or agrees(fit, exported)]
    return fits[0]._replace(others=tuple(fits[1:])) if fits else None


def _distinct(exported: Exported, readings: Sequence[LinearReading]) -> list[int]:
    """Which readings differ from all before them at other sizes, at the first few where all of them say something."""
    tried = list(islice((probe for probe in probes(exported) if all(each.says(probe) for each in readings)), _PROBES))
    seen = [dict[object, Array]() for _ in tried]
    shown = cache(lambda place, turn: readings[place].corners(tried[turn], seen[turn]))
    kept: list[int] = []
    for place in range(len(readings)):
        if not tried or not any(
            all(_same(shown(each, turn), shown(place, turn)) for turn in range(len(tried))) for each in kept
        ):
            kept.append(place)
    return kept


def _enough(exported: Exported, reading: LinearReading) -> bool:
    """Whether entries are enough for a line: a few of any curve lie in one, but not in a round one or through 0."""
    if reading.kind.kind != "f" or not np.any(reading.base):
        return True
    axes = [term.position.axis for term in reading.terms]
    if all(max(array.shape[axis] for array in exported.arrays) >= _SURE for axis in axes):
        return True
    numbers = [reading.base, *(term.slope for term in reading.terms)]
    return all(np.array_equal(each * _ROUND, np.rint(each * _ROUND)) for each in numbers)


def _same(one: Array, other: Array) -> bool:
    """Whether two readings say the same: they were read from rounded numbers, and are far from those."""
    if one.dtype.kind != "f" or (one.shape == other.shape and (one == other).all()):
        return bool(np.array_equal(one, other))
    loose = 1e-2 if one.dtype.itemsize == 2 else 1e-4
    with np.errstate(invalid="ignore"):
        sizes = np.abs(other)
        close = np.abs(one - other) <= loose * float(sizes.max(initial=0)) + loose * sizes
    numbers = np.isfinite(one) & np.isfinite(other)
    return bool(
        (close if numbers.all() else (close & numbers) | (one == other) | (np.isnan(one) & np.isnan(other))).all()
    )


def _limits(reading: LinearReading) -> tuple[Limit, ...]:
    """From where on a ramp has two ends: nobody knows which of them is the only one, unless both are 0."""
    return tuple(at_least(term.scale.size, 1, "a ramp has two ends") for term in reading.terms if term.two_ended)


def _odd(reading: LinearReading) -> int:
    """How many scales are not told by the length of an axis: as it is, or one more or less, where that is cut."""
    found = 0
    for scale, own in ((term.scale.size, term.position.size) for term in reading.terms):
        if isinstance(scale, Formula) and isinstance(own, Formula):
            found += isinstance(scale - own, Formula) or own.name is not None
    return found


def _words(reading: LinearReading, *, steps: bool = False) -> str:
    """A reading in words, `counts along axis 0 from S in steps of 2`; with `steps` if others differ by them alone."""
    parts = []
    for term in reading.terms:
        kind = "is a ramp" if term.scale.over else "counts"
        start = f" from {term.position.start}" if term.position.sized else ""
        step = f" in steps of {_step(term)}" if steps else ""
        parts.append(f"{kind} along axis {term.position.axis}{start}{step}")
    return " and ".join(parts)


def _step(term: PositionTerm) -> str:
    """The least step from one entry to the next, in words: `2`, `0.5/S`, `1/(S - 1)`."""
    sizes = np.abs(term.slope.astype(np.float64)) * term.position.step
    number = f"{float(np.min(sizes, where=sizes > 0, initial=np.inf)):g}"
    if term.scale.size == 1:
        return number
    size = str(term.scale.size)
    return f"{number}{'/' if term.scale.over else '*'}{size if size.isidentifier() else f'({size})'}"


def _starts_of(exported: Exported, axis: int, scale: Scale) -> tuple[Start, ...]:
    """The steps and the starts of the positions along an axis that are known."""
    numbers, others = exported.arrays[0].dtype.kind == "f", tuple(sizes_of(exported))
    known = _sized_starts(exported.dims[axis], others, exported.items, numbers=numbers)
    zero, one = ((number,) * len(exported.bindings) for number in (0, 1))
    if scale.size == 1:
        return (1, 0, zero), *known
    # A constant start is no constant then.
    return (1, 0, zero), (1, 1, one), *([(2, 1, one)] if numbers else []), *known


@lru_cache(maxsize=256)
def _sized_starts(size: Size, others: tuple[Size, ...], items: Items, *, numbers: bool) -> tuple[Start, ...]:
    """The steps and the starts of positions that start at a size."""
    found = [(1, start) for start in (1 - size, 0 - size, size, size - 1)]
    half = exact(1 - size, 2)
    if half is not None:
        found.append((1, half))
    elif numbers:
        found.append((2, 1 - size))
    found += [(1, start) for start in _halves(size)]
    for other in others:
        if other != size:
            found += [(1, start) for start in (other, other - 1, 1 - other, 0 - other)]
    bindings = [dict(each) for each in items]
    return tuple([(step, start, tuple([size_at(start, each) for each in bindings])) for step, start in found])
