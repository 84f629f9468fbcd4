"""NumPy arrays: a view whenever the strides allow one, a copy in C order otherwise, by our kernels where they pay."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from onereshape.arrays import cpu_copy
from onereshape.arrays.view_or_copy import view_strides
from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.ground.numpy_types import Array

MAX_RANK = 64
"""NumPy's own limit on the number of dims."""
_TAKES_COPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


def reshape_numpy(array: Array, output: tuple[int, ...], copy: bool | None) -> Array:
    """`array` with the dims `output`, which hold as many elements.

    `copy` has the array API's meaning: None copies only if it must, False refuses instead, True always copies.
    """
    try:
        if copy is not False and cpu_copy.takes(array) and (copy or needs_copy(array, output)):
            return cpu_copy.copied(array, output)
        result = _reshaped(array, output, copy)
    except (ValueError, TypeError) as error:
        raise _refusal(array, output, copy, error) from None
    except MemoryError:
        raise _limit(output, f"not enough memory for {array.nbytes} bytes") from None
    if result.shape != output:  # np.matrix is always 2-D
        raise _limit(output, f"{type(array).__name__} made it {list(result.shape)}")
    return result


def _reshaped(array: Array, output: tuple[int, ...], copy: bool | None) -> Array:
    """NumPy's own answer, in words that NumPy 2.0 has too: its `reshape` does not take `copy`."""
    if copy is None:
        return array.reshape(output)
    if copy:
        return array.copy().reshape(output)
    return array.reshape(output, copy=False) if _TAKES_COPY else _viewed(array, output)


def _viewed(array: Array, output: tuple[int, ...]) -> Array:
    if needs_copy(array, output):
        raise ValueError("no view has these dims")
    return array.reshape(output)


def needs_copy(array: Array, output: tuple[int, ...]) -> bool:
    """Whether no view has these dims."""
    return view_strides(array.shape, array.strides, array.itemsize, output) is None


def quickest(array: Array, output: tuple[int, ...]) -> Any:
    """The function that copies arrays of this layout by a kernel; None where NumPy's own reshape serves better."""
    return cpu_copy.copied if cpu_copy.takes(array) and needs_copy(array, output) else None


def _refusal(array: Array, output: tuple[int, ...], copy: bool | None, error: Exception) -> ReshapeError:
    if len(output) > MAX_RANK:
        return _limit(output, f"{len(output)} dims are more than its {MAX_RANK}")
    if prod(dim for dim in output if dim) * array.itemsize > INT64_MAX:
        return _limit(output, "the dims other than 0 span more bytes than int64 can count")
    if copy is False:
        return ReshapeError("needs-copy", strides=list(array.strides), output=list(output))
    return _limit(output, f"{type(array).__name__} says {error}")  # a subclass with rules of its own


def _limit(output: tuple[int, ...], why: str) -> ReshapeError:
    shown = list(output) if len(output) <= MAX_RANK else f"[{output[0]}, {output[1]}, ...]"
    return ReshapeError("array-limit", library="NumPy", output=shown, why=why)
