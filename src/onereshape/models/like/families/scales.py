"""Scales: the sizes that a slope may be a part of, or a multiple of.

A slope that is any multiple of one part of a size leaves one number open, and two exports hardly more than one to tell
it by: a sixth and a twelfth are parts of 12 and 23 rounded up, and 11/6 of one part of 11 and 22.  So what is one part
of a whole number in all exports, or a whole number, is read as integers are, too; the readings differ elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from onereshape.models.like.exported import Array, Exported, sizes_at
from onereshape.models.like.families.planes import Plane
from onereshape.models.like.families.positions import Scale
from onereshape.models.like.families.reading import Scaled
from onereshape.models.like.families.writing import sizes_of
from onereshape.models.like.wholes import integers, tensors, whole
from onereshape.sizes import Formula, Size, cut, exact

_PLAIN = (1.0, 2.0)
"""Multiples of one part of a size that are common: from 0 to 1, and from -1 to 1."""


class Scales(NamedTuple):
    """What the slope along an axis is a multiple of, with the multiple."""

    all: list[Scaled]
    unlikely: frozenset[Scale]
    """Those of a ramp from 0 only: from anywhere else, nobody writes it so."""


def scales_of(exported: Exported, planes: Sequence[Plane], axis: int) -> Scales:
    """What the slope along an axis is a multiple of; a number, if that is all it takes."""
    slopes = [plane.slopes[axis] for plane in planes]
    rough = [plane.rough(axis) for plane in planes]

    def times(scale: Scale) -> Array | None:
        return _multiple(slopes, rough, [scale.at(binding) for binding in exported.bindings])

    found: dict[Scale, Array] = {}
    for scale in (Scale(), *_own(exported)):
        multiple = times(scale)
        if multiple is not None:
            found.setdefault(scale, multiple)
            if scale.size == 1:
                return Scales(list(found.items()), frozenset())
    unlikely = {Scale(half, over=True) for size in sizes_of(exported) for half in _odd_half(exported, size)}
    known = [(plane, error) for plane, error in zip(slopes, rough, strict=True) if error is not None]
    if len(known) < len(slopes):  # an export of one entry has no slope
        return Scales(list(found.items()), frozenset(unlikely))
    numbers, eps = _least(known)
    for scale, multiple in [*found.items()]:
        part = float(np.abs(multiple).reshape(-1)[_column(known)])
        for other in _others(exported, scale, part, numbers, eps):
            rival = times(other)
            if rival is not None and other not in found:
                found[other] = rival
                unlikely |= {other} if scale.over and _near(part, _PLAIN) else set()
    return Scales(list(found.items()), frozenset(unlikely))


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


def _others(exported: Exported, scale: Scale, part: float, numbers: Array, eps: float) -> Iterator[Scale]:
    """What the slope may be just as well, as `part` is what it is of a scale; `numbers` are slopes."""
    if not scale.over:
        values = whole(numbers, eps)
        if values is not None:
            plain = whole(np.array([part]), eps) is not None
            yield from map(Scale, (tensors if plain else integers)(exported, values))
        return
    if _near(part, (1.0,)) or whole(np.array([1 / part]), eps) is not None:
        values = whole(1 / numbers, eps)
        yield from (Scale(size, over=True) for size in (tensors(exported, values) if values is not None else ()))
        return
    most, steps = whole(np.array([part]), eps), whole(numbers, eps)
    if most is not None and steps is not None:
        yield Scale(cut(most[0], scale.size))
    for above in _PLAIN:
        values = whole(above / numbers, eps)
        if values is not None and whole(np.array([above / part]), eps) is None:
            yield from (Scale(size, over=True) for size in integers(exported, values))
            return


def _column(known: Sequence[tuple[Array, Array]]) -> int:
    """Where the least slope is, but for those that are none."""
    sizes = np.abs(known[0][0].reshape(-1)).astype(np.float64)
    return int(np.argmin(np.where(sizes > 0, sizes, np.inf)))


def _least(known: Sequence[tuple[Array, Array]]) -> tuple[Array, float]:
    """The least slope in each export, and how far it may be off, as a part of it."""
    place = _column(known)
    numbers = np.array([float(abs(slope.reshape(-1)[place])) for slope, _ in known])
    errors = np.array([float(error.reshape(-1)[place]) for _, error in known])
    with np.errstate(divide="ignore", invalid="ignore"):
        off = errors / numbers
    return numbers, float(np.nan_to_num(off, nan=1.0, posinf=1.0).max())


def _near(number: float, others: Sequence[float]) -> bool:
    return any(abs(number - other) <= 1e-4 * other for other in others)


def _multiple(slopes: Sequence[Array], rough: Sequence[Array | None], factors: Sequence[float]) -> Array | None:
    """The slopes over some factors, if these are the same in all exports."""
    known = [place for place, error in enumerate(rough) if error is not None]
    if not known or any(factors[place] == 0 for place in known):
        return None
    if slopes[0].dtype.kind != "f":
        quotients = [slopes[place] // int(factors[place]) for place in known]
        whole_ = all(not np.any(slopes[place] % int(factors[place])) for place in known)
        return quotients[0] if whole_ and all(np.array_equal(each, quotients[0]) for each in quotients) else None
    found = [
        (slopes[place] / factors[place], error / factors[place])
        for place in known
        if (error := rough[place]) is not None
    ]
    best, least = min(found, key=lambda each: float(each[1].sum()))
    return best if all(np.all(np.abs(slope - best) <= error + least) for slope, error in found) else None
