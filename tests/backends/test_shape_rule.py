"""Our Reshape inside onnx-shape-inference, on whole models."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest
from onnx import helper, parser

from onereshape.shape_rule import infer_model
from tests.symbolic_models import answer, by, dims_of, model_of, ours, refusal, theirs

# Whole models


def test_attention_keeps_batch_and_sequence() -> None:
    body = """{
        split = Constant<value_ints = [0, 0, 12, 64]>()
        merge = Constant<value_ints = [0, 0, 768]>()
        a = Reshape(x, split)
        q = Transpose<perm = [0, 2, 1, 3]>(a)
        k = Transpose<perm = [0, 2, 3, 1]>(a)
        scores = MatMul(q, k)
        p = Softmax(scores)
        o = MatMul(p, q)
        t = Transpose<perm = [0, 2, 1, 3]>(o)
        y = Reshape(t, merge)
    }"""
    model = model_of(body, "float[N, S, 768] x")
    rule = infer_model(model)

    assert dims_of(model, "scores") == ["N", 12, "S", "S"]
    assert dims_of(model) == ["N", "S", 768]
    assert not rule.conditions
    assert not rule.errors


def test_a_split_sequence_comes_together_again() -> None:
    body = """{
        four = Constant<value_ints = [0, -1, 4]>()
        a = Reshape(x, four)
        q = Shape(x)
        y = Reshape(a, q)
    }"""
    model = model_of(body, "float[N, S] x")
    rule = infer_model(model)
    found = {node.outputs[0].name: conditions for node, conditions in rule.conditions.items()}

    assert dims_of(model, "a") == ["N", "S/4", 4]
    assert dims_of(model) == ["N", "S"]
    assert "S is divisible by 4" in found["a"]
    assert not any("divisible" in text or " = " in text for text in found.get("y", ()))


@pytest.mark.parametrize(
    ("target", "expected"),
    [((0, -1), ["past + 1", "6*H"]), ((-1, 2), ["3*H*(past + 1)", 2]), ((-1,), ["6*H*(past + 1)"])],
)
def test_expressions_survive(target: tuple[int, ...], expected: list[Any]) -> None:
    body = f"{{ t = Constant<value_ints = {list(target)}>() c = Concat<axis = 0>(x, w) y = Reshape(c, t) }}"

    assert ours(body, "float[past, 6, H] x, float[1, 6, H] w") == expected


def test_expressions_divide() -> None:
    inputs = "float[past] x, float[past] v, float[2] w"
    body = "{ t = Constant<value_ints = [-1, 2]>() c = Concat<axis = 0>(x, v, w) y = Reshape(c, t) }"

    assert answer(body, inputs) == (["past + 1", 2], [])
    assert answer(body.replace("-1, 2", "-1, 4"), inputs) == (["past/2 + 1/2", 4], ["(past + 1) is divisible by 2"])


def test_nested_floors_survive() -> None:
    body = """{
        a = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x)
        b = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(a)
        flat = Constant<value_ints = [0, -1]>()
        c = Reshape(b, flat)
        channels = Constant<value_ints = [0, 512, -1]>()
        y = Reshape(c, channels)
    }"""
    model = model_of(body, "float[N, 512, H, W] x")
    infer_model(model)
    _, _, height, width = dims_of(model, "b") or []

    assert dims_of(model) == ["N", 512, f"{height}*{width}"]
    assert "floor(floor(" in height


def test_a_name_is_kept_as_the_model_spells_it() -> None:
    x = helper.make_tensor_value_info("x", 1, ["past+1", 6])
    y = helper.make_tensor_value_info("y", 1, None)
    s = helper.make_node("Constant", [], ["s"], value_ints=[0, 3, 2])
    graph = helper.make_graph([s, helper.make_node("Reshape", ["x", "s"], ["y"])], "g", [x], [y])
    model = ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    infer_model(model)

    assert dims_of(model) == ["past+1", 3, 2]


# Where the target comes from


@pytest.mark.parametrize("opset", [5, 12, 13, 14, 18, 19, 21, 23, 24, 25, 28])
def test_every_version_with_a_second_input(opset: int) -> None:
    assert ours("{ y = Reshape(x, s) }", "float[N, 3, 4] x, int64[2] s = {0, -1}", opset) == ["N", 12]
    assert ours("{ s = Constant<value = int64[2] {0, -1}>() y = Reshape(x, s) }", "float[N, 3, 4] x", opset) == [
        "N",
        12,
    ]


@pytest.mark.parametrize("opset", [1, 4])
def test_every_version_with_an_attribute(opset: int) -> None:
    body = "{ y = Reshape<shape = [0, -1]>(x) }"

    assert ours(body, "float[N, 3, 4] x", opset) == ["N", 12]
    assert theirs(body, "float[N, 3, 4] x", opset) is None
    assert "none was given" in refusal("{ y = Reshape(x) }", "float[N, 3, 4] x", opset)
    assert "target[0] is 1.5" in refusal("{ y = Reshape<shape = [1.5]>(x) }", "float[N] x", opset)


def test_an_opset_newer_than_ours_has_the_newest_reshape() -> None:
    assert ours("{ s = Constant<value_ints = [-1]>() y = Reshape(x, s) }", "float[N, 3] x", 99) == ["3*N"]


def test_an_opset_under_its_long_name() -> None:
    text = '<ir_version: 10, opset_import: ["ai.onnx": 17]> m (float[N, 6] x) => (float[] y) '
    body = "{ s = Constant<value_ints = [-1, 3]>() y = Reshape(x, s) }"
    model = ir.from_proto(parser.parse_model(text + body))
    infer_model(model)

    assert dims_of(model) == ["2*N", 3]


def test_allowzero_where_it_does_not_exist() -> None:
    message = refusal("{ s = Constant<value_ints = [0]>() y = Reshape<allowzero = 1>(x, s) }", "float[N] x", 13)

    assert "onnx Reshape-13 has no attribute 'allowzero' (since onnx Reshape-14)" in message


def test_an_initializer() -> None:
    body = "{ y = Reshape(x, s) }"
    text = f'<ir_version: 10, opset_import: ["": 21]> m (float[N, 6] x) => (float[] y) <int64[2] s = {{-1, 3}}> {body}'
    model = ir.from_proto(parser.parse_model(text))
    rule = infer_model(model)

    assert dims_of(model) == ["2*N", 3]
    assert not rule.conditions


def test_an_initializer_that_the_caller_may_replace_is_a_condition() -> None:
    expected = ["2*N", 3], ["the input s has its default value"]

    assert answer("{ y = Reshape(x, s) }", "float[N, 6] x, int64[2] s = {-1, 3}") == expected


def test_only_the_length_of_the_target_is_known() -> None:
    assert ours("{ y = Reshape(x, s) }", "float[N, 6] x, int64[3] s") == ["?", "?", "?"]
    assert ours("{ y = Reshape(x, s) }", "float[7] x, int64[1] s") == [7]
    assert theirs("{ y = Reshape(x, s) }", "float[7] x, int64[1] s") == ["?"]
    assert ours("{ y = Reshape(x, s) }", "float[7] x, int64[1000000000] s") is None


@pytest.mark.parametrize("inputs", ["float[N, 6] x, int64[L] s", "float[N, 6] x, int64[] s", "float[] x, int64[] s"])
def test_nothing_is_known_but_the_type(inputs: str) -> None:
    model = model_of("{ a = Reshape(x, s) y = Relu(a) }", inputs)
    infer_model(model)

    assert dims_of(model) is None
    assert next(iter(model.graph)).outputs[0].dtype == ir.DataType.FLOAT


@pytest.mark.parametrize(
    ("constant", "why"),
    [
        ("value = int32[2] {2, 3}", "the shape tensor has type int32"),
        ("value = float[2] {2.0, 3.0}", "the shape tensor has type float"),
        ("value = int64[1, 2] {2, 3}", "the shape tensor has 2 dims"),
        ("value_int = 6", "the shape tensor has 0 dims"),
    ],
)
def test_a_constant_that_is_no_shape_tensor(constant: str, why: str) -> None:
    assert why in refusal(f"{{ s = Constant<{constant}>() y = Reshape(x, s) }}", "float[6] x")


def test_a_run_time_target_that_is_no_shape_tensor() -> None:
    assert "the shape tensor has 0 dims" in refusal("{ y = Reshape(x, s) }", "float[6] x, int64 s")


def test_a_freed_batch_is_not_read_from_an_earlier_inference() -> None:
    """The engine leaves the values it found in the model as constants, which its own rule takes for true."""
    model = model_of(by("dim0", -1), "float[2, 3, 4] x")
    infer_model(model)
    assert dims_of(model) == [2, 12]
    model.graph.inputs[0].shape = ir.Shape(["N", 3, 4])
    infer_model(model, policy="override")

    assert dims_of(model) == ["N", 12]


# What an entry of the target may be at run time


def test_an_unknown_entry_may_be_minus_one() -> None:
    """The engine names unknown values like sizes; two Reshapes by one of them need not have a dim in common."""
    body = "{ k = Constant<value_ints = [4]>() s = Concat<axis = 0>(e, k) a = Reshape(w, s) y = Reshape(x, s) }"
    inputs = "float[A, B] x, float[C, D] w, int64[1] e"
    model = model_of(body, inputs)
    infer_model(model)
    shapes = [node.outputs[0].shape for node in model.graph if node.op_type == "Reshape"]

    assert ours(body, inputs) == ["A*B/4", 4]
    assert dims_of(model, "a") == ["C*D/4", 4]
    assert shapes[0] != shapes[1]
    assert theirs(body, inputs) == ["?", 4]


def test_an_unnamed_dim_is_a_size() -> None:
    model = model_of("{ q = Shape(w) y = Reshape(x, q) }", "float[?, 6] x, float[?, 2] w")
    infer_model(model)

    assert model.graph.outputs[0].shape == model.graph.inputs[1].shape


def test_a_difference_may_be_negative() -> None:
    body = """{
        q = Shape(x) i = Constant<value_ints = [0]>() n = Gather(q, i) five = Constant<value_ints = [5]>()
        d = Sub(n, five) k = Constant<value_ints = [-1]>() s = Concat<axis = 0>(d, k) y = Reshape(x, s)
    }"""
    dims, conditions = answer(body, "float[N, M] x")

    assert dims == ["N - 5", "M*N/(N - 5)"]
    assert conditions == ["N - 5 >= 0", "(N - 5) >= 1", "N*M is divisible by (N - 5)"]


def test_an_opposite_is_negative() -> None:
    body = "{ q = Shape(x) n = Neg(q) y = Reshape(x, n) }"

    assert "-N >= 0" in answer(body, "float[N] x")[1]


def test_a_difference_that_is_a_dim_is_not_negative() -> None:
    body = """{
        one = Constant<value_ints = [1]>() far = Constant<value_ints = [9223372036854775807]>()
        tail = Slice(x, one, far) q = Shape(tail) m = Constant<value_ints = [-1]>()
        s = Concat<axis = 0>(q, m) y = Reshape(tail, s)
    }"""
    dims, conditions = answer(body, "float[N] x")

    assert dims is not None
    assert dims[1] == 1
    assert not any(">= 0" in text for text in conditions)


# Values through Reshape


@pytest.mark.parametrize("way", ["-1", "4", "2, 2", "1, 4, 1"])
def test_a_shape_passes_through_reshapes(way: str) -> None:
    body = f"""{{
        q = Shape(x) way = Constant<value_ints = [{way}]>() back = Constant<value_ints = [-1]>()
        a = Reshape(q, way) b = Reshape(a, back) y = Reshape(w, b)
    }}"""

    assert ours(body, "float[N, 6, M, 3] x, float[] w") == ["N", 6, "M", 3]


def test_a_size_passes_as_a_scalar() -> None:
    body = """{
        q = Shape(x) i = Constant<value_ints = [1]>() g = Gather(q, i) none = Constant<value = int64[0] {}>()
        scalar = Reshape(g, none) two = Constant<value_int = 2>() twice = Mul(scalar, two)
        one = Constant<value_ints = [-1]>() s = Reshape(twice, one) y = Reshape(w, s)
    }"""

    assert ours(body, "float[N, M] x, float[] w") == ["2*M"]


def test_a_value_in_a_matrix_is_not_read_as_a_list() -> None:
    """Row 1 of [[N, M], [4, K]] is [4, K]; their rule leaves a flat list behind, of which Gather takes element 1."""
    body = """{
        q = Shape(x) two = Constant<value_ints = [2, 2]>() matrix = Reshape(q, two)
        one = Constant<value_int = 1>() row = Gather(matrix, one) y = Reshape(w, row)
    }"""

    assert ours(body, "float[N, M, 4, K] x, float[] w") == ["?", "?"]
    assert theirs(body, "float[N, M, 4, K] x, float[] w") == ["M"]


# Functions


def test_a_function_has_the_conditions_of_all_calls() -> None:
    function = """<domain: "local", opset_import: ["": 21]>
        f <zero>(a) => (b) { s = Constant<value_ints = [-1, 4]>() b = Reshape<allowzero: int = @zero>(a, s) }"""
    body = "{ v = local.f<zero = 0>(x) w = local.f<zero = 0>(z) y = local.f(x) }"
    model = model_of(f"{body} {function}", "float[N] x, float[M, 2] z")
    rule = infer_model(model)

    assert [dims_of(model, name) for name in "vw"] == [["N/4", 4], ["M/2", 4]]
    assert dims_of(model) is None  # the engine does not tell an omitted attribute from one that it lost
    assert list(rule.conditions.values()) == [("N is divisible by 4", "M is divisible by 2")]
