"""Axes that are products of others."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from onereshape.models.like.exported import Array, Exported, Fit, agrees
from onereshape.models.like.families.products import flattened, product_of, splits
from onereshape.sizes import Size, cut, over, symbol
from tests.like.making import counts, exported, run

H, W, S = symbol("H"), symbol("W"), symbol("S")
A, C, B = {"H": 64, "W": 64}, {"H": 128, "W": 96}, {"H": 96, "W": 160}


def grid(*, H: int, W: int, step: int = 8) -> Array:  # noqa: N803 - sizes are called so
    """The places of a picture, row by row, x before y."""
    y, x = np.mgrid[0 : H // step, 0 : W // step]
    return ((np.stack([x, y], -1).reshape(-1, 2) + 0.5) * step).astype(np.float32)


def columns(*, H: int, W: int) -> Array:  # noqa: N803
    """The same column by column."""
    return np.ascontiguousarray(grid(H=H, W=W).reshape(H // 8, W // 8, 2).swapaxes(0, 1).reshape(-1, 2))


def fit(constant: Exported) -> Fit | None:
    return product_of(constant, counts)


@pytest.mark.parametrize("make", [grid, columns])
@pytest.mark.parametrize(
    ("size", "known"),
    [
        (cut(H, 8) * cut(W, 8), ()),
        (over(H * W, 64), ()),
        (over(H * W, 64), (over(H, 8), over(W, 8))),
    ],
)
def test_a_grid_row_by_row_or_column_by_column(make: partial[Array], size: Size, known: tuple[Size, ...]) -> None:
    found = fit(exported(make, (size, 2), A, C, known=known))

    assert found is not None
    assert np.array_equal(found.at(B), make(**B))
    assert np.array_equal(run(found, B), make(**B))


def test_a_product_of_sums_is_found_among_the_known_sizes() -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        return np.add.outer(np.arange(H + 1) * 10, np.arange(W + 1)).reshape(-1)

    size = (H + 1) * (W + 1)
    constant = exported(make, (size,), {"H": 3, "W": 3}, {"H": 5, "W": 4})

    assert fit(constant) is None
    found = fit(constant._replace(known=(H + 1, W + 1, H, S)))
    assert found is not None
    assert np.array_equal(run(found, {"H": 7, "W": 2}), make(7, 2))


def test_a_number_is_a_factor() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.add.outer(np.arange(S) * 3, [7, 1, 4]).reshape(-1)

    found = fit(exported(make, (3 * S,), {"S": 4}, {"S": 9}))

    assert found is not None
    assert np.array_equal(run(found, {"S": 6}), make(6))


def test_squares_cannot_tell_rows_from_columns() -> None:
    constant = exported(grid, (cut(H, 8) * cut(W, 8), 2), A, {"H": 128, "W": 128})

    assert fit(constant) is None


def test_near_misses() -> None:
    constant = exported(grid, (cut(H, 8) * cut(W, 8), 2), A, C)
    wrong = constant.arrays[1].copy()
    wrong[70, 1] += 1

    assert fit(constant._replace(arrays=(constant.arrays[0], wrong))) is None
    assert splits(constant._replace(dims=(S, 2)), 0) == []


def test_places_counted_through_both_axes() -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        return np.arange(H * W).reshape(H, W)

    constant = exported(make, (H, W), {"H": 3, "W": 3}, {"H": 5, "W": 4})
    found = flattened(constant, counts)

    assert found is not None
    assert agrees(found, constant)
    assert np.array_equal(run(found, {"H": 2, "W": 7}), make(2, 7))
