"""Shapes as values: equality is an equivalence, equal ones hash alike, and nothing that is given out can be changed."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onereshape as orx
from onereshape.shape import Shape

PAIRS = st.tuples(st.integers(0, 2), st.none() | st.integers(2, 3))
DIMS = st.lists(st.integers(0, 2) | st.sampled_from(["N", "2*N"]) | st.none() | PAIRS, max_size=2)
CONDITIONS = st.lists(st.sampled_from(["N >= 1", "N = 2"]), max_size=2, unique=True)
SHAPES = st.builds(Shape, st.none() | DIMS, CONDITIONS)
VALUES = SHAPES | SHAPES | DIMS | DIMS.map(tuple) | DIMS.map(lambda dims: Shape(dims).to_json()) | st.none()


@settings(deadline=None, max_examples=200)
@given(st.lists(VALUES, max_size=8), DIMS, CONDITIONS)
def test_equality_is_an_equivalence(values: list[Any], dims: Any, conditions: Any) -> None:
    """Over Shapes, tuples and lists alike, those that are made of the same dims among them."""
    values += [Shape(dims), Shape(dims, conditions), tuple(dims), dims, Shape(dims).to_json(), Shape(tuple(dims))]
    for one in values:
        assert one == one  # noqa: PLR0124
        assert not (one != one)  # noqa: PLR0124, SIM202
    for one, two in product(values, values):
        assert (one == two) is (two == one)
        assert (one != two) is not (one == two)
        if one == two and not isinstance(one, list):
            assert hash(one) == hash(two)
        for three in values:
            assert not (one == two and two == three) or one == three


@given(SHAPES)
def test_copies_are_equal(shape: Shape) -> None:
    for other in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):  # noqa: S301
        assert (other, other.dims, other.conditions) == (shape, shape.dims, shape.conditions)


QUESTIONS: list[tuple[Any, Any, str, Any]] = [
    (["N", (1, 8), None], [0, 0, 0, 1], "onnx", {}),
    (["N", 6], [4, -1], "onnx", {}),
    ([[1, 8], [2, 3]], [[1, 4], -1], "openvino", {"special_zero": True}),
    ([2, 3], [6], "onnx", {}),
    ([2, 3], [5], "onnx", {}),
    ([0, 3], [0, -1], "onnx", {}),
    (["N", 7], [4, 9], "onnx", {}),
    ([(7, 8)], [3, -1], "onnx", {}),
    (["M", 3], None, "onnx", {}),
    (None, [0, -1], "onnx", {}),
    (["a", "b", "c", "d", "e", "f"], ["a", "b", 0], "onnx", {"allowzero": 1}),
]


def said(call: Any) -> Any:
    try:
        answer = call()
    except orx.ReshapeError as error:
        return str(error), error
    return repr(answer), answer


def spoil(value: Any, depth: int = 0) -> None:
    """Changes whatever of an answer can be changed."""
    if depth > 3 or isinstance(value, type):
        return
    for name in {*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())}:
        if name.startswith("__") or not hasattr(value, name):
            continue
        spoil(getattr(value, name), depth + 1)
        try:
            setattr(value, name, "spoilt")
        except AttributeError:
            continue
    if isinstance(value, list):
        for each in value:
            spoil(each, depth + 1)
        value[:] = ["spoilt"]
    elif isinstance(value, dict):
        for each in list(value.values()):
            spoil(each, depth + 1)
        value.clear()


@pytest.mark.parametrize(("data", "target", "spec", "attributes"), QUESTIONS)
def test_nothing_that_was_given_out_changes_later_answers(data: Any, target: Any, spec: str, attributes: Any) -> None:
    def ask() -> Any:
        return orx.infer(data, target, spec, **attributes)

    for call in (ask, lambda: ask().to_json(), lambda: orx.resolve(data, target, spec, **attributes)):
        before, answer = said(call)
        spoil(answer)
        after, again = said(call)
        assert after == before
        if isinstance(answer, orx.ReshapeError):  # one that were raised again would carry the old traceback on
            assert again is not answer
    kept = orx.spec("onnx")
    spoil(kept)
    assert kept.name == "onnx-25"


def test_nothing_of_a_translation_changes_later_ones() -> None:
    def call() -> Any:
        return orx.translate(orx.Reshape("onnx"), "openvino", target=[0, 4], data=["N", 4])

    def refused() -> Any:
        return orx.translate(orx.Reshape("onnx", allowzero=1), "onnx-13", target=[0, 4], data=["N", 4])

    for each in (call, refused):
        before, answer = said(each)
        spoil(answer)
        assert said(each)[0] == before


def test_a_shape_cannot_be_changed() -> None:
    shape = orx.infer(["N", 6], [4, -1], "onnx")
    for name in ("dims", "conditions", "rank", "other"):
        with pytest.raises(AttributeError):
            setattr(shape, name, ())
    with pytest.raises(AttributeError):
        del shape.dims
    with pytest.raises(TypeError):
        shape[0] = 3  # type: ignore[index]
    with pytest.raises((AttributeError, TypeError)):
        shape.conditions.append("x")  # type: ignore[attr-defined]

    assert orx.infer(["N", 6], [4, -1], "onnx") == Shape([4, "3*N/2"], ["N is divisible by 2"])
