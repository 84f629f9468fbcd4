"""Edit: one rewriting of a model, and what is reported of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter, Sources
from onereshape.graphs.unneeded import needed, remove_unused
from onereshape.ground.text import JSON, as_json, brief, shown
from onereshape.rule.sizes import Size


@dataclass(frozen=True, slots=True)
class Change:
    """One node of a model, before and after, and why.  `check` reports it before it is made, `fix` after.

    >>> import onereshape as orx
    >>> change = orx.fix("tests/data/corpus/hand_yolo_head.ts.onnx", batch=True, certify=False).changes[0]
    >>> change
    Change(baked-dim, /Reshape: [1, 3, 7, 16, 16] -> [0, 3, 7, 16, 16])
    >>> change.message, change.op, change.origin
    ('N is forced to 1 by /Reshape: shape[0] = 1', 'Reshape', 'Constant node /Constant')
    """

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

    def __repr__(self) -> str:
        return brief("Change", self.code, f"{shown(self.node, 40)}: {shown(self.before, 40)} -> {self.after}")

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
        return {name: as_json(getattr(self, name)) for name in self.__slots__}


class Edit(NamedTuple):
    """A rewriting that waits to be made: its changes as reported, how it is made, and the input it replaces."""

    changes: tuple[Change, ...]
    apply: Callable[[Rewriter], None]
    node: ir.Node
    slot: int | None
    """The input; None: the node itself, or several of its inputs."""
    uses: tuple[ir.Value, ...] = ()
    """The values of the original that the new input is made of."""
    entries: tuple[Size, ...] | None = None
    """The sizes that the new input holds, where it is a vector of sizes."""
    wanted: Mapping[int, Size] | None = None
    """The sizes to which the axes of the input have grown, where it is a larger one."""
    counts: np.ndarray[Any, Any] | None = None
    """What each sample adds to the new input, where that counts the samples; its dims are those of the original."""

    def reported(self, **fields: str) -> Edit:
        """A copy of the edit with other fields in the report of its first change."""
        return self._replace(changes=(replace(self.changes[0], **fields), *self.changes[1:]))  # type: ignore[arg-type]

    def given(self, conditions: tuple[str, ...]) -> Edit:
        """A copy of the edit whose changes are right only under these conditions."""
        return self._replace(changes=tuple(replace(each, conditions=conditions) for each in self.changes))


def apply_edits(model: ir.Model, edits: Iterable[Edit], sources: Sources, dead: Iterable[ir.Node] = ()) -> None:
    """Makes the edits, in place, and removes what they leave unused, nodes and constants, and the nodes of `dead`."""
    used = set(needed(model.graph)) | set(dead)
    rewriter = Rewriter(model, sources)
    for edit in edits:
        edit.apply(rewriter)
    remove_unused(model.graph, used | set(rewriter.added))


def declare(value: ir.Value, dims: Mapping[int, Size | str | None]) -> None:
    """Writes dims into the declaration of a value, if it has one."""
    if value.shape is not None:
        shape = list(value.shape)
        for axis, dim in dims.items():
            shape[axis] = dim if isinstance(dim, int) else ir.SymbolicDim(None if dim is None else str(dim))
        value.shape = ir.Shape(shape)


def origin_of(value: ir.Value) -> str:
    """Where a tensor comes from, in words."""
    maker = value.producer()
    if maker is not None:
        called = maker.name or value.name
        return f"Constant node {called}" if maker.op_type == "Constant" else f"computed by {maker.op_type} {called}"
    return f"{'initializer' if value.is_initializer() else 'input'} {value.name}"
