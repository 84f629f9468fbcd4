"""ONNX models: `.onnx`, the same packed (`.onnx.gz`) and the textual form (`.onnxtxt`).

The model is an `onnx_ir.Model`, whose external data stay in their files until somebody asks for them.  The message that
was read is kept beside it: a model that was not changed is written as it was, and of a changed one only the change is
new.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import onnx
import onnx_ir as ir
from onnx import parser, printer

from onereshape.errors import FormatError
from onereshape.formats.atomic import replacing
from onereshape.formats.model import LONGEST_TARGET, Model, ReshapeNode, cause, unreadable, unwritable
from onereshape.formats.onnx_data import check_tensors
from onereshape.formats.onnx_graphs import (
    check_external,
    check_names,
    put_in_order,
    check_outputs,
    check_references,
    check_weights,
    external_tensors,
    graphs,
    roots,
)
from onereshape.formats.onnx_merge import to_ir
from onereshape.formats.onnx_message import LARGEST, message_bytes
from onereshape.formats.onnx_reshapes import reshapes as find_reshapes
from onereshape.formats.onnx_rows import completed, shortened

_PACKED_RATIO = 200
"""How many times its own size a packed model may become; weights shrink to a half, mere zeros to a thousandth."""
_SMALL = 64 << 20
"""Bytes up to which the ratio does not matter."""
_DEEPEST_TEXT = 64
"""Brackets within brackets; onnx's parser of texts has no limit of its own and overruns the stack."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class _Original:
    """The file as it was: its message, how it was encoded, and the digest of its bytes."""

    proto: Any
    encoding: str
    digest: bytes


def load(path: str) -> Model:
    """The model of a file, checked as far as its Reshapes and its external data need it."""
    encoding = _encoding(path)
    content = message_bytes(path, "model")
    digest = hashlib.sha256(content).digest()
    proto = _parsed(content, encoding, path)
    del content
    _check_ranks(proto, path)
    try:
        model = to_ir(proto)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a model that is none
        raise unreadable(path, f"is not a sound ONNX model: {cause(error)}") from None
    check_tensors(proto, path)
    parts = [part for root, _ in roots(model) for part in graphs(root)]
    check_names(parts, path)
    check_outputs(parts, path)
    check_references(model, path)
    put_in_order(model, path)
    _forget_unknown_dims(model)
    check_external(model, path)
    return Model("onnx", path, find_reshapes(model, path), model, _Original(proto, encoding, digest))


def _forget_unknown_dims(model: ir.Model) -> None:
    """A dim of -1, or one called `?`, as some exporters write, is one that is not known."""
    for value in (*model.graph.inputs, *model.graph.outputs):
        if value.shape is not None and any(map(_is_unknown, value.shape)):
            value.shape = ir.Shape([None if _is_unknown(dim) else dim for dim in value.shape])


def _is_unknown(dim: int | ir.SymbolicDim) -> bool:
    return dim < 0 if isinstance(dim, int) else dim.value == "?"


def save(model: Model, path: str) -> None:
    """Writes the model beside its weights; those are neither read nor copied, and no other folder is allowed."""
    original: _Original = model.original
    check_weights(model.ir, path)
    try:
        short = shortened(original.proto, model.ir)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a model that was changed into none
        raise unwritable(path, f"the model cannot be written: {cause(error)}") from None
    unchanged = short.unchanged
    proto = original.proto if unchanged else completed(short)
    del short
    encoding = _encoding(path)
    with replacing(path) as file:
        if unchanged and encoding == original.encoding and _copied(model.path, original.digest, file):
            return
        file.seek(0)
        file.truncate()
        file.write(_encoded(proto, encoding, path))


def as_read(model: Model) -> ir.Model:
    """The model as its file was, whatever has become of it."""
    found = to_ir(model.original.proto)
    check_external(found, model.path)
    return found


def reshapes(model: Model) -> tuple[ReshapeNode, ...]:
    """The view of the model as it is now."""
    return find_reshapes(model.ir, model.path)


def data_files(model: Model) -> list[str]:
    """The files that hold external data."""
    return list(dict.fromkeys(os.fspath(tensor.path) for tensor in external_tensors(model.ir)))


def _encoding(path: str) -> str:
    return Path(path).suffix.lower() if path.lower().endswith((".onnx.gz", ".onnxtxt")) else ""


def _parsed(content: bytes, encoding: str, path: str) -> onnx.ModelProto:
    if encoding == ".onnxtxt":
        proto = _parsed_text(content, path)
    else:
        proto = onnx.ModelProto()
        try:
            proto.ParseFromString(_unpacked(content, path) if encoding else content)
        except FormatError:
            raise
        except Exception:  # noqa: BLE001 - protobuf's own, which only its untyped package names
            raise unreadable(path, "is no ONNX model: its bytes are not a protobuf ModelProto") from None
    if proto.ir_version <= 0 or not proto.HasField("graph"):
        raise unreadable(path, "is no ONNX model: it has no IR version or no graph (cut off, or another message?)")
    if proto.ir_version >= 3 and not proto.opset_import:
        raise unreadable(path, "is no ONNX model: it imports no opset (cut off?)")
    return proto


def _check_ranks(proto: onnx.ModelProto, path: str) -> None:
    """Refuses a tensor with more dims than any has, before there is an object for each of them."""
    for info in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        rank = len(info.type.tensor_type.shape.dim)
        if rank > LONGEST_TARGET:
            raise unreadable(path, f"declares {rank} dims of one tensor, more than {LONGEST_TARGET}")
    for tensor in proto.graph.initializer:
        if len(tensor.dims) > LONGEST_TARGET:
            raise unreadable(path, f"declares {len(tensor.dims)} dims of one tensor, more than {LONGEST_TARGET}")


def _unpacked(content: bytes, path: str) -> bytes:
    """What a gzip file holds, up to what a model can be."""
    limit = min(LARGEST, max(_SMALL, _PACKED_RATIO * len(content)))
    unpacker = zlib.decompressobj(wbits=31)
    try:
        data = unpacker.decompress(content, limit + 1)
    except zlib.error as error:
        raise unreadable(path, f"is not a gzip file: {error}") from None
    if len(data) > limit:
        raise unreadable(path, f"unpacks to more than {limit} bytes, which no model of its size does")
    if not unpacker.eof or unpacker.unused_data:
        raise unreadable(path, "is a gzip file that is cut off, or that something follows")
    return data


def _parsed_text(content: bytes, path: str) -> onnx.ModelProto:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise unreadable(path, "is no textual ONNX model: it is not UTF-8") from None
    bare = re.sub(r'"(?:\\.|[^"\\])*"|#[^\n]*', "", text)
    if max(_depth(text), _depth(bare)) > _DEEPEST_TEXT:
        raise unreadable(path, f"has brackets within brackets, more than {_DEEPEST_TEXT} deep")
    try:
        return parser.parse_model(text)
    except Exception as error:  # noqa: BLE001 - onnx's ParseError holds bytes, and other errors come too
        said = error.args[0] if error.args else ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise unreadable(path, f"is no textual ONNX model: {said.splitlines()[0] if said else 'empty'}") from None


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"[(){}\[\]]", text):
        depth += 1 if bracket in "({[" else -1
        deepest = max(deepest, depth)
    return deepest


def _encoded(proto: onnx.ModelProto, encoding: str, path: str) -> bytes:
    if encoding == ".onnxtxt":
        text = _printed(proto)
        if text is None or _reparsed(text) != proto:
            raise unwritable(path, "the textual form has no words for some of this model; save it as .onnx")
        return text.encode()
    if proto.ByteSize() > LARGEST:
        why = f"an ONNX file holds less than 2 GiB without external data, and this one needs {proto.ByteSize()} bytes"
        raise unwritable(path, why)
    content = proto.SerializeToString()
    return gzip.compress(content, mtime=0) if encoding else content


def _printed(proto: onnx.ModelProto) -> str | None:
    try:
        return str(printer.to_text(proto))
    except Exception:  # noqa: BLE001 - an error of shape inference, for a tensor that is not sound
        return None


def _reparsed(text: str) -> onnx.ModelProto | None:
    try:
        return parser.parse_model(text)
    except Exception:  # noqa: BLE001 - the printer writes what the parser does not read
        return None


def _copied(source: str, digest: bytes, file: BinaryIO) -> bool:
    """Copies the file that was read, if it still holds what was read."""
    found = hashlib.sha256()
    try:
        with Path(source).open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                found.update(chunk)
                file.write(chunk)
    except FileNotFoundError:
        return False
    return found.digest() == digest
