"""Operators as the opsets 26 to 28 have them: each is read as its specification says, or refused for its own reason."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_same
from tests.running import session

_CONV = (
    "agraph (float[2, 3, 5] x, float[3, 1, 4] w, float[3] b, float[2, 3, 3] s) => (float[2, 3, 5] y, float[2, 3, 3] z)"
)
_LINEAR = (
    "agraph (float[2, 5, 8] q, float[2, 5, 4] k, float[2, 5, 6] v, float[2, 5, 4] d, float[2, 5, 2] b)"
    " => (float[2, 5, 12] y, float[2, 2, 2, 3] s)"
)
_HEADS = "q_num_heads = 4, kv_num_heads = 2"


def compared(one: str, two: str, opset: int = 28) -> Proof:
    head = f'<ir_version: 13, opset_import: ["" : {opset}]>'
    models = [ir.from_proto(onnx.parser.parse_model(f"{head} {text}")) for text in (one, two)]
    return prove_same(models[0], models[1], [{"n": 4}], seed=5)


@pytest.mark.parametrize(("head", "one", "two"), [
    ("agraph (float[2, 3] x) => (int32[2, 3] y)", "y = BitCast <to = 6> (x)", "y = Cast <to = 6> (x)"),
    ("agraph (int4[2, 3] x) => (uint4[2, 3] y)", "y = BitCast <to = 21> (x)", "y = Cast <to = 21> (x)"),
    ("agraph (float[2, 3] x) => (float[2, 3] y) <int64 a = {1}>", "y = CumProd (x, a)", "y = CumSum (x, a)"),
    ("agraph (bfloat16[2, 3] x) => (bfloat16[2, 3] y) <int64 a = {1}>", "y = CumProd <exclusive = 1> (x, a)",
     "y = CumProd <reverse = 1> (x, a)"),
    (_CONV, "y, z = CausalConvWithState (x, w, b, s)", 'y, z = CausalConvWithState <activation = "silu"> (x, w, b, s)'),
    (_LINEAR, f"y, s = LinearAttention <{_HEADS}> (q, k, v, , d, b)",
     f'y, s = LinearAttention <{_HEADS}, update_rule = "delta"> (q, k, v, , d, b)'),
    ("agraph (bfloat16[2] a, bfloat16[2] b) => (bfloat16[2] y)", "y = SwiGLU (a, b)", "y = SwiGLU (b, a)"),
    ("agraph (float[1, 8, 2, 2] x) => (float[1, 2, 4, 4] y)", "y = DepthToSpace <blocksize = 2> (x)",
     'y = DepthToSpace <blocksize = 2, mode = "CRD"> (x)'),
    ("agraph (bfloat16[2, 2] a, bfloat16[2, 2] b) => (bfloat16[2, 2] y)", 'y = Einsum <equation = "ij,jk->ik"> (a, b)',
     'y = Einsum <equation = "ij,kj->ik"> (a, b)'),
    ("agraph (float[3] x) => (float[3] y)", "a = Cast <to = 27> (x) y = Cast <to = 1> (a)",
     "a = Cast <to = 28> (x) y = Cast <to = 1> (a)"),
    ("agraph (int64[2] x, bfloat16[2] v) => (bfloat16[2, 4] y) <int64 d = {4}>", "y = OneHot (x, d, v)",
     "y = OneHot <axis = 0> (x, d, v)"),
    ("agraph (int32[2] x, int32[2] s) => (int32[2] y)", 'y = BitShift <direction = "RIGHT"> (x, s)',
     'y = BitShift <direction = "LEFT"> (x, s)'),
    ("agraph (float[2] x, float[2] z) => (float[2] y)", "y = Mod (x, z)", "y = Mod <fmod = 1> (x, z)"),
])  # fmt: skip
def test_what_they_are(head: str, one: str, two: str) -> None:
    first, second = (f"{head} {{ {body} }}" for body in (one, two))
    assert compared(first, first).holds, compared(first, first).reason
    assert compared(first, second).verdict == "other"


@pytest.mark.parametrize(("text", "opset", "why"), [
    ("agraph (float[3] x) => (int32[3] y) { y = BitCast <to = 0> (x) }", 28, "its type is none"),
    ("agraph (float[3] x) => (double[3] y) { y = BitCast <to = 11> (x) }", 28, "has not as many bits"),
    ("agraph (float[2] x, float[2] z) => (float[2] y) { y = Mod (x, z) }", 27, "not told to do it as C does"),
    (f'{_CONV} {{ y, z = CausalConvWithState <activation = "relu"> (x, w, b, s) }}', 28, "no activation 'relu'"),
    (f"{_CONV} {{ y, z = CausalConvWithState (x, w, b, b) }}", 28, "input 3 has dims [3], and should have [N C P]"),
    (f'{_LINEAR} {{ y, s = LinearAttention <{_HEADS}, update_rule = "gated"> (q, k, v) }}', 28, "input 4 is missing"),
    (f'{_LINEAR} {{ y, s = LinearAttention <{_HEADS}, update_rule = "odd"> (q, k, v) }}', 28, "no update_rule 'odd'"),
    (f"{_LINEAR} {{ y, s = LinearAttention <{_HEADS}> (q, k, v, , d, d) }}", 28, "a beta of 4"),
    ("agraph (float[1, 8, 2, 2] x) => (float[1, 2, 4, 4] y) { y = DepthToSpace <blocksize = 3> (x) }", 28, "no blocks"),
])  # fmt: skip
def test_what_they_are_not(text: str, opset: int, why: str) -> None:
    found = compared(text, text, opset)
    assert found.verdict == "not proven"
    assert why in found.reason


def test_a_remainder_of_known_floats_is_no_number() -> None:
    """Engines round it as they like: at opset 28 it is said what it is, and not how."""
    head = "agraph () => (float[1] y) <float[1] x = {-5.5}, float[1] z = {3.0}"
    one, two = f"{head}> {{ y = Mod (x, z) }}", f"{head}, float[1] w = {{0.5}}> {{ y = Identity (w) }}"
    assert compared(one, one).holds
    assert compared(one, two).verdict == "other"


@pytest.mark.parametrize(("kind", "code", "most"), [
    ("float", 1, 1 << 24), ("float16", 10, 1 << 11), ("bfloat16", 16, 1 << 8), ("double", 11, 1 << 53),
])  # fmt: skip
def test_a_range_counts_while_its_type_holds_every_integer(kind: str, code: int, most: int) -> None:
    """Beyond that `16777216 + 1` is 16777216 for an engine that adds step by step, as onnxruntime does."""

    def text(first: int) -> str:
        ends = f"int64 b = {{{first}}}, int64 e = {{{first + 4}}}, int64 d = {{1}}"
        casts = "".join(f"{name}1 = Cast <to = {code}> ({name}) " for name in "bed")
        return f"agraph ({kind}[4] x) => ({kind}[4] y) <{ends}> {{ {casts} r = Range (b1, e1, d1) y = Add (r, x) }}"

    assert compared(text(most - 4), text(most - 4)).holds
    assert compared(text(most - 4), text(most - 8)).verdict == "other"
    assert "beyond the integers" in compared(text(most + 4), text(most + 4)).reason


def test_onnxruntime_counts_step_by_step() -> None:
    text = "agraph (float b, float e, float d) => (float[n] y) { y = Range (b, e, d) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    feed = {name: np.array(each, np.float32) for name, each in (("b", 1 << 24), ("e", (1 << 24) + 4), ("d", 1))}
    assert session(model).run(None, feed)[0].tolist() == [float(1 << 24)] * 4
