"""Call: one node that is run: its operands, its attributes, and the words for what it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np
import onnx_ir as ir

from onereshape.terms.dim_patterns import fits, names, wanted
from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.orders import Orders
from onereshape.terms.refusal import NeedsNumbers, NotProven
from onereshape.terms.tensor import Tensor, settled, terms

Value = Tensor | tuple[Any, ...] | None
"""A tensor, a sequence of values, or an input that is left out."""
Precondition = tuple[str, Words]
"""The name of a node, and a word for each condition on data without which it gives no answer."""
Body = Callable[[Sequence[Value]], list[Value]]
"""A graph inside a node: from the values of its inputs to those of its outputs."""


def tensors_of(value: Value) -> Iterator[Tensor]:
    """The tensors in a value."""
    if isinstance(value, Tensor):
        yield value
    elif value is not None:
        for each in value:
            yield from tensors_of(each)


_RANK: Final = 32
"""Dims of a tensor: some rules need a few more on their way, and NumPy has 64."""


def _no_body(name: str) -> Body:
    raise NotProven(f"there is no graph {name!r}")


@dataclass(slots=True)
class Notes:
    """What is to be said of a node or of a run, beside its answer."""

    not_for_all: list[str] = field(default_factory=list)
    """Why terms at one N may not show anything for every N: operators that read numbers which depend on N."""
    preconditions: list[Precondition] = field(default_factory=list)
    """An engine refuses data that do not satisfy them."""


@dataclass(frozen=True, slots=True)
class TermRun:
    """What all calls of a run have in common."""

    hashing: Hashing
    most: int
    """Elements that a tensor may have."""
    samples: int = 0
    """N in a run whose numbers say how they depend on N; else 0."""
    orders: Orders | None = None
    """The orders that sorts of samples are taken to find, where they are gone through."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A node with the values of its inputs."""

    run: TermRun
    op: str
    name: str
    """The node's own name, or that of its first output."""
    version: int
    """The opset since which the operator has this meaning; 1 for operators of other domains."""
    opset: int
    inputs: tuple[Value, ...]
    attributes: Mapping[str, Any]
    outputs: int = 1
    """How many outputs the node has; those behind the last that is used are not counted."""
    written: int = 1
    """How many outputs the node has, whoever reads them."""
    body: Callable[[str], Body] = _no_body
    """The graph of the attribute with this name, to be run on values."""
    notes: Notes = field(default_factory=Notes)
    """What the rule notes; the run reads it behind the rule."""

    @property
    def hashing(self) -> Hashing:
        """The hash functions of the run."""
        return self.run.hashing

    @property
    def samples(self) -> int:
        """N in a run whose numbers say how they depend on N; else 0."""
        return self.run.samples

    def refuse(self, why: str) -> NoReturn:
        """Stops the run with NotProven: `why`, after the node's operator and name."""
        raise NotProven(f"{self.op} {self.name}: {why}")

    def not_for_all(self, why: str) -> None:
        """Notes why, after the node's name, terms at this number of samples show nothing for every N."""
        self.notes.not_for_all.append(f"{self.op} {self.name}: {why}")

    def require(self, key: int, words: Words) -> None:
        """Notes a precondition: the engine refuses data that do not satisfy it, an index beyond its axis, say."""
        found = np.unique(self.hashing.mix(key, words))
        self.notes.preconditions.append((f"{self.op} {self.name}", found))

    def has(self, place: int) -> bool:
        """Whether the optional input at this place is given."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def tensor(self, place: int) -> Tensor:
        """The input at a place, if it is a tensor; refused else."""
        found = self.inputs[place] if place < len(self.inputs) else None
        if not isinstance(found, Tensor):
            self.refuse(f"input {place} is not a tensor" if found is not None else f"input {place} is missing")
        return found

    def shaped(self, place: int, *shape: int) -> Tensor:
        """The input at a place, refused unless its dims are `shape`."""
        found = self.tensor(place)
        if found.shape != shape:
            self.refuse(f"input {place} has dims {list(found.shape)}, and should have {list(shape)}")
        return found

    def dims(self, *patterns: str, **known: int) -> tuple[Any, ...]:
        """What the names in patterns stand for, one for each of the first inputs, in the order in which they come.

        `_, channels, space = call.dims("N C *S", "C", "C ?")`: the words of `dim_patterns`; with a `?` behind it the
        input may be left out.  Refused where dims do not fit; names in `known` have a size before.
        """
        named: dict[str, Any] = {**known}
        for place, pattern in enumerate(patterns):
            if pattern.endswith("?") and not self.has(place):
                continue
            dims, before = self.tensor(place).shape, dict(named)
            if not fits(pattern, dims, named):
                self.refuse(f"input {place} has dims {list(dims)}, and should have {wanted(pattern, before)}")
        asked = dict.fromkeys(name for pattern in patterns for name in names(pattern))
        return tuple(named.get(name) for name in asked if name not in known)

    def square(self, place: int) -> Tensor:
        """The input at a place, refused unless its last two dims are equal: `[5, 3, 3]` passes."""
        found = self.tensor(place)
        if found.rank < 2 or found.shape[-1] != found.shape[-2]:
            self.refuse(f"the dims {list(found.shape)} are not those of square matrices")
        return found

    def tensors(self) -> list[Tensor]:
        """All inputs of the node, refused if any of them is left out or a sequence."""
        return [self.tensor(place) for place in range(len(self.inputs))]

    def numbers(self, place: int) -> Array:
        """The numbers of the input at a place; NeedsNumbers where they depend on data."""
        found = settled(self.tensor(place))
        if found.values is None:
            raise NeedsNumbers(f"{self.op} {self.name}: needs the numbers of its input {place}, which depend on data")
        return found.values

    def integers(self, place: int, *, sized: bool = False) -> list[int]:
        """An input that is a list of known integers; only a rule that says so (`sized`) minds how they depend on N."""
        found = self.numbers(place)
        if found.ndim > 1 or not self.tensor(place).is_integer:
            self.refuse(f"input {place} is not a list of integers")
        if self.tensor(place).integers.by_place:
            self.not_for_all("reads the place of a sample")
        elif not sized and self.tensor(place).depends:
            self.not_for_all("reads a number that depends on the number of samples")
        return [int(each) for each in found.ravel()]

    def scalar(self, place: int) -> Any:
        """The number in the input at a place, which has one element and does not depend on data."""
        found = self.numbers(place)
        if found.size != 1:
            self.refuse(f"input {place} has {found.size} elements, not one")
        return found.ravel()[0].item()

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute as Python has it: int, float, str, list, ir.Tensor; a graph is asked for with `body`.

        What the specification gives as its default is filled in for operators of ONNX.
        """
        return self.attributes.get(name, default)

    def settings(self, *but: str) -> tuple[Any, ...]:
        """All attributes by name, sorted, without those named in `but`: axes, mostly, which no key may hold."""
        found = ((name, value) for name, value in sorted(self.attributes.items()) if name not in but)
        return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in found)

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front: `-1` of rank 4 is 3."""
        if not -rank <= axis < rank:
            self.refuse(f"axis {axis} is not one of {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes counted from the front: `[-1, 0]` of rank 4 is (3, 0); refused where an axis is named twice."""
        found = tuple(self.axis(axis, rank) for axis in axes)
        if len(set(found)) != len(found):
            self.refuse(f"axes {list(axes)} name one twice")
        return found

    def check_size(self, dims: Sequence[int]) -> None:
        """Refuses dims of a tensor that is too large for a term run."""
        if len(dims) > _RANK:
            self.refuse(f"{len(dims)} dims are more than a term run holds")
        count = 1
        for dim in dims:
            if dim < 0:
                self.refuse(f"a dim is {dim}")
            count *= max(dim, 1)  # NumPy minds the other dims of nothing, too
        if count > self.run.most:
            self.refuse(f"{count} elements are more than a term run holds")

    def check_broadcast(self, operands: Sequence[Tensor | Words]) -> None:
        """Refuses operands whose dims do not broadcast, or make a tensor too large for a term run."""
        try:
            self.check_size(np.broadcast_shapes(*(operand.shape for operand in operands)))
        except ValueError:
            self.refuse(f"the dims {[list(operand.shape) for operand in operands]} do not go together")

    def key(self, *parts: Any, op: str | None = None) -> int:
        """The word of the operator (or `op`) and of `parts`: all that its answer depends on but operands and axes."""
        return self.hashing.key(op or self.op, *parts)

    def words(self, place: int) -> Words:
        """The words of the input at a place."""
        return self.tensor(place).hashed(self.hashing)

    def mixed(self, dtype: ir.DataType, key: int, *operands: Words) -> Tensor:
        """A tensor of terms: the words of a key and of operands in their order, which are broadcast."""
        self.check_broadcast(operands)
        return terms(self.hashing.mix(key, *operands), dtype)


Rule = Callable[[Call], Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Record:
    """An operator: how its answer is made of terms."""

    rule: Rule
    uniform: bool = False
    """Whether the operator does the same to each place of a dim, however many there are, or folds all of them: it has
    no threshold, clips nothing and reads no place, or its rule says `not_for_all` where it does.  Only then what holds
    for one N may hold for all."""
    carries: bool = False
    """Whether its rule says what becomes of numbers that depend on N (`slope` and `place`), or `not_for_all`."""


def record(rule: Rule, *, uniform: bool = True, carries: bool = False) -> Record:
    """A record; most operators are uniform, and few read numbers that depend on N."""
    return Record(rule, uniform, carries)
