"""The child process that converts nodes: `python -m onereshape.convert.child`.

A damaged node can end the process in onnx's converter, and some sound ones do so in onnxruntime.  Here it is only this
process that ends, and the node is refused.

A question on standard input is two integers of 8 bytes, the opset and the length, and a model of one node; an answer on
standard output is two integers, 1 for a model or 0 for the reason why not, and the length, and that.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import BinaryIO

import onnx
from onnx import checker, shape_inference, version_converter

from onereshape.convert.resizing import resized
from onereshape.convert.trial import CannotConvertError, compare
from onereshape.formats.model import cause

HEAD = struct.Struct("<qq")


def checked(model: onnx.ModelProto, new: int) -> onnx.ModelProto:
    """A model of one node in another opset, if it gives the same answers there."""
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


def read(stream: BinaryIO) -> tuple[int, bytes] | None:
    """One message: its number and its content; None where the other side has gone."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    number, length = HEAD.unpack(head)
    content = stream.read(length)
    return (number, content) if len(content) == length else None


def write(stream: BinaryIO, number: int, content: bytes) -> None:
    """Writes one message."""
    stream.write(HEAD.pack(number, len(content)) + content)
    stream.flush()


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    while (asked := read(sys.stdin.buffer)) is not None:
        new, content = asked
        try:
            found = checked(onnx.ModelProto.FromString(content), new)
        except CannotConvertError as error:
            write(answers, 0, str(error).encode())
        else:
            write(answers, 1, found.SerializeToString())


if __name__ == "__main__":
    main()
