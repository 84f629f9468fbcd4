"""`infer`, case by case: what it asks for, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onereshape as orx
from onereshape.ground.errors import INT64_MAX
from onereshape.rule.inference import AGREES
from onereshape.rule.inferring.balance import FITS
from tests.rule.asking import COLUMNS, N1, Answer, answered, ask, each

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
        (["N"], [-1], {"N": 5}, ([5],)),
        (["N"], [-1], {"N": None}, (["N"],)),
        (["N"], [2, 3], {"N": (np.int64(1), np.int8(6))}, ([2, 3], "N = 6")),
        (["past  + 1"], [4, -1], {" past + 1 ": (4, 7)}, ([4, 1], "past + 1 = 4")),
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


# Mistakes


PAIR = "a pair (low, high) of integers with low <= high, or high None"
PLAIN = "an integer, None, a name or a pair"
OWN = "a name of its own"


@pytest.mark.parametrize(
    ("dim", "wanted"),
    [
        (2.5, PLAIN),
        (True, PLAIN),
        (np.True_, PLAIN),
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
    "bounds",
    [
        *({"N": pair} for pair in ((5, 3), 2.5, (1, 2, 3), "M", -3, (-5, -2), (-1, 8), (None, 8), (1.0, 8), (1, 8.5))),
        *(
            {"N": pair}
            for pair in (
                (True, 8),
                (np.True_, 8),
                (0, True),
                True,
                (1, "8"),
                (),
                (2**63, None),
                (2**63, 2**64),
                object(),
            )
        ),
        *({name: (1, 8)} for name in ("M", "n", "2*N", "N*N", "", "data[0]", "size(data)", "1", "9" * 99, 3, None)),
        {"N": (1, 2), " N ": (1, 3)},
        [("N", 3)],
        5,
    ],
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


@pytest.mark.parametrize(
    ("data", "target"),
    [
        ([2**62] * 300 + ["N"], [-1]),
        ([2**62] * 300 + ["N"], [3, 5]),
        (["9" * 39 + "*N"] * 200, [-1, 2]),
        (["N"], [2**62] * 300 + ["M", -1]),
    ],
)
def test_numbers_too_long_to_be_said_are_not(data: list[Any], target: list[Any]) -> None:
    found = orx.infer(data, target, "onnx")

    assert found.conditions == (AGREES,)
    assert list(found)[-1] in {None, *target}


def test_a_power_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(orx.ReshapeError) as found:
        orx.infer(["9" * 39 + "**99*N"], [-1], "onnx")

    assert found.value.code == "overflow"
