"""Comparison: what a repair tells of itself to its certificate, and how that is to be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import onnx_ir as ir

from onereshape.prove.evidence import Carried, Kind
from onereshape.rule.condition import Clause
from onereshape.terms.proof import Proof

Promised = Callable[[dict[str, int]], dict[str, tuple[int | None, ...]]]
"""The dims of each output at given sizes, None for one that is not known."""
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The question of a certificate: the dims that were freed, further exports, and the seeds."""

    kind: Kind = "same"
    size: int = 1
    """The original's batch."""
    outputs: Mapping[str, Carried | None] = field(default_factory=dict)
    """Where each output carries the batch; None: nowhere."""
    promised: Promised | None = None
    """The dims of the outputs at given sizes."""
    fitted: tuple[ir.Model, ...] = ()
    """Other exports that the repair was fitted on."""
    witnesses: tuple[ir.Model, ...] = ()
    """Exports at other sizes that the repair did not use."""
    clauses: tuple[Clause, ...] = ()
    """What must hold of the freed sizes."""
    never_empty: frozenset[str] = frozenset()
    """The dims that are stated to be 1 at least."""
    seed: int = 0
    """The seed of the values that the engine is fed."""
    term_seed: int | None = None
    """The seed of the terms; None: a random one that nobody knows beforehand."""
    proof: Proof | None = None
    """The proof of a batch that was found before, in the only setting that there is."""
    terms: bool = True
    """Whether terms are asked; without them the engine alone."""
    thorough: bool = False
    """Whether values beyond the usual are tried although the terms prove it."""
    real: bool = False
    """Whether the models are read as formulas of real numbers, where nothing is freed and the terms do not prove it."""
    progress: Progress | None = None
