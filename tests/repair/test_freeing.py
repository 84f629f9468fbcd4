"""Freeing a sequence length, a height, a width: compared with a second export, and with what the sizes must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.ground.errors import FixError
from onereshape.repair.dims.freeing import FreePlan, apply_free, free_plan
from tests.laws.batching_law import Engine
from tests.models import model
from tests.repair.freeing_cases import GENERALISED, HEADER, HW, S
from tests.repair.freeing_refusals import FORBIDDEN
from tests.running import session

DATA = Path(__file__).parent.parent / "data"
Feeds = Mapping[str, np.ndarray[Any, Any]]


def freed(proto: onnx.ModelProto, asked: Mapping[str, Mapping[int, str]]) -> tuple[onnx.ModelProto, FreePlan]:
    """The model with these dims free."""
    copy = ir.from_proto(proto)
    before = written(copy)
    plan = free_plan(copy, asked)

    assert written(copy) == before  # a plan changes nothing
    apply_free(copy, plan, asked)
    result = ir.to_proto(copy)
    onnx.checker.check_model(result)
    return result, plan


def written(copy: ir.Model) -> bytes:
    """The model as a file has it; reading a Constant node's tensor may give it the name of its output."""
    proto: onnx.ModelProto = ir.to_proto(copy)
    for node in proto.graph.node:
        for attribute in node.attribute:
            attribute.t.ClearField("name")
    return bytes(proto.SerializeToString())


def run(proto: onnx.ModelProto, feeds: Feeds) -> list[np.ndarray[Any, Any]]:
    return list(session(proto, optimized=True).run(None, dict(feeds)))


def drawn(proto: onnx.ModelProto, sizes: Mapping[str, tuple[int, ...]] | None = None) -> Feeds:
    """Values for all inputs; a mask leaves the last two places out."""
    rng = np.random.default_rng(0)
    feeds: dict[str, np.ndarray[Any, Any]] = {}
    for value in proto.graph.input:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        shape = (sizes or {}).get(value.name, tuple(dims))
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            feeds[value.name] = rng.standard_normal(shape).astype(np.float32)
        elif "mask" in value.name:
            feeds[value.name] = np.broadcast_to(np.arange(shape[1]) < shape[1] - 2, shape).astype(np.int64)
        else:
            feeds[value.name] = rng.integers(3, 20, shape)
    return feeds


def loaded(name: str) -> onnx.ModelProto:
    return onnx.load(DATA / "models" / f"{name}.onnx")


# Two exports of the same module, each the witness of the other

PAIRS = [
    ("encoder.ts", 8, 13, ()),
    ("encoder.dynamo", 8, 13, ()),
    ("decoder.ts", 8, 13, ()),
    ("decoder.dynamo", 8, 13, ()),
    ("positions.ts", 8, 13, ("S <= 24, since places.weight has 24 rows",)),
    ("convolutions.ts", 16, 27, ()),
    ("unet.ts", 16, 24, ("H is divisible by 4", "W is divisible by 4")),
    ("unet.dynamo", 16, 24, ("H is divisible by 4", "W is divisible by 4")),
    ("windows.ts", 16, 24, ("H is divisible by 4", "W is divisible by 4")),
]


@pytest.mark.parametrize(("name", "small", "large", "conditions"), PAIRS, ids=[pair[0] for pair in PAIRS])
@pytest.mark.parametrize("grows", [True, False], ids=["grows", "shrinks"])
def test_a_freed_export_answers_as_the_export_at_another_size(
    name: str, small: int, large: int, conditions: tuple[str, ...], grows: bool
) -> None:
    here, there = (small, large) if grows else (large, small)
    original, witness = loaded(f"{name}.{here}"), loaded(f"{name}.{there}")
    asked = {
        value.name: {1: "S"} if len(value.type.tensor_type.shape.dim) == 2 else HW["x"]
        for value in original.graph.input
    }

    result, plan = freed(original, asked)

    assert plan.conditions == conditions
    for size, proto in ((here, original), (there, witness)):
        feeds = drawn(proto)
        (expected,), (answered,) = run(proto, feeds), run(result, feeds)
        np.testing.assert_allclose(answered, expected, rtol=1e-4, atol=1e-5)
        assert plan.promised({"S": size, "H": size, "W": size + 8}) == {"y": expected.shape}


@pytest.mark.parametrize("name", ["bert.ts", "gpt2_hf4.ts"])
def test_a_freed_language_model_answers_as_the_original_where_the_rest_is_masked(name: str) -> None:
    """The only witness of a real export is itself: words that the mask leaves out change nothing."""
    original = onnx.load(DATA / "corpus" / f"{name}.onnx")
    result, plan = freed(original, {"input_ids": {1: "S"}, "attention_mask": {1: "S"}})
    ids = np.random.default_rng(0).integers(3, 99, (1, 19))

    def answers(proto: onnx.ModelProto, size: int, kept: int) -> np.ndarray[Any, Any]:
        mask = (np.arange(size) < kept).astype(np.int64)[None]
        return run(proto, {"input_ids": ids[:, :size], "attention_mask": mask})[0][:, :kept]

    np.testing.assert_allclose(answers(result, 19, 12), answers(original, 12, 12), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(answers(result, 7, 7), answers(original, 12, 7), rtol=1e-4, atol=1e-5)
    assert [condition[:7] for condition in plan.conditions] == ["S <= 64"]


def test_a_table_of_positions_forbids_it() -> None:
    with pytest.raises(FixError) as caught:
        freed(loaded("table.ts.8"), S)

    assert caught.value.code == "cannot-free"
    assert str(caught.value) == (
        "/Add (Add): the table table has 8 entries along axis 1, one for each of S  [cannot-free]"
    )


# What constants become; each model is also run at its own size and at others


@pytest.mark.parametrize("case", GENERALISED)
def test_constants_that_are_generalised(case: str) -> None:
    text, asked, expected = GENERALISED[case]
    original = model(text, HEADER)

    result, plan = freed(original, asked)

    assert {change.tensor: change.after for change in plan.changes} == expected
    for before, after in zip(run(original, drawn(original)), run(result, drawn(original)), strict=True):
        np.testing.assert_array_equal(before, after)
    dims = [dim.dim_value for dim in original.graph.input[0].type.tensor_type.shape.dim]
    for factor in (1, 2):
        sizes = {called: dims[axis] + 2 * factor for axis, called in asked["x"].items()}
        own = tuple(sizes[asked["x"][axis]] if axis in asked["x"] else dim for axis, dim in enumerate(dims))
        answered = run(result, drawn(original, {"x": own}))
        assert plan.promised(sizes) == {"y": answered[0].shape}


def test_what_the_generalised_constants_hold() -> None:
    """At another size the numbers go on counting, the triangle stays one, and so do the distances."""
    table: list[tuple[str, Any, Callable[[Any, Any], Any]]] = [
        ("numbers that count", np.arange(2, 10)[None], lambda y, x: y - x),
        ("distances", np.arange(8)[None] - np.arange(8)[:, None], lambda y, x: y[0] - x[0][:, None] * x[0]),
        ("a triangle", np.tri(8, dtype=bool), lambda y, _: y[0] != -9),
        ("a triangle without its diagonal", np.tri(8, k=-1, dtype=bool), lambda y, _: y[0] == 7),
        ("a part of a table that is long enough", np.array([[1, 4, 2, 3, 9, 8, 7, 6]]), lambda y, x: y - x),
    ]
    for case, expected, constant in table:
        text, asked, _ = GENERALISED[case]
        original = model(text, HEADER)
        feeds = drawn(original, {"x": (1, 8)})
        (answered,) = run(freed(original, asked)[0], feeds)

        np.testing.assert_allclose(constant(answered, feeds["x"]), expected, rtol=1e-5, atol=1e-5, err_msg=case)


@pytest.mark.parametrize("opset", [9, 10])
def test_constants_go_on_before_there_is_a_range(opset: int) -> None:
    header = f'<ir_version: 4, opset_import: ["" : {opset}]>'
    counted = model(GENERALISED["numbers that count"][0], header)
    triangle = model(
        "g (float[1, 3] x) => (float[1, 3, 3] y) <float[3, 3] p = {5, 7, 7, 5, 5, 7, 5, 5, 5}> {"
        " a = Unsqueeze <axes = [1]> (x) b = Unsqueeze <axes = [2]> (x) c = Sub(a, b) d = Sub(c, c) y = Add(d, p) }",
        header,
    )
    for original, expected in ((counted, np.arange(2, 10)[None]), (triangle, np.where(np.tri(8), 5, 7)[None])):
        feeds = drawn(original, {"x": (1, 8)})
        (answered,) = run(freed(original, S)[0], feeds)
        np.testing.assert_array_equal(answered - (feeds["x"] if original is counted else 0), expected)


# What forbids it


@pytest.mark.parametrize("case", FORBIDDEN)
def test_what_forbids_it_is_named(case: str) -> None:
    text, asked, why = FORBIDDEN[case]
    copy = ir.from_proto(model(text, HEADER))

    with pytest.raises(FixError) as caught:
        free_plan(copy, asked)

    assert caught.value.code == "cannot-free"
    assert caught.value.sentence.endswith(why)


def test_a_later_node_decides_between_two_readings() -> None:
    """Windows of 2 by 2 and a matrix for each: only the number of windows can be free."""
    text = (
        "g (float[1, 6, 2] x) => (float[1, 3, 2] y)"
        " <int64[3] t = {1, 3, 4}, float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { a = Reshape(x, t) y = MatMul(a, w) }"
    )
    result, plan = freed(model(text, HEADER), S)

    assert [str(size) for size in plan.outputs["y"] or ()] == ["1", "floor(S/2)", "2"]
    assert plan.conditions == ("S is divisible by 2",)
    assert run(result, drawn(result, {"x": (1, 10, 2)}))[0].shape == (1, 5, 2)


def test_the_sizes_that_a_symbol_can_take() -> None:
    """Down and up by 2, and joined with the original, from an odd size on: the remainder must be the same."""
    text = (
        "g (float[1, 1, 5, 4] x) => (float[1, 2, 5, 4] y) <float[1, 1, 1, 1] w = {1}, float[1, 1, 3, 2] v ="
        " {1, 1, 1, 1, 1, 1}> { a = Conv <strides = [2, 2]> (x, w) b = ConvTranspose <strides = [2, 2],"
        " pads = [1, 0, 1, 0]> (a, v) y = Concat <axis = 1> (b, x) }"
    )
    plan = free_plan(ir.from_proto(model(text, HEADER)), HW)

    assert plan.conditions == ("H leaves 1 when divided by 2", "W is divisible by 2")
    high = plan.symbols["H"]
    assert (high.original, high.step, high.most) == (5, 2, None)
    assert [size for size in range(1, 9) if high.allows(size)] == [1, 3, 5, 7]


def test_targets_that_are_computed_from_shapes_stay() -> None:
    text = (
        "g (float[1, 6, 8] x) => (float[1, 6, 2, 4] y) <int64 one = {1}, int64[1] zero = {0}, int64[1] n = {1},"
        " int64[2] rest = {2, 4}> { s = Shape(x) a = Gather(s, one) b = Unsqueeze(a, zero)"
        " t = Concat <axis = 0> (n, b, rest) y = Reshape(x, t) }"
    )
    result, plan = freed(model(text, HEADER), S)

    assert (plan.changes, plan.edits) == ((), ())
    assert [node.op_type for node in result.graph.node] == ["Shape", "Gather", "Unsqueeze", "Concat", "Reshape"]
    assert run(result, drawn(result, {"x": (1, 9, 8)}))[0].shape == (1, 9, 2, 4)


def test_sizes_that_are_calculated_are_followed() -> None:
    text = (
        "g (float[1, 6, 8] x) => (float[10, 4] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] four = {4},"
        " int64[1] a = {1}> { s = Shape(x) n = Gather(s, one) e = Sub(n, one) m = Mul(e, two)"
        " t = Concat <axis = 0> (m, four) w = Slice(x, one, n, a) y = Reshape(w, t) }"
    )
    result, plan = freed(model(text, HEADER), S)

    assert plan.edits == ()
    assert plan.promised({"S": 9}) == {"y": (16, 4)}
    assert run(result, drawn(result, {"x": (1, 9, 8)}))[0].shape == (16, 4)


def test_positions_that_are_counted_at_run_time_stay_within_their_table() -> None:
    text = (
        "g (int64[1, 4] x) => (float[1, 4, 1] y) <float[9, 1] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64 zero = {0},"
        " int64 one = {1}, float[9, 1] v = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {"
        " s = Shape(x) n = Gather(s, one) r = Range(zero, n, one) a = Gather(w, r) b = Gather(v, x) y = Add(a, b) }"
    )
    plan = free_plan(ir.from_proto(model(text, HEADER)), S)

    assert plan.conditions == ("S <= 9, since w has 9 rows",)
    assert [size for size in range(1, 12) if plan.symbols["S"].allows(size)] == list(range(1, 10))


def test_freeing_twice_is_freeing_once() -> None:
    once, _ = freed(loaded("decoder.ts.8"), S)
    twice, plan = freed(once, S)

    assert (plan.changes, plan.edits, plan.conditions) == ((), (), ())
    assert twice.SerializeToString() == once.SerializeToString()


def test_a_constant_that_another_node_needs_is_not_disturbed() -> None:
    text = (
        "g (int64[1, 4] x) => (int64[1, 4] y, int64[1, 4] z) <int64[1, 4] p = {0, 1, 2, 3}> {"
        " y = Add(x, p) z = Neg(p) }"
    )
    result, plan = freed(model(text, HEADER), S)
    feeds = {"x": np.zeros((1, 6), np.int64)}

    assert [each.tolist() for each in run(result, feeds)] == [[[0, 1, 2, 3, 4, 5]], [[0, -1, -2, -3]]]
    assert plan.promised({"S": 6}) == {"y": (1, 6), "z": (1, 4)}


def test_a_change_says_what_was_done_and_why() -> None:
    text, asked, _ = GENERALISED["numbers that count"]
    (change,) = freed(model(text, HEADER), asked)[1].changes

    assert change.message == "p counts along axis 1; Add of y needs S at axis 1"
    assert (change.code, change.op, change.origin) == ("baked-dim", "initializer", "initializer p")
    assert (change.before, change.after) == ("[1, 6]", "[1, S]")


def test_a_batch_that_is_free_already_stays_so() -> None:
    text = (
        "g (float[N, 6, 8] x) => (float[N, 2, 6, 4] y) <int64[4] t = {-1, 6, 2, 4}> {"
        " a = Reshape(x, t) y = Transpose <perm = [0, 2, 1, 3]> (a) }"
    )
    result, plan = freed(model(text, HEADER), S)

    assert [change.after for change in plan.changes] == ["[-1, 0, 2, 4]"]
    assert plan.promised({"S": 9}) == {"y": (None, 2, 9, 4)}
    assert run(result, {"x": np.zeros((3, 9, 8), np.float32)})[0].shape == (3, 2, 9, 4)


def test_a_model_that_takes_no_samples_still_does() -> None:
    """A -1 beside a copied 0 cannot be inferred, so the size is computed where the words before took an empty batch."""
    text = "g (float[6, N, 4, 8] x) => (float[6, N, 2, 2, 8] y) <int64[5] t = {0, -1, 2, 2, 8}> { y = Reshape(x, t) }"
    result, plan = freed(model(text, HEADER), {"x": {3: "S"}})

    assert [change.after for change in plan.changes] == ["[0, 0, 2, 2, S]"]
    plain = Engine(result)  # onnxruntime's optimizer would write the -1 again
    for batch in (0, 1, 3):
        x = np.arange(6 * batch * 20, dtype=np.float32).reshape(6, batch, 4, 5)
        assert np.array_equal(plain({"x": x})[0], x.reshape(6, batch, 2, 2, 5))
