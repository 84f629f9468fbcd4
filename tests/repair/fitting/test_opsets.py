"""What constants become must be there in the opset, and for the type, of the model."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.ground.errors import FixError
from onereshape.repair.fitting.plan import apply_like, like_plan
from tests.repair.fitting.exporting import Array
from tests.running import session


def _freed(exports: list[onnx.ModelProto]) -> bytes:
    first, *others = (ir.from_proto(proto) for proto in exports)
    plan = like_plan(first, others, {"x": {1: "S"}})
    apply_like(first, plan)
    found: bytes = ir.to_proto(first).SerializeToString()
    return found


def _model(size: int, table: onnx.TensorProto, opset: int) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Cast", ["table"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "cast"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, size])
    graph = helper.make_graph(nodes, "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    graph.initializer.append(table)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _counted(size: int, opset: int) -> onnx.ModelProto:
    return _model(size, numpy_helper.from_array(np.arange(size), "table"), opset)


@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 12, 13])
def test_numbers_are_counted_by_what_the_opset_has(opset: int) -> None:
    freed = session(_freed([_counted(12, opset), _counted(23, opset)]), optimized=True)

    assert np.array_equal(freed.run(None, {"x": np.zeros((2, 16), np.float32)})[0][1], np.arange(16))


@pytest.mark.parametrize("opset", [11, 12])
def test_a_ramp_of_an_old_opset(opset: int) -> None:
    def made(size: int) -> onnx.ModelProto:
        ramp: Array = np.linspace(0, 1, size).astype(np.float32)
        return _model(size, numpy_helper.from_array(ramp, "table"), opset)

    freed = session(_freed([made(12), made(23)]), optimized=True)

    assert np.allclose(freed.run(None, {"x": np.zeros((2, 5), np.float32)})[0][1], np.linspace(0, 1, 5))


@pytest.mark.parametrize(
    ("kind", "numpy_kind"),
    [(TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn), (TensorProto.INT4, ml_dtypes.int4)],
)
def test_a_type_that_no_operator_takes(kind: int, numpy_kind: type[np.generic]) -> None:
    def made(size: int) -> onnx.ModelProto:
        numbers = (np.arange(size) * 3 % 7).astype(numpy_kind).astype(np.float32)
        return _model(size, helper.make_tensor("table", kind, [size], numbers), 21)

    with pytest.raises(FixError, match="for which there is no Slice"):
        _freed([made(12), made(23)])
