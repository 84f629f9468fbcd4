"""LinearReading: a constant as a base plus terms that grow with positions, one way to read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, dims_at, size_at
from onereshape.repair.fitting.families.planes import Plane, near
from onereshape.repair.fitting.families.positions import Position, PositionTerm, Scale, working
from onereshape.repair.fitting.families.writing import cast, key_of, spread, total
from onereshape.rule.sizes import Size

Scaled = tuple[Scale, Array]
"""A slope as a multiple of a scale."""
Pair = tuple[Position, Scaled]
"""A position, and the slope along it."""


class LinearReading(NamedTuple):
    """One way to read a constant."""

    terms: tuple[PositionTerm, ...]
    base: Array
    kind: np.dtype[np.generic]
    dims: tuple[Size, ...]
    error: float = np.inf
    """How far it is from the exports; 0 if it is what all of them have, entry by entry."""

    def at(self, binding: Binding) -> Array:
        """The constant at given sizes."""
        found = self.base if self.base.any() else None
        for term in self.terms:
            found = term.at(binding) if found is None else found + term.at(binding)
        whole = np.empty(dims_at(self.dims, binding), self.kind)
        whole[...] = (self.base if found is None else found).astype(self.kind)
        return whole

    def says(self, binding: Binding) -> bool:
        """Whether the reading holds at given sizes: its dims, starts and scales must be whole numbers there."""
        try:
            dims_at(self.dims, binding)
            for term in self.terms:
                term.position.first(binding)
                size_at(term.scale.size, binding)
        except ValueError:
            return False
        return True

    def corners(self, binding: Binding, seen: dict[object, Array]) -> Array:
        """The first two entries and the last of each axis that grows, at given sizes: all that a plane is.

        Many readings have the same terms; those that were seen at these sizes are not calculated again.
        """
        found = self.base
        for term in self.terms:
            key = term.position, term.scale, term.slope.tobytes()
            if key not in seen:
                seen[key] = term.at(binding, _ends(size_at(self.dims[term.position.axis], binding)))
            found = found + seen[key]
        return np.asarray(found.astype(self.kind))

    def make(self, writer: Rewriter) -> ir.Value:
        """Writes the nodes that compute the constant: the sum of base and terms, spread to its dims."""

        def write() -> ir.Value:
            bases = [writer.constant(self.base)] if np.any(self.base) else []
            found = total(writer, [*bases, *(term.make(writer) for term in self.terms)])
            grown = {term.position.axis for term in self.terms}
            wide = bool(bases) or not all(np.all(term.slope == 1) for term in self.terms)
            shape = [
                self.dims[axis] if axis in grown else size if wide else 1 for axis, size in enumerate(self.base.shape)
            ]
            return cast(writer, spread(writer, found, shape, self.dims), self.kind)

        terms = tuple((term.position, term.scale, *key_of(term.slope)) for term in self.terms)
        return writer.once(("affine", terms, *key_of(self.base), self.kind.str, self.dims), write)


Start = tuple[int, Size, tuple[int, ...]]
"""The step of a position, its start, and what that is in each export."""


class Moved(NamedTuple):
    """Positions along an axis with one slope, and what they add to a few entries."""

    axis: int
    size: Size
    starts: tuple[Start, ...]
    scaled: Scaled
    added: Array
    """Three axes: positions, exports, entries."""

    def position(self, place: int) -> Position:
        """The position with the step and the start at an index of `starts`."""
        step, start, _ = self.starts[place]
        return Position(self.axis, self.size, step, start)


def places_of(scales: Iterable[Scaled]) -> list[int]:
    """The entries that tell most of slopes: the first, and the largest of each."""
    return sorted({0, *(int(np.abs(slope).argmax()) for _, slope in scales)})


def moved(exported: Exported, axis: int, starts: tuple[Start, ...], scaled: Scaled, places: Sequence[int]) -> Moved:
    """The positions with some starts and one slope, and what they add to the entries at `places`."""
    scale, slope = scaled
    added = np.array([values for _, _, values in starts])[:, :, None] * slope.reshape(-1)[places]
    if scale.size != 1:
        added = added * np.array(_factors(scale, exported, slope))[:, None]
    steps = [step for step, _, _ in starts]
    if max(steps) != 1:
        added = added / np.array(steps)[:, None, None]
    return Moved(axis, exported.dims[axis], starts, scaled, added)


def likely(bases: Array, chosen: Sequence[Moved], allowed: Array, *, bare: bool) -> list[tuple[Position, ...]]:
    """The positions along each axis that leave the same base in all exports, or none, as far as a few entries say."""
    added = chosen[0].added
    for each in chosen[1:]:
        added = (added[:, None] + each.added[None]).reshape(-1, *bases.shape)
    left = bases - added
    close = (np.abs(left - left[:, :1]) <= allowed).all(axis=(1, 2))
    if bare:
        close &= (np.abs(left[:, 0]) <= 2 * allowed).all(axis=1)
    found = np.unravel_index(np.flatnonzero(close), [len(each.starts) for each in chosen])
    which = zip(*(each.tolist() for each in found), strict=True)
    return [tuple(each.position(at) for each, at in zip(chosen, one, strict=True)) for one in which]


def allowed_of(planes: Sequence[Plane]) -> Array:
    """How far planes may be apart, for each entry of the axes that do not grow."""
    return 2 * reduce(np.maximum, [plane.rounding for plane in planes])


class Rest(NamedTuple):
    """What positions and slopes leave of a constant, the same in all exports."""

    base: Array
    allowed: Array
    """How far it may be off."""


def rest_of(exported: Exported, planes: Sequence[Plane], pairs: Sequence[Pair]) -> Rest | None:
    """The base of a constant: its planes less slope times start of each position; None if the exports differ in it."""
    left: list[Array] = []
    firsts = [exported.sizes(position.start) for position, _ in pairs]
    factors = [_factors(scale, exported, slope) for _, (scale, slope) in pairs]
    for number, plane in enumerate(planes):
        rest = plane.base
        for starts, scaled, (position, (scale, slope)) in zip(firsts, factors, pairs, strict=True):
            if start := starts[number]:
                moved = slope * start if scale.size == 1 else slope * start * scaled[number]
                rest = rest - (moved / position.step if position.step != 1 else moved)
        left.append(rest)
    allowed = allowed_of(planes)
    if any((np.abs(each - left[0]) > allowed).any() for each in left[1:]):
        return None
    kind = working(exported.arrays[0].dtype)
    if kind.kind != "f":
        return Rest(left[0].astype(kind), allowed)
    return Rest(_plain(sum(left[1:], left[0]) / len(left), allowed).astype(kind), allowed)


def reading_of(exported: Exported, pairs: Sequence[Pair], rest: Rest) -> LinearReading | None:
    """The reading by positions and scales that leave a rest, if that is what the exports have."""
    kind = working(exported.arrays[0].dtype)
    if kind.kind == "f":
        return _rounded(exported, pairs, rest)
    terms = tuple(PositionTerm(position, slope.astype(kind), scale) for position, (scale, slope) in pairs)
    reading = measured(LinearReading(terms, rest.base, exported.arrays[0].dtype, exported.dims), exported)
    return reading if reading.error == 0 else None


def _factors(scale: Scale, exported: Exported, slope: Array) -> list[float]:
    """The factors of a slope, by its scale, in each export: `1/S -> [1/12, 1/23]`."""
    factors = scale.each(exported)
    return factors if slope.dtype.kind == "f" else [int(factor) for factor in factors]


def _rounded(exported: Exported, pairs: Sequence[Pair], rest: Rest) -> LinearReading | None:
    """The reading of floating-point numbers whose slopes explain the exports best."""
    dtype = exported.arrays[0].dtype
    kind = working(dtype)
    best: LinearReading | None = None
    tried: list[LinearReading] = []
    made: list[Array] = []
    for way in ("plain", "read", "mean"):
        terms = []
        for position, (scale, slope) in pairs:
            exactly = slope / position.step
            if way == "plain":
                exactly = _plain(exactly, rest.allowed / max(array.shape[position.axis] for array in exported.arrays))
            elif way == "read":
                exactly = _at_one(exported, position, scale, rest.base, exactly)
            terms.append(PositionTerm(position, exactly.astype(kind), scale))
        reading = LinearReading(tuple(terms), rest.base, dtype, exported.dims)
        if not any(_alike(reading, other) for other in tried):
            tried.append(reading)
            found = [reading.at(binding) for binding in exported.bindings]
            error = _error(found, exported)
            if best is None or error < best.error:
                best, made = reading._replace(error=error), found
        if best is not None and best.error == 0:
            return best
    cases = zip(made, exported.arrays, strict=True)
    return best if best is not None and all(near(one, array, exported.growing) for one, array in cases) else None


def _alike(one: LinearReading, other: LinearReading) -> bool:
    """Whether two readings of the same positions and base have the same slopes."""
    return all(np.array_equal(a.slope, b.slope) for a, b in zip(one.terms, other.terms, strict=True))


def _at_one(exported: Exported, position: Position, scale: Scale, base: Array, otherwise: Array) -> Array:
    """The slope where the position is 1 or -1: there it stands as it is, if there is nothing else."""
    if scale.size != 1 or base.any() or len(exported.growing) != 1:
        return otherwise
    for binding, array in zip(exported.bindings, exported.arrays, strict=True):
        numbers = position.at(binding, array.ndim).reshape(-1)
        for number in (1, -1):
            (places,) = np.nonzero(numbers == number)
            if len(places):
                return number * np.take(array, places[:1], axis=position.axis).astype(np.float64)
    return otherwise


def _plain(numbers: Array, allowed: Array) -> Array:
    """Numbers rounded as far as is allowed, to 1, 1/2, 1/64 or 1/4096: `[0.50003, 3.0] -> [0.5, 3.0]`.

    All of them alike; where that cannot be, each to 1/4096, or not at all.
    """
    for scale in (1, 2, 64, 4096):
        rounded = np.rint(numbers * scale) / scale
        if (np.abs(rounded - numbers) <= allowed).all():
            return np.asarray(rounded)
    rounded = np.rint(numbers * 4096) / 4096
    return np.asarray(np.where(np.abs(rounded - numbers) <= allowed, rounded, numbers))


def measured(reading: LinearReading, exported: Exported) -> LinearReading:
    """A reading that knows how far it is from the exports."""
    return reading._replace(error=_error([reading.at(binding) for binding in exported.bindings], exported))


def _ends(size: int) -> list[int]:
    """The first two places and the last of so many."""
    return [0, 1, size - 1] if size > 2 else [*range(size)]


def _error(found: Sequence[Array], exported: Exported) -> float:
    """How far arrays are from the exports."""
    worst = 0.0
    for one, array in zip(found, exported.arrays, strict=True):
        if one.shape == array.shape and (one == array).all():
            continue
        if array.dtype.kind != "f":
            return np.inf
        worst = max(worst, float(np.abs(one.astype(np.float64) - array.astype(np.float64)).max(initial=0)))
    return worst
