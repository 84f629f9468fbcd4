"""Whole models, inferred with our Reshape and with the engine's own."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import pytest
from onnx import parser

from onereshape import ReshapeError
from onereshape.shape_rule import infer_model

KEY = ("", "Reshape")


def model_of(body: str, inputs: str, opset: int = 21, outputs: str = "float[] y") -> ir.Model:
    header = f'<ir_version: 10, opset_import: ["": {opset}, "local": 1]>'
    return ir.from_proto(parser.parse_model(f"{header} model ({inputs}) => ({outputs}) {body}"))


def dims_of(model: ir.Model, name: str = "y") -> list[Any] | None:
    """The dims of a value: integers and strings, `?` for those that the engine had to name."""
    value = next(value for node in model.graph for value in node.outputs if value.name == name)
    if value.shape is None:
        return None
    return [dim if isinstance(dim, int) else "?" if str(dim).startswith("_d") else str(dim) for dim in value.shape]


def answer(body: str, inputs: str, opset: int = 21) -> tuple[list[Any] | None, list[str]]:
    """The dims of y under our rule, and all conditions."""
    model = model_of(body, inputs, opset)
    rule = infer_model(model)
    return dims_of(model), [text for found in rule.conditions.values() for text in found]


def ours(body: str, inputs: str, opset: int = 21) -> list[Any] | None:
    return answer(body, inputs, opset)[0]


def theirs(body: str, inputs: str, opset: int = 21) -> list[Any] | None:
    model = model_of(body, inputs, opset)
    engine.infer_symbolic_shapes(model, warn_on_missing=False)
    return dims_of(model)


def refusal(body: str, inputs: str, opset: int = 21) -> str:
    with pytest.raises(engine.ShapeInferenceError) as caught:
        infer_model(model_of(body, inputs, opset))
    assert isinstance(caught.value.__context__, ReshapeError)
    return str(caught.value)


def by(*target: int | str, flag: str = "") -> str:
    """A body that reshapes x: by integers, by dims of x (`dim0`), by elements of inputs e0, e1 … (`?`)."""
    lines = ["q = Shape(x)"]
    for axis, entry in enumerate(target):
        if isinstance(entry, int):
            lines.append(f"e{axis} = Constant<value_ints = [{entry}]>()")
        elif entry != "?":
            lines.append(f"i{axis} = Constant<value_ints = [{entry[3:]}]>() e{axis} = Gather(q, i{axis})")
    entries = ", ".join(f"e{axis}" for axis in range(len(target)))
    return f"{{ {' '.join(lines)} s = Concat<axis = 0>({entries}) y = Reshape{flag}(x, s) }}"


LITERAL = "<allowzero = 1>"
UNKNOWN = "float[] x"
