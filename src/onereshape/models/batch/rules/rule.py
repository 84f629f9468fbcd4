"""Rule: how one operator is batched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from onereshape.models.batch.marks import Mark
from onereshape.models.batch.view import Answer, View
from onereshape.models.node_view import Refused


class Rule(NamedTuple):
    """The answers for one operator, the best first; none of them mixes samples."""

    answers: Callable[[View], Iterator[Answer]]
    slots: frozenset[int] = frozenset()
    """The inputs that hold sizes, which the rule reads itself."""
    several: bool = False
    """Whether there can be more than one answer."""


def each_home(homes: Iterable[Mark], answer: Callable[[Mark], Answer], none: str) -> Iterator[Answer]:
    """The answers for all homes that have one; else the refusal of the first, or `none` if there is no home."""
    refusal, found = Refused(none), False
    for place, home in enumerate(homes):
        try:
            possible = answer(home)
        except Refused as refused:
            refusal = refused if place == 0 else refusal
            continue
        found = True
        yield possible
    if not found:
        raise refusal
