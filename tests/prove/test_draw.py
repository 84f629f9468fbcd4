"""Values drawn to suit a graph: what each input is taken for, and what it gets."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.prove.engines.engine import Session
from onereshape.prove.values.draw import Manner, Undrawable, draw
from onereshape.prove.values.input_roles import InputRole, roles_of
from tests.models import model

Array = np.ndarray[Any, Any]


def built(body: str, **weights: Array) -> ir.Model:
    proto = model(f"agraph {body}")
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return ir.from_proto(proto)


def drawn(found: ir.Model, seed: int = 0, sizes: dict[str, int] | None = None, **manner: Any) -> dict[str, Array]:
    return draw(found, np.random.default_rng(seed), sizes or {}, manner=Manner(**manner))


TABLE = np.zeros((50, 2), np.float32)
SMALL = np.zeros((2, 2), np.float32)

# What a graph does with an input i, and what the input is then taken for.
SUITS: dict[str, tuple[str, InputRole]] = {
    "an index": ("y = Gather(table, i)", InputRole("index", 0, 50)),
    "an index of the smaller of two tables": ("a = Gather(table, i) y = Gather(small, i)", InputRole("index", 0, 2)),
    "on the second axis": ("t = Transpose(table) y = Gather <axis = 1> (t, i)", InputRole("index", 0, 50)),
    "on the last axis": ("y = Gather <axis = -1> (table, i)", InputRole("index", 0, 2)),
    "through what carries it along": (
        "u = Unsqueeze(i, one) c = Cast <to = 6> (u) d = Identity(c) e = Concat <axis = 0> (d, d) y = Gather(table, e)",
        InputRole("index", 0, 50),
    ),
    "after an offset": ("j = Add(i, two) y = Gather(table, j)", InputRole("index", 0, 48)),
    "after a shift to the left": ("j = Sub(i, two) y = Gather(table, j)", InputRole("index", 2, 52)),
    "after a factor": ("j = Mul(two, i) y = Gather(table, j)", InputRole("index", 0, 25)),
    "added to what nobody knows": (
        "s = Shape(i) n = Gather(s, zero) j = Add(i, n) y = Gather(table, j)",
        InputRole("index", 0, 25),
    ),
    "chosen by a condition": (
        "c = Equal(i, one) j = Where(c, zero, i) y = Gather(table, j)",
        InputRole("index", 0, 50),
    ),
    "an index of elements": ("y = GatherElements <axis = 0> (table, i)", InputRole("index", 0, 50)),
    "indices of several columns": ("y = GatherND(table, i)", InputRole("index", 0, 2)),
    "one of so many": ("y = OneHot(i, depth, values)", InputRole("index", 0, 7)),
    "a mask that is made a float": (
        "f = Cast <to = 1> (i) n = Sub(onef, f) y = Mul(n, large)",
        InputRole("mask"),
    ),
    "a mask that is made a condition": ("b = Cast <to = 9> (i) y = Not(b)", InputRole("mask")),
    "a condition": ("b = Equal(i, zero) y = Where(b, onef, large)", InputRole("mask")),
    "what is counted, and the counts looked up": (
        "c = CumSum(i, zero) m = Mul(c, i) y = Gather(table, m)",
        InputRole("mask"),
    ),
    "what is counted": ("y = CumSum(i, zero)", InputRole("mask")),
    "a size": ("y = Expand(onef, i)", InputRole("size")),
    "the end of a slice": ("y = Slice(table, one, i)", InputRole("size")),
    "numbers": ("y = Neg(i)", InputRole("integer")),
}
HEAD = """(int64[{dims}] i) => (float y)
    <float onef = {{1.0}}, float large = {{-1e9}}, int64[1] one = {{1}}, int64[1] two = {{2}}, int64 zero = {{0}},
    int64 depth = {{7}}, float[2] values = {{0, 1}}> {{ {nodes} }}"""
RANKS = {"what is counted": "2, 3, 4", "a size": "3", "the end of a slice": "1", "numbers": "2, 3, 4"}


def graph(name: str, dims: str | None = None) -> ir.Model:
    rank = RANKS.get(name, "5, 2") if dims is None else dims
    proto = model("agraph " + HEAD.format(dims=rank, nodes=SUITS[name][0]))
    proto.graph.output[0].type.Clear()
    proto.graph.initializer.extend(numpy_helper.from_array(*each) for each in ((TABLE, "table"), (SMALL, "small")))
    return ir.from_proto(proto)


@pytest.mark.parametrize("name", SUITS)
def test_what_an_integer_is_taken_for(name: str) -> None:
    assert roles_of(graph(name))["i"] == SUITS[name][1]


@pytest.mark.parametrize("name", [name for name in SUITS if SUITS[name][1].kind != "size"])
@pytest.mark.parametrize("cautious", [False, True])
def test_the_engine_takes_what_is_drawn(name: str, cautious: bool) -> None:
    found = graph(name)
    session = Session(found, ".")
    for seed in range(5):
        session.run(drawn(found, seed, cautious=cautious))


def test_indices_keep_away_from_special_tokens_where_there_is_room() -> None:
    values = drawn(graph("an index", "40, 40"))["i"]

    assert values.dtype == np.int64
    assert (values.min(), values.max()) == (3, 49)
    few = drawn(graph("an index of the smaller of two tables", "40, 40"))["i"]
    assert (few.min(), few.max()) == (0, 1)


def test_masks_pad_to_the_right_and_never_hide_all_either_way_round() -> None:
    mask = drawn(graph("a condition", "200, 9"))["i"]
    kept = mask.sum(1)

    assert set(mask.ravel().tolist()) == {0, 1}
    assert (np.diff(mask, axis=1) <= 0).all()
    assert set(kept.tolist()) == {5, 6, 7, 8}


def test_a_condition_is_drawn_as_a_mask() -> None:
    found = built("(bool[6, 8] m, bool s) => (bool[6, 8] y) { y = And(m, s) }")
    values = drawn(found)

    assert values["m"].dtype == bool
    assert set(values["m"].sum(1).tolist()) <= {4, 5, 6, 7}
    assert values["s"].shape == ()


def test_a_name_is_no_evidence() -> None:
    body = """(int64[1, 4] attention_mask, int64[1, 4] input_ids) => (float[1, 4, 2] y, bool[1, 4] z) {
        y = Gather(table, attention_mask)
        b = Cast <to = 9> (input_ids)
        z = Not(b)
    }"""
    found = roles_of(built(body, table=TABLE))

    assert found == {"attention_mask": InputRole("index", 0, 50), "input_ids": InputRole("mask")}


def test_a_table_whose_dims_must_be_inferred() -> None:
    """The weights are too large to be read, and not needed."""
    body = """(float[1, 6, 300] x, int64[1] i) => (float[1, 300] y) <int64[2] k = {6, 300}> {
        h = MatMul(x, w)
        t = Reshape(h, k)
        y = Gather(t, i)
    }"""

    assert roles_of(built(body, w=np.zeros((300, 300), np.float32)))["i"] == InputRole("index", 0, 6)


def test_an_index_inside_a_branch_and_a_function() -> None:
    proto = model("""
        agraph (bool c, int64[3] i, int64[3] j) => (float[3, 2] y, float[3, 2] z) {
            y = If (c) <then_branch = t () => (float[3, 2] a) { a = Gather(table, i) },
                        else_branch = e () => (float[3, 2] b) { k = Identity(i) b = Gather(small, k) }>
            j2 = local.Same(j)
            z = local.Lookup(j2, table)
        }
        <domain: "local", opset_import: ["" : 21]>
        Lookup (what, where) => (found) { w = Identity(what) found = Gather(where, w) }
        <domain: "local", opset_import: ["" : 21]>
        Same (what) => (it) { it = Identity(what) }
    """)
    proto.graph.initializer.extend(numpy_helper.from_array(*each) for each in ((TABLE, "table"), (SMALL, "small")))
    found = roles_of(ir.from_proto(proto))

    assert found == {"c": InputRole("bool"), "i": InputRole("index", 0, 2), "j": InputRole("index", 0, 50)}


def test_pictures_differ_in_what_a_global_average_sees() -> None:
    found = built("(float[8, 3, 16, 16] x) => (float[8, 3, 1, 1] y) { y = GlobalAveragePool(x) }")
    picture = drawn(found)["x"]
    means = picture.mean((2, 3))

    assert picture.dtype == np.float32
    assert (means.std(0) > 0.3).all()
    assert np.ptp(picture.std((1, 2, 3))) > 0.3
    assert np.abs(picture).max() < 20


def test_bytes_are_grey_levels() -> None:
    found = built("(uint8[4, 3, 8, 8] x, int8[4, 8] z) => (float[4, 3, 8, 8] y) { y = Cast <to = 1> (x) }")
    values = drawn(found)

    assert values["x"].dtype == np.uint8
    assert values["x"].min() >= 0
    assert len(np.unique(values["x"])) > 30
    assert np.ptp(values["x"].mean((1, 2, 3))) > 10
    assert values["z"].dtype == np.int8


def test_a_logarithm_is_fed_what_is_positive() -> None:
    found = built("(float[50, 4] x, float[50, 4] z) => (float[50, 4] y) { a = Log(x) b = Neg(z) y = Add(a, b) }")
    values = drawn(found)

    assert (values["x"] > 0).all()
    assert (values["z"] < 0).any()
    assert (values["z"].std(1) > 0.05).all()


def test_strings_are_distinct() -> None:
    values = drawn(built("(string[5, 2] x) => (string[5, 2] y) { y = Identity(x) }"))["x"]

    assert len(set(values.ravel())) == 10
    assert all(isinstance(value, str) and len(value) < 10 for value in values.ravel())


def test_dims_with_a_name() -> None:
    found = built("(float[N, S, 3] x) => (float[N, S, 3] y) { y = Neg(x) }")

    assert drawn(found)["x"].shape == (4, 4, 3)
    assert drawn(found, sizes={"S": 7})["x"].shape == (4, 7, 3)
    assert drawn(found, sizes={"S": 7}, default=16)["x"].shape == (16, 7, 3)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "double"])
def test_other_floats(name: str) -> None:
    values = drawn(built(f"({name}[2, 3] x) => ({name}[2, 3] y) {{ y = Identity(x) }}"))["x"]

    assert values.dtype == {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "double": np.float64}[name]


def test_an_input_with_a_default_is_left_alone() -> None:
    found = built("(float[2] x, float[2] w) => (float[2] y) { y = Add(x, w) }", w=np.ones(2, np.float32))

    assert list(drawn(found)) == ["x"]


def test_the_same_seed_draws_the_same() -> None:
    found = built("(float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }")

    assert np.array_equal(drawn(found, 3)["x"], drawn(found, 3)["x"])
    assert not np.array_equal(drawn(found, 3)["x"], drawn(found, 4)["x"])
    assert np.allclose(drawn(found, 3, scale=0.125)["x"] * 8, drawn(found, 3)["x"])


UNDRAWABLE = {
    "(seq(float[2]) x) => (int64 y) { y = SequenceLength(x) }": "input 'x' is not a tensor",
    "(int4[2] x) => (int4[2] y) { y = Identity(x) }": "input 'x' is int4, which cannot be fed",
}


@pytest.mark.parametrize("body", UNDRAWABLE)
def test_what_cannot_be_drawn(body: str) -> None:
    with pytest.raises(Undrawable, match=UNDRAWABLE[body]):
        drawn(built(body))


def test_an_input_of_any_rank() -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, None)
    node = helper.make_node("Neg", ["x"], ["y"])
    made = helper.make_graph([node], "g", [value], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    with pytest.raises(Undrawable, match="input 'x' does not declare its dims"):
        drawn(ir.from_proto(helper.make_model(made)))


def test_an_input_of_too_many_dims() -> None:
    dims = ", ".join("1" * 33)
    with pytest.raises(Undrawable, match="input 'x' has 33 dims, and no more than 32 are drawn"):
        drawn(built(f"(float[{dims}] x) => (float[{dims}] y) {{ y = Neg(x) }}"))
