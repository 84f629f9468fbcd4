"""Tensor: what a tensor file holds, whatever its format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from onereshape.ground import dtypes
from onereshape.ground.dtypes import DType, ElementType
from onereshape.ground.numpy_types import Array

NATIVE = "<" if sys.byteorder == "little" else ">"
"""How NumPy writes this machine's byte order."""

MOST_DIMS = 64
"""Dims of an array of NumPy."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array with what a file says about it."""

    array: Array
    """Strings are objects: str, or bytes where they are not UTF-8."""
    name: str = ""
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    data_file: str | None = None
    """The file that its elements were in, where that is another than the tensor's own."""


def candidates(dtype: DType) -> tuple[ElementType, ...]:
    """The types that items of a nameless dtype may have; empty for every dtype that has a name.

    NumPy's files have no names for the types of ml_dtypes: bfloat16 is stored as `V2`, nine types of a byte as `V1`.

    >>> import numpy as np
    >>> [row.name for row in candidates(np.dtype("V2"))]
    ['bfloat16']
    >>> candidates(np.dtype("float32"))
    ()
    """
    return dtypes.stored_as(f"{NATIVE}V{dtype.itemsize}") if is_nameless(dtype) else ()


def is_nameless(dtype: DType) -> bool:
    """Whether the items are mere bytes: neither a type that a table of ours knows nor a record."""
    return dtype.kind == "V" and dtype.names is None and dtypes.of_dtype(dtype) is None
