"""Proof: the verdict of a term run, and the sizes that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from onereshape.ground.text import JSON, as_json, brief, shown

Verdict = Literal["proven", "other", "not proven"]


@dataclass(frozen=True, slots=True)
class OutputTerms:
    """An output: where it carries N, and how many of its elements were compared."""

    name: str
    """What the model calls it."""
    axis: int | None
    """The axis that carries N, None where there is none."""
    outer: int
    """How many times the samples follow one another along it."""
    elements: int
    """How many elements were put beside each other, over all sizes."""

    def __repr__(self) -> str:
        where = "no batch" if self.axis is None else f"batch at axis {self.axis}"
        return brief("OutputTerms", shown(self.name, 40), where, f"{self.elements} elements")


@dataclass(frozen=True, slots=True)
class Proof:
    """A verdict on two models that were run on terms.

    proven: at the sizes compared each output element is the same expression of its own sample's inputs, whatever is
    fed.  other: it is another expression, which need not mean that the numbers differ.  not proven: nothing was
    shown.
    """

    verdict: Verdict
    """`proven`, `other` or `not proven`."""
    reason: str
    """A sentence for people."""
    sizes: tuple[Mapping[str, int], ...]
    """The sizes at which the terms were put beside each other."""
    always: bool
    """Whether the verdict holds for every N >= 1."""
    not_always: str
    """Why the verdict does not hold for every N; empty where it does."""
    held: tuple[str, ...]
    """Inputs that had numbers instead of terms, as they serve as sizes, and which."""
    outputs: tuple[OutputTerms, ...]
    """The outputs that were put beside each other."""
    seed: int
    """The seed of the hashes that the terms are."""
    mixed: bool = False
    """Whether several samples at once are not kept apart somewhere inside, so that it is proven for no batch."""

    def __repr__(self) -> str:
        return brief("Proof", self.verdict + (f" {where}" if (where := self.where) else f": {self.reason}"))

    @property
    def where(self) -> str:
        """The sizes for which it is proven, in words; empty where nothing is."""
        if not self.holds:
            return ""
        if not self.always:
            return f"at {said_all(self.sizes)}"
        batch = next((name for each in self.sizes for name in each), "N")
        rest = {tuple((name, size) for name, size in each.items() if name != batch): None for each in self.sizes}
        others = [dict(each) for each in rest if each]
        return f"for all {batch} >= 1" + (f" and {said_all(others)}" if others else "")

    @property
    def holds(self) -> bool:
        """Whether the expressions are the same."""
        return self.verdict == "proven"

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
        return {name: as_json(value) for name, value in asdict(self).items()}


def said(sizes: Mapping[str, int]) -> str:
    """Sizes as a sentence names them: `{"N": 2, "H": 4} -> N = 2, H = 4`."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def said_at(sizes: Mapping[str, int]) -> str:
    """Sizes behind what happens there: `{"N": 2} ->  at N = 2`, and nothing where no dim is free."""
    return f" at {said(sizes)}" if sizes else ""


def said_all(sizes: Sequence[Mapping[str, int]]) -> str:
    """Several sizes: `N = 1, 2`, `(H, W) = (4, 6), (8, 6)`.

    >>> said_all([{"N": 1}, {"N": 2}]), said_all([{"H": 4, "W": 6}, {"H": 8, "W": 6}]), said_all([{}])
    ('N = 1, 2', '(H, W) = (4, 6), (8, 6)', 'the sizes of the original')
    """
    names = [*sizes[0]] if sizes else []
    if not names:
        return "the sizes of the original"
    if any([*each] != names for each in sizes):
        return "; ".join(map(said, sizes))
    if len(names) == 1:
        return f"{names[0]} = {_listed(each[names[0]] for each in sizes)}"
    return f"({', '.join(names)}) = {_listed(f'({_listed(each.values())})' for each in sizes)}"


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))
