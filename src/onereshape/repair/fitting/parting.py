"""Parts of a Reshape that dims of 1 may belong to: which of them go with the dims before."""

from __future__ import annotations

from collections.abc import Sequence

from onereshape.graphs.facts.scope import Dims
from onereshape.repair.fitting.equations import DimsAndEntries
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.unsettled import is_open
from onereshape.rule.sizes import Size, product


def parted(known: Known, parts: list[DimsAndEntries], dims: Dims, words: Sequence[Size]) -> list[DimsAndEntries]:
    """Groups; what is 1 in all exports goes with those before it, where it makes them equal: there may be more.

    A Reshape of [1, nh, nw, 7, 7] to [-1, 7, 7] has one window in small pictures, which is no part of the sevens.
    """

    def ones(sizes: Sequence[Size], places: list[int]) -> int:
        values = [known.values(sizes[at]) for at in places]
        return next((at for at, each in enumerate(values) if each is None or {*each} != {1}), len(values))

    def even(part: DimsAndEntries) -> bool:
        one, other = product(dims[at] for at in part[0]), product(words[at] for at in part[1])
        if is_open(one) or is_open(other) or any(words[at] == -1 for at in part[1]):
            return True
        return known.equal(one, other)

    for place in range(1, len(parts)):
        above, below = parts[place]
        first, second = ones(dims, above), ones(words, below)
        if (not first and not second) or even(parts[place]):
            continue
        for back in range(place - 1, -1, -1):
            before, under = parts[back]
            for one, other in ((first, 0), (0, second), (first, second)):
                moved = (before + above[:one], under + below[:other]), (above[one:], below[other:])
                if all(map(even, moved)):
                    parts[back], parts[place] = moved
                    break
            if even(parts[place]) or ones(dims, before) < len(before):
                break
    return parts
