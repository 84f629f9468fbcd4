"""Call: one node that is run: its operands, its attributes, and the words for what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np
import onnx_ir as ir

from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.orders import Orders
from onereshape.terms.refusal import NeedsNumbers, NotProven
from onereshape.terms.tensor import Tensor, settled, terms

Value = Tensor | tuple[Any, ...] | None
"""A tensor, a sequence of values, or an input that is left out."""
Duty = tuple[str, Words]
"""A node, and a word for each demand that it makes on data."""
Body = Callable[[Sequence[Value]], list[Value]]
"""A graph inside a node: from the values of its inputs to those of its outputs."""


_RANK: Final = 32
"""Dims of a tensor: some rules need a few more on their way, and NumPy has 64."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A node with the values of its inputs."""

    op: str
    name: str
    """The node's own name, or that of its first output."""
    version: int
    """Since which opset the operator is what it is here; 1 for operators of other domains."""
    opset: int
    inputs: tuple[Value, ...]
    outputs: int
    """How many it has; those behind the last that is used are not counted."""
    attributes: Mapping[str, Any]
    hashing: Hashing
    body: Callable[[str], Body]
    """The graph of an attribute."""
    doubts: list[str]
    """Why it may not be the same for every N: what reads numbers that depend on it."""
    most: int
    """Elements that a tensor may have."""
    samples: int = 0
    """N, where numbers say how they depend on it."""
    duties: list[Duty] = field(default_factory=list)
    """What data must satisfy, or an engine refuses them."""
    written: int = 1
    """How many outputs the node has, whoever reads them."""
    orders: Orders | None = None
    """The orders that sorts of samples are taken to find, where they are gone through."""

    def refuse(self, why: str) -> NoReturn:
        """Stops the run: this is not known."""
        raise NotProven(f"{self.op} {self.name}: {why}")

    def doubt(self, why: str) -> None:
        """Notes that what holds for this number of samples need not hold for others."""
        self.doubts.append(f"{self.op} {self.name}: {why}")

    def demand(self, key: int, words: Words) -> None:
        """Notes what data must satisfy for the operator to answer at all: an index that there is such a place."""
        found = np.unique(self.hashing.mix(key, words))
        self.duties.append((f"{self.op} {self.name}", found))

    def has(self, place: int) -> bool:
        """Whether an optional input is there."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def tensor(self, place: int) -> Tensor:
        """An input that is a tensor."""
        found = self.inputs[place] if place < len(self.inputs) else None
        if not isinstance(found, Tensor):
            self.refuse(f"input {place} is not a tensor" if found is not None else f"input {place} is missing")
        return found

    def shaped(self, place: int, *shape: int) -> Tensor:
        """An input that must have these dims."""
        found = self.tensor(place)
        if found.shape != shape:
            self.refuse(f"input {place} has dims {list(found.shape)}, and should have {list(shape)}")
        return found

    def square(self, place: int) -> Tensor:
        """An input that must be square matrices."""
        found = self.tensor(place)
        if found.rank < 2 or found.shape[-1] != found.shape[-2]:
            self.refuse(f"the dims {list(found.shape)} are not those of square matrices")
        return found

    def tensors(self) -> list[Tensor]:
        """All inputs, which are tensors."""
        return [self.tensor(place) for place in range(len(self.inputs))]

    def numbers(self, place: int) -> Array:
        """An input that must be numbers."""
        found = settled(self.tensor(place))
        if found.values is None:
            raise NeedsNumbers(f"{self.op} {self.name}: needs the numbers of its input {place}, which depend on data")
        return found.values

    def integers(self, place: int, *, sized: bool = False) -> list[int]:
        """An input that is a list of known integers; only a rule that says so (`sized`) minds how they depend on N."""
        found = self.numbers(place)
        if found.ndim > 1 or not self.tensor(place).is_integer:
            self.refuse(f"input {place} is not a list of integers")
        if self.tensor(place).place is not None:
            self.doubt("reads the place of a sample")
        elif not sized and self.tensor(place).depends:
            self.doubt("reads a number that depends on the number of samples")
        return [int(each) for each in found.ravel()]

    def scalar(self, place: int) -> Any:
        """An input that is one known number."""
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
        """All attributes, except for axes and such."""
        found = ((name, value) for name, value in sorted(self.attributes.items()) if name not in but)
        return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in found)

    def axis(self, axis: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= axis < rank:
            self.refuse(f"axis {axis} is not one of {rank}")
        return axis % rank

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Axes counted from the front, each named once."""
        found = tuple(self.axis(axis, rank) for axis in axes)
        if len(set(found)) != len(found):
            self.refuse(f"axes {list(axes)} name one twice")
        return found

    def check_size(self, dims: Sequence[int]) -> None:
        """Refuses what is too large to be run."""
        if len(dims) > _RANK:
            self.refuse(f"{len(dims)} dims are more than a term run holds")
        count = 1
        for dim in dims:
            if dim < 0:
                self.refuse(f"a dim is {dim}")
            count *= max(dim, 1)  # NumPy minds the other dims of nothing, too
        if count > self.most:
            self.refuse(f"{count} elements are more than a term run holds")

    def check_broadcast(self, operands: Sequence[Tensor | Words]) -> None:
        """Refuses what does not broadcast, or becomes too large by it."""
        try:
            self.check_size(np.broadcast_shapes(*(operand.shape for operand in operands)))
        except ValueError:
            self.refuse(f"the dims {[list(operand.shape) for operand in operands]} do not go together")

    def key(self, *parts: Any, op: str | None = None) -> int:
        """The word of the operator and of all that its answer depends on beside its operands: never an axis."""
        return self.hashing.key(op or self.op, *parts)

    def words(self, place: int) -> Words:
        """The words of an input."""
        return self.tensor(place).hashed(self.hashing)

    def mixed(self, dtype: ir.DataType, key: int, *operands: Words) -> Tensor:
        """Terms of the operands in their order."""
        self.check_broadcast(operands)
        return terms(self.hashing.mix(key, *operands), dtype)


Rule = Callable[[Call], Sequence[Value]]


@dataclass(frozen=True, slots=True)
class Record:
    """An operator: how its answer is made of terms."""

    rule: Rule
    uniform: bool = False
    """Whether it does the same to each place of a dim, however many there are, or folds all of them: it has no
    threshold, clips nothing and reads no place, or its rule doubts where it does.  Only then what holds for one N may
    hold for all."""
    carries: bool = False
    """Whether its rule says what becomes of numbers that depend on N (`slope` and `place`), or doubts."""


def record(rule: Rule, *, uniform: bool = True, carries: bool = False) -> Record:
    """A record; most operators are uniform, and few read numbers that depend on N."""
    return Record(rule, uniform, carries)
