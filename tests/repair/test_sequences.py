"""Models with sequences and optional values: each tensor in them has its batch, and is compared by itself."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.running import session

HEAD = '<ir_version: 10, opset_import: ["": 18]> agraph'
TWO = f"""{HEAD} (float[1,3] x) => (seq(float[]) s, float[1,2] y) <float[1,2] c = {{1, 2}}> {{
    a = Transpose<perm=[1,0]>(x)
    b = Relu(x)
    y = Identity(c)
    s = SequenceConstruct(a, b, y)
}}"""


def model(text: str) -> ir.Model:
    return ir.from_proto(parser.parse_model(text))


def proto(fixed: orx.Fixed) -> onnx.ModelProto:
    made = fixed.model.proto()
    assert isinstance(made, onnx.ModelProto)
    return made


def test_each_tensor_of_an_output_has_its_batch() -> None:
    fixed = orx.fix(model(TWO), batch={"x": 0})
    certificate = fixed.certificate

    assert certificate is not None
    assert certificate.status == "proven"
    assert certificate.for_all
    places = {each.name: each.axis for each in certificate.outputs}
    assert places == {"s[0]": 1, "s[1]": 0, "s[2]": None, "y": None}
    data = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    turned, cut, shared = session(proto(fixed)).run(["s"], {"x": data})[0]
    assert np.array_equal(turned, data.T)
    assert np.array_equal(cut, np.maximum(data, 0))
    assert shared.shape == (1, 2)


def test_what_all_samples_share_is_spread_where_it_is_joined() -> None:
    text = f"""{HEAD} (float[1,3] x) => (float[1,5] y) <float[1,2] c = {{1, 2}}> {{
        s = SequenceConstruct(x, c)
        y = ConcatFromSequence<axis=1>(s)
    }}"""
    fixed = orx.fix(model(text), batch={"x": 0})

    assert [each.message for each in fixed.changes] == [
        "tensor 1 of s is the same for all samples; ConcatFromSequence of y needs N at axis 0"
    ]
    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    data = np.ones((3, 3), np.float32)
    assert session(proto(fixed)).run(None, {"x": data})[0].tolist() == [[1, 1, 1, 1, 2]] * 3


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (
            "s = SplitToSequence<axis=0>(x) y = SequenceAt(s, zero)",
            "it takes apart axis 0, which is N: each entry is a tensor of its own, so that no tensor has all samples",
        ),
        (
            "s = SplitToSequence<axis=0, keepdims=0>(x) y = SequenceAt(s, zero)",
            "it takes apart axis 0, which is N: each entry is a tensor of its own, so that no tensor has all samples",
        ),
        (
            "s = SplitToSequence<axis=1, keepdims=0>(x, one) y = SequenceAt(s, zero)",
            "the specification keeps the axis and engines do not",
        ),
        (
            "s = SequenceConstruct(x, x) i = Cast<to=7>(x) j = ReduceMax<keepdims=0>(i) y = SequenceAt(s, j)",
            "it reduces axis 0, which is N",
        ),
    ],
)
def test_what_keeps_no_sample_apart_is_refused(nodes: str, said: str) -> None:
    text = f"{HEAD} (float[1,3] x) => (float y) <int64 zero = {{0}}, int64 one = {{1}}> {{ {nodes} }}"
    with pytest.raises(FixError, match=said):
        orx.fix(model(text), batch={"x": 0})


def test_a_sequence_that_differs_is_found() -> None:
    original, other = model(TWO), model(TWO.replace("b = Relu(x)", "b = Neg(x)"))
    certificate = orx.certify(original, other)

    assert certificate.status == "differs"
    assert "'s[1]'" in certificate.reason


def test_a_sequence_of_other_tensors_differs() -> None:
    original, other = model(TWO), model(TWO.replace("(a, b, y)", "(a, b)"))
    certificate = orx.certify(original, other)

    assert certificate.status == "differs"
    assert certificate.reason == "only the original gives 's[2]': its sequence has other tensors"


def test_a_value_that_may_be_left_out_is_handed_on() -> None:
    text = f"""{HEAD} (float[1,3] x) => (float[1,3] y, bool there) {{
        o = Optional(x)
        there = OptionalHasElement(o)
        y = OptionalGetElement(o)
    }}"""
    fixed = orx.fix(model(text), batch={"x": 0})

    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
