"""Proof: what a term run showed, and at which sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["proven", "differs", "not proven"]


@dataclass(frozen=True, slots=True)
class OutputTerms:
    """One output."""

    name: str
    axis: int | None
    """The axis that carries N, None where there is none."""
    outer: int
    """How many times the samples follow one another along it."""
    elements: int
    """How many were put beside each other, over all sizes."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found.

    proven: at the sizes compared each output element is the same expression of its own sample's inputs, whatever is
    fed.  differs: it is another expression, which need not mean that the numbers differ.  not proven: nothing was
    shown.
    """

    verdict: Verdict
    reason: str
    """A sentence for people."""
    sizes: tuple[Mapping[str, int], ...]
    """The sizes at which the terms were put beside each other."""
    always: bool
    """Whether it holds for every N >= 1."""
    not_always: str
    """Why not, where it does not."""
    held: tuple[str, ...]
    """Inputs that had numbers instead of terms, as they serve as sizes, and which."""
    outputs: tuple[OutputTerms, ...]
    seed: int

    @property
    def holds(self) -> bool:
        """Whether the expressions are the same."""
        return self.verdict == "proven"

    def to_json(self) -> dict[str, Any]:
        """The fields, for machines."""
        return asdict(self)
