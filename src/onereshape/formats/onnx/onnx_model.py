"""ONNX models: `.onnx`, the same packed (`.onnx.gz`) and the textual form (`.onnxtxt`).

The model is an `onnx_ir.Model`, whose external data stay in their files until somebody asks for them.  The message that
was read is kept beside it: a model that was not changed is written as it was, and of a changed one only the change is
new.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import onnx
import onnx_ir as ir

from onereshape.formats.model_data import LONGEST_TARGET, ModelData, ReshapeNode
from onereshape.formats.model_formats import format_of
from onereshape.formats.onnx.onnx_data import check_tensors
from onereshape.formats.onnx.onnx_encoding import decoded, encoded, encoding_of, named_encoding
from onereshape.formats.onnx.onnx_graphs import (
    check_external,
    check_names,
    check_outputs,
    check_references,
    check_weights,
    external_tensors,
    graphs,
    put_in_order,
    roots,
)
from onereshape.formats.onnx.onnx_large import is_large, write_ir, write_large
from onereshape.formats.onnx.onnx_lists import Lists, hold, lists_of
from onereshape.formats.onnx.onnx_merge import to_ir
from onereshape.formats.onnx.onnx_message import check_size, message_bytes
from onereshape.formats.onnx.onnx_reshapes import reshapes as find_reshapes
from onereshape.formats.onnx.onnx_rows import completed, shortened
from onereshape.formats.refusals import cause, unreadable, unwritable
from onereshape.ground.atomic import replacing

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Original:
    """A model as it was read: its message, how that was encoded, and the digest of its file or its bytes themselves."""

    proto: onnx.ModelProto
    encoding: str = ""
    digest: bytes | None = None
    """None: it was in no file, or its bytes are held."""
    content: bytes | None = None
    lists: Lists = field(default_factory=dict)
    """The long lists and the large weights that the message has marks for."""


def load(path: str) -> ModelData:
    """The model of a file, checked as far as its Reshapes and its external data need it."""
    content = message_bytes(path, "model")
    named = path.lower().endswith(format_of("onnx").suffixes)
    encoding = named_encoding(path) if named else encoding_of(content)
    proto, lists = decoded(content, encoding, path)
    held = any(isinstance(each.content, memoryview) and each.content.obj is content for each in lists.values())
    digest = None if held else hashlib.sha256(content).digest()
    kept = content if held else None  # of what is held all the same no digest is needed
    del content
    model = checked_ir(proto, path, lists)
    check_external(model, path)
    return ModelData("onnx", path, find_reshapes(model, path), model, Original(proto, encoding, digest, kept, lists))


def read(content: bytes, name: str) -> ModelData:
    """The model of bytes, which say by their beginning how they are encoded."""
    check_size(len(content), name, "model")
    encoding = encoding_of(content)
    proto, lists = decoded(content, encoding, name)
    return in_memory(Original(proto, encoding, content=content, lists=lists), name)


def in_memory(original: Original, name: str) -> ModelData:
    """The model of a message that is in no file, so that nobody knows where weights in other files are."""
    model = checked_ir(original.proto, name, original.lists)
    for tensor in external_tensors(model):
        why = f"the data of {tensor.name!r} are in the file {str(tensor.location)!r}, and nothing here says in which "
        raise unreadable(name, f"{why}folder: give the path of the model, or an onnx_ir.load(path)")
    return ModelData("onnx", name, find_reshapes(model, name), model, original)


def checked_ir(proto: onnx.ModelProto, path: str, lists: Lists) -> ir.Model:
    """The model of a message; its external data are still to be checked."""
    check_message(proto, path)
    _check_ranks(proto, path)
    try:
        model = to_ir(proto)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a model that is none
        raise unreadable(path, _twice(proto) or f"is not a sound ONNX model: {cause(error)}") from None
    hold(model, lists)
    check_tensors(proto, path, lists)
    check_graphs(model, path)
    return model


def _twice(proto: onnx.ModelProto) -> str | None:
    """That two nodes make one value, in words, if two of the model's own graph do."""
    makers: dict[str, onnx.NodeProto] = {}
    for node in proto.graph.node:
        for name in filter(None, node.output):
            if (first := makers.setdefault(name, node)) is not node:
                called = " and ".join(f"{each.op_type} {each.name}".rstrip() for each in (first, node))
                return f"its value {name!r} is made twice, by {called}"
    return None


def check_graphs(model: ir.Model, path: str) -> None:
    """Refuses graphs that no engine would load (names, outputs, references, circles), and sorts unsorted nodes."""
    parts = [part for root, _ in roots(model) for part in graphs(root)]
    check_names(parts, path)
    check_outputs(parts, path)
    check_references(model, path)
    put_in_order(model, path)


def save(model: ModelData, path: str) -> None:
    """Writes the model beside its weights; those are neither read nor copied, and no other folder is allowed."""
    check_weights(model.ir, path)
    original, encoding = model.original, named_encoding(path)
    if not isinstance(original, Original):  # it was an onnx_ir.Model
        write_ir(model.ir, path, encoding)
        return
    proto, unchanged = message_of(original, model.ir, path)
    same = unchanged and encoding == original.encoding
    lists = {**original.lists, **lists_of(model.ir)}
    if not (same and original.content is not None) and is_large(proto, lists):
        write_large(proto, path, encoding, lists)
        return
    with replacing(path) as file:
        if same and original.content is not None:
            file.write(original.content)
        elif not same or original.digest is None or not _copied(model.path, original.digest, file):
            file.seek(0)
            file.truncate()
            file.writelines(encoded(proto, encoding, path, lists))


def message_of(original: Original, model: ir.Model, path: str) -> tuple[onnx.ModelProto, bool]:
    """The message of a model as it is now, and whether it is the unchanged message of the file."""
    try:
        short = shortened(original.proto, model)
        return (original.proto, True) if short.unchanged else (completed(short), False)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a model that was changed into none
        raise unwritable(path, f"the model cannot be written: {cause(error)}") from None


def as_read(model: ModelData) -> ir.Model:
    """The model as it was read, whatever has become of it."""
    original = model.original
    if not isinstance(original, Original):
        return cast("ir.Model", original)
    found = to_ir(original.proto)
    hold(found, original.lists)
    check_external(found, model.path)
    return found


def reshapes(model: ModelData) -> tuple[ReshapeNode, ...]:
    """The view of the model as it is now."""
    return find_reshapes(model.ir, model.path)


def data_files(model: ModelData) -> list[str]:
    """The files that hold external data."""
    return list(dict.fromkeys(os.fspath(tensor.path) for tensor in external_tensors(model.ir)))


def check_message(proto: onnx.ModelProto, path: str) -> None:
    """Refuses a message that is no model."""
    if proto.ir_version <= 0 or not proto.HasField("graph"):
        raise unreadable(path, "is no ONNX model: it has no IR version or no graph (cut off, or another message?)")
    if proto.ir_version >= 3 and not proto.opset_import:
        raise unreadable(path, "is no ONNX model: it imports no opset (cut off?)")


def _check_ranks(proto: onnx.ModelProto, path: str) -> None:
    """Refuses a tensor with more dims than any has, before there is an object for each of them."""
    for info in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        rank = len(info.type.tensor_type.shape.dim)
        if rank > LONGEST_TARGET:
            raise unreadable(path, f"declares {rank} dims of one tensor, more than {LONGEST_TARGET}")
    for tensor in proto.graph.initializer:
        if len(tensor.dims) > LONGEST_TARGET:
            raise unreadable(path, f"declares {len(tensor.dims)} dims of one tensor, more than {LONGEST_TARGET}")


def _copied(source: str, digest: bytes, file: BinaryIO) -> bool:
    """Copies the file of a model, and says whether it still has the digest of the bytes that were read."""
    found = hashlib.sha256()
    try:
        with Path(source).open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
                file.write(chunk)
    except FileNotFoundError:
        return False
    return found.digest() == digest
