"""FreePlan: how the freed dims go through a graph, as it was decided, and the sizes for which that holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import onnx_ir as ir

from onereshape.graphs.edit import Change, Edit
from onereshape.graphs.free_rules.state import GROWN, FreeState, Limit, sizes
from onereshape.rule.sizes import Formula, Size, reach


@dataclass(frozen=True, slots=True)
class FreeSymbol:
    """A symbol and the sizes that it can take."""

    original: int
    step: int = 1
    """Its sizes differ from the original by multiples of this number."""
    most: int | None = None
    """The largest size; None without a limit."""

    def allows(self, size: int) -> bool:
        """Whether the symbol can take a size."""
        return (size - self.original) % self.step == 0 and (self.most is None or size <= self.most)


@dataclass(frozen=True, slots=True)
class FreePlan:
    """The decided graph: the dims of its tensors, and what must be rewritten."""

    changes: tuple[Change, ...]
    edits: tuple[Edit, ...]
    dims: Mapping[ir.Value, tuple[Size | None, ...]]
    """The dims of every value that depends on the symbols."""
    outputs: Mapping[str, tuple[Size | None, ...] | None]
    """The dims of the graph outputs; None for a dim, or a rank, that is not known."""
    symbols: Mapping[str, FreeSymbol]
    conditions: tuple[str, ...]
    """What must hold of the sizes, in words."""
    sources: Mapping[str, tuple[str, int]]
    """Where each symbol is a dim of an input."""

    def promised(self, binding: Mapping[str, int]) -> dict[str, tuple[int | None, ...]]:
        """Output -> its dims at sizes of the symbols, None where one is not known: `{"S": 12} -> {"y": (1, 12)}`."""
        found: dict[str, tuple[int | None, ...]] = {}
        for name, dims in self.outputs.items():
            if dims is not None:
                bound = [size.bind(binding) if isinstance(size, Formula) else size for size in dims]
                found[name] = tuple(size if isinstance(size, int) else None for size in bound)
        return found


def plan_of(graph: ir.Graph, state: FreeState, edits: list[Edit], sources: Mapping[str, tuple[str, int]]) -> FreePlan:
    """The plan that a decided graph makes; a constant that grows for many nodes is one change."""
    seen: dict[tuple[str, ...], Change] = {}
    for change in (change for edit in edits for change in edit.changes):
        own = change.op in GROWN
        seen.setdefault((change.tensor, change.after, *([] if own else [change.node])), change)
    dims = {value: tuple(sizes(own)) for value, own in state.tensors.items() if own is not None}
    outputs = {}
    for value in graph.outputs:
        known = state.dims(value)
        outputs[value.name or ""] = None if known is None else tuple(sizes(known))
    symbols, conditions = _conditions(state)
    return FreePlan(tuple(seen.values()), tuple(edits), dims, outputs, symbols, conditions, sources)


def _conditions(state: FreeState) -> tuple[dict[str, FreeSymbol], tuple[str, ...]]:
    """The sizes that the symbols can take, and as words: `S is divisible by 4`, `S <= 512, since ...`."""
    symbols: dict[str, FreeSymbol] = {}
    texts: list[str] = []
    for name, size in state.sizes.items():
        step = state.rules.steps.get(name, 1)
        limits = [(most, limit) for limit in state.rules.limits if (most := _most(limit, name, size)) is not None]
        most, limit = min(limits, key=lambda each: each[0], default=(None, None))
        symbols[name] = FreeSymbol(size, step, most)
        if step > 1:
            rest = size % step
            texts.append(f"{name} leaves {rest} when divided by {step}" if rest else f"{name} is divisible by {step}")
        if limit is not None:
            texts.append(f"{name} <= {most}, since {limit.why}")
    several = [limit for limit in state.rules.limits if len(limit.size.symbols) > 1]
    texts += [f"{limit.size} <= {limit.most}, since {limit.why}" for limit in several]
    return symbols, tuple(texts)


def _most(limit: Limit, name: str, size: int) -> int | None:
    """The largest size of a symbol that keeps a limit on it alone."""
    return reach(limit.size, limit.most, size) if limit.size.symbols == {name} else None
