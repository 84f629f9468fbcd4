"""The way of a size: from the dim of an input, through nodes, to the node where it is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx_ir as ir

from onereshape.checks.reports.sides import Side, inputs_of
from onereshape.rule.sizes import Formula

_FIRST, _LAST = 2, 3
"""Nodes of a long way that are told, from each end."""


@dataclass(frozen=True, slots=True)
class SizeWay:
    """The way of a size from the dim of an input to a node."""

    start: str
    """The dim: `x[0]`."""
    name: str
    """What its size is called."""
    first: tuple[tuple[str, str], ...]
    """The first nodes on it, each with its operator and its name,"""
    left_out: int
    """how many are not told,"""
    last: tuple[tuple[str, str], ...]
    """and the last ones, before the node itself."""


class Ways:
    """The ways of sizes in one model; each step is looked for once."""

    def __init__(self, side: Side, names: frozenset[str]) -> None:
        self._side = side
        self._names = names
        self._before: dict[ir.Value, ir.Value | None] = {}
        self._inputs = frozenset(side.model.graph.inputs)

    def to(self, key: str) -> SizeWay | None:
        """The way of a size to a box; None where no such size comes in."""
        if key not in self._side.boxes:
            return None
        values = (value for value in inputs_of(self._side, key) if self._carries(value))
        for value in values:
            chain = list(self._back(value))
            if (place := self._place(chain[-1])) is not None:
                return self._told(chain, *place)
        return None

    def _back(self, value: ir.Value) -> Iterator[ir.Value]:
        """The way of the size upwards: the value, an input of its maker that carries the size, and so on."""
        seen: set[ir.Value] = set()
        here: ir.Value | None = value
        while here is not None and here not in seen:
            seen.add(here)
            yield here
            if here not in self._before:
                maker = here.producer() or self._side.owners.get(here.graph)  # type: ignore[arg-type]
                near = inputs_of(self._side, self._side.key(maker)) if maker in self._side else iter(())  # type: ignore[arg-type]
                self._before[here] = next((each for each in near if self._carries(each)), None)
            here = self._before[here]

    def _carries(self, value: ir.Value) -> bool:
        return self._side.carries(value, self._names)

    def _place(self, value: ir.Value) -> tuple[str, str] | None:
        """The dim of an input that has the size, and its name."""
        if value not in self._inputs:
            return None
        for axis, size in enumerate(self._side.facts.dims_of(value) or ()):
            if isinstance(size, Formula) and (names := self._names & size.symbols):
                return f"{value.name}[{axis}]", min(names)
        return None

    def _told(self, chain: list[ir.Value], start: str, name: str) -> SizeWay:
        made = (value.producer() for value in reversed(chain))
        keys = list(dict.fromkeys(self._side.key(maker) for maker in made if maker is not None))
        if len(keys) <= _FIRST + _LAST + 1:
            return SizeWay(start, name, tuple(map(self._side.title, keys)), 0, ())
        first, last = keys[:_FIRST], keys[-_LAST:]
        left = len(keys) - len(first) - len(last)
        return SizeWay(start, name, tuple(map(self._side.title, first)), left, tuple(map(self._side.title, last)))
