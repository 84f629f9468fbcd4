"""certify(): both models are run, on numbers by onnxruntime and on terms, and a certificate says what follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

import onnx_ir as ir

from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.combining import merged, reason_of, status_of
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.other_runs import Promised
from onereshape.models.certificates.term_runs import batch_terms, freed_terms, fresh_seed, same_terms
from onereshape.models.certificates.drawn_runs import run_drawn
from onereshape.models.certificates.trial import Freed, Progress, Trial
from onereshape.terms.proof import Proof

__all__ = ["Carried", "Certificate", "certify"]


def certify(  # noqa: PLR0913 - what is asked of a certificate
    original: ir.Model,
    repaired: ir.Model,
    freed: Freed,
    *,
    kind: Literal["batch", "other", "same"],
    size: int,
    outputs: Mapping[str, Carried | None],
    base_dir: str,
    promised: Promised | None = None,
    witness: ir.Model | None = None,
    never_empty: Collection[str] = (),
    seed: int = 0,
    term_seed: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Runs both models; a FixError where the engine refuses the original.

    `freed` names the dims as the repaired model declares them, `size` is the original's batch, `outputs` says where
    each output carries it (None: nowhere), `promised` gives the dims of the outputs at given sizes, `never_empty` names
    the dims that are stated to be 1 at least, `base_dir` is the folder of the external data.
    """
    engine = run_drawn(
        original,
        repaired,
        freed,
        kind=kind,
        size=size,
        outputs=outputs,
        base_dir=base_dir,
        promised=promised,
        witness=witness,
        seed=seed,
        progress=progress,
    )
    found, steps = engine.certificate, engine.trial.steps
    if found.status in {"certified", "unwitnessed"} or (found.status == "untested" and engine.trial.ran):
        if progress is not None:
            progress(steps, steps + 1, "terms")
        drawn = fresh_seed() if term_seed is None else term_seed
        found = _combined(found, *_terms(engine.trial, freed, witness, never_empty, drawn))
    if progress is not None:
        progress(steps + 1, steps + 1, found.status)
    return found


def _terms(
    trial: Trial, freed: Freed, witness: ir.Model | None, never_empty: Collection[str], seed: int
) -> tuple[Proof, Proof | None]:
    if trial.kind == "batch":
        places = {name: None if each is None else (each.axis, each.outer) for name, each in trial.outputs.items()}
        return batch_terms(trial, freed, places, seed), None
    if freed:
        return freed_terms(trial, witness, seed)
    return same_terms(trial.original, trial.repaired, trial.settings, seed, never_empty), None


def _combined(engine: Certificate, here: Proof, there: Proof | None) -> Certificate:
    ran = bool(engine.compared or engine.ran)
    status = status_of(
        engine.status,
        here.verdict,
        None if there is None else there.verdict,
        ran=ran,
        witnessed=engine.kind == "other",
    )
    both = here if there is None else merged([here, there])
    return replace(engine, status=status, reason=reason_of(status, engine, here, there), proof=both)
