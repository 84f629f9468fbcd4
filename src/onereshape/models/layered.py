"""layered(): a repaired image as the IR that it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from onereshape.formats.model import Model
from onereshape.models.images import Names
from onereshape.models.shapes import facts_of
from onereshape.models.step import Fixed


def layered(fixed: Fixed, read: Model, given: Model) -> Fixed:
    """What was repaired, as the kind of model that was read."""
    if given is read:
        return fixed
    changes = tuple(map(Names(given.ir).of, fixed.changes))
    if fixed.model is given:
        return replace(fixed, model=read, changes=changes)
    return replace(fixed, model=written_ir(read, fixed.model), changes=changes)


def written_ir(read: Model, fixed: Model) -> Model:
    """The IR that an image has become, with the dims that its values have now."""
    from onereshape.formats.openvino_ir import rewritten  # noqa: PLC0415 - only an IR needs it
    from onereshape.openvino.writing import written  # noqa: PLC0415

    facts = facts_of(fixed.ir)
    known = {
        value: [dim if isinstance(dim, int) else None for dim in facts.dims[value]]
        for value in _values(fixed.ir.graph)
        if value in facts.sizes
    }
    found = written(fixed.ir, known)
    return rewritten(read, found.root, found.added, found.start)


def _values(graph: ir.Graph) -> Iterator[ir.Value]:
    yield from graph.inputs
    for node in graph:
        yield from node.outputs
