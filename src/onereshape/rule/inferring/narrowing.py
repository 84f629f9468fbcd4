"""Intervals of sizes whose product is known, narrowed to what the others leave."""

from __future__ import annotations

from onereshape.rule.dims import UNBOUNDED

AxisLimits = dict[int, tuple[int, int]]
"""The smallest and the largest size of each open axis."""

_STEPS = 256
"""How far a divisor is looked for; wider gaps stay."""


def divisors(volume: int, sizes: AxisLimits) -> AxisLimits:
    """Narrows sizes whose product is a known number: each divides it.

    >>> divisors(12, {0: (5, 7), 1: (1, 2)})
    {0: (6, 6), 1: (2, 2)}
    """
    stepped = {axis: _between(volume, *at) for axis, at in leave(volume, volume, (1, 1), sizes).items()}
    return leave(volume, volume, (1, 1), stepped)


def _between(volume: int, low: int, high: int) -> tuple[int, int]:
    """The first and the last divisor in an interval, if they are near its ends."""
    for _ in range(_STEPS):
        if low > high or (volume % low == 0 and volume % high == 0):
            break
        low += volume % low != 0
        high -= volume % high != 0
    return low, high


def leave(least: int, most: int, fixed: tuple[int, int], sizes: AxisLimits) -> AxisLimits:
    """Narrows sizes whose product, times something within `fixed`, is from least to most; nothing is 0."""
    floor, ceiling = fixed
    endless = 0 if ceiling < UNBOUNDED else 1
    for smallest, largest in sizes.values():
        floor *= max(smallest, 1)
        endless += largest >= UNBOUNDED
        ceiling *= 1 if largest >= UNBOUNDED else max(largest, 1)
    narrowed = {}
    for axis, (smallest, largest) in sizes.items():
        unbounded = largest >= UNBOUNDED
        others = ceiling if unbounded else ceiling // max(largest, 1)
        needed = 1 if endless - unbounded else -(-least // others)
        left = largest if most >= UNBOUNDED else min(largest, most // (floor // max(smallest, 1)))
        narrowed[axis] = (max(smallest, needed, 1), left)
    return narrowed
