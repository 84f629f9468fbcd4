"""Evidence: what was seen of two models that were put beside each other, in frozen records of one kind each.

Whoever runs, compares or proves adds records, and none is ever taken back.  The status follows from them (`judge`),
every sentence is made of them (`words`), and a certificate is both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from onereshape.ground.text import brief
from onereshape.prove.counterexample import Counterexample
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof, said

Sizes = Mapping[str, int]
Kind = Literal["batch", "other", "same"]
"""What was freed: the batch, other dims, or nothing."""
CLEARLY = 10
"""How many tolerances apart two answers must be to count as different."""


@dataclass(frozen=True, slots=True)
class Carried:
    """An axis of an output with `outer` times N times `inner` elements; `inner` None is whatever the rest is."""

    axis: int
    """The axis."""
    outer: int = 1
    """How many times the samples follow one another along it."""
    inner: int | None = 1
    """How many entries of it each sample has."""
    new: int | None = None
    """The rank of an answer of the original, of one sample, where the axis is new and the original has it not."""
    lost: bool = False
    """Whether the axis is new, and even the repaired model has it not at one sample."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The question: what was freed, where outputs carry the batch, and how far answers may be apart."""

    kind: Kind
    """What was freed."""
    seed: int
    """What the inputs were drawn from."""
    relative: float
    """The tolerance of a float, relative to itself."""
    absolute: float
    """The tolerance of a float, relative to the scale around it."""
    outputs: Mapping[str, Carried | None] = field(default_factory=dict)
    """Where outputs carry the batch."""


@dataclass(frozen=True, slots=True)
class AskedEngine:
    """The engines that were asked, and their versions: one, or two where each model has its own."""

    names: tuple[str, ...]
    """`onnxruntime`."""
    versions: tuple[str, ...]
    """What each of them says of itself: `onnxruntime 1.31.1`."""


@dataclass(frozen=True, slots=True)
class AtSizes:
    """Evidence that is nothing but sizes."""

    sizes: Sizes
    """Dim -> size."""


@dataclass(frozen=True, slots=True)
class Exported(AtSizes):
    """The sizes of freed dims in the original."""


@dataclass(frozen=True, slots=True)
class FittedOn(AtSizes):
    """Another export that the repair was made from; its freed sizes."""


@dataclass(frozen=True, slots=True)
class Witnessed(AtSizes):
    """Another export that the repair did not use; its freed sizes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """An output of one run, beside what was wanted of it."""

    name: str
    """What the model calls it."""
    difference: float
    """The largest absolute difference."""
    scale: float
    """The largest magnitude in the original's answers."""
    elements: int
    """How many elements were compared: finite ones."""
    entries: int
    """How many there are, finite or not."""
    counts: bool = True
    """Whether it can show anything: an output that carries the batch, and no labels of a map."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Answers that were put beside another's, and were near enough, or are doubted."""

    sizes: Sizes
    """The sizes of the run."""
    outputs: tuple[Measured, ...]
    """All that were compared."""


@dataclass(frozen=True, slots=True)
class Ran(AtSizes):
    """A run of the repaired model, whether its answers were compared or not."""


@dataclass(frozen=True, slots=True)
class RefusedSize:
    """Sizes at which the engine does not run a model."""

    sizes: Mapping[str, int]
    """The size of each dim by its name."""
    why: str
    """The engine's message."""

    def __repr__(self) -> str:
        return brief("RefusedSize", f"{said(self.sizes) or 'the sizes of the original'}: {self.why}")


@dataclass(frozen=True, slots=True)
class NotRun:
    """Larger batches that were not run, for lack of room or time."""

    sizes: tuple[Sizes, ...]
    """The sizes that were left out."""
    why: str
    """What they would have taken."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """How far apart the answers of an output to different values are, in tolerances."""

    output: str
    """What the model calls it."""
    units: float
    """The largest distance of two answers."""


@dataclass(frozen=True, slots=True)
class Noise:
    """By what the tolerance of an output is multiplied, because the original differs that much from itself."""

    output: str
    """What the model calls it."""
    factor: float
    """1 where it does not differ at all."""


@dataclass(frozen=True, slots=True)
class Held:
    """What was the same in all runs, as nothing else was taken."""

    what: Literal["size", "equal", "value", "optimiser"]
    """One size, sizes that were equal, the value of an input; or how the engine had to be asked."""
    names: tuple[str, ...]
    """The dims, the input, or the engine."""
    value: str = ""
    """The size or the value; empty where there is none."""


@dataclass(frozen=True, slots=True)
class OfValues:
    """Evidence that is nothing but a word for values."""

    values: str
    """The word."""


@dataclass(frozen=True, slots=True)
class Unusual(OfValues):
    """Values beyond the usual on which the models agree: `large`."""


@dataclass(frozen=True, slots=True)
class Neighbours(OfValues):
    """Samples of one kind, beside which no other sample changed by a bit."""


Fields = Mapping[str, object]
"""What a sentence is made of."""


@dataclass(frozen=True, slots=True)
class InWords:
    """Evidence that is a sentence."""

    code: str
    """The sentence, in `words`."""
    fields: Fields
    """What it is made of."""


@dataclass(frozen=True, slots=True)
class Differs(InWords):
    """A run that shows another answer."""

    example: Counterexample | None
    """The input that shows it."""


@dataclass(frozen=True, slots=True)
class Rounding(InWords):
    """A difference that rounding may make: the terms decide."""

    example: Counterexample | None
    """The input that shows it."""
    output: str
    """What the model calls it."""
    far: bool = False
    """Whether rounding decides the answer, so that any difference may be made by it."""


@dataclass(frozen=True, slots=True)
class Failed(InWords):
    """The repaired model does not run, or has other inputs or outputs."""


@dataclass(frozen=True, slots=True)
class Untestable(InWords):
    """Why runs can show nothing, or no more."""


@dataclass(frozen=True, slots=True)
class TimeOver:
    """The time was over before all was run."""

    after: str
    """`after 300 s`."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the term run showed, beside the original (and what else the repair was made from), or beside witnesses."""

    proof: Proof
    """The verdict, and its sizes."""
    beside: Literal["original", "witness"] = "original"
    """Whose expressions they were put beside."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What the reading as real numbers showed."""

    equivalence: Equivalence
    """The verdict, and its sizes."""


@dataclass(frozen=True, slots=True)
class EarlierStep:
    """The evidence of the step before: other dims were freed first, and then the batch of that model."""

    evidence: tuple[Evidence, ...]
    """Its records."""


Evidence = (
    Asked
    | AskedEngine
    | Exported
    | FittedOn
    | Witnessed
    | Compared
    | Ran
    | RefusedSize
    | NotRun
    | Contrast
    | Noise
    | Held
    | Unusual
    | Neighbours
    | Differs
    | Rounding
    | Failed
    | Untestable
    | TimeOver
    | Terms
    | Formula
    | EarlierStep
)
