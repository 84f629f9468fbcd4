"""Numbers of which what must be equal tells what they stand for, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.graphs.facts.scope import Dims, Scope
from onereshape.repair.fitting.fitted import _Fitting
from tests.repair.fitting.exporting import EXPORTERS, Case, Export
from tests.repair.fitting.law import fitted, verdict
from tests.repair.fitting.world_numbers import ints


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


def cut_to_the_input(g: Export, *, added: bool) -> str:
    """A half of a sequence, made twice as long, and cut to what the sequence was; perhaps added to that."""
    x = g.x(1, 2, "S")
    longer = g.node("Resize", halves(g, x), "", g.constant([1.0, 1.0, 2.0]), mode="nearest")
    cut = g.node("Slice", longer, ints(g, 0), ints(g, g.sizes["S"]), ints(g, 2))
    return g.node("Add", cut, x) if added else g.node("Relu", cut)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_an_end_that_may_be_a_smaller_size_than_that_of_the_data_is_open(exporter: str) -> None:
    """Even sizes do not tell whether anything is cut; an odd one does, and so does what the result is added to."""
    unseen = ({"S": 6}, {"S": 9}, {"S": 31})
    even, odd = ({"S": 12}, {"S": 20}), ({"S": 12}, {"S": 23})

    found = verdict(Case("cut to the input", partial(cut_to_the_input, added=False), even, unseen), exporter)
    assert found.status == "refused"
    assert "can be read as 2*floor((S + 1)/2) or as S" in found.why
    assert "at S = 21" in found.why
    for added, exports in ((False, odd), (True, even), (True, odd)):
        name = f"cut to the input, {'added' if added else 'alone'}"
        case = Case(name, partial(cut_to_the_input, added=added), exports, unseen)
        assert verdict(case, exporter) == ("right", "", ())


def padded_to_eights(g: Export, *, cut: bool) -> str:
    """As many entries as make whole eights, by what the size leaves; perhaps cut to the size again, and perhaps not."""
    rest = g.node("Mod", ints(g, -g.sizes["S"]), ints(g, 8))
    pads = g.node("Concat", ints(g, 0, 0, 0, 0, 0), rest, axis=0)
    whole = g.node("Softmax", g.node("Pad", g.x(1, 2, "S"), pads), axis=1)
    return g.node("Slice", whole, ints(g, 0), ints(g, g.sizes["S"]), ints(g, 2)) if cut else whole


@pytest.mark.parametrize("cut", [False, True])
def test_a_pad_that_adds_nothing_in_any_export_asks_for_sizes_at_which_it_adds_nothing(cut: bool) -> None:
    """Where it does, the model may do something that no export shows: cut what was added, only if there was any."""
    build = partial(padded_to_eights, cut=cut)
    unseen = ({"S": 8}, {"S": 40})

    name = f"eights, {cut}"
    found = verdict(Case(name, build, ({"S": 16}, {"S": 24}), unseen), "graph")
    assert found == ("right", "", ("S is divisible by 8",))
    found = verdict(Case(name, build, ({"S": 12}, {"S": 23}), (*unseen, {"S": 5}, {"S": 33})), "graph")
    assert found == ("right", "", ())


def in_steps(g: Export, before: int, after: int) -> str:
    whole = g.node("Pad", g.x(1, 2, "S"), ints(g, 0, 0, before, 0, 0, after))
    return g.node("MaxPool", whole, kernel_shape=[3], strides=[2])


@pytest.mark.parametrize(
    ("pads", "sizes", "conditions"),
    [
        ((0, 1), (12, 20), ("S is divisible by 2",)),
        ((1, 1), (13, 21), ("S leaves 1 when divided by 2",)),
        ((1, 1), (12, 20), ()),
        ((0, 1), (12, 23), ("S >= 2, since no window is longer than what it goes over",)),
    ],
)
def test_what_same_padding_adds_at_the_rests_of_all_exports_asks_for_these(
    pads: tuple[int, int], sizes: tuple[int, int], conditions: tuple[str, ...]
) -> None:
    """At odd sizes it adds one more, and at even ones one less."""
    exports = tuple({"S": size} for size in sizes)
    _, found = fitted(Case("same", partial(in_steps, before=pads[0], after=pads[1]), exports, ()), "graph")

    assert found == conditions


def in_pairs(g: Export) -> str:
    return g.node("Reshape", g.x(1, "H", "W"), ints(g, 1, g.sizes["H"] * g.sizes["W"] // 2, 2))


def test_sizes_that_must_be_equal_and_are_not_are_told() -> None:
    """Two exports that have as many pixels: the model runs only where there are as many."""
    _, conditions = fitted(Case("pairs", in_pairs, ({"H": 10, "W": 14}, {"H": 14, "W": 10}), ()), "graph")

    swapped = "H + W = 24, since no export shows what depends on it"
    assert conditions == ("H*W = 140, since both are one dim of a tensor", swapped)


def joined(g: Export) -> str:
    return g.node("Relu", g.node("Concat", g.x(1, "S", 2), g.x(1, "T", 2, name="z"), axis=1))


def as_rows(g: Export) -> str:
    return g.node("Reshape", g.x(1, 2, "H", "W"), ints(g, 0, 2, -1))


@pytest.mark.parametrize(
    ("build", "exports", "conditions"),
    [
        (joined, ({"S": 9, "T": 16}, {"S": 14, "T": 11}), ("S + T = 25",)),
        (joined, ({"S": 9, "T": 16}, {"S": 14, "T": 12}), ()),
        (as_rows, ({"H": 8, "W": 15}, {"H": 12, "W": 10}), ("H*W = 120",)),
        (as_rows, ({"H": 8, "W": 15}, {"H": 15, "W": 8}), ("H + W = 23", "H*W = 120")),
        (as_rows, ({"H": 8, "W": 15}, {"H": 12, "W": 11}), ()),
        (as_rows, ({"H": 8, "W": 8}, {"H": 12, "W": 12}), ("H = W",)),
    ],
)
def test_a_size_of_several_that_is_the_same_in_all_exports_is_told(
    build: Callable[[Export], str], exports: tuple[dict[str, int], ...], conditions: tuple[str, ...]
) -> None:
    """A constant may be made of it: what it is elsewhere, no export shows."""
    _, found = fitted(Case("still", build, exports, ()), "graph")

    assert found == tuple(f"{each}, since no export shows what depends on it" for each in conditions)


def places_as_rows(g: Export) -> str:
    """The places of a small picture as rows, by a -1, and as a picture again."""
    small = g.node("MaxPool", g.x(1, 2, "H", "W"), kernel_shape=[8, 8], strides=[8, 8])
    last = g.node("Transpose", small, perm=[0, 2, 3, 1])
    rows = g.node("Softmax", g.node("Reshape", last, ints(g, -1, 2)), axis=1)
    return g.node("Mul", rows, g.node("Reshape", last, ints(g, -1, 1, 2)))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_is_1_in_all_exports_goes_with_those_that_take_the_rest(exporter: str) -> None:
    """One place in both exports: it is no part of the two channels behind it."""
    exports, unseen = ({"H": 8, "W": 9}, {"H": 12, "W": 14}), ({"H": 16, "W": 24}, {"H": 33, "W": 9})

    assert verdict(Case("places", places_as_rows, exports, unseen), exporter) == ("right", "", ())


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


def patches(g: Export) -> str:
    """Patches of 4 x 4; each axis has a Pad of its own before them."""
    h, w = g.sizes["H"], g.sizes["W"]
    data = g.node(
        "Abs", g.x(1, 2, "H", "W")
    )  # onnxruntime makes one node of a Pad by 0 and a MaxPool, whatever its signs
    wide = g.node("Pad", data, ints(g, 0, 0, 0, 0, 0, 0, 0, -w % 4))
    whole = g.node("Pad", wide, ints(g, 0, 0, 0, 0, 0, 0, -h % 4, 0))
    return g.node("MaxPool", whole, kernel_shape=[4, 4], strides=[4, 4])


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_stride_tells_what_each_of_several_pads_adds(exporter: str) -> None:
    exports, unseen = (
        ({"H": 12, "W": 18}, {"H": 15, "W": 21}),
        ({"H": 9, "W": 12}, {"H": 30, "W": 31}, {"H": 8, "W": 5}),
    )

    assert verdict(Case("patches", patches, exports, unseen), exporter) == ("right", "", ())


def last_places(g: Export) -> str:
    """Queries times their places: they are the last ones of all keys."""
    s, t = g.sizes["S"], g.sizes["T"]
    queries = g.node("Mul", g.x(1, "S", 2), g.constant(np.arange(t - s, t, dtype=np.float32)[:, None]))
    keys = g.node("ReduceMean", g.x(1, "T", 2, name="z"), axes=[1], keepdims=1)
    return g.node("Add", queries, keys)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_start_that_may_be_the_difference_of_two_sizes_is_open(exporter: str) -> None:
    """10 and 14 are S + 4 too."""
    found = verdict(Case("last", last_places, ({"S": 6, "T": 16}, {"S": 10, "T": 24}), ()), exporter)

    assert found.status == "refused"
    assert "from S or" in found.why
    assert "from -S + T" in found.why


def long_behind(g: Export, layers: int) -> str:
    """Windows in each layer, and much behind them."""
    data = in_windows(g, layers, lettered=False)
    for _ in range(1000):
        data = g.node("Relu", data)
    return data


@pytest.mark.parametrize("layers", [1, 40])
def test_what_is_open_is_told_before_all_is_walked_over(layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[ir.Node] = []
    visit = _Fitting.visit

    def noted(walk: _Fitting, node: ir.Node, scope: Scope) -> None:
        visited.append(node)
        visit(walk, node, scope)

    monkeypatch.setattr(_Fitting, "visit", noted)
    case = Case(f"long behind {layers}", partial(long_behind, layers=layers), ({"S": 12}, {"S": 23}), ())
    fitted(case, EXPORTERS[0])

    assert len(visited) < 1.6 * len(set(visited))
