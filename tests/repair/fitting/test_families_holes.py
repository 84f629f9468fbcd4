"""What families must not take, or only under a condition."""

from __future__ import annotations

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit, alike, size_at
from onereshape.repair.fitting.families import fit_of, readings_of
from onereshape.repair.fitting.families.resized import Interpolation, interpolated, resized
from onereshape.rule.sizes import cut, symbol
from tests.repair.fitting.making import exported, run

H, W, S = symbol("H"), symbol("W"), symbol("S")
LOWEST = np.finfo(np.float32).min


@pytest.mark.parametrize("mark", [LOWEST, np.float32(-1e9), np.float32(-65504)])
def test_beside_the_marks_of_masks_nothing_is_lost(mark: np.float32) -> None:
    one = np.array([0.5, 0.25, mark], np.float32)

    assert alike(one, one)
    assert alike(np.array([0.5, np.float32(0.25) + np.float32(3e-8), mark], np.float32), one)
    assert not alike(np.array([0.5, 0.2501, mark], np.float32), one)
    assert not alike(np.array([0.5, 0.25, mark * np.float32(0.999)], np.float32), one)


def test_the_marks_are_what_they_are() -> None:
    assert not alike(np.array([np.nextafter(LOWEST, np.float32(0))]), np.array([LOWEST]))
    assert not alike(np.array([np.inf], np.float32), np.array([1], np.float32))


def test_levels_of_one_number_of_places() -> None:
    """The anchors of three levels in a model that runs at multiples of 32 only, where their places are one product."""
    height, width = cut(H + 31, 32), cut(W + 31, 32)

    def make(*, H: int, W: int) -> Array:  # noqa: N803 - sizes are called so
        grids = [np.mgrid[0 : H // step, 0 : W // step].reshape(2, -1)[::-1] + 0.5 for step in (8, 16, 32)]
        return np.concatenate(grids, axis=1).astype(np.float32)[None]

    known = (H, W, height, width, height * width, 4 * height * width, 16 * height * width)
    case = exported(make, (1, 2, 21 * height * width), {"H": 64, "W": 64}, {"H": 96, "W": 128}, known=known)
    other = {"H": 160, "W": 96}

    assert (found := fit_of(case)) is not None
    assert alike(found.at(other), make(**other))
    assert alike(run(found, other), make(**other))


def test_parts_are_no_less_than_empty() -> None:
    def make(*, S: int) -> Array:  # noqa: N803
        return np.where(np.arange(S) < S - 4, 0, 7)

    assert (found := fit_of(exported(make, (S,), {"S": 12}, {"S": 23}))) is not None
    assert all(size_at(limit.size, {"S": 4}) <= limit.most for limit in found.limits)
    assert any(size_at(limit.size, {"S": 3}) > limit.most for limit in found.limits)


def test_parts_of_parts_are_no_less_than_empty() -> None:
    def make(*, H: int, W: int) -> Array:  # noqa: N803
        return np.arange(H * W) % W > 7

    found = fit_of(exported(make, (H * W,), {"H": 12, "W": 20}, {"H": 23, "W": 9}))
    assert found is not None
    limits = found.limits
    shown = [{"H": 9, "W": width} for width in range(1, 12)]
    known = [sizes for sizes in shown if all(size_at(limit.size, sizes) <= limit.most for limit in limits)]
    assert [sizes["W"] for sizes in known] == [8, 9, 10, 11]
    assert all(alike(found.at(sizes), make(**sizes)) for sizes in known)


def test_the_same_constant_is_read_once() -> None:
    case = Exported((np.arange(12), np.arange(23)), ({"S": 12}, {"S": 23}), (S,))
    seen: dict[object, tuple[Fit, ...]] = {}
    first = readings_of(case, seen)

    assert readings_of(case._replace(arrays=tuple(map(np.copy, case.arrays))), seen) is first
    assert readings_of(case._replace(arrays=tuple(array + 1 for array in case.arrays)), seen) is not first


def test_rows_that_are_the_same_are_no_grid() -> None:
    rows = np.random.default_rng(3).standard_normal((1, 10, 6, 16)).astype(np.float32)
    larger = interpolated(rows, (1, 2), (13, 8), Interpolation(cubic=True))
    case = Exported((rows, larger), ({"H": 10, "W": 6}, {"H": 13, "W": 8}), (1, H, W, 16))

    assert resized(case) is not None
    rows[:, 4] = rows[:, 3]
    larger[:] = interpolated(rows, (1, 2), (13, 8), Interpolation(cubic=True))
    assert resized(case) is None


def test_two_alignments_are_two_readings() -> None:
    """A triangle between two sizes that differ by as much in all exports, from the starts or from the ends."""

    def make(*, S: int, T: int) -> Array:  # noqa: N803
        return np.arange(S)[:, None] + T - S >= np.arange(T)

    T = symbol("T")  # noqa: N806
    found = readings_of(exported(make, (S, T), {"S": 12, "T": 16}, {"S": 23, "T": 27}))

    assert len(found) == 2
