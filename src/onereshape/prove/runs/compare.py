"""How far two answers are apart, sample by sample, and how far they may be.

An output is seen with its samples on the first axis, wherever the model carries them.  Floats may differ by 1e-3 of
themselves and by 1e-4 of the scale around them, at most 1e-4; everything else is equal or not.  The scale is local: in
an output that has coordinates up to 640 beside probabilities of 1e-5, each channel is held to its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, prod
from typing import Final

import ml_dtypes
import numpy as np

from onereshape.prove.engines.engine import Array
from onereshape.prove.evidence import Carried

_ENOUGH: Final = 16
"""Elements of a slice whose largest is not small by mere chance."""
_SMALLEST: Final = 1e-30
"""A scale below which engines differ in what they still call zero."""
_FINE: Final = 1e-6
"""The rounding of float32 is finer."""
_ROUNDINGS: Final = 4
_MOST_ROUNDINGS: Final = 16
_CLOSE: Final = 1 + 1e-5
"""What a few roundings of float32 multiply by less than."""
_AT_ONCE: Final = 1 << 16
"""The number of elements that are compared together."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What a float may be off: `relative` of itself and `absolute` of the scale, which is kept between two bounds."""

    relative: float
    absolute: float
    floor: float = _SMALLEST
    ceiling: float = 1.0

    def allowed(self, want: Array, scale: Array) -> Array:
        """The absolute error that each element may have, beside `want` and its scale."""
        allowed: Array = self.relative * np.abs(want) + self.absolute * np.clip(scale, self.floor, self.ceiling)
        return allowed


FLOATS: Final = Tolerance(1e-3, 1e-4)
_AT_MOST: Final = Tolerance(1e-3, 1e-4, floor=1.0, ceiling=inf)
"""Of a model whose own noise was measured: coordinates up to 640 that cancel to nearly 0 are not good to 1e-4."""
_EXACT: Final = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Distance:
    """The largest absolute difference, and the largest in units of what is allowed (above 1: too much)."""

    absolute: float = 0.0
    units: float = 0.0
    most: float = 0.0
    """The largest difference in units of the wider tolerance of models that differ from themselves."""

    def worse(self, other: Distance) -> Distance:
        """The larger of two distances, in each of their fields."""
        return Distance(*map(max, (self.absolute, self.units, self.most), (other.absolute, other.units, other.most)))


def tolerances(dtype: np.dtype, coarsest: float) -> tuple[Tolerance, Tolerance]:
    """The tolerance of an output's type, and the one that a noisy model may be granted.

    Half-precision floats are rounded after every operator, and which kernel runs depends on the batch, so that a last
    digit or two are noise: four roundings of the type are allowed, of the element and of the scale around it.  Where
    such floats are inside a model (`coarsest` is the rounding of its coarsest type), its other outputs may need it too.
    """
    if not _is_float(dtype):
        return _EXACT, _EXACT
    own = rounding(dtype)
    coarsest = max(coarsest, own)
    usual = FLOATS if own <= _FINE else Tolerance(_ROUNDINGS * own, _ROUNDINGS * own, ceiling=inf)
    if coarsest <= _FINE:
        return usual, _AT_MOST
    return usual, Tolerance(_MOST_ROUNDINGS * coarsest, _MOST_ROUNDINGS * coarsest, ceiling=inf)


def _is_float(dtype: np.dtype) -> bool:
    # The small floats of ml_dtypes are of kind V or f, and only their own finfo knows them.
    return dtype.kind in "fc" or (dtype.kind == "V" and "float" in dtype.name)


def rounding(dtype: np.dtype) -> float:
    """The distance from 1 to the next larger float."""
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


def samples(array: Array, carried: Carried | None, size: int) -> Array | None:
    """The array with its samples first; None where its dims have no place for so many."""
    if carried is None:
        return array[None]
    if carried.new is not None and array.ndim == carried.new:
        return array[None] if size == 1 else None
    if not 0 <= carried.axis < array.ndim or carried.new not in {None, array.ndim - 1}:
        return None
    dim = array.shape[carried.axis]
    inner = dim // (carried.outer * size) if carried.inner is None else carried.inner
    if dim != carried.outer * size * inner:
        return None
    before, after = array.shape[: carried.axis], array.shape[carried.axis + 1 :]
    if carried.new is not None:
        return array
    split = array.reshape(*before, carried.outer, size, inner, *after)
    return np.moveaxis(split, carried.axis + 1, 0)


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale around each element of a sample: the smallest, over the axes, of the largest element beside it.

    Two elements are beside each other on an axis where they have the same index; slices of few elements do not count.
    """

    dims: tuple[int, ...]
    largest: float = 0.0
    """The largest element of all."""
    beside: Mapping[int, Array] = field(default_factory=dict)
    """For each axis that counts, the largest element beside each index."""

    @property
    def whole(self) -> Array:
        """The scale of every element: that of an output of two channels, 1 and 1e-5, is `[[1, ...], [1e-5, ...]]`."""
        return np.broadcast_to(self.around(()), self.dims)

    def around(self, box: tuple[slice, ...]) -> Array:
        """The scale in a part of a sample, with a dim of 1 along an axis that does not count."""
        found = np.full((1,) * len(self.dims), self.largest, next(iter(self.beside.values()), np.float64()).dtype)
        for axis, largest in self.beside.items():
            some = largest[box[axis]] if axis < len(box) else largest
            found = np.minimum(found, np.expand_dims(some, tuple(each for each in range(found.ndim) if each != axis)))
        return found

    def allowing(self, tolerance: Tolerance) -> Scale:
        """What a tolerance allows of the scale, roughly, as float32."""
        least, most = tolerance.floor, tolerance.ceiling
        found = {axis: (tolerance.absolute * np.clip(each, least, most)) for axis, each in self.beside.items()}
        largest = tolerance.absolute * float(np.clip(self.largest, least, most))
        return Scale(self.dims, largest, {axis: each.astype(np.float32) for axis, each in found.items()})


def scale_of(answers: Iterable[Array]) -> Scale:
    """The scale of answers, samples first, from all of them."""
    found = Scale(())
    for place, answer in enumerate(answers):
        dims = answer.shape[1:]
        if not _is_float(answer.dtype):
            return Scale(dims)
        if not place:
            size = prod(dims)
            counting = [axis for axis, dim in enumerate(dims) if size >= _ENOUGH * dim > 0]
            found = Scale(dims, 0.0, {axis: np.zeros(dims[axis]) for axis in counting})
        for some in _together(answer):
            found = _widened(found, _magnitudes(answer[some]), some[1:])
    return found


def _widened(scale: Scale, magnitudes: Array, box: tuple[slice, ...]) -> Scale:
    """A scale with the largest of several samples in a part of them, too."""
    for axis, beside in scale.beside.items():
        others = tuple(other for other in range(magnitudes.ndim) if other != axis)
        mine = beside[box[axis]] if axis < len(box) else beside
        np.maximum(mine, magnitudes.max(axis=others, initial=0), out=mine)
    return replace(scale, largest=max(scale.largest, float(magnitudes.max(initial=0.0))))


def _magnitudes(some: Array) -> Array:
    """The largest magnitude of each element over all samples; what is not finite counts as 0."""
    found: Array = np.abs(_plain(some))
    if not np.isfinite(found.max(initial=0)):
        found = np.where(np.isfinite(found), found, 0)
    largest: Array = found.max(axis=0, initial=0)
    return largest


class Bounds:
    """Bounds of distances that are soon found, and spare what is nearer than something else the exact ones.

    Float32 is subtracted as it is, which rounds a little; of other types, and of what is not finite, nothing is known.
    """

    def __init__(self, scale: Scale, tolerances: Sequence[Tolerance]) -> None:
        self._allowed = [(np.float32(each.relative), scale.allowing(each)) for each in tolerances]

    def hold(self, got: Array, want: Array, box: tuple[slice, ...], worst: Distance) -> bool:
        """Whether no element of a part is farther off than the worst elsewhere: absolutely, and in units of each."""
        if not worst.units or got.dtype != np.float32 or want.dtype != np.float32:
            return False
        with np.errstate(all="ignore"):
            apart = np.subtract(got, want)
            np.abs(apart, out=apart)
            if not float(apart.max(initial=0.0)) * _CLOSE <= worst.absolute:
                return False
            magnitude = np.abs(want)
            for (relative, scale), most in zip(self._allowed, (worst.units, worst.most), strict=False):
                allowed = magnitude * relative
                allowed += scale.around(box)
                np.divide(apart, allowed, out=allowed)
                if not float(allowed.max(initial=0.0)) * _CLOSE <= most:
                    return False
        return True


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures the answers of an output: by its batch axis, the scale around each element, and the tolerances."""

    name: str
    carried: Carried | None
    scale: Scale
    usual: Tolerance
    most: Tolerance

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return self.scale.largest

    def near(self, got: Array, want: Array) -> Array:
        """The elements that are not too far apart, and finite."""
        if got.shape != want.shape or not _is_float(want.dtype):
            return np.broadcast_to(got == want if got.shape == want.shape else np.False_, want.shape)
        a, b = _wide(got), _wide(want)
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(a - b)
            found: Array = np.isfinite(apart) & (apart <= self.usual.allowed(b, self.scale.whole))
        return found

    def distance(self, got: Array, want: Array, where: Array | None = None) -> Distance:
        """How far apart two arrays of the same dims and type are, samples first; `where` says which elements count."""
        if not _is_float(want.dtype):
            return _exact_distance(*((got, want) if where is None else (got[where], want[where])))
        worst, bounds = Distance(), Bounds(self.scale, (self.usual, self.most))
        for some in _together(want):
            unlike = got[some] != want[some]  # NaN beside NaN among them
            if where is not None:
                unlike &= where[some]
            if not unlike.any() or (where is None and bounds.hold(got[some], want[some], some[1:], worst)):
                continue
            a, b = _wide(got[some][unlike]), _wide(want[some][unlike])
            with np.errstate(invalid="ignore", over="ignore"):
                apart = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
            apart = np.where(np.isfinite(apart), apart, inf)
            scale = np.broadcast_to(self.scale.around(some[1:]), unlike.shape)[unlike]
            units, most = (_units(apart, tolerance.allowed(b, scale)) for tolerance in (self.usual, self.most))
            worst = worst.worse(Distance(float(apart.max(initial=0.0)), units, most))
        return worst

    def farthest(self, got: Array, want: Array, where: Array | None = None) -> tuple[float, int]:
        """How far apart two elements of one sample are, in units of what is allowed, and their place: the worst ones.

        Both arrays have a first axis of 1 for the sample; the place counts the elements row by row.
        """
        unlike = np.asarray(got != want) if where is None else np.asarray(got != want) & where
        units = np.where(unlike, inf, 0.0)
        if _is_float(want.dtype):
            a, b = _wide(got), _wide(want)
            with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                apart = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
                found = apart / self.usual.allowed(b, self.scale.whole)
            units = np.where(unlike & (apart != 0), np.where(np.isnan(found), inf, found), 0.0)
        place = int(np.argmax(units)) if units.size else 0
        return (float(units.reshape(-1)[place]) if units.size else 0.0), place

    def contrast(self, group: Array) -> float:
        """How far, in units of what is allowed, any of these samples is from the first, where both are finite."""
        if not _is_float(group.dtype):
            return 0.0 if all(np.array_equal(group[0], other) for other in group[1:]) else inf
        found, others, bounds = 0.0, group[1:], Bounds(self.scale, (self.usual,))
        for some in _together(others):
            if bounds.hold(group[0][some[1:]], others[some], some[1:], Distance(inf, found)):
                continue
            first, other = _wide(group[0][some[1:]]), _wide(others[some])
            finite = np.isfinite(first) & np.isfinite(other)
            want = np.where(finite, other, 0)
            apart = np.abs(np.where(finite, first, 0) - want)
            found = max(found, _units(apart, self.usual.allowed(want, self.scale.around(some[1:]))))
        return found


def _units(apart: Array, allowed: Array) -> float:
    """The largest difference in units of what is allowed."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        units = np.where(apart == 0, 0.0, apart / allowed)
    # An infinity that was wanted and is not there is too far, however much infinity would allow.
    return float(np.where(np.isnan(units), inf, units).max(initial=0.0))


def _together(array: Array) -> Iterator[tuple[slice, ...]]:
    """The slices of an array that are compared together: many samples where they are small, parts of large ones."""
    rest = max(1, array[:1].size)
    parts = [_steps(len(array), rest)]
    for dim in array.shape[1:]:
        if rest <= _AT_ONCE or not dim:
            break
        rest //= dim
        parts.append(_steps(dim, rest))
    yield from product(*parts)


def _steps(count: int, size: int) -> list[slice]:
    """The parts of a dim, each of some places with `size` elements."""
    some = max(1, _AT_ONCE // size)
    return [slice(place, place + some) for place in range(0, count, some)]


def _exact_distance(got: Array, want: Array) -> Distance:
    if np.array_equal(got, want):
        return Distance()
    if want.dtype.kind != "O":
        return Distance(float(np.abs(got.astype(np.float64) - want.astype(np.float64)).max()), inf, inf)
    return Distance(inf, inf, inf)


def comparable(array: Array) -> int:
    """How many elements there are to compare: NaN beside NaN shows nothing, and neither does an empty array."""
    return array.size if not _is_float(array.dtype) else int(np.count_nonzero(finite(array)))


def finite(array: Array) -> Array:
    """A mask of the elements that are finite; all True for an array of integers."""
    found: Array = np.isfinite(_plain(array)) if _is_float(array.dtype) else np.ones(array.shape, bool)
    return found


def _plain(array: Array) -> Array:
    """Floats as float32 or float64, with which NumPy is quick, and which hold every float of a narrower type."""
    return array if array.dtype in {np.dtype(np.float32), np.dtype(np.float64)} else _wide(array)


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
