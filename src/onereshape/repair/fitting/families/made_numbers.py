"""Numbers that are made of a size by a few steps: what they are at given sizes, and the nodes that compute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Fit, size_at
from onereshape.repair.fitting.families.positions import working
from onereshape.rule.sizes import Size


class NumberStep(NamedTuple):
    """A step of a calculation: `NumberStep("Div", 2.0)` is x/2, with `first` 2/x; `NumberStep("Sqrt")` is sqrt(x)."""

    op: str
    number: float | None = None
    first: bool = False
    """Whether `number` comes first: 2/x rather than x/2."""


class NumberReading(NamedTuple):
    """A number that is made of a size, or of the quotient of two."""

    top: Size
    bottom: Size
    steps: tuple[NumberStep, ...]
    words: str
    """With `{}` where the size is."""

    def __str__(self) -> str:
        size = str(self.top) if self.bottom == 1 else f"({self.top})/({self.bottom})"
        return self.words.format(size if self.words == "{}" or size.isidentifier() else f"({size})")


def over(reading: NumberReading, bindings: Sequence[Binding], kind: np.dtype[Any]) -> Array:
    """The number that a reading gives at each of several sizes: `sqrt({})` of S at S = 4 and 9 -> `[2., 3.]`."""
    wide = working(kind)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        numbers = np.array([size_at(reading.top, binding) for binding in bindings], wide)
        if reading.bottom != 1:
            numbers = numbers / np.array([size_at(reading.bottom, binding) for binding in bindings], wide)
        return stepped(numbers, reading.steps).astype(kind)


def stepped(numbers: Array, steps: Sequence[NumberStep]) -> Array:
    """Numbers after some steps, infinite or none where these cannot be done."""
    with np.errstate(divide="ignore", invalid="ignore"):
        for step in steps:
            if step.number is None:
                numbers = _ALONE[step.op](numbers)
            else:
                other = numbers.dtype.type(step.number)
                numbers = _WITH[step.op](*((other, numbers) if step.first else (numbers, other)))
    return np.asarray(numbers)


_ALONE: Mapping[str, np.ufunc] = {"Sqrt": np.sqrt, "Log": np.log}
_WITH: Mapping[str, np.ufunc] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}


def fit_with(first: Array, readings: Mapping[int, NumberReading]) -> Fit:
    """The fit of a constant that is `first` with readings at some places, which count its entries row by row."""

    def at(binding: Binding) -> Array:
        found = first.reshape(-1).copy()
        for place, reading in readings.items():
            found[place] = over(reading, [binding], first.dtype)[0]
        return found.reshape(first.shape)

    def make(writer: Rewriter) -> ir.Value:
        return _made(writer, first, readings)

    words = ", ".join(dict.fromkeys(str(reading) for reading in readings.values()))
    return Fit(f"is {words}" if len(readings) == first.size else f"has {words} in it", at, make)


def _made(writer: Rewriter, first: Array, readings: Mapping[int, NumberReading]) -> ir.Value:
    parts = []
    flat = first.reshape(-1)
    start = 0
    for place, reading in sorted(readings.items()):
        if start < place:
            parts.append(writer.constant(flat[start:place].copy()))
        parts.append(_number(writer, reading, first.dtype))
        start = place + 1
    if start < flat.size:
        parts.append(writer.constant(flat[start:].copy()))
    value = parts[0] if len(parts) == 1 else writer.front("Concat", parts, {"axis": 0})
    return value if first.ndim == 1 else writer.front("Reshape", [value, writer.integers(first.shape)])


def _number(writer: Rewriter, reading: NumberReading, kind: np.dtype[Any]) -> ir.Value:
    """A vector of one number."""
    wide = working(kind)

    def make() -> ir.Value:
        to = {"to": int(ir.DataType.from_numpy(wide))}
        value = writer.front("Cast", [writer.size(reading.top)], to)
        if reading.bottom != 1:
            value = writer.front("Div", [value, writer.front("Cast", [writer.size(reading.bottom)], to)])
        for step in reading.steps:
            if step.number is None:
                value = writer.front(step.op, [value])
            else:
                other = writer.constant(np.array([step.number], wide))
                value = writer.front(step.op, [other, value] if step.first else [value, other])
        return value if wide == kind else writer.front("Cast", [value], {"to": int(ir.DataType.from_numpy(kind))})

    return writer.once(("number", reading, kind.str), make)
