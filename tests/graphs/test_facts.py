"""Facts: types, what calls of functions agree on, the order of nodes, copies, and what is never read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from onereshape.graphs.facts import walk
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula
from tests.laws.shape_law import Case, model_of
from tests.laws.shape_world import CASES

HEAD = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>\n'
DATA = Path(__file__).parent.parent / "data"
SHIPPED = sorted([*DATA.glob("models/*.onnx"), *DATA.glob("corpus/*.onnx")])


def read(text: str) -> ir.Model:
    return ir.serde.deserialize_model(parser.parse_model(HEAD + text))


def values_of(model: ir.Model) -> Iterator[ir.Value]:
    """All values, in branches and functions too."""
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        yield from graph.inputs
        yield from graph.initializers.values()
        for node in graph.all_nodes():
            yield from node.outputs


def said(facts: Facts, value: ir.Value) -> tuple[Any, Any, Any]:
    """What is known of a value, with one word for all that is not."""
    dims, held = facts.dims_of(value), facts.held(value)
    plain = None if dims is None else tuple(_shown(facts, size) for size in dims)
    elements = None if held is None else (held.shape, tuple(_shown(facts, each) for each in held.flat))
    return plain, facts.kinds.get(value), elements


def _shown(facts: Facts, each: Any) -> Any:
    if isinstance(each, Formula):
        return "?" if each.symbols & facts.unnamed else str(each)
    return each


# Types


def _kind_of(case: Case) -> tuple[Any, ...]:
    """What the types of a case depend on."""
    chosen = ((name, str(each)) for name, each in case.attributes.items() if name in {"to", "value"} or "type" in name)
    inputs = tuple(each and (each.kind, each.shaped) for each in case.inputs)
    return case.domain, case.op, case.opset, case.outputs, inputs, tuple(sorted(chosen))


def test_types_are_those_of_onnx() -> None:
    """Of every operator in every version; what onnx has no schema for, onnxruntime is asked by the law of shapes."""
    wrong, compared = [], set()
    for case in {_kind_of(case): case for case in CASES}.values():
        proto = model_of(case)
        model = ir.from_proto(proto)
        facts = facts_of(model)
        inferred = onnx.shape_inference.infer_shapes(proto)
        theirs = {each.name: each.type.tensor_type.elem_type for each in inferred.graph.output}
        for value in model.graph.outputs:
            ours, expected = facts.kinds.get(value), theirs[value.name or ""]
            if expected:
                compared.add((case.domain, case.op))
            if expected and int(ours or 0) != expected:
                wrong.append(f"{case.text}: {value.name} is {ours}, not {expected}")

    assert wrong == []
    assert {case.op for case in CASES if not case.domain} - {op for _, op in compared} == {
        "GroupNormalization",  # onnx infers nothing
        "SimplifiedLayerNormalization",  # onnxruntime's own, in ONNX's domain
        # and those that ONNX tried and never took
        *("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"),
    }


# Functions

TWICE = """g (float[N, 4] x, KIND[M, 4] z) => (float[a, b] y, float[c, d] w) {
    y = local.f(x)
    w = local.f(z)
}
<domain: "local", opset_import: ["" : 18]>
f (data) => (out) {
    size = Shape(data)
    two = Constant <value_ints = [2]> ()
    twice = Mul(size, two)
    out = Identity(data)
}"""


def by_name(model: ir.Model, facts: Facts) -> dict[str, tuple[Any, Any, Any]]:
    return {str(value.name): said(facts, value) for value in values_of(model)}


def test_calls_of_different_shapes() -> None:
    """Each call has its own answer; in the body only what they agree on holds."""
    model = read(TWICE.replace("KIND", "float"))
    found = by_name(model, facts_of(model))

    assert (found["y"][0], found["w"][0]) == (("N", 4), ("M", 4))
    assert found["data"][:2] == (("?", 4), ir.DataType.FLOAT)
    assert found["out"][0] == ("?", 4)
    assert found["twice"] == ((2,), ir.DataType.INT64, ((2,), (None, 8)))


def test_calls_of_different_types() -> None:
    model = read(TWICE.replace("KIND", "int64"))
    found = by_name(model, facts_of(model))

    assert (found["y"][1], found["w"][1]) == (ir.DataType.FLOAT, ir.DataType.INT64)
    assert (found["data"][1], found["out"][1]) == (None, None)
    assert found["size"][1] == ir.DataType.INT64


DEEP = """g (float[2, 3] x, float[4, 5] z) => (float[a, b] y, float[c, d] w) {
    y = local.inner(x)
    w = local.outer(z)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]>
outer (given) => (found) { found = local.middle(given) }
<domain: "local", opset_import: ["" : 18, "local" : 1]>
middle (through) => (on) { on = local.inner(through) }
<domain: "local", opset_import: ["" : 18, "local" : 1]>
inner (data) => (out) { size = Shape(data) out = Relu(data) }"""


@pytest.mark.parametrize(("deepest", "known"), [(3, ["given", "through"]), (2, ["given", "through"]), (1, ["given"])])
def test_a_call_that_is_not_followed(deepest: int, known: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be of any shape, so nothing holds in the body that it enters, nor in those beyond."""
    monkeypatch.setattr(walk, "DEEPEST_CALL", deepest)
    model = read(DEEP)
    facts = facts_of(model)
    found = by_name(model, facts)

    assert found["y"][0] == (2, 3)
    assert [name for name in ("given", "through") if found[name][0] == (4, 5)] == known
    assert found["w"][0] == ((4, 5) if deepest == 3 else None)
    assert found["data"][0] == (("?", "?") if deepest == 3 else None)
    assert found["size"][2] is None or set(found["size"][2][1]) == {None}
    assert bool(facts.given_up) == (deepest < 3)


def test_a_function_that_calls_itself() -> None:
    model = read("""g (float[2, 3] x) => (float[a, b] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    f (data) => (out) { more = Concat <axis = 0> (data, data) out = local.f(more) }""")
    facts = facts_of(model)
    found = by_name(model, facts)

    assert (found["x"][0], found["y"][0], found["data"][0]) == ((2, 3), None, None)
    assert [each.why for each in facts.given_up] == [
        "the functions of the model call one another too often, or too deep"
    ]


# The order of nodes


@pytest.mark.parametrize("path", SHIPPED[::6], ids=lambda path: path.stem)
def test_the_order_of_nodes_does_not_matter(path: Path) -> None:
    model = ir.load(path)
    before = [said(facts, value) for facts in [facts_of(model)] for value in values_of(model)]
    names = [value.name for value in values_of(model)]
    nodes = list(model.graph)
    Random(7).shuffle(nodes)  # noqa: S311 - the same each time
    for node in nodes:
        model.graph.append(node)  # moved to the end
    after = facts_of(model)
    found = {value.name: said(after, value) for value in values_of(model)}

    assert [found[name] for name in names] == before


def test_a_circle_gives_nothing() -> None:
    model = read("g (float[2, 3] x) => (float[a] y) { h = Relu(x) k = Add(h, x) y = Relu(k) }")
    model.graph[0].replace_input_with(0, model.graph[1].outputs[0])
    facts = facts_of(model)

    assert [said(facts, value) for value in values_of(model)] == [(None, None, None)] * 4
    assert (facts.dims, facts.values, facts.errors, facts.conditions, facts.given_up) == ({}, {}, {}, {}, ())
    assert facts.of_copy(model) is facts


@pytest.mark.parametrize("outside", [0, 1])
def test_a_circle_in_a_branch_or_a_function_is_its_own_affair(outside: int) -> None:
    text = [
        """g (float[2, 3] x, bool c) => (float[a] y) {
            w = Relu(x)
            y = If (c) <
                then_branch = yes () => (float[p] p) { h = Relu(x) p = Relu(h) },
                else_branch = no () => (float[q] q) { q = Relu(x) }
            >
        }""",
        """g (float[2, 3] x) => (float[a] y) { w = Relu(x) y = local.f(x) }
        <domain: "local", opset_import: ["" : 18]>
        f (data) => (out) { h = Relu(data) out = Relu(h) }""",
    ][outside]
    model = read(text)
    (graph,) = [function.graph for function in model.functions.values()] or [
        each.value for each in model.graph[1].attributes.values() if each.name == "then_branch"
    ]
    graph[0].replace_input_with(0, graph[1].outputs[0])
    found = by_name(model, facts_of(model))

    assert (found["w"][0], found["y"][0]) == ((2, 3), None)


# Copies


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_facts_of_a_copy(path: Path) -> None:
    model = ir.load(path)
    copy = model.clone()
    given, found = facts_of(model).of_copy(copy), facts_of(copy)

    for value in values_of(copy):
        assert given.dims_of(value) == found.dims_of(value)
        assert said(given, value) == said(found, value)
    assert (given.conditions, given.unnamed, given.given_up) == (found.conditions, found.unnamed, found.given_up)
    assert {node: str(error) for node, error in given.errors.items()} == {
        node: str(error) for node, error in found.errors.items()
    }


def test_what_was_given_up_is_said_of_a_copy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "DEEPEST_CALL", 1)
    model = read(DEEP)
    copy = model.clone()
    found = facts_of(model).of_copy(copy)

    assert [each.at for each in found.given_up] == [copy.functions["local", "outer", ""][0]]


# What is never read


def test_large_initializers_are_never_read() -> None:
    """Neither those of a model nor its constants: only small tensors of numbers are."""
    asked: list[str] = []

    def lazy(name: str, kind: ir.DataType, dims: list[int]) -> ir.Value:
        def content() -> ir.TensorProtocol:
            asked.append(name)
            return ir.Tensor(np.zeros(dims, kind.numpy()), name=name)

        tensor = ir.LazyTensor(content, dtype=kind, shape=ir.Shape(dims), name=name)
        return ir.Value(name=name, shape=ir.Shape(dims), type=ir.TensorType(kind), const_value=tensor)

    data = ir.Value(name="x", shape=ir.Shape(["N", 8]), type=ir.TensorType(ir.DataType.FLOAT))
    weight = lazy("weight", ir.DataType.FLOAT, [8, 16])
    large = lazy("large", ir.DataType.INT64, [5000])
    half = lazy("half", ir.DataType.FLOAT16, [2])
    target = lazy("target", ir.DataType.INT64, [2])
    nodes = [
        ir.Node("", "MatMul", [data, weight]),
        ir.Node("", "Gather", [weight, large]),
        ir.Node("", "Add", [half, half]),
        ir.Node("", "Add", [large, large]),
    ]
    nodes += [ir.Node("", "Reshape", [nodes[1].outputs[0], large]), ir.Node("", "ConstantOfShape", [target])]
    graph = ir.Graph(
        [data],
        [node.outputs[0] for node in nodes],
        nodes=nodes,
        initializers=[weight, large, half, target],
        opset_imports={"": 18},
    )
    facts = facts_of(ir.Model(graph, ir_version=10))

    assert [str(size) for size in facts.dims_of(nodes[0].outputs[0]) or ()] == ["N", "16"]
    assert facts.dims_of(nodes[1].outputs[0]) == (5000, 16)
    assert facts.dims_of(nodes[3].outputs[0]) == (5000,)
    assert facts.dims_of(nodes[4].outputs[0]) is None
    assert facts.dims_of(nodes[5].outputs[0]) == (0, 0)
    assert set(asked) == {"target"}


@pytest.mark.parametrize("path", SHIPPED[::5], ids=lambda path: path.stem)
def test_weights_that_are_not_there_change_nothing(path: Path, tmp_path: Path) -> None:
    """A shipped model whose large tensors are in a file that is missing."""
    whole = ir.load(path)
    expected = [said(facts, value) for facts in [facts_of(whole)] for value in values_of(whole)]
    ir.save(whole, tmp_path / "model.onnx", external_data="weights", size_threshold_bytes=2048)
    (tmp_path / "weights").unlink(missing_ok=True)
    bare = ir.load(tmp_path / "model.onnx")
    facts = facts_of(bare)

    assert [said(facts, value) for value in values_of(bare)] == expected
