"""Exported: a constant as each of several exports has it; Fit: how it goes on at any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size

Binding = Mapping[str, int]
"""The sizes of the free symbols, in one export."""
Numbers = tuple[int, ...]
"""A number as each export has it."""
Items = tuple[tuple[tuple[str, int], ...], ...]
"""The sizes of the free symbols in each export, as they can be looked up by."""

_MIXES = 16
"""Sizes of several exports mixed, at most."""

_MARKS = 1e4
"""Numbers from here on may be the marks of masks;"""
_FAR = 1e30
"""from here on they are."""
_EPS = {np.dtype(kind): float(np.finfo(kind).eps) for kind in (np.float16, np.float32, np.float64)}


class _ExportedFields(NamedTuple):
    arrays: tuple[Array, ...]
    """The constant in each export, all of one type and rank."""
    bindings: tuple[Binding, ...]
    """The sizes of the free symbols in each export."""
    dims: tuple[Size, ...]
    """Its dims, as formulas of the free symbols: in each export they are those of the array."""
    known: tuple[Size, ...] = ()
    """Sizes that tensors of the model have, as such formulas: what lengths and borders may be made of."""
    steps: Mapping[str, int] = MappingProxyType({})
    """By which the sizes of a symbol differ wherever the model runs, where that is not 1."""
    entries: Entries | None = None
    """What is known of the entries of the constant that this is, or is a part of."""


class Entries:
    """What is found once of the entries of a constant, in whatever dims they are."""

    def __init__(self, arrays: tuple[Array, ...], most: tuple[float, ...] = ()) -> None:
        self._arrays = arrays
        self._most = most

    @property
    def partial(self) -> bool:
        """Whether they are a part of a constant of floating-point numbers, which was cut."""
        return bool(self._most)

    @cached_property
    def most(self) -> tuple[float, ...]:
        """What no number of each export is above: of a part of a constant, what was found of all of it."""
        return self._most or tuple([float(np.abs(array).max(initial=0)) for array in self._arrays])

    @cached_property
    def rounding(self) -> tuple[float, ...]:
        """How far the floating-point numbers of each export may be off."""
        return tuple(map(rounding, self._arrays))

    @cached_property
    def largest_first(self) -> tuple[int, ...]:
        """The numbers of the exports, the one that has most entries first; none where one has no entries."""
        sizes = [array.size for array in self._arrays]
        return tuple(sorted(range(len(sizes)), key=lambda number: -sizes[number])) if all(sizes) else ()

    @cached_property
    def starts_differ(self) -> bool:
        """Whether the first entries of exports differ."""
        first, *others = [array.item(0) if array.size else None for array in self._arrays]
        return any(other != first and (other == other or first == first) for other in others)  # noqa: PLR0124 - or NaN

    @cached_property
    def varied(self) -> bool:
        """Whether most entries of all exports are found only once."""
        return all(map(_varied, self._arrays))


def _varied(array: Array) -> bool:
    ordered = np.sort(array, axis=None)
    return bool(array.size) and 2 * (1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))) > array.size


class HashedSizes(tuple[Size, ...]):  # noqa: SLOT001 - it keeps its hash
    """Sizes that others are looked up by again and again."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=64)
def as_sizes(known: tuple[Size, ...]) -> HashedSizes:
    """A tuple of known sizes as one object for equal tuples: a look-up by the object compares nothing."""
    return HashedSizes(known)


class Exported(_ExportedFields):
    """A constant as each export has it, with its dims as formulas; what many families ask is found once."""

    @cached_property
    def growing(self) -> tuple[int, ...]:
        """The axes whose size depends on the symbols."""
        return tuple([axis for axis, size in enumerate(self.dims) if isinstance(size, Formula)])

    @cached_property
    def items(self) -> Items:
        """The sizes of the symbols in each export, as they can be looked up by."""
        return tuple([tuple(binding.items()) for binding in self.bindings])

    @cached_property
    def of(self) -> Entries:
        """What is known of its entries."""
        return self.entries or Entries(self.arrays)

    def reshaped(self, arrays: Iterable[Array], dims: tuple[Size, ...]) -> Exported:
        """The constant with its entries in other dims; what was found of the entries is kept."""
        return self._with(tuple(arrays), dims, self.of)

    def cut(self, arrays: tuple[Array, ...], dims: tuple[Size, ...]) -> Exported:
        """A part of the constant; of floats, the largest number of the whole is kept, to round by."""
        most = self.of.most if arrays[0].dtype.kind == "f" else ()
        return self._with(arrays, dims, Entries(arrays, most))

    def _with(self, arrays: tuple[Array, ...], dims: tuple[Size, ...], entries: Entries) -> Exported:
        """Another constant of the same exports, of which nothing that both have is found again."""
        found = Exported(arrays, self.bindings, dims, self.known, self.steps, entries)
        found.items, found.of = self.items, entries
        return found

    def off(self, number: int, apart: float, times: float = 1.0) -> bool:
        """Whether that is more than entries of an export may be apart, or so many times that; integers never are."""
        kind = self.arrays[0].dtype
        if kind.kind != "f":
            return apart > 0
        return apart > 8 * eps_of(kind) * self.of.most[number] * times or apart > self.of.rounding[number] * times

    def sizes(self, size: Size) -> tuple[int, ...]:
        """A size in each export."""
        found = (size,) * len(self.bindings) if isinstance(size, int) else _numbers(size, self.items)
        if found is None:
            raise ValueError(f"{size} is no whole number in an export")
        return found


class Limit(NamedTuple):
    """A size that must not grow beyond a number; one that must not fall below another is less than 0, as the number."""

    size: Size
    most: int
    why: str


class Fit(NamedTuple):
    """How a constant goes on: right in every export, and at all other sizes what the family says."""

    words: str
    """What it is, after "the constant": `counts along axis 1`."""
    at: Callable[[Binding], Array]
    """The constant at given sizes, calculated by NumPy: what `make` computes in a model."""
    make: Callable[[Rewriter], ir.Value]
    """Writes the nodes that compute the constant, and gives their value."""
    limits: tuple[Limit, ...] = ()
    """Up to which sizes it is known."""
    opset: int = 1
    """The least opset that has its nodes."""
    others: tuple[Fit, ...] = ()
    """Other readings, right in every export too, that differ from this one elsewhere."""
    odd: int = 0
    """How many sizes it takes that its own axes do not tell: of several readings, the plainest takes fewest."""
    kept: tuple[tuple[Size, int], ...] = ()
    """Sizes that are a number in all exports, and must stay so, as the number may be meant as the size."""

    def each(self, build: Callable[[Fit], Fit]) -> Fit:
        """Applies `build` to this reading and to the others: the results are the readings of a new fit."""
        first, *others = (build(fit) for fit in (self._replace(others=()), *self.others))
        return first._replace(others=tuple(others))


Family = Callable[[Exported], Fit | None]


def at_least(size: Size, number: int, why: str) -> Limit:
    """That a size must not fall below a number."""
    return Limit(0 - size, -number, why)


def size_at(size: Size, binding: Binding) -> int:
    """A size at given sizes of its symbols."""
    if isinstance(size, int):
        return size
    found = _number(size, tuple(binding.items()))
    if found is None or found.denominator != 1:
        raise ValueError(f"{size} is no whole number at {dict(binding)}")
    return int(found)


@lru_cache(maxsize=8192)
def _number(size: Formula, binding: tuple[tuple[str, int], ...]) -> int | Fraction | None:
    """A formula at given sizes, None where one is not given; the same ones are asked for again and again."""
    known = dict(binding)
    return size.at(known) if size.symbols <= known.keys() else None


def dims_at(dims: tuple[Size, ...], binding: Binding) -> tuple[int, ...]:
    """Dims at given sizes of their symbols."""
    return tuple(size_at(size, binding) for size in dims)


def sizes_at(size: Size, bindings: Sequence[Binding]) -> tuple[int, ...] | None:
    """The values of a size in the exports, `2*S -> (24, 46)` at S = 12 and 23; None if one is no whole number."""
    if not isinstance(size, Formula):
        return (size,) * len(bindings)
    return _numbers(size, tuple([tuple(binding.items()) for binding in bindings]))


@lru_cache(maxsize=8192)
def _numbers(size: Formula, items: Items) -> tuple[int, ...] | None:
    """The values of a formula in the exports, `2*S -> (24, 46)`; None if one is unknown, or no whole number."""
    found = [_number(size, binding) for binding in items]
    whole = tuple([int(each) for each in found if each is not None and each.denominator == 1])
    return whole if len(whole) == len(found) else None


@lru_cache(maxsize=8)
def by_values(known: tuple[Size, ...], items: Items) -> tuple[tuple[tuple[int, ...], tuple[Size, ...]], ...]:
    """Sizes by their values in the exports, `(12, 23) -> (S,)`; none that is below 1 or no whole number in one."""
    bindings = [dict(each) for each in items]
    found: dict[tuple[int, ...], list[Size]] = {}
    for size in dict.fromkeys(known):
        values = sizes_at(size, bindings)
        if values is not None and min(values) > 0:
            found.setdefault(values, []).append(size)
    return tuple([(values, tuple(sizes)) for values, sizes in found.items()])


def elsewhere(bindings: Sequence[Binding]) -> list[Binding]:
    """Sizes that no export has: those of several exports mixed, and multiples, which divide as the exported ones do."""
    return [*mixed(bindings), *multiples(bindings)]


def mixed(bindings: Sequence[Binding]) -> list[Binding]:
    """Sizes of several exports."""
    names = sorted(bindings[0])
    mixes = _mixes([[each[name] for each in bindings] for name in names])
    return [binding for sizes in mixes if (binding := dict(zip(names, sizes, strict=True))) not in bindings]


def multiples(bindings: Sequence[Binding]) -> list[Binding]:
    """Multiples of the sizes of the last export."""
    names, last = sorted(bindings[0]), bindings[-1]
    scaled = [{name: last[name] * (2 + (place + turn) % 3) for place, name in enumerate(names)} for turn in range(3)]
    return [binding for binding in scaled if binding not in bindings]


def nearby(bindings: Sequence[Binding], steps: Mapping[str, int]) -> list[Binding]:
    """Sizes a little above those of the exports, of all rests that their multiples do not have."""
    return [
        {name: size + more * steps.get(name, 1) for name, size in binding.items()}
        for binding in bindings
        for more in range(1, 5)
    ]


def same_elsewhere(one: Fit, other: Fit, exported: Exported) -> bool:
    """Whether two fits are one and the same at sizes that no export has, as far as both are known there."""
    limits = (*one.limits, *other.limits)
    compared = 0
    for binding in (*nearby(exported.bindings[:1], exported.steps), *elsewhere(exported.bindings)):
        try:
            if any(size_at(limit.size, binding) > limit.most for limit in limits):
                continue
            found = one.at(binding), other.at(binding)
        except ValueError:  # a size that is no whole number there, or below 0
            continue
        if not alike(*found):
            return False
        compared += 1
    return compared > 0


def distinct(fits: Iterable[Fit], exported: Exported) -> Fit | None:
    """The first of several fits, with those that differ from it and from each other elsewhere as other readings.

    The readings of one fit differ, as its family says.
    """
    kept: list[Fit] = []
    for fit in fits:
        readings = (fit._replace(others=()), *fit.others)
        kept += [each for each in readings if not any(same_elsewhere(each, one, exported) for one in tuple(kept))]
    return kept[0]._replace(others=tuple(kept[1:])) if kept else None


def _mixes(choices: list[list[int]]) -> list[tuple[int, ...]]:
    return list(islice(product(*(sorted(set(sizes)) for sizes in choices)), _MIXES))


def agrees(fit: Fit, exported: Exported) -> bool:
    """Whether a fit is right in every export: integers and truth values exactly, floats to rounding."""
    return all(alike(fit.at(binding), array) for binding, array in zip(exported.bindings, exported.arrays, strict=True))


def unlike(one: Array, other: Array, whole: Array) -> bool:
    """Whether parts of arrays, the second spread over the first, differ by more than the rounding of the whole."""
    if whole.dtype.kind != "f":
        return bool(np.any(one != other))
    with np.errstate(invalid="ignore"):
        most = float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0))
        return most > 0 and most > rounding(whole)


def rounding(whole: Array) -> float:
    """How far floating-point numbers may be off, by the largest of them."""
    return 8 * eps_of(whole.dtype) * float(np.maximum.reduce(np.abs(whole), axis=None, initial=0))


def eps_of(kind: np.dtype[Any]) -> float:
    """How far the next number after 1 is, in a type of floating-point numbers."""
    return _EPS.get(kind) or float(np.finfo(kind).eps)


def alike(found: Array, array: Array) -> bool:
    """Whether an array is another one: integers and truth values exactly, floats to rounding."""
    if found.shape != array.shape or found.dtype != array.dtype:
        return False
    if (found == array).all():
        return True  # as most are
    if array.dtype.kind != "f":
        return False
    most = float(np.maximum.reduce(np.abs(array), axis=None))
    if most < _MARKS:  # and all of it is numbers
        apart = np.abs(found.astype(np.float64) - array.astype(np.float64))
        return bool(np.maximum.reduce(apart, axis=None) <= 8 * eps_of(array.dtype) * most)
    finite = np.isfinite(array)
    if not np.array_equal(found[~finite], array[~finite], equal_nan=True) or not np.all(np.isfinite(found[finite])):
        return False
    one, other = found[finite].astype(np.float64), array[finite].astype(np.float64)
    off, size = np.abs(one - other), np.abs(other)
    # Beside the marks of masks, which are exactly what they are, all else would be lost in rounding.
    largest = float(size[(size < _MARKS) | ((off > 0) & (size < _FAR))].max(initial=0))
    allowed = np.where(size < _FAR, 8 * eps_of(array.dtype) * np.maximum(size, largest), 0)
    return bool(np.all(off <= allowed))
