"""Old opsets: what they cannot write is refused in words, before an engine is asked."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.errors import FixError
from onereshape.models.like.plan import like_plan


def export(size: int, opset: int) -> ir.Model:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name in "xy"]
    positions = numpy_helper.from_array(np.arange(size, dtype=np.float32), "p")
    graph = helper.make_graph([helper.make_node("Add", ["x", "p"], ["y"])], "g", ends[:1], ends[1:], [positions])
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=6))


@pytest.mark.parametrize("opset", [7, 9, 10])
def test_positions_are_not_counted_before_opset_11(opset: int) -> None:
    with pytest.raises(FixError, match=f"which takes opset 11 to write, and this is {opset}"):
        like_plan(export(12, opset), [export(23, opset)], {})


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_they_are_counted_from_then_on(opset: int) -> None:
    assert len(like_plan(export(12, opset), [export(23, opset)], {}).edits) == 1
