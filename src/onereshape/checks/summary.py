"""A model in a few numbers, before and after a repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from onereshape.formats.model import Model
from onereshape.formats.reading import integer

Row = tuple[str, str, str]
"""What is counted, before, after."""


def summary(model: Model) -> dict[str, Any]:
    """Inputs and outputs with their dims, how many nodes there are, by operator, and how Reshapes get their targets.

    Of an IR the layers are counted, by type, without its constants; of a oneDNN graph nothing is.
    """
    if model.format == "openvino":
        return _of_layers(model)
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


def _of_layers(model: Model) -> dict[str, Any]:
    from onereshape.formats.openvino.openvino_ir import root_of  # noqa: PLC0415 - only an IR needs it

    layers = root_of(model).findall("layers/layer")
    kinds = Counter(layer.get("type", "") for layer in layers)
    constant = sum(node.target is not None and None not in node.target for node in model.reshapes)
    ends = {"Parameter": "inputs", "Result": "outputs"}
    sides: dict[str, dict[str, list[Any] | None]] = {"inputs": {}, "outputs": {}}
    for layer in layers:
        if (side := ends.get(layer.get("type", ""))) is not None:
            port = layer.find(f"{'output' if side == 'inputs' else 'input'}/port")
            dims = [] if port is None else [integer(dim.text) for dim in port.iterfind("dim")]
            sides[side][layer.get("name", "")] = [None if dim is None or dim < 0 else dim for dim in dims]
    operators = {kind: count for kind, count in sorted(kinds.items()) if kind not in {*ends, "Const"}}
    return {
        **sides,
        "nodes": sum(operators.values()),
        "operators": operators,
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
