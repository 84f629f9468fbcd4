"""Growth: a tensor of a fixed size, where a free one is needed.

The tensor is followed back to the constants that it is made of.  Those that are known to go on in only one way are
made as long as they must be, and the nodes between are copied, so that nobody else is disturbed.  What cannot grow is
named: a table with one entry for each place of the sequence, a mask made for one image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import onnx_ir as ir

from onereshape.graphs.edit import Change, Edit, origin_of
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs, Wanted
from onereshape.graphs.free_rules.patterns import Pattern, pattern_of
from onereshape.graphs.free_rules.spans import Spans, added_span, span_of
from onereshape.graphs.free_rules.state import Axes, FreeState, Limit, shown, sizes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.registry import record_of
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size

_DEEPEST = 40


def grown_input(view: FreeView, index: int, wanted: Wanted) -> tuple[Edit, Axes]:
    """The edit that gives a node an input of the size that it must have, and the dims that this input has then."""
    value, node = view.value(index), view.node
    grown = _grow(view.state, value, wanted, view.label, 0)
    for limit in grown.limits:
        view.state.limit(*limit)

    def apply(writer: Rewriter) -> None:
        node.replace_input_with(index, grown.make(writer, node))

    return Edit(grown.changes, apply, node, index, grown.uses, wanted=dict(wanted)), grown.dims


def _grow(state: FreeState, value: ir.Value, wanted: Wanted, label: str, depth: int) -> Grown:
    dims = state.dims(value)
    if dims is None:
        raise Refused(f"the rank of {value.name} is not known")
    missing = {axis: size for axis, size in wanted.items() if not _has(state, dims[axis], size)}
    if not missing:
        return Grown(dims, lambda _, __: value, span_of(state, value), uses=(value,))
    node = value.producer()
    if node is None or node.op_type == "Constant":
        return _constant(state, value, missing, label)
    try:
        return _copied(state, node, missing, label, depth)
    except Refused as refused:
        if state.matters(value) or state.folding.array(value) is None:
            raise
        try:
            return _constant(state, value, missing, label)
        except Refused:
            raise refused from None


def _has(state: FreeState, own: Axis | None, size: Size) -> bool:
    return own is not None and state.same(size_of(own), size)


def _constant(state: FreeState, value: ir.Value, wanted: Wanted, label: str) -> Grown:
    """A constant that goes on in only one way."""
    array = None if state.matters(value) else state.folding.array(value)
    axis, size = next(iter(wanted.items()))
    dims = state.dims(value) or ()
    here = sizes(dims)[axis] if axis < len(dims) else None
    if array is None:
        raise Refused(f"{value.name} has size {here} at axis {axis}, where {size} is needed, and is not a constant")
    key = (value, tuple(sorted(wanted.items(), key=str)))
    if key not in state.patterns:
        state.patterns[key] = _pattern(array, wanted)
    found, whole = state.patterns[key]
    if found is None or state.opset < 9:  # which has a Where, and a Less of integers
        raise Refused(f"the table {value.name} has {here} entries along axis {axis}, one for each of {size}")
    grown = tuple((whole[place],) if place in whole else own for place, own in enumerate(dims))
    needed = ", ".join(f"{size} at axis {place}" for place, size in whole.items())
    message = f"{value.name} {found.words}; {label} needs {needed}"
    op = "Constant" if value.producer() is not None else "initializer"
    change = Change(
        "baked-dim", label, op, value.name or "", origin_of(value), message, shown(array.shape), shown(sizes(grown))
    )
    return Grown(grown, lambda writer, _: found.make(writer), found.largest, changes=(change,))


def _pattern(array: Any, wanted: Wanted) -> tuple[Pattern | None, Wanted]:
    """The pattern along the axes that must grow; a triangle grows along both, though only one was asked for."""
    found = pattern_of(array, wanted)
    if found is None and len(wanted) == 1:
        (axis, size), *_ = wanted.items()
        for other in range(array.ndim):
            both = {axis: size, other: size}
            if other != axis and array.shape[other] == array.shape[axis] and (found := pattern_of(array, both)):
                return found, both
    return found, wanted


def _copied(state: FreeState, node: ir.Node, wanted: Wanted, label: str, depth: int) -> Grown:
    """The node that makes a tensor, on larger inputs."""
    value = node.outputs[0]
    record = record_of(node)
    dims = state.dims(value) or ()
    rule: Callable[[Growing], Inputs] | None = record.grows
    limited: Callable[[Growing, Mapping[int, Grown]], tuple[Limit, ...]] | None = record.limits
    if rule is None or depth > _DEEPEST:
        axis, size = next(iter(wanted.items()))
        here = sizes(dims)[axis]
        raise Refused(f"{value.name}, made by {node.op_type}, has size {here} at axis {axis}, where {size} is needed")
    growing = Growing(FreeView(node, state), wanted, label, depth, _grow)
    inputs, more = rule(growing)
    whole = {**wanted, **more}
    grown = tuple((whole[place],) if place in whole else own for place, own in enumerate(dims))
    spans = Spans(
        state, {each: inputs[index].span for index, each in enumerate(node.inputs) if index in inputs and each}
    )
    span = added_span(spans, node)
    own = () if limited is None else limited(growing, inputs)
    limits = (*(limit for each in inputs.values() for limit in each.limits), *own)
    key = ("grown", value, tuple(sorted(whole.items(), key=str)))

    def make(writer: Rewriter, before: ir.Node) -> ir.Value:
        def copied() -> ir.Value:
            made = {index: each.make(writer, before) for index, each in inputs.items()}
            return writer.copy(node, [made.get(index, each) for index, each in enumerate(node.inputs)], before)

        return writer.once(key, copied)

    changes = tuple(change for each in inputs.values() for change in each.changes)
    return Grown(grown, make, span, tuple(_uses(state, node, inputs)), changes, limits)


def _uses(state: FreeState, node: ir.Node, inputs: Mapping[int, Grown]) -> Iterator[ir.Value]:
    """The values of the original that a copy is made of."""
    for index, value in enumerate(node.inputs):
        planned = state.planned.get((node, index))
        if index in inputs:
            yield from inputs[index].uses
        elif planned is not None:
            yield from planned.uses
        elif value is not None:
            yield value
