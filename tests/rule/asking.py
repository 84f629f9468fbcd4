"""Questions to `infer`, asked in every dialect at once."""

from __future__ import annotations

from typing import Any

import onereshape as orx

Dims = tuple[int, ...]
Answer = tuple[list[Any] | None, *tuple[str, ...]] | str
"""Dims and conditions, or the code of a refusal."""

COLUMNS: dict[str, tuple[str, dict[str, Any]]] = {
    "onnx copied": ("onnx", {"allowzero": 0}),
    "onnx literal": ("onnx", {"allowzero": 1}),
    "openvino copied": ("openvino", {"special_zero": True}),
    "openvino literal": ("openvino", {"special_zero": False}),
}
N1, M1 = "N >= 1", "M >= 1"
COPIED = ("onnx copied", "openvino copied")
LITERAL = ("onnx literal", "openvino literal")


def answered(data: Any, target: Any, spec: str, **attributes: Any) -> Answer:
    try:
        answer = orx.infer(data, target, spec, **attributes)
    except orx.ReshapeError as refusal:
        assert str(refusal)  # noqa: PT017 - the message can be built
        return refusal.code
    return (None if answer.dims is None else list(answer.dims), *answer.conditions)


def ask(column: str, data: Any, target: Any, **bounds: Any) -> Answer:
    name, attributes = COLUMNS[column]
    return answered(data, target, name, bounds=bounds or None, **attributes)


def each(data: Any, target: Any, **bounds: Any) -> Answer:
    """The answer of all four columns, where it is one."""
    answers = {column: ask(column, data, target, **bounds) for column in COLUMNS}
    first = answers["onnx copied"]

    assert answers == dict.fromkeys(COLUMNS, first)
    return first
