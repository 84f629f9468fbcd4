"""NumPy's .npy files: a header that is a Python literal, then the bytes of one array.

Read here rather than with `np.load`: nothing is ever unpickled, the length must be exactly what the header announces,
and the types of ml_dtypes come back, which `np.save` writes under names that say little (`V2` is bfloat16) or that
`np.load` cannot read (`<f1` is float8_e5m2).  What is written is what `np.save` writes, byte for byte.
"""

from __future__ import annotations

import ast
import os
import re
import warnings
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from onereshape.formats.refusals import unreadable, unwritable
from onereshape.formats.tensors.tensor import MOST_DIMS, NATIVE, Tensor
from onereshape.ground import dtypes
from onereshape.ground.dtypes import DType
from onereshape.ground.memory import available
from onereshape.ground.numpy_types import Array

_SIGNATURE = npy_format.MAGIC_PREFIX
_LONGEST_HEADER = 10_000
"""NumPy's own limit: a longer literal from a stranger could exhaust the parser."""
_LONGEST_SHOWN = 200
_LARGEST_DIM = 2**63 - 1
_CHUNK = 1 << 24
"""Bytes moved at a time."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a .npy file: the element type, the dims and the order of its array, and where elements begin."""

    dtype: DType
    dims: tuple[int, ...]
    fortran_order: bool
    length: int
    """Bytes of signature and header."""

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return prod(self.dims) * self.dtype.itemsize


def read(path: str, *, mapped: bool = True) -> Tensor:
    """The array of a .npy file, mapped into memory; read, where `mapped` is false, if there is room for it.

    A process that touches what was cut off a mapped file is ended by the system; what is read can be refused.
    """
    with Path(path).open("rb") as file:
        header = read_header(file, path)
        before = os.fstat(file.fileno())
        check_length(header, before.st_size, path)
        if header.nbytes == 0:  # there is nothing to map
            return Tensor(as_array(np.empty(0, np.uint8), header, path))
        if mapped:
            data: Array = np.memmap(file, np.uint8, "r", offset=header.length, shape=(header.nbytes,))
            return Tensor(as_array(data, header, path))
        free = available()
        if free is not None and header.nbytes > free:
            why = f"its {header.nbytes} bytes do not fit into memory, of which {free} are free"
            raise unreadable(path, f"{why}; with --memory it is reshaped a block at a time, to .npy or .zarr")
        data = np.empty(header.nbytes, np.uint8)
        count = file.readinto(data.data)
        after = os.fstat(file.fileno())
        if count < header.nbytes or (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise unreadable(path, "has changed while it was read")
        return Tensor(as_array(data, header, path))


def write(file: IO[bytes], tensor: Tensor, path: str) -> None:
    """The array as `np.save` writes it, a chunk at a time; strings in fixed width."""
    array = tensor.array
    if array.dtype.hasobject:
        array = _fixed_width(array, path)
    announced = npy_format.header_data_from_array_1_0(array)
    npy_format.write_array_header_1_0(file, announced)
    if array.nbytes:
        stored = array.T if announced["fortran_order"] else np.ascontiguousarray(array)
        data = stored.reshape(-1).view(np.uint8)
        for start in range(0, data.size, _CHUNK):
            file.write(data[start : start + _CHUNK].data)


def read_header(file: IO[bytes], path: str) -> Header:
    """The header at the start of `file`, every part of it checked."""
    start = file.read(len(_SIGNATURE) + 2)
    if not start:
        raise unreadable(path, "is empty")
    if not start.startswith(_SIGNATURE) or len(start) < len(_SIGNATURE) + 2:
        raise unreadable(path, "is not a .npy file: its first bytes are not NumPy's signature")
    version = start[len(_SIGNATURE)]
    if version not in {1, 2, 3}:
        raise unreadable(path, f"has version {version} of the .npy format, and only 1, 2 and 3 are known")
    counter = file.read(2 if version == 1 else 4)
    announced = int.from_bytes(counter, "little")
    if announced > _LONGEST_HEADER:
        raise unreadable(path, f"has a header of {announced} bytes, beyond the limit of {_LONGEST_HEADER}")
    text = file.read(announced)
    if len(text) < announced or not text:
        raise unreadable(path, "is cut off within its header")
    length = len(start) + len(counter) + len(text)
    try:
        fields = _literal(text.decode("utf-8" if version == 3 else "latin-1"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise unreadable(path, "has a header that is not a Python literal") from None
    return _header(fields, length, path)


def type_text(dtype: DType) -> str:
    """An element type as a header names it: float32 -> `'<f4'`, with its quotes."""
    return repr(npy_format.dtype_to_descr(dtype))


def type_of(text: str) -> DType:
    """The element type that `type_text` names so."""
    return _dtype(_literal(text), text)


def check_length(header: Header, size: int, path: str) -> None:
    """Refuses a file of `size` bytes that holds fewer or more than its header announces."""
    there = size - header.length
    if there != header.nbytes:
        kind = "is cut off" if there < header.nbytes else "has something after its array"
        raise unreadable(path, f"{kind}: {header.nbytes} bytes announced for {list(header.dims)}, {there} found")


def as_array(data: Array, header: Header, path: str) -> Array:
    """The array that a header announces, made of the bytes behind it without a copy, where that is possible."""
    try:
        array = np.ndarray(header.dims, header.dtype, data, order="F" if header.fortran_order else "C")
    except (ValueError, TypeError) as error:  # more than 64 dims, or a dim beyond int64 beside a 0
        raise unreadable(path, f"has dims that NumPy cannot hold ({error})") from None
    if header.dtype.kind == "V" and header.dtype.byteorder not in {"=", "|"}:
        return array.astype(header.dtype.newbyteorder("="))  # ml_dtypes have no name in the other byte order
    return array


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in the literal
        try:
            return ast.literal_eval(text.strip())
        except SyntaxError:
            return ast.literal_eval(re.sub(r"(?<=\d)L(?=[,)])", "", text.strip()))  # Python 2 wrote (3L, 4L)


def _header(fields: Any, length: int, path: str) -> Header:
    if not isinstance(fields, dict) or set(fields) != npy_format.EXPECTED_KEYS:
        raise unreadable(path, "has a header without exactly 'descr', 'fortran_order' and 'shape'")
    dims, order = fields["shape"], fields["fortran_order"]
    if not isinstance(dims, tuple) or not all(type(dim) is int and dim >= 0 for dim in dims):
        raise unreadable(path, f"has a header whose shape is {_shown(dims)}")
    if len(dims) > MOST_DIMS or any(dim > _LARGEST_DIM for dim in dims):
        raise unreadable(path, f"has dims that NumPy cannot hold (more than {MOST_DIMS}, or one beyond int64)")
    if not isinstance(order, bool):
        raise unreadable(path, f"has a header whose fortran_order is {_shown(order)}")
    return Header(_dtype(fields["descr"], path), dims, order, length)


def _shown(value: Any) -> str:
    """A part of a header, for a message; a literal may be long, and an integer in it too long to be written."""
    try:
        text = ascii(value)
    except (ValueError, RecursionError):
        return "a number of thousands of digits"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _dtype(descr: Any, path: str) -> DType:
    """The dtype that a header names; items of a type without a name stay void."""
    found = dtypes.stored_as(NATIVE + descr[1:]) if isinstance(descr, str) else ()
    if len(found) == 1 and found[0].numpy is not None and (descr[1] != "V" or descr[0] not in {NATIVE, "|"}):
        dtype = found[0].numpy
        return dtype if dtype.itemsize == 1 else dtype.newbyteorder(descr[0])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that NumPy will drop one day
            dtype = npy_format.descr_to_dtype(descr)
    except Exception:  # noqa: BLE001 - an arbitrary literal makes NumPy raise nearly anything
        raise unreadable(path, f"has items of an unknown type: {_shown(descr)}") from None
    if dtype.hasobject:
        raise unreadable(path, "holds pickled Python objects, which could run any code and are never loaded")
    if dtype.subdtype is not None:
        raise unreadable(path, f"has items that are arrays: {_shown(descr)}")
    return dtype


def _fixed_width(array: Array, path: str) -> Array:
    """Strings as text of fixed width, the only form .npy has, where nothing is lost by it."""
    texts = array.reshape(-1).tolist()
    for index, text in enumerate(texts):
        if isinstance(text, bytes):
            try:
                texts[index] = text.decode()
            except UnicodeDecodeError:
                raise unwritable(path, f"string {index} is not UTF-8, and .npy files hold only text") from None
        if texts[index].endswith("\0"):
            raise unwritable(path, f"string {index} ends with a NUL, which the fixed width of .npy files would lose")
    width = max(map(len, texts), default=1)
    try:
        return np.array(texts, dtype=f"U{max(width, 1)}").reshape(array.shape)
    except (MemoryError, ValueError):
        size = 4 * width * len(texts)
        raise unwritable(path, f"in fixed width its longest string makes it {size} bytes, too many") from None
