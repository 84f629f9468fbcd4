"""Tables that no formula continues, and tables that are interpolated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Limit, alike
from onereshape.repair.fitting.families.cuts import cut_of
from onereshape.repair.fitting.families.resized import WAYS, Interpolation, interpolated, resized
from onereshape.rule.sizes import Size, ceiling, cut, symbol
from tests.repair.fitting.making import exported, run

H, W, S = symbol("H"), symbol("W"), symbol("S")
TABLE = np.random.default_rng(0).standard_normal((1, 43, 43, 3)).astype(np.float32)


def start(*, S: int) -> Array:  # noqa: N803 - sizes are called so
    return TABLE[:, :S, 7]


def middle(*, S: int) -> Array:  # noqa: N803
    return TABLE[:, 22 - S : 21 + S, 7]


def end(*, S: int) -> Array:  # noqa: N803
    return TABLE[:, 43 - S :, 7]


def relative(*, S: int) -> Array:  # noqa: N803
    """A bias of the difference of two positions."""
    return np.asarray(TABLE[0, :, 7, 0][np.subtract.outer(np.arange(S), np.arange(S)) + 21])


def corner(*, H: int, W: int) -> Array:  # noqa: N803
    return TABLE[:, :H, :W]


CUTS = [
    (start, (1, S, 3), [{"S": 9}, {"S": 22}], {"S": 15}),
    (middle, (1, 2 * S - 1, 3), [{"S": 9}, {"S": 22}], {"S": 15}),
    (end, (1, S, 3), [{"S": 9}, {"S": 22}], {"S": 15}),
    (relative, (S, S), [{"S": 9}, {"S": 22}], {"S": 15}),
    (corner, (1, H, W, 3), [{"H": 9, "W": 9}, {"H": 22, "W": 12}], {"H": 15, "W": 11}),
]


@pytest.mark.parametrize(("make", "dims", "bindings", "other"), CUTS)
def test_a_part_of_the_largest_table(
    make: object, dims: tuple[Size, ...], bindings: list[dict[str, int]], other: dict[str, int]
) -> None:
    assert callable(make)
    constant = exported(make, dims, *bindings)
    found = cut_of(constant)

    assert found is not None
    assert np.array_equal(found.at(other), make(**other))
    assert np.array_equal(run(found, other), make(**other))
    most = constant.arrays[-1].shape
    assert set(found.limits) == {
        Limit(dims[axis], most[axis], "the largest table that an export has ends there") for axis in constant.growing
    }
    with pytest.raises(ValueError, match="entries has no"):
        found.at(dict.fromkeys(other, 23))


@pytest.mark.parametrize(("make", "dims", "bindings", "_other"), CUTS)
def test_one_entry_that_is_another_is_no_part(
    make: object, dims: tuple[Size, ...], bindings: list[dict[str, int]], _other: object
) -> None:
    assert callable(make)
    constant = exported(make, dims, *bindings)
    wrong = constant.arrays[0].copy()
    wrong[(-1,) * wrong.ndim] = np.nextafter(wrong[(-1,) * wrong.ndim], 9)

    assert cut_of(constant._replace(arrays=(wrong, constant.arrays[1]))) is None


def test_no_table_is_the_largest() -> None:
    assert cut_of(exported(corner, (1, H, W, 3), {"H": 9, "W": 22}, {"H": 22, "W": 12})) is None


def test_the_middle_of_rows_is_not_that_of_their_entries() -> None:
    rows = TABLE[0, :, :8, 0]  # 43 rows of 8

    def centred(*, S: int) -> Array:  # noqa: N803
        first = 43 // 2 - S // 2
        return np.asarray(rows[first : first + S].reshape(-1))

    assert cut_of(exported(centred, (8 * S,), {"S": 9}, {"S": 21})) is None
    made = exported(lambda S: TABLE[0, 21 - S : 21 + S, 7, 0], (2 * S,), {"S": 9}, {"S": 20})  # noqa: N803
    found = cut_of(made)
    assert found is not None  # an odd number of entries before it shows that there are no pairs
    assert np.array_equal(found.at({"S": 14}), TABLE[0, 7:35, 7, 0])


def test_the_middle_of_an_axis_that_may_have_none_is_unknown() -> None:
    constant = exported(middle, (1, S, 3), {"S": 9}, {"S": 22})

    assert cut_of(Exported(constant.arrays, ({"S": 17}, {"S": 43}), constant.dims)) is None


def test_equal_entries_are_no_start_of_a_table_in_which_others_follow() -> None:
    """Rows of 4 that were filled, the last of them in part where the others did not show it."""

    def make(S: int) -> Array:  # noqa: N803
        return np.asarray((np.arange(-(-S // 4) * 4) < S).astype(np.float32).reshape(1, -1, 4))

    dims = (1, ceiling(S, 4), 4)
    assert cut_of(exported(make, dims, {"S": 12}, {"S": 23})) is None
    assert cut_of(exported(make, dims, {"S": 12}, {"S": 20}, {"S": 23})) is None
    rows = np.array([[1, 1], [1, 1], [1, 1], [2, 1], [5, 1]], np.float32)
    first, second = {"S": 3}, {"S": 5}
    assert cut_of(Exported((rows[:3], rows), (first, second), (S, 2))) is None
    assert cut_of(Exported((rows[1:4], rows[1:]), (first, {"S": 4}), (S, 2))) is not None
    nothing = np.where(rows > 1, 1, np.nan).astype(np.float32)
    assert cut_of(Exported((nothing[:3], nothing), (first, second), (S, 2))) is None


def test_a_place_in_a_table_of_equal_entries_is_unknown() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.array([0.0] * (S - 1) + [1.0], np.float32)

    assert cut_of(exported(make, (S,), {"S": 5}, {"S": 9})) is None


GRID = np.random.default_rng(1).standard_normal((1, 4, 5, 8)).astype(np.float32)
NATIVE, LARGER, SMALLER = {"H": 32, "W": 40}, {"H": 56, "W": 48}, {"H": 24, "W": 16}


def table(way: Interpolation, bindings: list[dict[str, int]]) -> Exported:
    arrays = [interpolated(GRID, (1, 2), (each["H"] // 8, each["W"] // 8), way) for each in bindings]
    return Exported(tuple(arrays), tuple(bindings), (1, cut(H, 8), cut(W, 8), 8))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("bindings", [[NATIVE, SMALLER], [SMALLER, NATIVE], [NATIVE, LARGER]])
def test_an_interpolated_table(way: Interpolation, bindings: list[dict[str, int]]) -> None:
    found = resized(table(way, bindings))

    if not way.cubic and not way.corners and bindings[1] == LARGER:
        # Whether it is smoothed where it shrinks was not seen.
        assert found is not None
        assert [(limit.size, limit.most) for limit in found.limits] == [(0 - cut(H, 8), -4), (0 - cut(W, 8), -5)]
    assert found is not None
    assert not found.others
    assert str(way) in found.words or found.limits
    small = {"H": 16, "W": 24}
    for other in ({"H": 40, "W": 72}, NATIVE, *([] if found.limits else [small])):
        assert alike(found.at(other), interpolated(GRID, (1, 2), (other["H"] // 8, other["W"] // 8), way))
        assert np.allclose(run(found, other), found.at(other), atol=1e-5)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_table_is_interpolated_as_torch_does(way: Interpolation) -> None:
    options: dict[str, Any] = {
        "mode": "bicubic" if way.cubic else "bilinear",
        "antialias": way.smooth,
        "align_corners": way.corners,
    }
    for size in ((7, 6), (3, 2), (4, 5), (9, 3)):
        tensor = torch.from_numpy(GRID).permute(0, 3, 1, 2)
        wanted = torch.nn.functional.interpolate(tensor, size=size, **options).permute(0, 2, 3, 1).numpy()

        assert np.allclose(interpolated(GRID, (1, 2), size, way), wanted, atol=2e-6)


def test_a_product_of_ramps_is_no_table() -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        y, x = ((np.arange(size) - size // 2) / (size // 2) for size in (H, W))
        return np.multiply.outer(2 * y, 1 - x).astype(np.float32)

    assert resized(exported(make, (H, W), {"H": 35, "W": 9}, {"H": 29, "W": 13})) is None


def test_a_table_that_is_not_interpolated() -> None:
    constant = table(WAYS[0], [NATIVE, LARGER])
    wrong = constant.arrays[1].copy()
    wrong[0, 0, 0, 0] += 1e-3

    assert resized(constant._replace(arrays=(constant.arrays[0], wrong))) is None
    assert resized(table(WAYS[0], [SMALLER, LARGER])) is None
    masked = tuple(
        np.where(np.arange(array.shape[2])[:, None] > 1, np.float32(-3e38), array) for array in constant.arrays
    )
    assert resized(constant._replace(arrays=masked)) is None
