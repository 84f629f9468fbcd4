"""ONNX tensors: a `TensorProto` in a .pb file, as the ONNX test suites hold their inputs and outputs.

What the file announces is checked here first, because `onnx.numpy_helper` cuts packed data that are too long and wraps
integers that are too large.  onnx itself is imported only when such a file is met.
"""

from __future__ import annotations

import os
import re
from math import prod
from typing import IO, TYPE_CHECKING

import numpy as np

from onereshape.formats.beside import file_beside
from onereshape.formats.onnx.onnx_message import LARGEST, message_bytes
from onereshape.formats.refusals import unreadable, unwritable
from onereshape.formats.tensors.tensor import MOST_DIMS, Tensor, is_nameless
from onereshape.ground import dtypes
from onereshape.ground.dtypes import ElementType
from onereshape.ground.errors import FormatError
from onereshape.ground.numpy_types import Array

if TYPE_CHECKING:
    from onnx import TensorProto

_BITS = {"int4": 4, "uint4": 4, "float4e2m1": 4, "int2": 2, "uint2": 2}
"""The types that ONNX packs, several elements to a byte."""
_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "raw_data")


def read(path: str) -> Tensor:
    """The tensor of a .pb file; external data are read from the file's own folder only."""
    from onnx import numpy_helper  # noqa: PLC0415 - takes long

    proto = _parse(path)
    element_type = _element_type(proto, path)
    _check_texts(proto, path)
    external = proto.external_data or proto.data_location
    data_file = _load_external(proto, element_type, path) if external else None
    if not proto.raw_data:
        proto.ClearField("raw_data")
    _check_count(proto, element_type, path)
    try:
        array = _read_strings(proto) if element_type is dtypes.STRING else numpy_helper.to_array(proto)
    except (ValueError, TypeError) as error:  # dims beyond memory beside a 0
        raise unreadable(path, f"has dims that NumPy cannot hold ({error})") from None
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    return Tensor(array, proto.name, proto.doc_string, metadata, data_file)


def write(file: IO[bytes], tensor: Tensor, path: str) -> None:
    """Writes a tensor as a `TensorProto` with its name, doc string and metadata, and with its data inside."""
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415 - takes long

    array = tensor.array
    element_type = dtypes.of_dtype(array.dtype)
    if is_nameless(array.dtype):
        why = f"an ONNX tensor names its type, and items stored as V{array.dtype.itemsize} have none: give --dtype"
        raise unwritable(path, why)
    if element_type is None or element_type.onnx is None:
        raise unwritable(path, f"ONNX has no type for {array.dtype}")
    size = array.size * _bits(element_type) // 8
    if size > LARGEST:
        raise _too_large(path, size)
    if element_type is dtypes.STRING:
        proto = TensorProto(data_type=TensorProto.STRING, dims=array.shape)
        proto.string_data.extend(_string_bytes(array, path))
    else:
        proto = numpy_helper.from_array(array.astype(array.dtype.newbyteorder("="), copy=False))
    if tensor.name:
        proto.name = tensor.name
    if tensor.doc:
        proto.doc_string = tensor.doc
    for key, value in tensor.metadata.items():
        proto.metadata_props.add(key=key, value=value)
    if proto.ByteSize() > LARGEST:
        raise _too_large(path, proto.ByteSize())
    file.write(proto.SerializeToString())


def _parse(path: str) -> TensorProto:
    from onnx import TensorProto  # noqa: PLC0415 - takes long

    content, proto = message_bytes(path, "tensor"), TensorProto()
    try:
        proto.ParseFromString(content)
    except Exception:  # noqa: BLE001 - protobuf's own, which only its untyped package names
        raise unreadable(path, "is no ONNX tensor: its bytes are not a protobuf TensorProto") from None
    return proto


def _element_type(proto: TensorProto, path: str) -> ElementType:
    """The type of the elements, which also tells a tensor from another message."""
    if proto.data_type == proto.UNDEFINED:
        raise unreadable(path, "is no ONNX tensor: it has no element type (a whole model, or another message?)")
    try:
        name = proto.DataType.Name(proto.data_type).lower()
    except ValueError:
        raise unreadable(path, f"has elements of type {proto.data_type}, which ONNX does not define") from None
    element_type = dtypes.named(name)
    if element_type is None or element_type.onnx != name:
        raise unreadable(path, f"has elements of type {name}, which no Reshape takes")
    if proto.HasField("segment"):
        raise unreadable(path, "is one segment of a larger tensor")
    if len(proto.dims) > MOST_DIMS:
        raise unreadable(path, f"has dims that NumPy cannot hold ({len(proto.dims)} of them)")
    if any(dim < 0 for dim in proto.dims):
        raise unreadable(path, f"has a negative dim: {list(proto.dims)}")
    return element_type


def _check_texts(proto: TensorProto, path: str) -> None:
    """Refuses names and descriptions that are not UTF-8, which protobuf hands out as bytes."""
    entries = [*proto.metadata_props, *proto.external_data]
    texts = [proto.name, proto.doc_string, *(entry.key for entry in entries), *(entry.value for entry in entries)]
    if not all(isinstance(text, str) for text in texts):
        raise unreadable(path, "has a name or a description that is not UTF-8")


def _load_external(proto: TensorProto, element_type: ElementType, path: str) -> str:
    """Moves data that are in another file into the tensor, and says which; no path that leaves the folder is read."""
    said = {entry.key: entry.value for entry in proto.external_data}
    location = said.get("location", "")
    if not location:
        raise unreadable(path, "has its data in another file, and does not say in which")
    beside = file_beside(path, location)
    if beside is None:
        raise unreadable(path, f"its data are in {location!r}, outside its own folder, and are not read")
    start, length = said.get("offset", "0"), said.get("length")
    if not all(re.fullmatch("[0-9]{1,19}", text) for text in (start, "0" if length is None else length)):
        where = f"offset {start[:40]!r} of length {length if length is None else length[:40]!r}"
        raise unreadable(path, f"has external data at {where}, which are no numbers")
    try:
        if not beside.is_file():
            raise unreadable(path, f"its data are in {location!r}, which is not a file beside it")
        with beside.open("rb") as file:
            there = max(os.fstat(file.fileno()).st_size - int(start), 0)
            announced = there if length is None else int(length)
            needed = _raw_bytes(proto, element_type)
            if announced != needed or there < needed:
                found = there if announced == needed else announced
                raise _mismatch(proto, element_type, f"{found} bytes in {location!r}", needed, path)
            file.seek(int(start))
            proto.raw_data = file.read(needed)
    except OSError as error:
        raise unreadable(path, f"its data in {location!r} cannot be read ({error.strerror or error})") from None
    proto.data_location = proto.DEFAULT
    del proto.external_data[:]
    return str(beside)


def _check_count(proto: TensorProto, element_type: ElementType, path: str) -> None:
    """Refuses data in the wrong field, in two fields, of another length than the dims say, or out of range."""
    from onnx import helper  # noqa: PLC0415 - takes long

    field = helper.tensor_dtype_to_field(proto.data_type)
    used = [name for name in _FIELDS if len(getattr(proto, name))]
    if len(used) > 1:
        raise unreadable(path, f"has its data twice, in {' and '.join(used)}")
    if used == ["raw_data"] and element_type is not dtypes.STRING:
        needed, there, unit = _raw_bytes(proto, element_type), len(proto.raw_data), "bytes"
    else:
        bits = _bits(element_type)  # packed by bytes; a complex number is two entries
        entry = 8 if bits < 8 else bits // 2 if element_type.name.startswith("complex") else bits
        needed, there, unit = -(-prod(proto.dims) * bits // entry), len(getattr(proto, field)), f"of {field}"
    if there != needed:
        raise _mismatch(proto, element_type, f"{there} {unit}", needed, path)
    if used == [field] and field in {"int32_data", "uint64_data"}:
        _check_range(proto, field, element_type, path)


def _check_range(proto: TensorProto, field: str, element_type: ElementType, path: str) -> None:
    """Refuses entries that do not fit the elements: those of small types stand in fields of wider ones."""
    dtype = np.dtype(element_type.numpy)
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    elif dtype.kind == "b":
        low, high = 0, 1
    else:  # bit patterns, signed by some writers
        low, high = -(1 << 8 * dtype.itemsize - 1), (1 << 8 * dtype.itemsize) - 1
    entries = getattr(proto, field)
    for entry in (min(entries), max(entries)):
        if not low <= entry <= high:
            raise unreadable(path, f"has {entry} in {field}, which is no {element_type.onnx}")


def _mismatch(proto: TensorProto, element_type: ElementType, found: str, needed: int, path: str) -> FormatError:
    return unreadable(path, f"has {found}, but {list(proto.dims)} of {element_type.onnx} needs {needed}")


def _raw_bytes(proto: TensorProto, element_type: ElementType) -> int:
    count: int = prod(proto.dims)
    return (count * _bits(element_type) + 7) // 8


def _bits(element_type: ElementType) -> int:
    if element_type is dtypes.STRING:
        return 8  # at least; counted exactly as a message
    return _BITS.get(str(element_type.onnx)) or 8 * np.dtype(element_type.numpy).itemsize


def _read_strings(proto: TensorProto) -> Array:
    """Each string as str, or as bytes where it is not UTF-8: written again, both give the bytes that were read."""
    array = np.empty(len(proto.string_data), object)
    for index, text in enumerate(proto.string_data):
        try:
            array[index] = text.decode()
        except UnicodeDecodeError:
            array[index] = text
    return array.reshape(tuple(proto.dims))


def _string_bytes(array: Array, path: str) -> list[bytes]:
    try:
        texts = array.reshape(-1).tolist()
        return [text if isinstance(text, bytes) else text.encode() for text in texts]
    except (ValueError, SystemError):  # lone surrogates; beyond the last code point, where NumPy raises SystemError
        raise unwritable(path, "a string of it is not valid Unicode, and ONNX strings are UTF-8") from None


def _too_large(path: str, size: int) -> FormatError:
    return unwritable(path, f"an ONNX tensor file holds less than 2 GiB, and this one needs {size} bytes")
