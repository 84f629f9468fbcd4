"""Intervals that are small enough to be tried size by size.

`balance` narrows each dim by what the limits of the others leave, which forgets which products of sizes exist at all.
Where few combinations of sizes are left, all are tried, and each output dim becomes the smallest interval that holds
what came out: for sizes from 1 on by the one equation that they keep, for others by the rule itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.rule.dims import ANY_SIZE, Dim, Product, Size, divide, interval, multiply
from onereshape.rule.inferring.balance import Balance, EntrySize, Open
from onereshape.rule.inferring.conditions import Never
from onereshape.rule.semantics import output_dims
from onereshape.rule.shape import Shape
from onereshape.rule.target import read_numbers

MOST = 2048
"""Combinations that are tried by the equation: each is a few multiplications."""
MOST_RULED = 256
"""Combinations that are tried by the rule."""

_NONE = "none of the sizes within these limits fits"

Range = range | tuple[int, ...]
Hulls = list[tuple[int, int] | None]
"""The smallest and the largest size of each output dim, None for one that is as it was."""


def tightened(balance: Balance, shape: Shape) -> Shape:
    """The answer of a balance with the tightest intervals, where there are several intervals and few combinations.

    >>> from onereshape.rule.inference import infer
    >>> infer([(1, 2), (2, 4), (3, 5), (2, 4), 8], [(3, 5), 0, 1, 0, 8, -1], "openvino", special_zero=True)[5]
    (1, 2)
    """
    output = shape.dims
    if output is None or balance.dims is None or not _few(balance, balance.dims):
        return shape
    found = _ranges(balance)
    if found is None:
        return shape
    names, opened, plain = found
    if plain and len(names) + len(opened) < 2:  # one interval is exact as it is
        return shape
    hulls = _by_equation(balance, names, opened) if plain else _by_rule(balance, names, opened)
    if hulls is None:
        return shape
    tight: list[Dim] = [
        dim if hull is None or isinstance(dim, int | str) else interval(*hull)
        for dim, hull in zip(output, hulls, strict=True)
    ]
    return Shape(tight, shape.conditions)


def _few(balance: Balance, dims: tuple[Size, ...]) -> bool:
    """Whether the symbols of data and the open entries have few combinations of sizes: most questions have more."""
    limits, words = balance.conditions.symbols.limits, balance.words
    count = 1
    for axis, dim in enumerate(dims):
        if type(dim) is Product and (axis >= len(words) or words[axis] != 0 or not balance.copies):
            for name in dim[1]:
                low, high = limits.get(name, ANY_SIZE)
                count *= high - low + 1
            if count > MOST:
                return False
    for options in balance.open.values():
        count *= max(options.high - options.low + 1, 1)
    return count <= MOST and (count > 1 or bool(balance.open) or 0 in dims)


def _ranges(balance: Balance) -> tuple[dict[str, Range], dict[int, Range], bool] | None:
    """The values of each symbol and of each open entry, and whether all are sizes from 1 on; None if one is long."""
    limits, dims, words = balance.conditions.symbols.limits, balance.dims or (), balance.words
    plain = 0 not in dims and (balance.copies or 0 not in words)
    names: dict[str, Range] = {}
    for size in (*dims, *words):
        if type(size) is Product:
            for name in size[1]:
                low, high = limits.get(name, ANY_SIZE)
                if high - low >= MOST:
                    return None
                names[name] = range(low, high + 1)
                plain = plain and low > 0
    opened: dict[int, Range] = {}
    for axis, options in balance.open.items():
        if options.high - options.low >= MOST:
            return None
        others = (-1,) * options.minus_one + (0,) * options.zero
        opened[axis] = (*others, *range(options.low, options.high + 1))
        plain = plain and not others
    return names, opened, plain


def _by_equation(balance: Balance, names: dict[str, Range], opened: dict[int, Range]) -> Hulls | None:
    """The hulls where nothing can be 0 or -1: what is on both sides is cancelled, and the rest is tried."""
    dims = balance.dims or ()
    sizes: list[Size | None] = []
    for axis, word in enumerate(balance.words):
        if axis in opened or word == -1:
            sizes.append(None)
        else:
            sizes.append(dims[axis] if word == 0 else word.low if isinstance(word, Open) else word)
    volume = multiply(dims)
    if balance.conditions.symbols.range(volume)[1] >= INT64_MAX:  # some sizes would have too many elements
        return None
    top, bottom = divide(volume, multiply(size for size in sizes if size is not None))
    free = {name: names[name] for name in dict.fromkeys((*top.symbols, *bottom.symbols))}
    if prod(map(len, (*free.values(), *opened.values()))) > MOST:
        return None
    hull = _tried(_Equation(top, bottom, balance.inferred is not None), free, opened)
    found: Hulls = []
    for axis, (size, word) in enumerate(zip(sizes, balance.words, strict=True)):
        if size is None:
            found.append(hull["-1"] if word == -1 else hull[str(axis)])
        else:
            alone = isinstance(size, Product) and size.coefficient == 1 and len(size.symbols) == 1
            found.append(hull.get(f"={size}") if alone else None)
    return found


class _Equation(NamedTuple):
    """The sizes of data over those of the output, without what is on both sides."""

    top: Product
    bottom: Product
    inferred: bool
    """Whether a -1 takes what is left."""


def _tried(equation: _Equation, free: dict[str, Range], opened: dict[int, Range]) -> dict[str, tuple[int, int]]:
    """The hull of each variable over all combinations that keep the equation: `=N`, the axis of an entry, or `-1`."""
    places = {name: place for place, name in enumerate(free)}
    above = [places[name] for name in equation.top.symbols]
    below = [places[name] for name in equation.bottom.symbols] + [len(free) + place for place in range(len(opened))]
    number, divisor, inferred = equation.top.coefficient, equation.bottom.coefficient, equation.inferred
    fits: list[tuple[int, ...]] = []
    for values in product(*free.values(), *opened.values()):
        over, under = number, divisor
        for place in above:
            over *= values[place]
        for place in below:
            under *= values[place]
        if over == under or (inferred and over % under == 0):
            fits.append((*values, over // under))
    if not fits:
        raise Never(_NONE)
    keys = [*(f"={name}" for name in free), *map(str, opened), "-1"]
    return {key: (min(column), max(column)) for key, column in zip(keys, zip(*fits, strict=True), strict=True)}


def _by_rule(balance: Balance, names: dict[str, Range], opened: dict[int, Range]) -> Hulls | None:
    """The hulls where something may be 0 or -1."""
    if prod(map(len, (*names.values(), *opened.values()))) > MOST_RULED:
        return None
    fits = list(_outputs(balance, names, opened))
    if not any(positive for positive, _ in fits):  # a symbol that must be 0 is for `inference` to find, and to say
        raise Never(_NONE)
    return [(min(column), max(column)) for column in zip(*(output for _, output in fits), strict=True)]


def _outputs(
    balance: Balance, names: dict[str, Range], opened: dict[int, Range]
) -> Iterator[tuple[bool, Sequence[int]]]:
    """The output dims of each combination of values that fits, behind whether its symbols are all at least 1."""
    for values in product(*names.values(), *opened.values()):
        bound = dict(zip(names, values, strict=False))
        entries = dict(zip(opened, values[len(names) :], strict=True))
        data = tuple(_value(dim, bound) for dim in balance.dims or ())
        words = tuple(entries.get(axis, _value(word, bound)) for axis, word in enumerate(balance.words))
        try:
            output = output_dims(data, read_numbers(words, balance.spec, balance.copies))
        except ReshapeError:
            continue
        yield all(bound.values()), output


def _value(word: EntrySize, bound: dict[str, int]) -> int:
    if isinstance(word, Product):
        return prod((bound[name] for name in word.symbols), start=word.coefficient)
    return word.low if isinstance(word, Open) else word
