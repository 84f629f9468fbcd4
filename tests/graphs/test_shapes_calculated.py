"""Sizes that a model calculates: what is known of the elements of its small integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from onereshape.graphs.shapes import facts_of
from tests.shaped_models import HEAD, dims, read, values

# Each computes int64 y from constants and from s, the dims of x: [2, 3, 4] as [A, B, 4].
CALCULATIONS = [
    "y = Add(s, s)",
    "k = Constant <value_ints = [5, -7, 9]> () y = Sub(k, s)",
    "k = Constant <value_ints = [-7, 7, 9]> () d = Constant <value_ints = [2, -2, 4]> () y = Div(k, d)",
    "k = Constant <value_int = 2> () y = Div(s, k)",
    "k = Constant <value_ints = [7, 9]> () d = Constant <value_ints = [4, 5]> () y = Mod(k, d)",
    "k = Constant <value_ints = [2]> () y = Pow(s, k)",
    "k = Constant <value_int = -1> () e = Equal(s, k) y = Where(e, k, s)",
    "k = Constant <value_int = 3> () e = Less(s, k) y = Cast <to = 7> (e)",
    "k = Constant <value_int = 3> () e = LessOrEqual(s, k) f = Greater(s, k) g = Or(e, f) h = Not(g) "
    "y = Cast <to = 7> (h)",
    "k = Constant <value_int = 3> () e = GreaterOrEqual(s, k) f = Equal(s, k) g = And(e, f) y = Cast <to = 7> (g)",
    "k = Constant <value_ints = [9, 0, 1]> () y = Max(s, k)",
    "k = Constant <value_ints = [9, 0, 1]> () y = Min(s, k)",
    "n = Neg(s) y = Mul(n, n)",
    "y = Identity(s)",
    "a = Constant <value_ints = [-1]> () b = Constant <value_ints = [-9]> () y = Slice(s, a, b, z, a)",
    "a = Constant <value_ints = [1]> () b = Constant <value_ints = [99]> () y = Slice(s, a, b)",
    "k = Constant <value_ints = [2, -3, 1]> () y = Gather(s, k)",
    "y = Concat <axis = 0> (s, z, s)",
    "u = Unsqueeze(s, z) v = Concat <axis = 0> (u, u) w = Transpose <perm = [1, 0]> (v) y = Reshape(w, m)",
    "u = Unsqueeze(s, z) y = Squeeze(u, z)",
    "u = Unsqueeze(s, z) v = Flatten <axis = 2> (u) y = Squeeze(v)",
    "k = Constant <value_ints = [2, 3]> () e = Expand(s, k) y = Reshape(e, m)",
    "k = Constant <value_ints = [2]> () y = Tile(s, k)",
    "a = Constant <value_int = 2> () b = Constant <value_int = 11> () y = Range(a, b, a)",
    "y = ConstantOfShape <value = int64[1] {5}> (s2)",
    "a, b = Split <num_outputs = 2> (s) y = Concat <axis = 0> (b, a)",
    "p = ReduceProd <keepdims = 0> (s) y = Reshape(p, m)",
    "y = ReduceSum(s, z)",
    "f = Cast <to = 1> (s) k = Constant <value_float = 2.0> () d = Div(f, k) c = Ceil(d) y = Cast <to = 7> (c)",
    "f = Cast <to = 1> (s) k = Constant <value_float = 3.0> () d = Div(f, k) c = Floor(d) y = Cast <to = 7> (c)",
    "f = Cast <to = 1> (s) r = Sqrt(f) y = Cast <to = 7> (r)",
    "f = Cast <to = 1> (s) k = Constant <value_float = 0.5> () r = Pow(f, k) y = Cast <to = 7> (r)",
]
CALCULATED = """g (float[A, B, 4] x) => (int64[n] y) <int64[1] m = {-1}, int64[1] z = {0}, int64[1] s2 = {3}> {
    s = Shape(x)
    CALCULATION
}"""


@pytest.mark.parametrize("calculation", CALCULATIONS)
def test_calculations_of_sizes(calculation: str) -> None:
    """With known dims all elements are those of ONNX's own evaluator; with names, each is that or unknown."""
    proto = parser.parse_model(HEAD + CALCULATED.replace("CALCULATION", calculation))
    data = np.zeros((2, 3, 4), np.float32)
    answers: Any = ReferenceEvaluator(proto).run(None, {"x": data})
    expected = tuple(answers[0].tolist())
    model = ir.serde.deserialize_model(proto)

    assert values(facts_of(model, {"x": {0: 2, 1: 3}}))["y"] == expected

    shapes = facts_of(model)
    found = values(shapes).get("y")
    assert found is None or len(found) == len(expected)
    for said, true in zip(found or (), expected, strict=False):
        if isinstance(said, str) and said not in shapes.unnamed:
            said = eval(said, {"A": 2, "B": 3, "floor": int, "Max": max, "Min": min})  # noqa: PLW2901, S307
        assert said is None or said == true or said in shapes.unnamed


@pytest.mark.parametrize(
    ("calculation", "expected"),
    [
        ("k = Constant <value_int = -1> () e = Equal(s, k) y = Where(e, k, s)", ("A", "B", 4)),
        ("k = Constant <value_int = 2> () y = Mul(s, k)", ("2*A", "2*B", 8)),
        ("k = Constant <value_int = 2> () d = Mul(s, k) y = Div(d, k)", ("A", "B", 4)),
        ("k = Constant <value_int = 0> () y = Max(s, k)", ("A", "B", 4)),
        ("p = ReduceProd <keepdims = 0> (s) y = Reshape(p, m)", ("4*A*B",)),
    ],
)
def test_calculations_with_names(calculation: str, expected: tuple[Any, ...]) -> None:
    assert values(facts_of(read(CALCULATED.replace("CALCULATION", calculation))))["y"] == expected


@pytest.mark.parametrize(
    ("cut", "known", "named"),
    [
        ("[0], [5], [0], [1]", 4, "Min(5, N)"),
        ("[1], [3], [0], [1]", 2, "Max(0, Min(3, N) - 1)"),
        ("[0], [5], [0], [2]", 2, "floor((Min(5, N) + 1)/2)"),
        ("[0], [2147483647], [0], [1]", 4, "N"),
        ("[0], [9223372036854775807], [0], [1]", 4, "N"),
        ("[1], [9223372036854775807], [0], [1]", 3, "Max(0, N - 1)"),
        ("[-1], [-9223372036854775807], [0], [-1]", 4, "N"),
        ("[-1], [-9], [0], [-2]", 2, "Max(0, -Max(-1, N - 9) + floor((Max(-1, N - 9) + N)/2))"),
        ("[3], [0], [0], [-1]", 3, "Max(0, Min(3, N - 1))"),
    ],
)
def test_slices(cut: str, known: int, named: str | None) -> None:
    """A cut at a number may lie beyond a dim that is not known."""
    given = [f"c{index} = Constant <value_ints = {words}> ()" for index, words in enumerate(cut.split(", "))]
    model = read(f"g (float[N] x) => (float[a] y) {{ {' '.join(given)} y = Slice(x, c0, c1, c2, c3) }}")
    shapes = facts_of(model)

    assert dims(facts_of(model, {"x": {0: 4}}))["y"] == (known,)
    assert dims(shapes)["y"] == (named,) or (named is None and dims(shapes)["y"][0] in shapes.unnamed)


def test_a_slice_along_axes_that_come_at_run_time() -> None:
    text = "g (float[4, 4] x, int64[1] axes) => (float[a, b] y) <int64[1] c = {1}, int64[1] d = {3}> {"
    shapes = facts_of(read(text + " y = Slice(x, c, d, axes) }"))

    assert len(dims(shapes)["y"]) == 2
    assert set(dims(shapes)["y"]) <= shapes.unnamed


def test_a_size_may_be_zero() -> None:
    """Whether a dim is 0 is not known, so what depends on it is not either."""
    shapes = facts_of(
        read(CALCULATED.replace("CALCULATION", "k = Constant <value_int = 0> () e = Equal(s, k) y = Where(e, m, s)"))
    )
    found = values(shapes)["y"]

    assert [dim is None for dim in found] == [True, True, False]
    assert found[2] == 4
