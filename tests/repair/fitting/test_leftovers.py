"""What was baked does not stay in the file."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.repair.fitting.plan import apply_like, like_plan
from tests.repair.fitting.exporting import EXPORTERS, Case, Export


def _masked(g: Export) -> str:
    size = g.sizes["S"]
    scores = g.node("MatMul", g.x("S", 4), g.node("Transpose", g.x("S", 4, name="k"), perm=[1, 0]))
    masked = g.node("Add", scores, g.constant(np.triu(np.full((size, size), -1e9, np.float32), 1)))
    return g.node("Reshape", masked, g.constant(np.array([size * size])))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_no_constant_stays_that_nobody_uses(exporter: str) -> None:
    case = Case("masked", _masked, ({"S": 12}, {"S": 23}), ())
    (first, names), (second, _) = (case.at(sizes, exporter) for sizes in case.exports)
    model = ir.from_proto(first)
    apply_like(model, like_plan(model, [ir.from_proto(second)], names))

    used = {value.name for node in model.graph for value in node.inputs if value is not None}
    assert set(model.graph.initializers) <= used
    assert all(output.name in used or output.is_graph_output() for node in model.graph for output in node.outputs)
