"""The element types of a node's outputs, by the type constraints of its operator's schema.

Where an output has the type letter of an input it has the type of that input, and where only one type is allowed it has
that one.  The few operators that choose a type by an attribute have `kinds` in their records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX

Kind = ir.DataType
Kinds = Callable[[int], Kind | None]
"""The type of an input."""
Attribute = Callable[[str], object]
"""The value of an attribute, None where it is left out."""
KindRule = Callable[[Kinds, Attribute], Sequence[Kind | None]]
"""The types of the first outputs, where an attribute chooses them."""

_NAMES = {
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    **{kind.name.lower(): kind for kind in Kind if kind not in {Kind.UNDEFINED, Kind.FLOAT, Kind.DOUBLE}},
}


def kinds_of(
    node: ir.Node, rule: KindRule | None, version: int, given: Kinds, attribute: Attribute
) -> Sequence[Kind | None]:
    """The types of the outputs, None for one that is not known."""
    op, count = node.op_type, len(node.outputs)
    if node.domain not in ONNX or op == "SimplifiedLayerNormalization":
        told = [given(0)] * count  # which no schema of onnx has
    else:
        told = [given(each) if type(each) is int else each for each in _outputs(op, version, count)]  # type: ignore[misc]
    if rule is None:
        return told
    chosen = [*rule(given, attribute)]
    return [*chosen, *told[len(chosen) :]][:count]


def _known(said: int | Kind | None, given: Kinds) -> Kind | None:
    return given(said) if type(said) is int else said  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def _outputs(op: str, version: int, count: int) -> tuple[int | Kind | None, ...]:
    """The type of each output, or the number of the input that has it: Shape gives `(INT64,)`, Add gives `(0,)`."""
    try:
        schema = onnx.defs.get_schema(op, version, "")
    except onnx.defs.SchemaError:
        return (None,) * count
    letters = [each.type_str for each in schema.inputs]
    single = {
        each.type_param_str: each.allowed_type_strs[0]
        for each in schema.type_constraints
        if len(each.allowed_type_strs) == 1
    }
    found: list[int | Kind | None] = []
    for place in range(count):
        formal = schema.outputs[min(place, len(schema.outputs) - 1)] if schema.outputs else None
        letter = "" if formal is None else formal.type_str
        named = single.get(letter, letter)
        if named.startswith("tensor("):
            found.append(_NAMES.get(named[7:-1]))
        else:
            mixed = formal is not None and not formal.is_homogeneous
            found.append(None if mixed or letter not in letters else letters.index(letter))
    return tuple(found)


def by_attribute(name: str, otherwise: Kind | int) -> Callable[[Kinds, Attribute], list[Kind | None]]:
    """A rule for an output whose type an attribute names: else a given type, or the type of an input by number."""

    def chosen(given: Kinds, attribute: Attribute) -> list[Kind | None]:
        found = attribute(name)
        if isinstance(found, int) and found:
            return [Kind(found) if found in Kind._value2member_map_ else None]
        return [_known(otherwise, given)]

    return chosen
