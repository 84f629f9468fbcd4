"""The engines of ONNX: the reference evaluator and the shape inference of the onnx package, and ONNX Runtime."""

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from tests import running
from tests.engines.answers import Answer, Ask, Dims, dims_of, elements, int64

_IR_VERSION = 10
"""Old enough for every onnxruntime that the project supports."""
_ORT_REFUSES = (
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.RuntimeException,
    ValueError,  # NumPy cannot hold the output
)


def _onnx_model(opset: int, target: Dims | None, data: Dims | None, *, zero_copies: bool) -> onnx.ModelProto:
    """One Reshape; a target of None is a run-time input, data of None has an unknown shape."""
    node = helper.make_node("Reshape", ["data", "shape"] if opset >= 5 else ["data"], ["output"])
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, data)]
    constants = []
    if opset < 5:
        assert target is not None
        node.attribute.append(helper.make_attribute("shape", list(target), attr_type=onnx.AttributeProto.INTS))
    elif target is None:
        inputs.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [None]))
    else:
        constants.append(helper.make_tensor("shape", TensorProto.INT64, [len(target)], target))
    if opset >= 14:
        node.attribute.append(helper.make_attribute("allowzero", int(not zero_copies)))
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "reshape", inputs, outputs, initializer=constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=_IR_VERSION)


def onnx_reference(opset: int) -> Ask:
    """The reference evaluator of the onnx package."""

    @cache
    def evaluator(*, zero_copies: bool) -> ReferenceEvaluator:
        return ReferenceEvaluator(_onnx_model(opset, None, None, zero_copies=zero_copies))

    def answer(data: Dims, target: Dims, zero_copies: bool) -> Answer:
        try:
            (output,) = evaluator(zero_copies=zero_copies).run(None, {"data": elements(data), "shape": int64(target)})
        except (ValueError, IndexError):
            return None
        assert isinstance(output, np.ndarray)
        return dims_of(output, data)

    return answer


def onnx_inference(opset: int) -> Ask:
    """The shape inference of the onnx package, in its strict mode, for a constant target."""

    def answer(data: Dims, target: Dims, zero_copies: bool) -> Answer:
        model = _onnx_model(opset, target, data, zero_copies=zero_copies)
        try:
            output = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type
        except shape_inference.InferenceError:
            return None
        if not output.HasField("shape"):
            return "unknown"
        assert all(dim.HasField("dim_value") for dim in output.shape.dim)
        return tuple(dim.dim_value for dim in output.shape.dim)

    return answer


def onnxruntime_input(opset: int) -> Ask:
    """ONNX Runtime with the target as a run-time input."""

    @cache
    def session(*, zero_copies: bool) -> onnxruntime.InferenceSession:
        return running.session(_onnx_model(opset, None, None, zero_copies=zero_copies), optimized=True)

    def answer(data: Dims, target: Dims, zero_copies: bool) -> Answer:
        feeds = {"data": elements(data), "shape": int64(target)}
        try:
            (output,) = session(zero_copies=zero_copies).run(None, feeds)
        except _ORT_REFUSES:
            return None
        return dims_of(output, data)

    return answer


def onnxruntime_attribute(opset: int) -> Ask:
    """ONNX Runtime with the target as an attribute, as it was before opset 5: a session for each target."""

    @cache
    def session(target: Dims) -> onnxruntime.InferenceSession:
        return running.session(_onnx_model(opset, target, None, zero_copies=True), optimized=True)

    def answer(data: Dims, target: Dims, zero_copies: bool) -> Answer:
        assert zero_copies
        try:
            (output,) = session(target).run(None, {"data": elements(data)})
        except _ORT_REFUSES:
            return None
        return dims_of(output, data)

    return answer


def onnxruntime_constant(opset: int) -> Ask:
    """ONNX Runtime with static data and a constant target: a session for each case."""

    def answer(data: Dims, target: Dims, zero_copies: bool) -> Answer:
        try:
            session = running.session(_onnx_model(opset, target, data, zero_copies=zero_copies), optimized=True)
            (output,) = session.run(None, {"data": elements(data)})
        except _ORT_REFUSES:
            return None
        return dims_of(output, data)

    return answer
