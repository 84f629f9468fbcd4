"""Certificate: the sizes that were compared, or only ran, the differences found, and the status that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Literal

from onereshape.ground import notebook
from onereshape.ground.text import JSON, as_json, brief, shown
from onereshape.prove.counterexample import Counterexample
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, said, said_all

Status = Literal[
    "proven",
    "equivalent",
    "certified",
    "fitted",
    "unwitnessed",
    "untested",
    "out-of-time",
    "not proven",
    "differs",
    "failed",
]


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


@dataclass(frozen=True, slots=True)
class RefusedSize:
    """Sizes at which the engine does not run the repaired model."""

    sizes: Mapping[str, int]
    """The size of each dim by its name."""
    why: str
    """The engine's message."""

    def __repr__(self) -> str:
        return brief("RefusedSize", f"{said(self.sizes) or 'the sizes of the original'}: {self.why}")


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was found when the repaired model was put beside the original, on numbers and on terms.

    `fix` gives one with what it repaired, and `certify` makes one of any two models.

    >>> import onereshape as orx
    >>> model = "tests/data/corpus/hand_cls_token_expand.ts.onnx"
    >>> fixed = orx.fix(model, batch=True)
    >>> orx.certify(model, fixed.model, batch=True)
    Certificate(proven for all N >= 1, compared at N = 1, 2, 3, 5)
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
    reason: str
    """A sentence for people."""
    kind: Literal["batch", "other", "same"]
    """What was freed: the batch, other dims, or nothing: the same sizes on both sides."""
    compared: tuple[Mapping[str, int], ...]
    """The sizes at which the repaired model's answers were put beside another's; {} are those of the original."""
    ran: tuple[Mapping[str, int], ...]
    """The sizes at which it was only seen to run, and to have the dims that were inferred."""
    outputs: tuple[OutputAnswer, ...]
    """What came out, output by output."""
    refused: tuple[RefusedSize, ...]
    """Sizes that were tried and that the engine refuses."""
    held: tuple[str, ...]
    """What was the same in all runs: a dim or an input that serves as a size, as the original took nothing else; and
    how the engine had to be asked, if it does not load the repaired model otherwise."""
    extremes: tuple[str, ...]
    """The values beyond the usual on which they were compared too, as far as the original takes them."""
    fitted: tuple[Mapping[str, int], ...]
    """The sizes of the exports that it was fitted on, the original first; none where it was fitted on no other."""
    witnesses: tuple[Mapping[str, int], ...]
    """The sizes at which exports that the repair did not use confirmed it."""
    seed: int
    """What the inputs were drawn from."""
    engine: str
    """Which engine ran both models, and its version."""
    relative: float
    """The tolerance of a float, relative to itself."""
    absolute: float
    """The tolerance of a float, relative to the scale around it (at most this much)."""
    proof: Proof | None = None
    """What the term run showed; None where it was not run, as onnxruntime had shown enough."""
    basis: Certificate | None = None
    """The certificate of the step before: where other dims were freed first, and then the batch of that model."""
    equivalence: Equivalence | None = None
    """What the reading as formulas of real numbers showed; None where it was not asked for, or not needed."""
    counterexample: Counterexample | None = None
    """An input that shows the difference, where the status is `differs`."""

    @property
    def holds(self) -> bool:
        """Whether the repaired model may be used in place of the original."""
        return self.status in {"proven", "equivalent", "certified"}

    @property
    def for_all(self) -> bool:
        """Whether the repair is proven for every batch, and not at a few sizes only."""
        return self.status == "proven" and self.proof is not None and self.proof.always

    @property
    def suffices(self) -> bool:
        """Whether `fix` writes the model without being told to: it holds, or agrees with all that it was fitted on."""
        return self.holds or self.status == "fitted"

    @property
    def difference(self) -> float:
        """The largest absolute difference of all outputs."""
        return max((output.difference for output in self.outputs), default=0.0)

    @property
    def summary(self) -> str:
        """The status and its sizes in a few words: `certified at N = 1, 2, only ran at N = 3`."""
        if self.basis is not None:
            return f"{self.status} in two steps: {self.basis.summary}; then the batch{self._sizes()}"
        if self.status in {"not proven", "differs", "failed", "untested", "out-of-time"}:
            return f"{self.status}: {self.reason}"
        if self.status == "fitted":
            return f"fitted on {said_all(self.fitted)}"
        if self.status == "proven" and self.proof is not None:
            return f"proven {self.proof.where}, compared{self._sizes()}"
        return f"{self.status}{'' if self.holds else ', compared'}{self._sizes()}"

    def _sizes(self) -> str:
        """The sizes in words, compared and only run: ` at N = 1, 2, only ran at N = 3`."""
        only = [sizes for sizes in self.ran if sizes not in self.compared]
        compared = f" at {said_all(self.compared)}" if self.compared else " nowhere"
        return compared + (f", only ran at {said_all(only)}" if only else "")

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
        fields = asdict(replace(self, basis=None, equivalence=None, counterexample=None))
        for output in fields["outputs"]:
            output["difference"] = output["difference"] if isfinite(output["difference"]) else None
        parts = {"basis": self.basis, "equivalence": self.equivalence, "counterexample": self.counterexample}
        for name, part in parts.items():
            fields[name] = None if part is None else part.to_json()
        return {name: as_json(value) for name, value in fields.items()}
