"""The engines of OpenVINO: its core, which infers and evaluates, and its CPU plugin."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np
import openvino
from openvino import opset1

from tests.engines.answers import INT64_MAX, Answer, Dims, Interval, dims_of, elements, int64

_OPENVINO_REFUSES = (RuntimeError, ValueError)  # the second where NumPy cannot hold the output
_THREADS = 2
"""With a single thread the CPU plugin drops its refusal of a run-time pattern and puts out what was there before."""


@cache
def _tensor(data: Dims) -> openvino.Tensor:
    return openvino.Tensor(elements(data))


@cache
def _pattern(target: Dims) -> openvino.Tensor:
    return openvino.Tensor(int64(target))


@cache
def _parameter(data: Dims) -> openvino.Node:
    return opset1.parameter(openvino.PartialShape(list(data)), np.float32)


@cache
def _constant(target: Dims) -> openvino.Node:
    return openvino.op.Constant(_pattern(target))


def openvino_inference(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """OpenVINO's core: the shape of a node with static data and a constant pattern."""
    try:
        node = opset1.reshape(_parameter(data), _constant(target), zero_copies)
    except RuntimeError:
        return None
    return tuple(_dim(dim) for dim in node.get_output_partial_shape(0))


def _dim(dim: openvino.Dimension) -> int | Interval:
    if dim.is_static:
        return dim.get_length()  # type: ignore[no-any-return]
    return dim.get_min_length(), None if dim.get_max_length() == -1 else dim.get_max_length()


@cache
def _dynamic_model(*, zero_copies: bool) -> openvino.Model:
    data = opset1.parameter(openvino.PartialShape.dynamic(), np.float32)
    pattern = opset1.parameter(openvino.PartialShape([-1]), np.int64)
    return openvino.Model([opset1.reshape(data, pattern, zero_copies)], [data, pattern])


def openvino_evaluate(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """OpenVINO's core: `Model.evaluate` with a run-time pattern."""
    output = openvino.Tensor(openvino.Type.f32, openvino.Shape([0]))
    try:
        done = _dynamic_model(zero_copies=zero_copies).evaluate([output], [_tensor(data), _pattern(target)])
        array = output.data
    except _OPENVINO_REFUSES:
        return None
    assert done
    return dims_of(array, data)


def keeps_the_volume(data: Dims, target: Dims, zero_copies: bool) -> bool:
    """False where OpenVINO's inference lets a 0 that copies hide a volume that differs.

    `evaluate` and a static model go on with it: a larger output ends in memory that was never data's, and where the
    output is smaller `evaluate` writes past its end, which corrupts the heap of this process.
    """
    if not zero_copies or 0 not in target or min(target) < 0:
        return True
    filled = [dim or (data[axis] if axis < len(data) else None) for axis, dim in enumerate(target)]
    return None in filled or prod(dim for dim in filled if dim is not None) == prod(data)


@cache
def _core() -> openvino.Core:
    return openvino.Core()


def _request(node: openvino.Node, inputs: list[openvino.Node]) -> openvino.InferRequest:
    config = {"INFERENCE_NUM_THREADS": _THREADS, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    return _core().compile_model(openvino.Model([node], inputs), "CPU", config).create_infer_request()


def _infer(request: openvino.InferRequest, tensors: list[openvino.Tensor]) -> openvino.Tensor:
    # infer() would also make an array of the output, which fails for the negative sizes that the plugin lets through.
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index, tensor)
    request.start_async()
    request.wait()
    return request.get_output_tensor()


def _dynamic_request(rank: int, length: int, *, zero_copies: bool) -> openvino.InferRequest:
    data = opset1.parameter(openvino.PartialShape([-1] * rank), np.float32)
    pattern = opset1.parameter(openvino.Shape([length]), np.int64)
    request = _request(opset1.reshape(data, pattern, zero_copies), [data, pattern])
    _settle(request, rank, length)
    return request


_kept_request = cache(_dynamic_request)


def _settle(request: openvino.InferRequest, rank: int, length: int) -> None:
    """An accepted request, so that the next answer is its own.

    The plugin compares a pattern with the last one it saw, refused or not, and data with the last it accepted; where
    neither changed it does not infer again, so a case that follows a refusal can be given the answer before that.
    """
    _infer(request, [_tensor((1,) * rank), _pattern((1,) * length)])


def openvino_cpu(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """OpenVINO's CPU plugin, data and pattern known only at run time (their ranks before)."""
    rank, length = len(data), len(target)
    # An empty pattern never changes, so nothing would settle the plugin after a refusal: it is compiled each time.
    prepare = _kept_request if length else _dynamic_request
    try:
        request = prepare(rank, length, zero_copies=zero_copies)
    except RuntimeError:
        return None
    try:
        output = _infer(request, [_tensor(data), _pattern(target)])
    except RuntimeError:
        if length:
            _settle(request, rank, length)
        return None
    dims = tuple(output.shape)
    # The plugin lets negative sizes through for empty data, which no array can have.
    return dims if max(dims, default=0) > INT64_MAX else dims_of(output.data, data)


def openvino_cpu_constant(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """OpenVINO's CPU plugin, a constant pattern and data known only at run time: compiled for each case."""
    parameter = opset1.parameter(openvino.PartialShape([-1] * len(data)), np.float32)
    return _compiled_for(parameter, data, target, zero_copies)


def openvino_cpu_static(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """OpenVINO's CPU plugin, a constant pattern and static data: compiled for each case."""
    return _compiled_for(_parameter(data), data, target, zero_copies)


def _compiled_for(parameter: openvino.Node, data: Dims, target: Dims, zero_copies: bool) -> Answer:
    try:
        request = _request(opset1.reshape(parameter, _constant(target), zero_copies), [parameter])
        array = _infer(request, [_tensor(data)]).data
    except _OPENVINO_REFUSES:
        return None
    return dims_of(array, data)
