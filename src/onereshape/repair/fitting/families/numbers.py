"""Numbers: floats that are made of a size, as lengths that values are divided by.

T, T - 1, 1/T, its root and its logarithm are tried first, then ratios of two sizes, then these times a number.  What
is of the same plainness and differs elsewhere is ambiguous: all such readings are given.  So is a half, or any other
part, that is whole in all exports: it may be rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, elsewhere, nearby, sizes_at
from onereshape.repair.fitting.families.made_numbers import NumberReading, NumberStep, fit_with, over, stepped
from onereshape.repair.fitting.families.positions import working
from onereshape.repair.fitting.wholes import (
    FREE,
    as_plain,
    integers,
    oddness,
    part_of,
    parts_of,
    plainer,
    rounded_alike,
    whole,
)
from onereshape.rule.sizes import Formula, Size, cut

_MOST = 32
"""Entries of a constant that may differ."""
_ROUNDING = 2
"""Units in the last place that a number may be beside what was read."""
_APART = 1e-4
"""How far multiples may be apart, beside what their numbers are rounded."""
_NEAR = 2
"""What is often added to a size;"""
_FAR = 8
"""more than that is believed of sizes that are so far apart, as of integers."""


_SizeItems = tuple[tuple[str, int], ...]
Made = dict[np.dtype[Any], Array]
"""What is made of each size without any number of its own, in some type: a row for each, calculated once."""


_PLAIN: tuple[tuple[str, tuple[NumberStep, ...]], ...] = (
    ("{}", ()),
    ("1/{}", (NumberStep("Div", 1.0, first=True),)),
    ("sqrt({})", (NumberStep("Sqrt"),)),
    ("1/sqrt({})", (NumberStep("Sqrt"), NumberStep("Div", 1.0, first=True))),
    ("log({})", (NumberStep("Log"),)),
    ("{} - 1", (NumberStep("Sub", 1.0),)),
    ("{} + 1", (NumberStep("Add", 1.0),)),
    ("{} - 2", (NumberStep("Sub", 2.0),)),
    ("{} + 2", (NumberStep("Add", 2.0),)),
    ("1/({} - 1)", (NumberStep("Sub", 1.0), NumberStep("Div", 1.0, first=True))),
    ("1/({} + 1)", (NumberStep("Add", 1.0), NumberStep("Div", 1.0, first=True))),
    ("{}/2", (NumberStep("Div", 2.0),)),
    ("({} - 1)/2", (NumberStep("Sub", 1.0), NumberStep("Div", 2.0))),
    ("2/({} - 1)", (NumberStep("Sub", 1.0), NumberStep("Div", 2.0, first=True))),
)
"""What is made of one size, without any number of its own."""
_TIMES = frozenset({"{}", "1/{}", "sqrt({})", "1/sqrt({})", "log({})", "{} - 1"})
"""Which of these are read times a number too;"""
_BESIDE = frozenset({"{} + 1", "1/({} - 1)", "1/({} + 1)"})
"""and these, where something else is."""
_FARTHER = frozenset({"{} - 2", "{} + 2"})
"""These are not read where a number is a size as it is, no more than of integers;"""
_NEARER = frozenset({"{} - 1", "{} + 1"})
"""nor these of other free sizes."""
_UNDONE: Mapping[str, Callable[[Array], Array]] = {
    "{}": lambda numbers: numbers,
    "1/{}": lambda numbers: 1 / numbers,
    "sqrt({})": lambda numbers: numbers**2,
    "1/sqrt({})": lambda numbers: 1 / numbers**2,
}
"""What a number is made of by each of these, the plainest first."""
_POWERS: Mapping[float, str] = {1.0: "{}", -1.0: "1/{}", 0.5: "sqrt({})", -0.5: "1/sqrt({})"}
"""How the powers of a size are said."""
_LENGTHS = frozenset({(0, exponent) for exponent in _POWERS} | {(-1, 1.0), (-1, -1.0)})
"""What is added to the size of a tensor, and which power is taken: more than that is not the length of anything."""


def numbers(exported: Exported) -> Fit | None:
    """How the entries of a float constant that differ are made of known sizes; None if they are not."""
    first = exported.arrays[0]
    if first.dtype.kind != "f" or exported.growing or any(each.shape != first.shape for each in exported.arrays):
        return None
    flat = np.array([array.reshape(-1) for array in exported.arrays])
    varied = np.flatnonzero((flat != flat[0]).any(axis=0)).tolist()
    if not 0 < len(varied) <= _MOST or not np.isfinite(flat[:, varied]).all():
        return None
    items = tuple(tuple(binding.items()) for binding in exported.bindings)
    others, sizes, made = _compared(exported.known, items, tuple(exported.steps.items()))
    by_values: dict[bytes, list[NumberReading]] = {}
    for place in varied:
        key = flat[:, place].tobytes()
        if key not in by_values:
            by_values[key] = _readings(flat[:, place], sizes, exported, others, made)
        if not by_values[key]:
            return None
    columns = [by_values[flat[:, place].tobytes()] for place in varied]
    fits = [
        fit_with(first, dict(zip(varied, (column[min(turn, len(column) - 1)] for column in columns), strict=True)))
        for turn in range(max(map(len, columns)))
    ]
    return fits[0]._replace(others=tuple(fits[1:]))


@lru_cache(maxsize=8)
def _compared(
    known: tuple[Size, ...], items: tuple[_SizeItems, ...], steps: _SizeItems
) -> tuple[list[Binding], list[tuple[Size, tuple[int, ...]]], Made]:
    """Sizes at which readings are compared, and what they are made of: the same for all numbers of some exports."""
    bindings = [dict(each) for each in items]
    others = [*elsewhere(bindings), *nearby(bindings, dict(steps))]
    return others, _distinct(known, bindings, others), {}


def _distinct(
    known: Sequence[Size], bindings: Sequence[Binding], others: Sequence[Binding]
) -> list[tuple[Size, tuple[int, ...]]]:
    """The sizes that are not the same in all exports, each once, in its shortest formula."""
    found: dict[object, tuple[Size, tuple[int, ...]]] = {}
    for size in sorted(
        (each for each in dict.fromkeys(known) if isinstance(each, Formula)), key=lambda each: len(str(each))
    ):
        values = sizes_at(size, bindings)
        if values is not None and len(set(values)) > 1 and min(values) > 0:
            beyond = tuple(size.at(binding) for binding in others)
            found.setdefault((values, beyond), (size, values))
    return list(found.values())


def _readings(
    numbers: Array,
    sizes: list[tuple[Size, tuple[int, ...]]],
    exported: Exported,
    others: Sequence[Binding],
    made: Made,
) -> list[NumberReading]:
    """The plainest readings of one entry, `[12., 23.] -> S`; several, if they differ at other sizes."""
    if (numbers < 0).all():
        return [_mirrored(reading) for reading in _readings(-numbers, sizes, exported, others, made)]

    def fitting(readings: Iterable[NumberReading]) -> list[NumberReading]:
        return [each for each in readings if _close(over(each, exported.bindings, numbers.dtype), numbers)]

    for level, more in ((partial(_plain, made), None), (_ratios, None), (_scaled, _beside)):
        found = list(level(numbers, sizes)) if more is None else fitting(level(numbers, sizes))
        if found and more is not None:
            found += fitting(more(numbers, sizes))
        found = _each_once(found, others)
        if len(found) == 1:
            (reading,) = found
            rivals = _rounded(reading, numbers, exported)
            found = _each_once([reading, *fitting(rivals or ())], others)
            if len(found) == 1:
                found = _each_once([reading, *fitting(_alike(reading, exported))], others)
            if rivals is None or (len(found) == 1 and _far(reading, exported)):
                return []
        if found:
            return found
    return _each_once(fitting(_as_integers(numbers, exported)), others)


def _as_integers(numbers: Array, exported: Exported) -> Iterator[NumberReading]:
    """Numbers that are whole, or parts or roots of such, as the formulas that integers would be, if that is sure."""
    eps = float(np.finfo(numbers.dtype).eps)
    for words, undo in _UNDONE.items():
        with np.errstate(divide="ignore"):
            values = whole(undo(numbers.astype(np.float64)), eps)
        sizes = [] if values is None else integers(exported, values, proven=True)
        if sizes and all(_is_telling(size, exported) for size in sizes):
            yield from (NumberReading(size, 1, dict(_PLAIN)[words], words) for size in sizes)
            return


def _is_telling(size: Size, exported: Exported) -> bool:
    """Whether a size is no multiple of a number, as the larger one of S and 15 may be by chance, nor has a quotient
    that is read where all exports are even, or all are odd.
    """
    for monomial, number in size.terms if isinstance(size, Formula) else ():
        names = {name for atom in monomial if not isinstance(atom, str) for name in Formula((((atom,), 1),)).symbols}
        if names and abs(number) != 1:
            return False
        if any(len({binding[name] % 2 for binding in exported.bindings}) == 1 for name in names):
            return False
    return True


def _each_once(readings: list[NumberReading], others: Sequence[Binding]) -> list[NumberReading]:
    """The readings without any that agrees with an earlier one at all the `others`, sizes that no export has."""
    shown = [_shown(each, others) for each in readings] if len(readings) > 1 else []
    return [each for place, each in enumerate(readings) if not shown or shown[place] not in shown[:place]]


def _mirrored(reading: NumberReading) -> NumberReading:
    words = f"-{reading.words}" if reading.words == "{}" else f"-({reading.words})"
    return reading._replace(steps=(*reading.steps, NumberStep("Mul", -1.0)), words=words)


def _rounded(reading: NumberReading, numbers: Array, exported: Exported) -> list[NumberReading] | None:
    """What integers would be in the place of numbers that are whole in all exports, or are made of such.

    None where such numbers are any multiple of what was read, and integers would be nothing at all.
    """
    if reading.bottom == 1 and reading.words in _TIMES | _BESIDE:
        return []
    eps = float(np.finfo(numbers.dtype).eps)
    factor = reading.steps[-1].number if reading.steps and reading.steps[-1].op == "Mul" else None
    odd = 1 if factor is None else oddness(factor)
    unexplained = False
    for above, (words, undo) in product(plainer(max(odd, 1)), _UNDONE.items()):
        with np.errstate(divide="ignore"):
            undone = undo(numbers.astype(np.float64) / above)
        values = whole(undone, eps)
        if values is None or (factor is not None and _many(reading, undo, undone, exported)):
            continue
        steps = (*dict(_PLAIN)[words], *([NumberStep("Mul", above)] if above != 1 else []))
        said = words if above == 1 else f"{above:g}*{words}"
        found = [NumberReading(size, 1, steps, said) for size in integers(exported, values)]
        found += _quotients(reading, factor, steps, said) if words == "{}" and above == 1 else []
        if found:
            return found
        unexplained = odd == FREE
    return None if unexplained else []


def _alike(reading: NumberReading, exported: Exported) -> Iterator[NumberReading]:
    """What the rests that sizes leave do not tell from what was read, and is as plain: pi/floor(S/2) from 2*pi/S."""
    power = _power(reading)
    if power is None:
        return
    size, factor, exponent = power
    for many in parts_of(exported, size):
        if as_plain(factor * many**exponent, factor):
            yield from (_as_power(part, factor * many**exponent, exponent) for part in part_of(size, many))
    near = (size - reading.top, exponent) in _LENGTHS or (factor, size - reading.top) == (0.5, -1)
    values = sizes_at(size, exported.bindings)
    if isinstance(reading.top, Formula) and reading.top.name is None and values is not None and not near:
        yield from (_as_power(other, factor, exponent) for other in rounded_alike(exported, values))


def _power(reading: NumberReading) -> tuple[Size, float, float] | None:
    """A reading as a size, a number and an exponent: the number times a power of the size; None if it is none."""
    size, factor, exponent = reading.top, 1.0, 1.0
    for step in reading.steps:
        number = step.number
        if step.op == "Sqrt":
            factor, exponent = factor**0.5, exponent / 2
        elif number is None or number == 0:
            return None
        elif step.op == "Mul":
            factor *= number
        elif step.op == "Div":
            factor, exponent = (number / factor, -exponent) if step.first else (factor / number, exponent)
        elif (factor, exponent) == (1, 1):
            size = size + (round(number) if step.op == "Add" else -round(number))
        else:
            return None
    return (size, factor, exponent) if reading.bottom == 1 and factor > 0 else None


def _as_power(size: Size, factor: float, exponent: float) -> NumberReading:
    words = _POWERS[exponent]
    steps = (*dict(_PLAIN)[words], *([NumberStep("Mul", factor)] if factor != 1 else []))
    return NumberReading(size, 1, steps, words if factor == 1 else f"{factor:g}*{words}")


def _many(reading: NumberReading, undo: Callable[[Array], Array], undone: Array, exported: Exported) -> bool:
    """Whether numbers are whole as they are a multiple of what was read: `3*(S - 1)` is no whole number by chance."""
    values = np.array(sizes_at(reading.top, exported.bindings), np.float64)
    read = undo(stepped(values, reading.steps[:-1]))
    times = undone / read
    near = np.rint(times[0])
    return bool(np.min(read) >= 1 and near >= 1 and np.allclose(times, near, rtol=1e-4, atol=0))


def _quotients(
    reading: NumberReading, factor: float | None, steps: tuple[NumberStep, ...], said: str
) -> Iterator[NumberReading]:
    """Whole quotients of two sizes, or of a number by a size, rounded down."""
    if reading.bottom != 1:
        yield NumberReading(cut(reading.top, reading.bottom), 1, steps, said)
    elif factor is not None and factor == round(factor) and reading.words.endswith("1/{}"):
        yield NumberReading(cut(round(factor), reading.top), 1, steps, said)


def _far(reading: NumberReading, exported: Exported) -> bool:
    """Whether more is added to a size than is believed of exports side by side: too much grows with them."""
    added = [step.number for step in reading.steps if step.op == "Add" and step.number is not None]
    values = sizes_at(reading.top, exported.bindings) or (0,)
    return bool(added) and abs(added[0]) > _NEAR and max(values) - min(values) < _FAR


def _shown(reading: NumberReading, bindings: Sequence[Binding]) -> tuple[str, ...]:
    """What is read, at other sizes, as far as readings are told apart by it."""
    try:
        return tuple([f"{each:.5g}" for each in over(reading, bindings, np.dtype(np.float64)).tolist()])
    except ValueError:  # a size that is no whole number there
        return ("",) if len(bindings) == 1 else tuple(_shown(reading, [each])[0] for each in bindings)


def _plain(made: Made, numbers: Array, sizes: list[tuple[Size, tuple[int, ...]]]) -> list[NumberReading]:
    """The readings of `_PLAIN` that give numbers, sizes as such first: `[11., 22.] -> S - 1`."""
    if numbers.dtype not in made:
        table = _table(numbers, sizes)
        rows = np.stack([stepped(table, steps) for _, steps in _PLAIN], axis=1)
        made[numbers.dtype] = _in_type(rows.reshape(-1, len(numbers)), numbers.dtype)
    found = []
    for at in np.flatnonzero(_rows_close(made[numbers.dtype], numbers)).tolist():
        words, steps = _PLAIN[at % len(_PLAIN)]
        found.append(NumberReading(sizes[at // len(_PLAIN)][0], 1, steps, words))
    exactly = [each for each in found if not each.steps]
    return exactly + [each for each in found if each.steps and not _is_farther(each, exactly)]


def _is_farther(reading: NumberReading, exactly: Sequence[NumberReading]) -> bool:
    """Whether a reading adds something to a size, where another size is the number as it is."""
    if reading.words not in _NEARER:
        return bool(exactly) and reading.words in _FARTHER
    names = {name for each in exactly for name in _names(each)}
    return bool(names) and names.isdisjoint(_names(reading))


def _names(reading: NumberReading) -> frozenset[str]:
    return reading.top.symbols if isinstance(reading.top, Formula) else frozenset()


def _ratios(numbers: Array, sizes: list[tuple[Size, tuple[int, ...]]]) -> Iterator[NumberReading]:
    table = _table(numbers, sizes)
    for (top, _), row in zip(sizes, table, strict=True):
        rows = zip(sizes, _rows_close(_in_type(row / table, numbers.dtype), numbers).tolist(), strict=True)
        yield from (NumberReading(top, bottom, (), "{}") for (bottom, _), close in rows if close and top != bottom)


def _table(numbers: Array, sizes: list[tuple[Size, tuple[int, ...]]]) -> Array:
    """Sizes, a row for each, in the type that such numbers are calculated in."""
    return np.array([values for _, values in sizes], working(numbers.dtype)).reshape(len(sizes), len(numbers))


def _scaled(numbers: Array, sizes: list[tuple[Size, tuple[int, ...]]]) -> Iterator[NumberReading]:
    """A plain reading times a number that is the same in all exports, or a size and a whole number more."""
    for size, values in sizes:
        yield from _multiples(numbers, size, values, _TIMES)
        offset = float(numbers[0]) - values[0]
        if offset == round(offset):
            yield NumberReading(size, 1, (NumberStep("Add", offset),), f"{{}} + {offset:g}")


def _beside(numbers: Array, sizes: list[tuple[Size, tuple[int, ...]]]) -> Iterator[NumberReading]:
    """What is made of a free size and 1, times a number."""
    for size, values in sizes:
        if isinstance(size, Formula) and size.name is not None:
            yield from _multiples(numbers, size, values, _BESIDE)


def _multiples(numbers: Array, size: Size, values: tuple[int, ...], taken: AbstractSet[str]) -> Iterator[NumberReading]:
    wide = numbers.astype(np.float64)
    allowed = _APART + 4 * _ROUNDING * float((np.spacing(np.abs(numbers)) / np.maximum(np.abs(wide), 1e-300)).max())
    for words, steps in _PLAIN:
        plain = stepped(np.array(values, np.float64), steps) if words in taken else np.zeros(1)
        if not np.isfinite(plain).all() or not plain.all():
            continue
        times = wide / plain
        if times.max() - times.min() > allowed * np.abs(times).max():
            continue  # no one number
        factor = float(np.median(times))
        plainer = round(factor) if abs(factor) > 1 else 1 / round(1 / factor) if factor else 0
        for each in dict.fromkeys((float(plainer), factor)):
            inner = f"({words})" if " " in words else words
            yield NumberReading(size, 1, (*steps, NumberStep("Mul", each)), f"{each:g}*{inner}")


def _close(found: Array, numbers: Array) -> bool:
    """Whether numbers are others, as numbers of their type are rounded."""
    return bool(_rows_close(_in_type(found[None], numbers.dtype), numbers)[0])


def _in_type(found: Array, kind: np.dtype[Any]) -> Array:
    """Numbers as they are in a type, to calculate with."""
    with np.errstate(invalid="ignore", over="ignore"):
        return found.astype(kind).astype(np.float64)


def _rows_close(rows: Array, numbers: Array) -> Array:
    """Which rows of numbers in a type are others of that type, as these are rounded."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(rows - numbers.astype(np.float64))
    return np.asarray((apart <= _ROUNDING * np.spacing(np.abs(numbers)).astype(np.float64)).all(axis=1))
