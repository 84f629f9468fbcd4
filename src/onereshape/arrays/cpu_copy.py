"""Copies in the CPU's memory: the C++ kernels where they were built and pay, NumPy elsewhere."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Any

import numpy as np

from onereshape.arrays.threads import threads
from onereshape.arrays.view_or_copy import LINE, CopyPlan, copy_plan
from onereshape.ground.integers import Dims
from onereshape.ground.numpy_types import Array

try:
    from onereshape.arrays import _copy
except ImportError:  # installed without a compiler
    _copy = None  # type: ignore[assignment]


SMALLEST = 2048
"""The bytes below which NumPy's copy is over before a plan is found."""

BYTES_PER_THREAD = 1 << 20
"""The bytes below which making a thread costs more than it brings: none is made for less."""

STREAM_FROM = 8 << 20
"""The bytes of an output from which on it is written past the cache, in which it would not stay anyway."""

LONG = 8 * LINE
"""The bytes of rows that NumPy moves as fast as anyone, as long as they go into the cache: a thread begins too late."""

FRESH = 32 << 20
"""The bytes from which on memory comes fresh from the system, which has just cleared it: it is in the cache already,
and written past it only by copies that are strewn over more than stays there."""

STREWN = 1 << 20
"""The bytes of the output that are more than stays in the cache."""

_ROW, _STEP, _FAR, _CROWDED, _RUN, _TOGETHER, _MEMORY, _CALL, _CLEARLY = 16, 1.0, 0.5, 2, 12, 0.04, 0.12, 8000, 1.5
"""Cycles: NumPy's for a row of elements, one of them, how much more where it lies on another line, and where these
lines drive each other out of the cache; a row of bytes that lie together, one of those; anyone's for a byte of memory;
ours for a call; and a margin."""

_PAGE, _WAYS = 4096, 8
"""The bytes after which the sets of a first-level cache come again, and the lines that a set keeps."""

_ALIGNED = 32 << 10
_OPAQUE = frozenset("OTUSVmM")
"""The kinds of dtypes whose elements are not plain numbers: objects, strings, records, times."""


def available() -> bool:
    """Whether the kernels were built."""
    return _copy is not None


@lru_cache(maxsize=4096)
def kernel_plan(dims: Dims, strides: Dims, itemsize: int) -> Any:
    """The kernels' form of the plan of a copy."""
    plan = copy_plan(dims, strides, itemsize)
    return _copy.Plan(plan.item, plan.dims, plan.source, plan.destination, plan.source_axis)


def takes(array: Array) -> bool:
    """Whether the kernels are to copy an array: they can, and are faster than NumPy."""
    nbytes = array.nbytes
    if _copy is None or nbytes < SMALLEST or not plain(array):
        return False
    layout = array.shape, array.strides, array.itemsize
    if nbytes >= STREAM_FROM or gains(*layout):
        return True
    # What one thread gains nothing by, two do only where it is worth to wake the other.
    return nbytes >= 4 * BYTES_PER_THREAD and threads() > 1 and copy_plan(*layout).item < LONG


def plain(array: Array) -> bool:
    """Whether an array is of NumPy's own class and its bytes are nothing but its numbers."""
    # The small types of ml_dtypes are of kind V, but are no records.
    kind = array.dtype.kind
    return type(array) is np.ndarray and (kind not in _OPAQUE or (kind == "V" and array.dtype.isbuiltin == 2))


@lru_cache(maxsize=4096)
def gains(dims: Dims, strides: Dims, itemsize: int) -> bool:
    """Whether one thread of ours copies this layout in clearly less time than NumPy, the call included.

    An estimate in cycles, from the plan alone.  NumPy goes through the output in order, row by row; of a row that lies
    together in data it moves all at once, else one element after the other.
    """
    plan = copy_plan(dims, strides, itemsize)
    together = plan.item > itemsize
    theirs = _RUN / plan.item + _TOGETHER if together else (_ROW / plan.dims[-1] + _element(plan)) / itemsize
    ours: float = kernel_plan(dims, strides, itemsize).cost
    return theirs + _MEMORY > _CLEARLY * (ours + _MEMORY) and (theirs - ours) * plan.nbytes > _CALL


def _element(plan: CopyPlan) -> float:
    """About NumPy's cycles for an element of a row that does not lie together, beside what its bytes take."""
    apart = abs(plan.source[-1])
    if apart < LINE:
        return _STEP
    sets = _PAGE // gcd(apart, _PAGE)
    crowded = plan.item <= 8 and sets <= _WAYS and plan.dims[-1] > 2 * sets * _WAYS
    return _STEP + _FAR + (_CROWDED if crowded else 0)


def copied(array: Array, output: Dims, *, bytes_per_thread: int = BYTES_PER_THREAD) -> Array:
    """An array with the dims `output` and a copy of the elements, in C order; for arrays that `takes` takes."""
    nbytes = array.nbytes
    if nbytes < _ALIGNED:
        result: Array = np.empty(output, array.dtype)
    else:
        # On a line of the cache, where NumPy's own large arrays are not; their copies take up to twice as long.
        raw = np.empty(nbytes + LINE, np.uint8)
        result = np.ndarray(output, array.dtype, raw, -_copy.beyond_line(raw) % LINE)
    plan = kernel_plan(array.shape, array.strides, array.itemsize)
    _copy.copy_array(plan, result, array, _worth(nbytes, bytes_per_thread), bytes_per_thread, _stream_from(plan))
    return result


def copied_between(  # noqa: PLR0913 - a layout, two addresses and the cut
    dims: Dims, strides: Dims, itemsize: int, source: int, destination: int, *, bytes_per_thread: int = BYTES_PER_THREAD
) -> None:
    """Copies elements in C order from address to address, for the tensors of other libraries; no dim is 0."""
    plan = kernel_plan(dims, strides, itemsize)
    worth = _worth(plan.nbytes, bytes_per_thread)
    _copy.copy_address(plan, destination, source, worth, bytes_per_thread, _stream_from(plan))


def _worth(nbytes: int, bytes_per_thread: int) -> int:
    """How many threads to allow: the environment is not asked for what only one will copy."""
    return threads() if nbytes >= 2 * bytes_per_thread else 1


def _stream_from(plan: Any) -> int:
    """The bytes from which on a new output is written past the cache."""
    return STREAM_FROM if plan.nbytes < FRESH or plan.spread > STREWN else int(plan.nbytes) + 1
