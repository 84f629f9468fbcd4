"""Outputs that are as long as the longest of the samples: the refusal says so, whichever rule stopped first."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.shaped_models import HEAD

START = (
    "zero = Constant <value_int = 0> () one = Constant <value_int = 1> () first = Constant <value_ints = [0]> ()"
    " last = Constant <value_ints = [1]> () c = Ceil(w) l = ReduceSum <keepdims = 0> (c, last) k = Cast <to = 7> (l)"
)
MASK = " r = Range(zero, m, one) a = Unsqueeze(r, first) b = Unsqueeze(k, last) d = Less(a, b) y = Cast <to = 1> (d)"
NUMBERS = (
    "w0 = Relu(x) s = Shape <end = 1> (x) n = Squeeze(s) z0 = Constant <value_int = 0> ()"
    " o0 = Constant <value_int = 1> () i = Range(z0, n, o0)"
    " u = Constant <value_ints = [1]> () j = Unsqueeze(i, u) t = Shape(x) e = Expand(j, t)"
    " f = Cast <to = 1> (e) w = Mul(w0, f) "
)
SAYS = {
    "a mask": (
        "w = Relu(x) ", " m = ReduceMax <keepdims = 0> (k)" + MASK, "ReduceMax of m", "the longest of the samples"
    ),
    "behind what is not followed": (
        NUMBERS, " m = ReduceMax <keepdims = 0> (k)" + MASK, "ReduceMax of m", "the longest of the samples"
    ),
    "the shortest": (
        "w = Relu(x) ",
        " q = ReduceMin(k) p = Concat <axis = 0> (last, q) y = Slice(x, first, q, last)",
        "ReduceMin of q",
        "the shortest of the samples",
    ),
    "all in a row": (
        "w = Relu(x) ",
        " q = ReduceSum(k) v = ConstantOfShape(q) r = Cast <to = 1> (v) mean = ReduceMean(x) y = Add(r, mean)",
        "ReduceSum of q",
        "all samples together",
    ),
    "of places that only the run counts": (
        "h0 = NonZero(x) h1 = Transpose(h0) g0 = Cast <to = 1> (h1) w = Abs(g0) ",
        " m = ReduceMax <keepdims = 0> (k)" + MASK,
        "ReduceMax of m",
        "the longest of the samples",
    ),
    "padding": (
        "w = Relu(x) ",
        " q = ReduceMax(k) p = Concat <axis = 0> (first, first, first, q) y = Pad(x, p)",
        "ReduceMax of q",
        "the longest of the samples",
    ),
}  # fmt: skip
SILENT = {
    "a largest value is no length": "w = Relu(x) c = ReduceMax <keepdims = 0> (w) y = Div(x, c)",
    "of each sample": (
        "w = Relu(x) u = Constant <value_ints = [1]> () c = ReduceMax (w, u) k = Cast <to = 7> (c) e = NonZero(k)"
        " y = Cast <to = 1> (e)"
    ),
    "of dims": (
        "s = Shape(x) m = ReduceMax(s) v = ConstantOfShape(m) r = Cast <to = 1> (v) q = ReduceMean(x) y = Add(r, q)"
    ),
}


def saved(folder: Path, batch: str, body: str) -> Path:
    model = parser.parse_model(HEAD + f"g (float[{batch}, t] x) => (float[{batch}, s] y) {{ {body} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("batch", ["1", "N"])
@pytest.mark.parametrize("case", SAYS)
def test_it_is_as_long_as(case: str, batch: str, tmp_path: Path) -> None:
    begins, ends, node, words = SAYS[case]
    path = saved(tmp_path, batch, begins + START + ends)

    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch={"x": 0})

    sentence = refusal.value.sentence
    assert sentence.startswith(f"{node} ({node.partition(' ')[0]})")
    assert sentence.endswith(f": the output y is as long as {words}")
    assert any(f"the output y is as long as {words}" in each.message for each in orx.check(path, batch={"x": 0}))


@pytest.mark.parametrize("case", SILENT)
def test_elsewhere_nothing_is_said_of_it(case: str, tmp_path: Path) -> None:
    try:
        orx.fix(saved(tmp_path, "1", SILENT[case]), batch={"x": 0})
    except FixError as refusal:
        assert "is as long as" not in refusal.sentence  # noqa: PT017 - not all are refused
