"""Whether a node is what ONNX's schemas say: the number of its operands, its attributes, its types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import onnx
import onnx_ir as ir

from onereshape.terms.call import Value
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor

_STILL_RUN = {"GroupNormalization"}
"""Operators that are deprecated in some opsets, and that engines run as those opsets say."""


LEARNED: Final = "ai.onnx.ml"
"""The domain in which ONNX has operators that were trained."""


@lru_cache(maxsize=4096)
def schema(op: str, opset: int, domain: str = "") -> Any:
    """The newest version of an operator that is not above an opset; None where there is none."""
    try:
        found = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return None
    return None if found.deprecated and op not in _STILL_RUN else found


_ENGINES: Final = ("com.microsoft", "com.ms.")
"""Domains in which engines have operators of their own, of which there is no list."""


def is_known(op: str, domain: str = "") -> bool:
    """Whether ONNX has an operator in any opset, or an engine may; onnxruntime has some of its own in that domain."""
    return domain.startswith(_ENGINES) or bool(onnx.defs.has(op, "" if domain == "ai.onnx" else domain))


@lru_cache(maxsize=4096)
def defaults(found: Any) -> tuple[tuple[str, Any], ...]:
    """The attributes that a schema gives a value to; a list of them is a tuple."""
    known = {name: each.default_value for name, each in found.attributes.items()}
    there = {name: each for name, each in known.items() if each.type != onnx.AttributeProto.UNDEFINED}
    plain = {name: onnx.helper.get_attribute_value(each) for name, each in there.items()}
    return tuple((name, _decoded(each)) for name, each in plain.items())


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(each) for each in value)
    return value.decode() if isinstance(value, bytes) else value


@lru_cache(maxsize=4096)
def _sides(found: Any) -> tuple[Any, ...]:
    """The types that each operand and result may have, by letter."""
    allowed = {each.type_param_str: frozenset(each.allowed_type_strs) for each in found.type_constraints}
    return tuple(
        tuple(
            (each.type_str, allowed.get(each.type_str, frozenset([each.type_str])), each.is_homogeneous)
            for each in side
        )
        for side in (found.inputs, found.outputs)
    )


def check_node(node: ir.Node, found: Any, inputs: Sequence[Value]) -> dict[str, str]:
    """Refuses a node that its schema does not allow; the types of its operands by letter: `{"T": "tensor(float)"}`."""
    here = f"{node.op_type} {node.name or node.outputs[0].name}"
    given = len(inputs)
    if not found.min_input <= given <= found.max_input:
        raise NotProven(f"{here}: has {given} inputs")
    if not found.min_output <= len(node.outputs) <= found.max_output:
        raise NotProven(f"{here}: has {len(node.outputs)} outputs")
    for name, attribute in node.attributes.items():
        known = found.attributes.get(name)
        if known is None:
            raise NotProven(f"{here}: has an attribute {name!r}, which its opset does not know")
        if int(known.type) != int(attribute.type.value):
            raise NotProven(f"{here}: its attribute {name!r} is of another type")
    missing = [name for name, each in found.attributes.items() if each.required and name not in node.attributes]
    if missing:
        raise NotProven(f"{here}: has no attribute {missing[0]!r}")
    letters: dict[str, str] = {}
    for place, value in enumerate(inputs):
        _check_type(f"{here}: input {place}", _side(found, 0, place), value, letters)
    return letters


def check_results(node: ir.Node, found: Any, results: Sequence[Value], letters: dict[str, str]) -> None:
    """Refuses results of other types than the schema says, which a rule should not give."""
    here = f"{node.op_type} {node.name or node.outputs[0].name}"
    for place, value in enumerate(results):
        side = _side(found, 1, place)
        if any("tensor(" in kind for kind in side[1]):  # what is written as a tensor of maps is no tensor
            _check_type(f"{here}: output {place}", side, value, letters)


def _side(found: Any, which: int, place: int) -> tuple[str, frozenset[str], bool]:
    """The type letter of an operand (`which` 0) or a result (1), its types, and whether the letter means one type."""
    side = _sides(found)[which]
    letter, allowed, homogeneous = side[min(place, len(side) - 1)]
    return letter, allowed, homogeneous or place < len(side) - 1


def _check_type(what: str, side: tuple[str, frozenset[str], bool], value: Value, letters: dict[str, str]) -> None:
    letter, allowed, homogeneous = side
    if not isinstance(value, Tensor):
        return  # sequences and what is left out
    kind = f"tensor({value.dtype.name.lower()})"
    if kind not in allowed and f"optional({kind})" not in allowed:
        raise NotProven(f"{what} is a {kind}, which its opset does not take")
    if homogeneous and letters.setdefault(letter, kind) != kind and kind in allowed:
        raise NotProven(f"{what} is a {kind} beside {letters[letter]}")
