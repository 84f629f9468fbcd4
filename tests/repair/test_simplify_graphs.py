"""Simplified graphs: what stays, in subgraphs, functions and old versions too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from onereshape.formats.onnx import onnx_model
from onereshape.graphs.shapes import facts_of
from onereshape.repair.simpler.simplify import simplifications, simplify
from tests.models import SHIPPED, write
from tests.running import arrays, run, targets
from tests.symbolic_models import by, model_of

DATA = Path(__file__).parent.parent / "data" / "models"


def test_branches_and_bodies() -> None:
    body = """<int64[3] t = {-1, 2, 3}, int64 count = {2}, bool yes = {1}> {
        v = If(c) <
            then_branch = g1 () => (a) { q = Shape(x) i = Constant<value_ints = [0]>() n = Gather(q, i)
                m = Constant<value_ints = [3, 2]>() s = Concat<axis = 0>(n, m) a = Reshape(x, s) },
            else_branch = g2 () => (b) { d = Neg(x) u = Reshape(d, t) w = Abs(u) r = Constant<value_ints = [0, 3, 2]>()
                b = Reshape(w, r) }
        >
        y = Loop(count, yes, v) <
            body = g3 (int64 k, bool go, float[P, 3, 2] e) => (again, f) { again = Identity(go) z = Shape(e)
                o = Reshape(e, z) f = Relu(o) }
        >
    }"""
    model = model_of(body, "float[N, 6] x, bool c")
    before = ir.to_proto(model)
    changes = simplify(model)

    assert [change.code for change in changes] == ["foldable-target", "identity"]
    assert [change.node for change in changes] == ["graph/If#0/then_branch/Reshape#0", "graph/Loop#0/body/Reshape#0"]
    after = ir.to_proto(model)
    for which in (True, False):
        (one,), (other,) = (run(each, x=arrays(4, 6) - 9, c=np.array(which)) for each in (before, after))
        assert np.array_equal(one, other)


def test_functions_are_simplified_by_their_own_constants_only() -> None:
    """What only their callers know, such as that x has six columns, may change with the next caller."""
    text = """<ir_version: 10, opset_import: ["": 21, "local": 1]>
        model (float[N, 6] x) => (float[] y) { y = local.f(x) }
        <domain: "local", opset_import: ["": 21]>
        f (x) => (y) { a = Constant<value_ints = [2]>() b = Constant<value_ints = [-1]>() s = Concat<axis = 0>(a, b)
            c = Reshape<allowzero = 1>(x, s) q = Shape(x) d = Reshape(c, q) e = Neg(d)
            i = Constant<value_ints = [1]>() n = Gather(q, i) t = Concat<axis = 0>(b, n) f = Reshape(e, t) g = Abs(f)
            u = Constant<value_ints = [-1, 6]>() y = Reshape(g, u) }"""
    model = ir.from_proto(parser.parse_model(text))
    before = ir.to_proto(model)
    (change,) = simplify(model)
    after = ir.to_proto(model)

    assert (change.code, change.node, change.after) == ("foldable-target", "local::f/Reshape#0", "[2, -1]")
    assert [node.op_type for node in after.functions[0].node][:5] == [
        "Constant",
        "Constant",
        "Reshape",
        "Shape",
        "Reshape",
    ]
    assert np.array_equal(run(before, x=arrays(3, 6))[0], run(after, x=arrays(3, 6))[0])


def test_only_what_became_dead_is_removed() -> None:
    body = (
        by("dim0", "dim1", 3, 4).replace("{ q", "{ unused = Relu(x) h = Shape(x) q").replace("y =", "z = Abs(e1) y =")
    )
    model = model_of(body, "float[N, S, 12] x", outputs="float[] y, int64[] z")
    simplify(model)

    assert [node.outputs[0].name for node in model.graph] == ["unused", "h", "q", "i1", "e1", "z", "y"]


def test_what_the_graph_gives_stays() -> None:
    body = "{ s = Shape(x) r = Relu(x) t = Reshape(r, s) y = Relu(t) }"
    model = model_of(body, "float[N, 6] x", outputs="float[] y, int64[] s")
    simplify(model)

    assert [node.op_type for node in model.graph] == ["Shape", "Relu", "Relu"]


def test_a_node_with_another_output_that_is_needed_stays() -> None:
    body = "{ q = Shape(x) a, b = Split<num_outputs = 2>(q) y = Reshape(x, a) z = Neg(b) }"
    model = model_of(body, "float[6, 1] x", outputs="float[] y, int64[] z")
    simplify(model)

    assert targets(model) == [[6]]
    assert [node.op_type for node in model.graph] == ["Shape", "Split", "Reshape", "Neg"]


def test_an_output_that_equals_another_stays() -> None:
    body = "<int64[2] t = {0, 6}> { r = Relu(x) y = Reshape(r, t) }"

    assert simplify(model_of(body, "float[N, 6] x", outputs="float[] y, float[] r")) == []


def test_a_reshape_outside_a_branch_stays_outside() -> None:
    body = """<int64[1] t = {-1}> { r = Reshape(x, t)
        y = If(c) < then_branch = g1 () => (a) { u = Constant<value_ints = [2, -1]>() a = Reshape(r, u) },
                    else_branch = g2 () => (b) { b = Identity(x) } > }"""

    assert simplify(model_of(body, "float[N, 6] x, bool c")) == []


def test_equal_constants_of_different_graphs() -> None:
    body = """<int64[1] i = {0}, int64[2] h = {2, 3}> {
        v = If(c) < then_branch = g1 () => (a) { q = Shape(x) n = Gather(q, i) s = Concat<axis = 0>(n, h)
                                                 a = Reshape(x, s) },
                    else_branch = g2 () => (b) { w = Neg(x) p = Shape(w) k = Gather(p, i) t = Concat<axis = 0>(k, h)
                                                 b = Reshape(w, t) } >
        e = Shape(x) f = Gather(e, i) g = Concat<axis = 0>(f, h) u = Reshape(x, g) y = Add(u, v) }"""
    model = model_of(body, "float[N, 6] x, bool c")
    before = ir.to_proto(model)
    changes = simplify(model)

    assert [change.after for change in changes] == ["[0, 2, 3]"] * 3
    for which in (True, False):
        (one,), (other,) = (run(each, x=arrays(4, 6) - 9, c=np.array(which)) for each in (before, ir.to_proto(model)))
        assert np.array_equal(one, other)


def test_the_oldest_reshape_has_nothing_to_fold() -> None:
    text = """<ir_version: 3, opset_import: ["": 4]> model (float[2, 6] x) => (float[] y)
        { a = Reshape<shape = [3, -1]>(x) b = Reshape<shape = [0, 2, 2]>(a) y = Neg(b) }"""
    model = ir.from_proto(parser.parse_model(text))
    (change,) = simplify(model)

    assert (change.code, change.after, change.origin) == ("chain", "[3, 2, 2]", "attribute shape")
    assert list(model.graph[0].attributes["shape"].as_ints()) == [3, 2, 2]


@pytest.mark.parametrize("path", [path for path in SHIPPED if "light" in path.name], ids=lambda path: path.stem)
def test_a_model_with_nothing_to_simplify_is_untouched(path: Path) -> None:
    model = ir.load(path)
    before = ir.to_proto(model)
    changes = simplify(model)

    assert (ir.to_proto(model) == before) == (changes == [])


def test_an_untouched_model_keeps_even_the_names_of_its_constants() -> None:
    model = model_of("{ t = Constant<value = int64[2] {3, -1}>() y = Reshape(x, t) }", "float[N, 6] x")
    before = ir.to_proto(model)

    assert simplify(model) == []
    assert ir.to_proto(model) == before


def test_twice_is_once() -> None:
    for path in sorted(DATA.glob("attention_*.onnx")):
        model = ir.load(path)
        simplify(model)

        assert simplify(ir.from_proto(ir.to_proto(model))) == []


def test_dims_are_found_anew_once_a_reshape_that_fixed_a_size_is_gone() -> None:
    """The first one works for N = 2 only; without it, the last one has N in its data and in its target."""
    body = """<int64[1] i = {0}, int64[1] j = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] six = {6}> {
        q = Shape(x) n = Gather(q, i) m = Gather(q, j) m6 = Mul(m, six) n2 = Mul(n, two) all = Mul(m6, n)
        s = Concat<axis = 0>(two, m6) a = Reshape(x, s)
        t = Concat<axis = 0>(n2, m, three) b = Reshape(a, t) c = Relu(b)
        u = Concat<axis = 0>(all) y = Reshape(c, u) }"""
    model = model_of(body, "float[N, M, 6] x")
    changes = simplify(model)

    assert [(change.code, change.after) for change in changes] == [("chain", "[-1, 0, 3]"), ("foldable-target", "[-1]")]


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    file = write(onnx.load(DATA / "attention_split.ts.onnx"), tmp_path / "m.onnx")
    model = onnx_model.load(file)
    before = ir.to_proto(model.ir)
    told = simplifications(model, facts_of(model.ir))

    assert ir.to_proto(model.ir) == before
    assert told == simplify(model.ir)
    assert len(told) == 4


def test_a_model_that_is_owned_is_not_copied(tmp_path: Path) -> None:
    file = write(onnx.load(DATA / "attention_split.ts.onnx"), tmp_path / "m.onnx")
    kept, owned = onnx_model.load(file), onnx_model.load(file)
    told = simplifications(owned, facts_of(owned.ir), owned=True)

    assert told == simplifications(kept, facts_of(kept.ir))
    assert simplifications(owned, facts_of(owned.ir)) == []
