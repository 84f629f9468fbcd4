"""State: what is known of the values of a graph whose dims are being freed, and what must hold of their sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.elements import ElementArray, array_of
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.folding.folding import Folding
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Formula, Size, depends, symbol

Axes = tuple[Axis | None, ...]
"""The dims of a tensor; None for one that is not known."""
Make = Callable[[Rewriter, ir.Node], ir.Value]

_LARGEST_STEP = 256
_ALL_STEPS = lcm(*range(1, _LARGEST_STEP + 1))
"""A multiple of every step that is tried."""
_MOST_READ = 4096


GROWN = frozenset({"initializer", "Constant"})
"""What a change names in place of an operator where it is a constant itself that grows."""


class FreeAnswer(NamedTuple):
    """The answer of a free rule for one node: the dims of each output as factors, and the edits that make it so."""

    outputs: tuple[Axes | None, ...]
    edits: tuple[Edit, ...] = ()
    alone: bool = True
    """Whether there is no other way to read the node."""
    suspect: str = ""
    """Why the node must not stay as it is written, should its output be used so."""


class Limit(NamedTuple):
    """A size that must not grow beyond a number."""

    size: Formula
    most: int
    why: str


class Rules(NamedTuple):
    """What must hold of the sizes for the repaired model to be right."""

    steps: Mapping[str, int]
    """By symbol: the sizes that it can take differ by multiples of this from the original one."""
    limits: tuple[Limit, ...] = ()
    merged: Mapping[Size, tuple[Size, ...] | None] = {}
    """Products that a dim is, and their factors in row-major order; None where they were merged in two orders."""
    joined: Mapping[Size, tuple[Size, ...] | None] = {}
    """Sums that a dim is, and their parts from front to end; None where they were joined in two ways."""


_NO_RULES = Rules({})


@dataclass(slots=True)
class FreeState:
    """All that is known of the values of a graph while dims are freed, node by node."""

    facts: Facts
    folding: Folding
    sizes: Mapping[str, int]
    """The freed symbols, and their sizes in the original."""
    opset: int
    sources: frozenset[str]
    """The symbols that an input of the model has as a dim, so that they can be computed."""
    tensors: MutableMapping[ir.Value, Axes | None] = field(default_factory=dict)
    """The dims of values that depend on the symbols."""
    contents: MutableMapping[ir.Value, ElementArray | None] = field(default_factory=dict)
    """The elements of values that depend on the symbols; None where they are not known."""
    rules: Rules = _NO_RULES
    planned: dict[tuple[ir.Node, int | None], Edit] = field(default_factory=dict)
    """The edits that are decided, by what they replace."""
    patterns: dict[Any, Any] = field(default_factory=dict)
    """How constants go on, for the next question."""
    _unequal: set[tuple[Size, Size]] = field(default_factory=set)

    def matters(self, value: ir.Value) -> bool:
        """Whether anything of a value depends on the symbols."""
        return self.tensors.get(value) is not None or value in self.contents

    def then(self, size: Size) -> Size:
        """A size in the original."""
        return size if isinstance(size, int) else size.bind(self.sizes)

    def moves(self, size: Size | None) -> bool:
        """Whether a size depends on the symbols."""
        return depends(size, self.sizes)

    def original(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The dims in the original."""
        return self.facts.dims_of(value)

    def dims(self, value: ir.Value) -> Axes | None:
        """The dims when the symbols are free."""
        found = self.tensors.get(value)
        if found is not None:
            return found
        then = self.original(value)
        return None if then is None else tuple((size,) for size in then)

    def live(self, value: ir.Value) -> ElementArray | None:
        """The integers that the graph, as it is written, computes when the symbols are free."""
        if value in self.contents:
            return self.contents[value]
        return self.integers(value)

    def integers(self, value: ir.Value) -> ElementArray | None:
        """The integers that the original computes."""
        found = self.facts.held(value)
        if found is not None:
            return found
        array = self.folding.array(value)
        small = array is not None and array.dtype.kind in "ib" and array.size <= _MOST_READ
        return array_of(array.reshape(-1).tolist(), array.shape) if array is not None and small else None

    # What must hold

    def normal(self, size: Size) -> Size:
        """A size under the conditions that are known: a symbol that must be a multiple of 8 is 8 times another."""
        return _under(size, self.rules.steps, self.sizes)

    def same(self, one: Size, other: Size) -> bool:
        """Whether two sizes are equal under the conditions that are known."""
        return one == other or self.normal(one) == self.normal(other)

    def equate(self, one: Size, other: Size) -> bool:
        """Makes two sizes equal by a condition on the symbols, the weakest there is; whether that is possible."""
        if self.same(one, other):
            return True
        if self.then(one) != self.then(other) or (one, other) in self._unequal:
            return False
        names = [name for name in self.sizes if depends(one, [name]) or depends(other, [name])]
        groups = [[name] for name in names] + ([names] if len(names) > 1 else [])
        factors = range(2, _LARGEST_STEP + 1) if self._agree(one, other, dict.fromkeys(names, _ALL_STEPS)) else ()
        for factor in factors:
            for group in groups:
                steps = {**self.rules.steps, **{name: lcm(self.rules.steps.get(name, 1), factor) for name in group}}
                if self._agree(one, other, steps) and _under(one - other, steps, self.sizes) == 0:
                    self.rules = self.rules._replace(steps=steps)
                    return True
        self._unequal.add((one, other))
        return False

    def _agree(self, one: Size, other: Size, steps: Mapping[str, int]) -> bool:
        """Whether two sizes are equal at a few sizes of the symbols that differ from the original by these steps."""
        for times in (1, 2, 5):
            binding = {name: size + times * steps.get(name, 1) for name, size in self.sizes.items()}
            left, right = (size if isinstance(size, int) else size.bind(binding) for size in (one, other))
            if left != right:
                return False
        return True

    def limit(self, size: Size, most: int, why: str) -> None:
        """Notes that a size must not grow beyond a number."""
        if isinstance(size, Formula):
            limit = Limit(size, most, why)
            if limit not in self.rules.limits:
                self.rules = self.rules._replace(limits=(*self.rules.limits, limit))

    def remember(self, dims: Axes) -> None:
        """Notes how merged dims were made, so that they can be taken apart wherever they come again."""
        for axis in dims:
            if axis is not None and len(axis) > 1 and sum(map(self.moves, axis)) > 1:
                known = self.rules.merged.get(size := size_of(axis), axis)
                if known is not None and (known != axis or size not in self.rules.merged):
                    order = axis if known == axis else None
                    self.rules = self.rules._replace(merged={**self.rules.merged, size: order})

    def apart(self, axis: Axis) -> Axis:
        """A dim with every product that is known to be merged as its factors."""
        return tuple(part for factor in axis for part in self.rules.merged.get(factor) or (factor,))

    def join(self, total: Size, parts: tuple[Size, ...]) -> None:
        """Notes the parts that a dim was joined from."""
        known = self.rules.joined.get(total, parts)
        if known != parts or total not in self.rules.joined:
            self.rules = self.rules._replace(joined={**self.rules.joined, total: parts if known == parts else None})

    def seams(self, total: Size) -> dict[Size, Size]:
        """Where a dim that was joined can come apart: the places in the original, and as formulas."""
        found: dict[Size, Size] = {}
        place: Size = 0
        for part in self.rules.joined.get(total) or ():
            place = place + part
            found[self.then(place)] = place
        return found


def _under(size: Size, steps: Mapping[str, int], sizes: Mapping[str, int]) -> Size:
    if isinstance(size, int):
        return size
    return size.bind({name: symbol(name) * step + sizes[name] % step for name, step in steps.items() if step > 1})


def sizes(dims: Sequence[Axis | None]) -> list[Size | None]:
    """The sizes of dims."""
    return [None if axis is None else size_of(axis) for axis in dims]


def shown(entries: Sequence[Any] | None) -> str:
    """A list of sizes in a message."""
    texts = ["?" if each is None else str(each) for each in entries or ()]
    return "computed" if entries is None else f"[{', '.join(texts)}]"
