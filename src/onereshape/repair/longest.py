"""Outputs that are as long as the longest of the samples: no rule of an operator is what refuses such a model.

A voice counts how long each text becomes, takes the largest of these lengths over the batch, and makes all as long.
What one sample gives is then another thing beside a longer one, wherever else a rule stops before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import onnx_ir as ir

from onereshape.graphs.backtracking import used
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.facts.order import ordered
from onereshape.graphs.node_view import label_of
from onereshape.graphs.operators import record_of
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.takes import SIZES
from onereshape.ground.errors import FixError
from onereshape.rule.sizes import Formula, Size, depends

_REDUCED: Final = {
    "ReduceMax": "the longest of the samples",
    "ReduceMin": "the shortest of the samples",
    "ReduceSum": "all samples together",
}
"""Operator -> the length that it makes of the lengths of all samples, in words."""


def tell_longest(refusal: FixError, model: ir.Model, asked: Mapping[str, Mapping[int, str]]) -> None:
    """Has a refusal of the batch say that an output is as long as the longest of the samples, where that is so."""
    if refusal.usage or "why" not in refusal.fields:
        return
    facts, (symbol,) = facts_of(model, asked), {name for dims in asked.values() for name in dims.values()}
    nodes = list(ordered(model.graph))
    drawn = _after(nodes, {value for value in model.graph.inputs if value.name in asked}, elements=True)
    for node in nodes:
        data = node.inputs[0] if node.op_type in _REDUCED and node.domain == "" else None
        if data is None or data not in drawn or not _reduces(node, data, facts, symbol):
            continue
        output = _made_as_long(model.graph, nodes, node, facts)
        if output is not None:
            why = f"the output {output.name} is as long as {_REDUCED[node.op_type]}"
            refusal.fields |= {"node": label_of(node), "op": node.op_type, "why": why}
            return


def _after(nodes: Iterable[ir.Node], found: set[ir.Value | None], *, elements: bool = False) -> set[ir.Value | None]:
    """Values and all that nodes calculate of them; `elements`: not what only their dims go into, as into a Shape."""
    found = {*found}
    for node in nodes:
        if not found.isdisjoint(used(node)) and not (elements and record_of(node).from_dims is not None):
            found.update(node.outputs)
    return found


def _reduces(node: ir.Node, data: ir.Value, facts: Facts, symbol: str) -> bool:
    """Whether a node makes one number of those of all samples; of a tensor of unknown dims, if that is all it gives."""
    dims, result = facts.dims_of(data), facts.dims_of(node.outputs[0])
    if dims is None or result is None or _has(result, symbol):
        return False
    unknown = any(isinstance(size, Formula) and size.symbols & facts.unnamed for size in dims)
    return _has(dims, symbol) or (unknown and all(size == 1 for size in result))


def _has(dims: Iterable[Size], symbol: str) -> bool:
    """Whether one of the dims is, or is made of, the batch."""
    return any(depends(size, (symbol,)) for size in dims)


def _made_as_long(graph: ir.Graph, nodes: list[ir.Node], node: ir.Node, facts: Facts) -> ir.Value | None:
    """An output whose dims follow from what a node gives, and are not known."""
    lengths = _after(nodes, {*node.outputs}, elements=True)
    made: set[ir.Value | None] = set()
    for each in nodes:
        takes = record_of(each).takes
        if any(value in lengths and takes.get(index) in SIZES for index, value in enumerate(each.inputs)):
            made.update(each.outputs)
    long = _after(nodes, made)
    unknown = (value for value in graph.outputs if value in long and _is_open(value, facts))
    return next(unknown, None)


def _is_open(value: ir.Value, facts: Facts) -> bool:
    dims = facts.dims_of(value)
    return dims is None or any(isinstance(size, Formula) and size.symbols & facts.unnamed for size in dims)
