"""The algebra of sizes: at any numbers a formula is what was calculated, and so are its text and its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from onereshape.rule import sizes
from onereshape.rule.dims import Product, parse
from onereshape.rule.sizes import (
    MOST_ATOMS,
    MOST_TERMS,
    Formula,
    Operation,
    Size,
    TooLongError,
    algebra,
    bounds,
    ceiling,
    cut,
    depends,
    exact,
    extent,
    is_size,
    largest,
    over,
    product,
    smallest,
    symbol,
    text,
)

NAMES = ("N", "M", "K")
N, M, K = map(symbol, NAMES)
Numbers = Mapping[str, int]
Tree = tuple[Any, ...]
"""A name, a number, or an operation with its parts."""


class Undefined(Exception):  # noqa: N818 - no mistake
    """There is no such size at these numbers: a quotient that is not exact, or one by 0 or less."""


def tree(rng: Random, depth: int = 4) -> Tree:
    """A random calculation."""
    if depth == 0 or rng.random() < 0.15:
        return ("name", rng.choice(NAMES)) if rng.random() < 0.7 else ("number", rng.randint(-4, 9))
    op = rng.choice("+ + - * cut cut ceiling over exact Max Min".split())
    one = tree(rng, depth - 1)
    if op in {"cut", "ceiling", "over", "exact"} and (op == "ceiling" or rng.random() < 0.7):
        return op, one, ("number", rng.randint(1, 6))
    return op, one, tree(rng, depth - 2 if depth > 1 else 0)


def formula(each: Tree) -> Size:
    """The calculation on sizes."""
    op, *parts = each
    if op == "name":
        return symbol(parts[0])
    if op == "number":
        return int(parts[0])
    one, other = map(formula, parts)
    if op in "+-*":
        return one + other if op == "+" else one - other if op == "-" else one * other
    if op in {"cut", "over"} and isinstance(other, int) and other < 1:
        raise Undefined
    if op == "exact":
        found = sizes.exact(one, other)
        return one if found is None else found
    known: dict[str, Callable[[Any, Any], Size]] = {
        "cut": sizes.cut,
        "over": sizes.over,
        "ceiling": sizes.ceiling,
        "Max": sizes.largest,
        "Min": sizes.smallest,
    }
    return known[op](one, other)


def number(each: Tree, numbers: Numbers) -> int:
    """The same on integers."""
    op, *parts = each
    if op == "name":
        return numbers[parts[0]]
    if op == "number":
        return int(parts[0])
    one, other = (number(part, numbers) for part in parts)
    if op == "exact":
        if sizes.exact(formula(parts[0]), formula(parts[1])) is None:
            return one
        if other == 0:
            raise Undefined
        assert one % other == 0, "a quotient that was said to be exact"
        return one // other
    if op in {"cut", "ceiling", "over"} and other < 1:
        raise Undefined
    if op == "over" and one % other:
        raise Undefined
    return {
        "+": lambda: one + other,
        "-": lambda: one - other,
        "*": lambda: one * other,
        "cut": lambda: one // other,
        "over": lambda: one // other,
        "ceiling": lambda: -(-one // other),
        "Max": lambda: max(one, other),
        "Min": lambda: min(one, other),
    }[op]()


def fault(each: Tree, numbers: Numbers) -> str | None:
    """What is wrong with the formula of a calculation at these numbers."""
    try:
        size, true = formula(each), number(each, numbers)
    except (Undefined, TooLongError):
        return None
    except AssertionError as error:
        return str(error)
    said = [f"{size} is {true} at {dict(numbers)}"]
    if isinstance(size, int):
        return None if size == true else said[0]
    first, *rest = numbers
    ways = [
        size.bind(numbers),
        _bound(size.bind({first: numbers[first]}), {name: numbers[name] for name in rest}),
    ]
    if numbers[first]:
        ways.append(_bound(size.bind({first: symbol("L") + 1}), {**numbers, "L": numbers[first] - 1}))
    if any(way != true for way in ways):
        return f"{said[0]}, and not {[str(way) for way in ways]}"
    if meant(str(size), numbers) != true:
        return f"{said[0]}, and its text says {meant(str(size), numbers)}"
    least = min(numbers.values())
    for from_ in {0, min(least, 3)}:
        low, high = sizes.bounds(size, from_)
        if (low is not None and true < low) or (high is not None and true > high):
            return f"{said[0]}, and not within {low} and {high}"
    return f"{said[0]}, and not 0 or more" if sizes.is_size(size) and true < 0 else None


def _bound(size: Size, numbers: Mapping[str, Size]) -> Size:
    return size.bind(numbers) if isinstance(size, Formula) else size


def meant(text: str, numbers: Numbers) -> Fraction:
    """What a text of a formula is to who reads it."""
    words = {"floor": lambda each: Fraction(floor(each)), "Max": max, "Min": min, "__builtins__": {}}
    named = {name: Fraction(each) for name, each in numbers.items()}
    return Fraction(eval(text, words, named))  # noqa: S307 - a formula of our own making


NUMBERS = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 9) | st.sampled_from([12, 24, 60])))
RANDOM = st.randoms(use_true_random=False)


@settings(deadline=None, max_examples=600)
@given(RANDOM, NUMBERS)
def test_a_formula_is_what_was_calculated(rng: Random, numbers: Numbers) -> None:
    assert fault(tree(rng), numbers) is None


def made(rng: Random) -> Size:
    while True:
        try:
            return formula(tree(rng, 3))
        except (Undefined, TooLongError):
            continue


@settings(deadline=None, max_examples=300)
@given(RANDOM)
def test_the_laws_of_sums_and_products(rng: Random) -> None:
    """Equal formulas are equal, hash alike, and have one text."""
    one, two, three = made(rng), made(rng), made(rng)
    try:
        pairs = [
            (one + two, two + one),
            (one * two, two * one),
            ((one + two) + three, one + (two + three)),
            ((one * two) * three, one * (two * three)),
            ((one + two) * three, one * three + two * three),
            (one - one, 0),
            (one - two, -two + one),
            (one + 0, one),
            (one * 1, one),
            (one * 0, 0),
            (largest(one, two), largest(two, one)),
            (smallest(one, two), smallest(two, one)),
            (largest(one, one), one),
            (product([one, two, three]), three * two * one),
        ]
    except TooLongError:
        return
    for left, right in pairs:
        assert left == right
        assert hash(left) == hash(right)
        assert str(left) == str(right)


def test_of_two_that_are_always_equal_it_is_the_plainer_one() -> None:
    nothing = cut(smallest(1, symbol("N")), 2)

    assert smallest(nothing, 0) == smallest(0, nothing) == largest(nothing, 0) == largest(0, nothing) == 0


H = symbol("H")
HALF = cut(H, 2)
SAME: dict[str, tuple[Size, Size]] = {
    "convolutions after one another": (cut(cut(H + 2 - 3, 2) + 1 + 2 - 3, 2) + 1, cut(H + 3, 4)),
    "whole parts come out": (cut(4 * H + 3, 2), 2 * H + 1),
    "a common factor": (cut(6 * H + 3, 9), cut(2 * H + 1, 3)),
    "a part of a number is lost": (cut(2 * H + 1, 4), HALF),
    "a quotient of a quotient": (cut(cut(H, 3), 5), cut(H, 15)),
    "rounded up twice": (ceiling(ceiling(H, 2), 2), ceiling(H, 4)),
    "negative": (cut(-H, 2), HALF - H + (H - 2 * HALF) * 0),
    "a quotient comes together again": (4 * over(H, 4), H),
    "a part of a part": (over(over(H, 2), 2), over(H, 4)),
    "the rest of a quotient": (over(6 * H, 4), over(3 * H, 2)),
    "a quotient by a name": (over(N * M, M), N),
    "a part of it by a name": (over(over(3 * N, 2) * M, M), over(3 * N, 2)),
    "by a multiple of a name": (over(N * M, 2 * M), over(N, 2)),
    "a sum by a multiple": (over(N * M + M, 2 * M), over(N + 1, 2)),
    "a quotient of parts": (cut(over(H, 2), 3), cut(H, 6)),
    "a sum of parts": (over(N, 2) + over(N, 2), N),
    "a size is not negative": (largest(0, N), N),
    "nor is a quotient": (largest(0, HALF), HALF),
    "one more is larger": (largest(N, N + 1), N + 1),
    "one less is smaller": (smallest(N, N - 1), N - 1),
    "numbers": (largest(3, 4), 4),
    "within limits": (smallest(largest(0, smallest(N, 5)), 5), smallest(N, 5)),
    "a product of names": (product([2, M, N]), 2 * N * M),
    "what is left of nothing": (N * M - M * N, 0),
    "exact by a name": (exact(6 * H * N, 2 * H) or 0, 3 * N),
    "bound together": (_bound(N + M, {"M": 2 * N}), 3 * N),
    "bound to make a number": (_bound(cut(N + 1, 2), {"N": 5}), 3),
    "bound to be exact": (_bound(cut(N, M), {"M": 3, "N": 6 * K}), 2 * K),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_two_ways_to_one_size_are_equal(one: Size, other: Size) -> None:
    assert one == other
    assert (hash(one), str(one)) == (hash(other), str(other))


TEXTS: dict[str, Size] = {
    "-M + 2*N + 2": 2 * N - M + 2,
    "-N": -N,
    "-N + 1": 1 - N,
    "3*N/2": over(3 * N, 2),
    "N/2 + 1/2": over(N + 1, 2),
    "floor((N + 1)/2)": cut(N + 1, 2),
    "floor(K/(M*N))": cut(K, M * N),
    "floor(K/(2*N))": cut(K, 2 * N),
    "floor(2*N/3)": cut(2 * N, 3),
    "floor(K/(N/2))": cut(K, over(N, 2)),
    "2*(K/(M*N))": 2 * over(K, M * N),
    "Max(0, N - 1)": largest(N - 1, 0),
    "Min(2*M, N)": smallest(N, 2 * M),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    assert str(TEXTS[text]) == text


ODD = [
    "N + 1",
    "N - 1",
    "N*M",
    "floor(N/2)",
    "Max(M, N)",
    "2",
    "N/2",
    "batch size",
    "a, b",
    "a.b",
    "größe",
    "-1",
    "((N))",
]


@pytest.mark.parametrize("name", ODD)
def test_a_name_comes_back_whatever_it_looks_like(name: str) -> None:
    odd = symbol(name)

    assert odd.name == name
    assert odd.symbols == {name}
    if name != "((N))":  # parentheses around a name are no part of it
        assert parse(str(odd)) == Product(1, (name,))
        assert parse(str(3 * odd * N)) == Product(3, tuple(sorted((name, "N"))))


LIKE: dict[str, Size] = {
    "N + 1": N + 1,
    "N - 1": N - 1,
    "M*N": M * N,
    "floor(N/2)": cut(N, 2),
    "Max(M, N)": largest(M, N),
}


@pytest.mark.parametrize("name", LIKE)
def test_a_name_is_not_the_formula_that_it_looks_like(name: str) -> None:
    odd, like = symbol(name), LIKE[name]

    assert odd != like
    assert odd.symbols.isdisjoint(like.symbols)
    ways: list[Callable[[Size], Size]] = [
        lambda size: cut(size, 7),
        lambda size: largest(size, K),
        lambda size: over(K, size),
        lambda size: cut(K, size),
    ]
    for way in ways:
        assert way(odd) != way(like)
        assert str(way(odd)) != str(way(like))


def test_bounds() -> None:
    assert bounds(7) == (7, 7)
    assert bounds(N + 1) == (1, None)
    assert bounds(3 - N) == (None, 3)
    assert bounds(N * M, 2) == (4, None)
    assert bounds(smallest(N, 5)) == (0, 5)
    assert bounds(largest(N - 3, 2)) == (2, None)
    assert bounds(cut(smallest(N, 5) + 1, 2)) == (0, 3)
    assert bounds(N - M) == (None, None)
    assert [is_size(size) for size in (0, -1, N, N - 1, largest(0, N - 1))] == [True, False, True, False, True]
    assert depends(cut(N, 2), ["N"])
    assert not depends(3, ["N"])
    assert not depends(None, ["N"])


def test_what_is_too_long_is_refused() -> None:
    """Each of these would grow without end."""

    def squared(size: Size) -> Size:
        return size * (size + 3)

    def doubled(size: Size) -> Size:
        return cut(size * symbol("N"), 7) + symbol("M")

    def larger(size: Size) -> Size:
        return largest(size * 2 - K, size)

    def often(step: Callable[[Size], Size]) -> None:
        size: Size = N
        for _ in range(200):
            size = step(size)

    for step in (squared, doubled, larger):
        with pytest.raises(TooLongError):
            often(step)

    names = [symbol(f"n{place}") for place in range(MOST_TERMS + 1)]
    assert isinstance(sum(names[:-1], start=0), Formula)
    assert isinstance(product(names[:MOST_ATOMS]), Formula)
    ways: list[Callable[[], Size]] = [
        lambda: sum(names, start=0),
        lambda: product(names[: MOST_ATOMS + 1]),
        lambda: N * (1 << 65_536),
    ]
    for grow in ways:
        with pytest.raises(TooLongError, match="64 terms or 64 factors"):
            grow()


# Bugs that the laws must find, each a function that does something else

Wrong = Callable[[Any], Callable[..., Any]]


def _beside(true: Any, low: int, high: int) -> Callable[..., Any]:
    """Limits that are moved."""

    def wrong(*given: Any) -> tuple[Any, Any]:
        least, most = true(*given)
        return None if least is None else least + low, None if most is None else most + high

    return wrong


def _one_less(true: Any) -> Callable[..., Any]:
    def wrong(*given: Any, **more: Any) -> Any:
        found = true(*given, **more)
        return None if found is None else (found[0][1:], found[1])

    return wrong


def _upwards(true: Any) -> Callable[..., Any]:
    return lambda top, bottom: -true(-top, bottom) if top == -1 * N else true(top, bottom)


PLANTED: dict[str, tuple[str, Wrong]] = {
    "cut rounds up": ("cut", lambda true: lambda top, bottom: true(top + (bottom - 1), bottom)),
    "cut towards 0": ("cut", _upwards),
    "cut is exact": ("cut", lambda _: sizes.over),
    "ceiling is a floor": ("ceiling", lambda _: sizes.cut),
    "exact forgets the number": ("exact", lambda true: lambda *of: None if (found := true(*of)) is None else found + 1),
    "exact is always so": ("exact", lambda _: sizes.over),
    "over is a floor": ("over", lambda _: lambda top, bottom: sizes.cut(top, bottom) + 1),
    "the larger is the smaller": ("_chosen", lambda true: lambda _, one, other: true("Min", one, other)),
    "the first of two is chosen": ("_chosen", lambda _: lambda _, one, __: one),
    "a limit is one too high": ("bounds", lambda true: _beside(true, 1, 0)),
    "a limit is one too low": ("bounds", lambda true: _beside(true, 0, -1)),
    "a product is limited by its first factor": (
        "_monomial_bounds",
        lambda true: lambda monomial, least: true(monomial[:1], least),
    ),
    "an operation is not negative": ("_operation_bounds", lambda true: lambda *of: (0, true(*of)[1])),
    "a sum keeps one of two equal terms": ("_sum", lambda true: lambda terms: true(dict(terms).items())),
    "a factor loses its parentheses": ("_grouped", lambda _: lambda size, **__: str(size)),
    "a scale is rounded": ("_scaled", lambda true: lambda size, factor: true(size, factor.numerator)),
    "a factor is taken out twice": ("_without", _one_less),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, plant = PLANTED[bug]
    places = [place for place in (sizes, algebra, extent, text) if hasattr(place, name)]
    true = getattr(places[0], name)
    for place in places:
        monkeypatch.setattr(place, name, plant(true))
    if name in _WORDS:
        monkeypatch.setitem(algebra.OPERATIONS, _WORDS[name], plant(true))

    assert any(_found(seed) for seed in range(4000))


_WORDS = {"cut": "floor", "over": "over"}


def _found(seed: int) -> bool:
    rng = Random(seed)  # noqa: S311 - the same each time
    numbers = {name: rng.choice((*range(10), 12, 24, 60)) for name in NAMES}
    try:
        return fault(tree(rng), numbers) is not None
    except (ArithmeticError, RecursionError, ValueError, TypeError):
        return True


def test_no_random_calculation_is_wrong() -> None:
    """The same ones that the bugs are planted under."""
    assert not any(_found(seed) for seed in range(4000))


def test_operations_weigh_their_names() -> None:
    assert Operation("Max", (N, M * N + 1)).weight == 3
    assert cut(N * M, 3).weight == 2
