"""How much `infer` knows: side by side with the engines that infer, and what none of them keeps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import pytest

import onereshape as orx
from onereshape.rule.inferring.balance import FITS
from onereshape.rule.shape import Shape
from tests.laws.test_inference import admits, evaluate, holds
from tests.rule.asking import COLUMNS, COPIED, LITERAL, M1, N1, Answer, answered, ask, each

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
    assert each([(2, 8), (4, 16), 6], [-1, 5]) == ([(12, 144), 5], "data[0]*data[1] is divisible by 5")
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
        ([(4, 9), (0, 2)], [(1, 9)], [(4, 9)]),
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
    assert orx.infer([0, 4], [-1, 4], "openvino", special_zero=False) == (0, 4)


def test_an_interval_never_has_its_ends_the_wrong_way_round() -> None:
    """OpenVINO: 3..2, and 1..0."""
    assert each([(7, 8)], [3, -1]) == each([(1, 2)], [3, -1]) == "impossible-volume"
