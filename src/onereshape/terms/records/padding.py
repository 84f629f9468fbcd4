"""Padding: elements beside the data, and elements that are left out or turned around by their place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.records.merging import merged
from onereshape.terms.records.picking import growth_of
from onereshape.terms.tensor import Tensor, formed, numbers

_PADS_ARE_INPUT: Final = 11


def _pad(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    before, behind = _pads(call, data)
    for axis in range(data.rank):
        if growth_of(data, axis) and (before[axis] or behind[axis]):
            call.not_for_all("pads a dim that grows with the number of samples")
    dims = [dim + one + two for dim, one, two in zip(data.shape, before, behind, strict=True)]
    kept = [slice(max(-one, 0), dim - max(-two, 0)) for dim, one, two in zip(data.shape, before, behind, strict=True)]
    if any(max(-one, 0) + max(-two, 0) > dim for dim, one, two in zip(data.shape, before, behind, strict=True)):
        call.refuse(f"takes more away than the dims {list(data.shape)} have")
    call.check_size(dims)
    inner = data.moved(lambda array: array[tuple(kept)])
    mode = call.attribute("mode", "constant")
    fronts, ends = [max(each, 0) for each in before], [max(each, 0) for each in behind]
    if mode == "constant":
        whole = tuple(slice(front, front + dim) for front, dim in zip(fronts, inner.shape, strict=True))

        def together(arrays: Sequence[Array]) -> Array:
            found = np.array(np.broadcast_to(arrays[1], dims))
            found[whole] = arrays[0]
            return found

        return [merged(call, [inner, _filling(call, data)], together)]
    for axis, (front, end) in enumerate(zip(fronts, ends, strict=True)):
        if front or end:
            taken = _beyond(call, mode, inner.shape[axis], front, end)
            inner = inner.moved(partial(np.take, indices=taken, axis=axis))
    return [inner]


def _pads(call: Call, data: Tensor) -> tuple[list[int], list[int]]:
    """The pads of a Pad before all axes and behind all axes: `[1, 2, 3, 4] -> [1, 2], [3, 4]`; negative ones cut."""
    if call.version >= _PADS_ARE_INPUT:
        pads = call.integers(1)
        if call.tensor(1).depends:
            call.not_for_all("pads by a number that depends on the number of samples")
        axes = call.axes(call.integers(3), data.rank) if call.has(3) else tuple(range(data.rank))
    else:
        pads = [int(each) for each in call.attribute("paddings" if call.version < 2 else "pads")]
        axes = tuple(range(data.rank))
    if len(pads) != 2 * len(axes):
        call.refuse(f"{len(pads)} numbers do not pad {len(axes)} axes")
    before, behind = [0] * data.rank, [0] * data.rank
    for axis, one, two in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        before[axis], behind[axis] = one, two
    return before, behind


def _filling(call: Call, data: Tensor) -> Tensor:
    """The element that a Pad puts beside the data, a scalar: 0 where none is given."""
    if call.version < _PADS_ARE_INPUT:
        return numbers(np.asarray(call.attribute("value", 0.0), data.dtype.numpy()), data.dtype)
    if not call.has(2):
        return nothing(call, data)
    value = call.tensor(2)
    if value.size != 1:
        call.refuse(f"pads with {value.size} elements")
    return value.moved(lambda array: array.reshape(()))


def nothing(call: Call, data: Tensor) -> Tensor:
    """The zero of a type."""
    try:
        return numbers(np.zeros((), data.dtype.numpy()), data.dtype)
    except TypeError:
        call.refuse(f"there is no zero of type {data.dtype.name}")


def _beyond(call: Call, mode: str, dim: int, front: int, end: int) -> Array:
    """The place of the data that each place of a padded axis copies: mode edge, 3 with 1 and 1 -> `0, 0, 1, 2, 2`."""
    wanted = np.arange(-front, dim + end)
    if not dim:
        call.refuse("pads nothing with what is there")
    if mode == "edge":
        return np.clip(wanted, 0, dim - 1)
    if mode == "wrap":
        return np.mod(wanted, dim)
    if mode != "reflect":
        call.refuse(f"there is no mode {mode!r}")
    if max(front, end) >= dim:
        call.refuse(f"reflects {max(front, end)} places of {dim}")
    mirrored = np.abs(wanted)
    return np.where(mirrored >= dim, 2 * (dim - 1) - mirrored, mirrored)


def _trilu(call: Call) -> Sequence[Tensor]:
    data, upper = call.tensor(0), bool(call.attribute("upper", 1))
    if data.rank < 2:
        call.refuse("its data are no matrices")
    if growth_of(data, data.rank - 1) or growth_of(data, data.rank - 2):
        call.not_for_all("cuts a dim that grows with the number of samples by the diagonal")
    rows, columns = data.shape[-2:]
    apart = np.arange(columns) - np.arange(rows)[:, None]
    if not call.has(1) or call.tensor(1).known:
        diagonal = int(call.scalar(1)) if call.has(1) else 0
        kept = apart >= diagonal if upper else apart <= diagonal
        return [merged(call, [data, nothing(call, data)], lambda arrays: np.where(kept, *arrays))]
    offset = call.tensor(1)
    if offset.size != 1:
        call.refuse(f"has {offset.size} diagonals")
    beyond = call.hashing.constants(apart, "INT64") - offset.hashed(call.hashing).reshape(())
    return [call.mixed(data.dtype, call.key(upper), call.words(0), beyond)]


def _reverse(call: Call) -> Sequence[Tensor]:
    data, lengths = call.tensor(0), call.tensor(1)
    batch, time = call.attribute("batch_axis", 1), call.attribute("time_axis", 0)
    if {batch, time} != {0, 1}:
        call.refuse(f"has no rows at axis {batch} and turns axis {time}")
    call.dims("T N *S" if batch else "N T *S", "N")
    if growth_of(data, time):
        call.not_for_all("turns a dim around that grows with the number of samples")
    count = data.shape[time]
    places = np.arange(count)
    if lengths.values is not None:
        ends = lengths.values[:, None]
        if lengths.size and (ends.min() < 0 or ends.max() > count):
            call.refuse(f"a length is not within {count}")
        taken = np.where(places < ends, ends - 1 - places, places)
        taken = taken if time else taken.T
        return [
            data.moved(
                lambda array: np.take_along_axis(array, taken.reshape(*taken.shape, *[1] * (data.rank - 2)), time)
            )
        ]
    content = np.expand_dims(data.folded(call.hashing, (time,)), time)
    behind = [1] * (data.rank - 2)
    rows = call.words(1).reshape(*((-1, 1) if time else (1, -1)), *behind)
    steps = call.hashing.constants(places, "INT64").reshape(*((1, -1) if time else (-1, 1)), *behind)
    return [call.mixed(data.dtype, call.key(), content, rows, steps)]


def _one_hot(call: Call) -> Sequence[Tensor]:
    index, values = call.tensor(0), call.tensor(2)
    depth = int(call.scalar(1))
    axis = call.axis(call.attribute("axis", -1), index.rank + 1)
    call.dims("*S", "*D", "2")
    if depth < 1:
        call.refuse(f"has {depth} places")
    call.check_size((*index.shape, depth))
    steps = np.arange(depth).reshape([-1 if place == axis else 1 for place in range(index.rank + 1)])
    if index.values is not None:
        places = np.expand_dims(index.values.astype(np.int64), axis)
        if call.version < 11 and places.size and places.min() < 0:
            call.refuse("an index is below 0, which its opset does not say")
        chosen = (places == steps) | (places + depth == steps)
        return [values.moved(lambda array: np.where(chosen, array[1], array[0]))]
    words = np.expand_dims(call.words(0), axis)
    where = call.hashing.constants(steps, "INT64")
    off, on = values.hashed(call.hashing)
    if not index.is_integer:
        return [call.mixed(values.dtype, call.key(index.dtype.name, depth, call.version < 11), words, where, off, on)]
    low = index.integers.low
    wraps = low is None or (low.size and low.min() < 0)
    key = call.key(depth, call.version < 11) if wraps else call.key()
    return [call.mixed(values.dtype, key, words - where, off, on)]


def _compress(call: Call) -> Sequence[Tensor]:
    data, condition = call.tensor(0), call.numbers(1)
    axis = call.attribute("axis")
    if condition.ndim != 1 or not data.rank:
        call.refuse("its condition is no list, or its data are no tensor")
    if axis is None:
        if data.grows or call.tensor(1).grows:
            call.not_for_all("picks fixed places of a dim that grows with the number of samples")
        data, axis = data.moved(np.ravel), 0
    axis = call.axis(axis, data.rank)
    if growth_of(data, axis) or call.tensor(1).grows:
        call.not_for_all("picks fixed places of a dim that grows with the number of samples")
    taken = np.flatnonzero(condition)
    if taken.size and taken[-1] >= data.shape[axis]:
        call.refuse(f"picks place {taken[-1]} of {data.shape[axis]}")
    return [data.moved(partial(np.take, indices=taken, axis=axis))]


def _non_zero(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    values = call.numbers(0)
    if not data.rank:
        call.refuse("engines do not agree on what it makes of one number")
    call.check_size([data.rank, int(np.count_nonzero(values))])
    found = np.stack(np.nonzero(values)).astype(np.int64)
    if data.growth == (1,) and found.size == data.size == call.samples:
        return [formed(found, ir.DataType.INT64, 0, 1)]  # old models count the samples so
    if data.grows:
        call.not_for_all("counts through a dim that grows with the number of samples")
    return [numbers(found)]


def _unique(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    values, axis = call.numbers(0), call.attribute("axis")
    if data.grows:
        call.not_for_all("compares the places of a dim that grows with the number of samples")
    if data.dtype.is_floating_point() and np.any(np.isnan(values)):
        call.refuse("compares what is no number")
    if axis is not None:
        axis = call.axis(axis, data.rank)
        if not values.size:
            call.refuse("there is nothing to compare")
    else:
        values = values.ravel()
    found, first, which, counts = np.unique(
        values, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    which = which.ravel()
    if not call.attribute("sorted", 1):
        order = np.argsort(first)
        found, first, counts = np.take(found, order, axis or 0), first[order], counts[order]
        which = np.argsort(order)[which]
    return [numbers(found, data.dtype), *(numbers(each.astype(np.int64)) for each in (first, which, counts))]


RECORDS: Final[dict[str, Record]] = {
    "Compress": record(_compress),
    "NonZero": record(_non_zero),
    "OneHot": record(_one_hot),
    "Pad": record(_pad, carries=True),
    "ReverseSequence": record(_reverse),
    "Trilu": record(_trilu),
    "Unique": record(_unique),
}
