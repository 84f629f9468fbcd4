"""Operators as they were before opset 10: each takes a batch or says why not, and onnxruntime judges what it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper, numpy_helper

from onereshape import fix, save
from onereshape.graphs.request import given_model, requested
from onereshape.ground.errors import FixError
from onereshape.repair.batch.apply import apply_batch
from onereshape.repair.batch.search import batch_plan
from onereshape.terms.prove import prove_batch
from tests.laws.batching_law import Engine

Array = np.ndarray[Any, Any]
SAMPLES = 3


class Old(NamedTuple):
    """A node of an old opset, on data of one sample."""

    op: str
    opset: int
    dims: tuple[int, ...]
    constants: tuple[Array, ...] = ()
    attributes: Mapping[str, Any] = {}
    axes: tuple[int | None, ...] = (0,)
    """Where its outputs carry the batch."""
    edits: int = 0
    runs: bool = False
    """Whether onnxruntime has it."""
    axis: int = 0
    """Where data carry the batch."""
    unread: int = 0
    """Outputs behind the others that nobody reads."""
    why: str = ""
    """Why terms do not prove it."""


def floats(*dims: int) -> Array:
    return (np.arange(int(np.prod(dims))) % 7 * 0.375 + 0.25).reshape(dims).astype(np.float32)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def scalar(number: float) -> Array:
    return np.array(number, np.float32)


_IMAGE = (1, 3, 2, 2)
_FOUR = (floats(3), floats(3), floats(3), floats(3))
_BY_PLACE = (floats(3, 2, 2),) * 4
_CELL = (floats(1, 2, 3), floats(1, 2, 2))
_LONG_CELL = (floats(1, 8, 3), floats(1, 8, 2))

CASES = [
    Old("Add", 6, _IMAGE, (floats(3),), {"broadcast": 1, "axis": 1}),
    Old("Sub", 6, _IMAGE, (floats(3, 2),), {"broadcast": 1, "axis": 1}),
    Old("Div", 1, _IMAGE, (floats(2),), {"broadcast": 1}),
    Old("Mul", 6, (1, 3), (floats(1),), {"broadcast": 1, "axis": 0}),
    Old("Mul", 6, (1, 3), (floats(1, 3),), {}, edits=1),
    Old("Mul", 6, (1, 3), (floats(1, 3),), {"broadcast": 1}, edits=1),
    Old("Pow", 6, _IMAGE, (floats(),), {"broadcast": 1}),
    Old("Sum", 7, (1, 3), (floats(1, 3),), {}, edits=1, runs=True),
    Old("Max", 7, (1, 3), (floats(1, 3),), {}, edits=1, runs=True),
    Old("Min", 6, (1, 3), (floats(1, 3),), {}, edits=1, runs=True),
    Old("Mean", 6, (1, 3), (floats(1, 3),), {}, edits=1, runs=True),
    Old("PRelu", 6, _IMAGE, (floats(3),)),
    Old("PRelu", 1, _IMAGE, (floats(1),)),
    Old("Gemm", 6, (1, 3), (floats(4, 3), floats(4)), {"transB": 1, "broadcast": 1}),
    Old("Gemm", 6, (1, 3), (floats(4, 3), floats(1, 4)), {"transB": 1}, edits=1),
    Old("Cast", 5, (1, 3), (), {"to": "FLOAT"}),
    Old("Reshape", 1, (1, 2, 3), (), {"shape": [1, 6]}, edits=1, runs=True),
    Old("Reshape", 4, (1, 2, 3), (), {"shape": [-1, 6]}, runs=True),
    Old("Pad", 1, _IMAGE, (), {"paddings": [0, 0, 1, 1, 0, 0, 1, 1]}),
    Old("Pad", 2, _IMAGE, (), {"pads": [0, 0, 1, 1, 0, 0, 1, 1]}, runs=True),
    Old("BatchNormalization", 1, _IMAGE, _FOUR, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}),
    Old("BatchNormalization", 6, _IMAGE, _FOUR, {"is_test": 1}),
    Old("BatchNormalization", 1, _IMAGE, _FOUR, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}, unread=4),
    Old("BatchNormalization", 6, _IMAGE, _FOUR, {"is_test": 1}, unread=4),
    Old("BatchNormalization", 7, _IMAGE, _FOUR, {"spatial": 1}, runs=True),
    Old("BatchNormalization", 8, _IMAGE, _BY_PLACE, {"spatial": 0}, runs=True),
    Old("Dropout", 1, (1, 3), (), {"is_test": 1, "ratio": 0.5}),
    Old("Dropout", 7, (1, 3), (), {"ratio": 0.5}, runs=True),
    Old("Dropout", 7, (1, 3), (), {"ratio": 0.5}, axes=(0, 0), runs=True, why="what its mask is"),
    Old("Squeeze", 1, (1, 3, 1, 1), (), {"axes": [2, 3]}, runs=True),
    Old("Squeeze", 7, (1, 3, 1), (), {"axes": [0]}, edits=1, runs=True),
    Old("Unsqueeze", 1, (1, 3), (), {"axes": [0, 2]}, axes=(1,), runs=True),
    Old("Split", 1, (1, 3), (np.array([1, 2], np.float32),), {"axis": 1}, axes=(0, 0)),
    Old("Split", 2, (1, 3), (), {"axis": 1, "split": [1, 2]}, axes=(0, 0), runs=True),
    Old("Clip", 1, (1, 3), (), {"min": 0.0, "max": 6.0, "consumed_inputs": [0]}),
    Old("Clip", 6, (1, 3), (), {"min": 0.0, "max": 6.0}, runs=True),
    Old("TopK", 1, (1, 3), (), {"k": 2, "axis": 1}, axes=(0, 0), runs=True),
    Old("Concat", 6, (1, 3), (floats(1, 2),), {"axis": 1}, edits=1, runs=True),
    Old("Softmax", 1, (1, 3, 2), (), {}, runs=True),
    Old("Softmax", 7, (1, 3, 2), (), {"axis": 2}, runs=True),
    Old("LogSoftmax", 7, (1, 3, 2), (), {}, runs=True),
    Old("Hardmax", 7, (1, 3, 2), (), {}, runs=True),
    Old("LpPool", 1, _IMAGE, (), {"kernel_shape": [2, 2], "p": 2.0}),
    Old("LpPool", 2, _IMAGE, (), {"kernel_shape": [2, 2], "p": 2}, runs=True),
    Old("GlobalLpPool", 1, _IMAGE, (), {"p": 2.0}),
    Old("GlobalLpPool", 2, _IMAGE, (), {"p": 2}, runs=True),
    Old("LpNormalization", 1, _IMAGE, (), {"axis": 1, "p": 2}, runs=True),
    Old("Upsample", 1, _IMAGE, (), {"height_scale": 2.0, "width_scale": 2.0, "mode": "nearest"}),
    Old("Upsample", 7, _IMAGE, (), {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "nearest"}, runs=True),
    Old("Upsample", 9, _IMAGE, (np.array([1, 1, 2, 2], np.float32),), {"mode": "linear"}, runs=True),
    Old("Slice", 1, (1, 3), (), {"starts": [1], "ends": [3], "axes": [1]}, runs=True),
    Old("Tile", 6, (1, 3), (ints(1, 2),), {}, runs=True),
    Old("Tile", 1, (1, 3), (scalar(2), scalar(1))),
    Old("Tile", 5, (1, 3), (scalar(2), scalar(0))),
    Old("RNN", 1, (4, 1, 3), _CELL, {"hidden_size": 2, "output_sequence": 1}, axes=(2, 1), axis=1),
    Old("LSTM", 7, (4, 1, 3), _LONG_CELL, {"hidden_size": 2}, axes=(2, 1), runs=True, axis=1),
    Old("InstanceNormalization", 1, _IMAGE, (floats(3), floats(3)), {"consumed_inputs": [0]}),
    Old("MaxPool", 1, _IMAGE, (), {"kernel_shape": [2, 2]}, runs=True),
    Old("Relu", 1, (1, 3), (), {"consumed_inputs": [0]}),
]

_TRAINS = (
    "it normalizes over the batch (training mode: {}), by the mean and variance of all samples; "
    "exported for inference, the model would have means of its own"
)

REFUSED = {
    _TRAINS.format("is_test is 0"): Old("BatchNormalization", 6, _IMAGE, _FOUR),
    _TRAINS.format("it has 5 outputs"): Old("BatchNormalization", 9, _IMAGE, _FOUR, unread=4),
    _TRAINS.format("training_mode is 1"): Old("BatchNormalization", 14, _IMAGE, _FOUR, {"training_mode": 1}, unread=2),
    "its axis is computed at run time": Old("Tile", 1, (1, 3), (scalar(2), floats())),
    "its repeats are not known": Old("Tile", 1, (1, 3), (floats(), scalar(0))),
    "would have to be repeated, which needs opset 6": Old("Mul", 1, (1, 3), (floats(1, 3),)),
    "its sum runs along axis 0, which is N": Old("Softmax", 7, (1, 3), (), {"axis": 0}),
    "its second input has 2 axes, and meets the first at axis 3 of 4": (
        Old("Add", 6, _IMAGE, (floats(2, 2),), {"broadcast": 1, "axis": 3})
    ),
}


def written(case: Old) -> onnx.ModelProto:
    """The model, in the version of the format in which initializers are inputs too."""
    named = {f"c{place}": array for place, array in enumerate(case.constants)}
    outputs = [f"y{place}" for place in range(len(case.axes))]
    unread = [f"z{place}" for place in range(case.unread)]
    node = helper.make_node(case.op, ["x", *named], [*outputs, *unread], **case.attributes)
    given = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, case.dims)]
    for name, array in named.items():
        given.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    kept = [numpy_helper.from_array(array, name) for name, array in named.items()]
    graph = helper.make_graph([node], "old", given, [onnx.ValueInfoProto(name=name) for name in outputs], kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=3)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op}-{case.opset}")
def test_old_forms_take_a_batch(case: Old) -> None:
    proto = written(case)
    model = ir.from_proto(proto)
    plan = batch_plan(model, {"x": case.axis}, "N", 1)
    marks = [plan.marks.get(value) for value in model.graph.outputs]
    apply_batch(model, plan, {"x": case.axis})

    assert tuple(mark and mark.axis for mark in marks) == case.axes
    assert len(plan.edits) == case.edits
    places = {
        value.name or "": mark and (mark.axis, int(str(mark.outer)))
        for value, mark in zip(model.graph.outputs, marks, strict=True)
    }
    proof = prove_batch(ir.from_proto(proto), model, {"x": case.axis}, places=places, seed=7)
    assert (proof.verdict, proof.always) == (("not proven", False) if case.why else ("proven", True)), proof
    assert case.why in proof.reason
    if case.runs:
        wide = [size * SAMPLES if axis == case.axis else size for axis, size in enumerate(case.dims)]
        data = np.random.default_rng(3).normal(size=wide).astype(np.float32)
        alone = Engine(proto)
        pieces = [alone({"x": np.take(data, [sample], axis=case.axis)}) for sample in range(SAMPLES)]
        for place, found in enumerate(Engine(ir.to_proto(model))({"x": data})):
            expected = np.concatenate([piece[place] for piece in pieces], axis=case.axes[place] or 0)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("why", REFUSED)
def test_old_forms_are_refused_for_what_they_are(why: str) -> None:
    with pytest.raises(FixError) as refused:
        batch_plan(ir.from_proto(written(REFUSED[why])), {"x": 0}, "N", 1)

    assert why in refused.value.sentence


def counting(opset: int) -> onnx.ModelProto:
    """Each sample picks of its own rows, which stand in one list with those of the others."""
    held = {"flat": ints(4, 3), "row": ints(3), "back": ints(1, 3, 3)}
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["rows"]),
        helper.make_node("Reshape", ["i", "row"], ["which"]),
        helper.make_node("Gather", ["rows", "which"], ["picked"], "pick"),
        helper.make_node("Reshape", ["picked", "back"], ["y"]),
    ]
    given = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 4, 3]),
        helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [1, 3]),
    ]
    made = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 3, 3])]
    kept = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "old", given, made, kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)


@pytest.mark.parametrize(
    ("opset", "operators", "proven"),
    [
        (7, {"Loop", "Gather", "Tile"}, "at N = "),
        (8, {"Loop", "Gather", "Expand"}, "at N = "),
        (9, {"ConstantOfShape", "NonZero", "Gather"}, "for all N"),
        (10, {"ConstantOfShape", "NonZero", "Mod"}, "for all N"),
        (11, {"Range", "Mod"}, "for all N"),
    ],
)
def test_samples_are_counted_by_what_the_opset_has(tmp_path: Any, opset: int, operators: set[str], proven: str) -> None:
    onnx.save(counting(opset), tmp_path / "old.onnx")
    fixed = fix(tmp_path / "old.onnx", batch={"x": 0, "i": 0})
    save(fixed.model, tmp_path / "new.onnx")
    onnx.checker.check_model(tmp_path / "new.onnx", full_check=True)

    assert operators <= {node.op_type for node in onnx.load(tmp_path / "new.onnx").graph.node}
    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    assert fixed.certificate.reason.startswith(proven)


def test_before_opset_7_nothing_is_added_to_indices() -> None:
    with pytest.raises(FixError) as refused:
        batch_plan(ir.from_proto(counting(6)), {"x": 0, "i": 0}, "N", 1)

    assert str(refused.value) == (
        "pick (Gather): the numbers of the samples would have to be added to its indices, which needs opset 7  "
        "[cannot-free]"
    )


def test_an_initializer_that_is_an_input_too_is_none_of_the_batch(tmp_path: Any) -> None:
    onnx.save(written(Old("Add", 7, (1, 3), (floats(1, 3),))), tmp_path / "old.onnx")

    assert requested(given_model(tmp_path / "old.onnx"), True) == {"x": {0: "N"}}


@pytest.mark.parametrize(
    "case", [Old("Concat", 7, (1, 3), (floats(1, 3),), {"axis": 1}), CASES[16]], ids=lambda c: c.op
)
def test_what_is_written_into_an_old_file_is_an_input_too(case: Old, tmp_path: Any) -> None:
    """So the format wanted it, and onnx's checker still does."""
    proto = written(case)
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", onnx.TensorProto.FLOAT, [1, 6]))
    onnx.save(proto, tmp_path / "old.onnx")
    save(fix(tmp_path / "old.onnx", batch={"x": 0}).model, tmp_path / "new.onnx")
    found = onnx.load(tmp_path / "new.onnx")

    onnx.checker.check_model(found, full_check=True)
    assert found.ir_version == 3
    assert {each.name for each in found.graph.initializer} <= {each.name for each in found.graph.input}
    assert requested(given_model(tmp_path / "new.onnx"), True) == {"x": {0: "N"}}


def test_a_constant_of_an_old_file_is_one_though_it_is_an_input_too() -> None:
    """Its rows are the same for both samples of the original."""
    rows = np.tile(floats(1, 3), (2, 1))
    newer = written(Old("Add", 7, (2, 3), (rows,)))
    plan = batch_plan(ir.from_proto(newer), {"x": 0}, "N", 2)
    newer.ir_version = 4

    assert [change.after for change in plan.changes] == ["the first 1 at axis 0"]
    with pytest.raises(FixError, match="has 2 rows for the samples, and is not a constant: it is an input too"):
        batch_plan(ir.from_proto(newer), {"x": 0}, "N", 2)
