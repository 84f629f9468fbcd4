"""Models in onnxruntime, and the targets that their Reshapes have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime


def session(model: onnx.ModelProto | ir.Model | bytes | str | Path, *, optimized: bool = False) -> Any:
    """A model as it stands, or as onnxruntime fuses it; silent, and by one thread: two tests run beside each other."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    proto = ir.to_proto(model) if isinstance(model, ir.Model) else model
    content = proto.SerializeToString() if isinstance(proto, onnx.ModelProto) else proto
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(proto: onnx.ModelProto, **inputs: Any) -> list[Any]:
    return session(proto).run(None, inputs)  # type: ignore[no-any-return]


def targets(model: ir.Model) -> list[list[int] | str]:
    """The targets of all Reshapes of the graph: the constant, or the operator that computes it."""
    found: list[list[int] | str] = []
    for node in model.graph.all_nodes():
        if node.op_type != "Reshape":
            continue
        target = node.inputs[1]
        assert target is not None
        maker = target.producer()
        tensor = target.const_value if maker is None else maker.attributes.get_tensor("value", None)
        computed = "an input" if maker is None else maker.op_type
        found.append(computed if tensor is None else tensor.numpy().tolist())
    return found


def arrays(*dims: int) -> Any:
    return np.arange(np.prod(dims), dtype=np.float32).reshape(dims)
