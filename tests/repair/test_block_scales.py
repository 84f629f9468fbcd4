"""QuantizeLinear and DequantizeLinear whose scales are inputs: in blocks, and one for each sample."""

from __future__ import annotations

import onnx_ir as ir
import pytest
from onnx import parser

import onereshape as orx
from onereshape.ground.errors import FixError

HEAD = '<ir_version: 10, opset_import: ["": 21]> agraph'


def model(text: str) -> ir.Model:
    return ir.from_proto(parser.parse_model(f"{HEAD} {text}"))


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (
            "(uint8[1,4] x, float[1,2] s) => (float[1,4] y) { y = DequantizeLinear<axis = 1, block_size = 2>(x, s) }",
            [],
        ),
        (
            "(float[1,4] x) => (uint8[1,4] y) <float[1,2] s = {0.5, 2}>"
            " { y = QuantizeLinear<axis = 1, block_size = 2>(x, s) }",
            ["s has size 1 at axis 0, for 1 sample; QuantizeLinear of y needs N"],
        ),
        (
            "(float[1,4] x, float[1,2] s) => (uint8[1,4] y) <int64[1] all = {-1}, int64[2] two = {1, 4}> {"
            " r = Reshape(x, all) t = Reshape(s, all) q = QuantizeLinear<axis = 0, block_size = 2>(r, t)"
            " y = Reshape(q, two) }",
            ["N is forced to 1 by Reshape of y: shape[0] = 1"],
        ),
        (
            "(float[1,4] x, float[1] s) => (uint8[1,4] y) { y = QuantizeLinear(x, s) }",
            ["s is a scale for each sample, and QuantizeLinear of y takes its scales along axis 1"],
        ),
    ],
)
def test_each_sample_keeps_its_scales(text: str, changes: list[str]) -> None:
    fixed = orx.fix(model(text), batch=True)

    assert [each.message for each in fixed.changes] == changes
    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    assert fixed.certificate.for_all


def test_scales_of_samples_that_are_those_of_columns_mix_them() -> None:
    text = "(float[2,2] x, float[2] s) => (uint8[2,2] y) { y = QuantizeLinear<axis = 1>(x, s) }"
    with pytest.raises(FixError, match="a scale for each sample, along axis 1, and they are along 0"):
        orx.fix(model(text), batch={"x": 0, "s": 0})


def test_a_block_of_several_samples_is_refused() -> None:
    head = "(float[1,2] x) => (uint8[1,2] y) <float[1,2] s = {1, 2}>"
    text = f"{head} {{ y = QuantizeLinear<axis = 0, block_size = 2>(x, s) }}"
    with pytest.raises(FixError, match="it has a scale for each block of axis 0, which is N"):
        orx.fix(model(text), batch=True)
