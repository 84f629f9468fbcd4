"""How a model is written for any size: what the families of `freeing_operators` share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import NamedTuple

from tests.repair.freeing_cases import S

FIRST = {"x": {0: "S"}}
SECOND = S
THIRD = {"x": {2: "S"}}


class Sized(NamedTuple):
    """A model by its size: that of all dims that are freed."""

    op: str
    text: Callable[[int], str]
    asked: Mapping[str, Mapping[int, str]] = SECOND
    sizes: tuple[int, ...] = (4, 6, 3)
    """The size at which it is freed, and those of its witnesses."""
    opset: int = 20
    drawn: bool = False
    """Whether its answers are drawn anew in each run, so that only their dims are compared."""


def filled(kind: str, name: str, dims: tuple[int, ...], *values: float) -> str:
    """A constant that holds some values again and again."""
    count = prod(dims)
    listed = ", ".join(str(values[place % len(values)]) for place in range(count))
    return f"{kind}[{', '.join(map(str, dims))}] {name} = {{{listed}}}"


def graph(given: str, nodes: str, *constants: str, gives: str = "float[] y") -> str:
    """A model of one line; what its outputs have for dims is left open."""
    inside = f" <{', '.join(constants)}>" if constants else ""
    return f"g ({given}) => ({gives}){inside} {{ {nodes} }}"
