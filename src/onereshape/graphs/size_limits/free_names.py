"""The names of dims of inputs: those that a model says are free."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onereshape.rule.condition import Condition

Places = Mapping[str, tuple[tuple[str, int], ...]]
"""The name of a dim -> the inputs and axes that have it, in their order."""


def symbol_places(model: ir.Model) -> Places:
    """The names of the dims of inputs; a dim without one is called `x[0]`."""
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for value in model.graph.inputs:
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, ir.SymbolicDim) and not value.is_initializer():
                called = dim.value or unnamed(value.name or "", axis)
                found[called] = (*found.get(called, ()), (value.name or "", axis))
    return found


def names_of(condition: Condition, places: Places) -> tuple[str, ...] | None:
    """The names in a condition, in the order of the inputs; None where one is no input's.

    A condition is read as a formula, where spaces at the ends of a name are nothing, and several are one.
    """
    wanted = condition.names
    found = {spelt: name for name in places if (spelt := " ".join(name.split())) in wanted}
    return tuple(found.values()) if len(found) == len(wanted) else None


def unnamed(name: str, axis: int) -> str:
    """What a dim of an input is called that has no name."""
    return f"{name}[{axis}]"


def is_unnamed(symbol: str, places: Places) -> bool:
    """Whether it is only called so."""
    return symbol == unnamed(*places[symbol][0])


def places_as_names(places: Places) -> dict[str, dict[int, str]]:
    """Input -> axis -> the place as a name, for each dim of an input that is free and has none."""
    found: dict[str, dict[int, str]] = {}
    for symbol, ((name, axis), *_) in places.items():
        if is_unnamed(symbol, places):
            found.setdefault(name, {})[axis] = symbol
    return found
