"""What is seen of a model that was given, before and after, and what is said against one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.ground.errors import ReshapeError

YOLO = "tests/data/corpus/hand_yolo_head.ts.onnx"


def snapshot(given: Any) -> Any:
    """All that can be seen of what was given."""
    if isinstance(given, onnx.ModelProto):
        return given.SerializeToString(deterministic=True)
    tensors = [(id(value.const_value), value.name) for graph in given.graphs() for value in graph.initializers.values()]
    nodes = [id(node) for graph in given.graphs() for node in graph]
    names = [tensor[1] for tensor in tensors]
    return ir.to_proto(given).SerializeToString(deterministic=True), tensors, nodes, names, dict(given.meta)


def said(given: Any, does: Callable[[Any], object] = orx.load) -> str:
    """What is said against something that was given."""
    with pytest.raises(ReshapeError) as refusal:
        does(given)
    return refusal.value.sentence
