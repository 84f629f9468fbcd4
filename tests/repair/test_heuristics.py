"""The usual scripts of bench/heuristics.py do what their names say, and are judged as `fix` is."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.heuristics import HEURISTICS, judged, repaired

from tests.arbiter import entries

CORPUS = {entry.path.name: entry for entry in entries(Path(__file__).parent.parent / "data" / "corpus")}
RULES = ["declare", "update dims", "-1 first", "1 to 0", "-1, batched"]
"""Those that need no other tool."""

# What becomes of a model under each of them.
ANSWERS = {
    "hand_pixelshuffle.ts.onnx": ["pass", "pass", "pass", "pass", "pass"],
    "hand_groupnorm.ts.onnx": ["pass", "pass", "fail", "pass", "pass"],
    "hand_channel_shuffle.ts.onnx": ["fail", "fail", "fail", "pass", "pass"],
    "hand_yolo_head.ts.onnx": ["fail", "fail", "fail", "fail", "pass"],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_becomes_of_a_model(name: str) -> None:
    assert [judged(CORPUS[name], HEURISTICS[rule]) for rule in RULES] == ANSWERS[name]
    assert repaired(CORPUS[name]) == "pass"


def test_a_model_that_is_silently_wrong_is_counted_so() -> None:
    """Each sample picks its rows by an index that counts samples, of which the export has one."""
    entry = CORPUS["hand_index_batch.ts.onnx"]

    assert {judged(entry, HEURISTICS[rule]) for rule in RULES} == {"wrong"}
    assert repaired(entry) == "pass"
