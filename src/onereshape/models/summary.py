"""A model in a few numbers, before and after a repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from onereshape.formats.model import Model

Row = tuple[str, str, str]
"""What is counted, before, after."""


def summary(model: Model) -> dict[str, Any]:
    """Inputs and outputs with their dims, how many nodes there are, by operator, and how Reshapes get their targets.

    Of a model that is not ONNX's nothing is counted.
    """
    if model.format != "onnx":
        return {}
    graph = model.ir.graph
    operators = Counter(node.op_type for node in graph.all_nodes())
    constant = sum(node.target is not None and None not in node.target for node in model.reshapes)
    return {
        "inputs": {value.name: _dims(value) for value in graph.inputs if not value.is_initializer()},
        "outputs": {value.name: _dims(value) for value in graph.outputs},
        "nodes": operators.total(),
        "operators": dict(sorted(operators.items())),
        "constant_targets": constant,
        "computed_targets": len(model.reshapes) - constant,
    }


def rows(before: dict[str, Any], after: dict[str, Any]) -> list[Row]:
    """The summaries side by side: all inputs and outputs, and of the operators those whose number changed."""
    found = [
        (f"{role[:-1]} {name}", _shown(dims), _shown(after[role].get(name)))
        for role in ("inputs", "outputs")
        for name, dims in before[role].items()
    ]
    found.append(("nodes", str(before["nodes"]), str(after["nodes"])))
    for op in _in_order(before["operators"], after["operators"]):
        counts = [side["operators"].get(op, 0) for side in (before, after)]
        if counts[0] != counts[1]:
            found.append((f"  {op}", str(counts[0]), str(counts[1])))
    for key, title in (
        ("constant_targets", "constant Reshape targets"),
        ("computed_targets", "computed Reshape targets"),
    ):
        found.append((title, str(before[key]), str(after[key])))
    return found


def _in_order(*names: Iterable[str]) -> list[str]:
    return sorted({name for each in names for name in each})


def _dims(value: Any) -> list[Any] | None:
    return None if value.shape is None else [dim if isinstance(dim, int) else dim.value for dim in value.shape]


def _shown(dims: list[Any] | None) -> str:
    return "?" if dims is None else "[" + ", ".join("?" if dim is None else str(dim) for dim in dims) + "]"
