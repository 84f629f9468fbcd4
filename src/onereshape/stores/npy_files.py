""".npy files as memory maps: slices read and written, in any process, without the rest of the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from onereshape.arrays.chunking import Dims
from onereshape.arrays.numpy_arrays import Array
from onereshape.dtypes import DType
from onereshape.formats import npy

_TARGET = 1 << 24
"""Bytes of what is read at a time where a file has no chunks of its own."""


@dataclass(frozen=True, slots=True)
class NpyFile:
    """The array of a .npy file, mapped anew for each slice: a map would cross processes as a copy."""

    path: str
    dims: Dims
    dtype: DType
    fortran_order: bool
    offset: int

    def __getitem__(self, slices: tuple[slice, ...]) -> Array:
        return np.array(self._map("r")[slices])

    def __setitem__(self, slices: tuple[slice, ...], block: Array) -> None:
        self._map("r+")[slices] = block

    def _map(self, mode: Any) -> Array:
        if 0 in self.dims:
            return np.empty(self.dims, self.dtype)
        order: Any = "F" if self.fortran_order else "C"
        raw = np.memmap(self.path, np.uint8, mode, self.offset, (int(np.prod(self.dims)) * self.dtype.itemsize,))
        return np.ndarray(self.dims, self.dtype, raw, order=order)

    @property
    def chunk(self) -> Dims:
        """A size of slices that lie together in the file."""
        left = max(1, _TARGET // max(1, self.dtype.itemsize))
        found = []
        for dim in self.dims if self.fortran_order else reversed(self.dims):
            found.append(max(1, min(dim, left)))
            left = max(1, left // max(1, dim))
        return tuple(found) if self.fortran_order else tuple(reversed(found))


def open_npy(path: str) -> NpyFile:
    """The file, with its header checked."""
    with Path(path).open("rb") as file:
        header = npy.read_header(file, path)
        npy.check_length(header, os.fstat(file.fileno()).st_size, path)
    return NpyFile(os.path.realpath(path), header.dims, header.dtype, header.fortran_order, header.length)


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
    return NpyFile(str(path), dims, dtype, fortran_order=False, offset=offset)
