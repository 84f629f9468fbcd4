"""certify(): both models are run, on numbers by onnxruntime and on terms, and a certificate says what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Final

import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.ground.isolation.budget import OutOfTime, limits
from onereshape.prove.certificate import Certificate
from onereshape.prove.combining import claim, merged, reason_of, status_of
from onereshape.prove.runs.compare import Carried
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.drawn_runs import run_drawn
from onereshape.prove.runs.first_tensor import first_tensor
from onereshape.prove.runs.neighbours import run_company
from onereshape.prove.runs.real_runs import same_formula
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.term_runs import batch_terms, first_terms, freed_terms, fresh_seed, same_terms
from onereshape.prove.runs.trial import Stop, Trial, certificate
from onereshape.prove.runs.verdict import verdict
from onereshape.prove.values.input_roles import fed
from onereshape.terms.batches import LOST_AXIS, NEW_AXIS, BatchAxis
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, said_all

__all__ = ["Carried", "Certificate", "Comparison", "certify"]

_LARGE: Final = 1 << 17
"""Elements of all inputs, a picture of 210 by 210: a run of such a model may take a second."""


def certify(
    original: ir.Model, repaired: ir.Model, freed: Freed, comparison: Comparison, *, base_dir: str
) -> Certificate:
    """Runs both models; a FixError where the engine refuses the original.

    `freed` names the dims as the repaired model declares them, `base_dir` is the folder of the external data.
    """
    told, comparison = comparison.proof, _begun(original, repaired, freed, comparison)
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
        proofs = _terms(engine.trial, freed, comparison, begun=told is None)
        if doubted and proofs[0].holds:
            found = _rounded(engine.trial, found)
        real = _real(engine.trial, comparison) if comparison.real and not proofs[0].holds and not doubted else None
        found = _combined(found, *proofs, real)
        always = found.proof is not None and found.status == "proven" and found.proof.always
        if found.kind == "batch" and found.holds and not always and engine.usual is not None:
            found = _in_company(engine.trial, freed, engine.usual, found)
    elif found.status == "out-of-time" and (known := comparison.proof) is not None and known.holds:
        found = replace(found, reason=f"{found.reason}; the terms show that {claim(found, known)}", proof=known)
    found = _parted(engine.trial, found)
    if progress is not None:
        progress(steps + 1, steps + 1, found.status)
    return found


def _parted(trial: Trial, found: Certificate) -> Certificate:
    """A certificate whose counterexample has the first tensor at which the models part, where both are fed the same."""
    example = found.counterexample
    if example is None or example.models != ("original", "repaired") or example.beside is not example.feeds:
        return found
    first = first_tensor(trial.original, trial.repaired, example.feeds, trial.base_dir)
    return replace(found, counterexample=replace(example, first=first))


def _begun(original: ir.Model, repaired: ir.Model, freed: Freed, comparison: Comparison) -> Comparison:
    """The terms of a batch first, where a run takes long: what they prove for every batch hides behind no gate."""
    if comparison.kind != "batch" or not freed or _elements(original) < _LARGE:
        return comparison
    proof, places = comparison.proof, _places(comparison.outputs)
    if proof is None:
        if comparison.progress is not None:
            comparison.progress(0, 1, "terms")
        seed = fresh_seed() if comparison.term_seed is None else comparison.term_seed
        proof = first_terms(original, repaired, freed, comparison.size, places, seed)
    shown = proof is not None and proof.holds and proof.always and _found(proof) == places
    return replace(comparison, proof=proof, gates=not shown)


def _elements(model: ir.Model) -> int:
    """How many elements the inputs have, as far as they say so."""
    dims = [[dim for dim in value.shape or () if isinstance(dim, int)] for value in fed(model)]
    return sum(prod(max(dim, 1) for dim in each) for each in dims)


def _terms(trial: Trial, freed: Freed, comparison: Comparison, *, begun: bool) -> tuple[Proof, Proof | None]:
    seed = fresh_seed() if comparison.term_seed is None else comparison.term_seed
    if trial.kind == "batch":
        places = _places(trial.outputs)
        if (known := comparison.proof) is not None and (
            _found(known) == places
            or (begun and known.verdict == "not proven" and _places(comparison.outputs) == places)
        ):
            return known, None
        return batch_terms(trial, freed, places, seed), None
    if freed:
        return freed_terms(trial, seed)
    return same_terms(trial.original, trial.repaired, trial.settings, seed, comparison.never_empty), None


def _places(outputs: Mapping[str, Carried | None]) -> dict[str, BatchAxis | None]:
    """Where outputs carry the samples, as the term run is told."""
    return {name: None if each is None else _place(each) for name, each in outputs.items()}


def _found(proof: Proof) -> dict[str, BatchAxis | None]:
    """Where the terms found the samples."""
    return {each.name: None if each.axis is None else (each.axis, each.outer) for each in proof.outputs}


def _rounded(trial: Trial, found: Certificate) -> Certificate:
    """What the engine says where its answers differ a little, and the terms show that this is rounding."""
    status, reason = verdict(trial)
    doubts = "; ".join(trial.doubts.values())
    return replace(
        found, status=status, reason=f"{reason}; but {doubts}: the same terms, so it is rounding", counterexample=None
    )


def _in_company(trial: Trial, freed: Freed, usual: Reference, found: Certificate) -> Certificate:
    """What is not proven for every batch, after larger ones; of what is not proven at all, no bit may change."""
    before = len(trial.compared)
    try:
        words, without, why = run_company(trial, freed, usual, proven=found.status == "proven")
    except Stop as stop:
        return replace(found, status=stop.status, reason=stop.reason, counterexample=stop.example)
    except OutOfTime:
        after = f"after {limits().seconds:g} s"
        if found.status == "proven":
            return replace(found, reason=f"{found.reason}; compared at no larger batch ({after})")
        why = f"{after}: {found.reason}; not compared beside all others"
        return replace(found, status="out-of-time", reason=why)
    trial.extremes += [f"beside samples that are {each}" for each in words]
    more = trial.compared[before:]
    parts = [f"compared at {said_all(more)} too"] if more else []
    parts += [f"not compared at {said_all(without)} ({why})"] if without else []
    parts += [f"no sample changed beside others of {len(words)} kinds"] if words else []
    reason = "; ".join([found.reason, *parts])
    return replace(certificate(trial, found.status, reason), proof=found.proof)


def _place(carried: Carried) -> BatchAxis:
    """The batch axis of the terms for an output that carries N: `Carried(1, 2) -> (1, 2)`, a new axis -> NEW_AXIS."""
    if carried.new is None:
        return carried.axis, carried.outer
    return LOST_AXIS if carried.lost else NEW_AXIS


def _real(trial: Trial, comparison: Comparison) -> Equivalence:
    """Both models as formulas of real numbers, where no expression and no run told them apart or proved them alike."""
    if comparison.progress is not None:
        comparison.progress(trial.steps, trial.steps + 1, "formulas")
    seed = fresh_seed() if comparison.term_seed is None else comparison.term_seed
    return same_formula(trial.original, trial.repaired, trial.settings, seed, comparison.never_empty)


def _combined(engine: Certificate, here: Proof, there: Proof | None, real: Equivalence | None) -> Certificate:
    ran = bool(engine.compared or engine.ran)
    status = status_of(
        engine.status,
        here.verdict,
        None if there is None else there.verdict,
        ran=ran,
        witnessed=engine.kind == "other",
        fitted=bool(engine.fitted),
        real=None if real is None else real.verdict,
    )
    both = here if there is None else merged([here, there])
    reason = reason_of(status, engine, here, there, real)
    return replace(engine, status=status, reason=reason, proof=both, equivalence=real)
