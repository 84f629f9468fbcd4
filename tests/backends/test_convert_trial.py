"""How a converted node is compared: what differs anywhere is found, and what could not be compared is said."""

from __future__ import annotations

import pytest

from onereshape.backends.convert.trial import CannotConvertError, compare
from tests.models import model

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'
X = "(float[N, M] x) => (float[p, q] y)"
AT = """ n = Shape<start = 0, end = 1>(x) k = Constant<value_ints = [{size}]>() e = Equal(n, k)
    m = Neg(x) y = Where(e, m, x)"""


def said(before: str, after: str) -> str:
    """Why two models are not taken for the same, empty if they are."""
    try:
        compare(model(f"g {before}", HEADER), model(f"g {after}", HEADER))
    except CannotConvertError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{X} {{ y = Relu(x) }}", f"{X} {{ y = Relu(x) }}"),
        (f"{X} {{ y = Neg(x) }}", f"{X} <float[1] z = {{0}}> {{ y = Sub(z, x) }}"),
        ("() => (float[2] y) { y = Constant<value_floats = [1.0, 2.0]>() }",) * 2,  # it has one answer
        ("(float[N, 3, H, W] x) => (float[a, b, c, d] y) { y = Relu(x) }",) * 2,
        ("(float[N, C, H, W] x, float[4, 3, 5, 5] w) => (float[a, b, c, d] y) { y = Conv(x, w) }",) * 2,  # C must be 3
        ("(float[A, B] x, float[B, C] z) => (float[p, q] y) { y = MatMul(x, z) }",) * 2,
        ("(float[?, ?] x, float[?, ?] z) => (float[p, q] y) { y = MatMul(x, z) }",) * 2,
        ("(float[N, 5] x, int64[N] i) => (float[p, q] y) { y = Gather<axis = 1>(x, i) }",) * 2,
        ("(float[N] x, int64[2] s) => (float[p, q] y) { y = Expand(x, s) }",) * 2,
    ],
)
def test_the_same(before: str, after: str) -> None:
    assert said(before.replace("?, ?", "P, Q"), after.replace("?, ?", "P, Q")) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = Relu(x)", "y = Identity(x)"),  # only where it is negative
        ("y = Identity(x)", "a = Constant<value_float = -50.0>() b = Constant<value_float = 50.0>() y = Clip(x, a, b)"),
        ("y = Round(x)", "h = Constant<value_float = 0.5>() z = Add(x, h) y = Floor(z)"),  # only at halves
        *(("y = Identity(x)", AT.format(size=size)) for size in (1, 3, 4, 8, 16)),  # only at one size
        ("y = Identity(x)", "y = Transpose<perm = [1, 0]>(x)"),
        ("y = Identity(x)", "y = Flatten<axis = 0>(x)"),
        ("y = Identity(x)", "c = Cast<to = 10>(x) y = Cast<to = 1>(c)"),  # a half has fewer digits
    ],
)
def test_what_differs_somewhere(before: str, after: str) -> None:
    assert said(f"{X} {{ {before} }}", f"{X} {{ {after} }}").startswith(
        "what onnx's converter makes of it gives another"
    )


def test_what_differs_in_another_output() -> None:
    outputs = "(float[N] x) => (float[p] y, float[q] z)"
    expected = "what onnx's converter makes of it gives another output at N = 4"
    assert said(f"{outputs} {{ y = Neg(x) z = Abs(x) }}", f"{outputs} {{ y = Neg(x) z = Neg(x) }}") == expected


def test_what_differs_at_size_0() -> None:
    """An empty output does not count, but it is looked at."""
    before = "(float[N, 2] x) => (float[p, q] y) { y = Identity(x) }"
    after = """(float[N, 2] x) => (float[p, q] y) { n = Size(x) z = Constant<value_int = 0>() e = Equal(n, z)
        y = If(e) <then_branch = t () => (float[a, b] t0) { t0 = Transpose(x) },
                   else_branch = f () => (float[c, d] f0) { f0 = Identity(x) }> }"""
    assert said(before, after) == "what onnx's converter makes of it gives another output at N = 0"


def test_what_could_not_be_compared() -> None:
    never = "what onnx's converter makes of it could not be compared: no run had elements in every output"
    empty = "(float[N] x) => (float[p] y) { b = Constant<value_ints = [0]>() y = Slice(x, b, b) }"
    assert said(empty, empty) == never
    second = """(float[N] x) => (float[p] y, float[q] z)
        { b = Constant<value_ints = [0]>() y = Identity(x) z = Slice(x, b, b) }"""
    assert said(second, second) == never
    refuses = "(float[N] x) => (float[p] y) { i = Constant<value_ints = [99]>() y = Gather(x, i) }"
    assert said(refuses, refuses).startswith(never + "; onnxruntime says: ")


def test_one_size_is_not_enough() -> None:
    """The named dim can only be 4: nothing is known of the others."""
    body = (
        "(float[N] x) => (float[p] y) <float[4] w = {1, 2, 3, 4}, int64[1] s = {4}> { r = Reshape(x, s) y = Add(r, w) }"
    )
    expected = (
        "what onnx's converter makes of it could not be compared: only runs at 1 size had elements in every output"
    )
    assert said(body, body) == expected


def test_what_does_not_run_any_more() -> None:
    after = f"{X} <int64[2] s = {{4, 4}}> {{ y = Reshape(x, s) }}"
    assert said(f"{X} {{ y = Identity(x) }}", after).startswith(
        "what onnx's converter makes of it does not run at N = 3"
    )
