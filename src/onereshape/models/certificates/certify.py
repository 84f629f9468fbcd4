"""certify(): both models are run, on numbers by onnxruntime and on terms, and a certificate says what follows."""

from __future__ import annotations

from dataclasses import replace

import onnx_ir as ir

from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.combining import merged, reason_of, status_of
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.certificates.term_runs import batch_terms, freed_terms, fresh_seed, same_terms
from onereshape.models.certificates.drawn_runs import run_drawn
from onereshape.models.certificates.trial import Freed, Trial
from onereshape.models.certificates.verdict import verdict
from onereshape.terms.batches import NEW_AXIS, Place
from onereshape.terms.proof import Proof

__all__ = ["Carried", "Certificate", "Comparison", "certify"]


def certify(
    original: ir.Model, repaired: ir.Model, freed: Freed, comparison: Comparison, *, base_dir: str
) -> Certificate:
    """Runs both models; a FixError where the engine refuses the original.

    `freed` names the dims as the repaired model declares them, `base_dir` is the folder of the external data.
    """
    engine = run_drawn(original, repaired, freed, comparison, base_dir=base_dir)
    progress = comparison.progress
    found, steps = engine.certificate, engine.trial.steps
    doubted = found.status == "differs" and bool(engine.trial.doubts)
    if (
        doubted
        or found.status in {"certified", "fitted", "unwitnessed"}
        or (found.status == "untested" and engine.trial.ran)
    ):
        if progress is not None:
            progress(steps, steps + 1, "terms")
        proofs = _terms(engine.trial, freed, comparison)
        if doubted and proofs[0].holds:
            found = _rounded(engine.trial, found)
        found = _combined(found, *proofs)
    if progress is not None:
        progress(steps + 1, steps + 1, found.status)
    return found


def _terms(trial: Trial, freed: Freed, comparison: Comparison) -> tuple[Proof, Proof | None]:
    seed = fresh_seed() if comparison.term_seed is None else comparison.term_seed
    if trial.kind == "batch":
        places = {name: None if each is None else _place(each) for name, each in trial.outputs.items()}
        return batch_terms(trial, freed, places, seed), None
    if freed:
        return freed_terms(trial, seed)
    return same_terms(trial.original, trial.repaired, trial.settings, seed, comparison.never_empty), None


def _rounded(trial: Trial, found: Certificate) -> Certificate:
    """What the engine says where its answers differ a little, and the terms show that this is rounding."""
    status, reason = verdict(trial)
    doubts = "; ".join(trial.doubts.values())
    return replace(found, status=status, reason=f"{reason}; {doubts}: the same terms, so it is rounding")


def _place(carried: Carried) -> Place:
    """Where an output carries the samples, as the term run is told."""
    return (carried.axis, carried.outer) if carried.new is None else NEW_AXIS


def _combined(engine: Certificate, here: Proof, there: Proof | None) -> Certificate:
    ran = bool(engine.compared or engine.ran)
    status = status_of(
        engine.status,
        here.verdict,
        None if there is None else there.verdict,
        ran=ran,
        witnessed=engine.kind == "other",
        fitted=bool(engine.fitted),
    )
    both = here if there is None else merged([here, there])
    return replace(engine, status=status, reason=reason_of(status, engine, here, there), proof=both)
