"""ONNX models beyond 2 GiB, which is the most that a protobuf message holds: their weights go to a file beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_bulk import bulk_of
from onereshape.formats.onnx.onnx_encoding import encoded
from onereshape.formats.onnx.onnx_graphs import graphs, inner_tensors
from onereshape.formats.onnx.onnx_lists import NO_LISTS, Lists, size_of
from onereshape.formats.onnx.onnx_message import LARGEST
from onereshape.formats.onnx.onnx_records import Pieces
from onereshape.formats.onnx.onnx_rows import take
from onereshape.formats.refusals import cause, unwritable
from onereshape.ground.atomic import replacing, replacing_in_turn

_ALIGNED = 4096
"""Bytes of a page: a tensor that begins at one can be mapped into memory.  Smaller tensors stay in the model."""


def is_large(proto: onnx.ModelProto, lists: Lists = NO_LISTS) -> bool:
    """Whether a message has more bytes than it can be written with."""
    try:
        return size_of(proto, lists) > LARGEST
    except Exception:  # noqa: BLE001 - protobuf's own, which only its untyped package names
        return True


def inner_size(model: ir.Model) -> int:
    """Bytes of the tensors that are in the model itself."""
    return sum(tensor.nbytes for tensor in inner_tensors(model) if tensor.dtype != ir.DataType.STRING)


def message_of_ir(model: ir.Model, path: str) -> onnx.ModelProto:
    """The message that onnx-ir makes of a model; unwritable where it cannot."""
    try:
        return ir.to_proto(model)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a model that is none
        raise unwritable(path, f"the model cannot be written: {cause(error)}") from None


def write_ir(model: ir.Model, path: str, encoding: str) -> None:
    """Writes a model of which there is no message."""
    if inner_size(model) <= LARGEST:
        with replacing(path) as file:
            file.writelines(encoded(message_of_ir(model, path), encoding, path))
        return
    with _beside(path, encoding) as (data, file, location):
        try:
            copy = model.clone()
        except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a graph that is none
            raise unwritable(path, f"the model cannot be written: {cause(error)}") from None
        for value in (value for graph in graphs(copy.graph) for value in graph.initializers.values()):
            tensor = value.const_value
            if tensor is None or not _goes_out(tensor, tensor.nbytes):
                continue
            offset, length = _put(data, tensor.tobytes())
            value.const_value = ir.ExternalTensor(
                location, offset, length, tensor.dtype, shape=ir.Shape(tensor.shape.numpy()), name=str(value.name)
            )
        file.writelines(_content(message_of_ir(copy, path), path, NO_LISTS))


def write_large(proto: onnx.ModelProto, path: str, encoding: str, lists: Lists) -> None:
    """Writes a message of more than 2 GiB: its large initializers go to a file beside it."""
    with _beside(path, encoding) as (data, file, location):
        short = onnx.ModelProto()
        take(short, proto, but={"graph"})
        take(short.graph, proto.graph, but={"initializer"})
        for tensor in proto.graph.initializer:
            held, bulk = ir.serde.deserialize_tensor(tensor), bulk_of(tensor, lists)
            if not _goes_out(held, held.nbytes):
                short.graph.initializer.append(tensor)
                continue
            offset, length = _put(data, held.tobytes() if bulk is None else bulk.content)
            named = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
            named.doc_string = tensor.doc_string
            named.metadata_props.extend(tensor.metadata_props)
            named.data_location = onnx.TensorProto.EXTERNAL
            for key, said in (("location", location), ("offset", offset), ("length", length)):
                named.external_data.add(key=key, value=str(said))
            short.graph.initializer.append(named)
        file.writelines(_content(short, path, lists))


@contextmanager
def _beside(path: str, encoding: str) -> Iterator[tuple[BinaryIO, BinaryIO, str]]:
    """The files of the weights and of the model, and the name of the first; it comes first, and nobody reads it yet."""
    if encoding:
        raise unwritable(path, "has more than 2 GiB of weights, which neither a packed nor a textual model holds")
    location = f"{Path(path).name}.data"
    there = Path(path).absolute().parent / location
    if there.exists():
        raise unwritable(path, f"its weights, over 2 GiB, go to {location!r}, which is there already: remove it first")
    with replacing_in_turn([str(there), path]) as (data, file):
        yield data, file, location


def _goes_out(tensor: ir.TensorProtocol, size: int) -> bool:
    is_text = tensor.dtype == ir.DataType.STRING
    return size >= _ALIGNED and not is_text and not isinstance(tensor, ir.ExternalTensor)


def _put(data: BinaryIO, content: bytes | memoryview) -> tuple[int, int]:
    """Writes the bytes of a tensor; where they are."""
    offset = -(-data.tell() // _ALIGNED) * _ALIGNED
    data.seek(offset)
    data.write(content)
    return offset, len(content)


def _content(proto: onnx.ModelProto, path: str, lists: Lists) -> Pieces:
    if is_large(proto, lists):
        raise unwritable(path, "has more than 2 GiB in its nodes, and a model holds less without external data")
    return encoded(proto, "", path, lists)
