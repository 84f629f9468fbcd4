"""One node in another opset: onnx's converter, compared by onnxruntime, in a child process (`ground.isolation.room`).

A damaged node can end the process in onnx's converter, and some sound ones do so in onnxruntime.  Here only the child
ends, and the node is refused.
"""

from __future__ import annotations

import onnx
from onnx import checker, shape_inference, version_converter

from onereshape.backends.convert.resizing import resized
from onereshape.backends.convert.trial import CannotConvertError, compare
from onereshape.formats.refusals import cause
from onereshape.ground.isolation.messages import Arrays, Plain, bytes_array


def converted(told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """Takes the model of one node, sent by the parent process, to another opset; or `refused`, and why."""
    try:
        found = checked(onnx.ModelProto.FromString(arrays["model"].tobytes()), told["opset"])
    except CannotConvertError as error:
        return {"refused": str(error)}, {}
    return {}, {"model": bytes_array(found.SerializeToString())}


def checked(model: onnx.ModelProto, new: int) -> onnx.ModelProto:
    """The model of one node, taken to opset `new`; refused unless runs of both models give the same answers."""
    try:
        checker.check_model(model, full_check=True)
    except Exception as error:  # noqa: BLE001 - the checker's errors and those of shape inference
        raise CannotConvertError(f"onnx.checker says: {cause(error)}") from None
    found = resized(model, new) or _by_onnx(model, new)
    if [value.name for value in found.graph.output] != [value.name for value in model.graph.output]:
        raise CannotConvertError("onnx's converter has lost an output")
    compare(model, found)
    return shape_inference.infer_shapes(found)


def _by_onnx(model: onnx.ModelProto, new: int) -> onnx.ModelProto:
    try:
        return version_converter.convert_version(model, new)
    except Exception as error:  # noqa: BLE001 - assertions of C++ and errors of its own
        said = cause(error).partition("failed: ")[2] or cause(error)
        raise CannotConvertError(f"onnx's converter says: {said.replace('$', '')}") from None
