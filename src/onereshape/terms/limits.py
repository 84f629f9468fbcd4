"""Limits: the time and the elements that a term run may take, and that a model of its size needs at most."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any, Final

import onnx_ir as ir

from onereshape.terms.refusal import NotProven

_UNNAMED: Final = 64
"""The size that a dim without a number is counted as."""
_SOME: Final = 1 << 24
"""Elements that every model may have at one time."""
_EACH: Final = 256
"""Elements that one more weight, or one more element of an input, allows."""
_SOON: Final = 8.0
"""Seconds that every model may take."""
_SECONDS_OF_A_NODE: Final = 0.01
_SECONDS_OF_AN_ELEMENT: Final = 2e-6


@dataclass(slots=True)
class Limits:
    """The time and the elements that a term run may take; NotProven beyond."""

    seconds: float = 120.0
    """Seconds of the processor for all runs together: others may use the machine too."""
    elements: int = 3 << 26
    """Elements at one time; no share of what memory is free, or a proof would depend on the machine."""
    deadline: float = inf
    """When all runs end at the latest, on the monotonic clock."""
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = time.thread_time() + self.seconds

    def check(self, here: str, live: int) -> None:
        """Stops the run at a node, if more elements are live or more time is gone than allowed."""
        if live > self.elements:
            raise NotProven(f"{here}: {live} elements at one time are more than a term run may hold")
        if time.thread_time() > self.until or time.monotonic() > self.deadline:
            raise NotProven(f"{here}: the term run has taken {self.seconds:.0f} s")

    def fitting(self, *models: ir.Model) -> Limits:
        """These limits, or less where models of their size need less: a small file that asks for much ends soon."""
        nodes = sum(1 for model in models for graph in _graphs(model) for _ in graph.all_nodes())
        elements = sum(_elements(model) for model in models)
        seconds = _SOON + nodes * _SECONDS_OF_A_NODE + elements * _SECONDS_OF_AN_ELEMENT
        found = Limits(min(self.seconds, seconds), min(self.elements, _SOME + elements * _EACH), self.deadline)
        found.until = min(found.until, self.until)
        return found


def _graphs(model: ir.Model) -> Iterator[Any]:
    yield model.graph
    yield from model.functions.values()


def _elements(model: ir.Model) -> int:
    """The number of elements of all weights, constants and inputs."""
    weights = [value.const_value for value in model.graph.initializers.values()]
    given = [value.shape for value in model.graph.inputs if value.shape is not None]
    inputs = sum(prod(dim if isinstance(dim, int) else _UNNAMED for dim in shape) for shape in given)
    held = [attribute for node in model.graph for attribute in node.attributes.values() if node.op_type == "Constant"]
    constants = [each.value for each in held if each.type == ir.AttributeType.TENSOR]
    return max(inputs, 0) + sum(int(each.size) for each in (*weights, *constants) if each is not None)
