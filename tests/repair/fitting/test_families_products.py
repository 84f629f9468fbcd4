"""Axes that are products of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, agrees, distinct
from onereshape.repair.fitting.families import fit_of, readings_of
from onereshape.repair.fitting.families.products import flattened, product_of, splits
from onereshape.rule.sizes import Size, cut, over, symbol
from tests.repair.fitting.making import counts, exported, run

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


def test_a_product_of_sums() -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        return np.add.outer(np.arange(H + 1) * 10, np.arange(W + 1)).reshape(-1)

    size = (H + 1) * (W + 1)
    constant = exported(make, (size,), {"H": 3, "W": 3}, {"H": 5, "W": 4})

    for known in ((), (H + 1, W + 1, H, S)):
        found = fit(constant._replace(known=known))
        assert found is not None
        assert np.array_equal(run(found, {"H": 7, "W": 2}), make(7, 2))


def test_sums_that_were_multiplied() -> None:
    constant = exported(grid, (0,), A)
    for one, other in ((2 * H - 1, 2 * W - 1), (H + 3, 5 * W - 2), (3 * H + 1, W + 1)):
        found = splits(constant._replace(dims=(one * other,)), 0)
        assert (one, other) in found or (other, one) in found
        assert all(first * second == one * other for first, second in found)
    assert splits(constant._replace(dims=(H * W + H + W,)), 0) == []


def test_a_number_is_a_factor() -> None:
    def make(S: int) -> Array:  # noqa: N803
        return np.add.outer(np.arange(S) * 3, [7, 1, 4]).reshape(-1)

    found = fit(exported(make, (3 * S,), {"S": 4}, {"S": 9}))

    assert found is not None
    assert np.array_equal(run(found, {"S": 6}), make(6))


def test_squares_cannot_tell_rows_from_columns() -> None:
    constant = exported(grid, (cut(H, 8) * cut(W, 8), 2), A, {"H": 128, "W": 128})
    found = fit(constant)

    assert found is not None
    (other,) = found.others
    assert np.array_equal(found.at(C), grid(**C))
    assert not np.array_equal(other.at(C), grid(**C))
    assert [each.words.split(":")[0] for each in (found, other)] == [
        "with axis 0 as floor(H/8) times floor(W/8)",
        "with axis 0 as floor(W/8) times floor(H/8)",
    ]
    assert fit_of(constant) is None
    assert len(readings_of(constant)) == 2


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


@pytest.mark.parametrize("scale", [lambda size: size // 2, lambda size: size / 2, lambda size: (size + 1) // 2])
def test_what_sizes_do_not_tell_of_a_picture_they_do_not_tell_of_its_rows(scale: Callable[[int], float]) -> None:
    def make(H: int, W: int) -> Array:  # noqa: N803
        y, x = np.mgrid[0:H, 0:W].astype(np.float32)
        return np.stack([x / np.float32(scale(W)), y / np.float32(scale(H))], -1)

    def rows(H: int, W: int) -> Array:  # noqa: N803
        return make(H, W).reshape(-1, 2)

    even, odd = {"H": 32, "W": 64}, {"H": 33, "W": 47}
    for sizes, several in (((even, {"H": 64, "W": 96}), True), ((even, odd), False)):
        whole, flat = (
            readings_of(exported(kind, dims, *sizes)) for kind, dims in ((make, (H, W, 2)), (rows, (H * W, 2)))
        )
        assert (len(whole) > 1, len(flat) > 1) == (several, several)
        assert not flat or any(np.allclose(each.at(odd), rows(**odd)) for each in flat)


def test_readings_that_differ_at_odd_sizes_alone_are_two() -> None:
    def half(at: Binding) -> Array:
        return np.full(2, at["H"] / 2)

    def rounded(at: Binding) -> Array:
        return np.full(2, float(at["H"] // 2))

    def written(_writer: Rewriter) -> ir.Value:
        raise AssertionError

    one, two = Fit("half", half, written), Fit("rounded", rounded, written)
    found = distinct([one, two, one], exported(grid, (cut(H, 8) * cut(W, 8), 2), A, C))

    assert found is not None
    assert [each.words for each in found.others] == ["rounded"]
