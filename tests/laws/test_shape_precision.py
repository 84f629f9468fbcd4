"""How much is known: for each operator the dims that its rule finds in the world of shapes, held to what they were.

    python -m tests.laws.test_shape_precision    writes tests/data/shape_precision.json

A rule that becomes weaker says nothing wrong, so that no other law would notice.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import onnx_ir as ir
import pytest

from onereshape.graphs.record import RECORDS
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import depends
from tests.laws.shape_law import model_of
from tests.laws.shape_world import CASES

TABLE = Path(__file__).parents[1] / "data" / "shape_precision.json"


def known(only: str | None = None) -> dict[str, int]:
    """The dims of outputs that have no unnamed symbol in them, by operator; each case in its first form."""
    found: Counter[str] = Counter()
    for case in CASES:
        op = f"{case.domain}::{case.op}" if case.domain else case.op
        if only in {None, op}:
            model = ir.from_proto(model_of(case))
            facts = facts_of(model)
            dims = [size for value in model.graph.outputs for size in facts.dims_of(value) or ()]
            found[op] += sum(not depends(size, facts.unnamed) for size in dims)
    return dict(sorted(found.items()))


def test_no_rule_knows_less_than_before() -> None:
    before, now = json.loads(TABLE.read_text(encoding="utf-8")), known()

    assert before.keys() == now.keys()
    assert {op: (count, now[op]) for op, count in before.items() if now[op] < count} == {}


@pytest.mark.parametrize("op", ["Slice", "MaxPool", "Concat", "Reshape", "Erf", "Resize"])
def test_a_rule_that_is_made_weaker_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = RECORDS[op].shape
    assert rule is not None
    weak = RECORDS[op]._replace(
        shape=lambda asking: [dims and (asking.new(), *dims[1:]) for dims in rule(asking)], elements=None
    )
    monkeypatch.setitem(RECORDS, op, weak)

    assert known(op)[op] < json.loads(TABLE.read_text(encoding="utf-8"))[op]


if __name__ == "__main__":
    TABLE.write_text(json.dumps(known(), indent=0) + "\n", encoding="utf-8")
