"""The written definition of Reshape over a small world: search for the one shape that fits, else name the refusal.

Nothing here is taken from the implementation.  The definition never divides: it tries every size for a -1, and counts
how many fit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """A specification with its flag, and what the rulings say about it."""

    spec: str
    zero_copies: bool
    attributes: dict[str, Any] = field(default_factory=dict, hash=False)
    empty_copies_leave_the_division: bool = False

    def __str__(self) -> str:
        return "-".join([self.spec, *(f"{name}={value}" for name, value in self.attributes.items())])


def _families() -> Iterator[Family]:
    for version in (1, 5, 13, 14, 19, 21, 23, 24, 25):
        yield Family(f"onnx-{version}", zero_copies=True)
    for version in (14, 19, 21, 23, 24, 25):
        yield Family(f"onnx-{version}", zero_copies=True, attributes={"allowzero": 0})
        yield Family(f"onnx-{version}", zero_copies=False, attributes={"allowzero": 1})
    for name in ("openvino", "onednn-reshape", "onednn-static", "onednn-dynamic"):
        yield Family(name, True, {"special_zero": True}, empty_copies_leave_the_division=name == "openvino")
        yield Family(name, False, {"special_zero": False})


FAMILIES = tuple(_families())


def lists(entries: range, longest: int) -> list[Dims]:
    """Every list of those entries with at most that many of them."""
    return [dims for rank in range(longest + 1) for dims in itertools.product(entries, repeat=rank)]


DATA = lists(range(5), 3)
TARGETS = lists(range(-2, 5), 3)
WORLD = list(itertools.product(DATA, TARGETS))


@cache
def defined(data: Dims, target: Dims, zero_copies: bool, empty_copies_leave_the_division: bool) -> Dims | str:
    """The output dims, or the code of the refusal; the leftmost wrong entry speaks first."""
    for axis, entry in enumerate(target):
        if entry < -1:
            return "below-minus-one"
        if entry == -1 and -1 in target[:axis]:
            return "two-inferred"
    if not zero_copies and 0 in target and -1 in target:
        return "zero-with-inferred"
    if zero_copies and 0 in target[len(data) :]:
        return "copy-beyond-rank"
    copied = {axis for axis, entry in enumerate(target) if entry == 0 and zero_copies}
    output = [data[axis] if axis in copied else entry for axis, entry in enumerate(target)]
    elements = len(list(itertools.product(*map(range, data))))  # counted, not multiplied
    if -1 not in target:
        return tuple(output) if prod(output) == elements else "volume"
    axis = target.index(-1)
    tried = [(*output[:axis], size, *output[axis + 1 :]) for size in range(prod(dim for dim in data if dim) + 2)]
    fitting = [shape for shape in tried if prod(shape) == elements]
    if len(fitting) > 1 and empty_copies_leave_the_division:
        left = [dim for i, dim in enumerate(data) if i not in copied]
        fitting = [s for s in tried if prod(dim for i, dim in enumerate(s) if i not in copied) == prod(left)]
    if len(fitting) > 1:
        return "empty-copy-with-inferred"
    return fitting[0] if fitting else "indivisible"
