"""Readings of a constant that agree wherever the sizes leave the rests that they leave in all exports.

A ramp over its own 4 and 6 entries, `i/floor(H/16)`, is `16*i/H` as well if both heights are divisible by 16.  One of
them needs a number of its own, and the other none: that one is taken, and the rests become a condition.  Of what is as
plain, neither is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, lcm

from onereshape.repair.fitting.exported import Binding, Fit, alike
from onereshape.repair.fitting.formulas import Known

_LARGEST_STEP = 64
_SAMPLES = 4
"""Sizes at which readings are compared."""


def plainest(readings: Sequence[Fit], known: Known) -> tuple[Fit, dict[str, int]] | None:
    """The plainest of several readings, and the steps of the sizes at which all of them agree; None if there is none.

    The sizes of the exports differ by such steps, or by a multiple.
    """
    first, *others = sorted(readings, key=lambda each: each.odd)
    if not others:
        return first, {}
    if others[0].odd == first.odd:
        return None
    found: dict[str, int] = {}
    for name in known.bindings[0]:
        step = _step(first, others, known, name)
        if step is None:
            return None
        if step > 1:
            found[name] = step
    return (first, found) if _agree(first, others, _samples(known, found, list(found))) else None


def _step(first: Fit, others: Sequence[Fit], known: Known, name: str) -> int | None:
    """The smallest step of one size at which readings agree, where all others stay as they are."""
    sizes = [binding[name] for binding in known.bindings]
    apart, own = gcd(*(size - sizes[0] for size in sizes)), known.steps.get(name, 1)
    steps = [lcm(step, own) for step in range(1, _LARGEST_STEP + 1) if apart % lcm(step, own) == 0]
    return next((step for step in steps if _agree(first, others, _samples(known, {name: step}, [name]))), None)


def _samples(known: Known, steps: Mapping[str, int], names: Sequence[str]) -> list[Binding]:
    """Sizes that go on from each export by steps: S = 12 in steps of 2 -> 14, 16, 18, 20."""
    return [
        {**binding, **{name: binding[name] + steps[name] * (turn + place) for place, name in enumerate(names)}}
        for binding in known.bindings
        for turn in range(1, _SAMPLES + 1)
    ]


def _agree(first: Fit, others: Sequence[Fit], samples: Sequence[Binding]) -> bool:
    """Whether readings give like constants at all samples; not where a size is no whole number."""
    try:
        for at in samples:
            found = first.at(at)
            if not all(alike(found, other.at(at)) for other in others):
                return False
    except ValueError:  # a size that is no whole number there
        return False
    return True
