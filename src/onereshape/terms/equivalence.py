"""prove_equivalent(): whether two models are the same formula of real numbers, with constants within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import onnx_ir as ir

from onereshape.ground.text import JSON, as_json, brief
from onereshape.terms.batches import Differs, check_interface, check_names, check_preconditions, tensor
from onereshape.terms.feeding import feed
from onereshape.terms.first_difference import first_difference
from onereshape.terms.hashing import Array, Hashing
from onereshape.terms.landmarks import TOLERANCE, close
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.reals import Reals
from onereshape.terms.records import REAL_RECORDS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor

_WORLDS: Final = (0, 2, 13)
"""How far below 1 the numbers of inputs are, as powers of 2: 1; 0.25, so that what is multiplied with a function of
itself, layer by layer, grows beyond no constant; and 1e-4, beside which an epsilon counts."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A verdict on two models whose floats were read as real numbers.

    equivalent: the outputs are the same formulas of the inputs, whatever functions those are that are no arithmetic,
    with constants that agree within the tolerance.  not equivalent: they are other formulas, which need not give other
    answers.  unknown: an operator, a type or a size stood in the way.
    """

    verdict: Literal["equivalent", "not equivalent", "unknown"]
    """`equivalent`, `not equivalent` or `unknown`."""
    reason: str
    """Why not, as a sentence; empty where they are equivalent."""
    sizes: tuple[Mapping[str, int], ...]
    """The sizes at which the formulas were put beside each other."""
    tolerance: float
    """How far constants may be apart, relative to themselves and to those around them."""
    parted: str
    """The first node of the other model whose numbers are not the original's; empty where none is known."""
    seed: int
    """The seed of the numbers."""

    def __repr__(self) -> str:
        return brief("Equivalence", self.verdict + (f": {self.reason}" if self.reason else ""))

    @property
    def holds(self) -> bool:
        """Whether the formulas are the same."""
        return self.verdict == "equivalent"

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
        return {name: as_json(value) for name, value in asdict(self).items()}


class _Apart(Exception):  # noqa: N818 - an end
    """Two models make other numbers."""

    def __init__(self, why: str, parted: str) -> None:
        self.why, self.parted = why, parted
        super().__init__(why)


def prove_equivalent(  # noqa: PLR0913 - what a proof depends on
    original: ir.Model,
    other: ir.Model,
    settings: Sequence[Mapping[str, int]],
    *,
    given: Mapping[str, Array] | None = None,
    seed: int,
    limits: Limits | None = None,
) -> Equivalence:
    """Whether two models are the same formula of real numbers at each of the sizes of their named dims."""
    bound = (limits or Limits()).fitting(original, other)
    compared: list[Mapping[str, int]] = []
    verdict: Literal["equivalent", "not equivalent", "unknown"] = "equivalent"
    why = parted = ""
    try:
        check_interface(original, other)
        for sizes in settings:
            for below in _WORLDS:
                _compare(_Pair(original, other, sizes, given or {}, bound), Reals(seed + below, below=below))
            compared.append(dict(sizes))
    except NotProven as stop:
        verdict, why = "unknown", stop.why
    except Differs as stop:
        verdict, why = "not equivalent", stop.why
    except _Apart as stop:
        verdict, why, parted = "not equivalent", stop.why, stop.parted
    except (MemoryError, RecursionError):
        verdict, why = "unknown", "to read it takes more memory than there is"
    if verdict == "equivalent" and not compared:
        verdict, why = "unknown", "there are no sizes to compare at"
    return Equivalence(verdict, why, tuple(compared), TOLERANCE, parted, seed)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two models at some sizes."""

    original: ir.Model
    other: ir.Model
    sizes: Mapping[str, int]
    given: Mapping[str, Array]
    limits: Limits

    def feeds(self, model: ir.Model, reals: Reals) -> dict[str, Tensor]:
        return feed(model, reals, {}, [], self.sizes, self.given)


def _compare(pair: _Pair, reals: Reals) -> None:
    """Reads both models with the same numbers; _Apart where an output has others."""
    first, second = (Program(each, reals, pair.limits, REAL_RECORDS) for each in (pair.original, pair.other))
    wanted, notes = first.run(pair.feeds(pair.original, reals))
    reals.landmarks.learns = False
    got, others = second.run(pair.feeds(pair.other, reals))
    check_names(wanted, got)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            raise _Apart(f"output {name!r} has dims {list(theirs.shape)}, and should have {list(mine.shape)}", "")
        if not _same(mine, theirs, reals):
            parted = _parted(pair, Reals(reals.seed, below=reals.below))
            raise _Apart(f"output {name!r} is another formula{f', from {parted} on' if parted else ''}", parted)
    check_preconditions(notes.preconditions, others.preconditions)


def _same(mine: Tensor, theirs: Tensor, reals: Reals) -> bool:
    one, two = (each.linear(reals) for each in (mine, theirs))
    if not reals.is_real(mine.dtype.name):
        return np.array_equal(one, two)
    return reals.landmarks.close(two.view(np.float64), one.view(np.float64))


def _parted(pair: _Pair, reals: Reals) -> str:
    """The first node of the other model whose output has other numbers than the original's value of that name."""

    def fed(model: ir.Model) -> tuple[Program, dict[str, Tensor]]:
        return Program(model, reals, pair.limits, REAL_RECORDS), pair.feeds(model, reals)

    (first, before), (second, after) = fed(pair.original), fed(pair.other)
    return first_difference(first, second, before, after, sketched=_sketched, alike=_alike)


_SKETCHED: Final = 1024
"""Elements of a tensor that are kept to find where two models part."""

Sketch = tuple[int, Any]


def _sketched(hashing: Hashing, tensor: Tensor) -> Sketch:
    """The number of elements and some of them, as numbers or as the words of what are none, whatever the dims."""
    words = np.ascontiguousarray(tensor.linear(hashing)).reshape(-1)
    some = words[:: max(1, words.size // _SKETCHED)].copy()
    return tensor.size, some.view(np.float64) if hashing.is_real(tensor.dtype.name) else some


def _alike(one: Sketch, two: Sketch) -> bool:
    if one[0] != two[0] or one[1].dtype != two[1].dtype:
        return False
    return close(one[1], two[1]) if one[1].dtype == np.float64 else np.array_equal(one[1], two[1])
