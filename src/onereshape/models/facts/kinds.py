"""The element types of a node's outputs, by the type constraints of its operator's schema.

Where an output has the type letter of an input it has the type of that input, and where only one type is allowed it has
that one.  The few operators that choose a type by an attribute are in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import onnx
import onnx_ir as ir

Kind = ir.DataType
Kinds = Callable[[int], Kind | None]
"""The type of an input."""

_NAMES = {
    "float": Kind.FLOAT,
    "double": Kind.DOUBLE,
    **{kind.name.lower(): kind for kind in Kind if kind not in {Kind.UNDEFINED, Kind.FLOAT, Kind.DOUBLE}},
}


def kinds_of(node: ir.Node, version: int, given: Kinds, attribute: Callable[[str], object]) -> list[Kind | None]:
    """The types of the outputs, None for one that is not known."""
    op = node.op_type
    if node.domain == "" and op in _CHOSEN:
        chosen = _CHOSEN[op](given, attribute)
        return [chosen, *(kind for kind in _rest(node, version, given))]
    if node.domain not in {"", "ai.onnx"} or op == "SimplifiedLayerNormalization":  # which no schema of onnx has
        return [given(2 if op == "QLinearConcat" else 0)] * len(node.outputs)  # whose data come after two parameters
    if op == "LayerNormalization":
        statistics = _attribute("stash_type", Kind.FLOAT)(given, attribute)
        return [given(0), statistics, statistics][: len(node.outputs)]
    return [_known(each, given) for each in _outputs(op, version, len(node.outputs))]


def _rest(node: ir.Node, version: int, given: Kinds) -> list[Kind | None]:
    return [_known(each, given) for each in _outputs(node.op_type, version, len(node.outputs))[1:]]


def _known(said: int | Kind | None, given: Kinds) -> Kind | None:
    return given(said) if type(said) is int else said  # type: ignore[return-value]


@lru_cache(maxsize=4096)
def _outputs(op: str, version: int, count: int) -> tuple[int | Kind | None, ...]:
    """For each output its type, or the input that it shares it with."""
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


def _attribute(name: str, otherwise: Kind | int) -> Callable[[Kinds, Callable[[str], object]], Kind | None]:
    """The type that an attribute names; else one type, or that of an input."""

    def chosen(given: Kinds, attribute: Callable[[str], object]) -> Kind | None:
        found = attribute(name)
        if isinstance(found, int) and found:
            return Kind(found) if found in Kind._value2member_map_ else None
        return _known(otherwise, given)

    return chosen


def _quantized(given: Kinds, attribute: Callable[[str], object]) -> Kind | None:
    return given(2) or _attribute("output_dtype", Kind.UINT8)(given, attribute)


def _filled(_: Kinds, attribute: Callable[[str], object]) -> Kind | None:
    value = attribute("value")
    found = getattr(value, "dtype", Kind.FLOAT)
    return found if isinstance(found, Kind) else None


_CHOSEN: dict[str, Callable[[Kinds, Callable[[str], object]], Kind | None]] = {
    "Cast": _attribute("to", Kind.UNDEFINED),
    "ConstantOfShape": _filled,
    "QuantizeLinear": _quantized,
    "DequantizeLinear": _attribute("output_dtype", 1),
    "EyeLike": _attribute("dtype", 0),
    "Bernoulli": _attribute("dtype", 0),
    "RandomNormal": _attribute("dtype", Kind.FLOAT),
    "RandomUniform": _attribute("dtype", Kind.FLOAT),
    "RandomNormalLike": _attribute("dtype", 0),
    "RandomUniformLike": _attribute("dtype", 0),
    "Multinomial": _attribute("dtype", Kind.INT32),
    **dict.fromkeys(("BlackmanWindow", "HannWindow", "HammingWindow"), _attribute("output_datatype", Kind.FLOAT)),
}
