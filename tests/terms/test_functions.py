"""The functions of `ground.functions`, beside onnxruntime's own kernels: each body as a function of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper
from onnx_ir.serde import serialize_function

from onereshape.ground.bodies import Body, NoBodyError, body_of
from onereshape.ground.functions import FUNCTIONS
from onereshape.terms.prove import prove_batch
from onereshape.terms.refusal import NotProven
from tests.running import session
from tests.terms.single_nodes import Array, Node
from tests.terms.vendor_nodes import CASES, bytes_of, floats, point, scale

_STEPS = {"QLinearAveragePool": 1}
"""Operators whose kernel rounds what lies between two bytes otherwise, and by how many steps."""
_FACTORS = [floats(1, 3, 4), floats(2, 4, 5)]
_KEYS = [floats(1, 2, 3, 8), floats(2, 2, 3, 8), floats(3, 2, 3, 8)]
_MASK = np.asarray([[1, 1, 0], [1, 1, 1]], np.int32)


def _node(op: str, inputs: Any, attributes: Any = None, outputs: int = 1, domain: str = "com.microsoft") -> Node:
    return Node(op, inputs, attributes or {}, outputs, domain=domain)


_OTHERS = {
    "FusedMatMul": _node("FusedMatMul", _FACTORS, {"alpha": 0.5}),
    "FusedMatMul transA": _node("FusedMatMul", [_FACTORS[0].T.copy(), _FACTORS[1]], {"transA": 1}),
    "FusedMatMul transB": _node("FusedMatMul", [floats(1, 2, 3, 4), floats(2, 5, 4)], {"transB": 1}),
    "FusedMatMul transBatchA": _node("FusedMatMul", [floats(1, 3, 2, 4), floats(2, 2, 4, 5)], {"transBatchA": 1}),
    "FusedMatMul both": _node(
        "FusedMatMul", [floats(1, 4, 2, 3), floats(2, 2, 4, 5)], {"transBatchA": 1, "transA": 1, "alpha": 2.0}
    ),
    "TransposeMatMul": _node("TransposeMatMul", [_FACTORS[0].T.copy(), _FACTORS[1]], {"transA": 1}),
    "GatherND": _node("GatherND", [floats(1, 3, 4), np.asarray([[2], [0]])]),
    "QLinearWhere": _node(
        "QLinearWhere",
        [
            np.asarray([[True], [False], [True]]),
            *(bytes_of(1, np.uint8, 3, 4), scale(), point()),
            *(bytes_of(2, np.uint8, 3, 4), scale(0.07), point(5)),
            *(scale(0.1), point(4)),
        ],
    ),
    **{
        f"FusedConv {kind}": _node(
            "FusedConv",
            [floats(1, 2, 3, 5), floats(2, 4, 3, 3)],
            {"activation": kind, **({"activation_params": list(numbers)} if numbers else {})},
        )
        for kind, *numbers in (
            ["Tanh"],
            ["Sigmoid"],
            ["LeakyRelu", 0.1],
            ["Clip", -0.5, 0.5],
            ["HardSigmoid", 0.1, 0.6],
        )
    },
    "FusedGemm beta": _node("FusedGemm", [*_FACTORS, floats(3, 5)], {"beta": 0.5, "activation": "Relu"}),
    "QGemm transA": _node(
        "QGemm",
        [bytes_of(1, np.uint8, 4, 3), scale(), point(), bytes_of(3, np.int8, 4, 5), scale(), point(1, np.int8)],
        {"transA": 1, "alpha": 0.5},
    ),
    "MatMulIntegerToFloat": _node(
        "MatMulIntegerToFloat",
        [
            bytes_of(1, np.int8, 3, 4),
            bytes_of(2, np.int8, 4, 5),
            scale(),
            scale(),
            point(1, np.int8),
            point(2, np.int8),
        ],
    ),
    "MultiHeadAttention heads": _node(
        "MultiHeadAttention", [floats(1, 2, 3, 8), floats(2, 2, 2, 5, 4), floats(3, 2, 2, 5, 4)], {"num_heads": 2}
    ),
    "MultiHeadAttention mask": _node("MultiHeadAttention", [*_KEYS, None, _MASK], {"num_heads": 2, "scale": 0.3}),
    "MultiHeadAttention lengths": _node(
        "MultiHeadAttention", [*_KEYS, None, np.asarray([2, 3], np.int32)], {"num_heads": 2}
    ),
    "MultiHeadAttention causal": _node("MultiHeadAttention", _KEYS, {"num_heads": 2, "unidirectional": 1}),
    "MultiHeadAttention causal past": _node(
        "MultiHeadAttention",
        [*_KEYS, None, None, None, floats(4, 2, 2, 2, 4), floats(5, 2, 2, 2, 4)],
        {"num_heads": 2, "unidirectional": 1},
        3,
    ),
    "MultiHeadAttention masks": _node(
        "MultiHeadAttention", [*_KEYS, None, np.stack([_MASK[:, :1] | _MASK] * 3, 1)], {"num_heads": 2}
    ),
    "Attention sizes": _node(
        "Attention",
        [floats(1, 2, 3, 4), floats(2, 4, 14), floats(3, 14), _MASK],
        {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 6]},
    ),
    "Attention ends": _node(
        "Attention",
        [floats(1, 2, 3, 4), floats(2, 4, 12), floats(3, 12), np.asarray([2, 3], np.int32)],
        {"num_heads": 2},
    ),
    "Attention bias": _node(
        "Attention",
        [floats(1, 2, 3, 4), floats(2, 4, 12), floats(3, 12), None, None, floats(4, 1, 2, 3, 3)],
        {"num_heads": 2, "unidirectional": 1},
    ),
    "Attention causal past": _node(
        "Attention",
        [floats(1, 2, 3, 4), floats(2, 4, 12), floats(3, 12), None, floats(4, 2, 2, 2, 3, 2)],
        {"num_heads": 2, "unidirectional": 1},
        2,
    ),
    "QAttention": _node(
        "QAttention",
        [bytes_of(1, np.uint8, 2, 3, 4), bytes_of(2, np.int8, 4, 12), floats(2, 12), scale(0.02), scale(0.02), _MASK],
        {"num_heads": 2, "unidirectional": 0},
    ),
    "EmbedLayerNormalization ones": _node(
        "EmbedLayerNormalization",
        [
            np.asarray([[1, 3], [2, 0]], np.int32),
            None,
            *(floats(1, 7, 8), floats(2, 6, 8), None, floats(4, 8), floats(5, 8)),
            np.asarray([[1, 2], [1, 1]], np.int32),
        ],
        {"epsilon": 0.5},
        3,
    ),
    "SkipSimplifiedLayerNormalization": _node(
        "SkipSimplifiedLayerNormalization", [floats(1, 3, 8), floats(2, 3, 8), floats(3, 8)], {"epsilon": 0.5}
    ),
    "QLinearConv": _node(
        "QLinearConv",
        [
            *(bytes_of(1, np.uint8, 2, 4, 5), scale(), point()),
            *(bytes_of(2, np.int8, 6, 2, 3), np.abs(floats(2, 6)), np.zeros(6, np.int8)),
            *(scale(9.0), point(4), bytes_of(3, np.int8, 6).astype(np.int32)),
        ],
        {"group": 2, "pads": [1, 0], "strides": [2]},
        domain="",
    ),
    "QLinearMatMul": _node(
        "QLinearMatMul",
        [
            *(bytes_of(1, np.uint8, 3, 4), scale(), point()),
            *(bytes_of(2, np.int8, 4, 5), np.abs(floats(2, 5)), bytes_of(4, np.int8, 5)),
            *(scale(9.0), point(4)),
        ],
        domain="",
    ),
    "RotaryEmbedding interleaved": _node(
        "RotaryEmbedding",
        [floats(1, 2, 3, 8), np.asarray([[0, 1, 2], [3, 1, 0]]), floats(2, 6, 2), floats(3, 6, 2)],
        {"interleaved": 1},
    ),
    "RotaryEmbedding part": _node(
        "RotaryEmbedding",
        [floats(1, 2, 3, 8), np.asarray([1]), floats(2, 6, 1), floats(3, 6, 1)],
        {"num_heads": 2, "rotary_embedding_dim": 2},
    ),
    "RotaryEmbedding part interleaved": _node(
        "RotaryEmbedding",
        [floats(1, 2, 2, 3, 8), np.asarray([1]), floats(2, 6, 2), floats(3, 6, 2)],
        {"num_heads": 2, "rotary_embedding_dim": 4, "interleaved": 1},
    ),
    "Trilu": _node("Trilu", [floats(1, 3, 4)]),
    "DequantizeLinear axis": _node(
        "DequantizeLinear", [bytes_of(1, np.int8, 3, 4), np.abs(floats(1, 3)), bytes_of(2, np.int8, 3)], {"axis": 0}
    ),
    "BatchNormalization": _node(
        "BatchNormalization",
        [floats(1, 2, 3, 4), floats(1, 3), floats(2, 3), floats(3, 3), np.abs(floats(4, 3))],
        {"epsilon": 1e-3},
        domain="",
    ),
    "BatchNormalization 2": _node(
        "BatchNormalization",
        [floats(1, 2, 3), floats(1, 3), floats(2, 3), floats(3, 3), np.abs(floats(4, 3))],
        domain="",
    ),
    "InstanceNormalization": _node(
        "InstanceNormalization", [floats(1, 2, 3, 4, 5), floats(1, 3), floats(2, 3)], {"epsilon": 1e-2}, domain=""
    ),
    "Gemm": _node(
        "Gemm",
        [floats(1, 4, 3), floats(2, 5, 4), floats(3, 5)],
        {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
        domain="",
    ),
    "Gemm plain": _node("Gemm", _FACTORS, domain=""),
}
_WRITTEN = {name: case.node for name, case in CASES.items() if f"com.microsoft::{case.node.op}" in FUNCTIONS}
_NODES = {
    **{f"{name} (vendor)": node for name, node in _WRITTEN.items()},
    "SimplifiedLayerNormalization": CASES["SimplifiedLayerNormalization"].node,
    **_OTHERS,
}


_SWAPS = {"Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Greater": "Less", "Less": "Greater", "Tanh": "Sin"}


def _body(node: Node) -> Body:
    (there,) = ir.from_proto(node.model).graph
    given: Any = [None if each is None else (ir.DataType.from_numpy(each.dtype), each.ndim) for each in node.inputs]
    found = body_of(there, node.opset, given)
    assert found is not None
    return found


def _apart(node: Node) -> onnx.FunctionProto:
    """The body of a node's operator as a function of a model."""
    function = serialize_function(_body(node).function)
    function.domain, function.name = "taken.apart", node.op
    return function


def _called(node: Node, function: onnx.FunctionProto, places: Sequence[int | None]) -> list[Array | None]:
    """What the body makes in onnxruntime; None for outputs that it does not make."""
    model = onnx.ModelProto()
    model.CopyFrom(node.model)
    (call,) = model.graph.node
    call.domain = "taken.apart"
    del call.attribute[:], call.output[:]
    call.output.extend(
        f"y{place}" if place in node.named else "" for place, made in enumerate(places) if made is not None
    )
    there = [f"y{place}" for place in node.named if places[place] is not None]
    kept = [each for each in model.graph.output if each.name in there]
    del model.graph.output[:], model.opset_import[:]
    model.graph.output.extend(kept)
    model.functions.append(function)
    model.opset_import.extend([*function.opset_import, helper.make_opsetid("taken.apart", 1)])
    feeds = {f"x{place}": np.asarray(node.inputs[place]) for place in node.fed}
    made = iter(session(model).run(None, feeds))
    return [next(made) if places[place] is not None else None for place in node.named]


def _places(node: Node) -> Sequence[int | None]:
    found = _body(node)
    return found.places or range(len(found.function.outputs))


def _differs(node: Node, function: onnx.FunctionProto) -> bool:
    """Whether a body gives something else than the operator."""
    for theirs, mine in zip(node.engine(), _called(node, function, _places(node)), strict=True):
        if mine is None:
            continue
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            return True
        if mine.dtype.kind == "f":
            if not np.allclose(mine, theirs, 1e-5, 1e-5):
                return True
        elif np.abs(mine.astype(np.int64) - theirs).max(initial=0) > _STEPS.get(node.op, 0):
            return True
    return False


@pytest.mark.parametrize("name", _NODES)
def test_a_body_gives_what_the_kernel_gives(name: str) -> None:
    node = _NODES[name]
    assert not _differs(node, _apart(node))
    rng = np.random.default_rng(5)
    drawn = [
        each if each is None or each.dtype.kind != "f" or place in node.held or not each.ndim or np.all(each > 0)
        else np.asarray(rng.normal(size=each.shape), each.dtype)
        for place, each in enumerate(node.inputs)
    ]  # fmt: skip
    other = replace(node, inputs=drawn)
    assert not _differs(other, _apart(other))


def test_every_row_has_a_case() -> None:
    there = {f"{node.domain}::{node.op}".removeprefix("::") for node in _NODES.values()}
    assert there == set(FUNCTIONS)


def _planted(function: onnx.FunctionProto) -> Iterator[tuple[str, onnx.FunctionProto]]:
    """The function with one operator exchanged, or one number changed, by what was done: `Add s bias`."""
    for place, node in enumerate(function.node):
        found = onnx.FunctionProto()
        found.CopyFrom(function)
        if node.op_type in _SWAPS:
            found.node[place].op_type = _SWAPS[node.op_type]
            yield " ".join([node.op_type, *(re.sub(r"_\d+_$", "", each) for each in node.input)]), found
        elif node.op_type == "Constant" and node.attribute[0].name == "value_float" and node.attribute[0].f > -1000:
            found.node[place].attribute[0].f = node.attribute[0].f * 1.5 + 1
            reader = next(
                each for each in function.node[place + 2 :] if function.node[place + 1].output[0] in each.input
            )
            yield f"{node.attribute[0].f:.3} in {reader.op_type}", found


def _refused(node: Node, function: onnx.FunctionProto) -> bool:
    """Whether onnxruntime does not take a body."""
    try:
        _called(node, function, _places(node))
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return True
    return False


_SAME = {"Add k bk", "0.0 in Where"}
"""What is added to the scores of all keys alike does not change a Softmax."""


@pytest.mark.parametrize("op", sorted({node.op for node in _NODES.values()}))
def test_planted_bugs_are_found(op: str) -> None:
    """A bug that is planted anywhere in the bodies of an operator is found by one of its cases."""
    found: dict[str, bool] = {}
    for node in _NODES.values():
        for what, wrong in _planted(_apart(node)) if node.op == op else ():
            found[what] = found.get(what, False) or _refused(node, wrong) or _differs(node, wrong)
    assert {what for what, seen in found.items() if not seen} <= _SAME


def test_a_node_that_is_not_what_its_row_says() -> None:
    node = CASES["QuickGelu"].node
    for wrong, why in (
        (replace(node, attributes={"beta": 1.0}), "'beta'"),
        (replace(node, attributes={"alpha": 1}), "of another type"),
        (replace(node, inputs=[]), "missing"),
        (replace(node, inputs=[*node.inputs] * 2), "2 inputs"),
        (replace(node, inputs=[np.asarray([1, 2])]), "INT64"),
    ):
        with pytest.raises(NoBodyError, match=why):
            _apart(wrong)


def test_dims_that_the_kernel_refuses() -> None:
    """Where a body would broadcast, dims are held against what the row says."""
    heads = _NODES["MultiHeadAttention mask"]
    for node, place, dims in (
        (CASES["BiasGelu"].node, 1, (1,)),
        (CASES["RotaryEmbedding"].node, 1, (1, 4)),
        (CASES["QLinearAdd"].node, 1, (4,)),
        (heads, 1, (1, 3, 8)),
        (heads, 4, (1, 3)),
    ):
        given = node.inputs[place]
        assert given is not None
        other = np.resize(given, dims).astype(given.dtype)
        wrong = replace(node, inputs=[other if each == place else now for each, now in enumerate(node.inputs)])
        with pytest.raises(Exception, match=node.op):
            wrong.engine()
        with pytest.raises(NotProven, match="has the dims"):
            wrong.run()


_ONE_SIZE = {"DynamicQuantizeMatMul", "GroupQueryAttention", "GroupQueryAttention prompt"}
"""Those that mix their samples, or take lengths."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in _ONE_SIZE])
def test_samples_are_apart_for_all_n(name: str) -> None:
    """A node whose inputs carry N where samples are is proven for every N, by its body or by its record."""
    axes = CASES[name].axes
    node = CASES[name].node
    rest = {place for place, each in enumerate(node.inputs) if each is not None and place not in axes}
    one = replace(node, held=node.held | rest).model
    many = onnx.ModelProto()
    many.CopyFrom(one)
    for value in many.graph.input:
        value.type.tensor_type.shape.dim[axes[int(value.name[1:])]].dim_param = "N"
    (size,) = {np.asarray(node.inputs[place]).shape[axis] for place, axis in axes.items()}
    where = {f"x{place}": axis for place, axis in axes.items()}

    found = prove_batch(ir.from_proto(one), ir.from_proto(many), where, size=size, seed=1)

    assert (found.verdict, found.always) == ("proven", True), found
