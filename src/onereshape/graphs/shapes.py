"""facts_of(): the one place that asks for the shapes of a model.

The model stays as it was, and what it declares inside is ignored: only its inputs and its constants count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import onnx_ir as ir

from onereshape.graphs.constants import DEFAULTS
from onereshape.graphs.facts.facts import Facts, GivenUp
from onereshape.graphs.facts.order import CircleError
from onereshape.graphs.facts.walk import Walk, unlike
from onereshape.graphs.facts.walk_limits import LONGEST_NAME, MOST_DIMS
from onereshape.graphs.operators import record_named
from onereshape.ground.errors import FixError
from onereshape.rule.sizes import Formula, Size, symbol

GivenAxes = Mapping[str, Mapping[int, str | int]]
"""Input -> axis -> the name (or the size) that the dim is to have."""

_MOST_TOLD = 4
"""Places that a refusal names beside its reason."""


def facts_of(model: ir.Model, freed: GivenAxes = {}) -> Facts:  # noqa: B006 - a mapping is not written to
    """Infers all shapes with the dims of `freed` in place of the declared ones; what was declared inside is ignored."""
    dims, given_up = _declared(model, freed)
    names = {size.name for each in dims.values() for size in each or () if isinstance(size, Formula) and size.name}
    walk = Walk(model, unlike(names))
    try:
        scope = walk.run(
            {value: tuple(walk.new() if size is None else size for size in each) for value, each in dims.items()}
        )
    except CircleError:
        return Facts(None, None, (), [])
    told = walk.limits.given_up
    if walk.limits.unread:
        read = _read_by_targets(model)
        told = told | {node: why for node, why in walk.limits.unread.items() if node in read}
    return Facts(walk, scope, names, [*given_up, *(GivenUp(node, why) for node, why in told.items())])


@contextmanager
def telling(facts: Facts) -> Iterator[None]:
    """Has a refusal say sizes by their places, and what was not followed: with more room it might not be one."""
    try:
        yield
    except FixError as error:
        if isinstance(why := error.fields.get("why"), str):
            error.fields["why"] = facts.in_words(why)
        for at, why in facts.given_up[:_MOST_TOLD]:
            error.add_note(f"given up at {at.name}: {why}")
        raise


def _read_by_targets(model: ir.Model) -> set[ir.Node]:
    """The nodes that the targets of Reshapes are computed by."""
    graphs = [model.graph, *(function.graph for function in model.functions.values())]
    nodes = (node for graph in graphs for node in graph.all_nodes())
    pending = [each for node in nodes if node.op_type == "Reshape" for each in node.inputs[1:]]
    seen: set[ir.Node] = set()
    while pending:
        value = pending.pop()
        maker = None if value is None else value.producer()
        if maker is not None and maker not in seen:
            seen.add(maker)
            pending += maker.inputs if record_named(maker.op_type).from_dims is None else ()
    return seen


def _declared(model: ir.Model, freed: GivenAxes) -> tuple[dict[ir.Value, tuple[Size | None, ...]], list[GivenUp]]:
    """The dims of the inputs, None for each that is not known, and what is left out.

    A name is never read as a formula: `N + 1` is a size that has nothing to do with N as far as the file binds anybody.
    """
    found: dict[ir.Value, tuple[Size | None, ...]] = {}
    given_up: list[GivenUp] = []
    for value in model.graph.inputs:
        if value.shape is None or (value.is_initializer() and model.ir_version < DEFAULTS):
            continue
        if len(value.shape) > MOST_DIMS:
            given_up.append(GivenUp(value, f"it has {len(value.shape)} dims, more than {MOST_DIMS}"))
            continue
        dims: list[int | str | None] = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
        dims = [None if isinstance(dim, int) and dim < 0 else dim or None if dim != 0 else 0 for dim in dims]
        if any(isinstance(dim, str) and len(dim) > LONGEST_NAME for dim in dims):
            given_up.append(GivenUp(value, f"a dim of it has a name of more than {LONGEST_NAME} characters"))
            dims = [None if isinstance(dim, str) and len(dim) > LONGEST_NAME else dim for dim in dims]
        for axis, dim in freed.get(value.name or "", {}).items():
            if -len(dims) <= axis < len(dims):
                dims[axis] = dim
        found[value] = tuple(symbol(dim) if isinstance(dim, str) else dim for dim in dims)
    return found, given_up
