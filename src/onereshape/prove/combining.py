"""The status that follows from the engine's runs and from the terms together, and the reason in words.

An engine that disagrees is right.  Terms that differ are another expression, which no answer of an engine makes good
and which need not be another answer: not proven.  Where nothing was freed both are read once more as formulas of real
numbers, and then that reading decides; where neither can follow a model, the engine's runs do.  What is proven still
has to run: an engine's refusals and roundings are seen by the engine alone.
"""

from __future__ import annotations

from dataclasses import replace

from onereshape.prove.certificate import Certificate, Status
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, Verdict, said_all

_SAMPLE = "each output element is the same expression of its own sample's inputs"
_INPUTS = "each output element is the same expression of the inputs"


def status_of(  # noqa: PLR0913 - what it follows from
    engine: Status,
    here: Verdict | None,
    there: Verdict | None,
    *,
    ran: bool,
    witnessed: bool,
    fitted: bool = False,
    real: str | None = None,
) -> Status:
    """The status, from the engine's, from that of the terms, and from that of the terms at a witness's sizes.

    `ran`: whether the engine ran the repaired model; `witnessed`: whether nothing is proven without a witness;
    `fitted`: whether its constants are calculated where the exports have them folded, with roundings of their own, so
    that another expression need not be another answer; `real`: the verdict of the reading as real numbers, where it
    was asked for.

    >>> status_of("certified", "other", None, ran=True, witnessed=False)
    'not proven'
    >>> status_of("untested", "proven", None, ran=True, witnessed=False)
    'proven'
    >>> [
    ...     status_of("certified", "other", None, ran=True, witnessed=False, real=each)
    ...     for each in ("equivalent", "not equivalent", "unknown")
    ... ]
    ['equivalent', 'not proven', 'not proven']
    >>> status_of("certified", "not proven", None, ran=True, witnessed=False, real="unknown")
    'certified'
    """
    if engine in {"differs", "failed"}:
        return engine
    if real == "not equivalent" or (here == "other" and not fitted and real != "equivalent"):
        return "not proven"
    proven = here == "proven" and (there == "proven" if witnessed else there in {None, "proven"})
    if engine == "certified" or (engine == "untested" and ran):
        return "proven" if proven else "equivalent" if real == "equivalent" else engine
    return engine


def reason_of(
    status: Status, engine: Certificate, here: Proof | None, there: Proof | None, real: Equivalence | None = None
) -> str:
    """The sentence for people; what the engine compared and what only ran stay apart in it."""
    if here is None or engine.status in {"differs", "failed"}:
        return engine.reason
    if status == "not proven":
        if real is None or real.verdict == "unknown":
            return _differing(engine, f"{here.reason}{_unread(real)}")
        return _differing(engine, real.reason)
    if status == "equivalent" and real is not None:
        return _formula(engine, here, real)
    if status == "proven":
        return f"{claim(engine, here if there is None else merged([here, there]))}; {_agreed(engine)}"
    return f"{engine.reason}; {_beside(here, there)}{_unread(real)}"


def _unread(real: Equivalence | None) -> str:
    """The part of a reason that says why the models could not be read as formulas of real numbers."""
    return "" if real is None else f"; whether it is the same formula is not known: {real.reason}"


def _formula(engine: Certificate, here: Proof, real: Equivalence) -> str:
    """The sentence on two models that are one formula of real numbers, and on what the engine showed of rounding."""
    where = f"at {said_all(real.sizes)} " if any(real.sizes) else ""
    given = f" (given {', '.join(here.held)})" if here.held else ""
    claimed = f"{where}the same formula of real numbers{given}; constants agree within {real.tolerance:.0e}"
    if engine.status != "certified":
        return f"{claimed}; {_agreed(engine)}"
    name = _engines(engine)
    answers = f"the answers of {name}" if " beside " in engine.engine else f"{name}'s answers"
    drawn = f"{claimed}; {answers} differ by at most {engine.difference:.2g} on what was drawn"
    return "; ".join([drawn, *engine.held])


def _beside(here: Proof, there: Proof | None) -> str:
    """The part of a reason that says where the terms prove less than was asked: `proven at N = 1, 2 only`."""
    if not here.holds:
        return f"not proven: {here.reason}"
    where = said_all(here.sizes)
    if there is None or there.holds:
        return f"proven at {said_all((here if there is None else merged([here, there])).sizes)} only"
    return f"proven at {where}, but not beside the witness: {there.reason}"


def claim(engine: Certificate, proof: Proof) -> str:
    """The claim of a proof in words: `for all N >= 1 each output element is the same expression of ...`."""
    given = f" (given {', '.join(proof.held)})" if proof.held else ""
    what = _SAMPLE if engine.kind == "batch" else _INPUTS
    if engine.kind != "batch":
        return f"{f'at {said_all(proof.sizes)} ' if any(proof.sizes) else ''}{what}{given}"
    symbol = next(iter(proof.sizes[0]))
    if not proof.always:
        why = f" (not shown for all {symbol}: {proof.not_always})" if proof.not_always else ""
        return f"at {said_all(proof.sizes)} {what}{given}{why}"
    return f"{proof.where} {what}{given}"


def merged(proofs: list[Proof]) -> Proof:
    """Several proofs as one, which holds if all of them do; at least one must be given."""
    order: dict[Verdict, int] = {"other": 0, "not proven": 1, "proven": 2}
    worst = min(proofs, key=lambda each: order[each.verdict])
    sizes = {tuple(each.items()): each for proof in proofs for each in proof.sizes}
    outputs = {each.name: each for proof in reversed(proofs) for each in proof.outputs}
    totals = {
        name: sum(each.elements for proof in proofs for each in proof.outputs if each.name == name) for name in outputs
    }
    return Proof(
        worst.verdict,
        worst.reason,
        tuple(sizes.values()),
        all(proof.always for proof in proofs),
        next((proof.not_always for proof in proofs if proof.not_always), ""),
        tuple(dict.fromkeys(each for proof in proofs for each in proof.held)),
        tuple(replace(each, elements=totals[name]) for name, each in sorted(outputs.items())),
        worst.seed,
    )


def _agreed(engine: Certificate) -> str:
    name, verb = _engines(engine), "agree" if " beside " in engine.engine else "agrees"
    if engine.status == "certified":
        return f"{name} {verb}{engine.reason.removeprefix('compared')}"
    ran = said_all([*engine.compared, *engine.ran])
    return f"{name} ran it at {ran}, where drawn inputs could not test it: {engine.reason}"


def _engines(engine: Certificate) -> str:
    """The engines without their versions: `onnxruntime`, `onnxruntime and openvino`."""
    return " and ".join(each.partition(" ")[0] for each in engine.engine.split(" beside "))


def _differing(engine: Certificate, reason: str) -> str:
    drawn = "drawn inputs showed no difference" if engine.status != "untested" else "drawn inputs could not tell"
    return f"{reason}; {drawn}, but others may"
