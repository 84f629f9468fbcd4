"""ProvenReshape: a Reshape of an ONNX model with all that is proven of it: the entries of its target, its dims.

Nothing is rewritten here.  A dim is a product of sizes; a size has a name, of the model's or of the engine's making,
and may be anything from 1 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import is_within, net_of
from onereshape.formats.onnx.onnx_graphs import ONNX, opset_of
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.words import meant
from onereshape.rule.sizes import Size, exact, product

_Asks = tuple[Sequence[ir.Value | None], ir.Attr | None, ir.Attr | None]
"""The inputs of a Reshape, and its attributes `allowzero` and `shape`."""


@dataclass(frozen=True, slots=True)
class ProvenReshape:
    """A Reshape, with what is proven of its target, its data and its output."""

    node: ir.Node
    opset: int
    data: ir.Value
    target: ir.Value | None
    """None where the target is an attribute."""
    copies: bool
    """Whether a 0 copies."""
    constant: bool
    """Whether the target is a constant as it stands."""
    entries: tuple[Size | None, ...] | None
    """The entries of the target, numbers or products of sizes; None: not known, or not even how many."""
    dims: tuple[Size, ...] | None
    """The dims of the data, if all are known."""
    output: tuple[Size, ...] | None
    """The dims of the output whenever the Reshape succeeds, if all are known."""

    @property
    def numbers(self) -> list[int] | None:
        """The entries, if all are numbers."""
        known = [entry for entry in self.entries or () if isinstance(entry, int)]
        return known if self.entries is not None and len(known) == len(self.entries) else None


class Reader:
    """Reads the Reshapes of a model."""

    def __init__(self, model: ir.Model, facts: Facts) -> None:
        self._model = model
        self._facts = facts
        self._net = net_of(model.graph)
        self._known: dict[ir.Node, tuple[_Asks, ProvenReshape | None]] = {}

    def read(self, node: ir.Node, root: ir.Graph | ir.Function) -> ProvenReshape | None:
        """What is known of a node, None if it is no Reshape or breaks the rules of one; found anew where it changed."""
        if node.op_type != "Reshape" or node.domain not in ONNX or is_within(node, self._net, "Reshape"):
            return None
        if self._model.functions and node.op_identifier() in self._model.functions:
            return None
        flag, words = node.attributes.data.get("allowzero"), node.attributes.data.get("shape")
        known = self._known.get(node)
        if known is None or known[0][0] is not node.inputs or known[0][1] is not flag or known[0][2] is not words:
            known = self._known[node] = ((node.inputs, flag, words), self._read(node, root, flag, words))
        return known[1]

    def _read(
        self, node: ir.Node, root: ir.Graph | ir.Function, flag: ir.Attr | None, words: ir.Attr | None
    ) -> ProvenReshape | None:
        opset = opset_of(root)
        given = [value for value in node.inputs if value is not None]
        told = all(each is None or not each.is_ref() for each in (flag, words))
        if not told or len(given) != (1 if opset < 5 else 2) or node in self._facts.errors:
            return None
        copies = flag is None or flag.value == 0
        dims = None if isinstance(root, ir.Function) else self.dims(given[0])
        if opset < 5:
            entries: Any = None if words is None else tuple(words.value)
        else:
            entries = self._entries(given[1], root)
        output = None if entries is None else self._output(node, entries, dims, copies=copies)
        constant = opset < 5 or _is_constant(given[1])
        return ProvenReshape(
            node, opset, given[0], given[1] if opset >= 5 else None, copies, constant, entries, dims, output
        )

    def is_conditional(self, node: ir.Node) -> bool:
        """Whether a Reshape succeeds at some sizes only."""
        return node in self._facts.conditions

    def dims(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The dims of a value."""
        return self._facts.dims_of(value)

    def _entries(self, target: ir.Value, root: ir.Graph | ir.Function) -> tuple[Size | None, ...] | None:
        """The entries of a target; in a function only what holds whoever calls it."""
        scope = self._facts.within(root) if isinstance(root, ir.Function) else self._facts
        found = None if scope is None else scope.held(target)
        return None if found is None or found.ndim != 1 else tuple(found.tolist())

    def _output(
        self, node: ir.Node, entries: Sequence[Size | None], dims: tuple[Size, ...] | None, *, copies: bool
    ) -> tuple[Size, ...] | None:
        """The output dims that the entries ask for; a quotient is the engine's word."""
        output = [size for size in meant(dims or (), entries, zero_copies=copies) if size is not None]
        beyond = copies and 0 in entries[len(dims or ()) :]
        if beyond or len(output) < len(entries) or any(isinstance(size, int) and size < -1 for size in output):
            return None
        if -1 not in entries:
            return tuple(output)
        axis = entries.index(-1)
        output[axis] = 1
        below = product(output)
        if entries.count(-1) > 1 or dims is None or below == 0:
            return None
        quotient = exact(product(dims), below, (*dims, *output))
        if quotient is None:
            found = self.dims(node.outputs[0])
            quotient = None if found is None else found[axis]
        if quotient is None:
            return None
        output[axis] = quotient
        return tuple(output)


def _is_constant(value: ir.Value) -> bool:
    """An initializer, or the output of a Constant node."""
    maker = value.producer()
    return value.is_initializer() if maker is None else maker.op_type == "Constant" and maker.domain in ONNX
