"""Entries that come in windows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit
from onereshape.repair.fitting.families.cut_windows import windowed
from onereshape.repair.fitting.families.waves import is_crooked
from onereshape.rule.sizes import Size, symbol
from tests.repair.fitting.making import counts, exported, run

S = symbol("S")


def repeated(S: int) -> Array:  # noqa: N803 - sizes are called so
    return np.arange(S) // 4


def repeating(S: int) -> Array:  # noqa: N803
    return np.arange(S) % 3


def both(S: int) -> Array:  # noqa: N803
    return np.stack([np.arange(S) // 3 * 7 + np.arange(S) % 3, np.arange(S) % 3 * 2])


def random(S: int) -> Array:  # noqa: N803
    return np.tile(np.random.default_rng(0).standard_normal((5, 2)).astype(np.float32), (S, 1))[:S]


def fit(constant: Exported) -> Fit | None:
    return windowed(constant, counts, is_crooked)


@pytest.mark.parametrize(("make", "dims"), [(repeated, (S,)), (repeating, (S,)), (both, (2, S)), (random, (S, 2))])
@pytest.mark.parametrize("sizes", [(12, 23), (12, 24), (15, 30)])
def test_windows(make: Callable[..., Array], dims: tuple[Size, ...], sizes: tuple[int, int]) -> None:
    found = fit(exported(make, dims, *({"S": size} for size in sizes)))

    assert found is not None
    for size in (1, 16, 37, 60):
        assert np.array_equal(found.at({"S": size}), make(size))
        assert np.array_equal(run(found, {"S": size}), make(size))


def test_windows_that_always_divide_are_not_cut() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.arange(4 * S) // 4

    found = fit(exported(make, (4 * S,), {"S": 3}, {"S": 7}))

    assert found is not None
    assert np.array_equal(run(found, {"S": 5}), make(5))


@pytest.mark.parametrize("place", [0, 5, 21, 22])
def test_near_misses(place: int) -> None:
    for make in (repeated, repeating):
        constant = exported(make, (S,), {"S": 12}, {"S": 23})
        wrong = constant.arrays[1].copy()
        wrong[place] += 1

        assert fit(constant._replace(arrays=(constant.arrays[0], wrong))) is None


def test_windows_that_depend_on_the_size() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.arange(S) // (S // 3)

    assert fit(exported(make, (S,), {"S": 12}, {"S": 24})) is None
