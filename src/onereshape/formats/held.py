"""The one door for models that are not in a file: bytes, open files, and what other libraries hold in memory.

No library is imported to be asked whether something is its own: whoever has one of its objects has imported it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any

from onereshape.formats.foreign import foreign
from onereshape.formats.model_data import ModelData
from onereshape.formats.model_formats import START, sniffed
from onereshape.formats.refusals import cause, unreadable
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.text import shown

_LARGEST = 2**31 - 1
"""Bytes of a protobuf message, the largest that is read."""
_CHUNK = 1 << 24
_LONGEST_PATH = 1000
_LONGEST_NAME = 80
_HINTS = (
    ("onnx", "GraphProto", "onnx.helper.make_model(graph) makes a model of it"),
    ("onnx_ir", "Graph", "onnx_ir.Model(graph, ir_version=...) makes a model of it"),
    ("onnxruntime", "InferenceSession", "give the path or the bytes that it was made of"),
    ("torch.nn", "Module", "torch.onnx.export(module, args, dynamo=True) makes an ONNXProgram of it"),
    ("torch.export", "ExportedProgram", "torch.onnx.export(program, dynamo=True) makes an ONNXProgram of it"),
    ("openvino", "CompiledModel", "give the openvino.Model that it was compiled from"),
    ("onereshape.repair.step", "Fixed", "give its .model"),
)
"""Objects that are no models though their owners may take them for models: module, class, and what to do."""


def held(given: Any) -> ModelData | None:
    """The model that an object holds: bytes, an open file, a model of another library; None for a path."""
    if isinstance(given, ModelData):
        return given
    if isinstance(given, (str, os.PathLike)):
        return None
    if isinstance(given, (bytes, bytearray, memoryview)):
        return _of_bytes(given)
    read = next((read for module, name, read in _KINDS if _is(given, module, name)), None)
    if read is None and callable(getattr(given, "read", None)):
        read = _of_file
    if read is None:
        raise refused(given, "a model")
    return read(given)


def is_model(given: Any) -> bool:
    """Whether an argument is one model, or its path, rather than a list of models."""
    kinds = (ModelData, str, os.PathLike, bytes, bytearray, memoryview)
    held_elsewhere = any(_is(given, module, name) for module, name, _ in _KINDS)
    return isinstance(given, kinds) or held_elsewhere or callable(getattr(given, "read", None))


def refused(given: Any, what: str) -> ReshapeError:
    """The refusal of an object that is no model, with a hint where one is known."""
    hint = next((f"; {hint}" for module, name, hint in _HINTS if _is(given, module, name)), "")
    kinds = "a path, bytes, a binary file, an onnx.ModelProto, onnx_ir.Model, ONNXProgram or openvino.Model"
    kind = shown(type(given).__name__, _LONGEST_NAME)
    return ReshapeError("bad-usage", why=f"{what} is given as {kinds}, not as {kind}{hint}")


def _is(given: Any, module: str, name: str) -> bool:
    """Whether something is an instance of a class, which is not imported to be asked."""
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(given, found)


def _of_openvino(given: Any) -> ModelData:
    from onereshape.formats.openvino.openvino_models import held as from_openvino  # noqa: PLC0415 - only who has one needs it

    return from_openvino(given)


def _of_proto(given: Any) -> ModelData:
    from onereshape.formats.onnx.onnx_held import from_proto  # noqa: PLC0415 - as above

    return from_proto(given)


def _of_ir(given: Any) -> ModelData:
    from onereshape.formats.onnx.onnx_held import from_ir  # noqa: PLC0415 - as above

    return from_ir(given, "onnx_ir.Model")


def _of_program(given: Any) -> ModelData:
    from onereshape.formats.onnx.onnx_held import from_ir  # noqa: PLC0415 - as above

    if not _is(given.model, "onnx_ir", "Model"):
        raise unreadable("ONNXProgram", "has no onnx_ir.Model")
    return from_ir(given.model, "ONNXProgram", named=False)


_KINDS: tuple[tuple[str, str, Callable[[Any], ModelData]], ...] = (
    ("openvino", "Model", _of_openvino),
    ("onnx", "ModelProto", _of_proto),
    ("onnx_ir", "Model", _of_ir),
    ("torch.onnx", "ONNXProgram", _of_program),
)
"""Objects of other libraries that hold a model: module, class, and the function that reads it."""


def _of_bytes(given: bytes | bytearray | memoryview) -> ModelData:
    try:
        content = given if type(given) is bytes else bytes(given)
    except ValueError as error:  # a memoryview that was released
        raise unreadable("bytes", f"cannot be read: {cause(error)}") from None
    return _read(content, "bytes")


def _of_file(given: Any) -> ModelData:
    """The model in the rest of an open file."""
    called = getattr(given, "name", None)
    name = f"file {shown(called, _LONGEST_NAME)}" if isinstance(called, str) and called else "file object"
    if isinstance(given, io.TextIOBase):
        raise unreadable(name, 'is open as text: open it with "rb"')
    parts: list[bytes] = []
    size = 0
    while part := _part(given, name):
        size += len(part)
        parts.append(part)
        if len(parts) == 1 and len(part) >= START and sniffed(part) is None:
            break  # it may be endless
        if size > _LARGEST:
            raise unreadable(name, f"has more than {_LARGEST} bytes, which no model has without external data")
    if not parts:
        raise unreadable(name, "is empty, or was read to its end already: seek(0) goes back")
    return _read(b"".join(parts), name)


def _part(given: Any, name: str) -> bytes:
    """The next bytes of a file."""
    try:
        part = given.read(_CHUNK)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - of an object that anybody may have written
        why = getattr(error, "strerror", None) or f"{type(error).__name__}: {cause(error)}"
        raise unreadable(name, f"cannot be read: {shown(why, 200)}") from None
    if isinstance(part, str):
        raise unreadable(name, 'gives text: open it with "rb"')
    if not isinstance(part, (bytes, bytearray, memoryview)):
        raise unreadable(name, f"gives a {shown(type(part).__name__, _LONGEST_NAME)} where bytes are read")
    return bytes(part)


def _read(content: bytes, name: str) -> ModelData:
    if not content:
        raise unreadable(name, "is empty")
    found, what = sniffed(content), foreign(content[:START])
    try:
        if found is not None:
            return found.files.read(content, name)
    except FormatError:
        if what is None:
            raise
    if what is not None:
        raise unreadable(name, what)
    hint = "; a path is given as a str" if len(content) <= _LONGEST_PATH and content.isascii() else ""
    kinds = "ONNX (protobuf, gzip or text), OpenVINO (.xml) and oneDNN (.json)"
    raise unreadable(name, f"begins like no model that is known here, which are {kinds}{hint}")
