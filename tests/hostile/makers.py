"""The table of makers: who adds a node of which operator, in which opsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.hostile.sketch import Sketch

Make = Callable[[Sketch, str], None]


class Maker(NamedTuple):
    """Adds an operator to a sketch, or raises Misfit."""

    make: Make
    since: int
    until: int
    weight: float


MAKERS: dict[str, list[Maker]] = {}
"""By the operator."""


def makes(names: str, since: int = 1, until: int = 99, weight: float = 1) -> Callable[[Make], Make]:
    """Enters a maker for some operators; a name may carry the opset that brings it: `Gelu:20`."""

    def enter(make: Make) -> Make:
        for each in names.split():
            name, first = (each, "") if "::" in each else each.partition(":")[::2]
            begin = int(first or since)
            often = 4 if begin >= 22 else 2.5 if begin >= 19 else 1.5 if begin >= 18 else 1  # few graphs are so new
            MAKERS.setdefault(name, []).append(Maker(make, begin, until, weight * often))
        return make

    return enter
