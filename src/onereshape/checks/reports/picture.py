"""Picture: what is drawn of a model, before anybody says where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Look = Literal["plain", "before", "after"]
"""Whether something stays, goes or comes."""
BoxKind = Literal["node", "anchor", "input", "output", "constant"]


@dataclass(frozen=True, slots=True)
class Box:
    """A node, an input, an output or a constant."""

    key: str
    kind: BoxKind
    look: Look
    title: str
    """The operator, or the words of a constant."""
    name: str
    """What the file calls it."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A value on its way from one box to another."""

    source: str
    target: str
    value: str
    """What tells the values of a source apart."""
    dims: str
    """Its dims in words; empty where the boxes say enough."""
    look: Look = "plain"


@dataclass(frozen=True, slots=True)
class Picture:
    """Boxes and wires; what is beyond them is only hinted at."""

    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    above: frozenset[str] = frozenset()
    """The boxes into which something leads that is not drawn,"""
    below: frozenset[str] = frozenset()
    """and those whose values go on to what is not drawn."""
