"""Joins: an axis that is several parts one after the other, each of which goes on by itself.

The places where a constant is cut are sizes, the same formula in every export: parts of the formula of the axis, other
sizes of the model, and numbers that count from either end.  It is cut only where its entries change their course.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.models.like.exported import Array, Binding, Exported, Family, Fit, elsewhere, sizes_at
from onereshape.models.rewrite import Rewriter
from onereshape.sizes import Formula, Size, over

_PARTS = 8
"""Parts of an axis, at most."""
_FEW = 12
"""Changes of course up to which an axis may be cut a number of entries from either end."""

_TRIED = 200
"""Parts of an axis that are tried."""

Values = tuple[int, ...]


class _Cutting(NamedTuple):
    """An axis that is cut, with what is the same at every place."""

    exported: Exported
    axis: int
    fit: Family
    lengths: dict[Values, Size]
    """The sizes that a part may have, by what they are in the exports."""
    back: list[int]
    """How many entries a last part that does not grow may have."""
    breaks: tuple[frozenset[int], ...]
    seen: dict[tuple[Values, Values], Fit | None]
    failed: set[tuple[Values, int]]


def joined(exported: Exported, fit: Family) -> Fit | None:
    """A constant whose parts along an axis each go on; the fewest parts are taken, and none is cut again."""
    for axis in exported.growing:
        total = exported.dims[axis]
        end = sizes_at(total, exported.bindings)
        if end is None or min(end) < 2:
            continue
        breaks = tuple(changes(array, axis) for array in exported.arrays)
        lengths = dict(_lengths(exported, axis, breaks))
        cutting = _Cutting(exported, axis, partial(_part, fit=fit), lengths, _numbers(breaks, end), breaks, {}, set())
        start = (0,) * len(end)
        for count in range(2, _PARTS + 1):
            parts = _cut(cutting, start, total, count)
            if parts is not None:
                return _together(parts, axis)
    return None


def changes(array: Array, axis: int) -> frozenset[int]:
    """The places along an axis where entries do not go on as those before, or not as those after do."""
    size = array.shape[axis]
    rows = np.moveaxis(array, axis, 0).reshape(size, -1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        steps = np.nan_to_num(np.diff(rows, axis=0))
    other = np.any(steps[1:] != steps[:-1], axis=1)
    found = {place + 1 for place in np.flatnonzero(other)} | {place + 2 for place in np.flatnonzero(other)}
    return frozenset(int(place) for place in found | {1, size - 1} if 0 < place < size)


def _cut(cutting: _Cutting, start: Values, rest: Size, count: int) -> list[Fit] | None:
    """The fits of so many parts from a place on, where the rest has a size; None if there are none."""
    if (start, count) in cutting.failed or len(cutting.seen) > _TRIED:
        return None
    found = _parts(cutting, start, rest, count)
    if found is None:
        cutting.failed.add((start, count))
    return found


def _parts(cutting: _Cutting, start: Values, rest: Size, count: int) -> list[Fit] | None:
    left = sizes_at(rest, cutting.exported.bindings)
    if left is None or min(left) < 1:
        return None
    if count == 1:
        last = _fitted(cutting, start, left, rest)
        return None if last is None else [last]
    back = [(tuple(each - number for each in left), rest - number) for number in cutting.back if count == 2]
    for values, size in (*cutting.lengths.items(), *back):
        if isinstance(size, int) and any(start):
            continue  # what does not grow stands at either end
        ends = tuple(a + b for a, b in zip(start, values, strict=True))
        if min(values) < 1 or any(a >= b for a, b in zip(values, left, strict=True)):
            continue
        if not all(end in places for end, places in zip(ends, cutting.breaks, strict=True)):
            continue
        head = _fitted(cutting, start, values, size)
        if head is None:
            continue
        tail = _cut(cutting, ends, rest - size, count - 1)
        if tail is not None:
            return [head, *tail]
    return None


def _fitted(cutting: _Cutting, start: Values, values: Values, size: Size) -> Fit | None:
    """The fit of one part."""
    key = start, values
    if key not in cutting.seen:
        exported, axis = cutting.exported, cutting.axis
        arrays = [
            np.take(array, range(first, first + length), axis=axis)
            for array, first, length in zip(exported.arrays, start, values, strict=True)
        ]
        dims = (*exported.dims[:axis], size, *exported.dims[axis + 1 :])
        cutting.seen[key] = cutting.fit(exported._replace(arrays=tuple(arrays), dims=dims))
    return cutting.seen[key]


def _part(exported: Exported, fit: Family) -> Fit | None:
    """The fit of a part; one that does not grow is the same in every export, byte by byte."""
    if exported.growing:
        return fit(exported)
    first, *others = exported.arrays
    if any(each.shape != first.shape or each.tobytes() != first.tobytes() for each in others):
        return None
    return Fit("is the same", lambda _binding: first, lambda writer: writer.constant(first))


def _together(parts: Sequence[Fit], axis: int) -> Fit:

    def at(binding: Binding) -> Array:
        return np.concatenate([part.at(binding) for part in parts], axis=axis)

    def make(writer: Rewriter) -> ir.Value:
        return writer.front("Concat", [part.make(writer) for part in parts], {"axis": axis})

    words = "; then ".join(dict.fromkeys(part.words for part in parts))
    limits = tuple(limit for part in parts for limit in part.limits)
    return Fit(f"in {len(parts)} parts along axis {axis}: {words}", at, make, limits)


def _lengths(exported: Exported, axis: int, breaks: tuple[frozenset[int], ...]) -> Iterator[tuple[Values, Size]]:
    """The sizes that a part may have, those of the formula first; none where two of them differ elsewhere."""
    size, bindings = exported.dims[axis], exported.bindings
    own: dict[Values, list[Size]] = {}
    others: dict[Values, list[Size]] = {}
    for found, sizes in (
        (own, _terms(size)),
        (others, exported.known),
        (others, _shares(size)),
        (own, _numbers(breaks)),
    ):
        for each in sizes:
            values = sizes_at(each, bindings)
            if values is not None and min(values) > 0 and each not in found.setdefault(values, []):
                found[values].append(each)
    for values in {**own, **others}:
        # A size that is nowhere else in the formula must be the only one that has these values.
        readings = own.get(values) or others[values]
        if all(_same(readings[0], other, bindings) for other in readings[1:]):
            yield values, readings[0]


def _terms(size: Size) -> Iterator[Size]:
    """The terms of a formula, without the number before them too, and one more or one less."""
    if not isinstance(size, Formula):
        return
    grown = [(monomial, coefficient) for monomial, coefficient in size.terms if monomial]
    yield from (Formula(((monomial, coefficient),)) for monomial, coefficient in grown if coefficient > 0)
    for monomial, coefficient in grown:
        if coefficient.denominator == 1:
            once = Formula(((monomial, 1),))
            yield from (once, once - 1, once + 1)


def _shares(size: Size) -> Iterator[Size]:
    """The places of a picture whose height and width are divided by a power of two."""
    if not isinstance(size, Formula):
        return
    for monomial, coefficient in size.terms:
        if len(monomial) == 2 and coefficient.denominator != 1:
            yield from (over(Formula(((monomial, 1),)), 4**power) for power in range(1, 9))


def _numbers(breaks: Sequence[frozenset[int]], sizes: Sequence[int] | None = None) -> list[int]:
    """How many entries from the start (or, where sizes are given, from the end) all exports change their course."""
    if sizes is not None:
        breaks = [frozenset(size - place for place in places) for size, places in zip(sizes, breaks, strict=True)]
    few = max(map(len, breaks)) <= _FEW
    return [place for place in sorted(frozenset.intersection(*breaks)) if few or place == 1]


def _same(one: Size, other: Size, bindings: Sequence[Binding]) -> bool:
    """Whether two sizes that are equal in every export are so elsewhere."""
    return sizes_at(one, elsewhere(bindings)) == sizes_at(other, elsewhere(bindings))
