"""Sizes as formulas, where they go in a Reshape, and which constants are known to go on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from onereshape.graphs.free_rules.alignment import readings, size_of
from onereshape.graphs.free_rules.patterns import pattern_of
from onereshape.rule.sizes import Formula, Size, cut, exact, product, symbol

H, W, S = symbol("H"), symbol("W"), symbol("S")
NUMBERS = st.integers(-6, 12)


def at(size: Size, high: int, wide: int) -> Size:
    return size if isinstance(size, int) else size.bind({"H": high, "W": wide})


@st.composite
def sized(draw: st.DrawFn, depth: int = 3) -> tuple[Size, Any]:
    """A formula, and the same as a function of two numbers."""
    made: list[tuple[Size, Any]]
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        number = draw(NUMBERS)
        made = [(H, lambda h, _: h), (W, lambda _, w: w), (number, lambda _, __: number)]
    else:
        (one, left), (other, right) = draw(sized(depth - 1)), draw(sized(depth - 1))
        bottom = draw(st.integers(1, 6))
        made = [
            (one + other, lambda h, w: left(h, w) + right(h, w)),
            (one - other, lambda h, w: left(h, w) - right(h, w)),
            (one * other, lambda h, w: left(h, w) * right(h, w)),
            (cut(one, bottom), lambda h, w: left(h, w) // bottom),
        ]
    return made[draw(st.integers(0, len(made) - 1))]


@given(sized(), st.integers(0, 40), st.integers(0, 40))
def test_a_formula_is_what_it_was_made_of(made: tuple[Size, Any], high: int, wide: int) -> None:
    size, function = made

    assert at(size, high, wide) == function(high, wide)


@given(sized(), sized(), st.integers(1, 20), st.integers(1, 20))
def test_an_exact_quotient_is_one(top: tuple[Size, Any], bottom: tuple[Size, Any], high: int, wide: int) -> None:
    for one, other in ((top[0], bottom[0]), (top[0] * bottom[0], bottom[0])):
        found = exact(one, other)
        if found is not None:
            assert at(found * other, high, wide) == at(one, high, wide)


def test_a_factor_can_be_taken_out_of_a_product() -> None:
    assert exact(6 * H * W, 2 * H) == 3 * W
    assert exact(6 * H + 4, 2) == 3 * H + 2
    assert exact(H + 1, H + 1) == 1
    assert exact(H, 2) is None
    assert exact(H + 1, H) is None


def test_equal_sizes_have_one_formula() -> None:
    """A convolution with stride 2 after another is one with stride 4, whatever the order of the roundings."""
    once = cut(H + 2 - 3, 2) + 1
    assert isinstance(once, Formula)
    assert cut(once + 2 - 3, 2) + 1 == cut(H + 3, 4)
    assert str(cut(H + 3, 4)) == "floor((H + 3)/4)"
    assert str(H * W - 2 * H + 1) == "H*W - 2*H + 1"
    assert str(-1 * H) == "-H"


def then(size: Size) -> Size:
    return size if isinstance(size, int) else size.bind({"H": 4, "W": 4, "S": 6})


READINGS: list[tuple[list[tuple[Size, ...]], list[Size], list[list[Size]]]] = [
    ([(1,), (S,), (8,)], [1, 6, 2, 4], [[1, S, 2, 4]]),
    ([(1,), (S,), (12,)], [1, 6, 6, 2], [[1, S, 6, 2]]),
    ([(2,), (S,), (4,)], [12, 4], [[2 * S, 4]]),
    ([(2, S), (4,)], [2, 6, 4], [[2, S, 4]]),
    ([(S, 2), (4,)], [6, 8], [[S, 8]]),
    ([(1,), (2,), (H,), (W,)], [1, 2, 16], [[1, 2, H * W]]),
    ([(1,), (H, W), (2,)], [1, 4, 4, 2], [[1, H, W, 2]]),
    ([(1,), (W, H), (2,)], [1, 4, 4, 2], [[1, W, H, 2]]),
    ([(S,)], [3, 2], [[cut(S, 2), 2], [3, cut(S, 3)]]),
    ([(2 * S,)], [6, 2], [[S, 2], [6, cut(S, 3)]]),
    ([(S + 1,), (3,)], [7, 3], [[S + 1, 3]]),
    ([(S,), (S + 1,)], [7, 6], [[S + 1, S], [cut(S * (S + 1), 6), 6], [7, cut(S * (S + 1), 7)]]),
]
"""Data, the output in the original, and the ways to read it."""


@pytest.mark.parametrize(("data", "output", "expected"), READINGS, ids=range(len(READINGS)))
def test_where_sizes_go_in_a_reshape(
    data: list[tuple[Size, ...]], output: list[Size], expected: list[list[Size]]
) -> None:
    found = list(readings(data, output, then))

    assert [[size_of(axis) for axis in reading.axes] for reading in found] == expected
    assert [reading.alone for reading in found] == [len(expected) == 1] * len(expected)
    for reading in found:
        assert [then(size_of(axis)) for axis in reading.axes] == output
        total = product(size_of(axis) for axis in reading.axes)
        assert total == product(size_of(axis) for axis in data) or reading.conditions


def test_the_factors_of_a_dim_keep_their_order() -> None:
    (reading,) = readings([(4,), (S,), (3,)], [2, 36], then)

    assert reading.axes == ((2,), (2, S, 3))


def test_the_words_settle_a_split() -> None:
    (reading,) = readings([(S,)], [3, 2], then, inferred=1)

    assert [size_of(axis) for axis in reading.axes] == [3, cut(S, 3)]
    assert reading.conditions == ((3 * cut(S, 3), S),)


KNOWN: list[tuple[Any, dict[int, Size], str, Size | None]] = [
    (np.arange(4)[None], {1: S}, "counts along axis 1", S - 1),
    (np.arange(2, 8)[None], {1: S}, "counts along axis 1", S + 1),
    (np.zeros((1, 5, 2)), {1: S}, "is the same all along axis 1", None),
    (np.full((5, 5), 7), {0: S, 1: S}, "is the same all along axis 0 and is the same all along axis 1", 7),
    (np.arange(5, dtype=np.float32), {0: S}, "counts along axis 0", None),
    (np.arange(4) - np.arange(4)[:, None], {0: S, 1: S}, "counts along axis 0 and counts along axis 1", S - 1),
    (np.tri(4, k=-1), {0: S, 1: S}, "is a triangle of 1.0 below and 0.0 above the diagonal", None),
    (np.tri(4, dtype=bool), {0: S, 1: S}, "is a triangle of True below and False above the diagonal", None),
    (
        np.triu(np.full((1, 4, 4), -np.inf), 1),
        {1: S, 2: S},
        "is a triangle of 0.0 below and -inf above the diagonal",
        None,
    ),
]
UNKNOWN: list[tuple[Any, dict[int, Size]]] = [
    (np.arange(4)[::-1].copy(), {0: S}),  # from the old size down
    (np.arange(4) + 4, {0: S}),  # from the old size up
    (np.arange(4) * 2, {0: S}),
    (np.arange(4) / 4, {0: S}),  # a part of the old size
    (np.array([0, 1]), {0: S}),  # too short to be sure
    (np.array([0, 1, 2, 4]), {0: S}),
    (np.linspace(-1, 1, 5), {0: S}),
    (np.eye(4), {0: S, 1: S}),
    (np.tri(4, k=1), {0: S, 1: S}),
    (np.tri(4), {0: H, 1: W}),
    (np.tri(4)[:, ::-1].copy(), {0: S, 1: S}),
    (np.tri(4) * np.arange(1, 5), {0: S, 1: S}),
    (np.random.default_rng(0).standard_normal((4, 2)), {0: S}),
    (np.array([0.0, -0.5, -1.0, -1.5]), {0: S}),
]


@pytest.mark.parametrize(("array", "wanted", "words", "largest"), KNOWN, ids=range(len(KNOWN)))
def test_constants_that_go_on_in_one_way(array: Any, wanted: dict[int, Size], words: str, largest: Size | None) -> None:
    found = pattern_of(array, wanted)

    assert found is not None
    assert (found.words, found.largest) == (words, largest)


@pytest.mark.parametrize(("array", "wanted"), UNKNOWN, ids=range(len(UNKNOWN)))
def test_constants_that_may_go_on_in_many_ways(array: Any, wanted: dict[int, Size]) -> None:
    assert pattern_of(array, wanted) is None
