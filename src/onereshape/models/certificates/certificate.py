"""Certificate: what was compared, what only ran, what came out, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Literal

from onereshape.terms.proof import Proof

Status = Literal["proven", "certified", "fitted", "unwitnessed", "untested", "differs", "failed"]


@dataclass(frozen=True, slots=True)
class OutputAnswer:
    """One output over all runs."""

    name: str
    axis: int | None
    """The axis that carries N, None where there is none."""
    difference: float
    """The largest absolute difference."""
    scale: float
    """The largest magnitude in the original's answers."""
    blind: bool
    """Whether it is the same for all samples, so that it shows nothing."""
    elements: int = 0
    """How many elements were compared: finite ones, over all runs; with none it shows nothing either."""
    widened: float = 1.0
    """By what the tolerance was multiplied, because the original differs that much from itself."""
    outer: int = 1
    """How many times the samples follow one another along the axis."""
    new: int | None = None
    """The rank of one sample, where the axis is a new one."""


@dataclass(frozen=True, slots=True)
class RefusedSize:
    """Sizes at which the engine does not run the repaired model."""

    sizes: Mapping[str, int]
    why: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """The result of running both models, on numbers and on terms."""

    status: Status
    """`proven`: for every input, at the sizes that `proof` names, each output element is the same expression of its own
    sample's inputs, and onnxruntime ran the repaired model and found nothing else; `certified`: the answers agree with
    a truth that the repair did not use, at other sizes than the exported one if a dim was freed; `fitted`: they agree
    with the two or more exports that the repair was fitted on, and were compared with no other; `unwitnessed`: they
    agree at the exported size and were compared with nothing elsewhere; `untested`: nothing shown either way;
    `differs`; `failed`: the repaired model does not run."""
    reason: str
    """A sentence for people."""
    kind: Literal["batch", "other", "same"]
    compared: tuple[Mapping[str, int], ...]
    """The sizes at which the repaired model's answers were put beside another's; {} are those of the original."""
    ran: tuple[Mapping[str, int], ...]
    """The sizes at which it was only seen to run, and to have the dims that were inferred."""
    outputs: tuple[OutputAnswer, ...]
    refused: tuple[RefusedSize, ...]
    held: tuple[str, ...]
    """What was the same in all runs, as the original took nothing else: a dim, or an input that serves as a size."""
    extremes: tuple[str, ...]
    """The values beyond the usual on which they were compared too, as far as the original takes them."""
    fitted: tuple[Mapping[str, int], ...]
    """The sizes of the exports that it was fitted on, the original first; none where it was fitted on no other."""
    witnesses: tuple[Mapping[str, int], ...]
    """The sizes at which exports that the repair did not use confirmed it."""
    seed: int
    engine: str
    relative: float
    """What a float may differ, relative to itself,"""
    absolute: float
    """and relative to the scale around it (at most this much)."""
    proof: Proof | None = None
    """What the term run showed; None where it was not run, as onnxruntime had shown enough."""
    basis: Certificate | None = None
    """The certificate of the step before: where other dims were freed first, and then the batch of that model."""

    @property
    def holds(self) -> bool:
        """Whether the repaired model may be used in place of the original."""
        return self.status in {"proven", "certified"}

    @property
    def suffices(self) -> bool:
        """Whether `fix` writes the model without being told to: it holds, or agrees with all that it was fitted on."""
        return self.holds or self.status == "fitted"

    @property
    def difference(self) -> float:
        """The largest absolute difference of all outputs."""
        return max((output.difference for output in self.outputs), default=0.0)

    def to_json(self) -> dict[str, Any]:
        """The fields, for machines; a difference that is no number (NaN against a number) is null."""
        fields = asdict(self)
        for output in fields["outputs"]:
            output["difference"] = output["difference"] if isfinite(output["difference"]) else None
        return fields | {"basis": None if self.basis is None else self.basis.to_json()}
