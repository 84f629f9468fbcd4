"""Axes of several parts, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit
from onereshape.repair.fitting.families.joins import joined
from onereshape.repair.fitting.families.lengths import changes
from onereshape.repair.fitting.families.products import product_of
from onereshape.rule.sizes import Size, cut, over, symbol
from tests.repair.fitting.making import counts, exported, run

H, W, S = symbol("H"), symbol("W"), symbol("S")
A, C, B = {"H": 64, "W": 64}, {"H": 128, "W": 96}, {"H": 96, "W": 160}
STEPS = (8, 16, 32)


def levels(*, H: int, W: int) -> Array:  # noqa: N803 - sizes are called so
    """The places of the levels of a detector."""
    return np.concatenate([places(H, W, step) for step in STEPS])[None]


def places(height: int, width: int, step: int) -> Array:
    y, x = np.mgrid[0 : height // step, 0 : width // step]
    return (np.stack([x, y], -1).reshape(-1, 2) + 0.5).astype(np.float32)


def strides(*, H: int, W: int) -> Array:  # noqa: N803
    return np.concatenate([np.full((H // step) * (W // step), step, np.float32) for step in STEPS])[None]


def fit(constant: Exported) -> Fit | None:
    return parts(constant) or joined(constant, parts)


def parts(constant: Exported) -> Fit | None:
    return counts(constant) or product_of(constant, parts)


FLOORS = sum((cut(H, step) * cut(W, step) for step in STEPS[1:]), start=cut(H, 8) * cut(W, 8))
SHARES = sum((over(H * W, step * step) for step in STEPS[1:]), start=over(H * W, 64))
KNOWN = tuple(cut(each, step) for each in (H, W) for step in STEPS)


@pytest.mark.parametrize("size", [FLOORS, SHARES])
@pytest.mark.parametrize("known", [(), KNOWN])
def test_levels_of_a_detector(size: Size, known: tuple[Size, ...]) -> None:
    for make, dims in ((levels, (1, size, 2)), (strides, (1, size))):
        found = fit(exported(make, dims, A, C, known=known))

        assert found is not None
        assert np.array_equal(found.at(B), make(**B))
        assert np.array_equal(run(found, B), make(**B))


def test_a_first_and_a_last_entry_of_their_own() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.array([[-5], *([each] for each in range(3, 3 + S)), [90]])

    found = fit(exported(make, (S + 2, 1), {"S": 5}, {"S": 9}))

    assert found is not None
    assert np.array_equal(run(found, {"S": 7}), make(7))


def test_a_part_that_does_not_grow_must_be_the_same() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.array([S * S, *range(S)])

    assert fit(exported(make, (S + 1,), {"S": 5}, {"S": 9})) is None


def test_a_size_that_is_read_in_two_ways_is_no_place_to_cut() -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        return np.concatenate([np.full(H, 3.0), np.full(W, 4.0)])

    square = exported(make, (H + W,), {"H": 5, "W": 5}, {"H": 9, "W": 9})

    assert fit(square) is None
    found = fit(exported(make, (H + W,), {"H": 5, "W": 5}, {"H": 9, "W": 8}))
    assert found is not None
    assert np.array_equal(run(found, {"H": 4, "W": 6}), make(4, 6))


def test_where_entries_change_their_course() -> None:
    def places(array: Array, axis: int) -> set[int]:
        return {*np.flatnonzero(changes(array, axis)).tolist()}

    assert places(np.array([0, 1, 2, 3, 7, 8, 9]), 0) == {3, 4, 5}
    assert places(np.arange(9)[:, None], 0) == set()
    assert places(np.linspace(0, 1, 31, dtype=np.float32), 0) == set()
    assert places(np.array([np.nan, np.nan, np.nan, np.inf, np.inf, np.inf, 0, 0, 0]), 0) == {2, 3, 4, 5, 6, 7}
    assert places(np.array([3, 9]), 0) == {1}


def test_halves_are_told_apart_by_an_odd_size() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.roll(np.arange(S), S // 2)

    assert fit(exported(make, (S,), {"S": 10}, {"S": 22})) is None
    found = fit(exported(make, (S,), {"S": 10}, {"S": 23}))
    assert found is None or np.array_equal(found.at({"S": 15}), make(15))


def test_what_goes_on_smoothly_is_not_cut() -> None:
    def never(constant: Exported) -> Fit | None:
        raise AssertionError(constant)

    assert joined(exported(lambda S: np.arange(S) * 0.1, (S,), {"S": 10}, {"S": 22}), never) is None  # noqa: N803


def test_a_place_that_may_be_a_part_of_the_size_is_not_taken() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.where(np.arange(S) < 4, 3, 9)

    assert fit(exported(make, (S,), {"S": 8}, {"S": 9})) is None
    assert fit(exported(make, (S,), {"S": 12}, {"S": 14})) is None
    found = fit(exported(make, (S,), {"S": 8}, {"S": 12}))
    assert found is not None
    assert np.array_equal(run(found, {"S": 15}), make(15))
