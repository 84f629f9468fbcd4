"""Numbers that an exporter may have calculated from a freed size: T, T - 1, their reciprocals, roots and logarithms.

One export does not show whether a number that multiplies, divides or shifts values follows a size.  What is such a
number of a freed size, and of no other size of the model, is refused by name; another export would tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import log, sqrt

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.free_rules.state import FreeState
from onereshape.graphs.record import record_of
from onereshape.graphs.registry import operator_of
from onereshape.ground.errors import FixError
from onereshape.rule.sizes import Size

_TAKE = frozenset({"Add", "Div", "Mul", "Pow", "Sub"})
_FORMS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("{}", float),
    ("{} - 1", lambda size: size - 1),
    ("{} + 1", lambda size: size + 1),
    ("1/{}", lambda size: 1 / size),
    ("1/({} - 1)", lambda size: 1 / (size - 1)),
    ("1/({} + 1)", lambda size: 1 / (size + 1)),
    ("sqrt({})", sqrt),
    ("1/sqrt({})", lambda size: 1 / sqrt(size)),
    ("log({})", log),
    ("{}/2", lambda size: size / 2),
    ("2/{}", lambda size: 2 / size),
    ("({} - 1)/2", lambda size: (size - 1) / 2),
    ("2/({} - 1)", lambda size: 2 / (size - 1)),
)
_FEWEST = 3
"""Entries from which a size is taken for one: all smaller numbers are everywhere."""
_SMALL = 6
"""Whole numbers up to this, their reciprocals and halves are everywhere too."""
_MOST = 4096
"""Entries of a constant that is looked at."""


def check_numbers(graph: ir.Graph, state: FreeState) -> None:
    """Refuses the first number that may follow a freed size."""
    freed, fixed = _sizes(graph, state)
    told = {value for size in freed.values() if size >= _FEWEST for value in _values(size)}
    if not told:
        return
    for node in graph.all_nodes():
        for number in _taken(node, state) if operator_of(node) in _TAKE else ():
            found = _meant(number, freed, fixed) if _is_near(number, told) else None
            if found is not None:
                why = f"it takes {float(number):.6g}, which is {found}, and one export does not show whether it stays"
                why += ": another would (--like)"
                raise FixError("cannot-free", node=node.name or node.outputs[0].name, op=node.op_type, why=why)


def _sizes(graph: ir.Graph, state: FreeState) -> tuple[dict[Size, int], set[int]]:
    """The sizes that follow the freed ones, as they are in the export, and all other sizes of the model."""
    freed: dict[Size, int] = {}
    fixed: set[int] = set()
    values = [value for node in graph.all_nodes() for value in (*node.inputs, *node.outputs) if value is not None]
    for value in dict.fromkeys([*graph.inputs, *values]):
        for axis in state.dims(value) or ():
            for size in axis or ():
                then = state.then(size)
                if isinstance(then, int):
                    freed.update({size: then} if state.moves(size) else {})
                    fixed.update(() if state.moves(size) else (then,))
    return freed, fixed


def _values(size: int) -> list[float]:
    return [form(size) for _, form in _FORMS]


def _taken(node: ir.Node, state: FreeState) -> Iterator[np.floating]:
    """The number that a node takes beside values that are not constant."""
    known = [value for value in node.inputs if value is not None and _is_constant(value)]
    for value in known if len(known) == 1 else ():
        array = state.folding.array(value)
        if array is not None and array.dtype.kind == "f" and 0 < array.size <= _MOST:
            number = array.reshape(-1)[0]
            if (array == number).all() and not _is_small(abs(float(number))):
                yield number


def _is_constant(value: ir.Value) -> bool:
    """Whether a value is a constant, or one that was only moved: what is calculated from sizes follows them."""
    while constant_tensor(value) is None:
        node = value.producer()
        data = node.inputs[0] if node is not None and record_of(node).moves and node.inputs else None
        if data is None:
            return False
        value = data
    return True


def _is_small(number: float) -> bool:
    """Whether a number is everywhere: a small whole number, half of one, or one part of one."""
    parts = (number, 2 * number, 1 / number) if number else (number,)
    return any(each == round(each) and each <= _SMALL for each in parts if np.isfinite(each))


def _is_near(number: np.floating, told: set[float]) -> bool:
    return any(_is(number, value) for value in told)


def _is(number: np.floating, value: float) -> bool:
    """Whether a number is another one, as it is rounded in its own type."""
    return bool(abs(abs(float(number)) - value) <= 2 * float(np.finfo(number.dtype).eps) * abs(value))


def _meant(number: np.floating, freed: Mapping[Size, int], fixed: set[int]) -> str | None:
    """What a number is of a freed size; None if it is the same of another size of the model."""
    if any(_is(number, value) for size in fixed if size >= _FEWEST for value in _values(size)):
        return None
    for words, form in _FORMS:
        for size, then in freed.items():
            if then >= _FEWEST and _is(number, form(then)):
                name = str(size)
                return words.format(name if name.isidentifier() else f"({name})")
    return None
