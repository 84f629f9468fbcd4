"""Floats that are made of sizes."""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, sqrt

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit
from onereshape.repair.fitting.families.numbers import numbers
from onereshape.rule.sizes import Size, cut, symbol
from tests.repair.fitting.making import run

H, W, S = symbol("H"), symbol("W"), symbol("S")
BINDINGS = ({"H": 16, "W": 16, "S": 10}, {"H": 40, "W": 30, "S": 23})
OTHER = {"H": 24, "W": 64, "S": 15}
KNOWN = (H, W, S, cut(H, 4), cut(W, 4), 2 * S - 1)

READINGS: dict[str, Callable[[Binding], float]] = {
    "S": lambda b: b["S"],
    "H - 1": lambda b: b["H"] - 1,
    "W + 1": lambda b: b["W"] + 1,
    "1/S": lambda b: 1 / b["S"],
    "1/(S - 1)": lambda b: 1 / (b["S"] - 1),
    "sqrt(S)": lambda b: sqrt(b["S"]),
    "1/sqrt(W)": lambda b: 1 / sqrt(b["W"]),
    "log(S)": lambda b: log(b["S"]),
    "S/2": lambda b: b["S"] / 2,
    "2/(W - 1)": lambda b: 2 / (b["W"] - 1),
    "3*S": lambda b: b["S"] * 3,
    "S + 7": lambda b: b["S"] + 7,
    "0.3*log(S)": lambda b: 0.3 * log(b["S"]),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("words", READINGS)
def test_a_number_that_is_made_of_a_size(words: str, kind: type[np.float32 | np.float64 | np.float16]) -> None:
    make = READINGS[words]
    found = numbers(_exported([np.array(make(each), kind) for each in BINDINGS]))

    if kind == np.float16 and (found is None or found.others):
        return  # so few digits may be read in more than one way
    assert isinstance(found, Fit)
    assert not found.others
    assert found.words == f"is {words}" or kind == np.float16
    assert np.allclose(found.at(OTHER), make(OTHER), rtol=4 * np.finfo(kind).eps)
    assert found.at(OTHER).dtype == run(found, OTHER).dtype == kind
    assert np.allclose(run(found, OTHER), found.at(OTHER), rtol=2 * np.finfo(kind).eps)


def test_scales_entry_by_entry() -> None:
    arrays = [np.array([1, 1, each["H"] / each["S"], each["W"] / each["S"]], np.float32) for each in BINDINGS]
    found = numbers(_exported(arrays, (H, W, S)))

    assert isinstance(found, Fit)
    assert not found.others
    assert found.words == "has (H)/(S), (W)/(S) in it"
    assert np.array_equal(run(found, OTHER), np.array([1, 1, 24 / 15, 64 / 15], np.float32))


def test_squares_are_ambiguous() -> None:
    bindings = ({"H": 16, "W": 16}, {"H": 40, "W": 40})
    arrays = tuple(np.array([[each["H"] - 1]], np.float32) for each in bindings)
    found = numbers(Exported(arrays, bindings, (1, 1), (H, W)))

    assert found is not None
    assert [reading.words for reading in (found, *found.others)] == ["is H - 1", "is W - 1"]


def test_even_sizes_do_not_tell_halves_apart() -> None:
    bindings = ({"S": 12}, {"S": 20})
    halves = [np.array(each["S"] // 2, np.float32) for each in bindings]
    parts = [np.array(2 / each["S"], np.float32) for each in bindings]
    known = (S, cut(S, 2), cut(S + 1, 2))

    found = numbers(Exported(tuple(halves), bindings, (), known))
    assert found is not None
    assert [each.words for each in (found, *found.others)] == ["is floor(S/2)", "is floor((S + 1)/2)", "is S/2"]
    found = numbers(Exported(tuple(parts), bindings, (), known))
    assert found is not None
    assert [each.words for each in (found, *found.others)] == ["is 1/(floor(S/2))", "is 1/(floor((S + 1)/2))"]
    found = numbers(Exported(tuple(parts), bindings, (), known, {"S": 2}))
    assert found is not None
    assert not found.others  # the model runs at even sizes only


def test_a_size_as_it_is_comes_before_a_half_of_another() -> None:
    """Sizes nearby do not tell them apart: 4.5 and 5 are far from all exports."""
    bindings = ({"W": 96}, {"W": 160})
    known = (W, cut(W + 1, 8), cut(W + 9, 16))
    found = numbers(Exported(tuple(np.array(each["W"] // 16, np.float32) for each in bindings), bindings, (), known))

    assert found is not None
    assert [each.words for each in (found, *found.others)] == ["is floor((W + 9)/16)"]


@pytest.mark.parametrize("more", [-2, -1, 1, 2])
def test_a_size_as_it_is_has_no_rival_in_another_with_something_added(more: int) -> None:
    """8 and 12 are H/8 of 64 and 96, and W/16 and some more."""
    bindings = tuple({"H": h, "W": 2 * h - 16 * more} for h in (64, 96))
    known = (H, W, cut(H, 8), cut(W, 16))
    found = numbers(Exported(tuple(np.array(each["H"] // 8, np.float32) for each in bindings), bindings, (), known))

    assert found is not None
    assert not any("W" in each.words for each in (found, *found.others))


AS_INTEGERS: dict[str, tuple[tuple[dict[str, int], ...], Callable[[dict[str, int]], float]]] = {
    "is floor(S/2)": (({"S": 12}, {"S": 23}), lambda n: n["S"] // 2),
    "is 1/(floor((S + 1)/2))": (({"S": 12}, {"S": 23}), lambda n: 1 / -(-n["S"] // 2)),
    "is H*W": (({"H": 12, "W": 20}, {"H": 23, "W": 9}), lambda n: n["H"] * n["W"]),
    "is 8*H*W": (({"H": 32, "W": 64}, {"H": 64, "W": 96}), lambda n: 8 * n["H"] * n["W"]),
    "is sqrt((H*W))": (({"H": 12, "W": 20}, {"H": 23, "W": 9}), lambda n: sqrt(n["H"] * n["W"])),
    "is 1/(H + W)": (({"H": 12, "W": 20}, {"H": 23, "W": 13}), lambda n: 1 / (n["H"] + n["W"])),
    "is -S + T + 1": (({"S": 5, "T": 12}, {"S": 9, "T": 31}), lambda n: n["T"] - n["S"] + 1),
}
"""Numbers of which no tensor has the size, by what they are read as."""


@pytest.mark.parametrize("words", AS_INTEGERS)
def test_whole_numbers_are_read_as_integers_are(words: str) -> None:
    bindings, number = AS_INTEGERS[words]
    known = tuple(symbol(name) for name in bindings[0])
    arrays = tuple(np.array(number(each), np.float32) for each in bindings)
    found = numbers(Exported(arrays, bindings, (), known))

    assert found is not None
    assert [each.words for each in (found, *found.others)] == [words]


@pytest.mark.parametrize(
    ("sizes", "number"),
    [((12, 20), lambda s: max(s, 15)), ((13, 25), lambda s: s // 2 + 1), ((12, 24), lambda s: s // 3)],
)
def test_whole_numbers_that_may_be_so_by_chance_are_not(sizes: tuple[int, int], number: Callable[[int], int]) -> None:
    """15 and 20 are multiples of 5; 7 and 13 halves of odd sizes, rounded up, or such and 1."""
    bindings = tuple({"S": size} for size in sizes)
    found = numbers(Exported(tuple(np.array(number(size), np.float32) for size in sizes), bindings, (), (S,)))

    assert found is None or found.others


def test_a_number_times_a_difference_is_said_as_such() -> None:
    bindings = ({"S": 9}, {"S": 21})
    found = numbers(Exported(tuple(np.array((each["S"] - 1) / 4) for each in bindings), bindings, (), (S,)))

    assert found is not None
    assert found.words == "is 0.25*(S - 1)"


ROUNDED: dict[str, tuple[tuple[int, ...], Callable[[int], float], tuple[str, str]]] = {
    "half": ((15, 17), lambda s: s // 2, ("(S - 1)/2", "floor(S/2)")),
    "a quarter": ((8, 24), lambda s: s // 4, ("0.25*S", "floor(S/4)")),
    "the root of half": ((8, 28), lambda s: sqrt(s // 2), ("0.707107*sqrt(S)", "sqrt((floor(S/2)))")),
    "one part of half": ((8, 28), lambda s: 1 / (s // 2), ("2*1/S", "1/(floor(S/2))")),
    "three quarters": ((20, 18), lambda s: 3 * s // 4, ("S + -5", "floor((3*S)/4)")),
    "less than 0": ((8, 28), lambda s: -(s // 2), ("-(S/2)", "-(floor(S/2))")),
    "ten parts": ((12, 23), lambda s: 10 / -(-s // 2), ("18.3333*1/(S - 1)", "10*1/(floor((S + 1)/2))")),
    "ten parts of a third": ((14, 7), lambda s: 10 / (s // 3), ("35*1/S", "5*1/(floor(S/7))")),
    "a whole quotient": ((8, 16), lambda s: 64 // s, ("64*1/S", "floor(64/S)")),
}
"""Sizes at which a number is whole, and of which readings one must be among those that are given."""


@pytest.mark.parametrize("name", ROUNDED)
def test_what_is_whole_in_all_exports_may_be_rounded(name: str) -> None:
    sizes, make, words = ROUNDED[name]
    bindings = tuple({"S": size} for size in sizes)
    found = numbers(Exported(tuple(np.array(make(size), np.float32) for size in sizes), bindings, (), (S,)))

    readings = [] if found is None else [each.words.removeprefix("is ") for each in (found, *found.others)]
    assert not found or len(readings) > 1
    assert {*words} & {*readings} or not readings


@pytest.mark.parametrize(
    ("sizes", "make", "words"),
    [
        ((12, 23), lambda s: s / 2, "S/2"),
        ((12, 23), lambda s: s / 4, "0.25*S"),
        ((12, 23), lambda s: sqrt(s / 2), "0.707107*sqrt(S)"),
        ((13, 25), lambda s: s - 1, "S - 1"),
        ((12, 23), lambda s: 3 * (s - 1), "3*(S - 1)"),
        ((12, 23), lambda s: s - 5, "S + -5"),
        ((12, 23), lambda s: -1 / s, "-(1/S)"),
    ],
)
def test_what_no_rounding_gives_is_told(sizes: tuple[int, ...], make: Callable[[int], float], words: str) -> None:
    bindings = tuple({"S": size} for size in sizes)
    found = numbers(Exported(tuple(np.array(make(size), np.float32) for size in sizes), bindings, (), (S,)))

    assert found is not None
    assert (found.words, found.others) == (f"is {words}", ())


RESTS: dict[str, Callable[[int], float]] = {
    "pi/floor(S/2)": lambda s: pi / (s // 2),
    "0.3*floor(S/2)": lambda s: 0.3 * (s // 2),
    "10/ceil(S/2)": lambda s: 10 / -(-s // 2),
    "100/floor(S/4)": lambda s: 100 / (s // 4),
    "2/(S + 1)": lambda s: 1 / (s // 2 + 1),
}
"""Numbers that are as plain of a rounded part of a size, by sizes of which all leave the same rest, or not."""


@pytest.mark.parametrize("name", RESTS)
def test_equal_rests_do_not_tell_parts_of_a_size(name: str) -> None:
    bindings = tuple({"S": size} for size in ((13, 25) if "+" in name else (12, 20)))
    found = numbers(Exported(tuple(np.array(RESTS[name](each["S"])) for each in bindings), bindings, (), (S,)))

    assert found is None or found.others


@pytest.mark.parametrize("factor", [2 * pi, 2.0, 0.6, 20.0, 400.0])
def test_other_rests_tell_parts_of_a_size(factor: float) -> None:
    for sizes in ((12, 23), (13, 20)):
        bindings = tuple({"S": size} for size in sizes)
        found = numbers(Exported(tuple(np.array(factor / each["S"]) for each in bindings), bindings, (), (S,)))

        assert found is not None
        assert not found.others


def test_sizes_that_the_model_runs_at_tell_that_a_half_is_whole() -> None:
    bindings = ({"S": 12}, {"S": 20})
    halves = tuple(np.array(each["S"] / 2, np.float32) for each in bindings)

    found = numbers(Exported(halves, bindings, (), (S,)))
    assert found is not None
    assert [each.words for each in (found, *found.others)] == ["is S/2", "is floor(S/2)", "is floor((S + 1)/2)"]
    found = numbers(Exported(halves, bindings, (), (S,), {"S": 2}))
    assert found is not None
    assert not found.others


def test_what_is_added_to_sizes_side_by_side_is_not_believed() -> None:
    bindings = ({"S": 20}, {"S": 18})
    found = numbers(Exported(tuple(np.array(each["S"] + 40.0) for each in bindings), bindings, (), (S,)))

    assert found is None or found.others


def test_near_misses() -> None:
    root = [np.array(sqrt(each["S"]), np.float32) for each in BINDINGS]

    assert numbers(_exported([root[0], root[1] * np.float32(1.00001)])) is None
    assert numbers(_exported([root[0], root[0]])) is None
    assert numbers(_exported([root[0], np.array(np.inf, np.float32)])) is None
    assert numbers(_exported([np.array(3), np.array(5)])) is None
    assert numbers(_exported([np.array(0.371, np.float32), np.array(0.94, np.float32)])) is None


def _exported(arrays: list[Array], known: tuple[Size, ...] = KNOWN) -> Exported:
    return Exported(tuple(arrays), BINDINGS, arrays[0].shape, known)
