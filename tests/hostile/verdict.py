"""Verdict: what became of one hostile graph where one part of onereshape was asked; and what the judges share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.hostile.engine import Array

UNLAWFUL = frozenset({"wrong", "broken", "crash", "hang", "false alarm", "untrue shape", "died"})


class Verdict(NamedTuple):
    """The verdict on a graph in one room: right, refused, wrong ..., with a sentence."""

    room: str
    """batch, terms, free, simplify, convert, check, shapes."""
    kind: str
    """right, edited (right, and rewritten), refused, no truth, no witness (the engine died on the original); of terms
    always, proven (and why not always), not proven, differs (as in the engine); or one of UNLAWFUL."""
    text: str = ""

    @property
    def lawful(self) -> bool:
        return self.kind not in UNLAWFUL

    def __str__(self) -> str:
        return f"{self.room}: {self.kind}" + (f": {self.text}" if self.text else "")


def difference(found: Any, expected: Any) -> str | None:
    """Why two answers are not the same."""
    if isinstance(found, list) or isinstance(expected, list):
        return None
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{list(found.shape)} for {expected.dtype}{list(expected.shape)}"
    unlike = differing(found, expected)
    if not unlike.any():
        return None
    place = np.unravel_index(int(np.argmax(unlike)), unlike.shape)
    count = f"{int(unlike.sum())} of {unlike.size} elements"
    return f"{count}, such as {found[place]} for {expected[place]} at {[*map(int, place)]}"


def differing(found: Array, expected: Array) -> Array:
    """Where two answers of one shape are not the same."""
    if found.dtype.kind != "f":
        return np.asarray(found != expected)
    loose = found.dtype.itemsize == 2
    with np.errstate(all="ignore"):
        same = np.isclose(found, expected, rtol=2e-2 if loose else 1e-3, atol=1e-2 if loose else 1e-5, equal_nan=True)
    if loose:  # the engine may keep more bits between two nodes: what overflows in one model need not in the other
        same |= ~np.isfinite(found) | ~np.isfinite(expected)
    return np.asarray(~same)


def steady(
    found: Array, expected: Array, again: Callable[[], Sequence[Array]], ours_again: Callable[[], Sequence[Array]]
) -> bool:
    """Whether a difference is one of meaning: inputs that differ in the last bits would not explain it.

    Both answers are shaken: a negative number to the power of 2 leaves its 4 as soon as the 2 is off by a bit, while
    the NaN of its power of 2.0000001 stays one.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return True
    unlike = differing(found, expected)
    whole = int(unlike.sum())
    with np.errstate(all="ignore"):
        gap = np.abs(found.astype(float) - expected.astype(float))
        for own, others in ((expected, again), (found, ours_again)):
            for other in others():
                if other.shape != own.shape:
                    return False
                moved = np.abs(other.astype(float) - own.astype(float))
                explained = (moved >= gap / 20) | (np.isfinite(other) != np.isfinite(own))
                if own.dtype.kind == "f":
                    explained |= np.isnan(gap) & (np.abs(own) > 1e30)
                unlike &= ~explained
            if int(unlike.sum()) <= whole * 0.7:  # where some of a row is shaken, the rest may be by chance the same
                return False
    return True


def _last_bits(array: Array) -> float:
    return 2e-3 if array.dtype.itemsize == 2 else 2e-6


def perturbed(rng: np.random.Generator, array: Array) -> Array:
    """The array with other last bits."""
    if array.dtype.kind != "f":
        return array
    # Of many sizes: two elements that cancel each other must not move alike.
    noise = 1 + rng.choice([-1, 1], array.shape) * rng.uniform(0.3, 1, array.shape) * _last_bits(array)
    with np.errstate(all="ignore"):
        return np.asarray((array * noise).astype(array.dtype))
