"""Operators that nobody has a record for, and that are functions of others: their text is enough for all commands."""

from __future__ import annotations

import onnx
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError

_OPSETS = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>'
_WHERE = """
    agraph (float[1, 3, 4] x) => (float[1, 12] y)
    <float s = {0.05}, uint8 z = {3}, float t = {0.1}, uint8 w = {9}, int64[2] target = {1, 12},
     bool[3, 1] c = {1, 0, 1}>
    {
        q = QuantizeLinear(x, s, z)
        n = Neg(x)
        p = QuantizeLinear(n, s, z)
        m = com.microsoft.QLinearWhere(c, q, s, z, p, s, z, t, w)
        r = Reshape(m, target)
        y = DequantizeLinear(r, t, w)
    }
"""
_PRODUCT = """
    agraph (float[1, 4, 3] x) => (float[1, 15] y)
    <float[4, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}, int64[2] target = {1, 15}>
    {
        m = com.microsoft.TransposeMatMul<transA = 1, alpha = 0.5>(x, w)
        y = Reshape(m, target)
    }
"""
_MIXING = """
    agraph (float[1, 3] x) => (float[3, 5] y) <float[1, 5] w = {1, 2, 3, 4, 5}>
    {
        y = com.microsoft.TransposeMatMul<transA = 1>(x, w)
    }
"""
_PICKING = """
    agraph (float[1, 3, 4] x) => (float[2] y) <int64[2, 3] at = {0, 1, 2, 0, 2, 2}>
    {
        y = com.microsoft.GatherND(x, at)
    }
"""


def _model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(_OPSETS + text)


@pytest.mark.parametrize("text", [_WHERE, _PRODUCT])
def test_its_text_is_enough(text: str) -> None:
    model = _model(text)
    assert [each.code for each in orx.check(model, batch=True)] == ["baked-dim"]

    fixed = orx.fix(model, batch=True)

    assert [each.after[:3] for each in fixed.changes] == ["[0,"]
    assert str(fixed.certificate).startswith("Certificate(proven for all N >= 1")


@pytest.mark.parametrize(("text", "inside"), [(_MIXING, "MatMul"), (_PICKING, "GatherND")])
def test_a_refusal_names_what_is_inside(text: str, inside: str) -> None:
    with pytest.raises(FixError, match=inside) as caught:
        orx.fix(_model(text), batch=True)
    assert caught.value.code in {"mixes-samples", "cannot-free"}
    assert "has no record" not in str(caught.value)


def test_a_node_that_is_not_what_its_text_says_is_refused() -> None:
    with pytest.raises(FixError):
        orx.fix(_model(_PRODUCT.replace("alpha = 0.5", "alpha = 0.5, beta = 1")), batch=True)
