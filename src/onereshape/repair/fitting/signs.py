"""Numbers that say something else where they are negative: a Pad removes then, and a Slice counts from the end.

No export shows what a model does beyond the sizes at which such a number changes its sign: a picture that is padded to
a square on one side is padded on the other where it is wide.  So the number keeps the sign that it has in all exports.
An exporter may put such numbers together, turn them around and only then hand them to the Pad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.exported import Binding, Limit
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, Size

_PADS = "a pad that is negative removes entries"
_SIGNED = {
    ("Pad", 1): _PADS,
    ("Slice", 1): "a start that is negative counts from the end",
    ("Slice", 2): "an end that is negative counts from the end",
    ("Gather", 1): "an index that is negative counts from the end",
    ("Tile", 1): "nothing is repeated less than 0 times",
}
"""The inputs whose numbers may be negative, or must not be."""
_HANDED_ON = {"Cast", "Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose"}
_HANDED_ON |= {"Unsqueeze"}
"""Operators that hand on numbers of their data as they are, all of them or some."""
_FEW = 24
"""Small sizes of a symbol that are tried."""


def signs(node: ir.Node, slot: int | str, entries: Sequence[Size], known: Known, scope: Scope) -> Iterator[Limit]:
    """What keeps the signs of numbers as all exports have them, where a number may change its sign at all."""
    numbers = [size for size in entries if isinstance(size, Formula)]
    for value, why in _signed(node, slot) if numbers else ():
        held = scope.held(value)
        there = numbers if held is None else [size for size in numbers if size in held.reshape(-1).tolist()]
        for size in there:
            values = known.values(size)
            if values is None:
                continue
            if min(values) >= 0 and not never_below(size, 0, known):
                yield Limit(0 - size, 0, why)
                continue
            least = 0 if why == _PADS else 1  # a pad of 0 removes nothing, and adds nothing
            if max(values) < 0 and not never_below(0 - size, least, known):
                yield Limit(size, -least, f"only {why}")


def _signed(node: ir.Node, slot: int | str) -> Iterator[tuple[ir.Value, str]]:
    """The inputs that numbers reach, directly or handed on by nodes, with the meaning of a negative number there."""
    left = [(node, slot)] if isinstance(slot, int) else []
    seen: set[ir.Node] = set()
    while left:
        node, slot = left.pop()
        operator, value = operator_of(node), node.inputs[slot]
        if value is not None and (operator, slot) in _SIGNED:
            yield value, _SIGNED[operator, slot]
        elif (slot == 0 or operator == "Concat") and operator in _HANDED_ON and node not in seen:
            seen.add(node)
            left += [(use.node, use.idx) for use in node.outputs[0].uses()]


def never_below(size: Size, least: int, known: Known) -> bool:
    """Whether a size is at least a number, from sizes of 1 on."""
    try:
        return known.never_below(size, least) and all(_at(size, each) >= least for each in _small(known))
    except ZeroDivisionError:
        return False


def _small(known: Known) -> Iterator[Binding]:
    """Sizes that go to 1, all of them together and each alone; of the exports' rests, where others do not run."""
    first = {name: size for name, size in known.bindings[0].items() if not name.startswith("?")}
    for name in (None, *first):
        for turn in range(_FEW):
            found = dict(first)
            for each in first if name is None else (name,):
                step = known.steps.get(each, 1)
                found[each] = (first[each] - 1) % step + 1 + turn * step
            yield found


def _at(size: Size, binding: Binding) -> float:
    return float(size.at(binding)) if isinstance(size, Formula) else size
