"""How an ONNX message is a file: protobuf as it is (`.onnx`), packed (`.onnx.gz`), or text (`.onnxtxt`)."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

import onnx
from onnx import parser, printer

from onereshape.formats.foreign import foreign
from onereshape.formats.model_formats import PACKED, START, TEXTUAL, beginning
from onereshape.formats.onnx.onnx_lists import NO_LISTS, Lists, pieces_of, set_apart, size_of, with_lists
from onereshape.formats.onnx.onnx_message import LARGEST
from onereshape.formats.onnx.onnx_records import Pieces
from onereshape.formats.refusals import unreadable, unwritable

_PACKED_RATIO = 200
"""How many times its own size a packed model may become; weights shrink to a half, mere zeros to a thousandth."""
_SMALL = 64 << 20
"""Bytes up to which the ratio does not matter."""
_DEEPEST_TEXT = 64
"""Brackets within brackets; onnx's parser of texts has no limit of its own and overruns the stack."""


def named_encoding(path: str) -> str:
    """The encoding that a file's name announces: `net.onnx.gz -> .gz`, `net.onnxtxt -> .onnxtxt`, `net.onnx -> ""`."""
    return Path(path).suffix.lower() if path.lower().endswith((".onnx.gz", ".onnxtxt")) else ""


def encoding_of(content: bytes) -> str:
    """The encoding that the first bytes of a file show: `.gz`, `.onnxtxt`, or "" for protobuf as it is."""
    start = beginning(content)
    return ".gz" if start.startswith(PACKED) else ".onnxtxt" if TEXTUAL.match(start) else ""


def decoded(content: bytes, encoding: str, path: str) -> tuple[onnx.ModelProto, Lists]:
    """The message in the content of a file, with marks for its long lists, and those."""
    if encoding == ".onnxtxt":
        return _parsed_text(content, path), {}
    proto = onnx.ModelProto()
    message, lists = set_apart(_unpacked(content, path) if encoding else content)
    try:
        proto.ParseFromString(message)
    except Exception:  # noqa: BLE001 - protobuf's own, which only its untyped package names
        other = foreign(message[:START])
        raise unreadable(path, other or "is no ONNX model: its bytes are not a protobuf ModelProto") from None
    return proto, lists


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


def encoded(proto: onnx.ModelProto, encoding: str, path: str, lists: Lists = NO_LISTS) -> Pieces:
    """The content of a file, in pieces."""
    if encoding == ".onnxtxt":
        proto = with_lists(proto, lists)
        text = _printed(proto)
        if text is None or _reparsed(text) != proto:
            raise unwritable(path, "the textual form has no words for some of this model; save it as .onnx")
        return [text.encode()]
    if (size := size_of(proto, lists)) > LARGEST:
        why = f"an ONNX file holds less than 2 GiB without external data, and this one needs {size} bytes"
        raise unwritable(path, why)
    pieces = pieces_of(proto.SerializeToString(), lists)
    return [gzip.compress(b"".join(pieces), mtime=0)] if encoding else pieces


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
