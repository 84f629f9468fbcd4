"""How the engines of OpenVINO are asked: its core, which infers and evaluates, and its CPU plugin."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from math import prod
from pathlib import Path

import openvino
from openvino import opset1

from onereshape.backends.conformance.questions import EngineQuestion, EngineRefused, Interval, Output
from onereshape.ground.numpy_types import Array

_THREADS = 2
"""With a single thread the CPU plugin drops its refusal of a run-time pattern and puts out what was there before."""
_CONFIG = {
    "INFERENCE_NUM_THREADS": _THREADS,
    "NUM_STREAMS": 1,
    "INFERENCE_PRECISION_HINT": "f32",  # else some machines round what a Reshape only moves
}
_NUMPY_RANK = 64
"""No array of NumPy has more dims."""


@cache
def _core() -> openvino.Core:
    return openvino.Core()


def _refusal(error: RuntimeError) -> EngineRefused:
    """The last line of an OpenVINO error as a refusal: the lines before it are places in its source."""
    return EngineRefused(str(error).strip().rpartition("\n")[2])


def _type(array: Array) -> openvino.Type:
    if array.dtype.kind in "Ub":
        return openvino.Type.string if array.dtype.kind == "U" else openvino.Type.boolean
    return openvino.Type(array.dtype.type)


def _data_type(question: EngineQuestion) -> openvino.Type:
    return openvino.Type.f32 if question.data_type == "float32" else _type(question.elements)


def inference(question: EngineQuestion) -> Output:
    """The core: the shape of a node with static data and a constant pattern."""
    try:
        data = opset1.parameter(openvino.PartialShape(list(question.data)), _data_type(question))
        pattern = openvino.op.Constant(openvino.Tensor(question.shape_tensor))
        node = opset1.reshape(data, pattern, question.zero_copies)
        if "special_zero" not in question.attributes:
            return _read_without_flag(openvino.Model([node], [data]))
    except RuntimeError as error:
        raise _refusal(error) from None
    return Output(tuple(_dim(dim) for dim in node.get_output_partial_shape(0)), executed=False)


def _read_without_flag(model: openvino.Model) -> Output:
    """The output dims of a model's Reshape when it is read from an IR from which special_zero was taken out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        openvino.serialize(model, path)
        text = path.read_text(encoding="utf-8").replace('special_zero="true"', "").replace('special_zero="false"', "")
        weights = path.with_suffix(".bin").read_bytes()
    read = _core().read_model(io.BytesIO(text.encode()), io.BytesIO(weights))
    return Output(tuple(_dim(dim) for dim in read.outputs[0].get_partial_shape()), executed=False)


def _dim(dim: openvino.Dimension) -> int | Interval:
    if dim.is_static:
        return int(dim.get_length())
    return dim.get_min_length(), None if dim.get_max_length() == -1 else dim.get_max_length()


def _dynamic(question: EngineQuestion, rank: int | None) -> openvino.Model:
    """Data and pattern known only at run time; the rank of data and the length of the pattern if `rank` is given."""
    dims = openvino.PartialShape.dynamic() if rank is None else openvino.PartialShape([-1] * rank)
    length = [-1] * question.shape_rank if rank is None else list(question.shape_tensor.shape)
    data = opset1.parameter(dims, _data_type(question))
    pattern = opset1.parameter(openvino.PartialShape(length), _type(question.shape_tensor))
    return openvino.Model([opset1.reshape(data, pattern, question.zero_copies)], [data, pattern])


def evaluate(question: EngineQuestion) -> Output:
    """`Model.evaluate`, data and pattern known only at run time."""
    try:
        output = openvino.Tensor(_data_type(question), openvino.Shape([0]))
        given = [openvino.Tensor(question.elements), openvino.Tensor(question.shape_tensor)]
        if not _dynamic(question, None).evaluate([output], given):
            raise EngineRefused("not evaluated")
    except RuntimeError as error:
        raise _refusal(error) from None
    return _read(output, question)


def _read(output: openvino.Tensor, question: EngineQuestion) -> Output:
    """Dims and elements, which are looked at only where there are as many as in data."""
    dims = tuple(output.shape)
    if prod(dims) != prod(question.data):
        return Output(dims)
    if prod(dims) == 0:
        return Output(dims, question.elements.ravel())
    if len(dims) > _NUMPY_RANK:
        output.shape = [prod(dims)]
    array: Array = output.str_data if question.data_type == "string" else output.data
    return Output(dims, array.ravel())


def _infer(model: openvino.Model, tensors: list[Array], question: EngineQuestion) -> Output:
    """The output of a model for these tensors, from a new request: a kept request may answer an earlier question."""
    request = _core().compile_model(model, "CPU", _CONFIG).create_infer_request()
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index, openvino.Tensor(tensor))
    request.start_async()  # infer() would also make an array of dims that no array can have
    request.wait()
    return _read(request.get_output_tensor(), question)


def cpu(question: EngineQuestion) -> Output:
    """The CPU plugin, data and pattern known only at run time (their ranks before)."""
    try:
        model = _dynamic(question, len(question.data))
        return _infer(model, [question.elements, question.shape_tensor], question)
    except RuntimeError as error:
        raise _refusal(error) from None


def cpu_constant(question: EngineQuestion) -> Output:
    """The CPU plugin, data known only at run time and a constant pattern."""
    return _compiled(openvino.PartialShape([-1] * len(question.data)), question)


def cpu_static(question: EngineQuestion) -> Output:
    """The CPU plugin, static data and a constant pattern."""
    return _compiled(openvino.PartialShape(list(question.data)), question)


def _compiled(dims: openvino.PartialShape, question: EngineQuestion) -> Output:
    try:
        data = opset1.parameter(dims, _data_type(question))
        pattern = openvino.op.Constant(openvino.Tensor(question.shape_tensor))
        model = openvino.Model([opset1.reshape(data, pattern, question.zero_copies)], [data])
        return _infer(model, [question.elements], question)
    except RuntimeError as error:
        raise _refusal(error) from None
