"""Numbers of which what must be equal tells what they stand for, one after the other."""

from __future__ import annotations

import pytest

from tests.like.exporting import EXPORTERS, Case, Export
from tests.like.law import fitted, verdict
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


def halves(g: Export, data: str) -> str:
    return g.node("MaxPool", data, kernel_shape=[3], strides=[2], pads=[1, 1])


def cut_to_the_other(g: Export) -> str:
    """A quarter of a sequence, made twice as long, and cut to what its half is."""
    half = halves(g, g.x(1, 2, "S"))
    longer = g.node("Resize", halves(g, half), "", g.constant([1.0, 1.0, 2.0]), mode="nearest")
    cut = g.node("Slice", longer, ints(g, 0), ints(g, (g.sizes["S"] + 1) // 2), ints(g, 2))
    return g.node("Add", cut, half)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_an_end_is_that_of_the_data_only_if_the_model_runs_with_it(exporter: str) -> None:
    """In both exports nothing is cut: the end might be that of the data, or that of the other operand."""
    case = Case("cut", cut_to_the_other, ({"S": 12}, {"S": 23}), ({"S": 6}, {"S": 9}, {"S": 14}, {"S": 31}))

    assert verdict(case, exporter) == ("right", "", ())


def in_pairs(g: Export) -> str:
    return g.node("Reshape", g.x(1, "H", "W"), ints(g, 1, g.sizes["H"] * g.sizes["W"] // 2, 2))


def test_sizes_that_must_be_equal_and_are_not_are_told() -> None:
    """Two exports that have as many pixels: the model runs only where there are as many."""
    _, conditions = fitted(Case("pairs", in_pairs, ({"H": 10, "W": 14}, {"H": 14, "W": 10}), ()), "graph")

    assert conditions == ("H*W = 140, since both are the size of the same",)
