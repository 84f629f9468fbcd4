"""The law of batching over OpenVINO IRs: every batched IR gives what the original gives on the pieces, or is refused.

python -m tests.laws.test_openvino_batching OPERATOR ...    judges all cases of these operators, not some of them
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.formats.ir_as_onnx import ir_writing as writing
from onereshape.formats.ir_as_onnx.layer import Layer
from onereshape.formats.ir_as_onnx.layers import RECORDS
from tests.budget import WHOLE
from tests.laws.batching_sketch import Sketch
from tests.laws.batching_world import MANY, WORLD
from tests.laws.openvino_law import judge_ir, judge_irs

OPERATORS = sorted(op for op in WORLD if "::" not in op)
"""Those of ONNX itself: what others add OpenVINO reads now and then, and rounds in its own way."""
PARTS = 8
MOST = 0.7
"""Of what the rules free as ONNX, and OpenVINO reads, so much is freed as an IR at least."""


def some(op: str) -> list[Sketch]:
    """A few cases of an operator, at even distances."""
    if WHOLE:
        return WORLD[op]
    count = 5 if op in MANY else 2
    return [WORLD[op][place * len(WORLD[op]) // count] for place in range(count)]


@pytest.mark.parametrize("start", range(PARTS))
def test_every_rule_keeps_the_law_over_irs(start: int) -> None:
    cases = [case for op in OPERATORS[start::PARTS] for case in some(op)]
    judged = [*zip(cases, judge_irs(cases), strict=True)]
    kinds = Counter(verdict.kind for case, verdict in judged if case.free)
    unlawful = [f"{verdict.kind}: {verdict.text}\n  {case}" for case, verdict in judged if verdict.kind not in KINDS]

    assert not unlawful, "\n".join(unlawful)
    assert kinds["freed"] >= MOST * (kinds.total() - kinds["unfit"]), kinds


KINDS = {"freed", "refused", "unfit"}


# Planted bugs: each of them is found in the cases of one operator


def _drawn(kind: str, change: Callable[[Layer, list[ir.Value]], list[ir.Value]]) -> tuple[Any, str, Any]:
    right = RECORDS[kind]
    return RECORDS, kind, lambda layer: change(layer, right(layer))


def _without(attribute: str) -> Callable[[Layer, list[ir.Value]], list[ir.Value]]:
    def change(layer: Layer, outputs: list[ir.Value]) -> list[ir.Value]:
        for node in layer.nodes:
            node.attributes.pop(attribute, None)
        return outputs

    return change


def _other_axis(layer: Layer, outputs: list[ir.Value]) -> list[ir.Value]:
    for node in layer.nodes:
        if "axis" in node.attributes:
            node.attributes["axis"] = ir.AttrInt64("axis", 0)
    return outputs


PLANTED: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a Softmax that is drawn along another axis": (
        "Softmax",
        lambda patch: patch.setitem(*_drawn("SoftMax", _other_axis)),
    ),
    "a Concat that is drawn along another axis": (
        "Concat",
        lambda patch: patch.setitem(*_drawn("Concat", _other_axis)),
    ),
    "a Reduce that keeps its dims": (
        "ReduceSum",
        lambda patch: patch.setitem(*_drawn("ReduceSum", _without("keepdims"))),
    ),
    "broadcasts that go one way": ("Expand", lambda patch: patch.setattr(writing, "_loosen", lambda _: None)),
    "dims of inputs that stay": (
        "Relu",
        lambda patch: patch.setattr(writing, "_shape", lambda before, _: before),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, plant = PLANTED[name]
    plant(monkeypatch)

    assert any(_is_found(case) for case in WORLD[op])


def _is_found(case: Sketch) -> bool:
    try:
        return judge_ir(case).kind not in KINDS
    except Exception:  # noqa: BLE001 - a crash is found, too
        return True


def main() -> None:
    for op in sys.argv[1:]:
        for case in WORLD[op]:
            verdict = judge_ir(case)
            print(op, verdict.kind, verdict.text.splitlines()[:1])


if __name__ == "__main__":
    main()
