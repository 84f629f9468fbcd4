"""first_tensor(): the first tensor at which two models part on one input, of those that have one name in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import onnx_ir as ir

from onereshape.ground.isolation.budget import OutOfTime
from onereshape.prove.engines.engine import Array, Refusal, Session, engine_of, folder_of
from onereshape.prove.engines.inside import elements_inside
from onereshape.prove.runs.compare import Meter, scale_of, tolerances
from onereshape.prove.runs.reference import coarsest

_MOST: Final = 1 << 27
"""Elements of all values of a run, all of which are held at once here."""


def first_tensor(original: ir.Model, repaired: ir.Model, feeds: Mapping[str, Array], base_dir: str) -> str:
    """The name of the tensor; empty where none parts, or where the models cannot be asked for what is in between."""
    if any(engine_of(each) != "onnxruntime" or elements_inside(each, feeds) > _MOST for each in (original, repaired)):
        return ""
    wanted = {*_made(original)}
    names = [name for name in _made(repaired) if name in wanted]
    try:
        before, after = (_all(each, names, feeds, folder_of(each) or base_dir) for each in (original, repaired))
    except (Refusal, OutOfTime):
        return ""
    rounding = coarsest(original)
    return next((name for name in names if _part(name, before.get(name), after.get(name), rounding)), "")


def _made(model: ir.Model) -> list[str]:
    """The names of all tensors that nodes of the main graph make, in order."""
    values = (value for node in model.graph for value in node.outputs)
    return [value.name for value in values if value.name and not isinstance(value.type, ir.SequenceType)]


def _all(model: ir.Model, names: list[str], feeds: Mapping[str, Array], base_dir: str) -> dict[str, Array]:
    """These tensors, as the engine calculates them where it rewrites nothing."""
    copy, asked = model.clone(), {*names} - {value.name for value in model.graph.outputs}
    copy.graph.outputs.extend(value for node in copy.graph for value in node.outputs if value.name in asked)
    return Session(copy, base_dir, optimize=False).run(feeds)


def _part(name: str, before: Array | None, after: Array | None, rounding: float) -> bool:
    """Whether two tensors are farther apart than answers may be."""
    if before is None or after is None:
        return False
    if before.shape != after.shape or before.dtype != after.dtype:
        return True
    meter = Meter(name, None, scale_of([before[None]]), *tolerances(before.dtype, rounding))
    return meter.distance(after[None], before[None]).units > 1
