"""Large weights, kept as the bytes that a file has for them.

Most of a model is its weights, and most of what is done with a model does not look at them.  So a message is parsed
with a mark in the place of the bytes of each large initializer, `00 00 80 3f ... -> onereshape bulk 9c1f....7`; the
tensor of the model is an array on the bytes that were read, which nobody copies; and where bytes are written, those of
the weights take the place of their marks again.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_records import LENGTH, Pieces, as_number, number_at, rebuilt, record
from onereshape.ground.numpy_types import Array

_LEAST: Final = 1 << 16
"""Bytes of weights that are kept so."""
_WAY: Final = (7, 5)
"""The fields that lead to an initializer: the graph of a model, and its tensors."""
_DIMS, _TYPE, _NAME, _RAW = 1, 2, 8, 9
"""Fields of a tensor; one that has others is parsed."""
_MARK: Final = "onereshape bulk "
_MOST_DIMS: Final = 64
_PLAIN: Final = frozenset(
    {
        *(ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16),
        *(ir.DataType.INT8, ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64),
        *(ir.DataType.UINT8, ir.DataType.UINT16, ir.DataType.UINT32, ir.DataType.UINT64),
    }
)
"""Types whose elements are whole bytes."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Bulk:
    """The bytes of one initializer, and what stands for them in a message."""

    content: bytes | memoryview = field(repr=False)
    mark: str

    def __reduce__(self) -> tuple[type[Bulk], tuple[bytes, str]]:
        """How it is copied and pickled, which no view of a file can be."""
        return Bulk, (bytes(self.content), self.mark)


class BulkTensor(ir.Tensor[Array]):
    """A tensor on bytes that are held elsewhere; whoever else writes it, writes its elements."""

    def __init__(self, read: onnx.TensorProto, bulk: Bulk) -> None:
        kind = ir.DataType(read.data_type)
        super().__init__(np.frombuffer(bulk.content, kind.numpy()).reshape(tuple(read.dims)), kind, name=read.name)
        self.read = read
        """The message that was read, with the mark."""
        self.bulk = bulk

    def __reduce__(self) -> tuple[type[BulkTensor], tuple[onnx.TensorProto, Bulk]]:
        return BulkTensor, (self.read, self.bulk)

    def tobytes(self) -> bytes:
        return bytes(self.bulk.content)

    def marked(self) -> ir.TensorProtoTensor:
        """The tensor that is written where the bytes come later."""
        dims = self.shape.numpy()
        mark = self.bulk.mark.encode()
        return ir.TensorProtoTensor(
            onnx.TensorProto(name=self.name, data_type=self.dtype.value, dims=dims, raw_data=mark)
        )


def bulk_apart(content: bytes) -> tuple[Pieces | None, dict[str, Bulk]]:
    """A message with marks where it had the bytes of large initializers, and those; None: as it was."""
    found: dict[str, Bulk] = {}
    token = secrets.token_hex(16)  # a file cannot have what nobody knew

    def marked(start: int, end: int) -> Pieces | None:
        place = _raw_in(content, start, end)
        if place is None:
            return None
        before, body, stop = place
        mark = f"{_MARK}{token}.{len(found)}"
        found[mark] = Bulk(memoryview(content)[body:stop], mark)
        return [content[start:before], *_raw(mark.encode()), content[stop:end]]

    if sys.byteorder != "little":  # a file has the lowest byte first
        return None, {}
    return rebuilt(content, 0, len(content), _WAY, lambda start, end: end - start > _LEAST, marked), found


def hold_bulk(model: ir.Model, found: Mapping[str, Any]) -> None:
    """Gives the initializers of a model the bytes that their marks stand for."""
    for value in model.graph.initializers.values():
        tensor = value.const_value
        if isinstance(tensor, ir.TensorProtoTensor) and (bulk := bulk_of(tensor.raw, found)) is not None:
            value.const_value = BulkTensor(tensor.raw, bulk)


def bulk_of(tensor: onnx.TensorProto, found: Mapping[str, Any]) -> Bulk | None:
    """The bytes of a tensor of a message that has a mark for them."""
    if not found or not tensor.HasField("raw_data"):
        return None
    bulk = found.get(_text(tensor.raw_data))
    return bulk if isinstance(bulk, Bulk) else None


def bulk_in(model: ir.Model) -> dict[str, Bulk]:
    """The bytes that stand behind the initializers of a model."""
    tensors = (value.const_value for value in model.graph.initializers.values())
    return {each.bulk.mark: each.bulk for each in tensors if isinstance(each, BulkTensor)}


def marked_bulk(values: Iterable[ir.Value]) -> list[ir.Value]:
    """What onnx-ir is to write for initializers: themselves, or some with marks for their bytes."""
    return [_marked(value) for value in values]


def with_bulk(content: bytes, found: Mapping[str, Any]) -> Pieces | None:
    """A message in pieces, with the bytes in the place of their marks; None: as it was."""

    def put_back(start: int, end: int) -> Pieces | None:
        at = start
        while at < end:
            number, form, body, stop = record(content, at, end)
            if number == _RAW and form == LENGTH:
                bulk = found.get(_text(content[body:stop]))
                return None if bulk is None else [content[start:at], *_raw(bulk.content), content[stop:end]]
            at = stop
        return None

    def has_mark(start: int, end: int) -> bool:
        return content.find(_MARK.encode(), start, end) >= 0

    return rebuilt(content, 0, len(content), _WAY, has_mark, put_back)


def _marked(value: ir.Value) -> ir.Value:
    tensor = value.const_value
    if not isinstance(tensor, BulkTensor):
        return value
    found = ir.Value(
        name=value.name,
        shape=value.shape,
        type=value.type,
        doc_string=value.doc_string,
        const_value=tensor.marked(),
        metadata_props=value.metadata_props,
    )
    found.meta.update(value.meta)
    return found


def _raw(content: bytes | memoryview) -> Pieces:
    """The record of the bytes of a tensor."""
    return [as_number(_RAW << 3 | LENGTH), as_number(len(content)), content]


def _text(content: bytes) -> str:
    """Bytes as a mark, if they may be one."""
    return content.decode("latin-1") if content.startswith(_MARK.encode()) else ""


def _raw_in(content: bytes, start: int, end: int) -> tuple[int, int, int] | None:
    """Where the record of a tensor's bytes begins, and its content begins and ends; None: it is to be parsed."""
    dims: list[int] = []
    once: dict[int, tuple[int, int, int]] = {}
    at = start
    while at < end:
        number, form, body, stop = record(content, at, end)
        if number == _DIMS and form in {0, LENGTH}:
            while body < stop:
                dim, body = number_at(content, body, stop)
                dims.append(dim)
        elif number in once or (number, form) not in {(_TYPE, 0), (_NAME, LENGTH), (_RAW, LENGTH)}:
            return None
        else:
            once[number] = at, body, stop
        at = stop
    if once.keys() != {_TYPE, _NAME, _RAW} or len(dims) > _MOST_DIMS:
        return None
    kind, _ = number_at(content, once[_TYPE][1], end)
    before, body, stop = once[_RAW]
    if kind not in _PLAIN or stop - body < _LEAST or prod(dims) * ir.DataType(kind).itemsize != stop - body:
        return None
    return before, body, stop
