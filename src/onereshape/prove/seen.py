"""Seen: what evidence says together; the order of its records does not matter, nor how often they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TypeVar

from onereshape.ground.text import brief, shown
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.evidence import (
    CLEARLY,
    Asked,
    Carried,
    Compared,
    Contrast,
    Differs,
    Evidence,
    Exported,
    FittedOn,
    Formula,
    Kind,
    Measured,
    Noise,
    Ran,
    Rounding,
    Sizes,
    Terms,
    Witnessed,
)
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, Verdict

OfKind = TypeVar("OfKind")


@dataclass(frozen=True, slots=True)
class OutputAnswer:
    """The comparison of an output, over all runs."""

    name: str
    """What the model calls it."""
    axis: int | None
    """The axis that carries N, None where there is none."""
    difference: float
    """The largest absolute difference."""
    scale: float
    """The largest magnitude in the original's answers."""
    blind: bool
    """Whether all samples had the same answer, so that a comparison shows nothing."""
    elements: int = 0
    """How many elements were compared: finite ones, over all runs; with none it shows nothing either."""
    widened: float = 1.0
    """By what the tolerance was multiplied, because the original differs that much from itself."""
    outer: int = 1
    """How many times the samples follow one another along the axis."""
    new: int | None = None
    """The rank of one sample, where the axis is a new one."""

    def __repr__(self) -> str:
        where = "no batch" if self.axis is None else f"batch at axis {self.axis}"
        difference = f"difference {self.difference:.3g} of {self.scale:.3g}"
        return brief("OutputAnswer", shown(self.name, 40), where, difference, f"{self.elements} elements")


class Seen:
    """A collection of evidence, by what it says together: the order of its records and their number do not matter."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        self.evidence = (*evidence,)

    def all(self, kind: type[OfKind]) -> list[OfKind]:
        """The records of one kind, without repetitions."""
        found: list[OfKind] = []
        for each in self.evidence:
            if isinstance(each, kind) and each not in found:
                found.append(each)
        return found

    def one(self, kind: type[OfKind]) -> OfKind | None:
        """The record of a kind of which there is one."""
        return next((each for each in self.evidence if isinstance(each, kind)), None)

    @cached_property
    def kind(self) -> Kind:
        """What was freed."""
        asked = self.one(Asked)
        return "same" if asked is None else asked.kind

    @cached_property
    def compared(self) -> tuple[Sizes, ...]:
        """The sizes at which anything was compared."""
        return _once(each.sizes for each in self.all(Compared) if any(output.elements for output in each.outputs))

    @cached_property
    def ran(self) -> tuple[Sizes, ...]:
        """The sizes at which the repaired model ran, and nothing was compared."""
        ran: list[Sizes] = [each.sizes for each in self.evidence if isinstance(each, (Compared, Ran))]
        return tuple(sizes for sizes in _once(ran) if sizes not in self.compared)

    @cached_property
    def exported(self) -> Sizes:
        """The sizes of freed dims in the original."""
        found = self.one(Exported)
        return {} if found is None else found.sizes

    @cached_property
    def fitted(self) -> tuple[Sizes, ...]:
        """The freed sizes of the exports that the repair was made from, the original's first; none of one alone."""
        others = _once(each.sizes for each in self.all(FittedOn))
        return (self.exported, *others) if others else ()

    @cached_property
    def witnesses(self) -> tuple[Sizes, ...]:
        """The freed sizes of the exports that the repair did not use."""
        return _once(each.sizes for each in self.all(Witnessed))

    @cached_property
    def measured(self) -> dict[str, list[tuple[Sizes, Measured]]]:
        """Each output with all that was measured of it, and the sizes of that run."""
        found: dict[str, list[tuple[Sizes, Measured]]] = {}
        for run in (each for each in self.evidence if isinstance(each, Compared)):
            for output in run.outputs:
                found.setdefault(output.name, []).append((run.sizes, output))
        return found

    @cached_property
    def outputs(self) -> tuple[OutputAnswer, ...]:
        """What came out, output by output."""
        asked = self.one(Asked)
        places = {} if asked is None else asked.outputs
        return tuple(
            self._output(name, places.get(name), [each for _, each in runs]) for name, runs in self.measured.items()
        )

    @cached_property
    def contrasts(self) -> dict[str, float]:
        """How far apart the answers of each output to different values were, in tolerances."""
        found: dict[str, float] = {}
        for each in self.evidence:
            if isinstance(each, Contrast):
                found[each.output] = max(found.get(each.output, 0.0), each.units)
        return found

    @cached_property
    def widened(self) -> dict[str, float]:
        """By what the tolerance of each output is multiplied that the original does not repeat."""
        found: dict[str, float] = {}
        for each in self.evidence:
            if isinstance(each, Noise):
                found[each.output] = max(found.get(each.output, 1.0), each.factor)
        return found

    def _output(self, name: str, carried: Carried | None, runs: Sequence[Measured]) -> OutputAnswer:
        widened = self.widened.get(name, 1.0)
        return OutputAnswer(
            name,
            None if carried is None else carried.axis,
            max(each.difference for each in runs),
            max(each.scale for each in runs),
            any(each.counts for each in runs) and self.contrasts.get(name, 0.0) <= CLEARLY * widened,
            sum(each.elements for each in runs),
            widened,
            1 if carried is None else carried.outer,
            None if carried is None else carried.new,
        )

    @cached_property
    def counting(self) -> list[OutputAnswer]:
        """The outputs that can show anything."""
        counts = {name for name, runs in self.measured.items() if any(each.counts for _, each in runs)}
        return [each for each in self.outputs if each.name in counts]

    @cached_property
    def silent(self) -> dict[str, list[str]]:
        """Outputs that show nothing, by the reason."""
        same = "the same for all samples" if self.kind == "batch" else "the same whatever is fed"
        found: dict[str, list[str]] = {"empty in every run": [], "never finite": [], same: []}
        for each in self.outputs:
            if not each.elements:
                entries = any(one.entries for _, one in self.measured[each.name])
                found["never finite" if entries else "empty in every run"].append(each.name)
            elif each.blind:
                found[same].append(each.name)
        return {why: names for why, names in found.items() if names}

    @cached_property
    def gaps(self) -> dict[str, list[Sizes]]:
        """The sizes, of those that were compared, at which an output had nothing to compare."""
        found = {}
        for name, runs in self.measured.items():
            seen = [sizes for sizes, one in runs if one.elements]
            missing = [sizes for sizes in self.compared if sizes not in seen]
            if seen and missing:
                found[name] = missing
        return found

    @cached_property
    def difference(self) -> float:
        """The largest absolute difference of all outputs."""
        return max((each.difference for each in self.outputs), default=0.0)

    @cached_property
    def here(self) -> Proof | None:
        """What terms show beside the original, and what else the repair was made from."""
        found = [each.proof for each in self.all(Terms) if each.beside == "original"]
        return merged(found) if found else None

    @cached_property
    def there(self) -> Proof | None:
        """What terms show beside witnesses."""
        found = [each.proof for each in self.all(Terms) if each.beside == "witness"]
        return merged(found) if found else None

    @cached_property
    def proof(self) -> Proof | None:
        """All that terms show."""
        found = [each.proof for each in self.all(Terms)]
        return merged(found) if found else None

    @cached_property
    def formula(self) -> Equivalence | None:
        """What the reading as real numbers shows: the weakest verdict, if there are several."""
        order = ("not equivalent", "unknown", "equivalent")
        found = [each.equivalence for each in self.all(Formula)]
        return min(found, key=lambda each: order.index(each.verdict), default=None)

    @cached_property
    def example(self) -> Counterexample | None:
        """An input that shows a difference."""
        found = (each.example for each in self.evidence if isinstance(each, (Differs, Rounding)))
        return next((each for each in found if each is not None), None)


def _once(sizes: Iterable[Sizes]) -> tuple[Sizes, ...]:
    found: list[Sizes] = []
    for each in sizes:
        if each not in found:
            found.append(dict(each))
    return tuple(found)


def merged(proofs: Sequence[Proof]) -> Proof:
    """Several proofs as one, which holds if all of them do; at least one must be given."""
    order: dict[Verdict, int] = {"other": 0, "not proven": 1, "proven": 2}
    worst = min(proofs, key=lambda each: order[each.verdict])
    sizes = {tuple(each.items()): each for proof in proofs for each in proof.sizes}
    outputs = {each.name: each for proof in reversed(proofs) for each in proof.outputs}
    totals = Counter[str]()
    for proof in proofs:
        totals.update({each.name: each.elements for each in proof.outputs})
    return Proof(
        worst.verdict,
        worst.reason,
        tuple(sizes.values()),
        all(proof.always for proof in proofs),
        next((proof.not_always for proof in proofs if proof.not_always), ""),
        tuple(dict.fromkeys(each for proof in proofs for each in proof.held)),
        tuple(replace(each, elements=totals[name]) for name, each in sorted(outputs.items())),
        worst.seed,
        any(proof.mixed for proof in proofs),
    )


def amount(difference: float) -> str:
    """A difference as a sentence names it."""
    return f"{difference:.3g}" if difference < inf else "a value that is not finite"
