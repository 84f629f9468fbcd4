""".npy files by slices, read and written in any process without the rest of the file.

They are read rather than mapped: a mapped file that someone cuts off ends the process, where a read says so.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from onereshape.formats.tensors import npy
from onereshape.ground.dtypes import DType
from onereshape.ground.errors import FormatError
from onereshape.ground.integers import Dims
from onereshape.ground.numpy_types import Array

_TARGET = 1 << 24
"""Bytes read at a time, since a .npy file has no chunks of its own."""
_SPAN = 1 << 20
"""Bytes that are read at once, with the gaps between the pieces that are wanted."""
_SHORT = 1 << 10
"""Bytes of pieces that cost less to read with the gaps between them than one by one."""


@dataclass(frozen=True, slots=True)
class NpyFile:
    """The array of a .npy file, opened anew for each slice."""

    path: str
    dims: Dims
    dtype: DType
    fortran_order: bool
    offset: int
    owners: tuple[int, ...] | None = None
    """Of the file, where it is written to."""

    def __getitem__(self, slices: tuple[slice, ...]) -> Array:
        order = -1 if self.fortran_order else 1
        ranges = [one.indices(dim)[:2] for one, dim in zip(slices, self.dims, strict=True)][::order]
        result = np.empty([stop - start for start, stop in ranges], self.dtype)
        if result.size:
            with Path(self.path).open("rb", buffering=0) as file:
                _fill(result, file.fileno(), self.offset, self.dims[::order], ranges)
        return result.T if self.fortran_order else result

    def __setitem__(self, slices: tuple[slice, ...], block: Array) -> None:
        """Through a map, of a file that no one else can cut off, and whose room is taken already."""
        if 0 in self.dims:
            return
        file = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(file, "r+b") as opened:
            there = os.fstat(file)
            size = self.offset + prod(self.dims) * self.dtype.itemsize
            known = self.owners is not None and there.st_uid in self.owners and there.st_nlink == 1
            if not known or not stat.S_ISREG(there.st_mode) or there.st_size != size:
                raise OSError("the file that it is written in is no longer what it was")
            raw = np.memmap(opened, np.uint8, "r+", self.offset, (size - self.offset,))
        np.ndarray(self.dims, self.dtype, raw)[slices] = block

    @property
    def width(self) -> int:
        """Bytes of an item."""
        return self.dtype.itemsize

    @property
    def folder(self) -> Path:
        """The path of the .npy file, in the place of a store's folder."""
        return Path(self.path)

    @property
    def witness(self) -> Path:
        """The .npy file itself, which exists as long as the array does."""
        return Path(self.path)

    @property
    def chunk(self) -> Dims:
        """A size of slices that lie together in the file."""
        left = max(1, _TARGET // max(1, self.dtype.itemsize))
        found = []
        for dim in self.dims if self.fortran_order else reversed(self.dims):
            found.append(max(1, min(dim, left)))
            left = max(1, left // max(1, dim))
        return tuple(found) if self.fortran_order else tuple(reversed(found))


def _fill(result: Array, file: int, offset: int, dims: Dims, ranges: list[tuple[int, int]]) -> None:
    """Reads a box of an array in C order.

    The last axes are read as one span where that is short, or where nothing lies between; the axes before one by one.
    """
    itemsize = result.itemsize
    steps = [itemsize * prod(dims[axis + 1 :]) for axis in range(len(dims))]
    axis = len(dims)  # from here on a span
    while axis:
        whole = all(range_ == (0, dim) for range_, dim in zip(ranges[axis:], dims[axis:], strict=True))
        start, stop = ranges[axis - 1]
        wanted = itemsize * prod(stop - start for start, stop in ranges[axis:])
        is_sparse = wanted >= _SHORT and 2 * wanted < steps[axis - 1]
        if not whole and (is_sparse or (stop - start) * steps[axis - 1] > _SPAN):
            break
        axis -= 1
    inner = ranges[axis:]
    low = sum(start * step for (start, _), step in zip(inner, steps[axis:], strict=True))
    high = itemsize + sum((stop - 1) * step for (_, stop), step in zip(inner, steps[axis:], strict=True))
    within = tuple(np.s_[: stop - start] for start, stop in inner)
    is_whole = high - low == itemsize * prod(stop - start for start, stop in inner)
    span = None if is_whole else np.empty(high - low, np.uint8)
    for index in product(*(range(stop - start) for start, stop in ranges[:axis])):
        place = offset + low
        place += sum((at + start) * step for at, (start, _), step in zip(index, ranges, steps, strict=False))
        piece = result[index] if index or inner else result
        if span is None:
            _read(file, piece.reshape(-1).view(np.uint8), place)
            continue
        _read(file, span, place)
        seen: Any = np.ndarray([stop - start for start, stop in inner], result.dtype, span, strides=steps[axis:])
        piece[...] = seen[within]


def _read(file: int, into: Array, place: int) -> None:
    """Fills it with the bytes at a place of a file; a file that ends before that is an error."""
    left = into.data
    while left:
        count = os.preadv(file, [left], place)
        if not count:
            raise OSError("the file has become shorter than it was")
        left, place = left[count:], place + count


def open_npy(path: str, owners: tuple[int, ...] | None = None) -> NpyFile:
    """The file, with its header checked."""
    if not stat.S_ISREG(mode := Path(path).stat().st_mode):  # a pipe would be waited for
        raise FormatError(
            "unreadable", path=path, why=f"is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}"
        )
    with Path(path).open("rb") as file:
        header = npy.read_header(file, path)
        npy.check_length(header, os.fstat(file.fileno()).st_size, path)
    if len(header.dims) > 64 or any(dim >= 1 << 62 for dim in header.dims):
        raise FormatError("unreadable", path=path, why="has dims that NumPy cannot hold")
    return NpyFile(os.path.realpath(path), header.dims, header.dtype, header.fortran_order, header.length, owners)


def create_npy(path: Path, dims: Dims, dtype: DType) -> NpyFile:
    """A new file with room for all of its elements: a map of a full disk would end the process."""
    descr = npy_format.dtype_to_descr(dtype)
    with path.open("xb") as file:
        npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": dims})
        offset = file.tell()
        file.flush()
        size = int(np.prod(dims, dtype=object)) * dtype.itemsize
        if size:
            os.posix_fallocate(file.fileno(), offset, size)
        owners = os.geteuid(), os.fstat(file.fileno()).st_uid
    return NpyFile(str(path), dims, dtype, fortran_order=False, offset=offset, owners=owners)
