"""layered(): a repaired image as the IR that it is, which OpenVINO loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from onereshape.formats.model import Model, model_of
from onereshape.graphs.irs import Names, imaged
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError
from onereshape.ground.installed import OPENVINO_MISSING
from onereshape.ground.isolation.budget import Limits, limited
from onereshape.prove.engines.engine import Refusal, Session
from onereshape.repair.step import Fixed


def layered(fixed: Fixed, read: Model, given: Model, limit: Limits) -> Fixed:
    """A repair as what was read: of an image as an IR, which OpenVINO loads if nothing has run it; else as it is."""
    if given is read:
        return fixed
    changes = tuple(map(Names(given.ir).of, fixed.changes))
    if fixed.model is given:
        return replace(fixed, model=read, changes=changes)
    made = written_ir(read, fixed.model)
    if fixed.certificate is None:
        with limited(limit):
            _check_loads(made, read)
    return replace(fixed, model=made, changes=changes)


def _check_loads(made: Model, read: Model) -> None:
    """Refuses an IR that its engine does not load; what it does not know in the original either is not asked."""
    why = _unloaded(made)
    if why not in {None, OPENVINO_MISSING} and _unloaded(read) is None:
        raise FixError("engine-refused", engine="openvino", what="load the repaired model", why=why)


def _unloaded(model: Model) -> str | None:
    """Why the engine does not load a model; None where it does."""
    try:
        Session(imaged(model).ir, model.folder)
    except Refusal as said:
        return said.why
    return None


def written_ir(read: Model, fixed: Model) -> Model:
    """The IR that an image has become, with the dims that its values have now."""
    from onereshape.formats.ir_as_onnx.ir_writing import written  # noqa: PLC0415
    from onereshape.formats.openvino.openvino_ir import rewritten  # noqa: PLC0415 - only an IR needs it

    facts = facts_of(fixed.ir)
    known = {
        value: [dim if isinstance(dim, int) else None for dim in facts.dims[value]]
        for value in _values(fixed.ir.graph)
        if value in facts.sizes
    }
    found = written(fixed.ir, known)
    return model_of(rewritten(read, found.root, found.added, found.start))


def _values(graph: ir.Graph) -> Iterator[ir.Value]:
    yield from graph.inputs
    for node in graph:
        yield from node.outputs
