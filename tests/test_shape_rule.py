"""Our Reshape inside onnx-shape-inference: whole models, its own rule beside ours, and soundness against `resolve`."""

from __future__ import annotations

import functools
import gc
import itertools
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings, strategies as st
from onnx import helper, parser

from onereshape import ReshapeError, resolve
from onereshape.shape_rule import ReshapeRule, infer_model, register

KEY = ("", "Reshape")


def model_of(body: str, inputs: str, opset: int = 21, outputs: str = "float[] y") -> ir.Model:
    header = f'<ir_version: 10, opset_import: ["": {opset}, "local": 1]>'
    return ir.from_proto(parser.parse_model(f"{header} model ({inputs}) => ({outputs}) {body}"))


def dims_of(model: ir.Model, name: str = "y") -> list[Any] | None:
    """The dims of a value: integers and strings, `?` for those that the engine had to name."""
    value = next(value for node in model.graph for value in node.outputs if value.name == name)
    if value.shape is None:
        return None
    return [dim if isinstance(dim, int) else "?" if str(dim).startswith("_d") else str(dim) for dim in value.shape]


def answer(body: str, inputs: str, opset: int = 21) -> tuple[list[Any] | None, list[str]]:
    """The dims of y under our rule, and all conditions."""
    model = model_of(body, inputs, opset)
    rule = infer_model(model)
    return dims_of(model), [text for found in rule.conditions.values() for text in found]


def ours(body: str, inputs: str, opset: int = 21) -> list[Any] | None:
    return answer(body, inputs, opset)[0]


def theirs(body: str, inputs: str, opset: int = 21) -> list[Any] | None:
    model = model_of(body, inputs, opset)
    engine.infer_symbolic_shapes(model, warn_on_missing=False)
    return dims_of(model)


def refusal(body: str, inputs: str, opset: int = 21) -> str:
    with pytest.raises(engine.ShapeInferenceError) as caught:
        infer_model(model_of(body, inputs, opset))
    assert isinstance(caught.value.__context__, ReshapeError)
    return str(caught.value)


def by(*target: int | str, flag: str = "") -> str:
    """A body that reshapes x: by integers, by dims of x (`dim0`), by elements of inputs e0, e1 … (`?`)."""
    lines = ["q = Shape(x)"]
    for axis, entry in enumerate(target):
        if isinstance(entry, int):
            lines.append(f"e{axis} = Constant<value_ints = [{entry}]>()")
        elif entry != "?":
            lines.append(f"i{axis} = Constant<value_ints = [{entry[3:]}]>() e{axis} = Gather(q, i{axis})")
    entries = ", ".join(f"e{axis}" for axis in range(len(target)))
    return f"{{ {' '.join(lines)} s = Concat<axis = 0>({entries}) y = Reshape{flag}(x, s) }}"


LITERAL = "<allowzero = 1>"
UNKNOWN = "float[] x"


# The table of peers: ORT's symbolic inference is the strongest of them


@pytest.mark.parametrize(
    ("data", "target", "flag", "expected"),
    [
        ("N,M", (-1,), LITERAL, ["M*N"]),
        ("N,6", (-1, 3), LITERAL, ["2*N", 3]),
        ("N,6", (-1, 4), LITERAL, ["3*N/2", 4]),
        ("N,1", (-1,), LITERAL, ["N"]),
        ("N", (-1, 1), LITERAL, ["N", 1]),
        ("2,N", (-1, 2), LITERAL, ["N", 2]),
        ("N,3,4", (0, -1), "", ["N", 12]),
        ("N,M,4", (0, -1), "", ["N", "4*M"]),
        ("N,M,4", (-1, 0), "", ["4*N", "M"]),
        ("N,N,4", (0, -1), "", ["N", "4*N"]),
        ("N,3,4", ("dim0", -1), "", ["N", 12]),
        ("N,M", ("dim1", -1), "", ["M", "N"]),
        ("N,M", ("dim1", "dim0"), "", ["M", "N"]),
        ("N,768", ("dim0", 12, 64), "", ["N", 12, 64]),
        ("2,3,4", (2, "?"), "", [2, 12]),
        ("2,3,4", ("?", -1), "", ["?", "?"]),
        ("2,3,4", ("?", "?"), "", ["?", "?"]),
        (None, (3, 4), LITERAL, [3, 4]),
        (None, (-1, 4), LITERAL, ["?", 4]),
        (None, (0, 4), "", ["?", 4]),
        (None, (0, -1), "", ["?", "?"]),
        ("N,0", (-1, 5), LITERAL, [0, 5]),
        ("N,6", (4, 9), LITERAL, [4, 9]),
        ("N,N", (-1,), LITERAL, ["N**2"]),
        ("N,M,K", ("dim1", -1), "", ["M", "K*N"]),
        ("N", (4, -1), LITERAL, [4, "N/4"]),
        ("N,6", (-1, 2), LITERAL, ["3*N", 2]),
        ("N,3", (0, 3), "", ["N", 3]),
    ],
)
def test_the_table_of_peers(data: str | None, target: tuple[int | str, ...], flag: str, expected: list[Any]) -> None:
    run_time = "".join(f", int64[1] e{axis}" for axis, entry in enumerate(target) if entry == "?")
    inputs = (UNKNOWN if data is None else f"float[{data}] x") + run_time
    body = by(*target, flag=flag)

    assert ours(body, inputs) == expected
    if data is not None or target == (3, 4):
        other = theirs(body, inputs)
        assert other is not None
        assert len(other) == len(expected)
        for dim, own in zip(other, expected, strict=True):
            assert dim in {str(own), own, "?"} or "floor" in dim  # to theirs, 12 may be the name of a symbol


@pytest.mark.parametrize(
    ("data", "target", "why"),
    [
        ("2,3", (4, 4), "data has 6 elements, but the target asks for 16"),
        ("N,0", (5, 5), "no sizes of these dims fit the target"),
        ("N,7", (4, 9), "no sizes of these dims fit the target"),
        ("N,768", ("dim0", 12, 63), "no sizes of these dims fit the target"),
        ("N,768", (0, 12, 63), "no sizes of these dims fit the target"),
        ("N,3", (0, 0, 0), "target[2] is 0 and copies data[2], but data has 2 dims"),
        ("N,3", (-1, -1), "target[1] is a second -1"),
    ],
)
def test_contradictions_that_their_rule_lets_pass(data: str, target: tuple[int | str, ...], why: str) -> None:
    assert why in refusal(by(*target), f"float[{data}] x")
    if target != (-1, -1):
        assert theirs(by(*target), f"float[{data}] x") is not None


def test_a_literal_zero_empties_only_what_can_be_empty() -> None:
    assert ours(by(0, 4, flag=LITERAL), "float[2, 0] x") == [0, 4]
    assert "cannot be 0" in refusal(by(0, 3, flag=LITERAL), "float[N, 3] x")


def test_what_a_size_of_zero_would_break_is_a_condition() -> None:
    body = "{ t = Constant<value_ints = [0, -1]>() c = Concat<axis = 0>(x, w) y = Reshape(c, t) }"

    assert answer(by(0, -1), "float[N, 3, 4] x") == (["N", 12], ["N >= 1"])
    assert answer(body, "float[past, 6] x, float[1, 6] w") == (["past + 1", 6], [])


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


# Refusals


def test_the_whole_message() -> None:
    model = model_of("{ s = Constant<value_ints = [4, 4]>() y = Reshape(x, s) }", "float[2, 3] x")
    list(model.graph)[-1].name = "layer.3/Reshape_12"
    with pytest.raises(engine.ShapeInferenceError) as caught:
        infer_model(model)

    assert caught.value.node_name == "layer.3/Reshape_12"
    assert str(caught.value) == (
        "Reshape (node 'layer.3/Reshape_12'): data has 6 elements, but the target asks for 16\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [4, 4]\n"
        "  rule    onnx Reshape-21: input and output must have the same number of elements  [volume]"
    )


def test_the_message_has_the_names_of_the_model() -> None:
    message = refusal(
        "{ c = Concat<axis = 0>(x, w) y = Reshape(c, s) }", "float[past, 7] x, float[1, 7] w, int64[2] s = {4, 9}"
    )

    assert "data    [(past + 1), 7]" in message


def test_all_refusals_without_raising() -> None:
    body = "{ s = Constant<value_ints = [4, 4]>() a = Reshape(x, s) b = Relu(a) y = Reshape(w, s) }"
    model = model_of(body, "float[2, 3] x, float[N, 3] w")
    rule = infer_model(model, policy="skip")

    assert [error.code for error in rule.errors.values()] == ["volume", "impossible-volume"]
    assert [node.outputs[0].name for node in rule.errors] == ["a", "y"]
    assert dims_of(model) is None


def test_a_missing_input_is_a_misuse() -> None:
    with pytest.raises(engine.OpUsageError):
        infer_model(model_of("{ y = Reshape(x) }", "float[N] x"))


# Which rule answers


def test_ours_answers_only_inside_infer_model() -> None:
    body, inputs = by(4, 4), "float[2, 3] x"
    before = theirs(body, inputs)

    assert "asks for 16" in refusal(body, inputs)
    assert before == theirs(body, inputs) == [4, 4]


def test_every_thread_has_the_rule_it_asked_for() -> None:
    body, inputs = by(4, 4), "float[2, 3] x"
    assert "asks for 16" in refusal(body, inputs)
    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(refusal if turn % 2 else theirs, body, inputs) for turn in range(64)]

    assert all(
        "asks for 16" in str(run.result()) if turn % 2 else run.result() == [4, 4] for turn, run in enumerate(runs)
    )


def test_importing_registers_nothing() -> None:
    code = """if True:
        import onnx_shape_inference as engine
        engine.registry.collect()
        before = [engine.registry.get("", "Reshape", opset) for opset in range(30)]
        import onereshape.shape_rule
        print(before == [engine.registry.get("", "Reshape", opset) for opset in range(30)])
    """
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.strip() == "True"


@pytest.fixture
def default_registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The registry of the engine, put back afterwards."""
    engine.registry.collect()
    monkeypatch.setitem(engine.registry._registrations, KEY, list(engine.registry._registrations[KEY]))
    monkeypatch.setattr(engine.registry, "_cache", {})
    monkeypatch.setattr(engine.registry, "_max_version", {})
    return engine.registry


def test_registering_for_good(default_registry: Any) -> None:
    rule = register()
    model = model_of(by(4, -1), "float[N] x")
    engine.infer_symbolic_shapes(model)

    assert {default_registry.get(*KEY, version=opset) for opset in range(1, 30)} == {rule}
    assert dims_of(model) == [4, "N/4"]
    assert list(rule.conditions.values()) == [("N is divisible by 4",)]
    infer_model(model_of(by(4, -1), "float[M] x"))
    assert len(rule.conditions) == 1  # that one answered with a rule of its own


def test_what_was_found_goes_with_the_model(default_registry: Any) -> None:
    assert default_registry is engine.registry
    rule = register()
    model = model_of(by(4, -1), "float[N] x")
    engine.infer_symbolic_shapes(model)
    assert len(rule.conditions) == 1
    del model
    gc.collect()

    assert len(rule.conditions) == 0


def test_registering_elsewhere() -> None:
    registry = engine.OpShapeInferenceRegistry()
    rule = register(registry)

    assert registry.get("ai.onnx", "Reshape", version=21) is rule
    assert engine.registry.get(*KEY, version=21) is not rule


# Soundness

SIZES = "N; M; 2*N; M*N; N**2; past + 1; 2*past + 2; N/4; N/6; M*N/4; N/past; N - 13; floor(M/2); Max(M, past)".split(
    "; "
)
BINDINGS = tuple(itertools.product([12, 24], [1, 2, 3, 4, 6], [1, 2, 3, 5]))
entries = st.one_of(st.sampled_from([1, 2, 3, 4, 6, 8, 12]), st.sampled_from([*SIZES, "M*(2*past + 2)"]))
words = st.one_of(entries, st.sampled_from([-1, -1, 0]))


@functools.cache
def size(dim: Any, binding: tuple[int, ...]) -> int | None:
    """The size of a dim under a binding; None if it has no name of the model's, or is no size there."""
    if isinstance(dim, int):
        return dim
    found = ir.SymbolicDim(str(dim)).evaluate(dict(zip(("N", "M", "past"), binding, strict=True)))
    return found if isinstance(found, int) and found > 0 else None


@settings(max_examples=300, deadline=None)
@given(st.lists(entries, max_size=4), st.lists(words, max_size=4), st.sampled_from([0, 1]))
def test_whatever_the_sizes_the_answer_is_right(data: list[Any], target: list[Any], allowzero: int) -> None:
    x = ir.Value(name="x", shape=ir.Shape(data), type=ir.TensorType(ir.DataType.FLOAT))
    s = ir.Value(name="s", shape=ir.Shape([len(target)]), type=ir.TensorType(ir.DataType.INT64))
    node = ir.Node("", "Reshape", [x, s], [ir.Attr("allowzero", ir.AttributeType.INT, allowzero)])
    ctx = engine.ShapeInferenceContext({"": 21}, policy="skip")
    ctx.set_symbolic_value(s, [ir.SymbolicDim(word) if isinstance(word, str) else word for word in target])
    rule = ReshapeRule()
    rule(ctx, node)
    shape = node.outputs[0].shape

    for binding in BINDINGS:
        sizes, asked = [size(dim, binding) for dim in data], [size(word, binding) for word in target]
        if None in sizes or None in asked:
            continue
        try:
            expected = resolve(sizes, asked, "onnx-21", allowzero=allowzero)  # type: ignore[arg-type]
        except ReshapeError:
            continue
        assert not rule.errors
        assert shape is not None
        assert [size(dim, binding) for dim in shape] == list(expected)


def test_the_same_as_the_operator_on_integers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        data, target = rng.integers(0, 5, rng.integers(0, 4)).tolist(), rng.integers(-1, 5, rng.integers(0, 4)).tolist()
        inputs = f"float[{', '.join(map(str, data))}] x" if data else "float x"
        body = f"{{ s = Constant<value = int64[{len(target)}] {{{', '.join(map(str, target))}}}>() y = Reshape(x, s) }}"
        try:
            expected = list(resolve(data, target, "onnx-21"))
        except ReshapeError as error:
            said = error.sentence
        else:
            assert ours(body, inputs) == expected
            continue
        assert said in refusal(body, inputs)
