"""What a file declares of its values, against what its operators compute; and what was too large to be followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir

from onereshape.checks.findings.finding import Finding
from onereshape.checks.findings.places import Places
from onereshape.checks.findings.reshapes import listed
from onereshape.checks.findings.verdicts import contradiction
from onereshape.formats.onnx.onnx_graphs import every
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.size_limits.free_names import symbol_places
from onereshape.rule.dims import Dim

_MOST_TOLD = 16
"""Places at which `check` gave up that are told one by one."""


def mismatches(model: ir.Model, facts: Facts, places: Places) -> Iterator[Finding]:
    """Declarations of outputs, and of what is between, that contradict what the operators compute."""
    symbols = set(symbol_places(model))
    ends = set(model.graph.outputs)
    for node in every(model.graph):
        for value in node.outputs:
            if value.shape is None or value not in facts.sizes:
                continue
            declared = tuple(_declared_dim(dim) for dim in value.shape)
            said = contradiction(declared, facts.dims[value], symbols)
            if said is None:
                continue
            where, severity = said
            what = "output" if value in ends else "value"
            message = (
                f"the {what} {value.name} is declared {listed(declared)}, "
                f"but {node.op_type} gives {listed(facts.dims[value])}: {where}"
            )
            place = places.of[node]
            name, code = node.name or place, "declared-mismatch"
            origin = f"declared as {'a graph output' if what == 'output' else 'value_info'}"
            yield Finding(code, severity, name, place, node.op_type, value.name, origin, message, fixable=False)


def _declared_dim(dim: Any) -> Dim:
    if isinstance(dim, int):
        return dim if dim >= 0 else None
    return dim.value or None


def given_up(facts: Facts, places: Places) -> Iterator[Finding]:
    """What was too large to follow: nothing is said of what comes after it."""
    for at, why in facts.given_up[:_MOST_TOLD]:
        node, place, op = (at.name or "", "graph", "input") if isinstance(at, ir.Value) else _called(at, places.of[at])
        message = f"{why}; it is taken as unknown, and nothing is said of what depends on it"
        yield Finding("gave-up", "note", node, place, op, None, None, message, fixable=False)
    if len(facts.given_up) > _MOST_TOLD:
        message = f"{len(facts.given_up) - _MOST_TOLD} more places are too large to follow"
        yield Finding("gave-up", "note", "graph", "graph", "graph", None, None, message, fixable=False)


def _called(node: ir.Node, place: str) -> tuple[str, str, str]:
    return node.name or place, place, node.op_type
