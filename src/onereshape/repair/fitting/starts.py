"""Start: a walk as it was before a node, from where it goes on again once more is decided.

What was found before that node does not depend on what is decided behind it, and is not found once more.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, TypeVar

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.facts.walk import Walk
from onereshape.repair.fitting.formulas import Known

AnyWalk = TypeVar("AnyWalk", bound=Walk)


class Start(NamedTuple):
    """The node at which a walk goes on, and what was known before it."""

    scope: Scope
    node: ir.Node


def copied(walk: AnyWalk, scope: Scope) -> tuple[AnyWalk, Scope]:
    """Copies of a walk and of what it knows of the model's own graph: what is found with one is not known to the other.

    No function may have been called, since what is known in a call belongs to one walk.
    """
    again, there, limits = copy(walk), copy(scope), copy(walk.limits)
    for name, value in vars(walk).items():
        if isinstance(value, dict | list | set):
            setattr(again, name, value.copy())
        elif isinstance(value, Known):
            setattr(again, name, value.copied())
    limits.given_up, limits.unread = dict(limits.given_up), dict(limits.unread)
    there.dims, there.kinds = dict(scope.dims), dict(scope.kinds)
    there.elements, there.constants = dict(scope.elements), dict(scope.constants)
    again.limits, there.walk = limits, again
    return again, there


def keep_constants(scope: Scope, there: Scope) -> None:
    """Copies what one scope knows of Constant nodes, which no walk changes, into another scope of the same graph."""
    for value, tensor in scope.constants.items():
        if value not in there.constants:
            there.constants[value], there.dims[value], there.kinds[value] = tensor, scope.dims[value], tensor.dtype
        if value in scope.elements:
            there.elements[value] = scope.elements[value]
