"""Reductions: a function of the ordered content along the axes; integers that are known are reduced as numbers.

Sums of integer terms stay linear, as sums of two do: the words of 64 bits wrap as INT64 does.  Where an engine may sum
in any order floats go by structure, unless every order gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.integers import Part, small
from onereshape.terms.records.content import content, growth, switch
from onereshape.terms.records.reshaping import axes_of
from onereshape.terms.tensor import Tensor, bounded, formed, numbers, terms

AxisNumbers = tuple[int, ...]

_EXACT: Final[dict[str, Any]] = {
    "ReduceMax": np.maximum,
    "ReduceMin": np.minimum,
    "ReduceProd": np.multiply,
    "ReduceSum": np.add,
}
"""Reductions that are done on numbers where there is one right answer."""
_IDENTITIES: Final = {*_EXACT, "ReduceMean"}
"""Reductions that leave a single element as it is."""
_OTHERS: Final = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSumSquare")
_LARGEST: Final = 1 << 62


def reduced_axes(call: Call, rank: int) -> AxisNumbers:
    """The axes of a reduction, from the front; () where it is told to reduce none."""
    given = axes_of(call, since=13 if call.op == "ReduceSum" else 18)
    if call.has(1) and call.tensor(1).depends:
        call.not_for_all("its axes depend on the number of samples")
    if given:
        return tuple(sorted(call.axes(given, rank)))
    return () if switch(call, "noop_with_empty_axes") else tuple(range(rank))


def _reduce(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axes = reduced_axes(call, data.rank)
    if not axes and data.rank and call.op in _IDENTITIES:
        return [data]
    found = _reduced(call, data, axes)
    if switch(call, "keepdims", 1):
        return [found.moved(lambda array: np.expand_dims(array, axes))]
    return [found]


def _reduced(call: Call, data: Tensor, axes: AxisNumbers) -> Tensor:
    """The reduction, without the axes."""
    count = prod(data.shape[axis] for axis in axes)
    if not count and call.op == "ReduceMean":
        call.refuse("the mean of nothing is not defined")
    if not count and call.op in {"ReduceSum", "ReduceProd"}:
        rest = [dim for axis, dim in enumerate(data.shape) if axis not in axes]
        return numbers(np.full(rest, int(call.op == "ReduceProd"), data.dtype.numpy()), data.dtype)
    if data.values is not None and call.op in _EXACT and count and _has_one_answer(call.op, data, axes):
        values = np.asarray(_EXACT[call.op].reduce(data.values, axes, dtype=data.values.dtype))
        if data.is_integer and (data.depends or growth(data, axes)):
            return formed(values, data.dtype, *_leaning(call, data, axes, values))
        return numbers(values, data.dtype)
    if call.op == "ReduceSum" and data.is_integer:
        summed = _summed(call, data, axes)
        if summed is not None:
            return summed
    if data.depends:
        call.not_for_all("reduces numbers that depend on the number of samples")
    found = call.mixed(data.dtype, call.key(data.dtype.name), content(call, data, axes))
    if count and data.is_integer and call.op in {"ReduceMax", "ReduceMin"} and data.integers.low is not None:
        pick = _EXACT[call.op]
        return bounded(found.array, data.dtype, *(pick.reduce(end, axes) for end in data.bounds()))
    return found


def _has_one_answer(op: str, data: Tensor, axes: AxisNumbers) -> bool:
    """Whether a reduction of these numbers has the same answer in any order, which its type holds exactly."""
    values = data.array
    if data.dtype == ir.DataType.BOOL:
        return True
    if op in {"ReduceMax", "ReduceMin"}:
        return data.is_integer or not np.any(np.isnan(values) | ((values == 0) & np.signbit(values)))
    wide = np.abs(values.astype(np.float64))
    size = np.multiply.reduce(np.maximum(wide, 1), axes) if op == "ReduceProd" else np.add.reduce(wide, axes)
    if data.is_integer:
        return bool(np.all(size < min(np.iinfo(values.dtype).max, _LARGEST)))
    if values.dtype not in (np.float32, np.float64):
        return False
    whole = np.all(np.isfinite(wide)) and np.all(wide == np.floor(wide)) and not np.any(np.signbit(values))
    return bool(whole and np.all(size < (1 << 24)))  # whole numbers that float32 holds


def _leaning(call: Call, data: Tensor, axes: AxisNumbers, values: Array) -> tuple[Part, Part]:
    """The slopes and places of a reduction of known integers, from those of the data; 0 where none are for all N."""
    if growth(data, axes):
        if not data.depends and call.op == "ReduceSum" and call.samples:
            return values.astype(np.int64) // call.samples, 0  # each sample has the same, so it is N times that
        if data.depends or call.op == "ReduceProd":
            call.not_for_all("reduces a dim that grows with the number of samples")
        return 0, 0
    parts = [data.slopes(), data.places()]
    if call.op == "ReduceSum":
        return np.add.reduce(parts[0], axes), np.add.reduce(parts[1], axes)
    if call.op == "ReduceProd":
        return _of_product(call, data.array, parts, axes)
    return _of_extreme(call, data.array, parts, axes)


def _of_product(call: Call, values: Array, parts: Sequence[Array], axes: AxisNumbers) -> tuple[Part, Part]:
    """The slopes and places of a product: those of the only factor that depends on N, times all other factors."""
    leans = (parts[0] != 0) | (parts[1] != 0)
    if np.any(np.add.reduce(leans.astype(np.int64), axes) > 1):
        call.not_for_all("multiplies two numbers that depend on the number of samples")
    others = np.multiply.reduce(np.where(leans, 1, values).astype(np.int64), axes)
    slope, place = (np.add.reduce(part, axes) * others for part in parts)
    return slope, place


def _of_extreme(call: Call, values: Array, parts: Sequence[Array], axes: AxisNumbers) -> tuple[Part, Part]:
    """The slopes and places of the largest or least numbers, noted unless these stay so for every N >= 1."""
    rest = [axis for axis in range(values.ndim) if axis not in axes]
    sign = 1 if call.op == "ReduceMax" else -1

    def rows(array: Array) -> Array:
        moved = array.transpose(*rest, *axes)
        shape = (*(values.shape[axis] for axis in rest), prod(values.shape[axis] for axis in axes))
        return np.asarray(moved.reshape(shape).astype(np.int64) * sign)

    value, slope, place = (rows(each) for each in (values, *parts))
    # Of several that are the largest at this N the steepest stays it.
    best = np.lexsort((slope, value), axis=-1)[..., -1:]
    first, lean, own = (np.take_along_axis(each, best, -1) for each in (value, slope, place))
    apart, steeper = first - value, lean - slope
    if np.any(steeper < 0) or np.any(apart - steeper * (call.samples - 1) < 0) or np.any(own != place):
        call.not_for_all("picks one of numbers that depend on the number of samples")
    return sign * lean[..., 0], sign * own[..., 0]


def _summed(call: Call, data: Tensor, axes: AxisNumbers) -> Tensor | None:
    """A sum of integer terms as a linear form; None where the type may wrap otherwise than 64 bits do."""
    words = np.asarray(np.add.reduce(data.hashed(call.hashing), axes, dtype=np.uint64))
    low, high = data.bounds()
    if low is None or high is None or data.values is not None:
        found = terms(words, data.dtype)
    else:
        found = bounded(words, data.dtype, _total(low, axes), _total(high, axes))
    if not small(*found.bounds()) and words.size:
        return None
    if growth(data, axes) and data.depends:
        call.not_for_all("reduces a dim that grows with the number of samples")
    return found.leaning(np.add.reduce(data.slopes(), axes), np.add.reduce(data.places(), axes))


def _total(ends: Array, axes: AxisNumbers) -> Array:
    """Bounds of a sum, or something beyond every type."""
    wide = np.add.reduce(np.abs(ends.astype(np.float64)), axes)
    if np.any(wide > _LARGEST):
        return np.asarray(np.add.reduce(ends.astype(object), axes))
    return np.asarray(np.add.reduce(ends.astype(np.int64), axes))


RECORDS: Final[dict[str, Record]] = dict.fromkeys((*_EXACT, *_OTHERS), record(_reduce, carries=True))
