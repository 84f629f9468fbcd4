"""fixed_agrees(): whether an engine answers a model otherwise only as long as its dims are dynamic.

OpenVINO calculates some models in another way where dims are fixed (it fuses attention, converts types) and is wrong in
one of both.  Then the repaired model differs from the original, and no repair is to blame.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onereshape.prove.engines.engine import Array, Refusal, Session, engine_of
from onereshape.prove.runs.compare import Meter, samples
from onereshape.prove.runs.trial import Answers, Trial


def fixed_agrees(trial: Trial, meters: Mapping[str, Meter], feeds: Answers, wanted: Answers) -> bool:
    """Whether the repaired model, with its dims fixed to those that are fed, gives what the original does."""
    if engine_of(trial.repaired) != "openvino":
        return False
    fixed = trial.repaired.clone()
    for value in fixed.graph.inputs:
        value.shape = ir.Shape(feeds[value.name or ""].shape)
    try:
        got = Session(fixed, trial.base_dir).run(feeds)
    except Refusal:
        return False
    return all(_agrees(meter, got[name], wanted[name]) for name, meter in meters.items())


def _agrees(meter: Meter, got: Array, wanted: Array) -> bool:
    split = samples(got, meter.carried, len(wanted))
    rows = [wanted] if meter.carried else [wanted[place : place + 1] for place in range(len(wanted))]
    return split is not None and all(split.shape == row.shape and meter.distance(split, row).units <= 1 for row in rows)
