"""first_difference(): the node from which on the terms of two models differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import eq
from typing import Any

import onnx_ir as ir

from onereshape.terms.call import Value
from onereshape.terms.every_batch import printed
from onereshape.terms.hashing import Hashing
from onereshape.terms.program import Program
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor


def _content(hashing: Hashing, tensor: Tensor) -> tuple[int, int]:
    """The number of elements and their content: optimisers keep the name of a value that they reshape."""
    return tensor.size, printed(hashing, tensor).word


def first_difference(  # noqa: PLR0913, PLR0917 - two runs, and how what they make is compared
    original: Program,
    repaired: Program,
    before: Mapping[str, Tensor],
    after: Mapping[str, Tensor],
    sketched: Callable[[Hashing, Tensor], Any] = _content,
    alike: Callable[[Any, Any], bool] = eq,
) -> str:
    """The first node of the repaired model whose output is not the original's value of that name; "" where none is.

    `sketched` makes what is kept of a tensor, and `alike` says whether two of these are of the same.
    """
    wanted: dict[str, Any] = {}

    def note(node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        for value, result in zip(node.outputs, results, strict=True):
            if isinstance(result, Tensor) and value.name and node.graph is original.model.graph:
                wanted.setdefault(value.name, sketched(original.hashing, result))
        return results

    found: list[str] = []
    outer = repaired.model.graph  # the names inside of functions and bodies are not the model's

    def compare(node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        for value, result in zip(node.outputs, results, strict=True):
            if found or not isinstance(result, Tensor) or value.name not in wanted or node.graph is not outer:
                continue
            if not alike(sketched(repaired.hashing, result), wanted[value.name]):
                found.append(f"{node.op_type} {node.name or value.name}")
        return results

    try:
        original.run(before, note)
        repaired.run(after, compare)
    except NotProven:
        pass
    return found[0] if found else ""
