"""A scale for each sample, in the place of one that is taken from all of them.

DynamicQuantizeLinear finds its scale and its zero point in all that it is given.  Written out by its own formula, with
reductions of all axes but the batch's, each sample has those that it has alone, and the batch goes through what is
written by the rules of its operators.  What multiplies the quantised numbers is in `own_products`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.own_products import Quantised, check_reader, write_reader
from onereshape.graphs.edit import Change, origin_of
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.node_view import Refused, label_of
from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.errors import FixError
from onereshape.rule.sizes import Size

ONE_SCALE = "it takes one scale from all samples together, so that what a sample gives depends on those beside it"
_PER_AXIS = 13
"""The opset since which QuantizeLinear takes a scale for each entry of an axis."""
_AXES_ARE_INPUTS = 18
"""The opset since which ReduceMin and ReduceMax take their axes as an input."""
_ELEMENTWISE = frozenset({"Add", "Cast", "Div", "Identity", "Mul", "Sub"})


class _Finder(NamedTuple):
    """A DynamicQuantizeLinear whose data carry N."""

    node: ir.Node
    mark: Mark
    dims: tuple[Size, ...]
    """The dims of its data in one sample."""
    scales: Sequence[ir.Value]
    """Its scale, and what is made of it: they have more dims now."""
    readers: Sequence[ir.Node]
    """Who takes the quantised numbers."""


def has_scales(model: ir.Model) -> bool:
    """Whether scales are found in data."""
    return any(True for _ in _finders(model.graph))


def own_scales(model: ir.Model, marks: Mapping[ir.Value, Mark], facts: Facts, symbol: str) -> list[Change]:
    """Gives each sample its own scales, in place, where a plan with one scale for all found N there; all or none."""
    data = {node: value for node in _finders(model.graph) if (value := node.inputs[0]) is not None}
    carried = {node: marks[value] for node, value in data.items() if value in marks}
    build = Rewriter(model)
    finders = [_finder(node, mark, facts, symbol, build.opset) for node, mark in carried.items()]
    found: dict[ir.Value, Quantised] = {}
    changes = []
    for each in finders:
        start = len(build.added)
        found[each.node.outputs[0]] = _written(build, each)
        changes.append(_change(each, symbol, len(build.added) - start))
    for node in dict.fromkeys(reader for each in finders for reader in each.readers):
        write_reader(build, node, found)
    model.graph.remove(list(carried), safe=True)
    return changes


def _finders(graph: ir.Graph) -> Iterator[ir.Node]:
    return (node for node in graph if node.op_type == "DynamicQuantizeLinear" and node.domain in ONNX)


def _finder(node: ir.Node, mark: Mark, facts: Facts, symbol: str, opset: int) -> _Finder:
    """What is known of a node; a refusal where each sample cannot have a scale of its own."""
    data = node.inputs[0]
    dims = tuple((None if data is None else facts.dims_of(data)) or ())
    readers = list(dict.fromkeys(user for user, _ in node.outputs[0].uses()))
    try:
        _check(node, mark, dims, symbol)
        for reader in readers:
            check_reader(node, reader, facts, opset)
        _check_points(node, readers)
        scales = [scale for value in node.outputs[1:2] for scale in _scales(value, readers, len(dims), facts)]
    except Refused as refused:
        why = f"{ONE_SCALE}; a scale for each is not written, as {refused.why}"
        raise FixError("mixes-samples", node=label_of(node), op=node.op_type, why=why) from None
    return _Finder(node, mark, dims, scales, readers)


def _check(node: ir.Node, mark: Mark, dims: Sequence[object], symbol: str) -> None:
    if not mark.bare and (mark.axis or mark.outer != 1 or not all(isinstance(dim, int) for dim in dims)):
        raise Refused(f"{symbol} is not alone on axis {mark.axis} of its data")
    if any(value.is_graph_output() for value in node.outputs):
        raise Refused("it makes an output")


def _check_points(node: ir.Node, readers: Sequence[ir.Node]) -> None:
    """The zero point goes beside the numbers, and nowhere else."""
    others = [user for value in node.outputs[2:] for user, _ in value.uses() if user not in readers]
    if others:
        raise Refused(f"{label_of(others[0])} ({others[0].op_type}) takes its zero point")


def _scales(scale: ir.Value, readers: Sequence[ir.Node], rank: int, facts: Facts) -> list[ir.Value]:
    """A scale and what is made of it, up to where that meets tensors of as many dims as the data have."""
    values = [scale]
    for value in values:  # it grows
        for user, _ in value.uses():
            output = user.outputs[0]
            dims = facts.dims_of(output)
            if user in readers:
                continue
            if user.domain not in ONNX or user.op_type not in _ELEMENTWISE or dims is None:
                raise Refused(f"{label_of(user)} ({user.op_type}) takes its scale")
            if len(dims) < rank and output not in values:
                if output.is_graph_output():
                    raise Refused(f"the output {output.name} is made of its scale")
                values.append(output)
    return values


def _change(each: _Finder, symbol: str, count: int) -> Change:
    """The report on a DynamicQuantizeLinear that gets N scales in place of one, which `count` nodes then use."""
    label, value = label_of(each.node), each.node.outputs[min(1, len(each.node.outputs) - 1)]
    message = f"{label} takes one scale from all samples; each of {symbol} gets its own, as alone, in {count} nodes"
    after = f"{symbol} scales"
    return Change("own-scale", label, each.node.op_type, value.name or "", origin_of(value), message, "1 scale", after)


def _written(build: Rewriter, each: _Finder) -> Quantised:
    """The formula: a scale of (max - min) / 255, of which 0 is a word."""
    node, axis, rank = each.node, each.mark.axis, len(each.dims)
    data: ir.Value = node.inputs[0]  # type: ignore[assignment]  # the check of the model saw it
    insert = partial(build.insert, node)
    zero, one, top = (build.constant(np.array(number, np.float32)) for number in (0, 1, 255))
    if not each.mark.bare:
        data, axis, rank = insert("Reshape", [data, build.integers([1, -1])]), 0, 2
    low, high = (
        _extreme(build, node, data, op, [other for other in range(rank) if other != axis]) for op in ("Min", "Max")
    )
    width = insert("Sub", [high, low])
    flat = insert("Equal", [width, zero])
    scale = insert("Where", [flat, one, insert("Div", [width, top])])
    # 0 - min / scale, which is between 0 and 255 but for what rounding adds
    point = insert("Round", [insert("Clip", [insert("Neg", [insert("Div", [low, scale])]), zero, top])])
    short = insert("Cast", [point], {"to": int(ir.DataType.UINT8)})
    whole = insert("Cast", [short], {"to": int(ir.DataType.INT32)})
    row = build.integers([-1])
    flat_scale, flat_point = insert("Reshape", [scale, row]), insert("Reshape", [short, row])
    if build.opset >= _PER_AXIS:
        words = insert("QuantizeLinear", [data, flat_scale, flat_point], {"axis": axis})
    else:
        exact = insert("Cast", [short], {"to": int(ir.DataType.FLOAT)})
        steps = insert("Add", [insert("Round", [insert("Div", [data, scale])]), exact])
        words = insert("Cast", [insert("Clip", [steps, zero, top])], {"to": int(ir.DataType.UINT8)})
    if not each.mark.bare:
        words = insert("Reshape", [words, build.vector([-1, *each.dims[1:]])])
        scale, whole, short = (_repeated(build, node, value, each.dims) for value in (scale, whole, short))
    node.outputs[0].replace_all_uses_with(words)
    for value in each.scales:
        value.shape = None
    if len(node.outputs) > 1:
        node.outputs[1].replace_all_uses_with(scale)
    return Quantised(words, whole, short, each.dims)


def _extreme(build: Rewriter, node: ir.Node, data: ir.Value, op: str, others: Sequence[int]) -> ir.Value:
    """The least or the largest number of each sample, and 0."""
    if build.opset >= _AXES_ARE_INPUTS:
        found = build.insert(node, f"Reduce{op}", [data, build.integers(others)], {"keepdims": 1})
    else:
        found = build.insert(node, f"Reduce{op}", [data], {"axes": others, "keepdims": 1})
    return build.insert(node, op, [found, build.constant(np.array(0, np.float32))])


def _repeated(build: Rewriter, node: ir.Node, value: ir.Value, dims: Sequence[Size]) -> ir.Value:
    """One number of each sample, repeated for its entries on axis 0: `(N, 1)` and dims `(3, 4) -> (N * 3, 1)`."""
    wide = build.insert(node, "Expand", [value, build.vector([1, dims[0]])])
    return build.insert(node, "Reshape", [wide, build.integers([-1, *[1] * (len(dims) - 1)])])
