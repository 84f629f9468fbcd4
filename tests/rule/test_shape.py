"""Shape: what `infer` answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import onereshape as orx
from onereshape.rule.inference import AGREES
from onereshape.rule.shape import Shape

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


def test_a_shape_without_conditions_equals_the_tuple_of_its_dims() -> None:
    assert SHAPE == ("N", (1, 8), None, 1)
    assert SHAPE != ("N", (1, 8), None)
    assert SHAPE != ("M", (1, 8), None, 1)
    assert SHAPE != ["N", (1, 8), None, 1]  # or a list would equal a tuple by way of it
    assert list(SHAPE) == ["N", (1, 8), None, 1]
    assert SHAPE != "N"
    assert Shape(["N", (1, 8), None, 1]) == SHAPE == Shape(SHAPE.to_json())
    assert Shape([2], ["N = 1"]) != Shape([2])  # as answers they differ
    assert Shape([2], ["N = 1"]) != (2,) == Shape([2])
    assert Shape([2], ["N = 1"]).dims == (2,)
    assert Shape(None) != ()
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
    assert orx.infer(back, [0] * len(back), "onnx").dims == shape.dims  # copied: the same dims
