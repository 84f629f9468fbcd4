"""Where the engines' own inference is wrong, as data: which answers, and why.

An answer is unsound if some sizes give a Reshape that succeeds with a shape outside of it.  On such a question there is
nothing to be held against; every other answer must contain ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from onereshape.rule.dims import Dim

Dims = tuple[int, ...]
Partial = tuple[Dim, ...]
Answer = Partial | Literal["unknown"] | None
"""The output dims in our notation, not even their number, or None: refused."""


@dataclass(frozen=True, slots=True)
class Question:
    """Data and target of which something is missing."""

    data: Partial | None
    """None: the rank is unknown."""
    target: Partial | None
    """None: not even its length is known."""
    zero_copies: bool
    bounds: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Witness:
    """Sizes for everything that was missing, and the output that they give."""

    data: Dims
    target: Dims
    names: Mapping[str, int]
    output: Dims


@dataclass(frozen=True, slots=True)
class Unsound:
    """One way in which an engine's inference is wrong."""

    name: str
    engine: str
    when: Callable[[Question, Answer, Witness], bool]
    reason: str


def _is_at_run_time(question: Question, witness: Witness, value: int) -> bool:
    """An entry whose value was unknown turns out to be this one."""
    entries = zip(question.target or (), witness.target, strict=False)
    return any(found == value and not isinstance(asked, int) for asked, found in entries)


def _copies(question: Question, _theirs: Answer, witness: Witness) -> bool:
    return question.zero_copies and _is_at_run_time(question, witness, 0)


def _is_inferred(question: Question, _theirs: Answer, witness: Witness) -> bool:
    return _is_at_run_time(question, witness, -1)


def _is_empty_of_unknown_rank(question: Question, _theirs: Answer, witness: Witness) -> bool:
    """A constant target with a -1 that comes out as 0."""
    if question.data is not None or question.target is None or -1 not in question.target:
        return False
    return witness.output[question.target.index(-1)] == 0


def _is_another_name(question: Question, theirs: Answer, witness: Witness) -> bool:
    """The answer to an entry that is a symbol is another symbol, and the data is empty."""
    if question.target is None or not isinstance(theirs, tuple) or 0 not in witness.output:
        return False
    pairs = zip(question.target, theirs, strict=True)
    return any(isinstance(asked, str) and isinstance(dim, str) and asked != dim for asked, dim in pairs)


UNSOUND: tuple[Unsound, ...] = (
    Unsound(
        name="an entry that may be 0 is never a copy",
        engine="openvino",
        when=_copies,
        reason="a pattern element copies only if both its bounds are 0; an interval or a symbol that holds 0 is put "
        "into the output as it is, and -1 is inferred from it",
    ),
    Unsound(
        name="an entry that may be -1 is a size",
        engine="openvino",
        when=_is_inferred,
        reason="a pattern element is inferred only if both its bounds are -1; of an interval from -1 on the upper "
        "bound is kept, which an inferred dim need not obey",
    ),
    Unsound(
        name="-1 is at least 1 for data of unknown rank",
        engine="openvino",
        when=_is_empty_of_unknown_rank,
        reason="the interval of the inferred dim starts at the product of no dims, which is 1; data may be empty",
    ),
    Unsound(
        name="symbols are made equal though what was cancelled may be 0",
        engine="openvino",
        when=_is_another_name,
        reason="equal dims of data and pattern are cancelled, and the two symbols left over are made one, everywhere; "
        "if a cancelled dim is 0 the volumes agree whatever the two are",
    ),
    Unsound(
        name="an entry that may be 0 is never a copy",
        engine="onnx",
        when=_copies,
        reason="a symbolic element of the shape is put into the output under its name; the source says so in a comment",
    ),
)
