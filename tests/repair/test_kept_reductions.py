"""A reduction of all that one sample is, `x - x.mean()`, keeps its dims, so that N has a place among them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.running import session

HEAD = '<ir_version: 8, opset_import: ["": 17]>'
FREED = {
    "a mean that is taken off": "g (float[1, 3, 4] x) => (float[1, 3, 4] y)"
    " { s = ReduceMean<keepdims = 0>(x) y = Sub(x, s) }",
    "a largest that is divided by": "g (float[1, 3, 4] x) => (float[1, 3, 4] y) <float eps = {0.5}>"
    " { a = Abs(x) m = ReduceMax<keepdims = 0>(a) e = Add(m, eps) y = Div(x, e) }",
    "two of them": "g (float[1, 3, 4] x) => (float[1, 3, 4] y)"
    " { a = ReduceMin<keepdims = 0>(x) b = ReduceMax<keepdims = 0>(x) r = Sub(b, a) d = Sub(x, a) y = Div(d, r) }",
    "what has more dims": "g (float[1, 3] x) => (float[2, 1, 3] y) <float[2, 1, 1] c = {1.0, 2.0}>"
    " { s = ReduceSum<keepdims = 0>(x) t = Mul(c, x) y = Add(t, s) }",
    "a choice by it": "g (float[1, 3] x) => (float[1, 3] y) <float zero = {0.0}>"
    " { s = ReduceSum<keepdims = 0>(x) p = Greater(s, zero) n = Neg(x) y = Where(p, x, n) }",
}
REFUSED = {
    "fewer dims": "g (float[1, 3, 4] x) => (float[1, 3, 4] y) <float[4] c = {1.0, 2.0, 3.0, 4.0}>"
    " { s = ReduceSum<keepdims = 0>(x) t = Mul(c, s) y = Add(x, t) }",
}


def model_of(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {text}")


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("name", FREED)
def test_each_sample_has_its_own(name: str, tmp_path: Path) -> None:
    before = model_of(FREED[name])
    fixed = orx.fix(saved(before, tmp_path), batch=True)

    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    one, many = (session(each, optimized=True) for each in (before, fixed.model.ir))
    dims = one.get_inputs()[0].shape[1:]
    axis = one.get_outputs()[0].shape.index(1)
    for samples in (1, 2, 5):
        x = np.random.default_rng(samples).normal(size=(samples, *dims)).astype(np.float32)
        want = np.concatenate([one.run(None, {"x": each[None]})[0] for each in x], axis)
        np.testing.assert_allclose(many.run(None, {"x": x})[0], want, rtol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_where_their_number_matters_it_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FixError, match="mixes the samples"):
        orx.fix(saved(model_of(REFUSED[name]), tmp_path), batch=True)
