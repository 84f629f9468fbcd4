"""Plain questions, which models ask most: answered in one pass over their dims.

Every entry of a plain target is a size, a name or a product of data, a copied dim, or a -1.  What is copied or named
cancels.  The rest stands in the -1, and may have to divide by what is left of the sizes; without a -1 it is one symbol,
which has one value.  `balance` answers every question, and these alike; where it could say more, nothing is said here.
"""

from __future__ import annotations

from collections.abc import Container
from math import gcd
from typing import Any

from onereshape.ground.errors import INT64_MAX
from onereshape.rule.condition import Condition, at_least, equals
from onereshape.rule.dims import ANY_SIZE, UNBOUNDED, Dim, Product, interval, named, place_of, written
from onereshape.rule.inferring.balance import WORTH_A_CONDITION
from onereshape.rule.shape import Shape, made
from onereshape.rule.specs import Spec

_MOST_NUMBERS = INT64_MAX // WORTH_A_CONDITION
"""The largest product of the numbers beside symbols for which what int64 asks of these is understood."""

Ranges = dict[str, tuple[int, int]]
"""The smallest and the largest size of each dim that has no name and is not copied."""
PlainTarget = tuple[list[Any], int, int | None, list[str], list[str]]
"""A target: its entries, with a 0 for what is copied; the product of its sizes; where its -1 is; the names in it; and
those of them that copy another dim when they are 0."""
Sides = tuple[int, list[str], Ranges, list[str], int, int]
"""Data: of what is not copied the numbers, the symbols (names, and the places of dims that have none) and their ranges;
of what is copied the symbols that may be 0; all its numbers; and how many times as many elements unknown dims make."""


def plain_answer(data: tuple[Any, ...], target: tuple[Any, ...], spec: Spec, copies: bool) -> Shape | None:
    """The answer to a plain question; None to any other, and to one with a mistake.

    >>> from onereshape.rule.specs import spec
    >>> plain_answer(("N", (0, 8), 768), (0, 0, 12, -1), spec("onnx"), True)
    Shape [N, 1..8, 12, 64] if N >= 1, data[1] >= 1
    >>> plain_answer(("N", 6), (4, 9), spec("onnx"), True)
    Shape [4, 9] if N = 6
    >>> plain_answer(("N", 6), (4, 7), spec("onnx"), True)
    """
    words = _words(data, target, copies)
    if words is None:
        return None
    output, asked, inferred, names, changing = words
    strict = inferred is not None and not (copies and spec.empty_copy_beside_inferred)
    sides = _sides(data, output, strict)
    if sides is None or (names and not _cancel(sides[1], names)):
        return None
    numbers, free, ranges, copied, volume, unknown = sides
    beside = [] if inferred is None else names + copied if strict else names
    positive = dict.fromkeys(changing + sorted(beside)) if changing or beside else {}
    said = [at_least(name, 1) for name in positive] if positive else []
    if inferred is not None:
        rest = _inferred(numbers, asked, free, ranges, positive)
        if rest is None:
            return None
        output[inferred], exact = rest
        said += exact
    elif len(free) == 1 and free[0] not in copied and free[0] not in names:
        room = min(_MOST_NUMBERS // volume, INT64_MAX // (volume * unknown))
        settled = _settled(numbers, asked, free[0], ranges, room)
        if settled is None:
            return None
        said.insert(0, settled)
    elif free or numbers != asked:
        return None
    return made(tuple(output), tuple(said))


def _words(data: tuple[Any, ...], target: tuple[Any, ...], copies: bool) -> PlainTarget | None:
    output = list(target)
    sizes, inferred = 1, None
    names: list[str] = []
    changing: list[str] = []
    for axis, word in enumerate(target):
        if type(word) is int:
            if word > 0:
                sizes *= word
            elif word == -1 and inferred is None:
                inferred = axis
            elif word or not copies or axis >= len(data):
                return None
        elif type(word) is str and (product := named(word)) is not None:
            here = named(data[axis]) if axis < len(data) and type(data[axis]) is str else None
            if product == here:
                output[axis] = 0
                continue
            sizes *= product[0]
            names += product[1]
            output[axis] = product[2]
            if copies and (here is None or not set(product[1]).issubset(here[1])):
                changing += product[1]
        else:
            return None
    return (output, sizes, inferred, names, changing) if sizes < UNBOUNDED else None


def _sides(data: tuple[Any, ...], output: list[Any], strict: bool) -> Sides | None:
    """Puts copied dims into the output, none of them empty where that is `strict`, and gives the others."""
    numbers = beside = unknown = 1
    symbolic = False
    free: list[str] = []
    ranges: Ranges = {}
    copied: list[str] = []
    for axis, dim in enumerate(data):
        here = axis < len(output) and not output[axis]
        if type(dim) is int and dim > 0:
            if here:
                beside *= dim
                output[axis] = dim
            else:
                numbers *= dim
            continue
        symbolic = True
        if type(dim) is str and (product := named(dim)) is not None:
            if here:
                beside *= product[0]
                copied += product[1]
                output[axis] = product[2]
            else:
                numbers *= product[0]
                free += product[1]
        elif (limits := _limits(dim)) is not None:
            low, high = limits
            unknown *= max(low, 1) if high == UNBOUNDED else high
            if here:
                copied += () if low else place_of(axis)[1]
                output[axis] = interval(max(low, 1) if strict else low, high)
            else:
                free += place_of(axis)[1]
                ranges[free[-1]] = limits
        else:
            return None
    volume = numbers * beside
    if volume > (_MOST_NUMBERS if symbolic else INT64_MAX) or volume * unknown > INT64_MAX:
        return None
    return numbers, free, ranges, copied, volume, unknown


def _limits(dim: Any) -> tuple[int, int] | None:
    """The smallest and the largest size of a dim without a name; None for whatever else it is."""
    if dim is None:
        return ANY_SIZE
    if type(dim) is tuple and len(dim) == 2:
        low, high = dim
        high = UNBOUNDED if high is None else high
        if type(low) is int and type(high) is int and 0 <= low < high <= UNBOUNDED:
            return low, high
    return None


def _cancel(free: list[str], names: list[str]) -> bool:
    """Removes `names` from the list `free`; False where one is missing: `[M, N, N]` without `[N]` becomes `[M, N]`."""
    for name in names:
        if name not in free:
            return False
        free.remove(name)
    return True


def _inferred(
    numbers: int, asked: int, free: list[str], ranges: Ranges, positive: Container[str]
) -> tuple[Dim, tuple[Condition, ...]] | None:
    """The size of a -1, `numbers` * `free` / `asked`, and its conditions: `12, 4, [N] -> 3*N`; no `positive` is 0."""
    size, left = divmod(numbers, asked)
    if left:
        return _divided(numbers, asked, tuple(sorted(free)), ranges)
    if not ranges:
        return (written(size, tuple(sorted(free))) if free else size), ()
    low = high = size
    for name in free:
        least, most = ranges.get(name, (int(name in positive), UNBOUNDED))
        low *= least
        high *= most
    return interval(low, min(high, UNBOUNDED)), ()


def _divided(
    numbers: int, asked: int, symbols: tuple[str, ...], ranges: Ranges
) -> tuple[Dim, tuple[Condition, ...]] | None:
    """The size of a -1 where the symbols have to divide, and the condition: `3, 4, (N,) -> 3*N/4` if 4 divides N."""
    if not symbols or (ranges and len(symbols) > 1):
        return None
    common = gcd(numbers, asked)
    factor, divisor = numbers // common, asked // common
    exact = Condition("divisible", Product(1, symbols), divisor)
    if not ranges:
        return f"{Product(factor, symbols).factors()}/{divisor}", (exact,)
    least, most = ranges[symbols[0]]
    low, high = -(-least // divisor), most if most == UNBOUNDED else most // divisor
    if low >= high or low * divisor >= UNBOUNDED:
        return None
    return interval(factor * low, min(factor * high, UNBOUNDED)), (exact,)


def _settled(numbers: int, asked: int, symbol: str, ranges: Ranges, room: int) -> Condition | None:
    """The one value of a symbol that is left; None if it has none, or is too large beside the others."""
    value, left = divmod(asked, numbers)
    low, high = ranges.get(symbol, ANY_SIZE)
    return None if left or not low <= value <= min(high, room) else equals(symbol, value)
