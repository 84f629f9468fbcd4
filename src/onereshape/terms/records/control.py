"""Graphs inside nodes: a branch that is known is taken, one that depends on data is a choice; loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.records.arithmetic import bounds
from onereshape.terms.tensor import Tensor, terms


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
    """What a Where by the condition makes of both."""
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        return tuple(_chosen(call, condition, *pair) for pair in zip(one, two, strict=True))
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        call.refuse("its branches give other things, and data choose between them")
    if one.shape != two.shape or one.dtype != two.dtype:
        call.refuse("its branches give other dims or types, and data choose between them")
    if one.depends or two.depends:
        call.doubt("chooses by data between numbers that depend on the number of samples")
    hashing = call.hashing
    words = hashing.mix(
        call.key(op="Where"), condition.hashed(hashing).reshape(()), one.hashed(hashing), two.hashed(hashing)
    )
    ends: list[Any] = [end for each in (one, two) for end in bounds(each)] if one.is_integer else [None]
    if any(end is None for end in ends):
        return terms(words, one.dtype)
    return terms(words, one.dtype, np.minimum(ends[0], ends[2]), np.maximum(ends[1], ends[3]))


RECORDS: Final[dict[str, Record]] = {
    "If": record(_if, carries=True),
}
