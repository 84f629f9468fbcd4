"""Sequences, which are tuples of tensors, and values that may be left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.records.merging import merged
from onereshape.terms.records.picking import growth_of
from onereshape.terms.tensor import Tensor, numbers

_PARTS: Final = 1 << 14
"""The most tensors that a tensor is split into."""


def sequence(call: Call, place: int) -> tuple[Any, ...]:
    """An input that is a sequence."""
    found = call.inputs[place] if call.has(place) else None
    if not isinstance(found, tuple):
        call.refuse(f"input {place} is no sequence")
    return found


def _of_one_type(call: Call, parts: Sequence[Any]) -> tuple[Tensor, ...]:
    if any(not isinstance(each, Tensor) for each in parts) or len({each.dtype for each in parts}) > 1:
        call.refuse("its tensors are of several types")
    return tuple(parts)


def _construct(call: Call) -> Sequence[Value]:
    return [_of_one_type(call, call.tensors())]


def _empty(_call: Call) -> Sequence[Value]:
    return [()]


def _place(call: Call, place: int, count: int, most: int) -> int:
    """The position in the input at `place`, counted from the front; `most` where it is not given."""
    if not call.has(place):
        return most
    found = int(call.scalar(place))
    if not -count <= found <= most:
        call.refuse(f"there is no place {found} among {count}")
    return found + count if found < 0 else found


def _at(call: Call) -> Sequence[Value]:
    given = sequence(call, 0)
    if not given:
        call.refuse("there is nothing in it")
    return [given[_place(call, 1, len(given), len(given) - 1)]]


def _insert(call: Call) -> Sequence[Value]:
    given = sequence(call, 0)
    place = _place(call, 2, len(given), len(given))
    return [_of_one_type(call, (*given[:place], call.tensor(1), *given[place:]))]


def _erase(call: Call) -> Sequence[Value]:
    given = sequence(call, 0)
    if not given:
        call.refuse("there is nothing in it")
    place = _place(call, 1, len(given), len(given) - 1)
    return [(*given[:place], *given[place + 1 :])]


def _length(call: Call) -> Sequence[Value]:
    return [numbers(np.array(len(sequence(call, 0)), np.int64))]


def _split(call: Call) -> Sequence[Value]:
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    whole, drops = data.shape[axis], not call.attribute("keepdims", 1) and not call.has(1)
    sizes = [1] * whole
    if call.has(1):
        sizes = call.integers(1)
        if call.tensor(1).rank == 0:
            if sizes[0] <= 0:
                call.refuse(f"its parts have {sizes[0]} places")
            sizes = [min(sizes[0], whole - start) for start in range(0, whole, sizes[0])]
    if sum(sizes) != whole or any(each < 0 for each in sizes):
        call.refuse(f"the parts {sizes} are not those of {whole}")
    if len(sizes) > _PARTS:
        call.refuse(f"makes {len(sizes)} parts")
    if growth_of(data, axis):
        call.not_for_all("makes as many parts as there are samples")
    parts = []
    for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True):
        taken: Any = end - 1 if drops else np.arange(end - size, end)
        parts.append(data.moved(partial(np.take, indices=taken, axis=axis)))
    return [tuple(parts)]


def _concat(call: Call) -> Sequence[Value]:
    parts = _of_one_type(call, sequence(call, 0))
    if not parts or len({each.rank for each in parts}) != 1:
        call.refuse("its tensors do not go together")
    fresh = call.attribute("new_axis", 0)
    axis = call.axis(call.attribute("axis"), parts[0].rank + bool(fresh))
    around = {each.shape if fresh else (*each.shape[:axis], *each.shape[axis + 1 :]) for each in parts}
    if len(around) > 1:
        call.refuse(f"the dims {[list(each.shape) for each in parts]} do not go together")
    call.check_size([sum(each.size for each in parts)])
    return [merged(call, parts, partial(np.stack if fresh else np.concatenate, axis=axis))]


def _map(call: Call) -> Sequence[Value]:
    count = len(sequence(call, 0))
    if any(isinstance(each, tuple) and len(each) != count for each in call.inputs):
        call.refuse("its sequences are of several lengths")
    body = call.body("body")
    rows = [body([each[place] if isinstance(each, tuple) else each for each in call.inputs]) for place in range(count)]
    if not rows:
        return [()] * call.outputs
    return [_of_one_type(call, each) for each in zip(*rows, strict=True)]


def _optional(call: Call) -> Sequence[Value]:
    return [call.inputs[0] if call.has(0) else None]


def _element(call: Call) -> Sequence[Value]:
    if not call.has(0):
        call.refuse("there is nothing in it")
    return [call.inputs[0]]


def _has_element(call: Call) -> Sequence[Value]:
    return [numbers(np.array(call.has(0)), ir.DataType.BOOL)]


RECORDS: Final[dict[str, Record]] = {
    "ConcatFromSequence": record(_concat, carries=True),
    "Optional": record(_optional, carries=True),
    "OptionalGetElement": record(_element, carries=True),
    "OptionalHasElement": record(_has_element, carries=True),
    "SequenceAt": record(_at),
    "SequenceConstruct": record(_construct, carries=True),
    "SequenceEmpty": record(_empty),
    "SequenceErase": record(_erase),
    "SequenceInsert": record(_insert),
    "SequenceLength": record(_length),
    "SequenceMap": record(_map, carries=True),
    "SplitToSequence": record(_split),
}
