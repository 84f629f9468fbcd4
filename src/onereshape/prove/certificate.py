"""Certificate: a status, and the evidence that it follows from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite
from typing import get_args

from onereshape.ground import notebook
from onereshape.ground.text import JSON, as_json, brief
from onereshape.prove import words
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.evidence import (
    Asked,
    AskedEngine,
    EarlierStep,
    Evidence,
    Held,
    Kind,
    Neighbours,
    RefusedSize,
    Sizes,
    Unusual,
)
from onereshape.prove.judge import Status, judge
from onereshape.prove.seen import OutputAnswer, Seen
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, said


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found when the repaired model was put beside the original, on numbers and on terms.

    `fix` gives one with what it repaired, and `certify` makes one of any two models.

    >>> import onereshape as orx
    >>> model = "tests/data/corpus/hand_cls_token_expand.ts.onnx"
    >>> fixed = orx.fix(model, batch=True)
    >>> orx.certify(model, fixed.model, batch=True)
    Certificate(proven for all N >= 1, compared at N = 1, 2, 3)
    """

    status: Status
    """`proven`: for every input, at the sizes that `proof` names, each output element is the same expression of its own
    sample's inputs, and onnxruntime ran the repaired model and found nothing else; `equivalent`: of two models that
    were both given, each output is the same formula of real numbers, with constants within a tolerance, and the answers
    agree; `certified`: the answers agree with a truth that the repair did not use, at other sizes than the exported one
    if a dim was freed; `fitted`: they agree with the two or more exports that the repair was fitted on, and were
    compared with no other; `unwitnessed`: they agree at the exported size and were compared with nothing elsewhere;
    `untested`: nothing shown either way; `out-of-time`: the time was over before enough was shown, and the reason says
    what was; `not proven`: the terms are another expression, or the formula another one, and no run showed another
    answer; `differs`: a run showed one, and `counterexample` has its input; `failed`: the repaired model does not run,
    or has other inputs or outputs."""
    evidence: tuple[Evidence, ...]
    """The records that it follows from; everything else that a certificate says is read from them."""

    @property
    def _seen(self) -> Seen:
        return Seen(self.evidence)

    @property
    def _asked(self) -> Asked:
        return self._seen.one(Asked) or Asked("same", 0, 0.0, 0.0)

    @property
    def reason(self) -> str:
        """A sentence for people."""
        return words.reason(self.evidence)

    @property
    def summary(self) -> str:
        """The status and its sizes in a few words: `certified at N = 1, 2, only ran at N = 3`."""
        return words.summary(self.evidence)

    @property
    def account(self) -> list[tuple[str, str]]:
        """All evidence in words, as rows of a table."""
        return words.account(self.evidence)

    @property
    def kind(self) -> Kind:
        """What was freed: the batch, other dims, or nothing: the same sizes on both sides."""
        return self._asked.kind

    @property
    def compared(self) -> tuple[Sizes, ...]:
        """The sizes at which the repaired model's answers were put beside another's; {} are those of the original."""
        return self._seen.compared

    @property
    def ran(self) -> tuple[Sizes, ...]:
        """The sizes at which it was only seen to run, and to have the dims that were inferred."""
        return self._seen.ran

    @property
    def outputs(self) -> tuple[OutputAnswer, ...]:
        """What came out, output by output."""
        return self._seen.outputs

    @property
    def refused(self) -> tuple[RefusedSize, ...]:
        """Sizes that were tried and that the engine refuses."""
        return tuple(self._seen.all(RefusedSize))

    @property
    def held(self) -> tuple[str, ...]:
        """What was the same in all runs, as nothing else was taken, and how the engine had to be asked."""
        return tuple(map(words.held, self._seen.all(Held)))

    @property
    def extremes(self) -> tuple[str, ...]:
        """The values beyond the usual on which they were compared too, as far as the original takes them."""
        beside = [f"beside samples that are {each.values}" for each in self._seen.all(Neighbours)]
        return (*(each.values for each in self._seen.all(Unusual)), *beside)

    @property
    def fitted(self) -> tuple[Sizes, ...]:
        """The sizes of the exports that it was fitted on, the original first; none where it was fitted on no other."""
        return self._seen.fitted

    @property
    def witnesses(self) -> tuple[Sizes, ...]:
        """The sizes of exports that the repair did not use."""
        return self._seen.witnesses

    @property
    def seed(self) -> int:
        """What the inputs were drawn from."""
        return self._asked.seed

    @property
    def engine(self) -> str:
        """Which engine ran both models, and its version."""
        engine = self._seen.one(AskedEngine)
        return "" if engine is None else " beside ".join(engine.versions)

    @property
    def relative(self) -> float:
        """The tolerance of a float, relative to itself."""
        return self._asked.relative

    @property
    def absolute(self) -> float:
        """The tolerance of a float, relative to the scale around it (at most this much)."""
        return self._asked.absolute

    @property
    def proof(self) -> Proof | None:
        """What the term run showed; None where it was not made."""
        return self._seen.proof

    @property
    def basis(self) -> Certificate | None:
        """The certificate of the step before: where other dims were freed first, and then the batch of that model."""
        earlier = self._seen.one(EarlierStep)
        return None if earlier is None else judged(earlier.evidence)

    @property
    def equivalence(self) -> Equivalence | None:
        """What the reading as formulas of real numbers showed; None where it was not asked for, or not needed."""
        return self._seen.formula

    @property
    def counterexample(self) -> Counterexample | None:
        """An input that shows the difference, where the status is `differs`."""
        if self.status != "differs":
            return None
        return self._seen.example or (None if (basis := self.basis) is None else basis.counterexample)

    @property
    def holds(self) -> bool:
        """Whether the repaired model may be used in place of the original."""
        return self.status in {"proven", "equivalent", "certified"}

    @property
    def for_all(self) -> bool:
        """Whether the repair is proven for every batch, and not at a few sizes only."""
        return self.status == "proven" and (proof := self.proof) is not None and proof.always

    @property
    def suffices(self) -> bool:
        """Whether `fix` writes the model without being told to: it holds, or agrees with all that it was fitted on."""
        return self.holds or self.status == "fitted"

    @property
    def difference(self) -> float:
        """The largest absolute difference of all outputs."""
        return self._seen.difference

    def __repr__(self) -> str:
        return brief("Certificate", self.summary)

    def _repr_html_(self) -> str:
        """The outputs and the sizes, for notebooks."""
        rows = [
            (output.name, "" if output.axis is None else str(output.axis), f"{output.difference:.3g}")
            for output in self.outputs
        ]
        refused = [(said(each.sizes) or "the sizes of the original", each.why) for each in self.refused]
        return notebook.block(
            f"Certificate: {self.status}",
            self.reason,
            notebook.table(("output", "axis of the batch", "largest difference"), rows),
            notebook.table(("refused at", "why"), refused),
            notebook.lines([f"{self.engine}, inputs drawn from seed {self.seed}"]),
        )

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines; a difference that is no number (NaN against a number) is null."""
        parts = {"basis": self.basis, "equivalence": self.equivalence, "counterexample": self.counterexample}
        told = {name: getattr(self, name) for name in _FIELDS}
        told |= {name: None if part is None else part.to_json() for name, part in parts.items()}
        return {name: as_json(_plain(value)) for name, value in told.items()}


_FIELDS = (
    *("status", "reason", "kind", "compared", "ran", "outputs", "refused", "held", "extremes", "fitted", "witnesses"),
    *("seed", "engine", "relative", "absolute", "proof", "evidence"),
)
"""What machines are told by name, beside the parts that tell themselves."""


def judged(evidence: Iterable[Evidence]) -> Certificate:
    """The certificate that follows from evidence."""
    records = (*evidence,)
    return Certificate(judge(records), records)


def joined(first: Certificate | None, second: Certificate | None) -> Certificate | None:
    """The certificate of two steps, other dims and then the batch: their evidence together.

    A step that changed nothing has none.
    """
    if first is None or second is None:
        return first or second
    return judged((EarlierStep(first.evidence), *second.evidence))


def _plain(value: object) -> object:
    """Records as plain data: evidence with the kind of each, numbers that are none as null."""
    if isinstance(value, Counterexample | Equivalence | Proof):
        return value.to_json()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        kind = {"record": KINDS[type(value)]} if type(value) in KINDS else {}
        return kind | {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return value


KINDS = {kind: re.sub("(?<!^)(?=[A-Z])", "-", kind.__name__).lower() for kind in get_args(Evidence)}
"""The kinds of evidence as machines are told them: `compared`, `only-ran`."""
