"""Elements beside those that are there, and elements that are left out or turned around by their place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.records.merging import merged
from onereshape.terms.records.picking import growth_of
from onereshape.terms.tensor import Tensor, numbers

_PADS_ARE_INPUT: Final = 11


def _pad(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    before, behind = _pads(call, data)
    for axis in range(data.rank):
        if growth_of(data, axis) and (before[axis] or behind[axis]):
            call.doubt("pads a dim that grows with the number of samples")
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
    """What is added before and behind each axis."""
    if call.version >= _PADS_ARE_INPUT:
        pads = call.integers(1)
        if call.tensor(1).depends:
            call.doubt("pads by a number that depends on the number of samples")
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
    """What a Pad puts beside the data."""
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
    """The places that are taken along an axis."""
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
        call.doubt("cuts a dim that grows with the number of samples by the diagonal")
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


RECORDS: Final[dict[str, Record]] = {
    "Pad": record(_pad, carries=True),
    "Trilu": record(_trilu),
}
