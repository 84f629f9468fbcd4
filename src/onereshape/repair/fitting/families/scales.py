"""Scales: the sizes that a slope may be a part of, or a multiple of.

A slope that is any multiple of one part of a size leaves one number open, and two exports hardly more than one to tell
it by: a sixth and a twelfth are parts of 12 and 23 rounded up, and 11/6 of one part of 11 and 22.  So what is one part
of a whole number in all exports, or a whole number, is read as integers are, too; the readings differ elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set as AbstractSet
from typing import NamedTuple

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, sizes_at
from onereshape.repair.fitting.families.linear_readings import Scaled
from onereshape.repair.fitting.families.planes import Plane
from onereshape.repair.fitting.families.positions import Scale
from onereshape.repair.fitting.families.writing import sizes_of
from onereshape.repair.fitting.wholes import FREE, integers, is_whole, oddness, plainer, tensors, whole
from onereshape.rule.sizes import Formula, Size, cut, exact

_ABOUT = 1 + 1e-6
"""What is not refused at a glance, beside what is not refused at all."""


class Scales(NamedTuple):
    """What the slope along an axis is a multiple of, with the multiple."""

    all: list[Scaled]
    unlikely: frozenset[Scale]
    """Those of a ramp from 0 only: from anywhere else, nobody writes it so."""


def scales_of(exported: Exported, planes: Sequence[Plane], axis: int) -> Scales:
    """What the slope along an axis is a multiple of; a number, if that is all it takes."""
    slopes = [plane.slopes[axis] for plane in planes]
    rough = [plane.rough(axis) for plane in planes]
    shown = _shown(slopes, rough)

    def times(scale: Scale) -> Array | None:
        factors = scale.each(exported)
        return _multiple(slopes, rough, factors) if _may_be(shown, factors) else None

    number = times(Scale())
    if number is not None:
        return Scales([(Scale(), number)], frozenset())
    found = {scale: multiple for scale in _own(exported) if (multiple := times(scale)) is not None}
    known = [(slope, error) for slope, error in zip(slopes, rough, strict=True) if error is not None]
    sizes = sizes_of(exported)
    halves = {Scale(half, over=True) for size in sizes for half in _odd_half(exported, size)}
    if len(known) < len(slopes) or not found:  # an export of one entry has no slope
        return Scales(list(found.items()), frozenset(halves))
    return _rivalled(exported, found, halves, known, times)


def _rivalled(
    exported: Exported,
    found: dict[Scale, Array],
    halves: AbstractSet[Scale],
    known: Sequence[tuple[Array, Array]],
    times: Callable[[Scale], Array | None],
) -> Scales:
    """The scales that were found, without any that prove nothing, and with the rivals that explain a slope as well."""
    place = _column(known)
    slope = Slope(*_least(known, place))
    kept = dict(found)
    unlikely: set[Scale] = set()
    for scale, multiple in found.items():
        part = float(np.abs(multiple.reshape(-1)[place]))
        if scale in halves:
            unlikely |= {scale} if oddness(2 * part) <= 1 else set()
            continue
        others = _others(exported, scale, part, slope)
        longer = scale.over and scale.size - 1 in sizes_of(exported)
        if others is None or (longer and not is_whole(2 / part, slope.eps)):
            del kept[scale]  # what has one part more than entries goes from 0 to 1, or from -1
            continue
        for other in others:
            rival = None if other in kept else times(other)
            if rival is not None and oddness(float(np.abs(rival.reshape(-1)[place]))) <= oddness(part):
                kept[other] = rival
                unlikely |= {other} if scale.over and oddness(part) <= 1 else set()
    return Scales(list(kept.items()), frozenset(unlikely))


class Slope(NamedTuple):
    """The least slope along an axis."""

    numbers: Array
    """The slope in each export."""
    eps: float
    """How far the slope may be off, as a part of it."""


def _own(exported: Exported) -> Iterator[Scale]:
    """The sizes of the axes, and the free ones, and one more or less."""
    for size in sizes_of(exported):
        yield Scale(size)
        if exported.arrays[0].dtype.kind == "f":
            below = [size - 1, size, size + 1, *_odd_half(exported, size)]
            yield from (Scale(each, over=True) for each in below if isinstance(each, Formula))


def _odd_half(exported: Exported, size: Size) -> list[Size]:
    """Half of a size that is odd in all exports: there it is half of the size less 1, and elsewhere it is not."""
    values = sizes_at(size, exported.bindings) or (0,)
    return [cut(size, 2)] if all(value % 2 for value in values) and exact(size - 1, 2) is None else []


def _others(exported: Exported, scale: Scale, part: float, slope: Slope) -> list[Scale] | None:
    """What a slope may be just as well that is `part` of a scale, some of it less plainly; None if it is not even that.

    That is so where the part may be any number, and what is whole in all exports is no size.
    """
    numbers, eps = slope
    found: list[Size] = []
    if is_whole(1 / part if scale.over else part, eps):
        values = whole(1 / numbers if scale.over else numbers, eps)
        found += [] if values is None else tensors(exported, values)
    quotients: list[Scale] = []
    if oddness(part):
        found += exported.known
        if scale.over and is_whole(part, eps) and whole(numbers, eps) is not None:
            quotients.append(Scale(cut(round(part), scale.size)))
        values = _plainer(scale, part, slope)
        if values is not None:
            sizes = integers(exported, values)
            if not sizes and oddness(part) == FREE:
                return None
            found += sizes
    return [*quotients, *(Scale(size, over=scale.over) for size in found if isinstance(size, Formula))]


def _plainer(scale: Scale, part: float, slope: Slope) -> tuple[int, ...] | None:
    """The whole numbers, if any, that slopes are a plainer part of, or times which, than of a scale."""
    numbers, eps = slope
    for above in plainer(oddness(part)):
        beside = above / part if scale.over else part / above
        if not is_whole(beside, eps):
            values = whole(above / numbers if scale.over else numbers / above, eps)
            if values is not None:
                return values
    return None


def _column(known: Sequence[tuple[Array, Array]]) -> int:
    """Where the least slope is, but for those that are none."""
    sizes = np.abs(known[0][0].reshape(-1)).astype(np.float64)
    return int(np.argmin(np.where(sizes > 0, sizes, np.inf)))


def _least(known: Sequence[tuple[Array, Array]], place: int) -> tuple[Array, float]:
    """A slope in each export, and how far it may be off, as a part of it."""
    numbers = np.array([float(abs(slope.reshape(-1)[place])) for slope, _ in known])
    errors = np.array([float(error.reshape(-1)[place]) for _, error in known])
    with np.errstate(divide="ignore", invalid="ignore"):
        off = errors / numbers
    return numbers, float(np.nan_to_num(off, nan=1.0, posinf=1.0).max())


Shown = list[tuple[int, float, float]]
"""The number of each export that has a slope, its slope at one place, and how far that may be off."""


def _shown(slopes: Sequence[Array], rough: Sequence[Array | None]) -> Shown:
    """The slopes where they are largest, those of floating-point numbers."""
    known = [(place, slope, error) for place, (slope, error) in enumerate(zip(slopes, rough, strict=True))]
    at = int(np.abs(slopes[-1]).argmax())
    numbers = slopes[0].dtype.kind == "f"
    return [(place, slope.item(at), error.item(at)) for place, slope, error in known if numbers and error is not None]


def _may_be(shown: Shown, factors: Sequence[float]) -> bool:
    """Whether slopes over some factors are about the same in all exports, at the place that was looked at."""
    parts = [
        (slope / factors[place], _ABOUT * error / factors[place]) for place, slope, error in shown if factors[place]
    ]
    return not parts or any(all(abs(one - other) <= off + more for other, more in parts) for one, off in parts)


def _multiple(slopes: Sequence[Array], rough: Sequence[Array | None], factors: Sequence[float]) -> Array | None:
    """The slopes divided by factors, `[2, 4], [1, 2] -> 2`, if equal in all exports; else None."""
    known = [place for place, error in enumerate(rough) if error is not None]
    if not known or any(factors[place] == 0 for place in known):
        return None
    if slopes[0].dtype.kind != "f":
        quotients = [slopes[place] // int(factors[place]) for place in known]
        full = all(not np.any(slopes[place] % int(factors[place])) for place in known)
        return quotients[0] if full and all(np.array_equal(each, quotients[0]) for each in quotients) else None
    found = [
        (slopes[place] / factors[place], error / factors[place])
        for place in known
        if (error := rough[place]) is not None
    ]
    best, least = min(found, key=lambda each: float(each[1].sum()))
    return best if all(np.all(np.abs(slope - best) <= error + least) for slope, error in found) else None
