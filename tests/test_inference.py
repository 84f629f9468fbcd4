"""`infer`, case by case: how much it knows, what it asks for, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import onereshape as orx
from onereshape.balance import FITS
from onereshape.errors import INT64_MAX
from onereshape.inference import AGREES
from onereshape.shape import Shape
from tests.laws.test_inference import admits, evaluate, holds

Dims = tuple[int, ...]
Answer = tuple[list[Any] | None, *tuple[str, ...]] | str
"""Dims and conditions, or the code of a refusal."""

COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    "onnx copied": ("onnx", {"allowzero": 0}),
    "onnx literal": ("onnx", {"allowzero": 1}),
    "openvino copied": ("openvino", {"special_zero": True}),
    "openvino literal": ("openvino", {"special_zero": False}),
}
COPIED = ("onnx copied", "openvino copied")
LITERAL = ("onnx literal", "openvino literal")


def answered(data: Any, target: Any, spec: str, **attributes: Any) -> Answer:
    try:
        answer = orx.infer(data, target, spec, **attributes)
    except orx.ReshapeError as refusal:
        assert str(refusal)  # noqa: PT017 - the message can be built
        return refusal.code
    return (None if answer.dims is None else list(answer.dims), *answer.conditions)


def ask(column: str, data: Any, target: Any, **bounds: Any) -> Answer:
    name, attributes = COLUMNS[column]
    return answered(data, target, name, bounds=bounds or None, **attributes)


def each(data: Any, target: Any, **bounds: Any) -> Answer:
    """The answer of all four columns, where it is one."""
    answers = {column: ask(column, data, target, **bounds) for column in COLUMNS}
    first = answers["onnx copied"]

    assert answers == dict.fromkeys(COLUMNS, first)
    return first


# Side by side with the other engines that infer


@dataclass(frozen=True, slots=True)
class Row:
    """A question, our answer, and the tightest sound answer that another engine gives under the meaning of 0 named."""

    data: list[Any] | None
    target: list[Any]
    zero: Literal["copied", "literal"]
    ours: Answer
    peer: str
    theirs: list[Any] | None
    """None: it refuses."""
    others: Mapping[str, Answer] = field(default_factory=dict)
    """Columns of which the answer is another one."""

    def but(self, others: Mapping[str, Answer]) -> Row:
        return replace(self, others=others)

    def answer(self, column: str) -> Answer:
        return self.others.get(column, self.ours)

    def __str__(self) -> str:
        return f"{self.data} by {self.target} {self.zero}"


N1, M1 = "N >= 1", "M >= 1"


def literally(answer: Answer) -> dict[str, Answer]:
    return dict.fromkeys(LITERAL, answer)


def copied_by_openvino(answer: Answer) -> dict[str, Answer]:
    """Where ONNX asks that a copied dim is not 0, and OpenVINO does not; a literal 0 is refused by both."""
    return literally("zero-with-inferred") | {"openvino copied": answer}


ROWS = [
    Row(["N", "M"], [-1], "literal", (["M*N"],), "JAX", ["M*N"]),
    Row(["N", 6], [-1, 3], "literal", (["2*N", 3],), "torch", ["2*N", 3]),
    Row(["N", 6], [-1, 4], "literal", (["3*N/2", 4], "N is divisible by 2"), "torch", ["3*N/2", 4]),
    Row(["N", 1], [-1], "literal", (["N"],), "OpenVINO", ["N"]),
    Row(["N"], [-1, 1], "literal", (["N", 1],), "OpenVINO", ["N", 1]),
    Row([2, "N"], [-1, 2], "literal", (["N", 2],), "OpenVINO", ["N", 2]),
    Row(["N", 3, 4], [0, -1], "copied", (["N", 12], N1), "OpenVINO", ["N", 12]).but(copied_by_openvino((["N", 12],))),
    Row(["N", "M", 4], [0, -1], "copied", (["N", "4*M"], N1), "JAX", ["N", "4*M"]).but(
        copied_by_openvino((["N", "4*M"],))
    ),
    Row(["N", "M", 4], [-1, 0], "copied", (["4*N", "M"], M1), "JAX", ["4*N", "M"]).but(
        copied_by_openvino((["4*N", "M"],))
    ),
    Row(["N", "N", 4], [0, -1], "copied", (["N", "4*N"], N1), "torch", ["N", "4*N"]).but(
        copied_by_openvino((["N", "4*N"],))
    ),
    Row(["N", 3, 4], ["N", -1], "copied", (["N", 12], N1), "OpenVINO", ["N", 12]).but(
        {"openvino copied": (["N", 12],)}
    ),
    Row(["N", "M"], ["M", -1], "copied", (["M", "N"], M1), "OpenVINO", ["M", "N"]),
    Row(["N", "M"], ["M", "N"], "copied", (["M", "N"], M1, N1), "ONNX", ["M", "N"]).but(literally((["M", "N"],))),
    Row(["N", 768], ["N", 12, 64], "copied", (["N", 12, 64],), "ONNX", ["N", 12, 64]),
    Row(["N", 768], ["N", 12, 63], "copied", ([0, 12, 63], "N = 0"), "ONNX", ["N", 12, 63]),
    Row([2, 3, 4], [2, None], "copied", ([2, 12], "target[1] = 12 or -1"), "ONNX", [2, None]),
    Row([2, 3, 4], [None, -1], "copied", ([(1, 24), (1, 24)], FITS), "ONNX", [None, None]),
    Row([2, 3, 4], [None, None], "copied", ([(1, 24), (1, 24)], FITS), "ONNX", [None, None]),
    Row(None, [3, 4], "literal", ([3, 4], "size(data) = 12"), "ONNX", [3, 4]),
    Row(None, [-1, 4], "literal", ([None, 4], "size(data) is divisible by 4"), "ONNX", [None, 4]),
    Row(None, [0, 4], "copied", ([None, 4], "rank(data) >= 1", "size(data)/data[0] = 4"), "ONNX", [None, 4]).but(
        literally(([0, 4], "size(data) = 0"))
    ),
    Row(None, [0, -1], "copied", ([(1, None), None], "rank(data) >= 1", "data[0] >= 1"), "ONNX", [None, None]).but(
        copied_by_openvino(([None, None], "rank(data) >= 1"))
    ),
    Row(["N", 0], [-1, 5], "literal", ([0, 5],), "OpenVINO", [0, 5]),
    Row(["N", 0], [5, 5], "literal", "impossible-volume", "torch", None),
    Row(["N", 7], [4, 9], "literal", "impossible-volume", "torch", None),
    Row(["N", 6], [4, 9], "literal", ([4, 9], "N = 6"), "ONNX", [4, 9]),
    Row([None, 6], [-1, 3], "literal", ([None, 3],), "ONNX", [None, 3]),
    Row(["N", "N"], [-1], "literal", (["N*N"],), "JAX", ["N*N"]),
    Row(["N", "M", "K"], ["M", -1], "copied", (["M", "K*N"], M1), "JAX", ["M", "K*N"]),
    Row(["N"], [4, -1], "literal", ([4, "N/4"], "N is divisible by 4"), "torch", [4, "N/4"]),
    Row(["N", 6], [-1, 2], "literal", (["3*N", 2],), "torch", ["3*N", 2]),
    Row(["N", 3], [0, 3], "literal", ([0, 3], "N = 0"), "ONNX", [0, 3]).but(dict.fromkeys(COPIED, (["N", 3],))),
    Row(["N", 3], [0, 3], "copied", (["N", 3],), "ONNX", ["N", 3]).but(literally(([0, 3], "N = 0"))),
]
"""Refusals of torch that come from its example sizes, or from its taking every size for 2 or more, are not in here."""


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_answer(row: Row, column: str) -> None:
    assert ask(column, row.data, row.target) == row.answer(column)


@pytest.mark.parametrize("onednn", ["onednn-reshape", "onednn-static", "onednn-dynamic"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_onednn_answers_as_onnx_does(row: Row, onednn: str) -> None:
    expected = row.answer(f"onnx {row.zero}")

    assert answered(row.data, row.target, onednn, special_zero=row.zero == "copied") == expected


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_at_least_as_tight_as_the_best_sound_peer(row: Row) -> None:
    for column in (f"onnx {row.zero}", f"openvino {row.zero}"):
        answer = ask(column, row.data, row.target)
        if isinstance(answer, str) or row.theirs is None:
            assert isinstance(answer, str)
        else:
            dims, *conditions = answer
            assert contained(Shape(dims, conditions), row.theirs), answer


def test_an_unsound_peer_is_not_followed() -> None:
    """OpenVINO: [1.., 4], though data may be empty."""
    answer = orx.infer(None, [-1, 4], "openvino", special_zero=False)

    assert admits(answer, (0, 4), {})
    assert not contained(answer, [(1, None), 4])


WORLD = [dict(zip("NMK", sizes, strict=True)) for sizes in product(range(13), repeat=3)]


def contained(answer: Shape, theirs: list[Any]) -> bool:
    """Whether every dim is among those that a peer allows, wherever the conditions on symbols hold."""
    assert answer.dims is not None
    about_symbols = [text for text in answer.conditions if not re.search(r"data|target|entries", text)]
    bindings = [names for names in WORLD if all(holds(text, names, ()) for text in about_symbols)]
    return len(answer) == len(theirs) and all(map(_within, answer.dims, theirs, [bindings] * len(theirs)))


def _within(dim: Any, wider: Any, bindings: list[dict[str, int]]) -> bool:
    if wider is None:
        return True
    if isinstance(dim, int | str):
        values = [(evaluate(str(dim), names), names) for names in bindings]
        if isinstance(wider, tuple):
            return all(size is not None and admits(Shape([wider]), (int(size),), {}) for size, _ in values)
        return all(size == evaluate(str(wider), names) for size, names in values)
    low, high = (0, None) if dim is None else dim
    return (
        isinstance(wider, tuple) and wider[0] <= low and (wider[1] is None or (high is not None and high <= wider[1]))
    )


@pytest.mark.parametrize(
    ("dims", "conditions", "theirs", "expected"),
    [
        ([3], [], [3], True),
        ([3], [], [(2, 4)], True),
        ([5], [], [(2, 4)], False),
        ([(2, 4)], [], [(2, None)], True),
        ([(2, None)], [], [(2, 9)], False),
        ([(2, 4)], [], [3], False),
        ([(1, None)], [], [None], True),
        ([None], [], [(1, None)], False),
        (["2*N"], [], [None], True),
        (["2*N"], [], ["N*2"], True),
        (["2*N"], [], ["N"], False),
        ([0], ["N = 0"], ["N"], True),
        ([0], [], ["N"], False),
        ([1, 2], [], [1], False),
    ],
)
def test_the_comparison_with_a_peer(dims: Any, conditions: Any, theirs: Any, expected: bool) -> None:
    assert contained(Shape(dims, conditions), theirs) is expected


# What none of them keeps


def test_1_an_inferred_dim_is_an_exact_quotient_with_its_condition() -> None:
    assert each(["N", 6], [-1, 3]) == (["2*N", 3],)
    assert each(["N"], [4, -1]) == ([4, "N/4"], "N is divisible by 4")
    assert each(["N", 6], [-1, 4]) == (["3*N/2", 4], "N is divisible by 2")
    assert each(["N", "M"], ["K", -1]) == (["K", "M*N/K"], "K >= 1", "M*N is divisible by K")
    assert each(["6*N", "M"], ["2*M", -1]) == (["2*M", "3*N"], M1)
    assert ask("onnx copied", ["N", "S", 768], [0, 0, 12, -1]) == (["N", "S", 12, 64], N1, "S >= 1")
    assert ask("openvino copied", ["N", "S", 768], [0, 0, 12, -1]) == (["N", "S", 12, 64],)


def test_2_the_volume_settles_one_symbol_or_refuses() -> None:
    assert each(["N", 6], [4, 9]) == each(["N", "N"], [4, 9]) == ([4, 9], "N = 6")
    assert each(["N", "M"], [4, 9]) == ([4, 9], "M*N = 36")
    assert each(["N"], []) == ([], "N = 1")
    assert each(["N", 7], [4, 9]) == each(["N", "N"], [5, 7]) == "impossible-volume"
    assert each(["N", 0], [5, 5]) == "impossible-volume"
    assert each([None, 7], [4, 9]) == each([None, 0], [5, 5]) == "impossible-volume"
    assert each(["N", 768], ["N", 12, 63]) == ([0, 12, 63], "N = 0")
    assert each(["N", 768], ["N", 12, 63], N=(1, None)) == "impossible-volume"


def test_3_intervals_are_narrowed_both_ways_and_by_divisibility() -> None:
    assert each([12], [(3, 5), 4]) == ([3, 4], "target[0] = 3")
    assert each([(3, 5)], [(4, 8)]) == ([(4, 5)], FITS, "data[0] >= 4")
    assert each([(1, 8), 6], [-1, 3]) == ([(2, 16), 3],)
    assert each([(2, 8), (4, 16), 6], [-1, 5]) == ([(12, 150), 5], "data[0]*data[1] is divisible by 5")
    assert each([(5, 11)], [4, -1]) == ([4, 2], "data[0] = 8")
    assert each([12], [(5, 7), (1, 2)]) == ([6, 2], FITS)
    assert each([6], [(1, 4), (1, 4)]) == ([(2, 3), (2, 3)], FITS)
    assert each([(7, 8)], [3, -1]) == each([(10, 11)], [4, -1]) == each([(1, 2)], [7]) == "impossible-volume"
    assert each([(1, 4)], [(5, 9)]) == each([7], [(2, 6), None]) == "impossible-volume"


@pytest.mark.parametrize(
    ("data", "target", "expected"),
    [
        ([None, None], [(2, 4)], [(2, 4)]),
        ([None, (2, 3)], [(2, 5), 1], [(2, 5), 1]),
        ([(4, 9), (0, 2)], [(1, 9)], [(1, 9)]),
        (None, [(2, 3), 4], [(2, 3), 4]),
        ([(4, 9), (0, 2)], [-1, (1, 6), (1, 2)], [(0, 18), (1, 6), (1, 2)]),  # the volume may be 0, and is at most 18
        ([(0, 2)], [4, (1, 7), -1], [4, (1, 7), 0]),
    ],
)
def test_3_an_entry_is_never_wider_than_it_was_asked(data: Any, target: Any, expected: Any) -> None:
    """Also where the volume has no limit, or may be 0."""
    assert {column: ask(column, data, target)[0] for column in COLUMNS} == dict.fromkeys(COLUMNS, expected)


def test_4_a_known_0_is_the_volume_whatever_else_is_unknown() -> None:
    assert each([None, 0], [-1, 5]) == each(["N", 0], [-1, 5]) == ([0, 5],)
    assert each([None, 0, (3, 4)], [2, 5, -1]) == ([2, 5, 0],)
    assert ask("onnx literal", ["N", 0], ["M", 5]) == ([0, 5], "M = 0")
    assert ask("onnx literal", [None, 0], [0, 7]) == ([0, 7],)
    assert ask("onnx copied", [None, 0], [0, 7]) == ([0, 7], "data[0] = 0")


def test_5_an_entry_known_only_at_run_time_is_bounded_by_the_others() -> None:
    assert each([2, 3, 4], [2, None]) == ([2, 12], "target[1] = 12 or -1")
    assert each([2, 3, 4], [2, (0, None)]) == ([2, 12], "target[1] = 12")
    assert each([2, 3, 4], [2, (-1, 11)]) == ([2, 12], "target[1] = -1")
    assert each([2, 3, 4], [2, (1, 11)]) == each([2, 3, 4], [5, None]) == "impossible-volume"
    assert each([2, 3, 4], [None, None]) == each([2, 3, 4], [None, -1]) == ([(1, 24), (1, 24)], FITS)
    assert each([1], [None, None, None]) == ([1, 1, 1], FITS)
    assert each(["N", 4], [2, None]) == ([2, "2*N"], FITS)
    assert ask("onnx copied", [2, 3, 4], [2, None, 4]) == ([2, 3, 4], "target[1] = 3 or -1 or 0")
    assert ask("onnx literal", [2, 3, 4], [2, None, 4]) == ([2, 3, 4], "target[1] = 3 or -1")


def test_6_a_symbol_is_cancelled_only_where_it_is_not_0() -> None:
    assert each(["N", "M"], ["M", -1]) == (["M", "N"], M1)
    assert each(["N", "M"], ["M", -1], M=(1, None)) == (["M", "N"],)
    assert ask("onnx literal", ["N", 3, 4], ["N", -1]) == ask("openvino literal", ["N", 3, 4], ["N", -1])
    assert ask("onnx literal", ["N", 3, 4], ["N", -1]) == (["N", 12], N1)
    assert ask("openvino copied", ["N", 3, 4], ["N", -1]) == (["N", 12],)  # a copied dim leaves the division


@pytest.mark.parametrize("column", COLUMNS)
def test_7_the_answer_to_one_reshape_is_the_target_of_another(column: str) -> None:
    name, attributes = COLUMNS[column]
    flat = orx.infer(["N", 6], [-1, 3], name, **attributes)

    assert ask(column, ["N", 6], flat.to_json()) == (["2*N", 3],)
    assert ask(column, [6, "N"], flat.to_json(), N=(1, None)) == (["2*N", 3],)
    assert ask(column, ["N", 7], flat.to_json(), N=(1, None)) == "impossible-volume"


# Where OpenVINO's own inference is wrong


def test_an_entry_that_may_be_0_may_copy() -> None:
    """OpenVINO: 0..4 by 7, though the output of the run is [10, 7]."""
    assert ask("openvino copied", [10, 7], [(0, 4), 7]) == ([10, 7], "target[0] = 0")
    assert ask("openvino copied", [(0, 20), 7], [(0, 4), 7]) == ([(0, 20), 7], FITS)
    assert ask("openvino literal", [10, 7], [(0, 4), 7]) == "impossible-volume"
    assert ask("openvino literal", [(0, 20), 7], [(0, 4), 7]) == ([(0, 4), 7], FITS, "data[0] <= 4")


def test_an_entry_that_may_be_minus_one_may_be_inferred() -> None:
    """OpenVINO: 0..2 by 4, though -1 gives 6."""
    assert each([2, 3, 4], [(-1, 2), 4]) == ([6, 4], "target[0] = -1")


def test_an_inferred_dim_of_data_of_unknown_rank_may_be_0() -> None:
    """OpenVINO: at least 1."""
    assert each(None, [-1, 4]) == ([None, 4], "size(data) is divisible by 4")
    assert orx.infer([0, 4], [-1, 4], "openvino", special_zero=False) == [0, 4]


def test_an_interval_never_has_its_ends_the_wrong_way_round() -> None:
    """OpenVINO: 3..2, and 1..0."""
    assert each([(7, 8)], [3, -1]) == each([(1, 2)], [3, -1]) == "impossible-volume"


# Limits of symbols, opaque expressions, missing ranks and lists


@pytest.mark.parametrize(
    ("data", "target", "bounds", "expected"),
    [
        (["N"], [-1], {"N": (3, 5)}, (["N"],)),
        (["N", 6], [-1, 4], {"N": (3, 5)}, ([6, 4], "N = 4")),
        (["N"], [2, -1], {"N": (3, 7)}, ([2, "N/2"], "N is divisible by 2")),
        (["N"], [5, -1], {"N": (1, 4)}, "impossible-volume"),
        (["N"], [3, -1], {"N": (0, 2)}, ([3, 0], "N = 0")),
        (["N", 4], ["N", -1], {"N": (1, None)}, (["N", 4],)),
        (["N", (2, 3)], [-1], {"N": (1, 4)}, ([(2, 12)],)),
        (["N"], ["M"], {"N": (1, 3), "M": (5, 6)}, "impossible-volume"),
        (["N"], ["M"], {"N": (1, 3), "M": (3, 6)}, (["M"], "N = M")),
        (["N"], [(2, 5)], {"N": (0, 3)}, (["N"], FITS, "N >= 2")),
        (["N"], [7], {"N": (7, 8)}, ([7], "N = 7")),
        (["N"], [7], {"N": [8, None]}, "impossible-volume"),
        (["N"], [-1], {"K": (1, 2)}, (["N"],)),
        (["past + 1"], [4, -1], {"past + 1": (4, 7)}, ([4, 1], "past + 1 = 4")),
    ],
)
def test_bounds(data: Any, target: Any, bounds: Any, expected: Answer) -> None:
    assert each(data, target, **bounds) == expected


@pytest.mark.parametrize(
    ("data", "target", "bounds", "expected"),
    [
        (["N"], [-1], {"N": (2, 2)}, ([2],)),
        (["N"], [2, 3], {"N": (6, 6)}, ([2, 3],)),
        (["N"], [2, 3], {"N": (5, 5)}, "refused"),
        (["N", "M"], [6], {"N": (2, 2)}, ([6], "M = 3")),
        (["N", "M"], [5], {"N": (2, 2)}, "refused"),
        (["N", "M"], [-1], {"N": (0, 0)}, ([0],)),
    ],
)
def test_bounds_that_leave_one_size_are_that_size(data: Any, target: Any, bounds: Any, expected: Answer) -> None:
    answer = each(data, target, **bounds)

    assert ("refused" if isinstance(answer, str) else answer) == expected


@pytest.mark.parametrize(
    ("data", "target"),
    [([3, 8], [(2, 4), -1, "N"]), ([], [(-1, 0), "N", (0, 2)]), ([(1, 3)], [(0, 6), "N", (1, None)])],
)
def test_a_symbol_that_is_0_asks_for_no_elements(data: Any, target: Any) -> None:
    """A literal 0, or a copy beyond the rank."""
    assert {isinstance(ask(column, data, target, N=(0, 0)), str) for column in COLUMNS} == {True}


@pytest.mark.parametrize(
    ("data", "target", "expected"),
    [
        (["past + 1", 4], [-1], (["4*(past + 1)"],)),
        (["2*(past + 1)", 4], [-1], (["8*(past + 1)"],)),
        (["(past + 1)*N"], [-1], (["N*(past + 1)"],)),
        (["past  +  1"], [-1], (["past + 1"],)),
        (["2*(past + 1)"], [2, -1], ([2, "past + 1"],)),
        (["past + 1"], [7], ([7], "past + 1 = 7")),
        (["past + 1"], ["past + 1"], (["past + 1"],)),
        (["past + 1", "N"], ["N", -1], (["N", "past + 1"], N1)),
        ([4, "past + 1"], ["past + 1", 2, -1], (["past + 1", 2, 2], "past + 1 >= 1")),
        (["past + 1"], [2, -1], ([2, "(past + 1)/2"], "past + 1 is divisible by 2")),
        (["6*(past + 1)"], [4, -1], ([4, "3*(past + 1)/2"], "past + 1 is divisible by 2")),
        (["N"], ["past + 1", -1], (["past + 1", "N/(past + 1)"], "past + 1 >= 1", "N is divisible by past + 1")),
        (["floor(N/2)", 2], [-1], (["2*(floor(N/2))"],)),
        (["batch-size", 2], [-1], (["2*(batch-size)"],)),
        (["N * 2", "3*3", "M**2"], [-1], (["18*M*M*N"],)),
        (["0*N", "N**0"], [-1], ([0],)),
    ],
)
def test_expressions(data: Any, target: Any, expected: Answer) -> None:
    """Products are understood; anything else is one symbol, also inside a product, and as it comes back from us."""
    assert each(data, target) == expected


def test_the_names_that_conditions_use_cannot_be_taken() -> None:
    for name in ("data[0]", "(data[0])", "2*(data[0])", "target[1]", "(target[1])", "size(data)", "rank(data)"):
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.infer([(3, 4), name], [-1], "onnx")
        assert refusal.value.code == "bad-dim"


def test_rank_unknown() -> None:
    assert each(None, []) == ([], "size(data) = 1")
    assert each(None, [-1]) == ([None],)
    assert each(None, ["N"], N=(1, None)) == (["N"], "size(data) = N")
    assert each(None, ["N", -1]) == (["N", None], N1, "size(data) is divisible by N")
    assert each(None, [2, None]) == ([2, None], "size(data) is divisible by 2", FITS)
    assert each(None, [None, None]) == ([None, None], FITS)
    assert ask("onnx literal", None, [0]) == ([0], "size(data) = 0")
    assert ask("onnx copied", None, [0, 0])[0] == [None, None]
    assert each(None, [-1, -1]) == "two-inferred"
    assert each(None, [-2]) == "below-minus-one"


def test_target_unknown_or_only_its_length() -> None:
    assert each(None, None) == each(["N"], None) == each([2, 3], None) == (None, AGREES)
    assert each([2, 3], [None]) == ([6], "target[0] = 6 or -1")
    assert each([2, 3], [None, None]) == ([(1, 6), (1, 6)], FITS)
    assert each([], [None, None]) == ([1, 1], FITS)
    assert each(["N", "M"], [None]) == (["M*N"], FITS)


# int64


@pytest.mark.parametrize(
    ("data", "target", "expected"),
    [
        (["N", 2**62], [-1], ([f"{2**62}*N"], "N <= 1")),
        (["N", 2**62], [2**62, -1], ([2**62, "N"], "N <= 1")),
        (["N", 2**40], [-1], ([f"{2**40}*N"], "N <= 8388607")),
        (["N", "M", 2**40], [-1], ([f"{2**40}*M*N"], "M*N <= 8388607")),
        ([None, 2**62], [-1], ([(0, 2**62)], "data[0] <= 1")),
        ([(2, 3), 2**62], [-1], "impossible-volume"),
        ([2**62, "N", 4], [-1], ([0], "N = 0")),
        ([f"{2**63}*N"], [-1], ([0], "N = 0")),
        (["N"], [2**62, 2**62], "impossible-volume"),
        (["N"], [2**62, 4, -1], ([2**62, 4, 0], "N = 0")),
        ([0, INT64_MAX, "N"], [-1], ([0],)),
        (["N", "M"], [INT64_MAX], ([INT64_MAX], f"M*N = {INT64_MAX}")),
        (["N", 2**63], [-1], "overflow"),
        (["N"], [2**63], "overflow"),
        ([(2**63, None)], [-1], "overflow"),
        ([4, "N"], [(2**64, 2**65), -1], "overflow"),
    ],
)
def test_int64(data: Any, target: Any, expected: Answer) -> None:
    assert each(data, target) == expected


@pytest.mark.parametrize(
    ("data", "bounds"),
    [
        ([2**62, "N", 4], {"N": (1, None)}),
        (["N", "N"], {"N": (2**32, None)}),
        (["N", "M"], {"N": (2**40, None), "M": (2**40, None)}),
        ([(2, 3)] * 64, {}),
    ],
)
def test_more_elements_than_int64_counts_at_the_least(data: Any, bounds: Any) -> None:
    assert isinstance(each(data, [-1], **bounds), str)


@pytest.mark.parametrize("text", ["9" * 5000, "2**20000*N", "3*2**20000"], ids=["digits", "power", "coefficient"])
def test_a_coefficient_too_long_to_print(text: str) -> None:
    for data, target in (([text], [3]), ([3], [text]), ([text], [-1])):
        answer = answered(data, target, "onnx")

        assert answer in {"overflow", "impossible-volume"} or "N = 0" in answer


# Each dialect's own rule


BESIDE, EMPTY = "zero-with-inferred", "empty-copy-with-inferred"
ZEROS: list[tuple[Any, Any, tuple[Answer, Answer, Answer]]] = [
    # data, target, and the answers: ONNX and oneDNN copied, OpenVINO copied, all of them literal
    (["N"], [0], ((["N"],), (["N"],), ([0], "N = 0"))),
    (["N", 3], [0, 0], ((["N", 3],), (["N", 3],), ([0, 0], "N = 0"))),
    (["N"], [0, 0], ("copy-beyond-rank", "copy-beyond-rank", ([0, 0], "N = 0"))),
    (["N", "M"], [0, "M"], ((["N", "M"],), (["N", "M"],), ([0, "M"], "M*N = 0"))),
    (["N", 3], [0, -1], ((["N", 3], N1), (["N", 3],), BESIDE)),
    (["N", 0], [0, -1], ((["N", 0], N1), (["N", 0],), BESIDE)),
    ([0, "N"], [0, -1], (EMPTY, ([0, "N"],), BESIDE)),
    ([2, 0, "N"], [0, 0, -1], (EMPTY, ([2, 0, "N"],), BESIDE)),
    ([4, 0, "N"], [-1, 0], (EMPTY, (["4*N", 0],), BESIDE)),
    ([0, "N"], [0, 5, -1], (EMPTY, ([0, 5, "N/5"], "N is divisible by 5"), BESIDE)),
    ([None, 3], [0, -1], (([(1, None), 3], "data[0] >= 1"), ([None, 3],), BESIDE)),
    ([(0, 4), 3], [0, -1], (([(1, 4), 3], "data[0] >= 1"), ([(0, 4), 3],), BESIDE)),
    ([0, "N"], [-1], (([0],), ([0],), ([0],))),
    ([0, "N"], [3, -1], (([3, 0],), ([3, 0],), ([3, 0],))),
]


@pytest.mark.parametrize("dialect", ["onnx", "openvino", "onednn-reshape", "onednn-static", "onednn-dynamic"])
@pytest.mark.parametrize(("data", "target", "answers"), ZEROS)
def test_zeros(dialect: str, data: Any, target: Any, answers: tuple[Answer, Answer, Answer]) -> None:
    flag, copies = ("allowzero", False) if dialect == "onnx" else ("special_zero", True)

    assert answered(data, target, dialect, **{flag: copies}) == answers[dialect == "openvino"]
    assert answered(data, target, dialect, **{flag: not copies}) == answers[2]


@pytest.mark.parametrize("opset", [1, 4, 5, 13, 14, 19, 28])
def test_every_onnx_version(opset: int) -> None:
    assert answered(["N", 3, 4], [0, -1], f"onnx-{opset}") == (["N", 12], N1)


# Shape


SHAPE = orx.infer(["N", (1, 8), None], [0, 0, 0, 1], "onnx")


def test_a_shape_is_a_sequence() -> None:
    assert (len(SHAPE), SHAPE.rank) == (4, 4)
    assert list(SHAPE) == [SHAPE[0], SHAPE[1], SHAPE[2], SHAPE[-1]] == ["N", (1, 8), None, 1]
    assert SHAPE[1:] == ((1, 8), None, 1)
    assert "N" in SHAPE
    assert SHAPE.index(None) == 2
    assert list(reversed(SHAPE)) == [1, None, (1, 8), "N"]
    with pytest.raises(IndexError):
        SHAPE[4]


def test_a_shape_equals_its_dims() -> None:
    assert SHAPE == ["N", (1, 8), None, 1]
    assert SHAPE == ("N", (1, 8), None, 1)
    assert SHAPE == ["N", [1, 8], None, 1] == SHAPE.to_json()
    assert SHAPE != ["N", (1, 8), None]
    assert SHAPE != ["M", (1, 8), None, 1]
    assert SHAPE != "N"
    assert Shape(["N", (1, 8), None, 1]) == SHAPE
    assert Shape([2], ["N = 1"]) != Shape([2])  # as answers they differ
    assert Shape([2], ["N = 1"]) == [2]
    assert Shape(None) != []
    assert Shape(None) == Shape(None)


def test_a_shape_can_be_a_key() -> None:
    again = orx.infer(["N", (1, 8), None], [0, 0, 0, 1], "onnx")

    assert hash(SHAPE) == hash(again) == hash(("N", (1, 8), None, 1))
    assert {SHAPE: 1}[again] == 1
    assert len({Shape([]), Shape(None)}) == 2


def test_a_shape_as_text() -> None:
    assert str(SHAPE) == "[N, 1..8, ?, 1]"
    assert repr(SHAPE) == "Shape [N, 1..8, ?, 1]"
    assert repr(Shape([(3, None)], ["N = 1", "M >= 2"])) == "Shape [3..] if N = 1, M >= 2"
    assert (str(Shape([])), repr(Shape([]))) == ("[]", "Shape []")
    assert repr(Shape(None, [AGREES])) == f"Shape [...] if {AGREES}"


def test_a_shape_of_unknown_rank() -> None:
    shape = orx.infer([2], None, "onnx")

    assert (shape.rank, shape.dims, shape.to_json(), bool(shape)) == (None, None, None, True)
    for use in (len, list, lambda unknown: unknown[0], lambda unknown: 1 in unknown):
        with pytest.raises(TypeError, match="unknown rank"):
            use(shape)


def test_a_shape_is_true_even_if_it_is_a_scalar() -> None:
    assert orx.infer([], [], "onnx")


def test_conditions_are_a_tuple_of_sentences() -> None:
    assert orx.infer(["N"], [4, -1], "onnx").conditions == ("N is divisible by 4",)
    assert orx.infer(["N"], [-1], "onnx").conditions == ()


def test_known_dims_come_back_as_plain_ints() -> None:
    shape = orx.infer(np.array([2, 3]), np.array([-1]), "onnx")

    assert (shape.dims, shape.conditions) == ((6,), ())
    mixed: list[Any] = [np.int64(2), "N"]
    assert [type(dim) for dim in orx.infer(mixed, np.array([2, -1], np.int8), "onnx")] == [int, str]


@pytest.mark.parametrize("target", [[-1, 3], [4, -1], [0, 3, -1], [None, 2], [-1], ["N", -1], [(2, 4), 3, None]])
@pytest.mark.parametrize("data", [["N", 6, (1, 8)], ["past + 1", 6, "M"], [None, 12, "2*N"]])
def test_json_is_the_notation_of_the_input(data: list[Any], target: list[Any]) -> None:
    shape = orx.infer(data, target, "onnx")
    back = shape.to_json()

    assert back is not None
    assert all(dim is None or isinstance(dim, int | str | list) for dim in back)
    assert orx.infer(back, [0] * len(back), "onnx") == shape.dims  # copied: the same dims


# Mistakes


PAIR = "a pair (low, high) of integers with low <= high, or high None"
PLAIN = "an integer, None, a name or a pair"
OWN = "a name of its own"


@pytest.mark.parametrize(
    ("dim", "wanted"),
    [
        (2.5, PLAIN),
        (True, PLAIN),
        (b"N", PLAIN),
        ({}, PLAIN),
        ("", OWN),
        ("  ", OWN),
        ("data[0]", OWN),
        ("size(data)", OWN),
        ((1,), PAIR),
        ((1, 2, 3), PAIR),
        ((None, 3), PAIR),
        ((None, None), PAIR),
        ((3, 2), PAIR),
        ((1.0, 2), PAIR),
        ((True, 2), PAIR),
        (("N", 2), PAIR),
    ],
)
def test_a_bad_dim(dim: Any, wanted: str) -> None:
    for what, data, target in (("data", [2, dim], [-1]), ("target", ["N"], [2, dim])):
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.infer(data, target, "onnx")

        assert refusal.value.sentence == f"{what}[1] is {dim!r}, but a dim is {wanted}"
        assert refusal.value.usage


@pytest.mark.parametrize(
    ("data", "target", "message"),
    [
        (5, [1], "data is 5, not a list of integers"),
        ("N", [1], "data is 'N', not a list of integers"),
        (["N"], "N", "target is 'N', not a list of integers"),
        (["N"], 5, "target is 5, not a list of integers"),
        (np.array(3), [1], "data is array(3), not a list of integers"),
        (["N", -3], [1], "data[1] is -3: a dimension cannot be negative"),
        (["N"], [2, -2], "target[1] is -2: only -1, 0 and positive sizes have a meaning"),
        ([None], [-1, 1, -1], "target[2] is a second -1, after target[0]"),
    ],
)
def test_a_mistake(data: Any, target: Any, message: str) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.infer(data, target, "onnx")

    assert refusal.value.sentence == message


@pytest.mark.parametrize("pair", [(-5, -2), (-1, -1), [-3, -3]])
def test_an_interval_below_0_is_no_dim(pair: Any) -> None:
    assert isinstance(each([pair, 2], [-1]), str)


@pytest.mark.parametrize("pair", [(-5, -2), [-3, -3]])
def test_an_interval_below_minus_one_is_no_entry(pair: Any) -> None:
    assert isinstance(each(["N"], [pair]), str)
    assert each(["N"], [(-1, -1)]) == (["N"],)


@pytest.mark.parametrize(
    "bounds", [{"N": (5, 3)}, {"N": 2.5}, {"N": (1, 2, 3)}, {"N": "M"}, {"N": -3}, {"N": (-5, -2)}, [("N", 3)], 5]
)
def test_bad_bounds(bounds: Any) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.infer(["N"], [5], "onnx", bounds=bounds)

    assert refusal.value.usage


@pytest.mark.parametrize(
    ("spec", "attributes", "code"),
    [
        ("onnx-13", {"allowzero": 0}, "unknown-attribute"),
        ("onnx", {"special_zero": True}, "unknown-attribute"),
        ("onnx", {"allowzero": 2}, "bad-attribute"),
        ("openvino", {}, "missing-attribute"),
        ("openvino", {"special_zero": "yes"}, "bad-attribute"),
        ("onednn-static", {"special_zero": True, "shape": [1]}, "target-twice"),
        ("onx", {}, "unknown-spec"),
    ],
)
def test_the_specification_and_its_attributes(spec: str, attributes: Any, code: str) -> None:
    for data, target in ((["N"], [-1]), (None, None), ([2], [2])):
        assert answered(data, target, spec, **attributes) == code


def test_a_refusal_shows_the_question() -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.infer(["N", None, (1, 8), 7], [4, None, (2, None), 0, 0], "onnx-14")
    error = refusal.value

    assert error.code == "copy-beyond-rank"
    assert str(error).splitlines()[1:3] == ["  data    [N, ?, 1..8, 7]", "  target  [4, ?, 2.., 0, 0]"]
    assert error.to_json()["data"] == ["N", "?", "1..8", 7]
    assert (error.axis, error.spec.name) == (4, "onnx-14")


# Random questions


NAMES = ["K", "M", "N", "past + 1"]
OPAQUE = r"\(past \+ 1\)|past \+ 1"
SIZES = [0, 1, 2, 3, 4, 5, 6, 8, 12]
FLAGS = st.sampled_from(list(COLUMNS.values()))

PAIRS: st.SearchStrategy[tuple[int, int | None]] = st.builds(
    lambda low, more: (low, None if more is None else low + more), st.integers(0, 6), st.none() | st.integers(0, 6)
)
EXPRESSIONS = st.sampled_from(["N", "M", "K", "2*N", "6*M", "M*N", "K*K", "past + 1", "2*(past + 1)", "N*(past + 1)"])
DATA = st.lists(st.sampled_from(SIZES) | EXPRESSIONS | EXPRESSIONS | st.none() | PAIRS, max_size=5)
LIMITS = st.dictionaries(st.sampled_from(NAMES), PAIRS, max_size=2)


@st.composite
def targets(draw: st.DrawFn, data: list[Any] | None) -> list[Any]:
    """Entries that often fit: symbols of data, divisors, at most one -1."""
    known = [dim for dim in data or () if isinstance(dim, str)] or ["N"]
    opened = st.none() | PAIRS | PAIRS.map(lambda pair: (-1, pair[1]))
    entry = st.sampled_from([0, 0, 1, 2, 3, 4, 6, 12]) | st.sampled_from(known) | st.sampled_from(known) | opened
    target = draw(st.lists(entry, max_size=5))
    if draw(st.booleans()):
        target.insert(draw(st.integers(0, len(target))), -1)
    return target


def names_of(*lists: list[Any] | None) -> list[str]:
    text = " ".join(dim for dims in lists for dim in dims or () if isinstance(dim, str))
    return sorted(set(re.findall(r"past \+ 1|[A-Z]", text)))


def filled(dims: list[Any], least: int, names: dict[str, int], rng: Random) -> Dims:
    sizes = []
    for dim in dims:
        low, high = (least, None) if dim is None else dim if isinstance(dim, tuple) else (0, 0)
        if isinstance(dim, str):
            sizes.append(int(evaluate(dim, names) or 0))
        elif isinstance(dim, int):
            sizes.append(dim)
        else:
            sizes.append(rng.randint(low, low + 8 if high is None else high))
    return tuple(sizes)


def sampled(data: Any, target: Any, bounds: Any, rng: Random) -> Iterator[tuple[Dims, Dims, dict[str, int]]]:
    """Sizes for everything that is missing; one open entry often completes the volume."""
    for _ in range(20):
        dims_given = [None] * rng.randint(0, 3) if data is None else data
        names = {}
        for name in names_of(dims_given, target):
            low, high = bounds.get(name, (0, 6))
            names[name] = rng.randint(low, low + 6 if high is None else high)
        names["P"] = names.get("past + 1", 0)
        dims = filled(dims_given, 0, names, rng)
        asked = list(filled(target, -1, names, rng))
        opened = [axis for axis, entry in enumerate(target) if entry is None or isinstance(entry, tuple)]
        if opened:
            axis = rng.choice(opened)
            others = prod(size for index, size in enumerate(asked) if index != axis and size > 0)
            low, high = (-1, None) if target[axis] is None else target[axis]
            if prod(dims) % others == 0 and low <= prod(dims) // others <= (prod(dims) if high is None else high):
                asked[axis] = prod(dims) // others
        more = {f"data[{axis}]": dim for axis, dim in enumerate(dims)}
        more |= {f"target[{axis}]": entry for axis, entry in enumerate(asked)}
        yield dims, tuple(asked), names | more | {"rank(data)": len(dims), "size(data)": prod(dims)}


def plain(answer: Shape) -> Shape:
    """The opaque symbol under a letter, because the reader of conditions takes no parentheses within parentheses."""
    assert answer.dims is not None
    dims = [re.sub(OPAQUE, "P", dim) if isinstance(dim, str) else dim for dim in answer.dims]
    return Shape(dims, [re.sub(OPAQUE, "P", condition) for condition in answer.conditions])


def resolved(data: Dims, target: Dims, spec: str, attributes: Any) -> Dims | str:
    try:
        return orx.resolve(data, target, spec, **attributes)
    except orx.ReshapeError as refusal:
        return refusal.code


@settings(deadline=None, max_examples=400)
@given(st.data(), st.none() | DATA | DATA | DATA, LIMITS, FLAGS, st.randoms(use_true_random=False))
def test_an_answer_is_right_at_every_size(draws: Any, data: Any, bounds: Any, flag: Any, rng: Random) -> None:
    """Where the conditions hold the Reshape succeeds with a shape that was answered; what is refused never succeeds."""
    target = draws.draw(targets(data))
    spec, attributes = flag
    answer: Shape | None = None
    try:
        answer = orx.infer(data, target, spec, bounds=bounds, **attributes)
    except orx.ReshapeError as refusal:
        assert not refusal.usage  # noqa: PT017 - the refusal is only half of the test
    answer = None if answer is None else plain(answer)
    for dims, asked, names in sampled(data, target, bounds, rng):
        output = resolved(dims, asked, spec, attributes)
        if answer is None:
            assert isinstance(output, str), (dims, asked)
        elif all(holds(condition, names, output) for condition in answer.conditions):
            assert isinstance(output, tuple), (answer, dims, asked, output)
            assert admits(answer, output, names), (answer, dims, asked, output)


@settings(deadline=None, max_examples=300)
@given(st.data(), DATA, FLAGS, st.sampled_from(["KMN", "NMK", "MNK"]))
def test_renamed_symbols_rename_the_answer(draws: Any, data: list[Any], flag: Any, order: str) -> None:
    target = draws.draw(targets(data))
    spec, attributes = flag
    new = dict(zip("KMN", (f"{letter}_{letter.lower()}2" for letter in order), strict=True))

    def renamed(dims: list[Any]) -> list[Any]:
        return [re.sub(r"\b[KMN]\b", lambda m: new[m[0]], dim) if isinstance(dim, str) else dim for dim in dims]

    before = answered(data, target, spec, **attributes)
    after = answered(renamed(data), renamed(target), spec, **attributes)
    if isinstance(before, str):
        assert after == before
        return
    assert before[0] is not None
    assert after[0] is not None
    assert list(map(in_order, renamed(before[0]))) == list(map(in_order, after[0]))
    assert sorted(map(in_order, renamed(list(before[1:])))) == sorted(map(in_order, after[1:]))


def in_order(dim: Any) -> Any:
    """A text with the factors of each product in one order."""
    if not isinstance(dim, str):
        return dim
    return re.sub(
        r"[\w\[\]]+(?:\*(?:[\w\[\]]+|\(past \+ 1\)))+", lambda found: "*".join(sorted(found[0].split("*"))), dim
    )


@settings(deadline=None, max_examples=300)
@given(st.data(), st.lists(st.sampled_from([1, 2, 3, 4, 6, "N", "M", "K", "2*N", "6*M", "M*N"]), max_size=5), FLAGS)
def test_a_reshape_on_the_way_to_a_flat_one_changes_nothing(draws: Any, data: list[Any], flag: Any) -> None:
    """By way of any target the flat dim is the same expression, or the same size wherever the target fits."""
    spec, attributes = flag
    target = [entry for entry in draws.draw(targets(data)) if isinstance(entry, int | str)]
    assume(not isinstance(answered(data, target, spec, **attributes), str))
    between = orx.infer(data, target, spec, **attributes)
    assume(AGREES not in between.conditions)
    (direct,) = orx.infer(data, [-1], spec, **attributes)
    if all(condition.endswith(" >= 1") for condition in between.conditions):
        assert orx.infer(between.to_json(), [-1], spec, **attributes) == [direct]
    for sizes in product(SIZES, repeat=len(names_of(data, target))):
        names = dict(zip(names_of(data, target), sizes, strict=True))
        if all(holds(condition, names, ()) for condition in between.conditions):
            known = [int(evaluate(str(dim), names) or 0) for dim in between]
            assert orx.infer(known, [-1], spec, **attributes) == [evaluate(str(direct), names)]
