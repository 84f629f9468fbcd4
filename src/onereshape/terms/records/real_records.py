"""The records of operators where floats are real numbers; all else is read as in a term run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

from onereshape.ground.bodies import is_written
from onereshape.terms.call import Call, Record, Rule, Value
from onereshape.terms.reals import KINDS
from onereshape.terms.records.real_arithmetic import RECORDS as ARITHMETIC, SOMETIMES
from onereshape.terms.records.real_products import RECORDS as PRODUCTS
from onereshape.terms.tensor import Tensor

_COMPOSED: Final = frozenset({"AffineGrid", "LayerNormalization", "Softsign"})
"""Operators with a record that are read here as the functions that ONNX defines them by, as those without one are."""
_SCATTERS: Final = frozenset({"Scatter", "ScatterElements", "ScatterND"})
_FOLDED: Final = 1 << 22
"""Elements of a constant that is calculated in advance."""
_IR_VERSION: Final = 10


def _of_floats(rule: Rule, other: Rule) -> Rule:
    """A rule for real numbers, and another for all that is none: integers, truth values."""

    def chosen(call: Call) -> Sequence[Value]:
        return (rule if call.tensor(0).dtype.name in KINDS else other)(call)

    return chosen


def _sometimes(op: str, other: Rule) -> Rule:
    def either(call: Call) -> Sequence[Value]:
        found = SOMETIMES[op](call)
        return other(call) if found is None else found

    return either


def _scattering(rule: Rule) -> Rule:
    """A rule some of whose answers are words of numbers and not numbers: where it reduces, or writes by data."""

    def scattered(call: Call) -> Sequence[Value]:
        found = rule(call)
        if call.attribute("reduction", "none") == "none" and call.tensor(1).known:
            return found
        return [_drawn(call, each) for each in found]

    return scattered


def _drawn(call: Call, value: Value) -> Value:
    if not isinstance(value, Tensor) or value.words is None or value.dtype.name not in KINDS:
        return value
    return call.mixed(value.dtype, call.key("scattered"), value.words)


def _folding(rule: Rule) -> Rule:
    """A rule whose answer to constants is their number, as an optimiser may have calculated it in advance."""

    def folded(call: Call) -> Sequence[Value]:
        given = [each for each in call.inputs if each is not None]
        if not given or not all(isinstance(each, Tensor) and each.known for each in given):
            return rule(call)
        found = rule(_narrow(call))
        if all(each is None or (isinstance(each, Tensor) and each.known) for each in found):
            return found
        known = _calculated(call)
        return found if known is None else known

    return folded


def _narrow(call: Call) -> Call:
    """A call whose constants have numbers of their own types."""
    return replace(call, inputs=tuple(_typed(each) for each in call.inputs))


def _typed(value: Value) -> Value:
    if not isinstance(value, Tensor) or value.values is None or value.dtype.name not in KINDS:
        return value
    return replace(value, values=value.values.astype(value.dtype.numpy()))


def _calculated(call: Call) -> list[Value] | None:
    """The answer of onnx's own reference to constants; None where it has none."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long, and few models need it

    given = [each if isinstance(each, Tensor) else None for each in _narrow(call).inputs]
    if sum(each.size for each in given if each is not None) > _FOLDED:
        return None
    names = ["" if each is None else f"i{place}" for place, each in enumerate(given)]
    attributes = {name: value for name, value in call.attributes.items() if value is not None}
    outputs = [f"o{place}" for place in range(call.outputs)]
    try:
        node = helper.make_node(call.op, names, outputs, **attributes)
        graph = helper.make_graph(
            [node],
            "constant",
            [
                helper.make_tensor_value_info(name, int(each.dtype), each.shape)
                for name, each in zip(names, given, strict=True)
                if each is not None
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs],
        )
        opsets = [helper.make_opsetid("", call.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        feeds = {name: each.array for name, each in zip(names, given, strict=True) if each is not None}
        found = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # noqa: BLE001 - whatever a reference raises, it has no answer
        return None
    if not all(isinstance(each, np.ndarray | np.generic) for each in found):
        return None
    return [Tensor(ir.DataType.from_numpy(np.asarray(each).dtype), values=np.asarray(each)) for each in found]


def _real(op: str, known: Record) -> Record:
    own = ARITHMETIC.get(op) or PRODUCTS.get(op)
    if own is not None:
        return replace(own, rule=_of_floats(own.rule, known.rule))
    if op in SOMETIMES:
        return replace(known, rule=_sometimes(op, _folding(known.rule)))
    rule = _scattering(known.rule) if op in _SCATTERS else known.rule
    return replace(known, rule=_folding(rule))


def in_reals(records: Mapping[tuple[str, str], Record]) -> dict[tuple[str, str], Record]:
    """The records by domain and operator where floats are real numbers; operators that are left out have a body."""
    return {
        (domain, op): known if domain else _real(op, known)
        for (domain, op), known in records.items()
        if not is_written(op, domain) and (domain or op not in _COMPOSED)
    }
