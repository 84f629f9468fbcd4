"""The elements of integer tensors, held against onnxruntime at several sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.graphs.facts.elements import array_of, evaluated
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula, symbol
from tests.running import session
from tests.symbolic_models import model_of

SIZES = [(1, 1), (2, 3), (5, 1), (4, 7)]
X = "float[N, M, 3] x"


def c(name: str, *numbers: int, kind: str = "int64") -> str:
    return f"{name} = Constant<value = {kind}[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>()"


def s(name: str, number: int) -> str:
    return f"{name} = Constant<value = int64 {{{number}}}>()"


Q = "q = Shape(x)"
N = f"{Q} i0 = Constant<value_int = 0>() n = Gather(q, i0)"
M = "i1 = Constant<value_int = 1>() m = Gather(q, i1)"

CASES: dict[str, tuple[str, str]] = {
    # body, the elements
    "shape": ("r = Shape(x)", "N M 3"),
    "shape from to": ("r = Shape<start = 1, end = 2>(x)", "M"),
    "shape from the end": ("r = Shape<start = -2>(x)", "M 3"),
    "shape beyond": ("r = Shape<start = -9, end = 9>(x)", "N M 3"),
    "size": ("r = Size(x)", "3*M*N"),
    "constants": (f"{c('a', 4, 5)} b = Constant<value_ints = [6]>() r = Concat<axis = 0>(a, b)", "4 5 6"),
    "gather": (f"{Q} {c('i', 2, 0, -2)} r = Gather(q, i)", "3 N M"),
    "gather one": (f"{N} r = Identity(n)", "N"),
    "gather in rows": (f"{Q} {c('t', 1, -1)} {c('i', 1, 0)} a = Reshape(q, t) r = Gather<axis = 1>(a, i)", "M N"),
    "slice": (f"{Q} {c('a', 1)} {c('b', 99)} r = Slice(q, a, b)", "M 3"),
    "slice backwards": (f"{Q} {c('a', -1)} {c('b', -99)} {c('d', 0)} {c('e', -1)} r = Slice(q, a, b, d, e)", "3 M N"),
    "slice in steps": (f"{Q} {c('a', 0)} {c('b', 3)} {c('d', 0)} {c('e', 2)} r = Slice(q, a, b, d, e)", "N 3"),
    "slice before the first": (
        f"{Q} {c('a', -9)} {c('b', -9)} {c('d', 0)} {c('e', -1)} r = Slice(q, a, b, d, e)",
        "N",
    ),
    "slice to the last but one": (f"{Q} {c('a', 0)} {c('b', -1)} r = Slice(q, a, b)", "N M"),
    "split": ("q = Shape(x) a, r, b = Split<num_outputs = 3>(q)", "M"),
    "split unevenly": (f"{Q} {c('z', 1, 2)} a, r = Split(q, z)", "M 3"),
    "squeeze": (f"q = Shape<end = 1>(x) {c('z', 0)} r = Squeeze(q, z)", "N"),
    "squeeze all": ("q = Shape<end = 1>(x) r = Squeeze(q)", "N"),
    "unsqueeze": (f"{N} {c('z', 0)} r = Unsqueeze(n, z)", "N"),
    "unsqueeze twice": (f"{N} {c('z', 0, -1)} r = Unsqueeze(n, z)", "N"),
    "reshape": (f"{Q} {c('z', 3, -1)} {c('y', 0, 0, 1)} a = Reshape(q, z) r = Reshape(a, y)", "N M 3"),
    "cast": ("q = Shape(x) a = Cast<to = 6>(q) r = Cast<to = 7>(a)", "N M 3"),
    "add": (f"{N} {s('z', 0)} a = Add(n, z) r = Add(a, n)", "2*N"),
    "subtract": (f"{N} {s('k', 4)} a = Mul(n, k) r = Sub(a, n)", "3*N"),
    "subtract all": (f"{N} r = Sub(n, n)", "0"),
    "multiply": (f"{N} {M} {s('k', 4)} a = Mul(n, m) r = Mul(a, k)", "4*M*N"),
    "multiply rows": (f"{Q} {c('k', 2, 3, 4)} r = Mul(q, k)", "2*N 3*M 12"),
    "multiply by nothing": (f"{N} {s('k', 0)} r = Mul(n, k)", "0"),
    "divide": (f"{N} {M} {s('k', 6)} a = Mul(n, k) {s('j', 3)} b = Div(a, j) d = Mul(b, m) r = Div(d, m)", "2*N"),
    "divide by a negative": (f"{N} {s('k', 6)} a = Mul(n, k) {s('j', -3)} r = Div(a, j)", "-2*N"),
    "divide numbers": (f"{c('a', 7, -7, 7, -7)} {c('b', 2, 2, -2, -2)} r = Div(a, b)", "3 -3 -3 3"),
    "negative": (f"{N} r = Neg(n)", "-N"),
    "modulo": (f"{c('a', 7, -7, 7, -7)} {c('b', 3, 3, -3, -3)} r = Mod(a, b)", "1 2 -2 -1"),
    "modulo as in C": (f"{c('a', 7, -7, 7, -7)} {c('b', 3, 3, -3, -3)} r = Mod<fmod = 1>(a, b)", "1 -1 1 -1"),
    "max": (f"{c('a', 7, -7)} {c('b', 3, 3)} r = Max(a, b)", "7 3"),
    "min": (f"{c('a', 7, -7)} {c('b', 3, 3)} r = Min(a, b)", "3 -7"),
    "max of the same": ("q = Shape(x) r = Max(q, q)", "N M 3"),
    "product": ("q = Shape(x) r = ReduceProd<keepdims = 0>(q)", "3*M*N"),
    "product of rows": (
        f"{Q} {c('t', 1, 3)} {c('z', 1)} a = Reshape(q, t) r = ReduceProd<keepdims = 1>(a, z)",
        "3*M*N",
    ),
    "product of columns": (
        f"{Q} p = Concat<axis = 0>(q, q) {c('t', 2, 3)} {c('z', 0)} a = Reshape(p, t) "
        "r = ReduceProd<keepdims = 0>(a, z)",
        "N*N M*M 9",
    ),
    "expand idiom": (
        f"{Q} {c('k', -1, 4, -1)} {c('l', 3)} {c('w', -1)} {c('u', 1)} "
        "o = ConstantOfShape<value = int64[1] {1}>(l) e = Mul(o, w) f = Equal(k, e) r = Where(f, q, k)",
        "N 4 3",
    ),
    "a size is not -1": (f"{Q} {c('w', -1)} {c('k', 8)} f = Equal(q, w) r = Where(f, k, q)", "N M 3"),
    "either is the same": (f"{Q} {c('w', 2)} f = Equal(q, w) r = Where(f, q, q)", "N M 3"),
    "expand": (f"{N} {c('z', 2)} r = Expand(n, z)", "N N"),
    "range": (f"{s('a', 5)} {s('b', -2)} {s('d', -3)} r = Range(a, b, d)", "5 2 -1"),
    "flatten": (f"{Q} {c('z', 1, 3)} a = Reshape(q, z) r = Flatten<axis = 0>(a)", "N M 3"),
    "transpose": (f"{Q} p = Concat<axis = 0>(q, q) {c('z', 2, 3)} a = Reshape(p, z) r = Transpose(a)", "N N M M 3 3"),
    "sum": (f"{N} {M} r = Add(n, m)", "M + N"),
    "quotient": (f"{N} {s('k', 2)} r = Div(n, k)", "floor(N/2)"),
    "quotient of unlike sizes": (f"{N} {M} r = Div(n, m)", "floor(N/M)"),
    "maximum": (f"{N} {M} r = Max(n, m)", "Max(M, N)"),
    "minimum with a number": (f"{N} {s('k', 2)} r = Min(n, k)", "Min(2, N)"),
    "remainder": (f"{N} {s('k', 2)} r = Mod(n, k)", "N - 2*floor(N/2)"),
    "remainder as in C": (f"{N} {s('k', 2)} r = Mod<fmod = 1>(n, k)", "N - 2*floor(N/2)"),
    "halves, rounded up": (f"{N} {s('k', 2)} {s('i', 1)} a = Add(n, i) r = Div(a, k)", "floor((N + 1)/2)"),
    "half of a half": (f"{N} {s('k', 2)} a = Div(n, k) r = Div(a, k)", "floor(N/4)"),
    "one less": (f"{N} {s('i', 1)} r = Sub(n, i)", "N - 1"),
    "never below 0": (f"{N} {s('i', 1)} {s('z', 0)} a = Sub(n, i) r = Max(a, z)", "Max(0, N - 1)"),
    "sum of all": ("q = Shape(x) r = ReduceSum<keepdims = 0>(q)", "M + N + 3"),
    "square": (f"{N} {s('k', 2)} r = Pow(n, k)", "N*N"),
    "a sum is never 0": (f"{N} {s('i', 1)} {s('z', 0)} a = Add(n, i) f = Greater(a, z) r = Where(f, a, z)", "N + 1"),
    "copies": (f"{Q} {c('k', 2)} r = Tile(q, k)", "N M 3 N M 3"),
    "a type that holds all sizes": ("q = Shape(x) a = Cast<to = 13>(q) r = Cast<to = 7>(a)", "N M 3"),
}  # fmt: skip


def held(model: ir.Model, name: str = "r") -> Any:
    value = next(value for node in model.graph for value in node.outputs if value.name == name)
    return facts_of(model).held(value)


def run(model: ir.Model, *sizes: int) -> Any:
    (found,) = session(model, optimized=True).run(["r"], {"x": np.zeros((*sizes, 3), np.float32)})
    return found


def at(element: Any, sizes: tuple[int, int]) -> int:
    bound = element.bind(dict(zip("NM", sizes, strict=True))) if isinstance(element, Formula) else element
    assert isinstance(bound, int)
    return bound


@pytest.mark.parametrize(("body", "elements"), CASES.values(), ids=CASES)
def test_every_operator_gives_what_onnxruntime_gives(body: str, elements: str) -> None:
    model = model_of(f"{{ {body} }}", X, outputs="int64[] r")
    model.graph.outputs[0].shape = None
    found = held(model)
    flat = found.reshape(-1).tolist()

    assert " ".join(map(str, flat)) == elements
    for sizes in SIZES:
        there = run(model, *sizes)
        assert there.shape == found.shape
        assert there.reshape(-1).tolist() == [at(each, sizes) for each in flat]


UNKNOWN = {
    # what depends on the sizes in a way that no formula says, or has no answer
    "a size may be 0": f"{N} {s('z', 0)} {s('a', 5)} f = Equal(n, z) r = Where(f, a, n)",
    "a size may be 1": f"{N} {s('z', 1)} {s('a', 5)} f = Equal(n, z) r = Where(f, a, n)",
    "a difference may be cut either way": f"{N} {s('i', 3)} {s('k', 2)} a = Sub(n, i) r = Div(a, k)",
    "remainder of what may be negative": f"{N} {s('i', 3)} {s('k', 2)} a = Sub(n, i) r = Mod(a, k)",
    "division by 0": f"{s('a', 1)} {s('k', 0)} r = Div(a, k)",
    "more than int64": f"{s('a', 2**62)} {s('k', 4)} r = Mul(a, k)",
    "more than int64, perhaps": f"{N} {s('k', 2**40)} r = Mul(n, k)",
    "a type that does not hold all sizes": f"{N} a = Cast<to = 3>(n) r = Cast<to = 7>(a)",
    "nor this one": f"{N} a = Cast<to = 5>(n) r = Cast<to = 7>(a)",
    "a type without negative numbers": f"{N} {s('i', 3)} a = Sub(n, i) b = Cast<to = 13>(a) r = Cast<to = 7>(b)",
    "another operator": f"{N} r = Abs(n)",
    "floats": f"{N} a = Cast<to = 1>(n) r = Cast<to = 7>(a)",
}


@pytest.mark.parametrize("body", UNKNOWN.values(), ids=UNKNOWN)
def test_what_no_formula_says_is_unknown(body: str) -> None:
    found = held(model_of(f"{{ {body} }}", X, outputs="int64 r"))

    assert found is None or (found.shape == () and found.tolist() is None)


NOTHING = {
    "another operator": "q = Shape(x) r = Sign(q)",
    "a small type": "q = Shape(x) i = Constant<value_ints = [0, 1]>() a = Gather(q, i) r = Cast<to = 3>(a)",
    "floats": "q = Shape(x) a = Cast<to = 1>(q) r = Cast<to = 7>(a)",
    "an input": "r = Identity(y)",
    "a large tensor": f"{c('l', 5000)} r = ConstantOfShape<value = int64[1] {{1}}>(l)",
    "a large tensor of two": f"{s('a', 0)} {s('b', 4000)} {s('d', 1)} e = Range(a, b, d) r = Concat<axis = 0>(e, e)",
    "unknown dims": "r = Shape(z)",
    "unknown axes": "q = Shape<end = 1>(x) r = Squeeze(q, y)",
    "broken": f"{Q} {c('i', 7)} r = Gather(q, i)",
    "another domain": "r = local.Shape(x)",
}


@pytest.mark.parametrize("body", NOTHING.values(), ids=NOTHING)
def test_where_nothing_is_known(body: str) -> None:
    model = model_of(f"{{ {body} }}", f"{X}, int64[2] y, float[] z", outputs="int64[] r")
    model.graph.inputs[2].shape = None
    found = held(model)

    assert found is None or all(each is None for each in found.flat)


def test_a_number_beside_a_size_in_a_small_type_is_known() -> None:
    model = model_of("{ q = Shape(x) r = Cast<to = 3>(q) }", X, outputs="int8[3] r")

    assert held(model).tolist() == [None, None, 3]


def test_unknown_dims_are_unknown_elements() -> None:
    model = model_of("{ r = Shape(x) }", X, outputs="int64[3] r")
    (found,) = evaluated(model.graph[0], [None], lambda _: (symbol("N"), None, 3), 21, lambda _: None)

    assert found is not None
    assert found.tolist() == [symbol("N"), None, 3]


def test_a_default_that_can_be_overridden_is_unknown() -> None:
    model = model_of("<int64[1] d = {3}> { r = Identity(d) }", f"{X}, int64[1] d", outputs="int64[1] r")

    assert model.graph.initializers["d"].is_graph_input()
    assert held(model).tolist() == [None]


def test_one_node_is_evaluated_with_what_is_given() -> None:
    model = model_of("{ r = Add(y, y) }", f"{X}, int64[1] y", outputs="int64[1] r")
    node, seven = model.graph[0], array_of([7])

    assert evaluated(node, [seven, seven], lambda _: None, 21, lambda _: None)[0].tolist() == [14]
    assert evaluated(node, [seven, None], lambda _: None, 21, lambda _: None) == [None]


def test_every_formula_may_be_taken_for_a_size() -> None:
    """As where sizes are grown, which are never negative."""
    model = model_of("{ r = Div(y, k) }", f"{X}, int64[1] y, int64[1] k", outputs="int64[1] r")
    given = [array_of([symbol("N") - 3]), array_of([2])]

    assert evaluated(model.graph[0], given, lambda _: None, 21, lambda _: None)[0].tolist() == [None]
    (found,) = evaluated(model.graph[0], given, lambda _: None, 21, lambda _: None, plain=True)
    assert found is not None
    assert str(found[0]) == "floor((N + 1)/2) - 2"


def test_a_long_chain_needs_no_stack() -> None:
    value = start = ir.Value(name="x", shape=ir.Shape(["N", 2]), type=ir.TensorType(ir.DataType.FLOAT))
    made: list[ir.Node] = []
    for _ in range(50_000):
        made.append(ir.Node("", "Identity" if made else "Shape", [value]))
        value = made[-1].outputs[0]
    graph = ir.Graph([start], [value], nodes=made, opset_imports={"": 21})
    found = facts_of(ir.Model(graph, ir_version=10)).held(value)

    assert found is not None
    assert found.tolist() == [symbol("N"), 2]
