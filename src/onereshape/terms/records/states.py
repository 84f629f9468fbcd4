"""Operators with a row for each sample and a state that is handed on: what they give is made of all of their row."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.content import content, growth
from onereshape.terms.records.pointwise import attributes_of
from onereshape.terms.tensor import Tensor


def _by_row(call: Call, shared: Sequence[int], outputs: Sequence[tuple[tuple[int, ...], ir.DataType]]) -> list[Tensor]:
    """Tensors of these dims behind a row each, every element a function of its row, its place, and what all share."""
    given = [place for place in range(len(call.inputs)) if call.has(place)]
    rows = [place for place in given if place not in shared]
    counts = {call.tensor(place).shape[0] for place in rows if call.tensor(place).rank}
    if len(counts) != 1 or any(not call.tensor(place).rank for place in rows):
        call.refuse("its inputs have other numbers of rows")
    (count,) = counts
    asked: list[Any] = [*attributes_of(call)]
    words = []
    for place in given:
        data = call.tensor(place)
        axes = range(place not in shared, data.rank)
        if growth(data, axes):
            call.not_for_all("works along a dim that grows with the number of samples")
        asked.append((place, data.dtype.name, data.shape[axes.start :]))
        words.append(content(call, data, axes))
    found = []
    for number, (dims, kind) in enumerate(outputs):
        call.check_size((count, *dims))
        behind = (1,) * len(dims)
        own = [each.reshape(*each.shape, *behind) for each in words]
        spots = call.hashing.leaves(call.key("place"), prod(dims)).reshape(1, *dims)
        found.append(call.mixed(kind, call.key(number, *asked), *own, spots))
    return found


def _convolved(call: Call) -> Sequence[Tensor]:
    """CausalConvWithState: each entry with the entries before it in its channel, and the last entries as the state."""
    data, weights = call.tensor(0), call.tensor(1)
    if data.rank != 3 or weights.rank != 3 or weights.shape[:2] != (data.shape[1], 1) or not weights.shape[2]:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} do not go together")
    state = (data.shape[1], weights.shape[2] - 1)
    if call.has(2) and call.tensor(2).shape != (data.shape[1],):
        call.refuse(f"its bias has dims {list(call.tensor(2).shape)}")
    if call.has(3) and call.tensor(3).shape != (data.shape[0], *state):
        call.refuse(f"its state has dims {list(call.tensor(3).shape)}")
    return _by_row(call, (1, 2), [(data.shape[1:], data.dtype), (state, data.dtype)])[: call.outputs]


def _attended(call: Call) -> Sequence[Tensor]:
    """LinearAttention: all steps of a sample, and its state."""
    query, key, value = (call.tensor(place) for place in range(3))
    queries, heads = int(call.attribute("q_num_heads")), int(call.attribute("kv_num_heads"))
    if {query.rank, key.rank, value.rank} != {3} or heads < 1 or queries < 1 or queries % heads:
        call.refuse("its queries, keys and values have not three dims, or its heads do not go together")
    if len({each.shape[:2] for each in (query, key, value)}) > 1 or query.shape[2] % queries:
        call.refuse("its queries, keys and values have other steps")
    depth, width = query.shape[2] // queries, value.shape[2] // heads
    if key.shape[2] != heads * depth or value.shape[2] != heads * width:
        call.refuse("its keys or values do not divide into heads")
    state = (heads, depth, width)
    if call.has(3) and call.tensor(3).shape != (query.shape[0], *state):
        call.refuse(f"its state has dims {list(call.tensor(3).shape)}")
    for place, widths in ((4, (heads, heads * depth)), (5, (1, heads))):
        if call.has(place):
            dims = call.tensor(place).shape
            if dims[:2] != query.shape[:2] or len(dims) != 3 or dims[2] not in widths:
                call.refuse(f"its input {place} has dims {list(dims)}")
    kind = call.tensor(3).dtype if call.has(3) else query.dtype
    found = [((query.shape[1], queries * width), query.dtype), (state, kind)]
    return _by_row(call, (), found)[: call.outputs]


RECORDS: Final[dict[str, Record]] = {
    "CausalConvWithState": record(_convolved),
    "LinearAttention": record(_attended),
}
