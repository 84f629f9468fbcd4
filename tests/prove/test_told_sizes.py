"""Sizes of named dims that only operators tell, and 1, which hardly any model asks for: they are tried too."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.prove.engines.engine import Session
from onereshape.prove.runs.told_sizes import ToldSizes, told_sizes
from onereshape.prove.runs.trial import Answers, Feeds
from tests.repair.sample_by_sample import compared
from tests.shaped_models import HEAD, read

OPSET_21 = '<ir_version: 10, opset_import: ["" : 21]>\n'
TOLD = {
    "InstanceNormalization": (
        "g (float[N, c, n] x, float[1] s) => (float[N, c, n] y) { y = InstanceNormalization(x, s, s) }",
        {"c": 1},
    ),
    "BatchNormalization": (
        "g (float[N, c, n] x, float[3] s) => (float[N, c, n] y) { y = BatchNormalization(x, s, s, s, s) }",
        {"c": 3},
    ),
    "Conv": ("g (float[N, c, n] x, float[4, 3, 1] w) => (float[N, 4, n] y) { y = Conv <group = 2> (x, w) }", {"c": 6}),
    "ConvTranspose": ("g (float[N, c, n] x, float[4, 3, 1] w) => (float[N, 3, n] y) { y = ConvTranspose(x, w) }",
                      {"c": 4}),
    "MatMul": ("g (float[N, c] x, float[5, 2] w) => (float[N, 2] y) { y = MatMul(x, w) }", {"c": 5}),
    "a vector in a MatMul": ("g (float[N, c] x, float[5] w) => (float[N] y) { y = MatMul(x, w) }", {"c": 5}),
    "Gemm": ("g (float[N, c] x, float[2, 5] w) => (float[N, 2] y) { y = Gemm <transB = 1> (x, w) }", {"c": 5}),
    "Gemm, turned": ("g (float[c, 2] x, float[5, 2] w) => (float[2, 2] y) { y = Gemm <transA = 1> (x, w) }", {"c": 5}),
    "GRU": ("g (float[n, N, c] x, float[1, 6, 5] w, float[1, 6, 2] r) => (float[n, 1, N, 2] y)"
            " { y = GRU <hidden_size = 2> (x, w, r) }", {"c": 5}),
    "Split": ("g (float[N, c] x) => (float[N, 2] y, float[N, 5] z) <int64[2] k = {2, 5}>"
              " { y, z = Split <axis = 1> (x, k) }",
              {"c": 7}),
    "Squeeze": ("g (float[N, c] x) => (float[N] y) <int64[1] k = {-1}> { y = Squeeze(x, k) }", {"c": 1}),
    "Concat": ("g (float[N, c] x, float[1, 3] k) => (float[M, 3] y) { y = Concat <axis = 0> (x, k) }", {"c": 3}),
    "Reshape": ("g (float[1, c] x) => (float[1, 2, 3] y) <int64[3] k = {1, 2, 3}> { y = Reshape(x, k) }", {"c": 6}),
    "what is calculated": (
        "g (float[N, c] x, float[9, 2] w) => (float[N, 2] y)"
        " { z = Concat <axis = 1> (x, x) p = Constant <value_ints = [0, 1, 0, 0]> () u = Pad(z, p) y = MatMul(u, w) }",
        {"c": 4},
    ),
}  # fmt: skip
LIKELY = {
    "a table": ("g (float[N, c, 2] x, float[1, 5, 2] w) => (float[N, c, 2] y) { y = Add(x, w) }", {"c": 5}),
    "Equal": (
        "g (float[N, c] x) => (bool[1] y) <int64[1] k = {5}> { s = Shape <start = 1> (x) y = Equal(s, k) }",
        {"c": 5},
    ),
    "a picture": (
        "g (float[N, h, w] x, float[16, 2] k) => (float[N, 2] y) { f = Flatten(x) y = MatMul(f, k) }",
        {"h": 4, "w": 4},
    ),
    "a size of several": (
        "g (float[N, 1, c] x, float[16, 2] k) => (float[N, 2] y)"
        " { m = MaxPool <kernel_shape = [4], strides = [4]> (x) f = Flatten(m) y = MatMul(f, k) }",
        {"c": 67},
    ),
    "a branch": (
        "g (float[N, c] x, bool b) => (float[k] y) { y = If(b) <"
        "then_branch = t () => (float[k] p) { o = Constant <value_ints = [1]> () p = Squeeze(x, o) },"
        "else_branch = e () => (float[k] q) { m = Constant <value_ints = [-1]> () q = Reshape(x, m) }> }",
        {"c": 1},
    ),
}


@pytest.mark.parametrize("case", TOLD)
def test_what_an_operator_asks_for(case: str) -> None:
    text, sizes = TOLD[case]

    assert told_sizes(read(text)).sure == sizes


@pytest.mark.parametrize("case", LIKELY)
def test_what_may_be_so(case: str) -> None:
    text, sizes = LIKELY[case]
    found = told_sizes(read(text))

    assert not found.sure
    assert found.likely == (sizes,)


def test_the_scale_of_groups_is_one_of_channels_since_opset_21() -> None:
    text = (
        "g (float[N, c, n] x, float[2] s) => (float[N, c, n] y) { y = GroupNormalization <num_groups = 2> (x, s, s) }"
    )

    assert told_sizes(read(text)) == ToldSizes({}, ())
    assert told_sizes(read(text, OPSET_21)).sure == {"c": 2}


def test_what_operators_do_not_agree_on_is_not_told() -> None:
    found = told_sizes(
        read(
            "g (float[N, c] x, float[5, 2] w, float[6, 2] v) => (float[N, 2] y, float[N, 2] z)"
            " { y = MatMul(x, w) z = MatMul(x, v) }"
        )
    )

    assert found == ToldSizes({}, ())


# Models that run at one size only

SQUEEZED = (
    "z = {norm} s = Shape <start = 1, end = 2> (z) one = Constant <value_ints = [1]> ()"
    " e = Equal(s, one) b = Squeeze(e)"
    " y = If(b) <then_branch = t () => (float[N, n] p) {{ o = Constant <value_ints = [1]> () p = Squeeze(z, o) }},"
    " else_branch = f () => (float[N, c, n] q) {{ q = Identity(z) }}>"
)
RUNS = {
    "a norm": (
        "g (float[N, c, n] x) => (float[N, n] y) <float[1] k = {2}> { "
        + SQUEEZED.format(norm="InstanceNormalization(x, k, k)")
        + " }",
        {"c": 1},
    ),
    "a branch": (
        "g (float[N, c, n] x) => (float[N, n] v) { "
        + SQUEEZED.format(norm="Relu(x)")
        + ' v = Einsum <equation = "ij->ij"> (y) }',
        {"c": 1},
    ),
    "a kernel": ("g (float[1, c, n] x) => (float[1, 2, n] y) <float[2, 3, 1] w = {1, 2, 3, 4, 5, 6}>"
                 " { y = Conv(x, w) }", {"c": 3}),
    "positions": ("g (float[1, c, 1] x) => (float[1, c, 1] y) <float[1, 6, 1] w = {1, 2, 3, 4, 5, 6}>"
                  " { y = Add(x, w) }", {"c": 6}),
    "nobody tells": (
        "g (float[1, c, n] x) => (float[1, n] y) <int64[2] k = {0, 1}>"
        " { z = NonZero(k) m = Constant <value_ints = [-1]> () a = Reshape(z, m) y = Squeeze(x, a) }",
        {"c": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNS)
def test_a_size_that_must_be_is_found(case: str, tmp_path: Path) -> None:
    text, sizes = RUNS[case]
    model = parser.parse_model(HEAD + text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    save(model, tmp_path / "model.onnx")
    before = model.SerializeToString()

    fixed = orx.fix(tmp_path / "model.onnx", batch={"x": 0})

    assert fixed.certificate.status == "proven"
    assert all(each.items() >= sizes.items() for each in fixed.certificate.compared[:1])
    repaired = ir.to_proto(fixed.model.ir).SerializeToString()
    found, wrong = compared(before, repaired, {"N": 1, "n": 5, **sizes})
    assert (found, wrong) == (4, [])


@pytest.mark.parametrize("names", ["h, w", "s, 4"])
def test_what_shows_nothing_is_not_tried_at_sizes_of_large_outputs(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f"g (float[{names}] z) => (float[a, b, c] y) <int64[2] k = {{1, 1}}, float[1] o = {{0}}>"
        " { s = Shape <end = 1> (z) t = Concat <axis = 0> (s, k) e = Expand(z, t) y = Mul(e, o) }"
    )
    model = parser.parse_model(HEAD + text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    elements, run = [], Session.run

    def counted(session: Session, feeds: Feeds) -> Answers:
        answers = run(session, feeds)
        elements.append(sum(array.size for array in answers.values()))
        return answers

    monkeypatch.setattr(Session, "run", counted)
    certificate = orx.certify(ir.from_proto(model), ir.from_proto(model))

    assert certificate.for_all or certificate.holds
    assert sum(each > 1 << 20 for each in elements) <= 2  # of one manner
