"""Change: one node of a model, before and after, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import onnx_ir as ir


@dataclass(frozen=True, slots=True)
class Change:
    """One rewriting.  `check` reports it before it is made, `fix` after."""

    code: str
    """The finding that it repairs: `baked-dim`, `absorbed-dim`, `foldable-target`, `identity` ..."""
    node: str
    """The node's name, or its place where it has none."""
    op: str
    """The operator."""
    tensor: str
    """The tensor that held the wrong words: the target, a tiled mask, an initial state."""
    origin: str
    """Where that tensor comes from: `initializer X`, `Constant node Y`, `computed by Concat Z`, `attribute group`."""
    message: str
    """One sentence with the numbers."""
    before: str
    """The words before: `[1, 16, 64]`."""
    after: str
    """The words after: `[0, 16, 64]`; where nodes were added, their names."""
    conditions: tuple[str, ...] = ()
    """The sizes for which it is the same: `N >= 1` where an empty batch would be refused now."""

    def to_json(self) -> dict[str, Any]:
        """The fields, for machines."""
        return asdict(self)


def origin_of(value: ir.Value) -> str:
    """Where a tensor comes from, in words."""
    maker = value.producer()
    if maker is not None:
        called = maker.name or value.name
        return f"Constant node {called}" if maker.op_type == "Constant" else f"computed by {maker.op_type} {called}"
    return f"{'initializer' if value.is_initializer() else 'input'} {value.name}"
