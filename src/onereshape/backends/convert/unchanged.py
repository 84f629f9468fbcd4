"""Nodes that mean the same in two opsets as they stand.

The specifications themselves are compared: two versions of an operator whose texts, inputs, outputs and attributes are
the same differ only in the types that they take, and those are looked up.  Two changes of words without a meaning are
known: sentences that announce types, and `consumed_inputs`, a hint that older versions had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import onnx_ir as ir
from onnx import defs

from onereshape.formats.onnx.onnx_graphs import ONNX

Inferred = Mapping[ir.Value, ir.Value]
"""A value of the model -> the value that has its inferred type and shape."""

_ANNOUNCES_TYPES = re.compile(r"\(Opset \d+ change\): Extend supported types[^\n]*")
_HINTS = frozenset({"consumed_inputs"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div"})
"""Since version 7 these broadcast as NumPy does; on equal shapes nothing has changed."""
_BROADCASTS = 7


@cache
def schema(op_type: str, opset: int) -> Any:
    """The version of an operator that an opset has, None where it has none."""
    try:
        found = defs.get_schema(op_type, max_inclusive_version=opset, domain="")
    except defs.SchemaError:
        return None
    return None if found.deprecated else found


def unchanged(node: ir.Node, old: int, new: int, known: Inferred) -> bool:
    """Whether a node means the same in both opsets, for the types and shapes that are known of its values."""
    before, after = schema(node.op_type, old), schema(node.op_type, new)
    if before is None or after is None:
        return False
    if before.since_version == after.since_version:
        return True
    attributes = set(node.attributes)
    if not attributes <= set(after.attributes) or not _types_fit(node, before, after, known):
        return False
    if _words(before) and _words(before) == _words(after):
        return True
    if node.op_type not in _ARITHMETIC or attributes - _HINTS:
        return False
    # Before version 7 a node without the attribute `broadcast` has inputs of one shape.
    return before.since_version < _BROADCASTS or (after.since_version < _BROADCASTS and _equal_shapes(node, known))


@cache
def _words(found: Any) -> tuple[Any, ...] | None:
    """All that a version says but its types; None for a build of onnx that has no texts."""
    if not found.doc.strip():
        return None
    text = " ".join(_ANNOUNCES_TYPES.sub("", found.doc).split())
    sides = tuple(
        tuple(
            (each.name, _squeezed(each.description), each.option, each.is_homogeneous, each.type_str) for each in side
        )
        for side in (found.inputs, found.outputs)
    )
    attributes = tuple(
        (each.name, _squeezed(each.description), each.type, each.required, each.default_value.SerializeToString())
        for name, each in sorted(found.attributes.items())
        if name not in _HINTS
    )
    return text, *sides, attributes, found.min_input, found.max_input, found.min_output, found.max_output


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _types_fit(node: ir.Node, before: Any, after: Any, known: Inferred) -> bool:
    for side, values in (("inputs", node.inputs), ("outputs", node.outputs)):
        for index, value in enumerate(values):
            was, allowed = _types(before, side, index), _types(after, side, index)
            if value is None or was is None or allowed is None or was <= allowed:
                continue
            if type_name(known.get(value, value)) not in allowed:
                return False
    return True


def _types(version: Any, side: str, index: int) -> set[str] | None:
    """The types that a version of an operator takes at an input or output; None if it has no inputs, or no outputs."""
    parameters = getattr(version, side)
    if not parameters:
        return None
    letter = parameters[min(index, len(parameters) - 1)].type_str
    allowed = {constraint.type_param_str: constraint.allowed_type_strs for constraint in version.type_constraints}
    return set(allowed.get(letter, [letter]))


def spread_types(nodes: Iterable[ir.Node], opset: int) -> None:
    """Gives outputs of unknown type the type of an input, where the specification has one letter for both."""
    for node in nodes:
        found = schema(node.op_type, opset) if node.domain in ONNX else None
        if node.op_type == "Constant" and node.outputs[0].type is None:
            ir.convenience.get_const_tensor(node.outputs[0], propagate_shape_type=True)
        if found is None or not found.inputs:
            continue
        letters = {}
        for index, value in enumerate(node.inputs):
            side = found.inputs[min(index, len(found.inputs) - 1)]
            if value is not None and value.type is not None and side.is_homogeneous and "(" not in side.type_str:
                letters[side.type_str] = value.type
        for value, side in zip(node.outputs, found.outputs, strict=False):
            if value.type is None:
                value.type = letters.get(side.type_str)


def type_name(value: ir.Value) -> str | None:
    """The type of a tensor as the specifications write it, None where it is not known or no tensor."""
    kind = value.type
    if not isinstance(kind, ir.TensorType) or kind.dtype == ir.DataType.UNDEFINED:
        return None
    return f"tensor({kind.dtype.name.lower()})"


def _equal_shapes(node: ir.Node, known: Inferred) -> bool:
    shapes = [known.get(value, value).shape for value in node.inputs if value is not None]
    if len(shapes) != 2 or shapes[0] is None or shapes[1] is None:
        return False
    one, two = ([dim if isinstance(dim, int) else dim.value for dim in shape] for shape in shapes if shape is not None)
    return None not in one and one == two
