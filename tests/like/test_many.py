"""Many dims that differ, and nodes with many inputs: an answer in time."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.errors import FixError
from onereshape.models.like.plan import like_plan


def _model(shape: Sequence[int], count: int) -> onnx.ModelProto:
    relus = [helper.make_node("Relu", ["x"], [f"r{place}"]) for place in range(count)]
    total = helper.make_node("Sum", [f"r{place}" for place in range(count)], ["y"])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        [*relus, total], "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_more_sizes_than_exports_tell_apart() -> None:
    first, second = (ir.from_proto(_model([size] * 900, 1)) for size in (3, 5))

    with pytest.raises(FixError, match="more than 64 sizes differ between the exports"):
        like_plan(first, [second], {})


def test_a_sum_of_thousands() -> None:
    first, second = (ir.from_proto(_model([2, size], 5000)) for size in (3, 5))

    assert not like_plan(first, [second], {}).edits
