"""Numbers of which what must be equal tells what they stand for, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import onnx_ir as ir
import pytest

from onereshape.models.facts.asking import Dims
from onereshape.models.facts.walk import Scope
from onereshape.models.like.fitting import _Fitting
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


def in_windows(g: Export, layers: int, *, lettered: bool) -> str:
    """Attention inside of windows of 6, to which every layer pads, and then cuts again."""
    size = g.sizes["S"]
    count = -(-size // 6)
    data = g.x(1, "S", 8)
    for _ in range(layers):
        whole = [g.node("Pad", data, ints(g, 0, 0, 0, 0, 6 * count - size, 0)) for _ in range(3)]
        one, other, last = (g.node("Reshape", each, ints(g, 1, count, 6, 8)) for each in whole)
        if lettered:
            scores = g.node("Einsum", one, other, equation="...qd,...kd->...qk")
            mixed = g.node("Einsum", g.node("Softmax", scores, axis=-1), last, equation="bnqk,bnkd->bnqd")
        else:
            scores = g.node("MatMul", one, g.node("Transpose", other, perm=[0, 1, 3, 2]))
            mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), last)
        flat = g.node("Reshape", mixed, ints(g, 1, -1, 8))
        data = g.node("Add", data, g.node("Slice", flat, ints(g, 0), ints(g, size), ints(g, 1)))
    return data


@pytest.mark.parametrize("lettered", [False, True])
def test_what_a_product_must_be_is_known_before_it_is_told(lettered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both operands are padded by numbers that are open, and are as large all the same: the next layer is read too."""
    walks: list[int] = []
    run = _Fitting.run

    def counted(walk: _Fitting, dims: Mapping[ir.Value, Dims]) -> Scope:
        walks[-1] += 1
        return run(walk, dims)

    monkeypatch.setattr(_Fitting, "run", counted)
    for layers in (1, 6):
        walks.append(0)
        build = partial(in_windows, layers=layers, lettered=lettered)
        case = Case(f"{layers} layers, {lettered}", build, ({"S": 12}, {"S": 23}), ({"S": 6}, {"S": 16}, {"S": 41}))
        assert verdict(case, EXPORTERS[0]).status == "right"
    assert walks[0] == walks[1]
