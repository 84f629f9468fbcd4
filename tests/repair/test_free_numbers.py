"""Numbers that may have been calculated from a freed size: found in one export, named, and refused."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.ground.errors import FixError
from onereshape.repair.dims.freeing import free_plan
from tests.prove.certifying import built

FREED = {"x": {1: "S"}}
FORMS = {
    "S": 37.0,
    "S - 1": 36.0,
    "S + 1": 38.0,
    "1/S": 1 / 37,
    "1/(S - 1)": 1 / 36,
    "sqrt(S)": sqrt(37),
    "1/sqrt(S)": 1 / sqrt(37),
    "log(S)": log(37),
    "S/2": 18.5,
    "2/(S - 1)": 2 / 36,
}


def model(number: float, op: str = "Mul", *, wide: int = 4, kind: str = "float") -> ir.Model:
    array = np.full((1, 1, wide), number, np.float32 if kind == "float" else np.float16)
    return built(f"({kind}[1, 37, {wide}] x) => ({kind}[1, 37, {wide}] y) {{ y = {op}(x, c) }}", c=array)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("words", FORMS)
def test_a_number_that_is_made_of_a_freed_size_is_named(words: str, op: str) -> None:
    with pytest.raises(FixError) as caught:
        free_plan(model(FORMS[words], op), FREED)

    assert caught.value.code == "cannot-free"
    assert f"which is {words}, and one export does not show whether it stays" in caught.value.sentence


def test_numbers_are_compared_in_their_own_type() -> None:
    """1/37 in 16 bits is 3e-5 beside it; in 32 bits so much is another number."""
    with pytest.raises(FixError, match="1/S"):
        free_plan(model(1 / 37, kind="float16"), FREED)
    free_plan(model(float(np.float16(1 / 37))), FREED)


@pytest.mark.parametrize("number", [-1 / 37, -37.0])
def test_a_negative_number_is_one_too(number: float) -> None:
    with pytest.raises(FixError, match="does not show whether"):
        free_plan(model(number), FREED)


@pytest.mark.parametrize("number", [6.0, 0.5, 1 / 6, 3.0, 2.5, 1.702, 0.044715, 1e-5])
def test_numbers_that_are_everywhere_stay(number: float) -> None:
    """A hard swish at S = 7 and 36 too."""
    free_plan(model(number), FREED)


def test_what_another_size_of_the_model_is_stays() -> None:
    """1/sqrt(37) of 37 channels is what attention divides by."""
    free_plan(model(1 / sqrt(37), wide=37), FREED)


def test_what_another_size_gives_in_another_way_stays() -> None:
    """An eighth is 1/sqrt(64) of 64 channels, whatever else it is of 8 entries."""
    body = "(float[1, 8, 64] x) => (float[1, 8, 64] y) { y = Mul(x, c) }"

    free_plan(built(body, c=np.array(0.125, np.float32)), FREED)


def test_sizes_that_tensors_have_count_as_well() -> None:
    """A mean over 19 entries, every other one of 37, as a sum that is divided."""
    body = """(float[1, 37, 4] x) => (float[1, 19, 4] y)
        <int64[1] a = {0}, int64[1] e = {9999}, int64[1] i = {1}, int64[1] t = {2}> {
        c = Slice(x, a, e, i, t) y = Mul(c, n) }"""

    with pytest.raises(FixError, match=r"which is 1/\(floor\(\(S \+ 1\)/2\)\)"):
        free_plan(built(body, n=np.array(1 / 19, np.float32)), FREED)


def test_what_is_calculated_at_run_time_stays() -> None:
    body = """(float[1, 37, 4] x) => (float[1, 37, 4] y) <int64 one = {1}> {
        s = Shape(x) n = Gather(s, one) f = Cast <to = 1> (n) y = Div(x, f) }"""

    free_plan(built(body), FREED)
