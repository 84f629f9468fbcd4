"""The shapes of whole models: what is found, what stays unknown, and that the original stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper

from onereshape.graphs.shapes import facts_of
from onereshape.rule.dims import Product, as_name, parse
from tests.shaped_models import HEAD, dims, read, rename, values

SPLIT = """g (float[N, S, 64] x) => (float[a, b, c, d] y) {
    s = Shape(x)
    zero = Constant <value_ints = [0, 1]> ()
    lead = Gather(s, zero)
    heads = Constant <value_ints = [4, -1]> ()
    target = Concat <axis = 0> (lead, heads)
    y = Reshape(x, target)
}"""


def test_dims_and_elements_of_a_computed_target() -> None:
    shapes = facts_of(read(SPLIT))

    assert dims(shapes)["y"] == ("N", "S", 4, 16)
    assert values(shapes)["target"] == ("N", "S", 4, -1)
    assert values(shapes)["s"] == ("N", "S", 64)
    assert list(shapes.conditions.values()) == [("N >= 1", "S >= 1")]
    assert shapes.errors == {}


def test_freed_dims_by_name_and_by_size() -> None:
    model = read(SPLIT.replace("N, S, 64", "1, 16, 64"))

    assert dims(facts_of(model))["y"] == (1, 16, 4, 16)
    assert dims(facts_of(model, {"x": {0: "B", -2: 8}}))["y"] == ("B", 8, 4, 16)
    assert dims(facts_of(model, {"x": {3: "B"}, "no": {0: "B"}}))["y"] == (1, 16, 4, 16)


def test_the_original_stays_as_it_was() -> None:
    model = read(SPLIT)
    for node in model.graph:
        for value in node.outputs:
            value.type = ir.TensorType(ir.DataType.FLOAT16)  # wrong for some: the engine would put it right
    before = ir.to_proto(model).SerializeToString(deterministic=True)
    facts_of(model, {"x": {0: 7}})

    assert ir.to_proto(model).SerializeToString(deterministic=True) == before
    assert all(not value.metadata_props and value.const_value is None for n in model.graph for value in n.outputs)


def test_the_tensors_of_the_original_stay_as_they_were() -> None:
    model = read("""g (float[2, 3] x) => (float[a] y) <int64[1] u = {0}> {
        t = Constant <value = int64[1] {-1}> ()
        h = Reshape(x, t)
        y = Unsqueeze(h, u)
    }""")
    before = ir.to_proto(model).SerializeToString(deterministic=True)
    facts_of(model)

    assert ir.to_proto(model).SerializeToString(deterministic=True) == before


def test_dims_that_are_broadcast_may_differ() -> None:
    shapes = facts_of(read("g (float[N, 4] x, float[M, 4] z) => (float[a, b] y) { y = Add(x, z) s = Shape(y) }"))
    first, second = dims(shapes)["y"]

    assert first in shapes.unnamed
    assert second == 4
    assert values(shapes)["s"] == (first, 4)


def test_what_is_declared_inside_is_ignored() -> None:
    model = read("""g (float[N, 6] x) => (float[1, 12] y) <float[1, 6] h> {
        h = Relu(x)
        t = Constant <value_ints = [-1, 12]> ()
        y = Reshape(h, t)
    }""")
    found = dims(facts_of(model))

    assert (found["h"], found["y"]) == (("N", 6), ("N/2", 12))


@pytest.mark.parametrize("name", ["batch size", "3d", "a:b", "batch-size", "f(x)", "1", "x+", "N ", "größe"])
def test_a_name_that_the_engine_cannot_read_comes_back(name: str) -> None:
    model = read("g (float[N, 6] x) => (float[a] y) <int64[1] t = {-1}> { y = Reshape(x, t) s = Shape(y) }")
    rename(model, "N", name)
    shapes = facts_of(model)
    whole = f"6*{name}" if name.isidentifier() else f"6*({name})"

    assert dims(shapes)["x"] == (as_name(name), 6)
    assert dims(shapes)["y"] == (whole,)
    assert values(shapes)["s"] == (whole,)


@pytest.mark.parametrize("name", ["A + C", "A*C", "2", "9**9**9", "floor(A/0)", "max(A, C)"])
def test_a_name_that_looks_like_a_formula_is_a_name(name: str) -> None:
    model = read("g (float[A, B] x, float[C] z) => (float[a, b] y) { y = Concat <axis = 0> (x, x) }")
    rename(model, "B", name)
    first, second = dims(facts_of(model))["y"]

    assert (first, parse(str(second))) == ("2*A", Product(1, (name,)))


def test_odd_names_in_conditions_and_refusals() -> None:
    model = read("""g (float[N, 4] x) => (float[a, b] y, float[c] z) <int64[2] t = {1, 4}, int64[2] u = {3, 5}> {
        y = Reshape(x, t)
        z = Reshape(x, u)
    }""")
    rename(model, "N", "batch size")
    shapes = facts_of(model)
    error = shapes.errors[model.graph[1]]

    assert shapes.conditions == {model.graph[0]: ("(batch size) = 1",)}
    assert (error.code, error.data, error.target) == ("impossible-volume", ("batch size", 4), (3, 5))
    assert error.sentence == "no sizes of these dims fit the target: 4*(batch size) elements cannot be 15"


def test_the_long_spelling_of_the_own_domain() -> None:
    text = """g (float[2, 3] x) => (float[a] y) {
        axes = Constant <value_ints = [0]> ()
        u = Unsqueeze(x, axes)
        s = ReduceSum <keepdims = 0> (u, axes)
        t = Shape(s)
        y = Reshape(x, t)
    }"""
    found = dims(facts_of(read(text, '<ir_version: 10, opset_import: ["ai.onnx" : 18]>\n')))

    assert found["u"] == (1, 2, 3)
    assert found["y"] == (2, 3)


def test_nodes_that_nobody_knows_stop_nothing() -> None:
    model = read(
        """g (float[2, 3] x) => (float[a] y, float[b] z) <int64[1] t = {-1}> {
        c = custom.Foo(x)
        broken = Concat(x, x)
        d = Reshape(c, t)
        z = Reshape(broken, t)
        y = Reshape(x, t)
    }""",
        '<ir_version: 10, opset_import: ["" : 18, "custom" : 1]>\n',
    )
    found = dims(facts_of(model))

    assert "c" not in found
    assert "broken" not in found
    assert found["y"] == (6,)
    assert len(found["d"]) == 1


def test_every_refusal_is_kept() -> None:
    model = read("""g (float[2, 3] x) => (float[a] y, float[b] z) <int64[1] t = {5}, int64[2] u = {-1, -1}> {
        y = Reshape(x, t)
        z = Reshape(x, u)
        w = Relu(z)
    }""")
    shapes = facts_of(model)

    assert [shapes.errors[node].code for node in model.graph if node in shapes.errors] == ["volume", "two-inferred"]
    assert "z" not in dims(shapes)


def test_nodes_in_any_order() -> None:
    model = read(SPLIT)
    model.graph.append(model.graph[0])  # moved to the end

    assert model.graph[-1].op_type == "Shape"
    assert dims(facts_of(model))["y"] == ("N", "S", 4, 16)


def test_an_initializer_that_is_an_input_too() -> None:
    text = """g (float[N, 6] x, int64[2] t) => (float[a, b] y) <int64[2] t = {-1, 3}> {
        y = Reshape(x, t)
        u = Add(t, t)
    }"""
    now, before = read(text), read(text, HEAD.replace("10", "3"))

    assert "t" not in values(facts_of(now))
    assert set(dims(facts_of(now))["y"]) <= facts_of(now).unnamed
    assert dims(facts_of(before))["y"] == ("2*N", 3)
    assert values(facts_of(before))["u"] == (-2, 6)


def test_a_graph_that_makes_no_sense_gives_nothing() -> None:
    model = read("g (float[2, 3] x) => (float[a] y) { h = Relu(x) y = Relu(h) }")
    model.graph[0].replace_input_with(0, model.graph[1].outputs[0])

    assert dims(facts_of(model)) in ({}, {"x": (2, 3)})


def external(folder: Path, name: str, array: np.ndarray[Any, Any], *, there: bool) -> onnx.TensorProto:
    """A tensor whose data are in a file of their own."""
    tensor = numpy_helper.from_array(array, name)
    if there:
        (folder / name).write_bytes(tensor.raw_data)
    onnx.external_data_helper.set_external_data(tensor, location=name)
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    return tensor


def test_weights_are_not_read_and_small_integers_are(tmp_path: Path) -> None:
    weight = external(tmp_path, "w", np.zeros((8, 5), np.float32), there=False)
    lost = external(tmp_path, "lost", np.zeros(5000, np.int64), there=False)
    target = external(tmp_path, "t", np.array([-1, 10]), there=True)
    gone = external(tmp_path, "gone", np.array([-1]), there=False)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Reshape", ["h", "t"], ["y"]),
        helper.make_node("Add", ["lost", "lost"], ["l"]),
        helper.make_node("Reshape", ["h", "gone"], ["z"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, ["N", 8])],
        [helper.make_tensor_value_info("y", 1, None)],
        [weight, target, lost, gone],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    shapes = facts_of(ir.load(tmp_path / "m.onnx"))

    assert dims(shapes)["w"] == (8, 5)
    assert dims(shapes)["y"] == ("N/2", 10)
    assert dims(shapes)["l"] == (5000,)
    assert len(dims(shapes)["z"]) == 1
    assert "lost" not in values(shapes)
