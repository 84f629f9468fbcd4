"""The sizes from which on a model runs: no window is longer than its data, no TopK takes more than there is.

The exports are larger than that.  A smaller size is no wrong answer, but an error of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.exported import Limit, at_least
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.signs import never_below
from onereshape.repair.fitting.strided import WINDOWED
from onereshape.rule.sizes import Formula, Size, fewest, symbol

_WINDOW = "no window is longer than what it goes over"
_TAKEN = "no more are taken than there are"


def least(nodes: Sequence[ir.Node], scope: Scope, known: Known) -> Iterator[Limit]:
    """The smallest size of each symbol at which every node runs, where that is above 1."""
    asked: dict[tuple[Size, int], str] = {}
    for node in nodes:
        operator = operator_of(node)
        if operator in WINDOWED:
            asked.update(((size, 1), _WINDOW) for size in scope.dims.get(node.outputs[0], ())[2:])
        elif operator == "TopK":
            asked.update(((size, most), _TAKEN) for size, most in _taken(node, scope))
    found: dict[str, tuple[int, str]] = {}
    for (size, number), why in asked.items():
        missing = number - size
        if not isinstance(missing, Formula) or not known.knows(size):
            continue
        if len(missing.symbols) > 1:
            if not never_below(size, number, known):
                yield at_least(size, number, why)
            continue
        (name,) = missing.symbols
        start, step = min(binding[name] for binding in known.bindings), known.steps.get(name, 1)
        found[name] = max(found.get(name, (1, "")), (fewest(missing, 0, start, step), why))
    yield from (at_least(symbol(name), size, why) for name, (size, why) in found.items() if size > 1)


def _taken(node: ir.Node, scope: Scope) -> Iterator[tuple[Size, int]]:
    """A size, and the least that a TopK lets it be: `(S, 5)` for 5 entries of S, `(S - T, 0)` for T."""
    data, many = (*node.inputs, None, None)[:2]
    dims, held = (None, None) if data is None or many is None else (scope.dims_of(data), scope.held(many))
    axis = node.attributes.get_int("axis", -1)
    if dims and held is not None and held.size == 1 and -len(dims) <= axis < len(dims):
        taken = held.reshape(-1).tolist()[0]
        if isinstance(taken, int):
            yield dims[axis], taken
        elif isinstance(taken, Formula):
            yield dims[axis] - taken, 0
