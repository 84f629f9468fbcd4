"""Products: an axis that is several axes in one, as the places of a picture row by row.

It is taken apart into its factors, in either order, and what the families know of those is flattened again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from math import gcd

import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import (
    Binding,
    Exported,
    Family,
    Fit,
    Items,
    by_values,
    dims_at,
    distinct,
    sizes_at,
)
from onereshape.rule.sizes import Formula, Size, over, product

Split = tuple[tuple[Size, Size], tuple[tuple[int, int], ...]]
"""A pair of sizes, and what both are in each export."""

_MOST = 24
"""Ways to take an axis apart that are tried."""


def product_of(exported: Exported, fit: Family, vain: Callable[[Exported, int], bool] | None = None) -> Fit | None:
    """A constant that goes on once an axis is taken apart into two; ways to do so that differ are other readings.

    An axis is left as it is where it is known that to take it apart would be in vain.
    """
    for axis in exported.growing:
        splits = _all_splits(exported, axis)
        if not splits or (vain is not None and vain(exported, axis)):
            continue
        found = [each for split in splits if (each := _apart(exported, axis, split, fit)) is not None]
        if found:
            return distinct(found, exported)
    return None


def flattened(exported: Exported, fit: Family) -> Fit | None:
    """A constant that goes on once two neighbouring axes that grow are one, as i*W + j does."""
    for axis in exported.growing:
        if axis + 1 in exported.growing:
            found = _merged(exported, axis, fit)
            if found is not None:
                return found
    return None


def in_rows(exported: Exported, fit: Family) -> Fit | None:
    """A constant that goes on once an axis that grows and the next one, which does not, are one: rows of 4, the last
    of which is not full.
    """
    for axis in exported.growing:
        if axis + 1 < len(exported.dims) and axis + 1 not in exported.growing and exported.dims[axis + 1] != 1:
            found = _merged(exported, axis, fit)
            if found is not None:
                return found
    return None


def _merged(exported: Exported, axis: int, fit: Family) -> Fit | None:
    one, other = exported.dims[axis : axis + 2]
    dims = (*exported.dims[:axis], one * other, *exported.dims[axis + 2 :])
    cases = zip(exported.arrays, exported.bindings, strict=True)
    arrays = [array.reshape(dims_at(dims, binding)) for array, binding in cases]
    taken = exported.reshaped(arrays, dims)
    return _reshaped(exported, taken, fit, partial("with axes {} and {} as one".format, axis, axis + 1))


def _reshaped(exported: Exported, taken: Exported, fit: Family, words: Callable[[], str]) -> Fit | None:
    """What the families know of a constant in other dims, in its own dims again."""
    found = fit(taken)
    if found is None:
        return None

    def build(inner: Fit) -> Fit:

        def at(binding: Binding) -> Array:
            return inner.at(binding).reshape(dims_at(exported.dims, binding))

        def make(writer: Rewriter) -> ir.Value:
            return writer.front("Reshape", [inner.make(writer), writer.vector(exported.dims)])

        return inner._replace(words=f"{words()}: {inner.words}", at=at, make=make)

    return found.each(build)


def splits(exported: Exported, axis: int) -> list[tuple[Size, Size]]:
    """The pairs of sizes whose product is the size of an axis, neither of them 1 throughout."""
    return [pair for pair, _ in _all_splits(exported, axis)]


def _all_splits(exported: Exported, axis: int) -> tuple[Split, ...]:
    size = exported.dims[axis]
    if not isinstance(size, Formula):
        return ()
    return _splits(size, exported.known, exported.items)


@lru_cache(maxsize=256)
def _splits(size: Formula, known: tuple[Size, ...], items: Items) -> tuple[Split, ...]:
    """The pairs of sizes whose product is a formula, `H*W -> (H, W), (W, H)`, with their values in each export."""
    bindings = [dict(each) for each in items]
    kept: dict[tuple[Size, Size], tuple[tuple[int, int], ...]] = {}
    for pair in (*_own(size), *_known(size, known, items), *_broken(size), *_sums(size)):
        one, other = (sizes_at(each, bindings) for each in pair)
        if one is None or other is None or min(*one, *other) < 1 or 1 in (max(one), max(other)) or pair in kept:
            continue
        kept[pair] = tuple(zip(one, other, strict=True))
        if len(kept) == _MOST:
            break
    return tuple(kept.items())


def _own(size: Formula) -> Iterator[tuple[Size, Size]]:
    """Pairs of the factors of a product, the first of which is no product; a number is a factor too."""
    if len(size.terms) != 1:
        return
    ((monomial, coefficient),) = size.terms
    if coefficient.denominator != 1:
        return
    number = int(coefficient)
    atoms = [Formula((((atom,), 1),)) for atom in monomial]
    if number > 1:
        yield number, product(atoms)
    for place, first in enumerate(atoms):
        rest = product([*atoms[:place], *atoms[place + 1 :], number])
        if rest != 1:
            yield first, rest
    if len(atoms) == 2 and number > 1:
        yield from _shared(atoms[0], atoms[1], number)


def _shared(one: Formula, other: Formula, number: int) -> Iterator[tuple[Size, Size]]:
    """A number as a factor of both sizes: 16*h*w is 4*h times 4*w; as near to the root as it goes first."""
    parts = [part for part in range(2, number) if number % part == 0]
    for part in sorted(parts, key=lambda part: abs(part * part - number)):
        yield one * part, other * (number // part)
        yield other * (number // part), one * part


def _known(size: Formula, known: tuple[Size, ...], items: Items) -> Iterator[tuple[Size, Size]]:
    """Pairs of known sizes whose product it is."""
    total = sizes_at(size, [dict(each) for each in items])
    if total is None:
        return
    found = dict(by_values(known, items))
    for values, sizes in found.items():
        if any(whole % part for whole, part in zip(total, values, strict=True)):
            continue
        rest = found.get(tuple([whole // part for whole, part in zip(total, values, strict=True)]), ())
        yield from ((one, other) for one in sizes for other in rest if one * other == size)


def _broken(size: Formula) -> Iterator[tuple[Size, Size]]:
    """Pairs of parts of two symbols, where a product of both is divided: H*W/64 is H/8 times W/8, at least in part."""
    if len(size.terms) != 1:
        return
    ((monomial, coefficient),) = size.terms
    if len(monomial) != 2 or coefficient.denominator == 1 or coefficient.numerator != 1:
        return
    one, other = (Formula((((atom,), 1),)) for atom in monomial)
    below = coefficient.denominator
    # Nearest to the square root first: pictures are cut alike in both directions.
    for part in sorted(
        (part for part in range(1, below + 1) if below % part == 0), key=lambda part: abs(part * part - below)
    ):
        first, second = over(one, part), over(other, below // part)
        yield first, second
        yield second, first


def _sums(size: Formula) -> Iterator[tuple[Size, Size]]:
    """Pairs of sums of one atom and a number each, where that is what was multiplied: (2*H - 1)*(2*W - 1)."""
    numbers = dict(size.terms)
    long = [monomial for monomial in numbers if len(monomial) == 2]
    if len(long) != 1 or any(number.denominator != 1 for number in numbers.values()):
        return
    one, other = long[0]
    both, first, second, last = (int(numbers.pop(each, 0)) for each in ((one, other), (one,), (other,), ()))
    if numbers or both <= 0 or both * last != first * second or not last:
        return
    common = gcd(both, first)
    inner = Formula((((one,), 1),)) * common + second // (both // common)
    outer = Formula((((other,), 1),)) * (both // common) + first // common
    if inner * outer == size:
        yield inner, outer
        yield outer, inner


def _apart(exported: Exported, axis: int, split: Split, fit: Family) -> Fit | None:
    pair, sizes = split
    arrays = [
        array.reshape((*array.shape[:axis], *each, *array.shape[axis + 1 :]))
        for array, each in zip(exported.arrays, sizes, strict=True)
    ]
    dims = (*exported.dims[:axis], *pair, *exported.dims[axis + 1 :])
    taken = exported.reshaped(arrays, dims)
    return _reshaped(exported, taken, fit, lambda: f"with axis {axis} as {pair[0]} times {pair[1]}")
