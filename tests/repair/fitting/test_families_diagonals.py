"""Constants of two positions that depend on their difference only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.families import fit_of
from onereshape.repair.fitting.families.diagonals import diagonals, diagonals_cut
from onereshape.rule.sizes import symbol
from tests.repair.fitting.exports import drawn, exported, holds, spoilt

S, T = symbol("S"), symbol("T")
SHORT, LONG, OTHER = {"S": 12}, {"S": 23}, {"S": 40}
SLOPES = np.array([0.25, 0.3, 0.07], np.float32)[:, None, None]
WEIGHTS = np.random.default_rng(1).normal(size=(3, 200)).astype(np.float32)
LOWEST = np.finfo(np.float32).min


def apart(rows: int, columns: int | None = None) -> Array:
    """The place in the row less the number of the row."""
    return np.arange(rows if columns is None else columns)[None] - np.arange(rows)[:, None]


def biases(rows: int) -> Array:
    """Weights of three heads, for each difference one."""
    return np.asarray(WEIGHTS[:, apart(rows) + 100])


SQUARES: dict[str, tuple[tuple[Any, ...], Callable[..., Array]]] = {
    "triangle": ((1, 1, S, S), lambda s: (apart(s) <= 0)[None, None]),
    "strict triangle of numbers": ((S, S), lambda s: np.where(apart(s) > 0, LOWEST, 0).astype(np.float32)),
    "triangle to minus infinity": ((2, S, S), lambda s: np.where([apart(s) > 0] * 2, -np.inf, 0).astype(np.float16)),
    "band": ((S, S), lambda s: np.abs(apart(s)) < 4),
    "window that only the long one shows": ((S, S), lambda s: apart(s) > -16),
    "unit": ((S, S), lambda s: np.eye(s, dtype=np.float32)),
    "sides": ((S, S), lambda s: np.where(apart(s) > 0, 16, 0)),
    "clipped": ((2, S, S), lambda s: np.stack([np.clip(apart(s), -4, 4) + 4, np.clip(-apart(s), -4, 4)])),
    "half": ((S, S), lambda s: np.minimum(apart(s), 0)),
    "distance": ((S, S), lambda s: np.abs(apart(s)).astype(np.int32)),
    "slopes of the distance": ((3, S, S), lambda s: -np.abs(apart(s)).astype(np.float32)[None] * SLOPES),
    "slopes before a mask": (
        (3, S, S),
        lambda s: np.where(apart(s) > 0, -np.inf, apart(s).astype(np.float32) * SLOPES).astype(np.float32),
    ),
    "slopes before the lowest number": (
        (3, S, S),
        lambda s: np.where(apart(s) > 0, np.finfo(np.float64).min, apart(s) * SLOPES.astype(np.float64)),
    ),
    "heads last": ((S, S, 3), lambda s: -np.abs(apart(s)).astype(np.float32)[..., None] * SLOPES[:, 0, 0]),
    "heads between": ((S, 3, S), lambda s: -np.abs(apart(s)).astype(np.float32)[:, None] * SLOPES[:, 0]),
}


@pytest.mark.parametrize("name", SQUARES)
def test_a_square_goes_on(name: str) -> None:
    dims, true = SQUARES[name]
    case = exported(true, dims, SHORT, LONG)
    fit = holds(fit_of(case), case, true, OTHER, {"S": 2})
    assert not fit.limits


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("which", [0, 1])
def test_no_entry_of_a_square_may_differ(name: str, which: int) -> None:
    dims, true = SQUARES[name]
    case = exported(true, dims, SHORT, LONG)
    for place in [(0,) * len(dims), (-1,) * len(dims)]:
        other = spoilt(case, place, which)
        assert diagonals(other) is None
        assert diagonals_cut(other) is None


@pytest.mark.parametrize("ends", [False, True])
def test_a_mask_of_two_sizes_goes_on(ends: bool) -> None:
    def true(t: int, s: int) -> Array:
        return apart(t, s) + ((t - s) if ends else 0) <= 0

    case = exported(true, (T, S), {"T": 7, "S": 12}, {"T": 14, "S": 23})
    holds(fit_of(case), case, true, {"T": 5, "S": 9}, {"T": 30, "S": 11})


def test_sizes_that_never_differed_leave_two_readings() -> None:
    case = exported(lambda t, s: apart(t, s) <= 0, (T, S), {"T": 7, "S": 7}, {"T": 12, "S": 12})
    assert fit_of(case) is None


def test_a_table_ends_with_the_largest_export() -> None:
    case = exported(biases, (3, S, S), SHORT, LONG)
    assert diagonals(case) is None
    fit = holds(diagonals_cut(case), case, biases, {"S": 16}, {"S": 1})
    assert [(limit.size, limit.most) for limit in fit.limits] == [(S, 23)]
    with pytest.raises(ValueError, match="does not go on"):
        fit.at({"S": 24})


def test_weights_beside_a_mask_are_weights() -> None:
    def true(s: int) -> Array:
        return np.where(apart(s) > 0, LOWEST, biases(s)).astype(np.float32)

    case = exported(true, (3, S, S), {"S": 7}, {"S": 14})
    assert diagonals(case) is None
    assert (fit := fit_of(case)) is not None
    assert fit.limits


@pytest.mark.parametrize("ends", [False, True])
def test_a_table_of_two_sizes_has_two_limits(ends: bool) -> None:
    def true(t: int, s: int) -> Array:
        return np.asarray(WEIGHTS[0, apart(t, s) + ((t - s) if ends else 0) + 100])

    case = exported(true, (T, S), {"T": 7, "S": 12}, {"T": 14, "S": 23})
    fit = holds(diagonals_cut(case), case, true, {"T": 14, "S": 12}, {"T": 3, "S": 23})
    assert {limit.size: limit.most for limit in fit.limits} == {T: 14, S: 23}


def test_buckets_that_become_wider_are_no_clipped_count() -> None:
    def true(s: int) -> Array:
        far = np.abs(apart(s))
        wide = 8 + (np.log(np.maximum(far, 1) / 8) / np.log(16) * 8).astype(np.int64)
        return np.where(far < 8, far, wide)

    for short, long in [(10, 12), (12, 16), (18, 22), (12, 23), (40, 60)]:
        case = exported(true, (S, S), {"S": short}, {"S": long})
        assert diagonals(case) is None


def test_weights_are_no_table_of_differences() -> None:
    case = drawn((2, S, S), SHORT, LONG)
    assert diagonals(case) is None
    assert diagonals_cut(case) is None


def test_two_entries_are_too_few() -> None:
    case = exported(lambda s: apart(s) <= 0, (S, S), {"S": 1}, {"S": 2})
    assert diagonals(case) is None
    assert diagonals_cut(case) is None
