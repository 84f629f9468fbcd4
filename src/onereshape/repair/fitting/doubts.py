"""Doubt: a number that may stand for several formulas, or for none, and the refusal that says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.export_sizes import sizes_text
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.differing import Use
from onereshape.repair.fitting.exported import Binding
from onereshape.repair.fitting.formulas import told_apart
from onereshape.rule.sizes import Size

Key = tuple[int, int]
"""The number of a place at which exports differ, and of an entry there, or `~axis` for one of its dims."""


class Doubt(NamedTuple):
    """A number, and the formulas that it may stand for."""

    key: Key
    use: Use
    readings: tuple[Size, ...]
    proven: frozenset[Size]
    """The readings that the exports prove, as long as nothing else fits."""
    crossed: bool = False
    """Whether the number is about an axis, and may be the size of another axis."""
    what: str = ""
    """What has the readings, in words, where it is more than one number."""


def refusal(doubts: Sequence[Doubt], bindings: Sequence[Binding]) -> FixError:
    """Why what is open stays so: the first number that no formula gives, or that several give."""
    doubt = doubts[0]
    use, place = doubt.use, doubt.what or _place(doubt.use, doubt.key[1])
    node, op = use.node.name or use.node.outputs[0].name, use.node.op_type
    if not doubt.readings:
        return FixError("cannot-free", node=node, op=op, why=f"no formula of the free sizes gives {place}")
    if len(doubt.readings) == 1:
        why = f"{doubt.readings[0]} gives {place}, but so few exports do not prove it"
        return FixError("cannot-free", node=node, op=op, why=why)
    one, two, *_ = doubt.readings
    return ambiguous(use.node, place, one, two, bindings)


def ambiguous(node: ir.Node, what: str, one: Size, two: Size, bindings: Sequence[Binding]) -> FixError:
    """Why something is refused that may be read in two ways, and an export that would tell which is right."""
    sizes = told_apart(one, two, bindings)
    where = "other sizes" if sizes is None else sizes_text(sizes)
    name = node.name or node.outputs[0].name
    return FixError("ambiguous", node=name, op=node.op_type, what=what, one=one, two=two, sizes=where)


def _place(use: Use, entry: int) -> str:
    numbers = [array.reshape(-1)[entry] if entry >= 0 else array.shape[~entry] for array in use.arrays]
    shown = ", ".join(str(number) for number in numbers)
    where = f"entry {entry} of {use.name}" if entry >= 0 else f"axis {~entry} of {use.name}"
    return f"{where} (in the exports: {shown})"
