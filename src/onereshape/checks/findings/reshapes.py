"""What the rules of Reshape say of the Reshapes of a model, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from onereshape.checks.findings.finding import CODES, Finding
from onereshape.checks.findings.verdicts import contradiction, judged
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.edit import origin_of
from onereshape.graphs.facts.facts import Facts
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import Dim, show, shown

_VOLUME = frozenset({"volume", "indivisible", "impossible-volume", "empty-copy-with-inferred"})
"""The refusals that no input can escape although the words are right."""


def of_view(model: Model) -> Iterator[Finding]:
    """A model of which only the Reshapes are read."""
    for node in model.reshapes:
        error, dims = judged(node, node.data)
        if error is not None:
            yield _refusal(node, error)
        elif (said := contradiction(node.output, dims)) is not None:
            where, _ = said
            message = f"the output is declared {listed(node.output)}, but it is {listed(dims)}: {where}"
            yield replace(
                finding_of("declared-mismatch", node, message), tensor="output", origin="declared in the file"
            )


def refused(model: Model, facts: Facts) -> Iterator[Finding]:
    """The Reshapes of an ONNX model that no input satisfies."""
    for node in model.reshapes:
        known: tuple[Dim, ...] | None = facts.dims.get(node.node.inputs[0]) if node.node.inputs else None
        error, _ = judged(node, known)
        error = facts.errors.get(node.node, error)
        if error is not None:
            yield _refusal(node, error)
        elif known is None and (error := judged(node, node.data)[0]) is not None:
            # What the file declares of values inside may be wrong, and engines do not look at it.
            yield replace(_refusal(node, error), severity="warning", origin="declared in the file")


def _refusal(node: ReshapeNode, error: ReshapeError) -> Finding:
    """A Reshape that is refused, with the dims that it was refused for."""
    code = "impossible-volume" if error.code in _VOLUME else "spec-error"
    seen = [
        f"{what} {listed(dims)}" for what, dims in (("data", error.data), ("target", error.target)) if dims is not None
    ]
    message = f"{' and '.join(seen)}: {error.sentence}" if seen else error.sentence
    return finding_of(code, node, message)


def finding_of(code: str, node: ReshapeNode, message: str, *, fixable: bool = False) -> Finding:
    """A finding of a Reshape, with its target."""
    target = node.node.inputs[1] if isinstance(node.node, ir.Node) and len(node.node.inputs) > 1 else None
    tensor, origin = (None, node.target_from) if target is None else (target.name, origin_of(target))
    severity, op = CODES[code].severity, node.spec.operator
    return Finding(code, severity, node.name, node.place, op, tensor, origin, message, fixable)


def listed(dims: tuple[Dim, ...] | None) -> str:
    return "of any rank" if dims is None else f"[{', '.join(str(show(dim)) for dim in shown(dims))}]"
