"""Signals: transforms along an axis, and tables that follow from a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.content import content, content_of, growth, places, switch
from onereshape.terms.tensor import Tensor, terms


def _count(call: Call, place: int) -> int:
    """The positive integer in the input at a place; refused if it is none or depends on data."""
    found = call.scalar(place)
    if not call.tensor(place).is_integer or found < 1:
        call.refuse(f"its input {place} is {found}")
    return int(found)


def _fourier(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    given = call.attribute("axis", 1) if call.version < 20 else call.scalar(2) if call.has(2) else -2
    axis = call.axis(int(given), data.rank)
    if data.rank < 2 or axis == data.rank - 1 or data.shape[-1] not in {1, 2}:
        call.refuse(f"the dims {list(data.shape)} are no signal along axis {axis}")
    inverse, onesided = (switch(call, name) for name in ("inverse", "onesided"))
    real = inverse and onesided
    if onesided and data.shape[-1] != (2 if inverse else 1):
        call.refuse("a one-sided transform takes real numbers, and its inverse complex ones")
    if growth(data, (axis,)):
        call.not_for_all("transforms a dim that grows with the number of samples")
    dim = data.shape[axis]
    length = _count(call, 1) if call.has(1) else 2 * (dim - 1) if real else dim
    if length < 1:
        call.refuse("there is no signal")
    shape = [*data.shape]
    shape[axis] = length // 2 + 1 if onesided and not inverse else length
    shape[-1] = 1 if real else 2
    call.check_size(shape)
    if not real and length < dim:
        data = data.moved(lambda array: array[(slice(None),) * axis + (slice(length),)])
    whole = content(call, data, (axis, data.rank - 1), keep=True)
    place, part = (places(call, shape[each], data.rank, each) for each in (axis, data.rank - 1))
    return [call.mixed(data.dtype, call.key(inverse, onesided, length), whole, place, part)]


def _short_time(call: Call) -> Sequence[Tensor]:
    data, step = call.tensor(0), _count(call, 1)
    samples, size, parts = call.dims("N T P")
    onesided = switch(call, "onesided", 1)
    if parts not in {1, 2} or (onesided and parts != 1):
        call.refuse(f"its signals have {parts} parts")
    if growth(data, (1,)):
        call.not_for_all("transforms a dim that grows with the number of samples")
    window = call.tensor(2) if call.has(2) else None
    length = _count(call, 3) if call.has(3) else size if window is None else window.size
    call.dims("N T P", "", "L ?", L=length)
    if not 0 < length <= size:
        call.refuse(f"frames of {length} are not those of its signal")
    frames = (size - length) // step + 1
    call.check_size((samples, frames, length, parts))
    shape = (samples, frames, length // 2 + 1 if onesided else length, 2)
    call.check_size(shape)
    views = np.lib.stride_tricks.sliding_window_view(data.hashed(call.hashing), length, 1)[:, ::step]
    operands = [
        content_of(call, views, (2, 3))[:, :, None, None],
        *(places(call, shape[each], 4, each) for each in (2, 3)),
    ]
    if window is not None:
        operands.append(content(call, window, (0,)))
    return [call.mixed(data.dtype, call.key(onesided, length, window is None), *operands)]


def _table(call: Call, shape: Sequence[int], *numbers: object) -> Sequence[Tensor]:
    """A table with dims `shape` that follows from `numbers`, as terms: engines round its entries as they like."""
    kind = call.attribute("output_datatype", 1)
    try:
        dtype = ir.DataType(kind)
    except ValueError:
        call.refuse(f"there is no type {kind}")
    call.check_size(shape)
    words = call.hashing.leaves(call.key(dtype.name, tuple(shape), *numbers), prod(shape))
    return [terms(words.reshape(shape), dtype)]


def _mel(call: Call) -> Sequence[Tensor]:
    bins, length, rate = (_count(call, place) for place in range(3))
    edges = [(call.tensor(place).dtype.name, float(call.scalar(place))) for place in (3, 4)]
    return _table(call, [length // 2 + 1, bins], length, rate, *edges)


RECORDS: Final[dict[str, Record]] = {
    "DFT": record(_fourier),
    "MelWeightMatrix": record(_mel),
    "STFT": record(_short_time),
}
