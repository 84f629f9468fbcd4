"""Constants that take several families at once."""

from __future__ import annotations

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import alike
from onereshape.repair.fitting.families import fit_of
from onereshape.repair.fitting.families.resized import Interpolation, interpolated
from onereshape.rule.sizes import Formula, Size, cut, over, symbol
from tests.repair.fitting.making import exported, run

H, W, S = symbol("H"), symbol("W"), symbol("S")
A, C, B = {"H": 64, "W": 64}, {"H": 128, "W": 96}, {"H": 96, "W": 160}
DRAWN = np.random.default_rng(2)
ANCHORS = (DRAWN.standard_normal((9, 4)) * 5).round().astype(np.float32)
GRID = DRAWN.standard_normal((1, 8, 8, 6)).astype(np.float32)
FIRST = DRAWN.standard_normal((1, 1, 6)).astype(np.float32)


def shifted_windows(*, H: int, W: int) -> Array:  # noqa: N803 - sizes are called so
    """The mask of windows of 4 x 4 that are shifted by two."""
    height, width = H // 4, W // 4
    regions = np.zeros((height, width), np.float32)
    for number, (rows, columns) in enumerate(np.ndindex(3, 3)):
        cuts = [slice(0, -4), slice(-4, -2), slice(-2, None)]
        regions[cuts[rows], cuts[columns]] = number
    windows = regions.reshape(height // 4, 4, width // 4, 4).swapaxes(1, 2).reshape(-1, 16)
    return np.where(windows[:, None] != windows[:, :, None], np.float32(-100), np.float32(0))


def anchors(*, H: int, W: int) -> Array:  # noqa: N803
    """Nine boxes at each place of three levels."""
    found = []
    for step in (8, 16, 32):
        y, x = np.mgrid[0 : H // step, 0 : W // step] * np.float32(step)
        places = np.stack([x, y, x, y], -1).reshape(-1, 1, 4)
        found.append((places + ANCHORS * step).reshape(-1, 4).astype(np.float32))
    return np.concatenate(found)


def positions(*, H: int, W: int) -> Array:  # noqa: N803
    """A class token, and a grid that is interpolated."""
    grid = interpolated(GRID, (1, 2), (H // 8, W // 8), Interpolation(cubic=True, smooth=True))
    return np.concatenate([FIRST, grid.reshape(1, -1, 6)], 1)


def counted(*, H: int, W: int) -> Array:  # noqa: N803
    return np.arange(H * W).reshape(1, H, W)


def boxes(step: int) -> Size:
    return 9 * cut(H, step) * cut(W, step)


CASES = [
    (shifted_windows, (cut(H, 16) * cut(W, 16), 16, 16)),
    (shifted_windows, (over(H * W, 256), 16, 16)),
    (anchors, (boxes(8) + boxes(16) + boxes(32), 4)),
    (positions, (1, cut(H, 8) * cut(W, 8) + 1, 6)),
    (counted, (1, H, W)),
]


@pytest.mark.parametrize(("make", "dims"), CASES)
def test_several_families_at_once(make: object, dims: tuple[Size, ...]) -> None:
    assert callable(make)
    known = tuple(each for step in (1, 8, 16, 32) for size in (H, W) if isinstance(each := cut(size, step), Formula))
    found = fit_of(exported(make, dims, A, C, known=known))

    assert found is not None
    assert not found.limits
    assert alike(found.at(B), make(**B))
    assert np.allclose(run(found, B), make(**B), atol=1e-5)


@pytest.mark.parametrize(("make", "dims"), CASES[:-1])
def test_squares_tell_too_little(make: object, dims: tuple[Size, ...]) -> None:
    assert callable(make)
    found = fit_of(exported(make, dims, A, {"H": 128, "W": 128}))

    assert found is None


@pytest.mark.parametrize(("make", "dims"), CASES)
def test_an_entry_that_is_another_is_not_taken(make: object, dims: tuple[Size, ...]) -> None:
    assert callable(make)
    constant = exported(make, dims, A, C)
    wrong = constant.arrays[1].copy()
    place = tuple(size // 2 for size in wrong.shape)
    wrong[place] += 1

    assert fit_of(constant._replace(arrays=(constant.arrays[0], wrong))) is None
