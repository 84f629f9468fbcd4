"""Frequencies: how fast the columns of a table of sines and cosines turn.

A column is an amplitude times the sine or the cosine of a frequency times a position.  The frequencies of most tables
are a geometric sequence of round numbers, which is tried first, since it is exact; else each is measured alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import eps_of

_WINDOW = 64
"""Positions from which a first frequency is taken; more would take it for one of its neighbours."""
_STEPS = 30
_SETTLED = 1e-14
"""Steps of a frequency that are none any more."""
_LEAST = 0.98
"""The part of a column that the best wave of those that are tried must explain."""

_TOGETHER = 64
"""Frequencies that are tried at once: few enough that no other thread is woken, which takes longer than they do."""
_FEW = 16
"""Columns of which more frequencies are tried at once."""

_UNEVEN = 0.05
"""What the neighbours of an entry may be off at most, as a part of the amplitude."""
_EPS = float(np.finfo(np.float32).eps)
"""Of the type in which a table may have been calculated."""


class Turning(NamedTuple):
    """The waves that the columns of a table are: each array has an entry for each column."""

    cosine: Array
    """Whether the column is a cosine, else a sine."""
    amplitude: Array
    """The amplitude with its sign; of a column that does not turn, its value."""
    frequency: Array
    rough: Array
    """How far the frequency may be off."""
    slow: Array
    """Whether the column does not turn at all, but may be a cosine that turns too slowly to be seen."""


def turning(places: Array, columns: Array, eps: float) -> Turning | None:
    """The sines and cosines that the columns are at these places, of one amplitude; None if they are not."""
    still = np.all(columns == columns[:1], axis=0)
    starts = columns[np.flatnonzero(places == 0)]
    largest = float(np.abs(columns).max())
    allowed = eps * largest
    if still.all() or (len(starts) and not _one_amplitude(np.abs(starts[0][~still]), allowed)):
        return None
    known = (np.abs(starts[0]) > allowed) | still if len(starts) else None
    some = np.arange(0, columns.shape[1], max(1, columns.shape[1] // 16))
    if 3 * len(some) < columns.shape[1]:
        few = _grid(places, columns[:, some], None if known is None else known[some])
        if few[1] is None:
            return None  # a few columns say it too, where there are many
    cosine, frequency = _grid(places, columns, known)
    if frequency is None:
        return None
    sizes = _amplitudes(places, columns, cosine, frequency)
    clear = ~still & (frequency * np.abs(places).max() >= 1.5)
    if not clear.any():
        return None
    amplitude = float(np.median(np.abs(sizes[clear])))
    if len(starts) and np.any(cosine & ~still):
        amplitude = float(np.abs(starts[0][cosine & ~still][0]))
    if abs(amplitude - 1) <= 4 * eps:
        amplitude = 1.0
    signed = np.where(sizes < 0, -amplitude, amplitude)
    frequency = np.where(still, 0, _refined(places, columns, cosine, signed, frequency))
    signed = np.where(still, columns[0], signed)
    slow = still & (np.abs(np.abs(signed) - amplitude) <= allowed)
    unseen = np.where(slow, np.sqrt(eps / 4) / np.abs(places).max(), 0)
    rough = np.where(still, unseen, _rough(places, cosine, signed, frequency, eps / 8))
    return Turning(cosine | still, signed, frequency, rough, slow)


def bumps(column: Array, allowed: float) -> bool:
    """Whether a column does not swing, by a few entries of it: no one number is right for two of them."""
    entries = column[:_WINDOW].tolist()
    off, last = 1.01 * allowed, len(entries) - 2
    before, here, after = entries[:3]
    if before == here == after and entries.count(here) == len(entries):
        return False  # it stands still
    beside = before + after
    there, around = entries[last], entries[last - 1] + entries[last + 1]
    if abs(beside * there - around * here) > off * (abs(here) + abs(there)):
        return True  # far apart, as much bends only a little
    for further in entries[3:]:
        there, around = after, here + further
        if abs(beside * there - around * here) > off * (abs(here) + abs(there)):
            return True
        here, after, beside = there, further, around
    return False


def uneven(kind: np.dtype[Any], count: int) -> float:
    """What the neighbours of an entry may be off in a column of so many, as a part of the amplitude.

    The angle of an entry may be off by its rounding, and the further along it is, the more.
    """
    return min(_UNEVEN, 64 * max(eps_of(kind), _EPS) * (count + 8))


def swings(columns: Array, off: float) -> bool:
    """Whether the neighbours of an entry are together as many times the entry, all along a column, as of every wave."""
    middle, beside = columns[1:-1], columns[2:] + columns[:-2]
    lengths = np.maximum((middle**2).sum(axis=0), 1e-30)
    times = (middle * beside).sum(axis=0) / lengths
    allowed = off * np.abs(columns).max(axis=0)
    if (times - 2 > allowed * np.abs(middle).sum(axis=0) / lengths).any():
        return False  # of a wave it is twice a cosine; powers are more times their neighbours
    return bool((np.abs(beside - times * middle) <= allowed).all())


def _one_amplitude(starts: Array, allowed: float) -> bool:
    """Whether columns start at 0, as sines do, or all at one amplitude, as cosines do."""
    turned = starts[starts > allowed]
    return not len(turned) or bool(np.ptp(turned) <= allowed)


def _turned(places: Array, frequency: Array, cosine: Array) -> tuple[Array, Array]:
    """Waves of amplitude 1, and how each changes with its frequency."""
    angle = places * frequency
    cosines, sines = np.cos(angle), np.sin(angle)
    return np.where(cosine, cosines, sines), places * np.where(cosine, -sines, cosines)


def _grid(places: Array, columns: Array, known: Array | None) -> tuple[Array, Array | None]:
    """Whether each column is a cosine, where it is not known, and the frequency that leaves least of it.

    No frequency if none of those that are tried leaves little: a wave between two of them does.
    """
    near = np.argsort(np.abs(places), kind="stable")[:_WINDOW]
    values = columns[near]
    energy = (values**2).sum(axis=0)
    kept, found = np.zeros((2, columns.shape[1])), np.zeros((2, columns.shape[1]))
    tried, *both = _tried(tuple(places[near].tolist()))
    for kind, (waves, lengths) in enumerate(both):
        which = slice(None) if known is None else known == bool(kind)
        chosen = values[:, which]
        together = _TOGETHER * max(1, _FEW // max(chosen.shape[1], 1))
        # The part of a column that lies along a wave.
        pieces = [waves[:, first : first + together].T @ chosen for first in range(0, len(tried), together)]
        parts = np.concatenate(pieces) ** 2 / lengths[:, None] / np.maximum(energy[which], 1e-30)
        best = parts.argmax(axis=0)
        kept[kind, which] = parts[best, np.arange(len(best))]
        found[kind, which] = tried[best]
    cosine = kept[1] > kept[0] if known is None else known
    if ((energy != 0) & (np.where(cosine, kept[1], kept[0]) < _LEAST)).any():
        return cosine, None
    return cosine, np.where(cosine, found[1], found[0])


@lru_cache(maxsize=8)
def _tried(places: tuple[float, ...]) -> tuple[Array, tuple[Array, Array], tuple[Array, Array]]:
    """The frequencies that are tried, and their sines and cosines at these places, each with its length."""
    tried = np.concatenate([np.geomspace(1e-7, 0.05, 300), np.linspace(0.05, np.pi, 1000)])
    angle = np.array(places)[:, None] * tried
    sines, cosines = np.sin(angle), np.cos(angle)
    one, other = (np.maximum((waves**2).sum(axis=0), 1e-30) for waves in (sines, cosines))
    return tried, (sines, one), (cosines, other)


def _amplitudes(places: Array, columns: Array, cosine: Array, frequency: Array) -> Array:
    """The amplitude of each column, refined together with its frequency."""
    near = np.argsort(np.abs(places), kind="stable")[:_WINDOW]
    at, values, turned = places[near, None], columns[near], frequency.copy()
    sizes = np.ones(columns.shape[1])
    for _ in range(_STEPS):
        wave, slope = _turned(at, turned, cosine)
        lengths = np.maximum((wave**2).sum(axis=0), 1e-30)
        sizes = (wave * values).sum(axis=0) / lengths
        left = values - sizes * wave
        # Without the part along the wave itself, which the amplitude takes.
        across = sizes * (slope - wave * ((slope * wave).sum(axis=0) / lengths))
        step = (left * across).sum(axis=0) / np.maximum((across**2).sum(axis=0), 1e-30)
        turned = turned + step
        if (np.abs(step) < _SETTLED).all():
            break
    frequency[:] = np.where(np.abs(turned - frequency) < 0.05, turned, frequency)
    return np.asarray(sizes)


def _refined(places: Array, columns: Array, cosine: Array, signed: Array, frequency: Array) -> Array:
    """The frequencies that leave least, from few positions to all of them."""
    order = np.argsort(np.abs(places), kind="stable")
    window = min(_WINDOW, len(places))
    found = np.maximum(np.abs(frequency), 1e-9)
    while True:
        chosen = order[:window]
        at, values = places[chosen, None], columns[chosen]
        for _ in range(_STEPS):
            wave, slope = _turned(at, found, cosine)
            slope = signed * slope
            left = values - signed * wave
            step = (left * slope).sum(axis=0) / np.maximum((slope**2).sum(axis=0), 1e-30)
            half = 0.5 * found
            found = np.abs(found + np.minimum(np.maximum(step, -half), half))
            if (np.abs(step) < _SETTLED).all():
                break
        if window == len(places):
            return found
        window = min(2 * window, len(places))


def _rough(places: Array, cosine: Array, signed: Array, frequency: Array, eps: float) -> Array:
    slope = signed * _turned(places[:, None], frequency, cosine)[1]
    return np.asarray(eps * np.abs(signed) / np.sqrt(np.maximum((slope**2).sum(axis=0), 1e-30)))


def geometric(found: Turning, columns: Array, taken: Array, kind: np.dtype[Any]) -> Iterator[Array]:
    """The frequencies as geometric sequences, as they are commonly calculated; of the columns that are taken."""
    which = np.zeros(columns.shape[1], np.int64)
    several = 0
    for cosine in (True, False):
        chosen = np.flatnonzero((found.cosine == cosine) & taken)
        if len(chosen):
            which[chosen], count = _numbered(columns[:, chosen])
            several = max(several, count)
    clear = taken & (found.frequency > 0) & (found.rough < 1e-2 * found.frequency)
    if several < 2 or len({*which[clear].tolist()}) < 2:
        return
    sure = found.frequency[clear] / found.rough[clear]
    ratio, first = np.polyfit(which[clear], np.log(found.frequency[clear]), 1, w=sure)
    places = np.arange(several).astype(kind)
    if abs(first) < max(1e-5, 4 / float(sure.max())):
        base, other = _round(np.exp(-ratio * several)), _round(np.exp(-ratio * (several - 1)))
        yield (1 / kind.type(base) ** (2 * places / kind.type(2 * several)))[which]
        yield np.exp(2 * places * kind.type(-np.log(base) / (2 * several)))[which]
        yield np.exp(places * kind.type(-np.log(other) / (several - 1)))[which]
    yield np.exp(first + ratio * np.arange(several)).astype(kind)[which]


def _round(number: float) -> float:
    """A number of few digits, if one is near."""
    digits = float(f"{number:.2g}")
    return digits if abs(digits - number) <= 1e-2 * number else number


def _numbered(columns: Array) -> tuple[Array, int]:
    """The number of the frequency of each column, and how many there are: they come one by one, twice, or again."""
    wide = columns.shape[1]
    period = next(size for size in range(1, wide + 1) if not wide % size and _again(columns, size))
    numbers = np.arange(wide) % period
    if period % 2 == 0 and period > 1 and np.array_equal(columns[:, 0:period:2], columns[:, 1:period:2]):
        return numbers // 2, period // 2
    return numbers, period


def _again(columns: Array, size: int) -> bool:
    return bool(np.array_equal(columns[:, size:], columns[:, :-size])) if size < columns.shape[1] else True
