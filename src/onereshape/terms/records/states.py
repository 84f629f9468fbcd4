"""Operators with a row for each sample and a state that is handed on: what they give is made of all of their row.

They stay records, as onnx makes their bodies from dims, which are not told: no size may get into a body as a number.
"""

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
    if call.attribute("activation", "none") not in {"none", "silu", "swish"}:
        call.refuse(f"there is no activation {call.attribute('activation')!r}")
    data = call.tensor(0)
    _, channels, _, kernel = call.dims("N C T", "C 1 K", "C ?")
    if not kernel:
        call.refuse("its kernel is empty")
    call.dims("N C T", "C 1 K", "C ?", "N C P ?", P=kernel - 1)
    return _by_row(call, (1, 2), [(data.shape[1:], data.dtype), ((channels, kernel - 1), data.dtype)])[: call.outputs]


_GATES: Final = {"linear": (), "gated": (4,), "delta": (5,), "gated_delta": (4, 5)}
"""The inputs that each rule of LinearAttention must have: decay, beta."""


def _attended(call: Call) -> Sequence[Tensor]:
    """LinearAttention: all steps of a sample, and its state."""
    queries, heads = int(call.attribute("q_num_heads")), int(call.attribute("kv_num_heads"))
    if heads < 1 or queries < 1 or queries % heads:
        call.refuse(f"{queries} heads of queries are no multiple of {heads} heads of keys")
    rule = call.attribute("update_rule", "gated_delta")
    if rule not in _GATES:
        call.refuse(f"there is no update_rule {rule!r}")
    if missing := [place for place in _GATES[rule] if not call.has(place)]:
        call.refuse(f"input {missing[0]} is missing, without which there is no rule {rule!r}")
    query = call.tensor(0)
    patterns = f"N T {queries}D", f"N T {heads}D", f"N T {heads}V", "N H D V ?", "N T F ?", "N T B ?"
    _, steps, depth, width, decay, beta = call.dims(*patterns, H=heads)
    if decay not in {None, heads, heads * depth} or beta not in {None, 1, heads}:
        call.refuse(f"a decay of {decay} and a beta of {beta} are not those of {heads} heads")
    kind = call.tensor(3).dtype if call.has(3) else query.dtype
    found = [((steps, queries * width), query.dtype), ((heads, depth, width), kind)]
    return _by_row(call, (), found)[: call.outputs]


RECORDS: Final[dict[str, Record]] = {
    "CausalConvWithState": record(_convolved),
    "LinearAttention": record(_attended),
}
