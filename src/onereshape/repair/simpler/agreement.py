"""agreement(): whether other words do to a tensor what its Reshapes did, at sizes of 0 too.

Words are chosen for sizes from 1 on, where they are proven.  Where a size is 0 an entry that says it is a 0, which
copies, and a -1 beside it cannot be inferred: so the two are tried at small sizes, in integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from onereshape.graphs.facts.reshape_runs import run
from onereshape.graphs.facts.samples import number_of, samples_of
from onereshape.rule.condition import at_least
from onereshape.rule.sizes import Size


class TargetStep(NamedTuple):
    """One Reshape: the entries of its target, and whether a 0 copies."""

    entries: tuple[Size, ...]
    copies: bool


class Agreement(NamedTuple):
    """The verdict on other words for the Reshapes of a tensor, with its conditions."""

    kind: Literal["same", "refuses", "differs"]
    """`refuses`: the other words fail at sizes at which the Reshapes do not, and give the same otherwise."""
    conditions: tuple[str, ...] = ()
    """The sizes that must not be 0 for the other words."""


@lru_cache(maxsize=4096)
def agreement(data: tuple[Size, ...], before: tuple[TargetStep, ...], after: tuple[TargetStep, ...]) -> Agreement:
    """What `after` does to data of these dims, beside what `before` does.

    >>> from onereshape.rule.sizes import symbol
    >>> n = symbol("N")
    >>> agreement((2, n), (TargetStep((n, -1), True),), (TargetStep((-1, 2), True),)).kind  # [0, -1] copies the 2
    'differs'
    >>> agreement((n, 6), (TargetStep((n, 2, 3), True),), (TargetStep((0, 2, -1), True),))
    Agreement(kind='refuses', conditions=('N >= 1',))
    """
    sizes = [*data, *(entry for step in (*before, *after) for entry in step.entries)]
    refused: list[frozenset[str]] = []
    for chosen in samples_of(sizes):
        given = _numbers(data, chosen)
        if given is None or min(given, default=0) < 0:
            continue
        wanted, found = (_run(given, steps, chosen) for steps in (before, after))
        if wanted is None or found == wanted:
            continue
        if found is not None:
            return Agreement("differs")
        refused.append(frozenset(name for name, size in chosen.items() if size == 0))
    empty = {name for zeros in refused for name in zeros if len(zeros) == 1}
    if not all(zeros & empty for zeros in refused):
        return Agreement("differs")
    return Agreement("refuses", tuple(at_least(name, 1) for name in sorted(empty))) if refused else Agreement("same")


def _run(dims: Sequence[int] | None, steps: Sequence[TargetStep], chosen: Mapping[str, int]) -> Sequence[int] | None:
    for entries, copies in steps:
        words = _numbers(entries, chosen)
        dims = None if dims is None or words is None else run(dims, words, copies=copies)
    return dims


def _numbers(sizes: Sequence[Size], chosen: Mapping[str, int]) -> tuple[int, ...] | None:
    numbers = [number_of(size, chosen) for size in sizes]
    known = tuple(number for number in numbers if number is not None)
    return known if len(known) == len(numbers) else None
