"""Numbers of which what must be equal tells what they stand for, one after the other."""

from __future__ import annotations

import pytest

from tests.like.exporting import EXPORTERS, Case, Export
from tests.like.law import verdict
from tests.like.world_numbers import ints


def padded_windows(g: Export) -> str:
    """A picture in windows of 3 x 3 and back, padded to whole windows; every width of these lacks one column."""
    h, w = g.sizes["H"] // 4, g.sizes["W"] // 4
    high, wide = -(-h // 3), -(-w // 3)
    picture = g.node("AveragePool", g.x(1, 2, "H", "W"), kernel_shape=[4, 4], strides=[4, 4])
    last = g.node("Transpose", picture, perm=[0, 2, 3, 1])
    whole = g.node("Pad", last, ints(g, 0, 0, 0, 0, 0, 3 * high - h, 3 * wide - w, 0))
    parts = g.node("Reshape", whole, ints(g, 1, high, 3, wide, 3, 2))
    windows = g.node("Transpose", parts, perm=[0, 1, 3, 2, 4, 5])
    rows = g.node("Softmax", g.node("Reshape", windows, ints(g, high * wide, 9, 2)), axis=1)
    back = g.node("Reshape", rows, ints(g, 1, high, wide, 3, 3, 2))
    again = g.node("Transpose", back, perm=[0, 1, 3, 2, 4, 5])
    return g.node("Reshape", again, ints(g, 1, 3 * high, 3 * wide, 2))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_is_told_of_one_number_is_known_before_the_next_is_read(exporter: str) -> None:
    """The count of windows is open at first, and the next places that have it were read as what else was there."""
    exports = {"H": 36, "W": 44}, {"H": 52, "W": 68}
    unseen = {"H": 48, "W": 32}, {"H": 64, "W": 128}, {"H": 60, "W": 44}

    assert verdict(Case("windows", padded_windows, exports, unseen), exporter).status == "right"
