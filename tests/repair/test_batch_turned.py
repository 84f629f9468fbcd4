"""A Reshape of one sample that is a Transpose of several, as converters write one where the batch of 1 stood aside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import onereshape as orx

HEAD = '<ir_version: 10, opset_import: ["" : 20]> g (float[1, 6, 4] x) => (float[] y)'
CASES = {
    "back to the front": """<int64[2] rows = {6, 4}, int64[3] back = {1, 6, 4}, float w = {2.0}>
        { t = Transpose<perm = [1, 0, 2]>(x)  r = Reshape(t, rows)  m = Mul(r, w)  b = Reshape(m, back)
          y = Add(b, x) }""",
    "to the middle": """<int64[3] aside = {6, 1, 4}, int64[3] heads = {6, 2, 2}>
        { a = Reshape(x, aside)  h = Reshape(a, heads)  t = Transpose<perm = [1, 0, 2]>(h)
          u = Transpose<perm = [1, 2, 0]>(h)  y = MatMul(t, u) }""",
    "from the middle and back": """<int64[3] aside = {6, 1, 4}, int64[3] back = {1, 6, 4}, int64[1] first = {0}>
        { a = Reshape(x, aside)  s = Softmax<axis = 0>(a)  c = CumSum(s, first)  b = Reshape(c, back)
          y = Sub(b, x) }""",
    "from within an axis": """<int64[2] rows = {24, 1}, int64[4] back = {1, 2, 3, 4}, int64[4] cut = {1, 2, 3, 4}>
        { t = Transpose<perm = [1, 2, 0]>(x)  r = Reshape(t, rows)  b = Reshape(r, back)  c = Reshape(x, cut)
          y = Add(b, c) }""",
    "to a place with entries before it": """<int64[4] aside = {2, 1, 3, 4}, float[2, 1, 1, 1] w = {1, 2}>
        { a = Reshape(x, aside)  s = Softmax<axis = 0>(a)  y = Mul(s, w) }""",
    "from far behind to a place before": """<int64[3] last = {6, 4, 1}, int64[4] aside = {2, 1, 3, 4}>
        { t = Transpose<perm = [1, 2, 0]>(x)  l = Reshape(t, last)  m = Relu(l)  a = Reshape(m, aside)
          s = Softmax<axis = 2>(a)  y = Exp(s) }""",
    "a target that is computed": """<int64[1] rest = {4}>
        { d = Shape<start = 1, end = 2>(x)  one = Shape<start = 0, end = 1>(x)  to = Concat<axis = 0>(d, one, rest)
          a = Reshape(x, to)  s = Softmax<axis = 0>(a)  t = Transpose<perm = [1, 0, 2]>(s)  y = Sub(t, x) }""",
}


def made(body: str, folder: Path) -> Path:
    model = onnx.parser.parse_model(HEAD + body)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("name", CASES)
def test_each_sample_has_its_own_answers(name: str, tmp_path: Path) -> None:
    path = made(CASES[name], tmp_path)
    fixed = orx.fix(path, batch=True)
    fixed.model.save(tmp_path / "out.onnx")
    before, after = (onnxruntime.InferenceSession(tmp_path / each) for each in ("model.onnx", "out.onnx"))

    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    for count in (1, 2, 5, 6):
        x = np.random.default_rng(count).standard_normal((count, 6, 4)).astype(np.float32)
        got = after.run(None, {"x": x})[0]
        alone = [before.run(None, {"x": x[each : each + 1]})[0] for each in range(count)]
        ways = [np.concatenate(alone, axis) for axis in range(alone[0].ndim) if alone[0].shape[axis] == 1]
        ways.append(np.stack(alone))
        assert any(way.shape == got.shape and np.allclose(way, got, rtol=1e-5, atol=1e-6) for way in ways)
