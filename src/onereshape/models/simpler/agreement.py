"""agreement(): whether other words do to a tensor what its Reshapes did, at sizes of 0 too.

Words are chosen for sizes from 1 on, where they are proven.  Where a size is 0 an entry that says it is a 0, which
copies, and a -1 beside it cannot be inferred: so the two are tried at small sizes, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from onereshape.condition import at_least
from onereshape.dims import Product, Size
from onereshape.models.facts.reshape_runs import run
from onereshape.models.facts.samples import samples


class Step(NamedTuple):
    """One Reshape: the entries of its target, and whether a 0 copies."""

    entries: tuple[Size, ...]
    copies: bool


class Agreement(NamedTuple):
    """What was found."""

    kind: Literal["same", "refuses", "differs"]
    """`refuses`: the other words fail at sizes at which the Reshapes do not, and give the same otherwise."""
    conditions: tuple[str, ...] = ()
    """The sizes that must not be 0 for the other words."""


@lru_cache(maxsize=4096)
def agreement(data: tuple[Size, ...], before: tuple[Step, ...], after: tuple[Step, ...]) -> Agreement:
    """What `after` does to data of these dims, beside what `before` does.

    >>> n = Product(1, ("N",))
    >>> agreement((2, n), (Step((n, -1), True),), (Step((-1, 2), True),)).kind  # [0, -1] copies the 2
    'differs'
    >>> agreement((n, 6), (Step((n, 2, 3), True),), (Step((0, 2, -1), True),))
    Agreement(kind='refuses', conditions=('N >= 1',))
    """
    sizes = [*data, *(entry for step in (*before, *after) for entry in step.entries)]
    names = sorted({symbol for size in sizes if isinstance(size, Product) for symbol in size.symbols})
    refused: list[frozenset[str]] = []
    for chosen in samples(names):
        given = tuple(_number(dim, chosen) for dim in data)
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


def _run(dims: tuple[int, ...] | None, steps: Sequence[Step], sizes: dict[str, int]) -> tuple[int, ...] | None:
    for entries, copies in steps:
        if dims is not None:
            dims = run(dims, [_number(entry, sizes) for entry in entries], copies=copies)
    return dims


def _number(size: Size, sizes: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    found = size.coefficient
    for symbol in size.symbols:
        found *= sizes[symbol]
    return found
