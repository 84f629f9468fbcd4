"""Positions: numbers that count along an axis, from a start that may depend on sizes, and a term that grows with them.

A position is `step*i + start`; a term is a slope times a position, which may be divided by a size (a ramp) or taken
times one (the number of a place in a grid).  Slopes may differ along the axes that do not grow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, size_at
from onereshape.repair.fitting.families.writing import along, cast
from onereshape.rule.sizes import Formula, Size


class Position(NamedTuple):
    """The numbers `step*i + start` along an axis."""

    axis: int
    size: Size
    step: int = 1
    start: Size = 0

    @property
    def sized(self) -> bool:
        """Whether the start depends on sizes."""
        return isinstance(self.start, Formula)

    @property
    def words(self) -> str:
        """The start in words, ` from S - 1`; "" where it is a number."""
        return f" from {self.start}" if self.sized else ""

    def first(self, binding: Binding) -> int:
        """The first number, at given sizes."""
        return size_at(self.start, binding)

    def at(self, binding: Binding, rank: int, places: Sequence[int] | None = None) -> Array:
        """The numbers at given sizes, along their axis: all of them, or those at some places."""
        first, step = self.first(binding), self.step
        if places is not None:
            found = np.array([first + step * place for place in places], np.int64)
        else:
            found = np.arange(first, first + step * size_at(self.size, binding), step, dtype=np.int64)
        return found if rank == 1 else found.reshape(along(rank, self.axis))

    def make(self, writer: Rewriter, rank: int) -> ir.Value:
        """The numbers along their axis, in int64."""

        def write() -> ir.Value:
            found = writer.count(self.size)
            if self.step != 1:
                found = writer.front("Mul", [found, writer.integers([self.step])])
            if self.start != 0:
                found = writer.front("Add", [found, writer.size(self.start)])
            return found if rank == 1 else writer.front("Reshape", [found, writer.integers(along(rank, self.axis))])

        return writer.once(("position", self, rank), write)


class Ramp(NamedTuple):
    """Positions as parts of a size: the first entries and the last ones are as far apart, however many there are."""

    position: Position
    over: Size
    kind: np.dtype[np.generic]
    """The type in which it is calculated."""

    @property
    def axis(self) -> int:
        """The axis along which they count."""
        return self.position.axis

    @property
    def odd(self) -> bool:
        """Whether its own axis does not tell what they are parts of: one that is a part of a size would."""
        own = self.position.size
        return isinstance(self.over - own, Formula) or (isinstance(own, Formula) and own.name is not None)

    @property
    def words(self) -> str:
        """The start, if it depends on sizes, and the size of the ramp in words: ` from 1 - S in parts of S`."""
        return f"{self.position.words} in parts of {self.over}"

    def at(self, binding: Binding, rank: int) -> Array:
        """The numbers at given sizes, along their axis."""
        size = self.kind.type(max(size_at(self.over, binding), 1))
        return np.asarray(self.position.at(binding, rank).astype(self.kind) / size)

    def make(self, writer: Rewriter, rank: int) -> ir.Value:
        """The numbers along their axis."""
        least = writer.constant(np.ones(1, self.kind))
        size = writer.front("Max", [cast(writer, writer.size(self.over), self.kind), least])
        return writer.front("Div", [cast(writer, self.position.make(writer, rank), self.kind), size])


class Scale(NamedTuple):
    """A size that a position is taken times, or divided by."""

    size: Size = 1
    over: bool = False

    def at(self, binding: Binding) -> float:
        """The factor at given sizes; a ramp of one entry is divided by 1, as 0 has no parts."""
        return self._of(size_at(self.size, binding))

    def each(self, exported: Exported) -> list[float]:
        """The factor in each export."""
        return [self._of(size) for size in exported.sizes(self.size)]

    def _of(self, size: int) -> float:
        return 1 / max(size, 1) if self.over else size


class PositionTerm(NamedTuple):
    """A slope times a position, times or divided by a size."""

    position: Position
    slope: Array
    """Its axes are those of the constant; those that grow have size 1."""
    scale: Scale = Scale()

    @property
    def two_ended(self) -> bool:
        """Whether it is a ramp whose only entry, if it has one alone, may be either end: then it is no number."""
        return self.scale.over and self.position.sized and self.scale.size == self.position.size - 1

    def at(self, binding: Binding, places: Sequence[int] | None = None) -> Array:
        """The term at given sizes, in the type of the slope; all along its axis, or at some places."""
        kind, slope = self.slope.dtype, self.slope
        found = self.position.at(binding, slope.ndim, places).astype(kind)
        if self.scale.size != 1:
            number = size_at(self.scale.size, binding)
            if self.scale.over and not self.two_ended:
                number = max(number, 1)
            size = kind.type(number)
            if number:
                found = found / size if self.scale.over else found * size
            else:
                with np.errstate(invalid="ignore"):
                    found = found / size if self.scale.over else found * size
        if slope.size == 1:
            return found if slope.item() == 1 else found * slope
        return found if (slope == 1).all() else found * slope

    def make(self, writer: Rewriter) -> ir.Value:
        """Writes the nodes that compute the term, in the type of its slope."""
        kind = self.slope.dtype
        found = cast(writer, self.position.make(writer, self.slope.ndim), kind)
        if self.scale.size != 1:
            size = cast(writer, writer.size(self.scale.size), kind)
            if self.scale.over and not self.two_ended:
                size = writer.front("Max", [size, writer.constant(np.ones(1, kind))])
            found = writer.front("Div" if self.scale.over else "Mul", [found, size])
        return found if (self.slope == 1).all() else writer.front("Mul", [found, writer.constant(self.slope)])


def working(kind: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """The type in which a constant of some type is calculated."""
    if kind.kind != "f":
        return np.dtype(np.int64)
    return np.dtype(np.float64) if kind.itemsize > 4 else np.dtype(np.float32)
