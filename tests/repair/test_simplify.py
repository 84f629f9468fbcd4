"""Simplified Reshapes: what becomes of each, and that every model still means what it meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onereshape as orx
from onereshape.repair.simpler.simplify import simplify
from tests.running import arrays, run, session, targets
from tests.symbolic_models import by, model_of

HERE = Path(__file__).parent.parent
DATA = HERE / "data" / "models"


ATTENTION = {
    # model: the targets that two unlike sizes keep from being constants
    "fused": 0,
    "split": 0,
    "merged": 5,
    "image": 1,
}
SIZES = [(1, 1), (2, 5), (3, 1), (1, 8), (4, 7)]


@pytest.mark.parametrize("exporter", ["dynamo", "ts"])
@pytest.mark.parametrize(("name", "left"), ATTENTION.items(), ids=ATTENTION)
def test_attention_with_dynamic_batch_and_sequence_computes_no_target_at_run_time(
    name: str, left: int, exporter: str
) -> None:
    model = ir.load(DATA / f"attention_{name}.{exporter}.onnx")
    before = ir.to_proto(model)
    computed = sum(isinstance(target, str) for target in targets(model))
    changes = simplify(model)
    after = ir.to_proto(model)
    onnx.checker.check_model(after, full_check=True)

    assert computed > left
    assert sum(isinstance(target, str) for target in targets(model)) == left
    assert sum(change.code == "foldable-target" for change in changes) == computed - left
    rng = np.random.default_rng(0)
    old, new = session(before), session(after)
    for batch, sequence in SIZES:
        dims = (batch, 16, sequence, 3) if name == "image" else (batch, sequence, 16)
        x = rng.standard_normal(dims).astype(np.float32)
        (one,), (other,) = old.run(None, {"x": x}), new.run(None, {"x": x})
        assert one.shape == other.shape
        assert np.array_equal(one, other)


def test_what_two_unlike_sizes_ask_for_is_no_constant() -> None:
    """[4*N, S, 4] from [N, 4, S, 4]: S stands at another axis, so neither a 0 nor the one -1 can say both."""
    model = ir.load(DATA / "attention_merged.ts.onnx")
    simplify(model)

    assert targets(model).count("Concat") == 5
    assert targets(model).count([0, 0, 4, 4]) == 3
    assert targets(model).count([-1, 16]) == 1


FOLDED = [
    # inputs, target, opset, constant
    ("float[N, S, 12] x", ("dim0", "dim1", 3, 4), 21, [0, 0, 3, 4]),
    ("float[N, S, 12] x", ("dim0", "dim1", 3, 4), 13, [0, 0, 3, 4]),
    ("float[N, S, 12] x", ("dim0", -1, 3, 4), 21, [0, 0, 3, 4]),
    ("float[N, S, 12] x", ("dim0", -1, 4), 21, [0, -1, 4]),
    ("float[N, 5, 12] x", ("dim0", -1, 3, 4), 21, [0, -1, 3, 4]),
    ("float[N, 5, 12] x", ("dim0", "dim1", 3, 4), 21, [0, 5, 3, 4]),
    ("float[N, S, 12] x", (-1, "dim2"), 21, [-1, 12]),
    ("float[N, S] x", ("dim0", -1, 4), 21, [0, -1, 4]),
    ("float[2, 3] x", (4, "dim1"), 21, "Concat"),
    ("float[N, S, 12] x", (1, "dim0", "dim1", "dim2"), 21, "Concat"),
    ("float[N, S, 12] x", ("dim1", "dim0", 12), 21, "Concat"),
    ("float[N, 1, 12] x", ("dim1", "dim0", 12), 21, [1, -1, 12]),
    ("float[N, S, 12] x", ("dim0", "?"), 21, "Concat"),
    ("float[] x", ("dim0", -1), 21, "Concat"),
    ("float[] x", (2, -1), 21, [2, -1]),
    ("float[2, 3] x", (0, 3, 1), 21, [0, 3, 1]),
    ("float[?, ?, 12] x", ("dim0", "dim1", 3, 4), 21, [0, 0, 3, 4]),
]  # fmt: skip


@pytest.mark.parametrize("flag", ["", "<allowzero = 1>"], ids=["copied", "literal"])
@pytest.mark.parametrize(("inputs", "target", "opset", "constant"), FOLDED)
def test_a_target_that_is_always_a_constant_becomes_it(
    inputs: str, target: tuple[int | str, ...], opset: int, constant: list[int] | str, flag: str
) -> None:
    if flag and (opset < 14 or 0 in target):
        flag = ""
    unknown = [f"int64[1] e{axis}" for axis, entry in enumerate(target) if entry == "?"]
    model = model_of(by(*target, flag=flag), ", ".join([inputs, *unknown]), opset)
    count = len(model.graph)
    changes = simplify(model)

    assert targets(model) == [constant]
    if constant == "Concat":
        assert (changes, len(model.graph)) == ([], count)
        return
    (change,) = changes
    assert (change.code, change.op, change.tensor, change.origin) == (
        "foldable-target", "Reshape", "s", "computed by Concat s",
    )  # fmt: skip
    assert change.after == str(constant)
    assert [node.op_type for node in model.graph] in (["Reshape"], ["Shape", "Reshape"])
    assert "allowzero" not in model.graph[-1].attributes


def test_the_whole_change() -> None:
    model = model_of(by("dim0", -1, 4), "float[N, 3, 8] x")
    model.graph[-1].name = "heads"
    (change,) = simplify(model)

    assert change.to_json() == {
        "code": "foldable-target",
        "node": "heads",
        "op": "Reshape",
        "tensor": "s",
        "origin": "computed by Concat s",
        "message": "the target is computed at run time as [N, -1, 4], which always means the same as the constant "
        "[0, -1, 4]",
        "before": "[N, -1, 4]",
        "after": "[0, -1, 4]",
        "conditions": [],
    }


def test_a_literal_0_keeps_its_flag() -> None:
    model = model_of(by("dim0", 0, 4, flag="<allowzero = 1>"), "float[2, 0] x")
    simplify(model)

    assert targets(model) == [[2, 0, 4]]
    assert model.graph[0].attributes.get_int("allowzero") == 1


def test_a_sum_is_a_size_of_its_own() -> None:
    body = """<int64[1] first = {0}, int64[1] second = {1}, int64[2] heads = {2, 3}> {
        a = Concat<axis = 1>(p, x) q = Shape(a) n = Gather(q, first)
        l = Shape(p) k = Shape(x) i = Gather(l, second) j = Gather(k, second) t = Add(i, j)
        s = Concat<axis = 0>(n, t, heads) y = Reshape(a, s) }"""
    model = model_of(body, "float[N, P, 6] p, float[N, S, 6] x")
    simplify(model)

    assert targets(model) == [[0, 0, 2, 3]]


def test_sizes_that_are_broadcast_are_not_taken_for_equal() -> None:
    """Of N and M the larger one counts, so the copied dim of the sum is not the N of the target."""
    body = """<int64[1] first = {0}, int64[1] rest = {-1}> {
        a = Add(x, z) q = Shape(x) n = Gather(q, first) s = Concat<axis = 0>(n, rest) y = Reshape(a, s) }"""
    model = model_of(body, "float[N, 4] x, float[M, 4] z")
    before = ir.to_proto(model)

    assert simplify(model) == []
    (found,) = run(before, x=arrays(1, 4), z=arrays(5, 4))
    assert found.shape == (1, 20)


def test_only_the_same_two_sizes_have_the_same_size_together() -> None:
    body = """<int64[1] first = {0}, int64[2] rest = {2, 2}> {
        a = Add(x, z) b = Add(x, w) q = Shape(b) n = Gather(q, first)
        s = Concat<axis = 0>(n, rest) y = Reshape(a, s) }"""
    inputs = "float[N, 4] x, float[M, 4] z, float[K, 4] w"

    assert simplify(model_of(body, inputs)) == []
    assert [change.after for change in simplify(model_of(body.replace("x, w", "z, x"), inputs))] == ["[0, 2, 2]"]


def test_a_default_that_can_be_overridden_is_no_constant() -> None:
    text = """model (float[N, 6] x, int64[1] d, int64[1] m) => (float[] y) <int64[1] d = {2}, int64[1] m = {-1}> {
        s = Concat<axis = 0>(d, m) y = Reshape(x, s) }"""
    new, old = (
        ir.from_proto(parser.parse_model(f'<ir_version: {version}, opset_import: ["": 8]> {text}'))
        for version in (4, 3)
    )

    assert simplify(new) == []
    assert [change.after for change in simplify(old)] == ["[2, -1]"]
    assert old.graph[-1].inputs[1].producer().op_type == "Constant"


def test_what_only_a_default_makes_true_is_not_proven() -> None:
    """With d = [4, 6] the Reshape gives [2, 12]."""
    body = "<int64[2] d = {2, 6}, int64[2] t = {2, -1}> { a = Expand(x, d) b = Reshape(a, t) y = Relu(b) }"
    model = model_of(body, "float[1, 6] x, int64[2] d")

    assert model.graph.initializers["d"].is_graph_input()
    assert simplify(model) == []


def test_a_shared_constant_is_not_disturbed() -> None:
    body = (
        "<int64[3] t = {0, 2, 3}> { a = Reshape(x, t) b = Relu(a) c = Reshape(b, t) u = Reshape(w, t) y = Add(c, u) }"
    )
    model = model_of(body, "float[N, 6] x, float[N, 6] w")
    (change,) = simplify(model)

    assert (change.code, change.before, change.after) == ("identity", "[0, 2, 3]", "b")
    assert targets(model) == [[0, 2, 3], [0, 2, 3]]
    assert list(model.graph.initializers) == ["t"]


IDENTITIES = [
    # body, changes, nodes left
    ("<int64[2] t = {0, 6}> { a = Relu(x) b = Reshape(a, t) y = Relu(b) }", ["identity"], ["Relu", "Relu"]),
    ("<int64[2] t = {-1, 6}> { a = Relu(x) b = Reshape(a, t) y = Relu(b) }", ["identity"], ["Relu", "Relu"]),
    ("{ a = Relu(x) s = Shape(x) b = Reshape(a, s) y = Relu(b) }", ["identity"], ["Relu", "Relu"]),
    ("{ a = Relu(x) s = Shape(x) y = Reshape(a, s) }", ["identity"], ["Relu"]),
    ("<int64[2] t = {0, 6}> { b = Reshape(x, t) y = Relu(b) }", ["identity"], ["Relu"]),
    ("<int64[2] t = {0, 6}> { y = Reshape(x, t) }", [], ["Reshape"]),
    ("<int64[2] t = {6, 6}> { a = Relu(x) y = Reshape(a, t) }", [], ["Relu", "Reshape"]),
    ("<int64[2] t = {6, -1}> { a = Relu(x) y = Reshape(a, t) }", [], ["Relu", "Reshape"]),
    ("<int64[3] t = {0, 6, 1}> { a = Relu(x) y = Reshape(a, t) }", [], ["Relu", "Reshape"]),
]


@pytest.mark.parametrize(("body", "codes", "left"), IDENTITIES)
def test_a_reshape_to_the_dims_of_data_goes(body: str, codes: list[str], left: list[str]) -> None:
    model = model_of(body, "float[N, 6] x")
    before = ir.to_proto(model)
    changes = simplify(model)

    assert [change.code for change in changes] == codes
    assert [node.op_type for node in model.graph] == left
    assert [value.name for value in model.graph.outputs] == ["y"]
    x = arrays(6, 6) - 9
    assert np.array_equal(run(before, x=x)[0], run(ir.to_proto(model), x=x)[0])


R = "c = Reshape(x, a)"
CHAINS = [
    # body, changes, nodes left, targets left
    (f"<int64[1] a = {{-1}}, int64[2] b = {{-1, 2}}> {{ {R} y = Reshape(c, b) }}", 1, "Reshape", [[-1, 2]]),
    (f"<int64[3] a = {{0, 2, 3}}, int64[3] b = {{0, 3, 2}}> {{ {R} y = Reshape(c, b) }}", 1, "Reshape", [[0, 3, 2]]),
    (f"<int64[3] a = {{2, 3, -1}}, int64[2] b = {{0, -1}}> {{ {R} y = Reshape(c, b) }}", 1, "Reshape", [[2, -1]]),
    (f"<int64[1] a = {{-1}}, int64[3] b = {{0, 1, 1}}> {{ {R} y = Reshape(c, b) }}", 1, "Reshape", [[-1, 1, 1]]),
    (f"<int64[3] a = {{0, 2, 3}}, int64[2] b = {{0, 6}}> {{ {R} d = Reshape(c, b) y = Relu(d) }}", 1, "Relu", []),
    (f"<int64[3] a = {{0, 2, 3}}> {{ s = Shape(x) {R} d = Reshape(c, s) y = Relu(d) }}", 1, "Relu", []),
    (f"<int64[1] a = {{-1}}> {{ s = Shape(x) {R} d = Reshape(c, s) e = ReduceSum(c) y = Add(d, e) }}",
     1, "Reshape ReduceSum Add", [[-1]]),
    (f"<int64[1] a = {{-1}}, int64[2] b = {{-1, 2}}> {{ {R} d = Reshape(c, b) e = ReduceSum(c) y = Add(d, e) }}",
     0, "Reshape Reshape ReduceSum Add", [[-1], [-1, 2]]),
    (f"<int64[1] a = {{-1}}, int64[2] b = {{-1, 2}}, int64[3] d = {{1, -1, 6}}> "
     f"{{ {R} e = Reshape(c, b) y = Reshape(e, d) }}", 2, "Reshape", [[1, -1, 6]]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "count", "left", "after"), CHAINS)
def test_a_reshape_of_a_reshape_becomes_one(body: str, count: int, left: str, after: list[Any]) -> None:
    model = model_of(body, "float[N, 6] x")
    before = ir.to_proto(model)
    changes = simplify(model)

    assert [change.code for change in changes] == ["chain"] * count
    assert " ".join(node.op_type for node in model.graph) == left
    assert targets(model) == after
    x = arrays(4, 6) - 9
    assert np.array_equal(run(before, x=x)[0], run(ir.to_proto(model), x=x)[0])


def test_a_0_that_would_copy_another_dim_is_not_kept() -> None:
    """The second 0 copies M*N; over x it would copy N."""
    body = "<int64[2] a = {1, -1}, int64[3] b = {1, 0, 1}> { c = Reshape(x, a) y = Reshape(c, b) }"
    model = model_of(body, "float[M, N] x")
    simplify(model)

    assert targets(model) == [[1, -1, 1]]


def test_what_ends_where_it_began_keeps_the_name_of_the_output() -> None:
    body = "<int64[3] a = {0, 2, 3}, int64[2] b = {0, 6}> { r = Relu(x) c = Reshape(r, a) y = Reshape(c, b) }"
    model = model_of(body, "float[N, 6] x")
    (change,) = simplify(model)

    assert change.message == "the Reshapes from r to here end where they began, at [N, 6]"
    assert [(node.op_type, node.outputs[0].name) for node in model.graph] == [("Relu", "y")]


def test_an_inner_output_that_the_graph_gives_stays() -> None:
    body = "<int64[1] a = {-1}, int64[2] b = {-1, 2}> { c = Reshape(x, a) y = Reshape(c, b) }"
    model = model_of(body, "float[N, 6] x", outputs="float[] y, float[] c")

    assert simplify(model) == []


def test_the_message_of_a_chain() -> None:
    body = "<int64[3] a = {2, 3, -1}, int64[2] b = {0, -1}> { c = Reshape(x, a) y = Reshape(c, b) }"
    (change,) = simplify(model_of(body, "float[N, 6] x"))

    assert (change.before, change.after) == ("[2, 3, -1], then [0, -1]", "[2, -1]")
    assert change.message == "its data come from another Reshape, c; one with [2, -1] does both"


FLAGS = [
    # target, whether the flag stays
    ("<int64[2] t = {3, -1}>", False),
    ("<int64[2] t = {3, 2}>", False),
    ("<int64[2] t = {0, 6}>", True),
]


@pytest.mark.parametrize(("target", "stays"), FLAGS)
def test_allowzero_without_a_0_goes(target: str, stays: bool) -> None:
    model = model_of(f"{target} {{ y = Reshape<allowzero = 1>(x, t) }}", "float[N, M] x")
    changes = simplify(model)

    assert ("allowzero" in model.graph[0].attributes) == stays
    assert [change.code for change in changes] == ([] if stays else ["redundant-allowzero"])


def test_allowzero_stays_where_a_size_may_be_0() -> None:
    """[N, M] from [M, N]: were the flag dropped, an N of 0 would copy M."""
    model = model_of(by("dim1", "dim0", flag="<allowzero = 1>"), "float[N, M] x")

    assert simplify(model) == []


@pytest.mark.parametrize("name", ["N + 1", "(N + 1)", " N + 1", "1 + N"])
def test_the_name_of_a_dim_is_no_formula(name: str, tmp_path: Path) -> None:
    """A dim that is called `N + 1` need not be as large as N + 1: the target is not the dims of the data."""
    proto = parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[N] a, float[M, K] b) => (float[P, Q] y) <int64[1] one = {1}, int64[1] rest = {-1}> {
          s = Shape(a)
          n = Add(s, one)
          t = Concat<axis = 0>(n, rest)
          y = Reshape(b, t)
        }
    """)
    proto.graph.input[1].type.tensor_type.shape.dim[0].dim_param = name
    onnx.save(proto, tmp_path / "m.onnx")

    found = orx.check(str(tmp_path / "m.onnx"))

    assert [each.code for each in found] == ["size-condition"]
    assert not orx.fix(str(tmp_path / "m.onnx"), simplify=True, certify=False).changes
