"""Movement by dims: elements move, and keep their words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.integers import sign_of
from onereshape.terms.records.merging import merged
from onereshape.terms.tensor import Tensor

_TARGET_IS_INPUT: Final = 5
_AXES_ARE_INPUT: Final = 13
_SLICES_BY_INPUT: Final = 10


def _reshape(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    target = (
        call.integers(1, sized=True)
        if call.version >= _TARGET_IS_INPUT
        else [int(each) for each in call.attribute("shape")]
    )
    copies = not call.attribute("allowzero", 0)
    if target.count(-1) > 1 or any(each < -1 for each in target):
        call.refuse(f"the target {target} is none")
    if not copies and 0 in target and -1 in target:
        call.refuse(f"the target {target} has a 0 beside the -1")
    if copies and any(each == 0 and place >= data.rank for place, each in enumerate(target)):
        call.refuse(f"the target {target} copies a dim that is not there")
    dims = [data.shape[place] if each == 0 and copies else each for place, each in enumerate(target)]
    if -1 in dims:
        rest = prod(each for each in dims if each != -1)
        if not rest or data.size % rest:
            call.refuse(f"{data.size} elements do not fit into the target {target}")
        dims[dims.index(-1)] = data.size // rest
    if prod(dims) != data.size:
        call.refuse(f"{data.size} elements do not fit into the target {target}")
    _check_zeros(call, target)
    call.check_size(dims)
    return [data.moved(lambda array: array.reshape(dims))]


def _check_zeros(call: Call, target: Sequence[int]) -> None:
    """A 0 copies and a -1 is inferred, so that numbers that depend on N must never become either."""
    if call.version < _TARGET_IS_INPUT or not call.tensor(1).depends:
        return
    asked = call.tensor(1)
    slopes = asked.slopes().ravel()
    if np.any(asked.integers.place) or any(
        slope and sign_of(each, int(slope), call.samples) != "positive"
        for each, slope in zip(target, slopes, strict=True)
    ):
        call.not_for_all("its target may become 0 or -1 for another number of samples")


def _flatten(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.attribute("axis", 1)
    if not -data.rank <= axis <= data.rank:
        call.refuse(f"axis {axis} is not one of {data.rank}")
    axis = axis + data.rank if axis < 0 else axis
    outer = prod(data.shape[:axis])
    return [data.moved(lambda array: array.reshape(outer, prod(data.shape[axis:])))]


def _transpose(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    order = call.attribute("perm")
    order = list(range(data.rank))[::-1] if order is None else order
    if sorted(order) != list(range(data.rank)):
        call.refuse(f"{order} is no order of {data.rank} axes")
    return [data.moved(lambda array: array.transpose(order))]


def axes_of(call: Call, place: int = 1, since: int = _AXES_ARE_INPUT) -> list[int] | None:
    """The axes of an operator, an input since some opset and an attribute before."""
    if call.version < since:
        found = call.attribute("axes")
        return None if found is None else [int(each) for each in found]
    if not call.has(place):
        return None
    return call.integers(place)


def _squeeze(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axes = axes_of(call)
    if axes is None:
        if data.grows:
            call.not_for_all("drops every dim of 1, of which the number of samples may be one")
        gone = tuple(axis for axis, dim in enumerate(data.shape) if dim == 1)
    else:
        gone = call.axes(axes, data.rank)
    if any(data.shape[axis] != 1 for axis in gone):
        call.refuse(f"the dims {list(data.shape)} are not 1 at {sorted(gone)}")
    dims = [dim for axis, dim in enumerate(data.shape) if axis not in gone]
    return [data.moved(lambda array: array.reshape(dims))]


def _unsqueeze(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axes = axes_of(call)
    if axes is None:
        call.refuse("its axes are missing")
    places = call.axes(axes, data.rank + len(axes))
    rest = iter(data.shape)
    dims = [1 if axis in places else next(rest) for axis in range(data.rank + len(axes))]
    call.check_size(dims)
    return [data.moved(lambda array: array.reshape(dims))]


def _expand(call: Call) -> Sequence[Tensor]:
    data, target = call.tensor(0), call.integers(1, sized=True)
    if any(each < 0 for each in target):
        call.refuse(f"the target {target} is none")
    try:
        dims = np.broadcast_shapes(data.shape, tuple(target))
    except ValueError:
        call.refuse(f"the dims {list(data.shape)} do not expand to {target}")
    call.check_size(dims)
    slopes = call.tensor(1).slopes().ravel().tolist()
    if any(slope and (slope < 0 or size != slope * call.samples) for size, slope in zip(target, slopes, strict=True)):
        call.not_for_all("expands to a number that is not one for each sample")
    return [data.moved(lambda array: np.broadcast_to(array, dims))]


def _tile(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if call.version < 6:
        count, axis = call.scalar(1), call.axis(int(call.scalar(2)), data.rank)
        repeats = [int(count) if each == axis else 1 for each in range(data.rank)]
    else:
        repeats = call.integers(1, sized=True)
    if len(repeats) != data.rank or any(each < 0 for each in repeats):
        call.refuse(f"the repeats {repeats} do not go with the dims {list(data.shape)}")
    call.check_size([dim * each for dim, each in zip(data.shape, repeats, strict=True)])
    return [data.moved(lambda array: np.tile(array, repeats))]


def joined(call: Call, parts: Sequence[Tensor], axis: int) -> Tensor:
    """A Concat of tensors along an axis, with bounds, slopes and places: `[2, 3], [2, 5]` along axis 1 -> `[2, 8]`."""
    total = [*parts[0].shape]
    total[axis] = sum(each.shape[axis] for each in parts)
    call.check_size(total)

    return merged(call, parts, partial(np.concatenate, axis=axis))


def _concat(call: Call) -> Sequence[Tensor]:
    parts = call.tensors()
    rank = parts[0].rank
    axis = call.axis(call.attribute("axis", 1), rank)
    if any(each.rank != rank for each in parts):
        call.refuse("its parts have several ranks")
    rest = {each.shape[:axis] + each.shape[axis + 1 :] for each in parts}
    if len(rest) > 1:
        call.refuse(f"the dims {[list(each.shape) for each in parts]} do not go together")
    return [joined(call, parts, axis)]


def _split(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    whole = data.shape[axis]
    sizes: Sequence[int]
    if call.has(1):
        sizes = call.integers(1, sized=True) if call.version > 1 else [int(each) for each in call.numbers(1).ravel()]
    elif call.attribute("split") is not None:
        sizes = [int(each) for each in call.attribute("split")]
    else:
        count = call.attribute("num_outputs") or call.written
        step = -(-whole // count)
        if call.version < 18 and whole % count:
            call.refuse(f"{whole} does not divide into {count} parts")
        if data.growth and data.growth[axis] % count:
            call.not_for_all("its parts are not the same for every number of samples")
        sizes = [max(min(step, whole - each * step), 0) for each in range(count)]
    if sum(sizes) != whole or any(each < 0 for each in sizes) or len(sizes) < call.outputs:
        call.refuse(f"the parts {list(sizes)} are not those of {whole}")
    ends = np.cumsum(sizes).tolist()
    places = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    before = (slice(None),) * axis
    return [data.moved(partial(_cut, (*before, part))) for part in places]


def _cut(parts: tuple[slice, ...], array: Array) -> Array:
    return array[parts]


def _slice(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if call.version < _SLICES_BY_INPUT:
        starts, ends = ([int(each) for each in call.attribute(name)] for name in ("starts", "ends"))
        axes = call.attribute("axes")
        steps: list[int] = [1] * len(starts)
        leaning: list[list[int]] = [[0] * len(starts), [0] * len(starts)]
    else:
        starts, ends = call.integers(1, sized=True), call.integers(2, sized=True)
        axes = call.integers(3) if call.has(3) else None
        steps = call.integers(4) if call.has(4) else [1] * len(starts)
        leaning = [_slopes(call, place) for place in (1, 2)]
    places = call.axes(range(len(starts)) if axes is None else axes, data.rank)
    if not len(starts) == len(ends) == len(steps) == len(places):
        call.refuse("its starts, ends, axes and steps are of several lengths")
    parts: list[Any] = [slice(None)] * data.rank
    for axis, start, end, step, lean in zip(places, starts, ends, steps, zip(*leaning, strict=True), strict=True):
        if step == 0:
            call.refuse("a step is 0")
        if step < 0 and end in _ENDS:
            call.refuse("goes backwards to the largest number, which engines take for the start")
        if (data.growth and data.growth[axis]) or any(lean):
            _check_uniform(call, data, axis, [(start, lean[0]), (end, lean[1])], step)
        parts[axis] = _part(data.shape[axis], start, end, step)
    return [data.moved(lambda array: array[tuple(parts)])]


def _slopes(call: Call, place: int) -> list[int]:
    tensor = call.tensor(place)
    if np.any(tensor.integers.place):
        call.not_for_all("reads the place of a sample")
    return [int(each) for each in tensor.slopes().ravel()]


def _part(dim: int, start: int, end: int, step: int) -> slice:
    """The places that ONNX takes: what is beyond the ends is clamped."""
    low, high = (0, dim) if step > 0 else (-1, dim - 1)
    start = min(max(start + dim if start < 0 else start, 0), dim if step > 0 else dim - 1)
    end = min(max(end + dim if end < 0 else end, low), high)
    return slice(start, None if end < 0 else end, step)


_ENDS: Final = ((1 << 31) - 1, (1 << 63) - 1)
_FAR: Final = 1 << 31
"""An end that stands for the end: no dim is as large."""


def _check_uniform(call: Call, data: Tensor, axis: int, ends: Sequence[tuple[int, int]], step: int) -> None:
    """Notes a cut along a dim that grows, unless it is at multiples of N for every N."""
    growth = data.growth[axis] if data.growth else 0
    dim = data.shape[axis]
    if step != 1 or dim != growth * call.samples:
        call.not_for_all("cuts a dim in a way that is not the same for every number of samples")
        return
    for value, slope in ends:
        whole = value == slope * call.samples and 0 <= slope <= growth and not slope % max(data.inner(axis), 1)
        if not whole and not (value >= _FAR and not slope):
            call.not_for_all("cuts a dim in a way that is not the same for every number of samples")


RECORDS: Final[dict[str, Record]] = {
    "Concat": record(_concat, carries=True),
    "Expand": record(_expand, carries=True),
    "Flatten": record(_flatten, carries=True),
    "Reshape": record(_reshape, carries=True),
    "Slice": record(_slice, carries=True),
    "Split": record(_split, carries=True),
    "Squeeze": record(_squeeze, carries=True),
    "Tile": record(_tile, carries=True),
    "Transpose": record(_transpose, carries=True),
    "Unsqueeze": record(_unsqueeze, carries=True),
}
