"""run_drawn(): both models are run by onnxruntime on drawn values, and put beside each other.

Whatever is not shown is not certified: a model that differs, one that does not run, and one whose outputs are the same
whatever it is fed get a certificate that says so, and that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.ground.isolation.budget import OutOfTime
from onereshape.prove.certificate import Certificate
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.runs.batch_runs import run_batch
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.other_runs import run_other
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.same_runs import run_same
from onereshape.prove.runs.trial import Stop, Trial, certificate, check_interface
from onereshape.prove.runs.verdict import until_then, verdict
from onereshape.prove.values.draw import Undrawable
from onereshape.prove.values.input_roles import fed
from onereshape.prove.values.naming import with_named_dims


@dataclass(frozen=True, slots=True)
class Drawn:
    """The certificate of the engine's runs alone, and the trial that led to it."""

    certificate: Certificate
    trial: Trial
    usual: Reference | None = None
    """The original's answers to usual values, where a batch was freed and nothing differs."""


def run_drawn(original: ir.Model, repaired: ir.Model, freed: Freed, comparison: Comparison, *, base_dir: str) -> Drawn:
    """Runs both models on values drawn to suit the original; a FixError where the engine refuses the original.

    `freed` names the dims as the repaired model declares them, `base_dir` is the folder of the external data.
    """
    batch = comparison.kind == "batch"
    size, known = (comparison.size, comparison.outputs) if batch else (1, {})
    original, repaired = with_named_dims(original), with_named_dims(repaired)
    fitted, witnesses = (tuple(map(with_named_dims, each)) for each in (comparison.fitted, comparison.witnesses))
    comparison = replace(comparison, fitted=fitted, witnesses=witnesses)
    trial = Trial(
        original,
        repaired,
        comparison.kind,
        size,
        known,
        base_dir,
        comparison.seed,
        comparison.progress,
        comparison.gates,
    )
    usual: Reference | None = None
    example: Counterexample | None = None
    try:
        check_interface(original, repaired, "repaired model")
        _check_free(repaired, freed)
        if batch:
            usual = run_batch(trial, freed)
        elif freed:
            run_other(trial, freed, comparison)
        else:
            run_same(trial)
        status, reason = verdict(trial)
        if trial.doubts:
            status, reason = "differs", "; ".join(trial.doubts.values())
            example = next(iter(trial.shown.values()), None)
    except Stop as stop:
        status, reason, example = stop.status, stop.reason, stop.example
    except Undrawable as why:
        status, reason = "untested", str(why)
    except OutOfTime:
        status, reason = "out-of-time", until_then(trial)
    return Drawn(certificate(trial, status, reason, example), trial, usual)


def _check_free(repaired: ir.Model, freed: Freed) -> None:
    for value in fed(repaired):
        for axis, symbol in freed.get(value.name or "", {}).items():
            dim = None if value.shape is None else value.shape[axis]
            if isinstance(dim, int):
                raise Stop("failed", f"input {value.name!r} still has {dim} at axis {axis}, not {symbol}")
