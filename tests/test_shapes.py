"""The shapes of whole models: what is found, what stays unknown, and that the original stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from onereshape.dims import Product, as_name, parse
from onereshape.models.facts.facts import Facts
from onereshape.models.shapes import facts_of

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def read(text: str, head: str = HEAD) -> ir.Model:
    """A model of text."""
    return ir.serde.deserialize_model(parser.parse_model(head + text))


def dims(shapes: Facts) -> dict[str, Any]:
    """The dims by name."""
    return {str(value.name): found for value, found in shapes.dims.items()}


def values(shapes: Facts) -> dict[str, Any]:
    """The elements by name."""
    return {str(value.name): found for value, found in shapes.values.items()}


def node_of(model: ir.Model, op: str) -> ir.Node:
    return next(node for node in model.graph.all_nodes() if node.op_type == op)


def rename(model: ir.Model, old: str, new: str) -> None:
    """Gives the dims of inputs a name that the parser of texts has no words for."""
    for value in model.graph.inputs:
        assert value.shape is not None
        value.shape = ir.Shape([new if dim == old else dim for dim in value.shape])


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


BRANCHES = """g (float[N, 4] x, bool c) => (float[a, b] y) {
    y = If (c) <
        then_branch = yes () => (float[p, q] p) { t = Constant <value_ints = [-1, 2]> () p = Reshape(x, t) },
        else_branch = no () => (float[p, q] q) { q = OTHER }
    >
}"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [("Concat <axis = 1> (x, x)", (None, None)), ("Transpose(x)", (None, None)), ("Relu(x)", (None, None))],
)
def test_branches_that_differ(other: str, expected: tuple[Any, ...]) -> None:
    shapes = facts_of(read(BRANCHES.replace("OTHER", other)))
    found = dims(shapes)["y"]

    assert dims(shapes)["p"] == ("2*N", 2)
    assert tuple(None if dim in shapes.unnamed else dim for dim in found) == expected


def test_branches_that_agree() -> None:
    text = BRANCHES.replace("q = OTHER", "u = Constant <value_ints = [-1, 2]> () q = Reshape(x, u)")

    assert dims(facts_of(read(text)))["y"] == ("2*N", 2)


def test_a_branch_of_which_nothing_is_known() -> None:
    head = '<ir_version: 10, opset_import: ["" : 18, "custom" : 1]>\n'
    found = dims(facts_of(read(BRANCHES.replace("OTHER", "custom.Foo(x)"), head)))

    assert "y" not in found
    assert found["p"] == ("2*N", 2)


LOOP = """g (float[N, 4] x, int64 m, bool c) => (float[a, b] y, float[a, b] z, float[d, a, b] w) {
    y, z, w = Loop (m, c, x, x) <
        body = again (int64 i, bool k, float[p, q] same, float[p, q] more)
            => (bool on, float[p, q] same_out, float[p, q] more_out, float[p, q] each) {
            on = Identity(k)
            same_out = Relu(same)
            more_out = Concat <axis = 0> (more, x)
            each = Identity(same_out)
        }
    >
}"""


def test_what_a_loop_carries() -> None:
    shapes = facts_of(read(LOOP))
    found = dims(shapes)

    assert found["y"] == found["same"] == found["same_out"] == ("N", 4)
    assert [found[name][1] for name in ("z", "more", "more_out")] == [4, 4, 4]
    assert found["more"][0] in shapes.unnamed
    assert found["z"][0] in shapes.unnamed
    assert found["z"][0] != found["more"][0]
    assert found["w"][0] in shapes.unnamed
    assert len(found["w"]) == 3  # without an iteration nobody knows the dims of what each would have given


def test_the_trip_count_is_a_limit_only() -> None:
    text = LOOP.replace("int64 m, ", "").replace("y, z, w =", "m = Constant <value_int = 3> () y, z, w =")
    shapes = facts_of(read(text))

    assert dims(shapes)["w"][0] in shapes.unnamed


def test_a_loop_that_changes_the_rank() -> None:
    text = LOOP.replace("Concat <axis = 0> (more, x)", "Unsqueeze(more, zero)").replace(
        "y, z, w =", "zero = Constant <value_ints = [0]> () y, z, w ="
    )
    found = dims(facts_of(read(text)))

    assert "z" not in found
    assert "more" not in found
    assert found["y"] == ("N", 4)


CALLS = """g (float[N, 4] x, float[2, 6] z) => (float[a, b] y, float[c, d] w) {
    y = local.halves <width = 2> (x)
    w = local.halves <width = 3> (z)
}
<domain: "local", opset_import: ["" : 18]>
halves <width> (data) => (out) {
    flat = Constant <value_ints = [-1]> ()
    size = Constant <value_int: int = @width> ()
    last = Unsqueeze(size, zero)
    zero = Constant <value_ints = [0]> ()
    target = Concat <axis = 0> (flat, last)
    even = Relu(data)
    out = Reshape(even, target)
}"""
LOCAL = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>\n'


def test_the_body_of_a_function() -> None:
    model = read(CALLS.replace("    w = local.halves <width = 3> (z)\n", "    w = Relu(z)\n"), LOCAL)
    found = dims(facts_of(model))

    assert found["data"] == found["even"] == ("N", 4)
    assert found["target"] == (2,)


def test_calls_of_a_function_that_differ() -> None:
    model = read(CALLS, LOCAL)
    shapes = facts_of(model)
    found = dims(shapes)

    assert {*found["even"], *found["data"]} <= shapes.unnamed
    assert found["zero"] == (1,)
    assert values(shapes)["zero"] == (0,)


def test_values_cross_the_borders_of_functions() -> None:
    model = read(
        """g (float[N, 4] x, float[M] z) => (float[a, b] y) {
        s = local.lead(x)
        u = local.doubled(s)
        y = Expand(z, u)
        t = Reshape(x, u)
    }
    <domain: "local", opset_import: ["" : 18]>
    lead (data) => (first) { all = Shape(data) zero = Constant <value_ints = [0]> () first = Gather(all, zero) }
    <domain: "local", opset_import: ["" : 18]>
    doubled (v) => (w) { two = Constant <value_ints = [2]> () w = Mul(v, two) }
    """,
        LOCAL,
    )
    shapes = facts_of(model)

    assert values(shapes)["s"] == ("N",)
    assert values(shapes)["u"] == ("2*N",)
    assert values(shapes)["v"] == ("N",)
    assert shapes.conditions.get(model.graph[3]) == ("N = 0",) or model.graph[3] in shapes.errors


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
