"""Messages between a process and its child: plain data, and arrays by name.

On the wire a message is the length of its head in 8 bytes, the head as JSON, and the bytes of the arrays, one after the
other.  Nothing is unpickled: whatever a model made of the child, all that it can send is data.
"""

from __future__ import annotations

import json
import struct
from math import prod
from typing import Any, BinaryIO

import numpy as np

from onereshape.ground.dtypes import named, of_dtype
from onereshape.ground.numpy_types import Array

Plain = dict[str, Any]
Arrays = dict[str, Array]

_LENGTH = struct.Struct("<Q")
_LARGEST_HEAD = 1 << 28
_STRING = "string"


class TooLarge(Exception):  # noqa: N818 - a fact about a message
    """A message of more bytes than its reader takes."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(size)


def bytes_array(content: bytes) -> Array:
    """Bytes as an array, not copied."""
    return np.frombuffer(content, np.uint8)


def write(stream: BinaryIO, plain: Plain, arrays: Arrays) -> None:
    """Writes a message; its arrays are taken out of `arrays`, so that memory that nobody else holds is free at once."""
    told = [_told(name, array) for name, array in arrays.items()]
    head = json.dumps({"plain": plain, "arrays": told}).encode()
    stream.write(_LENGTH.pack(len(head)) + head)
    for each in told:
        array = arrays.pop(each["name"])
        if each["type"] != _STRING:
            stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    stream.flush()


def read(stream: BinaryIO, most: int) -> tuple[Plain, Arrays]:
    """Reads one message whose arrays have no more than `most` bytes.

    EOFError: the other side has gone; ValueError: it says what is no message.
    """
    (length,) = _LENGTH.unpack(_bytes(stream, _LENGTH.size).data)
    if length > _LARGEST_HEAD:
        raise TooLarge(length)
    try:
        head = json.loads(_bytes(stream, length).tobytes())
        plain: Plain = dict(head["plain"])
        wanted = [(str(one["name"]), _dims(one["dims"]), str(one["type"]), one.get("items")) for one in head["arrays"]]
        kinds = [_dtype(kind) for _, _, kind, _ in wanted]
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no message: {error}") from None
    size = sum(prod(dims) * dtype.itemsize for (_, dims, _, _), dtype in zip(wanted, kinds, strict=True))
    if size > most:
        raise TooLarge(size)
    arrays = {}
    for (name, dims, kind, items), dtype in zip(wanted, kinds, strict=True):
        if kind == _STRING:
            arrays[name] = np.array(items, object).reshape(dims)
        else:
            arrays[name] = _bytes(stream, prod(dims) * dtype.itemsize).view(dtype).reshape(dims)
    return plain, arrays


def _told(name: str, array: Array) -> Plain:
    kind = of_dtype(array.dtype)
    if kind is None:
        raise ValueError(f"an array of {array.dtype} cannot be sent")
    told = {"name": name, "type": kind.name, "dims": list(array.shape)}
    return told | ({"items": array.reshape(-1).tolist()} if kind.name == _STRING else {})


def _dims(dims: Any) -> tuple[int, ...]:
    found = tuple(dims)
    if not all(isinstance(dim, int) and dim >= 0 for dim in found):
        raise ValueError(f"no dims: {found}")
    return found


def _dtype(name: str) -> np.dtype[Any]:
    found = named(name)
    if found is None or found.numpy is None:
        raise ValueError(f"no type of elements: {name}")
    return found.numpy


def _bytes(stream: BinaryIO, size: int) -> Array:
    found = np.empty(size, np.uint8)
    rest = found.data
    while rest:
        count = stream.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        rest = rest[count:]
    return found
