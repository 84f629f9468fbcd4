"""first_difference(): the node from which on the terms of two models differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx_ir as ir

from onereshape.terms.call import Value
from onereshape.terms.every_batch import Print, printed
from onereshape.terms.program import Program
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor


def first_difference(
    original: Program, repaired: Program, before: Mapping[str, Tensor], after: Mapping[str, Tensor]
) -> str:
    """The first node of the repaired model whose output differs from the value of that name in the original."""
    wanted: dict[str, Print] = {}

    def note(node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        for value, result in zip(node.outputs, results, strict=True):
            if isinstance(result, Tensor) and value.name:
                wanted.setdefault(value.name, printed(original.hashing, result))
        return results

    found: list[str] = []

    def compare(node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        for value, result in zip(node.outputs, results, strict=True):
            if isinstance(result, Tensor) and value.name in wanted and not found:
                mine = printed(repaired.hashing, result)
                if mine != wanted[value.name]:
                    found.append(f"{node.op_type} {node.name or value.name}")
        return results

    try:
        original.run(before, note)
        repaired.run(after, compare)
    except NotProven:
        pass
    return f", from {found[0]} on" if found else ""
