"""Functions along an axis: Softmax and its like, places of extremes, the largest k, running sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array, Words
from onereshape.terms.integers import small
from onereshape.terms.records.content import content, growth, places, switch
from onereshape.terms.tensor import Tensor, bounded, formed, terms

_ONE_AXIS: Final = 13
"""The opset from which Softmax is along one axis; in older opsets, along all axes from `axis` on together."""
_LARGEST: Final = 1 << 62


def _softmax(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    first = call.axis(call.attribute("axis", -1), data.rank)
    axes = (first,) if call.version >= _ONE_AXIS else tuple(range(first, data.rank))
    return [softmax(call, data, axes, call.op)]


def softmax(call: Call, data: Tensor, axes: tuple[int, ...], op: str) -> Tensor:
    """Softmax, LogSoftmax or Hardmax over axes."""
    operands: list[Words] = [data.hashed(call.hashing), content(call, data, axes, keep=True)]
    if op == "Hardmax":  # of equal ones the first is taken
        operands += [places(call, data.shape[axis], data.rank, axis) for axis in axes]
        if growth(data, axes):
            call.not_for_all("picks one place of a dim that grows with the number of samples")
    return call.mixed(data.dtype, call.hashing.key(op), *operands)


def _arg(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    length = data.shape[axis]
    last = switch(call, "select_last_index")
    found = content(call, data, (axis,), keep=switch(call, "keepdims", 1))
    if not length and found.size:
        call.refuse("there is nothing to pick a place of")
    if growth(data, (axis,)):
        call.not_for_all("picks a place of a dim that grows with the number of samples")
    words = call.hashing.mix(call.key(last), found)
    if not data.known or data.depends or not data.is_integer or not found.size:
        return [terms(words, ir.DataType.INT64, np.zeros((), np.int64), np.asarray(max(length - 1, 0)))]
    values = data.array if not last else np.flip(data.array, axis)
    index = np.asarray((np.argmax if call.op == "ArgMax" else np.argmin)(values, axis), np.int64)
    index = length - 1 - index if last else index
    return [Tensor(ir.DataType.INT64, values=np.asarray(index).reshape(found.shape))]


def _top(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), data.rank)
    if call.version < 10:
        count = int(call.attribute("k"))
    else:
        if not call.tensor(1).is_integer or call.tensor(1).rank > 1:
            call.refuse("its count is no integer")
        count = int(call.scalar(1))
    length = data.shape[axis]
    if not 0 <= count <= length:
        call.refuse(f"takes {count} of {length}")
    if growth(data, (axis,)):
        call.not_for_all("picks places of a dim that grows with the number of samples")
    ordered = switch(call, "sorted", 1)
    kind = (switch(call, "largest", 1), None if ordered else count, data.dtype.name)
    if count == length == 1:
        return [data, Tensor(ir.DataType.INT64, values=np.zeros(data.shape, np.int64))]
    whole = content(call, data, (axis,), keep=True)
    if (
        data.rank == 1
        and data.is_integer
        and count == length
        and (order := _order(call, data, whole, kind)) is not None
    ):
        return [data.moved(lambda array: array[order]), Tensor(ir.DataType.INT64, values=order)]
    shape = [*data.shape]
    shape[axis] = count
    call.check_size(shape)
    place = places(call, count, data.rank, axis)
    values, index = (call.hashing.mix(call.key(part, *kind), whole, place) for part in ("values", "places"))
    low = high = None
    if (
        data.is_integer
        and data.dtype != ir.DataType.UINT64
        and data.size
        and all(end is not None for end in data.bounds())
    ):
        low, high = (
            np.asarray(pick.reduce(np.asarray(end, np.int64), axis, keepdims=True))
            for pick, end in zip((np.minimum, np.maximum), data.bounds(), strict=True)
        )
    return [
        terms(values, data.dtype, low, high),
        terms(index, ir.DataType.INT64, np.zeros((), np.int64), np.asarray(max(length - 1, 0))),
    ]


def _order(call: Call, data: Tensor, whole: Words, kind: tuple[Any, ...]) -> Array | None:
    """The order in which a full TopK takes a list's elements, in a run that goes through all orders; None elsewhere."""
    if call.run.orders is None:
        return None
    if data.values is not None and len({*data.values.tolist()}) == data.size and kind[1] is None:
        found = np.argsort(data.values).astype(np.int64)
        return found[::-1] if kind[0] else found
    taken = call.run.orders.of(int(call.hashing.mix(call.key("order", *kind), whole)[0]), data.size)
    return None if taken is None else np.array(taken, np.int64)


def _running(call: Call) -> Sequence[Tensor]:
    data, given = call.tensor(0), call.tensor(1)
    if given.rank > 1 or not given.is_integer:
        call.refuse("its axis is no integer")
    axis = call.axis(int(call.scalar(1)), data.rank)
    exclusive, reverse = (switch(call, name) for name in ("exclusive", "reverse"))
    if growth(data, (axis,)) or given.depends:
        call.not_for_all("runs along a dim that grows with the number of samples")

    def along(array: Array, function: Any, start: Any) -> Any:
        """A running function, backwards or shifted as asked."""
        turned = np.flip(array, axis) if reverse else array
        run = function(turned)
        if exclusive and run.shape[axis]:
            kept = run[(slice(None),) * axis + (slice(None, -1),)]
            first = np.full([1 if each == axis else dim for each, dim in enumerate(run.shape)], start, run.dtype)
            run = np.concatenate([first, kept], axis)
        return np.flip(run, axis) if reverse else run

    if data.is_integer and call.op == "CumSum":
        summed = _summed(call, data, lambda array: along(array, lambda each: _sums(each, axis), 0))
        if summed is not None:
            return [summed]
    if data.depends:
        call.not_for_all("sums numbers that depend on the number of samples")
    run = along(data.hashed(call.hashing), lambda words: call.hashing.running(words, axis), 0)
    many = places(call, data.shape[axis], data.rank, axis)
    key = call.key(exclusive, reverse, data.dtype.name)
    return [call.mixed(data.dtype, key, run, np.flip(many, axis) if reverse else many)]


def _sums(array: Array, axis: int) -> Array:
    return np.cumsum(array, axis, dtype=array.dtype)


def _summed(call: Call, data: Tensor, along: Any) -> Tensor | None:
    """Running sums of integers: numbers, or linear forms; None where the type may wrap otherwise than 64 bits do."""
    slope, place = along(data.slopes()), along(data.places())
    low, high = data.bounds()
    held = low is not None and high is not None and _total(low) < _LARGEST and _total(high) < _LARGEST
    if data.values is not None and held and _total(data.values) < np.iinfo(data.values.dtype).max:
        return formed(along(data.values), data.dtype, slope, place)
    words = along(data.hashed(call.hashing))
    if held and low is not None and high is not None and data.values is None:
        found = bounded(words, data.dtype, along(low.astype(np.int64)), along(high.astype(np.int64)))
    else:
        found = terms(words, data.dtype)
    if not small(*found.bounds()) and words.size:
        return None
    return found.leaning(slope, place)


def _total(array: Array) -> float:
    """The sum of the absolute values: no sum of a part of the array is beyond it."""
    return float(np.abs(array.astype(np.float64)).sum())


RECORDS: Final[dict[str, Record]] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), record(_softmax)),
    **dict.fromkeys(("ArgMax", "ArgMin"), record(_arg)),
    "TopK": record(_top),
    **dict.fromkeys(("CumSum", "CumProd"), record(_running, carries=True)),
}
