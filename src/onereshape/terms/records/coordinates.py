"""Where Resize reads: the coordinates of each place of the answer along one axis, as fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import Final

import numpy as np

HALF: Final = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class ResizedAxis:
    """An axis that Resize resizes: its sizes, its scale and its region."""

    before: int
    """The size of the data along the axis; `after` is that of the answer."""
    after: int
    scale: Fraction
    """The scale that is given, or the ratio of the sizes."""
    start: Fraction = Fraction(0)
    """The start of the region, as a part of the axis."""
    end: Fraction = Fraction(1)

    @property
    def scales(self) -> tuple[Fraction, ...]:
        """The given scale, which engines take, and the ratio of the dims, as the specification says, if it differs."""
        ratio = Fraction(self.after, self.before)
        return (ratio,) if ratio == self.scale else (self.scale, ratio)

    def keeps(self, transformation: str) -> bool:
        """Whether the axis keeps its elements under a `coordinate_transformation_mode`."""
        if transformation == "tf_half_pixel_for_nn":
            return False
        region = transformation != "tf_crop_and_resize" or (self.start == 0 and self.end == 1)
        return region and self.after == self.before and (self.scale == 1 or transformation == "align_corners")

    def original(  # noqa: PLR0911 - one for each transformation
        self, transformation: str, place: Fraction, scale: Fraction
    ) -> Fraction:
        last = self.before - 1
        match transformation:
            case "half_pixel":
                return (place + HALF) / scale - HALF
            case "half_pixel_symmetric":
                adjustment = Fraction(self.after) / (scale * self.before)
                return Fraction(self.before, 2) * (1 - adjustment) + (place + HALF) / scale - HALF
            case "pytorch_half_pixel":
                return (place + HALF) / scale - HALF if self.after > 1 else Fraction(0)
            case "align_corners":
                return place * last / (self.after - 1) if self.after > 1 else Fraction(0)
            case "tf_half_pixel_for_nn":
                return (place + HALF) / scale
            case "tf_crop_and_resize":
                if self.after == 1:
                    return HALF * (self.start + self.end) * last
                return self.start * last + place * (self.end - self.start) * last / (self.after - 1)
            case _:
                return place / scale

    def slack(self, transformation: str, coordinate: Fraction) -> Fraction:
        """By how much an engine may miss a coordinate: not at all where floats hold it and the scale."""
        sure = transformation == "align_corners" or (
            transformation != "tf_crop_and_resize" and all(_is_short(each) for each in self.scales)
        )
        if sure and _is_short(coordinate):
            return Fraction(0)
        return (abs(coordinate) + (transformation != "asymmetric")) * _ROUNDING

    def within(self, place: int) -> int:
        """A place of the axis: what is outside is at its ends."""
        return min(max(place, 0), self.before - 1)


@lru_cache(maxsize=256)
def coordinates(axis: ResizedAxis, transformation: str) -> tuple[tuple[Fraction, ...], ...]:
    """The coordinates at which each place of the answer may read: one, or two where the scale and the ratio differ."""
    return tuple(
        tuple(dict.fromkeys(axis.original(transformation, Fraction(place), scale) for scale in axis.scales))
        for place in range(axis.after)
    )


@lru_cache(maxsize=256)
def reads(
    axis: ResizedAxis, transformations: tuple[str, ...]
) -> tuple[tuple[tuple[Fraction, ...], ...], tuple[tuple[int, int], ...]]:
    """The coordinates of each place by all of these transformations, and the first and the last place read around them.

    >>> reads(ResizedAxis(2, 2, Fraction(1)), ("asymmetric",))[1]
    ((-1, 1), (0, 2))
    """
    options = tuple(
        tuple(each for several in place for each in several)
        for place in zip(*(coordinates(axis, each) for each in transformations), strict=True)
    )
    around = tuple(
        (floor(min(each) - _missed(min(each))), floor(max(each) + _missed(max(each))) + 1) for each in options
    )
    return options, around


@lru_cache(maxsize=256)
def nearest(axis: ResizedAxis, transformation: str, how: str) -> tuple[int, ...] | None:
    """The place that is read at each place of the answer; None where rounding may make it another.

    >>> nearest(ResizedAxis(2, 4, Fraction(2)), "half_pixel", "round_prefer_floor")
    (0, 0, 1, 1)
    """
    found = []
    for options in coordinates(axis, transformation):
        near = {
            axis.within(_rounded(each + sign * axis.slack(transformation, each), how))
            for each in options
            for sign in (-1, 0, 1)
        }
        if len(near) > 1:
            return None
        found.append(near.pop())
    return tuple(found)


def _missed(coordinate: Fraction) -> Fraction:
    """By how much an engine may miss a coordinate, so that it reads the next place with a factor of nearly 0."""
    return (abs(coordinate) + 1) * Fraction(1, 1 << 18)


_ROUNDING: Final = Fraction(1, 1 << 21)
"""By how much an engine may miss a coordinate, which it has in 24 bits."""


def _is_short(number: Fraction) -> bool:
    """Whether a float holds a number, and leaves room for a sum."""
    small = number.denominator <= 1 << 12 and abs(number.numerator) < 1 << 22
    return small and number.denominator & (number.denominator - 1) == 0


def _rounded(coordinate: Fraction, how: str) -> int:
    match how:
        case "round_prefer_floor":
            return ceil(coordinate - HALF)
        case "round_prefer_ceil":
            return floor(coordinate + HALF)
        case "ceil":
            return ceil(coordinate)
        case _:
            return floor(coordinate)


def exact(number: np.floating | float) -> Fraction:
    """The number that a float is."""
    return Fraction(float(number))
