"""Words: every sentence of a certificate, made of its evidence alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from onereshape.prove.evidence import (
    Asked,
    AskedEngine,
    Differs,
    EarlierStep,
    Evidence,
    Failed,
    Formula,
    Held,
    Kind,
    Neighbours,
    NotRun,
    RefusedSize,
    Rounding,
    Terms,
    TimeOver,
    Untestable,
    Unusual,
)
from onereshape.prove.judge import Status, by_runs, judge, shut, still, unseen, unused
from onereshape.prove.seen import Seen, amount
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, said, said_all, said_at

SENTENCES: Final[dict[str, str]] = {
    # what differs
    "value": "output {output!r} differs by {difference}{at}{scale}{on}{moved}{dynamic}",
    "texts": "output {output!r} has other texts{at}{on}{moved}{dynamic}",
    "type": "output {output!r} is {got} and was {wanted}{at}{on}",
    "dims": "output {output!r} has dims {got}{at}{on}, and should have {wanted}",
    "declared": "output {output!r} is declared to have {wanted} at axis {axis}, and has {got}{at}",
    "inferred": "output {output!r} has dims {got}{at}, and {wanted} were inferred",
    "tensors": "only {who} gives {output!r}{at}: its sequence has other tensors",
    "neighbours": "output {output!r} of a sample is another one beside samples that are {values},{at}",
    "mixes": "the original mixes the {size} samples of its batch: output {output!r} of a sample differs by "
    "{difference} beside other samples",
    # what failed
    "not-loaded": "{engine} cannot load the repaired model: {why}",
    "not-run": "{engine} cannot run the repaired model{at}: {why}",
    "names": "the {model} has the {role} {got}, and the original has {wanted}",
    "input-type": "{name!r} is {got} in the {model}, and {wanted} in the original",
    "still-fixed": "input {name!r} still has {size} at axis {axis}, not {symbol}",
    "no-other-size": "the repaired model runs with no other size of {names}{because}",
    # why nothing more is shown
    "one-other-size": "the repaired model runs with only one other size of {names}{because}",
    "not-repeated": "the original does not repeat itself: output {output!r} differs by {difference} on the same values",
    "noisy": "output {output!r} of the original differs from itself by {difference} without optimisations",
    "no-batch-there": "output {output!r} of the original has dims {dims}, and finds no batch there: {where}",
    "value-dims": "the dims of output {output!r} depend on the values that were fed",
    "output-kind": "output {output!r} is a {kind}, and only tensors, sequences and maps are compared",
    "several-axes": "a batch is one name, on one axis of each input that carries it",
    "no-samples": "the original has 0 samples, which say nothing of what one gives",
    "not-fixed": "input {name!r} of the {model} has no fixed size at axis {axis}",
    "two-sizes": "{symbol} is both {one} and {other} in the {model}",
    "no-other-export": "the {model} has the sizes of the original ({export}), and so shows nothing",
    "silent-export": "no output of the {model} ({export}) depends on what is fed, and so it shows nothing",
    "undrawable": "{why}",
}
"""The sentence of each code; a field that a record does not have is empty."""
_SAMPLE: Final = "each output element is the same expression of its own sample's inputs"
_INPUTS: Final = "each output element is the same expression of the inputs"


_TAILS: Final[dict[str, Callable[[Any], str]]] = {
    "at": said_at,
    "difference": amount,
    "scale": lambda scale: f", where its scale is {scale:.3g}" if scale else "",
    "on": lambda values: f", on inputs that are {values}",
    "dynamic": lambda engine: (
        f"; {engine} itself answers otherwise while dims are dynamic: with these sizes fixed the model agrees"
    ),
    "unmet": lambda condition: f"; it only holds if {condition}",
    "because": lambda why: f": {why}",
}
"""How fields that are no text, or come only where there is something to say, are put into a sentence."""


def sentence(record: Differs | Rounding | Failed | Untestable) -> str:
    """The sentence of one record."""
    told = {name: _TAILS[name](value) if name in _TAILS else value for name, value in record.fields.items()}
    if "moved" in told:
        by = f"moved by {told['moved']:.0e} of themselves"
        told["moved"] = f"; output {told['output']!r} is another one too if the inputs are {by}"
    said = SENTENCES[record.code].format_map(dict.fromkeys((*_TAILS, "moved"), "") | told)
    return f"{said}{told.get('unmet', '')}"


def reason(evidence: Iterable[Evidence]) -> str:
    """The sentence of a certificate: what follows, and what was compared; of two steps the sentences of both."""
    seen = Seen(evidence)
    earlier = seen.one(EarlierStep)
    if earlier is not None:
        then = [each for each in seen.evidence if not isinstance(each, EarlierStep)]
        first = f"other dims, {judge(earlier.evidence)}: {reason(earlier.evidence)}"
        return f"{first}; then the batch, beside that model sample by sample, {judge(then)}: {reason(then)}"
    return _REASONS.get(judge(seen.evidence), _unproven)(seen)


def summary(evidence: Iterable[Evidence]) -> str:
    """The status and its sizes in a few words: `certified at N = 1, 2, only ran at N = 3`."""
    seen = Seen(evidence)
    status, earlier, proof = judge(seen.evidence), seen.one(EarlierStep), seen.proof
    compared = f" at {said_all(seen.compared)}" if seen.compared else " nowhere"
    sizes = compared + (f", only ran at {said_all(seen.ran)}" if seen.ran else "")
    if earlier is not None:
        return f"{status} in two steps: {summary(earlier.evidence)}; then the batch{sizes}"
    if status in {"not proven", "differs", "failed", "untested", "out-of-time"}:
        return f"{status}: {reason(seen.evidence)}"
    if status == "fitted":
        return f"fitted on {said_all(seen.fitted)}"
    if status == "proven" and proof is not None:
        return f"proven {proof.where}, compared{sizes}"
    return f"{status}{', compared' if status == 'unwitnessed' else ''}{sizes}"


def account(evidence: Iterable[Evidence]) -> list[tuple[str, str]]:
    """All evidence in words, each record in one row of a kind: `("compared at", "N = 1, 2")`.

    What was measured of outputs is a table of its own.
    """
    seen = Seen(evidence)
    rows: list[tuple[str, Sequence[str]]] = [
        ("shown by", [each.example.sentence for each in seen.all(Differs) if each.example is not None]),
        ("compared at", [said_all(seen.compared)] if seen.compared else []),
        ("only ran at", [said_all(seen.ran)] if seen.ran else []),
        ("did not run at", [f"{said(each.sizes)}: {each.why}" for each in seen.all(RefusedSize)]),
        ("not tried", [f"{said_all(each.sizes)} ({each.why})" for each in seen.all(NotRun)]),
        ("fitted on", [said_all(seen.fitted)] if seen.fitted else []),
        ("exported at", [said(seen.exported)] if seen.exported and not seen.fitted else []),
        ("witnessed at", [said_all(seen.witnesses)] if seen.witnesses else []),
        ("the same in all runs", [held(each) for each in seen.all(Held)]),
        ("unusual values", [each.values for each in seen.all(Unusual)]),
        ("neighbours that change nothing", [each.values for each in seen.all(Neighbours)]),
        ("the original from itself", _tolerances(seen.widened)),
        ("other inputs move", _tolerances(seen.contrasts)),
        ("what differs", [sentence(each) for each in seen.all(Differs)]),
        ("may be rounding", [sentence(each) for each in seen.all(Rounding)]),
        ("what fails", [sentence(each) for each in seen.all(Failed)]),
        ("why no more is shown", [sentence(each) for each in seen.all(Untestable)]),
        ("time", [each.after for each in seen.all(TimeOver)]),
        ("terms", [_terms(each) for each in seen.all(Terms)]),
        ("real numbers", [_reading(each.equivalence) for each in seen.all(Formula)]),
        ("before it", [reason(each.evidence) for each in seen.all(EarlierStep)]),
    ]
    for asked in seen.all(Asked):
        tolerance = f"{asked.relative:g} relative, {asked.absolute:g} of the scale around it"
        rows += [("seed", [str(asked.seed)]), ("tolerance", [tolerance])]
    rows += [("engine", [" beside ".join(each.versions)]) for each in seen.all(AskedEngine)]
    return [(kind, "; ".join(dict.fromkeys(texts))) for kind, texts in rows if texts]


def _tolerances(found: Mapping[str, float]) -> list[str]:
    return [f"{output} by {units:.3g} tolerances" for output, units in found.items()]


def held(record: Held) -> str:
    """What was the same in all runs: `H was always 4`."""
    *others, last = record.names
    if record.what == "equal":
        return f"{', '.join(others)} and {last} were always equal"
    if record.what == "optimiser":
        return f"{last} loads it only where it is told not to optimise it"
    return f"{last if record.what == 'size' else f'input {last!r}'} was always {record.value}"


def claim(kind: Kind, proof: Proof) -> str:
    """The claim of a proof in words: `for all N >= 1 each output element is the same expression of ...`."""
    given = f" (given {', '.join(proof.held)})" if proof.held else ""
    if kind != "batch":
        return f"{f'at {said_all(proof.sizes)} ' if any(proof.sizes) else ''}{_INPUTS}{given}"
    if proof.always:
        return f"{proof.where} {_SAMPLE}{given}"
    symbol = next(iter(proof.sizes[0]))
    why = f" (not shown for all {symbol}: {proof.not_always})" if proof.not_always else ""
    return f"at {said_all(proof.sizes)} {_SAMPLE}{given}{why}"


def _terms(record: Terms) -> str:
    proof = record.proof
    given = f" (given {', '.join(proof.held)})" if proof.held else ""
    return (
        f"beside the {record.beside}, {proof.verdict}{f' {proof.where}{given}' if proof.holds else f': {proof.reason}'}"
    )


def _reading(found: Equivalence) -> str:
    return found.verdict + (f": {found.reason}" if found.reason else "")


# The sentence of each status


def _differing(seen: Seen) -> str:
    return sentence(seen.all(Differs)[0]) if seen.all(Differs) else "; ".join(map(sentence, seen.all(Rounding)))


def _failing(seen: Seen) -> str:
    return sentence(seen.all(Failed)[0])


def until_then(evidence: Iterable[Evidence]) -> str:
    """What was shown when the time was over."""
    seen = Seen(evidence)
    parts = ["nothing was compared"]
    if seen.compared:
        parts = [f"compared at {said_all(seen.compared)}", _largest(seen), *_beside_others(seen)]
    if seen.proof is not None and seen.proof.holds:
        parts.append(f"the terms show that {claim(seen.kind, seen.proof)}")
    return "; ".join(parts)


def _late(seen: Seen) -> str:
    return f"{seen.all(TimeOver)[0].after}: {until_then(seen.evidence)}"


def _not_proven(seen: Seen) -> str:
    real, here = seen.formula, seen.here
    if real is not None and real.verdict == "not equivalent":
        why = real.reason
    else:
        why = f"{'' if here is None else here.reason}{_unread(seen)}"
    drawn = "drawn inputs could not tell" if by_runs(seen) == "untested" else "drawn inputs showed no difference"
    return f"{why}; {drawn}, but others may"


def _proven(seen: Seen) -> str:
    return f"{'' if seen.proof is None else claim(seen.kind, seen.proof)}; {_agreed(seen)}"


def _equivalent(seen: Seen) -> str:
    """The sentence on two models that are one formula of real numbers, and on what the engine showed of rounding."""
    real, here = seen.formula, seen.here
    assert real is not None  # noqa: S101 - the status follows from it
    where = f"at {said_all(real.sizes)} " if any(real.sizes) else ""
    given = f" (given {', '.join(here.held)})" if here is not None and here.held else ""
    claimed = f"{where}the same formula of real numbers{given}; constants agree within {real.tolerance:.0e}"
    if by_runs(seen) != "certified":
        return f"{claimed}; {_agreed(seen)}"
    names = _engines(seen)
    answers = f"the answers of {' and '.join(names)}" if len(names) > 1 else f"{names[0]}'s answers"
    drawn = f"{claimed}; {answers} differ by at most {seen.difference:.2g} on what was drawn"
    return "; ".join([drawn, *map(held, seen.all(Held))])


def _unproven(seen: Seen) -> str:
    """What runs show, and why terms prove no more, or where they do."""
    here, there = seen.here, seen.there
    parts = [_by_runs(seen, "compared")]
    if not seen.compared and not seen.ran:
        return parts[0]
    if here is not None and not here.holds:
        parts.append(f"not proven: {here.reason}{_unread(seen)}")
    elif here is not None and there is not None and not there.holds:
        parts.append(f"proven at {said_all(here.sizes)}, but not beside the witness: {there.reason}")
    elif seen.proof is not None:
        parts.append(f"proven at {said_all(seen.proof.sizes)} only")
    return "; ".join(parts)


_REASONS: Final[dict[Status, Callable[[Seen], str]]] = {
    "differs": _differing,
    "failed": _failing,
    "out-of-time": _late,
    "not proven": _not_proven,
    "proven": _proven,
    "equivalent": _equivalent,
}


def _unread(seen: Seen) -> str:
    """Why the models could not be read as formulas of real numbers."""
    if seen.formula is None or seen.formula.verdict != "unknown":
        return ""
    return f"; whether it is the same formula is not known: {seen.formula.reason}"


def _agreed(seen: Seen) -> str:
    names = _engines(seen)
    who = " and ".join(names)
    if by_runs(seen) == "certified":
        return _by_runs(seen, f"{who} {'agree' if len(names) > 1 else 'agrees'}")
    ran = said_all([*seen.compared, *seen.ran])
    return f"{who} ran it at {ran}, where drawn inputs could not test it: {_by_runs(seen, 'compared')}"


def _engines(seen: Seen) -> list[str]:
    """The engines without their versions: `onnxruntime`."""
    asked = seen.one(AskedEngine)
    return ["the engine"] if asked is None else [*asked.names]


# What runs show


def _by_runs(seen: Seen, agreeing: str) -> str:
    """What the runs show, which tells sizes that were compared from sizes that only ran; `agreeing` begins it."""
    parts = _RUNS[by_runs(seen)](seen, agreeing)
    parts += [f"not compared at {said_all(each.sizes)} ({each.why})" for each in seen.all(NotRun)]
    parts += _beside_others(seen)
    if seen.all(Rounding):
        parts.append(f"but {'; '.join(map(sentence, seen.all(Rounding)))}: the same terms, so it is rounding")
    return "; ".join(parts)


def _untested(seen: Seen, _: str) -> list[str]:
    if seen.all(Untestable):
        return [sentence(seen.all(Untestable)[0])]
    if not seen.counting:
        return ["no output carries the batch" if seen.kind == "batch" else "no output was compared"]
    quiet = {name for names in seen.silent.values() for name in names}
    telling = sum(each.name not in quiet for each in seen.counting)
    if 2 * (len(seen.counting) - telling) <= len(seen.counting):
        return [f"fitted on {said_all(seen.fitted)}, and it had nothing to compare at {said(unseen(seen)[0])}"]
    what = "the sample" if seen.kind == "batch" else "what is fed"
    some = f"only {telling} of {len(seen.counting)} outputs depend" if telling else "no output depends"
    found = "; ".join(f"{why}: {', '.join(names)}" for why, names in seen.silent.items())
    return [f"{some} on {what} ({found})"]


def _fitted(seen: Seen, _: str) -> list[str]:
    on = f"fitted on {said_all(seen.fitted)}, and agrees there"
    return [on, _largest(seen), *_notes(seen), "compared with no other size", *_ran(seen)]


def _unwitnessed(seen: Seen, agreeing: str) -> list[str]:
    sizes, closed = said_all(seen.compared), still(seen)
    where = "the exported size" if len(seen.exported) == 1 else "the exported sizes"
    first = f"{agreeing} at {sizes} ({where})"
    if len(closed) < len(seen.exported):
        first = f"{agreeing} at {sizes}, but with no other {', '.join(closed)} than the exported"
    only = [f"ran at {said_all(seen.ran)}: what it answers there was compared with nothing"] if seen.ran else []
    return [first, *_notes(seen), *only, *_stopped(seen)]


def _certified(seen: Seen, agreeing: str) -> list[str]:
    if not seen.fitted:
        return [f"{agreeing} at {said_all(seen.compared)}", _largest(seen), *_notes(seen), *_ran(seen)]
    on = f"fitted on {said_all(seen.fitted)}, and agrees there too"
    if closed := shut(seen):
        on += f"; no other {', '.join(closed)} than there was compared"
    return [f"{agreeing} at {said_all(unused(seen))}", on, _largest(seen), *_notes(seen), *_ran(seen)]


_RUNS: Final[dict[Status, Callable[[Seen, str], list[str]]]] = {
    "untested": _untested,
    "fitted": _fitted,
    "unwitnessed": _unwitnessed,
    "certified": _certified,
}


def _beside_others(seen: Seen) -> list[str]:
    kinds = len(seen.all(Neighbours))
    return [f"no sample changed beside others of {kinds} kind{'s' if kinds > 1 else ''}"] if kinds else []


def _largest(seen: Seen) -> str:
    return f"the largest difference is {seen.difference:.3g}"


def _notes(seen: Seen) -> list[str]:
    """Outputs that show nothing, outputs that show nothing at some sizes, and what was the same in all runs."""
    found = [f"not tested, {why}: {', '.join(names)}" for why, names in seen.silent.items()]
    found += [f"{name} was empty or not finite at {said_all(sizes)}" for name, sizes in seen.gaps.items()]
    return found + [held(each) for each in seen.all(Held)]


def _ran(seen: Seen) -> list[str]:
    return [*([f"only ran at {said_all(seen.ran)}"] if seen.ran else []), *_stopped(seen)]


def _stopped(seen: Seen) -> list[str]:
    """The sizes at which the repaired model did not run; where nothing was freed it is the original that did not."""
    stopped = [each.sizes for each in seen.all(RefusedSize)] if seen.kind == "other" else []
    return [f"did not run at {said_all(stopped)}"] if stopped else []
