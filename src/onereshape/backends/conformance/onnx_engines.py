"""How the engines of ONNX are asked: the reference evaluator and the inference of onnx, and ONNX Runtime."""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from onereshape.backends.conformance.questions import EngineQuestion, EngineRefused, Output
from onereshape.ground.numpy_types import Array

_IR_VERSION = 10
_NUMPY_RANK = 64
"""No array of NumPy has more dims."""


def _element_type(array: Array) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(object) if array.dtype.kind == "U" else array.dtype))


def _model(question: EngineQuestion, *, constant: bool, static: bool) -> onnx.ModelProto:
    """One Reshape; the target is a constant or an input, data has its dims or not even a rank."""
    plain = question.data_type == "float32"
    element_type = int(onnx.TensorProto.FLOAT) if plain else _element_type(question.elements)
    inputs = [helper.make_tensor_value_info("data", element_type, question.data if static else None)]
    constants = []
    node = helper.make_node("Reshape", ["data"], ["output"], **question.attributes)
    if question.opset < 5:
        node.attribute.append(helper.make_attribute("shape", list(question.target), attr_type=onnx.AttributeProto.INTS))
    else:
        node.input.append("shape")
        shape = question.shape_tensor
        if constant:
            constants.append(numpy_helper.from_array(shape, "shape"))
        else:
            inputs.append(helper.make_tensor_value_info("shape", _element_type(shape), [None] * shape.ndim))
    outputs = [helper.make_tensor_value_info("output", element_type, None)]
    graph = helper.make_graph([node], "reshape", inputs, outputs, initializer=constants)
    opsets = [helper.make_opsetid("", question.opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)


def reference(question: EngineQuestion) -> Output:
    """The reference evaluator of the onnx package."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - slow, and not for ONNX Runtime

    evaluator = ReferenceEvaluator(_model(question, constant=False, static=False))
    feeds = {"data": question.elements, "shape": question.shape_tensor}
    try:
        (output,) = map(np.asarray, evaluator.run(None, feeds))
    except (ValueError, IndexError, TypeError) as error:
        raise EngineRefused(str(error)) from None
    return Output(output.shape, output.ravel())


def inference(question: EngineQuestion) -> Output:
    """The shape inference of the onnx package, in its strict mode, for a constant target."""
    model = _model(question, constant=True, static=True)
    try:
        output = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type
    except shape_inference.InferenceError as error:
        raise EngineRefused(str(error)) from None
    dims = (dim.dim_value if dim.HasField("dim_value") else (0, None) for dim in output.shape.dim)
    return Output(tuple(dims), executed=False)


def runtime(question: EngineQuestion) -> Output:
    """ONNX Runtime, data and target known only at run time (before opset 5 the target is an attribute)."""
    return _run(question, _model(question, constant=False, static=False))


def runtime_constant(question: EngineQuestion) -> Output:
    """ONNX Runtime, static data and a constant target."""
    return _run(question, _model(question, constant=True, static=True))


def _run(question: EngineQuestion, model: onnx.ModelProto) -> Output:
    import onnxruntime  # noqa: PLC0415 - onnx may be installed without it
    from onnxruntime.capi import onnxruntime_pybind11_state as errors  # noqa: PLC0415

    refuses = (errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.NotImplemented, errors.RuntimeException)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    arrays = {"data": question.elements, "shape": question.shape_tensor}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        given = {value.name: arrays[value.name] for value in session.get_inputs()}
        if question.data_type == "string":  # which no OrtValue can be made of
            (strings,) = session.run(None, given | {"data": question.elements.astype(object)})
            return Output(strings.shape, strings.ravel().astype(np.str_))
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in given.items()}
        (output,) = session.run_with_ort_values(None, values)
    except refuses as error:
        raise EngineRefused(str(error)) from None
    dims = tuple(output.shape())
    return Output(dims, _elements(output, dims, question))


def _elements(output: Any, dims: tuple[int, ...], question: EngineQuestion) -> Array | None:
    """The elements in C order; beyond NumPy's rank they are read where they lie."""
    if prod(dims) != prod(question.data):
        return None
    if prod(dims) == 0:
        return question.elements.ravel()
    if len(dims) <= _NUMPY_RANK:
        array: Array = output.numpy().ravel()
        return array
    floats = ctypes.cast(output.data_ptr(), ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(floats, (prod(dims),)).copy()
