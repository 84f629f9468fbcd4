"""Equal models are proven: other names, constants folded or made at run time, movement there and back, other opsets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import AttributeProto, helper, numpy_helper

import onereshape as orx
from onereshape.terms.prove import prove_batch, prove_same
from tests.arbiter import Entry, entries
from tests.laws.terms_edits import Graph
from tests.models import model

CORPUS = entries(Path(__file__).parents[1] / "data" / "corpus")
MIXING = {"neg_minibatch_std.dynamo.onnx", "neg_minibatch_std.ts.onnx"}
SOME = [each for each in CORPUS if each.path.name not in MIXING][2::8]


def _renamed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Other names for nodes and for all values but inputs and outputs."""
    kept = {each.name for each in (*proto.graph.input, *proto.graph.output)} | {""}
    captured = any(each.type == AttributeProto.GRAPH for node in proto.graph.node for each in node.attribute)
    if captured:
        kept |= {name for node in proto.graph.node for name in (*node.input, *node.output)}
    names: dict[str, str] = {}

    def other(name: str) -> str:
        return name if name in kept else names.setdefault(name, f"v{len(names)}")

    for node in proto.graph.node:
        node.name = f"other_{node.name}"
        node.input[:] = map(other, node.input)
        node.output[:] = map(other, node.output)
    for each in (*proto.graph.initializer, *proto.graph.value_info):
        each.name = other(each.name)
    return proto


def _with_identities(proto: onnx.ModelProto) -> onnx.ModelProto:
    graph = Graph(proto)
    for place, node in enumerate(list(graph.graph.node)[::3]):
        name = node.output[0]
        if node.op_type != "Constant" and name not in {each.name for each in graph.graph.output}:
            graph.between(name, helper.make_node("Identity", [name], [f"same_{place}"]))
    return graph.proto


def _with_constant_nodes(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Small weights as nodes."""
    inputs = {each.name for each in proto.graph.input}
    moved = [each for each in proto.graph.initializer if each.name not in inputs and not each.external_data][:40]
    for place, each in enumerate(moved):
        array = numpy_helper.to_array(each)
        proto.graph.node.insert(
            place, helper.make_node("Constant", [], [each.name], value=numpy_helper.from_array(array))
        )
        proto.graph.initializer.remove(each)
    return proto


def _with_weights(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Nodes of constants as weights."""
    for node in [each for each in proto.graph.node if each.op_type == "Constant"]:
        if node.attribute[0].name == "value":
            tensor = numpy_helper.from_array(numpy_helper.to_array(node.attribute[0].t), node.output[0])
            proto.graph.initializer.append(tensor)
            proto.graph.node.remove(node)
    return proto


def _turned_twice(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A pair of Transposes behind products of matrices, whose ranks are known."""
    inferred = onnx.shape_inference.infer_shapes(proto)
    ranks = {each.name: len(each.type.tensor_type.shape.dim) for each in inferred.graph.value_info}
    graph = Graph(proto)
    for place, node in enumerate(list(graph.graph.node)):
        name = node.output[0]
        if node.op_type in {"MatMul", "Add", "Conv", "Relu"} and ranks.get(name, 0) > 1:
            perm = [*range(1, ranks[name]), 0]
            back = [perm.index(each) for each in range(len(perm))]
            graph.between(
                name,
                helper.make_node("Transpose", [name], [f"there_{place}"], perm=perm),
                helper.make_node("Transpose", [f"there_{place}"], [f"back_{place}"], perm=back),
            )
    return graph.proto


def _folded(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Movement of weights done ahead."""
    graph = Graph(proto)
    for node in graph.graph.node:
        if node.op_type != "Transpose" or graph.number(node.input[0]) is None:
            continue
        perm = next((list(each.ints) for each in node.attribute if each.name == "perm"), None)
        array = np.ascontiguousarray(np.transpose(graph.number(node.input[0]), perm))
        graph.graph.initializer.append(numpy_helper.from_array(array, f"ahead_{node.output[0]}"))
        output = node.output[0]
        node.Clear()
        node.CopyFrom(helper.make_node("Identity", [f"ahead_{output}"], [output]))
    return graph.proto


CHANGES: list[Callable[[onnx.ModelProto], onnx.ModelProto]] = [
    *(_renamed, _with_identities, _with_constant_nodes, _with_weights, _turned_twice, _folded)
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("entry", SOME, ids=lambda entry: entry.path.name)
def test_a_repair_that_is_written_otherwise_is_proven(
    entry: Entry, change: Callable[[onnx.ModelProto], onnx.ModelProto]
) -> None:
    fixed = orx.fix(entry.path, batch=entry.batch, certify=False)
    other = change(ir.to_proto(fixed.model.ir))

    found = prove_batch(ir.from_proto(onnx.load(entry.path)), ir.from_proto(other), entry.batch, seed=11)

    assert (found.verdict, found.reason) == ("proven", "")


PAIRS: dict[str, tuple[str, str, str] | tuple[str, str, str, int, int]] = {
    "a batch that moves around a block": (
        "(float[2, 3, 4] x) => (float[2, 3, 4] z)",
        "<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> "
        "{ a = MatMul(x, w) b = Relu(a) z = Add(b, x) }",
        "<float[4, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}> "
        "{ t = Transpose<perm=[1, 0, 2]>(x) a = MatMul(t, w) b = Relu(a) c = Add(t, b) "
        "z = Transpose<perm=[1, 0, 2]>(c) }",
    ),
    "Gemm as a product": (
        "(float[2, 3] x) => (float[2, 2] z)",
        "<float[3, 2] w = {1, 2, 3, 4, 5, 6}> { z = MatMul(x, w) }",
        "<float[2, 3] w = {1, 3, 5, 2, 4, 6}> { z = Gemm<transB=1>(x, w) }",
    ),
    "padding ahead": (
        "(float[1, 1, 5] x) => (float[1, 1, 5] z)",
        "<float[1, 1, 3] w = {1, 2, 3}> { z = Conv<pads=[1, 1]>(x, w) }",
        "<float[1, 1, 3] w = {1, 2, 3}, int64[6] p = {0, 0, 1, 0, 0, 1}> { a = Pad(x, p) z = Conv(a, w) }",
    ),
    "sums of integers in another order": (
        "(int32[3] x) => (int64[3] z)",
        "<int64[3] a = {1, 2, 3}, int64[3] m = {5, 5, 5}> "
        "{ y = Cast<to=7>(x) r = Mod(y, m) b = Add(r, a) z = Add(b, r) }",
        "<int64[3] a = {1, 2, 3}, int64[3] m = {5, 5, 5}, int64[1] t = {2}> "
        "{ y = Cast<to=7>(x) r = Mod(y, m) b = Mul(r, t) z = Add(a, b) }",
    ),
    "an index from the end": (
        "(float[4] x, int64[1] i) => (float[1] z)",
        "{ z = Gather(x, i) }",
        "<int64[1] l = {4}> { j = Mod(i, l) z = Gather(x, j) }",
    ),
    "a choice that is known": (
        "(float[3] x) => (float[3] z)",
        "{ z = Relu(x) }",
        "<bool[1] c = {1}> { a = Relu(x) z = Where(c, a, x) }",
    ),
    "a clip as its ends": (
        "(float[3] x) => (float[3] z)",
        "<float a = {0.0}, float b = {6.0}> { z = Clip(x, a, b) }",
        "<float a = {0.0}, float b = {6.0}> { y = Max(x, a) z = Min(y, b) }",
    ),
    "axes as an attribute and as an input": (
        "(float[2, 3] x) => (float[2] z)",
        "{ a = Unsqueeze<axes=[1]>(x) b = ReduceSum<axes=[2]>(a) z = Squeeze<axes=[1, 2]>(b) }",
        "<int64[1] i = {1}, int64[1] j = {2}, int64[2] k = {1, 2}> "
        "{ a = Unsqueeze(x, i) b = ReduceSum(a, j) z = Squeeze(b, k) }",
        11,
        13,
    ),
    "the old and the new Softmax": (
        "(float[2, 3] x) => (float[2, 3] z)",
        "{ z = Softmax<axis=1>(x) }",
        "{ z = Softmax<axis=-1>(x) }",
        11,
        13,
    ),
    "a function and its body": (
        "(float[2, 3] x) => (float[2, 3] z)",
        "{ a = Sigmoid(x) z = Mul(x, a) }",
        '{ z = local.swish(x) } <domain: "local", opset_import: ["" : 21]> swish (x) => (y) '
        "{ a = Sigmoid(x) y = Mul(a, x) }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_models_that_are_equal_are_proven(name: str) -> None:
    signature, one, two, *opsets = PAIRS[name]
    first, last = opsets or (21, 21)
    made = []
    for body, opset in ((one, first), (two, last)):
        header = f'<ir_version: 10, opset_import: ["" : {opset}, "local" : 1]>'
        made.append(ir.from_proto(model(f"agraph {signature} {body}", header)))

    found = prove_same(made[0], made[1], [{}], seed=3)

    assert (found.verdict, found.reason) == ("proven", "")
