"""Counts from a size with a number of its own added: two exports do not tell them from counts of another start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.families.affine import affine
from onereshape.rule.sizes import Size, symbol
from tests.repair.fitting.exports import exported, holds

H, W = symbol("H"), symbol("W")
Sizes = tuple[tuple[int, int], tuple[int, int]]
CROSSED: Sizes = ((12, 20), (23, 9))
"""One size falls as the other one grows."""
EVEN: Sizes = ((8, 8), (12, 16))
NEXT: Sizes = ((16, 16), (17, 17))

DOUBTED: dict[str, tuple[Sizes, Callable[[int, int], Any]]] = {
    "half of another size": (CROSSED, lambda h, w: np.arange(h) + w // 2),
    "half of it, rounded up": (CROSSED, lambda h, w: np.arange(h) + (w + 1) // 2),
    "half of one less": (CROSSED, lambda h, w: np.arange(h) + (w - 1) // 2),
    "half and one more": (CROSSED, lambda h, w: np.arange(h) + w // 2 + 1),
    "half that is not rounded": (CROSSED, lambda h, w: np.float32(np.arange(h) + w / 2)),
    "steps from half": (CROSSED, lambda h, w: np.float32(16 * (np.arange(h) + w // 2))),
    "half of an even size": (EVEN, lambda h, w: np.arange(h) + w // 2),
    "backwards from half": (EVEN, lambda h, w: w // 2 - np.arange(h)),
    "half of its own size": (NEXT, lambda h, _: np.arange(h) + (h + 1) // 2),
    "a number that makes it half": (NEXT, lambda h, _: np.arange(h) + h - 8),
}
TOLD: dict[str, tuple[tuple[Size, ...], Callable[[int, int], Any]]] = {
    "from its size and a number": ((H,), lambda h, _: np.arange(h) + h + 5),
    "back from its size and a number": ((H,), lambda h, _: 7 - np.arange(h) + h),
    "differences from one more": ((H, H), lambda h, _: np.arange(h) - np.arange(h)[:, None] + h + 1),
    "the middle and a number": ((H,), lambda h, _: np.float32(np.arange(h) - h / 2 + 3)),
    "steps from the middle": ((H,), lambda h, _: np.float32(8 * (np.arange(h) - h // 2) + 3)),
}


@pytest.mark.parametrize("name", DOUBTED)
def test_a_number_that_is_added_has_rivals(name: str) -> None:
    sizes, true = DOUBTED[name]
    fit = affine(exported(true, (H,), *({"H": h, "W": w} for h, w in sizes)))
    assert fit is not None
    assert fit.others
    assert any(_is_true(each.at, true) for each in (fit, *fit.others)), "what is true is one of the readings"


def _is_true(at: Callable[[dict[str, int]], Array], true: Callable[[int, int], Any]) -> bool:
    return all(np.array_equal(at({"H": h, "W": w}), true(h, w)) for h, w in ((21, 15), (30, 18)))


@pytest.mark.parametrize("name", TOLD)
@pytest.mark.parametrize("sizes", [CROSSED, ((11, 20), (16, 37))])
def test_a_number_that_nothing_else_explains_is_added(name: str, sizes: Sizes) -> None:
    dims, true = TOLD[name]
    case = exported(true, dims, *({"H": h, "W": w} for h, w in sizes))
    fit = holds(affine(case), case, true, {"H": 30, "W": 7}, {"H": 9, "W": 31})
    assert not fit.others


def test_a_size_that_a_tensor_has_is_a_rival() -> None:
    def true(h: int, w: int) -> Array:
        return np.arange(h) + h * w

    case = exported(true, (H,), {"H": 3, "W": 4}, {"H": 7, "W": 2})
    assert (fit := affine(case)) is not None
    assert not fit.others  # 12 and 14 are 16 - W
    assert (fit := affine(case._replace(known=(H * W,)))) is not None
    assert fit.others
