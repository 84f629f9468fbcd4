"""Graphs inside nodes: a branch that is known is taken, one that depends on data is a choice; loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.records.comparisons import turned
from onereshape.terms.records.merging import merged
from onereshape.terms.records.picking import growth_of
from onereshape.terms.tensor import Tensor, numbers, terms


def _if(call: Call) -> Sequence[Value]:
    condition = call.tensor(0)
    if condition.size != 1:
        call.refuse(f"its condition has {condition.size} elements")
    branches = "then_branch", "else_branch"
    if condition.values is not None:
        return call.body(branches[0 if condition.values.ravel()[0] else 1])([])
    one, two = (call.body(name)([]) for name in branches)
    if len(one) != len(two):
        call.refuse("its branches have several numbers of outputs")
    return [_chosen(call, condition, *pair) for pair in zip(one, two, strict=True)]


def _chosen(call: Call, condition: Tensor, one: Value, two: Value) -> Value:
    """An output of an If whose condition is data: a Where of both branches' values, which have equal dims and types."""
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        return tuple(_chosen(call, condition, *pair) for pair in zip(one, two, strict=True))
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        call.refuse("its branches give other things, and data choose between them")
    if one.shape != two.shape or one.dtype != two.dtype:
        call.refuse("its branches give other dims or types, and data choose between them")
    if one.depends or two.depends:
        call.not_for_all("chooses by data between numbers that depend on the number of samples")
    hashing = call.hashing
    parts = turned(condition.hashed(hashing).reshape(()), one.hashed(hashing), two.hashed(hashing))
    words = hashing.mix(call.key(op="Where"), *parts)
    ends: list[Any] = [end for each in (one, two) for end in each.bounds()] if one.is_integer else [None]
    if any(end is None for end in ends):
        return terms(words, one.dtype)
    return terms(words, one.dtype, np.minimum(ends[0], ends[2]), np.maximum(ends[1], ends[3]))


_TURNS: Final = 4096
"""How often a body is run."""


def _loop(call: Call) -> Sequence[Value]:
    count = int(call.scalar(0)) if call.has(0) else None
    if count is not None and call.tensor(0).depends:
        call.not_for_all("runs as often as there are samples")
    goes = bool(call.scalar(1)) if call.has(1) else True
    states: list[Value] = list(call.inputs[2:])
    given: list[Value] = [call.inputs[1]] if call.has(1) else [numbers(np.array(True))]
    body, turn = call.body("body"), 0
    stacked: list[list[Value]] = []
    while goes and (count is None or turn < count):
        if turn == _TURNS:
            call.refuse(f"runs more than {_TURNS} times")
        results = body([numbers(np.array(turn, np.int64)), *given, *states])
        if len(results) <= len(states):
            call.refuse("its body does not give what it takes")
        turn += 1
        given, states, made = results[:1], results[1 : len(states) + 1], results[len(states) + 1 :]
        stacked.append(made)
        if count is None or turn < count:
            goes = _goes_on(call, given[0])
    if not stacked and call.outputs > len(states):
        call.refuse("runs not once, so that its outputs have no dims")
    return [*states, *(_stack(call, each, 0) for each in zip(*stacked, strict=True))]


def _goes_on(call: Call, condition: Value) -> bool:
    if not isinstance(condition, Tensor) or condition.values is None or condition.size != 1:
        call.refuse("data say how often it runs")
    return bool(condition.values.ravel()[0])


def _stack(call: Call, parts: Sequence[Value], axis: int) -> Tensor:
    """Tensors of the same dims along an axis of their own."""
    tensors = [each for each in parts if isinstance(each, Tensor)]
    if len(tensors) != len(parts) or len({each.shape for each in tensors}) != 1:
        call.refuse("what it gives has other dims each time")
    axis = call.axis(axis, tensors[0].rank + 1)
    call.check_size((*tensors[0].shape, len(tensors)))
    return merged(call, tensors, lambda arrays: np.stack(arrays, axis))


def _part(tensor: Tensor, axis: int, place: int) -> Tensor:
    """The slice of a tensor at a place of an axis, which is gone: `[5, 3] -> [3]`; the other dims grow as before."""
    found = tensor.moved(lambda array: np.take(array, place, axis))
    growth = tuple(each for other, each in enumerate(tensor.growth) if other != axis)
    return replace(found, growth=growth if any(growth) else ())


def _scan(call: Call) -> Sequence[Value]:
    count = call.attribute("num_scan_inputs")
    if call.version < 9:
        return _scan_rows(call, count)
    if not 1 <= count <= len(call.inputs):
        call.refuse(f"scans {count} of {len(call.inputs)} inputs")
    states = list(call.inputs[: len(call.inputs) - count])
    scanned = [call.tensor(place) for place in range(len(states), len(call.inputs))]
    axes = _listed(call, "scan_input_axes", count)
    return _scanned(
        call,
        states,
        [(each, call.axis(axis, each.rank)) for each, axis in zip(scanned, axes, strict=True)],
        _listed(call, "scan_input_directions", count),
    )


def _listed(call: Call, name: str, count: int) -> list[int]:
    found = call.attribute(name)
    if found is not None and len(found) != count:
        call.refuse(f"{name} are {len(found)}, not {count}")
    return [0] * count if found is None else [int(each) for each in found]


def _scanned(
    call: Call, states: Sequence[Value], scanned: Sequence[tuple[Tensor, int]], directions: Sequence[int]
) -> list[Value]:
    """The outputs of a Scan, its body run for each place in turn: the last states, and the scan outputs joined."""
    lengths = {each.shape[axis] for each, axis in scanned}
    if len(lengths) > 1 or max(lengths) > _TURNS:
        call.refuse(f"scans dims of {sorted(lengths)}")
    if any(growth_of(each, axis) for each, axis in scanned):
        call.not_for_all("scans a dim that grows with the number of samples")
    now, made = list(states), []
    body, (length,) = call.body("body"), lengths
    for turn in range(length):
        places = [length - 1 - turn if backward else turn for backward in directions]
        parts = [_part(each, axis, place) for (each, axis), place in zip(scanned, places, strict=True)]
        results = body([*now, *parts])
        if [_kind(each) for each in results[: len(now)]] != [_kind(each) for each in now]:
            call.refuse("its states have other dims or types each time")
        now, rest = results[: len(now)], results[len(now) :]
        made.append(rest)
    more = call.outputs - len(now)
    if not made:
        return now if more <= 0 else call.refuse("scans nothing, so that its outputs have no dims")
    if call.version < 9:
        axes, backwards = [0] * len(made[0]), [0] * len(made[0])
    else:
        axes, backwards = (_listed(call, name, len(made[0])) for name in ("scan_output_axes", "scan_output_directions"))
    columns = zip(*made, strict=True)
    return [
        *now,
        *(
            _stack(call, each[::-1] if backward else each, axis)
            for each, axis, backward in zip(columns, axes, backwards, strict=True)
        ),
    ]


def _kind(value: Value) -> Any:
    return (value.shape, value.dtype) if isinstance(value, Tensor) else type(value)


def _scan_rows(call: Call, count: int) -> Sequence[Value]:
    """The first version runs its body for each row of a batch."""
    if call.has(0):
        call.refuse("its rows have lengths of their own")
    tensors = [call.tensor(place) for place in range(1, len(call.inputs))]
    rows = {each.shape[0] if each.rank else 0 for each in tensors}
    if not 1 <= count <= len(tensors) or len(rows) != 1 or not max(rows) or max(rows) > _TURNS:
        call.refuse(f"scans {count} of {len(tensors)} inputs, with {sorted(rows)} rows")
    split = len(tensors) - count
    directions = _listed(call, "directions", count)
    if any(each.rank < 2 for each in tensors[split:]):
        call.refuse("scans what has no dim for it")
    if any(growth_of(each, 0) for each in tensors):
        call.not_for_all("runs as often as there are samples")
    found = []
    for row in range(max(rows)):
        parts = [_part(each, 0, row) for each in tensors]
        found.append(_scanned(call, parts[:split], [(each, 0) for each in parts[split:]], directions))
    return [_stack(call, each, 0) for each in zip(*found, strict=True)]


RECORDS: Final[dict[str, Record]] = {
    "If": record(_if, carries=True),
    "Loop": record(_loop, carries=True),
    "Scan": record(_scan, carries=True),
}
