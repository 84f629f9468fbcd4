"""Contractions, windows and resizing in models whose batch is freed: for every N where nothing reads it, else never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch

RNG = np.random.default_rng(5)


def model(nodes: Sequence[Any], dims: Sequence[Any], weights: Mapping[str, Any], out: str = "y") -> ir.Model:
    """One input x, one output."""
    graph = helper.make_graph(
        nodes,
        "some",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items()],
    )
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10))


def proof(nodes: Sequence[Any], dims: Sequence[int], weights: Mapping[str, Any]) -> Proof:
    """Of a model for one sample, and of the same nodes for N of them."""
    one, many = (model(nodes, [first, *dims], weights) for first in (1, "N"))
    return prove_batch(one, many, {"x": 0}, seed=11)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


PROVEN: dict[str, tuple[list[Any], list[int], dict[str, Any]]] = {
    "conv": (
        [node("Conv", "x w b", "a", pads=[1] * 4, group=2), node("MaxPool", "a", "y", kernel_shape=[2, 2])],
        [4, 6, 5],
        {"w": floats(6, 2, 3, 3), "b": floats(6)},
    ),
    "transposed": ([node("ConvTranspose", "x w", "y", strides=[2, 2])], [4, 6, 5], {"w": floats(4, 2, 3, 3)}),
    "unpooled": (
        [
            node("MaxPool", "x", "a i", kernel_shape=[2, 2], strides=[2, 2]),
            node("Relu", "a", "b"),
            node("MaxUnpool", "b i", "y", kernel_shape=[2, 2], strides=[2, 2]),
        ],
        [4, 6, 8],
        {},
    ),
    "gemm": ([node("Gemm", "x w b", "y", transB=1)], [6], {"w": floats(5, 6), "b": floats(5)}),
    "attention": ([node("Einsum", "x x", "a", equation="bid,bjd->bij"), node("MatMul", "a x", "y")], [4, 6], {}),
    "batch in the middle": (
        [
            node("Transpose", "x", "a", perm=[1, 0, 2]),
            node("Einsum", "a w", "b", equation="sbd,de->bse"),
            node("MatMul", "x w", "c"),
            node("Sub", "b c", "y"),
        ],
        [4, 6],
        {"w": floats(6, 5)},
    ),
    "resized by sizes": (
        [
            node("Shape", "x", "s"),
            node("Slice", "s zero two", "head"),
            node("Concat", "head tail", "sizes", axis=0),
            helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear"),
        ],
        [3, 5, 4],
        {"zero": np.array([0]), "two": np.array([2]), "tail": np.array([10, 7])},
    ),
    "resized by scales": (
        [helper.make_node("Resize", ["x", "", "scales"], ["y"])],
        [3, 5, 4],
        {"scales": np.array([1, 1, 2, 0.5], np.float32)},
    ),
    "sampled": (
        [
            node("Slice", "x zero two channel", "g"),
            node("Transpose", "g", "t", perm=[0, 2, 3, 1]),
            node("GridSample", "x t", "y"),
        ],
        [3, 5, 4],
        {"zero": np.array([0]), "two": np.array([2]), "channel": np.array([1])},
    ),
    "blocks": (
        [node("DepthToSpace", "x", "a", blocksize=2), node("SpaceToDepth", "a", "y", blocksize=4)],
        [8, 4, 4],
        {},
    ),
    "global": ([node("GlobalAveragePool", "x", "a"), node("Flatten", "a", "y")], [3, 5, 4], {}),
}


@pytest.mark.parametrize("name", PROVEN)
def test_samples_stay_apart_for_every_number_of_them(name: str) -> None:
    found = proof(*PROVEN[name])
    assert (found.verdict, found.reason, found.not_always, found.always) == ("proven", "", "", True)


MIXED: dict[str, tuple[list[Any], list[int], dict[str, Any]]] = {
    "over samples": (
        [node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "t x", "a"), node("MatMul", "x a", "y")],
        [6],
        {},
    ),
    "einsum over samples": ([node("Einsum", "x x x", "y", equation="bi,cj,cj->bi")], [6], {}),
    "windows over samples": (
        [
            node("Transpose", "x", "t", perm=[1, 0, 2]),
            node("Reshape", "t shape", "r"),
            node("Conv", "r w", "a", pads=[1, 1]),
            node("Reshape", "a back", "b"),
            node("Transpose", "b", "y", perm=[1, 0, 2]),
        ],
        [2, 4],
        {"w": floats(2, 2, 3), "shape": np.array([1, 2, -1]), "back": np.array([2, -1, 4])},
    ),
    "resized samples": (
        [helper.make_node("Resize", ["x", "", "scales"], ["a"]), node("Slice", "a zero end zero two", "y")],
        [4],
        {"scales": np.array([2, 1], np.float32), "zero": np.array([0]), "end": np.array([99]), "two": np.array([2])},
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_samples_that_are_mixed_are_found(name: str) -> None:
    found = proof(*MIXED[name])
    assert found.verdict == "other" or (found.verdict == "proven" and not found.always), found
    assert (found.verdict == "proven") == (name == "resized samples")


@pytest.mark.parametrize(("opset", "count", "attributes"), [(7, 5, {}), (13, 5, {}), (14, 3, {"training_mode": 1})])
def test_a_norm_trains_though_nobody_reads_its_statistics(opset: int, count: int, attributes: dict[str, Any]) -> None:
    """Its outputs say so, or an attribute; as many as there are."""
    norm = helper.make_node("BatchNormalization", ["x", *"wwww"], ["y", *"abcd"[: count - 1]], **attributes)
    one, many = (model([norm], [first, 3, 2], {"w": floats(3)}) for first in (1, "N"))
    for each in (one, many):
        each.opset_imports[""] = opset

    found = prove_batch(one, many, {"x": 0}, seed=11)

    assert (found.verdict, found.reason) == ("not proven", "BatchNormalization y: it is one of training")


def test_a_split_has_as_many_parts_as_outputs_whoever_reads_them() -> None:
    parts = helper.make_node("Split", ["x"], ["y", "a", "b"], axis=1)
    one, many = (model([parts], [first, 6], {}) for first in (1, "N"))
    for each in (one, many):
        each.opset_imports[""] = 13

    found = prove_batch(one, many, {"x": 0}, seed=11)

    assert found.verdict == "proven"
    assert found.outputs[0].elements == 2 * sum(sizes["N"] for sizes in found.sizes)


@pytest.mark.parametrize("name", [*PROVEN, *MIXED])
def test_where_only_a_proof_for_every_batch_is_of_use_nothing_else_is_run(name: str) -> None:
    """The same proofs, at the same sizes; what is none ends before the sizes at which it might hold."""
    nodes, dims, weights = PROVEN[name] if name in PROVEN else MIXED[name]
    one, many = (model(nodes, [first, *dims], weights) for first in (1, "N"))
    usual, found = (prove_batch(one, many, {"x": 0}, seed=11, for_all=each) for each in (False, True))

    assert found.always == usual.always
    if usual.always:
        assert found == usual
    else:
        assert (found.verdict, found.sizes) == ("not proven", ())
