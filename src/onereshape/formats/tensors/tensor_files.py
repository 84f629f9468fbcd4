"""Tensor files, whatever their format: the suffix chooses who reads and who writes."""

from __future__ import annotations

import dataclasses
import stat
from pathlib import Path

from onereshape.formats.tensors import npy, npz, onnx_tensor
from onereshape.formats.tensors.tensor import Tensor, candidates, is_nameless
from onereshape.ground import dtypes
from onereshape.ground.atomic import replacing
from onereshape.ground.dtypes import ElementType
from onereshape.ground.errors import FormatError

_WRITERS = {".npy": npy.write, ".npz": npz.write, ".pb": onnx_tensor.write}
SUFFIXES = tuple(_WRITERS)


def read_tensor(
    path: str, *, array: str | None = None, element_type: ElementType | None = None, mapped: bool = True
) -> Tensor:
    """The tensor of a file; `array` chooses in an archive, `element_type` says what items without a name are.
    Of a .npy, `mapped` leaves the elements in their file until they are asked for.

    Items that could be of several types stay void: their bytes can be moved without knowing which they are.
    """
    suffix = check_suffix(path, "unreadable")
    if array is not None and suffix != ".npz":
        raise FormatError("unreadable", path=path, why="holds a single tensor; only an .npz holds arrays by name")
    if "\0" in path:
        raise FormatError("unreadable", path=path, why="is not a path")
    try:
        if not stat.S_ISREG(mode := Path(path).stat().st_mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise FormatError("unreadable", path=path, why=f"is {kind}")
        if suffix == ".npz":
            tensor = npz.read(path, array)
        else:
            tensor = npy.read(path, mapped=mapped) if suffix == ".npy" else onnx_tensor.read(path)
    except OSError as error:
        raise FormatError("unreadable", path=path, why=error.strerror or str(error)) from None
    return typed(tensor, element_type, path)


def write_tensor(path: str, tensor: Tensor) -> None:
    """Writes a tensor as the suffix says: the whole file, or the old one stays."""
    writer = _WRITERS[check_suffix(path, "unwritable")]
    with replacing(path) as file:
        writer(file, tensor, path)


def check_suffix(path: str, code: str) -> str:
    """The suffix of a path, which must be one of ours; `code` is that of the refusal."""
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        why = f"is not named as a tensor file; the names end in {', '.join(SUFFIXES)}"
        raise FormatError(code, path=path, why=why)
    return suffix


def typed(tensor: Tensor, element_type: ElementType | None, path: str) -> Tensor:
    """The tensor with items of `element_type`; if None, nameless items get a type if only one has their size."""
    dtype = tensor.array.dtype
    if not is_nameless(dtype):
        found = dtypes.of_dtype(dtype)
        if element_type not in {None, found}:
            holds = dtype if found is None else found.name
            raise FormatError("unreadable", path=path, why=f"holds {holds}, not {element_type.name}")
        return tensor
    if element_type is None:
        found_types = candidates(dtype)
        if len(found_types) != 1:
            return tensor
        element_type = found_types[0]
    if element_type.numpy is None or element_type is dtypes.STRING or element_type.numpy.itemsize != dtype.itemsize:
        why = f"holds items of {dtype.itemsize} byte(s), which cannot be {element_type.name}"
        raise FormatError("unreadable", path=path, why=why)
    return dataclasses.replace(tensor, array=tensor.array.view(element_type.numpy))
