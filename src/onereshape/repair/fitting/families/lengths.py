"""Lengths: where an axis may be cut, as sizes: how long its parts may be, and whether another size says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Items, Numbers, by_values, elsewhere, eps_of, sizes_at
from onereshape.rule.sizes import Formula, Size, ceiling, cut, over

FoundSizes = dict[Numbers, tuple[Size, ...]]
"""Values in the exports -> the sizes that have them: `(12, 23) -> (S,)`."""

_FEW = 12
"""Changes of course up to which an axis may be cut a number of entries from either end."""
_COLUMNS = 32
"""Columns that are looked at first."""
_LOOKED_AT = 4
"""Entries along the other axes that are looked at first."""
_SHARES = (2, 3, 4)
"""Parts of a size that a place may be, whatever else it seems to be."""


def along_first(array: Array, axis: int) -> Array:
    """The entries along an axis as rows."""
    if not array.size:
        return np.empty((array.shape[axis], 0), array.dtype)
    before = prod(array.shape[:axis])
    flat = array.reshape(before, array.shape[axis], -1)
    return flat[0] if before == 1 else flat.swapaxes(0, 1).reshape(array.shape[axis], -1)


def changes(array: Array, axis: int) -> Array:
    """At which places along an axis entries do not go on as those before, or not as those after do."""
    size = array.shape[axis]
    found = np.zeros(size, bool)
    if size < 3:
        found[1:] = True
        return found
    rows = along_first(array, axis)
    eps = 8 * eps_of(array.dtype) if array.dtype.kind == "f" else 0.0
    bent = _bent(np.array(rows[:, :_COLUMNS].T, np.float64, order="C"), eps)
    if rows.shape[1] > _COLUMNS and not bent.all():  # as it often is, by a few columns already
        bent |= _bent(rows[:, _COLUMNS:].T.astype(np.float64), eps)
    found[1:-1] = bent
    found[2:] |= bent
    return found


def _bent(lines: Array, eps: float) -> Array:
    """Which three entries of lines, one after the other, do not lie in a line."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps = lines[:, 1:] - lines[:, :-1]
        bends = np.abs(steps[:, 1:] - steps[:, :-1])
        rounding: float | Array = 0.0
        if eps and bends.any():
            # A step that is a little longer only because numbers are rounded is no change.
            sizes = np.abs(lines)
            largest = np.maximum(np.maximum(sizes[:, :-2], sizes[:, 1:-1]), sizes[:, 2:])
            if not np.isfinite(largest.max(initial=0)):
                largest = np.where(np.isfinite(largest), largest, 0.0)
            rounding = eps * largest
        straight = bends <= rounding
        if not straight.all() and np.isnan(bends).any():
            straight |= _alike(lines)
    return ~np.asarray(straight.all(axis=0))


def changes_often(array: Array, axis: int, most: int) -> bool:
    """Whether a few columns along an axis already change their course more often than so many times."""
    few = [slice(None) if each == axis else slice(0, _LOOKED_AT) for each in range(array.ndim)]
    return int(np.count_nonzero(changes(array[tuple(few)], axis))) > most


def _alike(lines: Array) -> Array:
    """Where three entries are one and the same, which may be no number."""
    one, two, three = lines[:, :-2], lines[:, 1:-1], lines[:, 2:]
    return np.asarray(((one == two) & (two == three)) | (np.isnan(one) & np.isnan(two) & np.isnan(three)))


def lengths_of(exported: Exported, axis: int, breaks: Sequence[Array]) -> Iterator[tuple[Numbers, Size]]:
    """The sizes that a part may have, those of the formula first; none where two of them differ elsewhere."""
    items = exported.items
    own, others = _sizes(exported.dims[axis], exported.known, items)
    numbers = {(each,) * len(items): (each,) for each in numbers_of(breaks)}
    own = {**own, **{values: (*own.get(values, ()), *found) for values, found in numbers.items()}}
    for values in {**own, **others}:
        # A size that is nowhere else in the formula must be the only one that has these values.
        first, *rivals = own.get(values) or others[values]
        if all(_same(first, other, items) for other in rivals):
            yield values, first


@lru_cache(maxsize=256)
def _sizes(size: Size, known: tuple[Size, ...], items: Items) -> tuple[FoundSizes, FoundSizes]:
    """The sizes near those of a formula, and the others of a model, by their values in the exports."""
    bindings = [dict(each) for each in items]
    own: dict[Numbers, list[Size]] = {}
    others = {values: list(sizes) for values, sizes in by_values(known, items)}
    for found, sizes in ((own, _nearby(size)), (others, _shares(size)), (others, _halves(size, bindings))):
        for each in sizes:
            values = sizes_at(each, bindings)
            if values is not None and min(values) > 0 and each not in found.setdefault(values, []):
                found[values].append(each)
    return {at: tuple(each) for at, each in own.items()}, {at: tuple(each) for at, each in others.items()}


def terms_of(size: Size) -> list[Size]:
    """The terms of a formula, then each without its number: `2*H + W -> 2*H, W, H, W`."""
    if not isinstance(size, Formula):
        return []
    grown = [(monomial, coefficient) for monomial, coefficient in size.terms if monomial]
    found: list[Size] = [Formula(((monomial, coefficient),)) for monomial, coefficient in grown if coefficient > 0]
    return [*found, *(Formula(((monomial, 1),)) for monomial, coefficient in grown if coefficient.denominator == 1)]


def _nearby(size: Size) -> Iterator[Size]:
    """The terms of a formula, and one less or more than each: `S + 8 -> S, S - 1, S + 1`."""
    terms = terms_of(size)
    yield from terms
    yield from (term + more for term in terms for more in (-1, 1))


def _shares(size: Size) -> Iterator[Size]:
    """The places of a picture whose height and width are divided by a power of two."""
    if not isinstance(size, Formula):
        return
    for monomial, coefficient in size.terms:
        if len(monomial) == 2 and coefficient.denominator != 1:
            yield from (over(Formula(((monomial, 1),)), 4**power) for power in range(1, 9))


def _halves(size: Size, bindings: Sequence[Binding]) -> Iterator[Size]:
    """Half of a size rounded down, and up, where the exports have an odd size and an even one to tell them apart."""
    if len({each % 2 for each in sizes_at(size, bindings) or ()}) == 2:
        yield from (cut(size, 2), ceiling(size, 2))


def numbers_of(breaks: Sequence[Array], *, back: bool = False) -> list[int]:
    """The counts of entries from the start, or from the end, after which all exports change their course."""
    if max(int(np.count_nonzero(places)) for places in breaks) > _FEW:
        return [1] if all(places[-1 if back else 1] for places in breaks) else []
    counted = [{len(places) - each if back else each for each in np.flatnonzero(places).tolist()} for places in breaks]
    return sorted(set.intersection(*counted))


@lru_cache(maxsize=1024)
def _same(one: Size, other: Size, items: Items) -> bool:
    """Whether two sizes that are equal in every export are so elsewhere."""
    bindings = [dict(each) for each in items]
    return sizes_at(one, elsewhere(bindings)) == sizes_at(other, elsewhere(bindings))


@lru_cache(maxsize=1024)
def has_rivals(total: Size, place: Size, items: Items) -> bool:
    """Whether a place along an axis, or the one beside it, may be another size just as well.

    Such a size is a number, or a half, a third or a quarter of the axis from either end.
    """
    bindings = [dict(each) for each in items]
    totals, there = sizes_at(total, bindings), sizes_at(place, bindings)
    if totals is None or there is None:
        return False
    shares = [(part, share, [part(each, share) for each in totals]) for share in _SHARES for part in (cut, ceiling)]
    for more in (0, -1, 1):
        ends = [each + more for each in there]
        found: list[Size] = [ends[0]] if len({*ends}) == 1 else []
        for part, share, numbers in shares:
            if numbers == ends:
                found.append(part(total, share))
            if [whole - each for whole, each in zip(totals, numbers, strict=True)] == ends:
                found.append(total - part(total, share))
        if any(_differ(each, place + more, bindings) for each in found):
            return True
    return False


def _differ(one: Size, other: Size, bindings: Sequence[Binding]) -> bool:
    """Whether two sizes differ anywhere nearby, as far as both are whole numbers there."""
    if one == other:
        return False
    nearby = [{name: size + more for name, size in binding.items()} for binding in bindings for more in range(1, 5)]
    for binding in (*elsewhere(bindings), *nearby):
        first, second = (sizes_at(each, [binding]) for each in (one, other))
        if first is not None and second is not None and first != second:
            return True
    return False
