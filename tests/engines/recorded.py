"""The recorded answers of tests/data/engine_answers.json, read into the form in which the engines answer here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.engines.answers import Answer, Dims

RECORDED_VERSIONS = {
    "numpy": "2.4.6",
    "onednn": "3.12.0",
    "onnx": "1.23.2",
    "onnxruntime": "1.31.1",
    "openvino": "2026.4.1",
    "torch": "2.13.0",
}
"""The releases that gave the answers, by the name under which they are installed."""

_FILE = Path(__file__).parents[1] / "data" / "engine_answers.json"


@dataclass(frozen=True, slots=True)
class RecordedCase:
    name: str
    data: Dims
    target: Dims
    answers: Mapping[str, Answer]
    """By column."""
    wrong_elements: frozenset[str]
    """The columns whose engine put out elements that data does not have."""


@cache
def recorded_cases() -> tuple[RecordedCase, ...]:
    return tuple(
        RecordedCase(
            name=row["id"],
            data=tuple(row["data"]),
            target=tuple(row["target"]),
            answers={column: _answer(answer) for column, answer in row["answers"].items()},
            wrong_elements=frozenset(column for column, answer in row["answers"].items() if "wrong_values" in answer),
        )
        for row in json.loads(_FILE.read_text(encoding="utf-8"))
    )


def _answer(recorded: dict[str, Any]) -> Answer:
    if "error" in recorded:
        return None
    if recorded["shape"] is None:
        return "unknown"
    return tuple(tuple(dim) if isinstance(dim, list) else dim for dim in recorded["shape"])
