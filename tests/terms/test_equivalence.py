"""Two models as formulas of real numbers: what is one formula written twice, and what is not."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest
from onnx import parser

from onereshape.terms.equivalence import Equivalence, prove_equivalent
from onereshape.terms.landmarks import Landmarks, close
from onereshape.terms.reals import Reals
from tests.terms.formulas import drawn_pair

HEAD = '<ir_version: 9, opset_import: ["": 20, "com.microsoft": 1]> agraph '
AB = "(float[2,3,4] A, float[2,3,4] B, float[4] G) => (float[2,3,4] Y) "
ZEROS = "<float[4] z = {0.0, 0.0, 0.0, 0.0}> "
MATRICES = "(float[2,3,4] A) => (float[2,3,5] Y) "
IMAGE = "(float[1,4,6,6] A) => (float[1,2,4,4] Y) "
WEIGHTS = "<float[2,4,3,3] W = {" + ", ".join(f"{(7 * i % 13 - 6) / 8}" for i in range(72)) + "}>"
SCALED = "<float[2,4,3,3] W = {" + ", ".join(f"{(7 * i % 13 - 6) / 8 * (1.5, -0.5)[i // 36]}" for i in range(72)) + "}>"
GATED = "(float[2,3,4] v0, float[2,3,4] B, float[4] G) => (float[2,3,4] Y)"
GATES = (
    " ".join(f"s{i} = Sigmoid(v{i}) v{i + 1} = Mul(v{i}, s{i})" for i in range(60))
    + " d = Add(v60, c) e = Sigmoid(B) f = Sigmoid(G) g = Mul(d, e) h = Mul(g, f) Y = Add(h, one)"
)
"""Numbers that grow in one reading, beside a constant, and vanish in another, before one."""


def model(text: str) -> ir.Model:
    return ir.serde.deserialize_model(parser.parse_model(HEAD + text))


def verdict(one: str, two: str, seed: int = 3) -> Equivalence:
    return prove_equivalent(model(one), model(two), [{}], seed=seed)


SAME = {
    "sums in any order and grouping": (
        AB + "{ c = Add(A, B) Y = Add(c, G) }",
        AB + "{ c = Add(G, B) Y = Add(A, c) }",
    ),
    "a difference of what was added": (
        AB + "{ c = Add(A, B) d = Sub(c, B) Y = Tanh(d) }",
        AB + "{ Y = Tanh(A) }",
    ),
    "a factor that is distributed": (
        AB + "{ c = Add(A, B) Y = Mul(c, G) }",
        AB + "{ c = Mul(A, G) d = Mul(G, B) Y = Add(c, d) }",
    ),
    "a square, and a product": (
        AB + "<float two = {2.0}> { c = Pow(A, two) Y = Exp(c) }",
        AB + "{ c = Mul(A, A) Y = Exp(c) }",
    ),
    "a root of a sum of squares": (
        AB + "<int64[1] last = {-1}> { c = ReduceL2(A, last) Y = Div(B, c) }",
        AB + "<int64[1] last = {-1}> { c = ReduceSumSquare(A, last) d = Sqrt(c) e = Reciprocal(d) Y = Mul(B, e) }",
    ),
    "a division by a constant": (
        AB + "<float four = {4.0}> { Y = Div(A, four) }",
        AB + "<float quarter = {0.25}> { Y = Mul(quarter, A) }",
    ),
    "constants calculated in advance": (
        AB + "<float[4] w = {1.0, 2.0, 3.0, 5.0}, float e = {0.25}> { v = Add(w, e) r = Sqrt(v) Y = Div(A, r) }",
        AB + "<float[4] w = {1.1180340, 1.5, 1.8027756, 2.2912878}> { Y = Div(A, w) }",
    ),
    "functions of constants calculated in advance": (
        AB + "<float[4] w = {-1.0, 2.0, 0.5, -3.0}> { r = Relu(w) s = Sigmoid(r) m = Neg(s) e = Exp(m) Y = Mul(A, e) }",
        AB + "<float[4] w = {0.60653066, 0.41445243, 0.53662308, 0.60653066}> { Y = Mul(A, w) }",
    ),
    "a layer normalisation and its parts": (
        AB
        + "<float[4] zero = {0.0, 0.0, 0.0, 0.0}> { Y = LayerNormalization<axis = -1, epsilon = 0.001>(A, G, zero) }",
        AB
        + """<int64[1] last = {-1}, float e = {0.001}> { m = ReduceMean(A, last) d = Sub(A, m) s = Mul(d, d)
            v = ReduceMean(s, last) w = Add(v, e) r = Sqrt(w) q = Div(d, r) Y = Mul(q, G) }""",
    ),
    "a Gelu and its parts": (
        AB + "{ Y = Gelu(A) }",
        AB
        + """<float r = {1.4142135}, float one = {1.0}, float half = {0.5}> { a = Div(A, r) b = Erf(a) c = Add(b, one)
            d = Mul(A, c) Y = Mul(d, half) }""",
    ),
    "a vendor's Gelu with a bias": (
        AB + "{ Y = com.microsoft.BiasGelu(A, G) }",
        AB + "{ c = Add(A, G) Y = Gelu(c) }",
    ),
    "a sum that is normalised": (
        AB + "{ Y, m, i, s = com.microsoft.SkipSimplifiedLayerNormalization<epsilon = 0.01>(A, B, G) }",
        AB + "{ c = Add(B, A) Y = SimplifiedLayerNormalization<axis = -1, epsilon = 0.01>(c, G) }",
    ),
    "a condition and its negation": (
        AB + "{ c = Less(A, B) d = Not(c) Y = Where(d, A, B) }",
        AB + "{ c = Less(A, B) Y = Where(c, B, A) }",
    ),
    "clips of another scale": (
        AB
        + """<float lo = {0.0}, float hi = {6.0}, float three = {3.0}>
            { a = Add(A, three) b = Clip(a, lo, hi) c = Mul(A, b) Y = Div(c, hi) }""",
        AB + "{ Y = HardSwish(A) }",
    ),
    "a Relu and a Clip": (
        AB + "<float lo = {0.0}> { Y = Clip(A, lo) }",
        AB + "{ Y = Relu(A) }",
    ),
    "a Softmax of one element": (
        "(float[2,1] A) => (float[2,1] Y) { Y = Softmax(A) }",
        "(float[2,1] A) => (float[2,1] Y) <float[2,1] o = {1.0, 1.0}> { Y = Identity(o) }",
    ),
    "a product and a Gemm": (
        "(float[3,2] A, float[2,4] B, float[4] C) => (float[3,4] Y) { c = MatMul(A, B) Y = Add(C, c) }",
        "(float[3,2] A, float[2,4] B, float[4] C) => (float[3,4] Y) { Y = Gemm(A, B, C) }",
    ),
    "a scale that is folded into weights": (
        MATRICES + "<float[4,5] W = {" + ", ".join(f"{i / 8}" for i in range(20)) + "}, float s = {3.0}> "
        "{ c = Mul(A, s) Y = MatMul(c, W) }",
        MATRICES + "<float[4,5] W = {" + ", ".join(f"{3 * i / 8}" for i in range(20)) + "}> { Y = MatMul(A, W) }",
    ),
    "a Transpose on the other side of a function": (
        AB + "{ t = Transpose<perm = [2,0,1]>(A) e = Sigmoid(t) Y = Transpose<perm = [1,2,0]>(e) }",
        AB + "{ Y = Sigmoid(A) }",
    ),
    "a normalisation folded into a convolution": (
        IMAGE
        + "<"
        + WEIGHTS[1:-1]
        + """, float[2] s = {3.0, -0.5}, float[2] b = {1.0, 2.0}, float[2] m = {0.5, -1.0}, float[2] v = {3.75, 0.75}>
            { c = Conv(A, W) n = BatchNormalization<epsilon = 0.25>(c, s, b, m, v) Y = Relu(n) }""",
        IMAGE + "<" + SCALED[1:-1] + ", float[2] B = {0.25, 1.5}> { c = Conv(A, W, B) Y = Relu(c) }",
    ),
    "a Pad before a convolution": (
        IMAGE.replace("6,6", "4,4")
        + "<"
        + WEIGHTS[1:-1]
        + ", int64[8] p = {0,0,1,1,0,0,1,1}> { c = Pad(A, p) Y = Conv(c, W) }",
        IMAGE.replace("6,6", "4,4") + "<" + WEIGHTS[1:-1] + "> { Y = Conv<pads = [1,1,1,1]>(A, W) }",
    ),
    "an average by a pool, and by a mean": (
        "(float[1,2,3,3] A) => (float[1,2,1,1] Y) { Y = GlobalAveragePool(A) }",
        "(float[1,2,3,3] A) => (float[1,2,1,1] Y) { Y = AveragePool<kernel_shape = [3,3]>(A) }",
    ),
    "an Einsum and a MatMul": (
        "(float[2,3,4] A, float[2,5,4] B) => (float[2,3,5] Y) { t = Transpose<perm = [0,2,1]>(B) Y = MatMul(A, t) }",
        '(float[2,3,4] A, float[2,5,4] B) => (float[2,3,5] Y) { Y = Einsum<equation = "bij,bkj->bik">(A, B) }',
    ),
}

OTHER = {
    "a constant": (
        AB + "<float c = {1.0}> { a = Mul(A, c) Y = Tanh(a) }",
        AB + "<float c = {1.00001}> { a = Mul(A, c) Y = Tanh(a) }",
    ),
    "one element of a bias": (
        AB + "<float[4] c = {1.0, 2.0, 3.0, 4.0}> { Y = Add(A, c) }",
        AB + "<float[4] c = {1.0, 2.0, 3.0, 4.001}> { Y = Add(A, c) }",
    ),
    "operands of a difference": (AB + "{ Y = Sub(A, B) }", AB + "{ Y = Sub(B, A) }"),
    "the axis of a Softmax": (AB + "{ Y = Softmax<axis = -1>(A) }", AB + "{ Y = Softmax<axis = 1>(A) }"),
    "the order of axes": (
        "(float[3,3] A) => (float[3,3] Y) { Y = Transpose<perm = [1,0]>(A) }",
        "(float[3,3] A) => (float[3,3] Y) { Y = Identity(A) }",
    ),
    "the order of axes inside of a function": (
        "(float[3,3] A) => (float[3,3] Y) { t = Transpose<perm = [1,0]>(A) Y = Tanh(t) }",
        "(float[3,3] A) => (float[3,3] Y) { Y = Tanh(A) }",
    ),
    "an epsilon": (
        AB + ZEROS + "{ Y = LayerNormalization<epsilon = 0.00001>(A, G, z) }",
        AB + ZEROS + "{ Y = LayerNormalization<epsilon = 0.00002>(A, G, z) }",
    ),
    "a gate that no usual value opens": (
        AB + "<float g = {1000000.0}> { c = Greater(A, g) Y = Where(c, B, A) }",
        AB + "{ Y = Identity(A) }",
    ),
    "the number of a gate": (
        AB + "<float g = {1000000.0}> { c = Greater(A, g) Y = Where(c, B, A) }",
        AB + "<float g = {1000001.0}> { c = Greater(A, g) Y = Where(c, B, A) }",
    ),
    "what a large mask would hide": (
        AB + "<float m = {-10000.0}> { a = Mul(B, m) s = Add(A, a) Y = Softmax(s) }",
        AB + "<float m = {-10000.0}, float f = {1.001}> { a = Mul(B, m) c = Mul(A, f) s = Add(c, a) Y = Softmax(s) }",
    ),
    "what a large sum would hide": (
        AB + "<float m = {1000.0}> { a = Mul(B, m) b = Mul(a, m) s = Add(A, b) Y = Softmax(s) }",
        AB
        + """<float m = {1000.0}, float f = {1.001}>
            { a = Mul(B, m) b = Mul(a, m) c = Mul(A, f) s = Add(c, b) Y = Softmax(s) }""",
    ),
    "a mask that is never added": (
        AB + "<float m = {-3.4028234663852886e+38}> { a = Mul(B, m) s = Add(A, a) Y = Softmax(s) }",
        AB + "<float m = {-3.4028234663852886e+38}> { a = Mul(B, m) Y = Softmax(a) }",
    ),
    "another function": (AB + "{ Y = Sigmoid(A) }", AB + "{ Y = HardSigmoid(A) }"),
    "a Gelu by another formula": (AB + "{ Y = Gelu(A) }", AB + '{ Y = Gelu<approximate = "tanh">(A) }'),
    "an exponential of a sum, which is no product here": (
        AB + "{ s = Add(A, B) Y = Exp(s) }",
        AB + "{ a = Exp(A) b = Exp(B) Y = Mul(a, b) }",
    ),
    "ends of a Clip": (
        AB + "<float l = {0.0}, float h = {6.0}> { Y = Clip(A, l, h) }",
        AB + "<float l = {0.0}, float h = {5.0}> { Y = Clip(A, l, h) }",
    ),
    "a small factor, raised by other steps": (
        AB + "<float f = {0.0000152587890625}> { c = Mul(B, f) Y = Add(A, c) }",
        AB + "<float f = {0.000000059604644775390625}> { c = Mul(B, f) Y = Add(A, c) }",
    ),
    "an epsilon that is next to nothing": (
        AB + "<float e = {0.000000000001}> { s = Mul(B, B) t = Add(s, e) r = Sqrt(t) Y = Div(A, r) }",
        AB + "<float e = {0.0000000001}> { s = Mul(B, B) t = Add(s, e) r = Sqrt(t) Y = Div(A, r) }",
    ),
    "no epsilon at all": (
        AB + "<float e = {0.000000000001}> { s = Mul(B, B) t = Add(s, e) r = Sqrt(t) Y = Div(A, r) }",
        AB + "{ s = Mul(B, B) r = Sqrt(s) Y = Div(A, r) }",
    ),
    "what a Clip between far ends would hide": (
        AB + "<float l = {-65504.0}, float h = {65504.0}> { Y = Clip(A, l, h) }",
        AB + "<float l = {-65504.0}, float h = {65504.0}, float f = {1.05}> { c = Mul(A, f) Y = Clip(c, l, h) }",
    ),
    "what is scattered, beside what stays": (
        "(float[4,3] A, float[2,3] B) => (float[4,3] Y) <int64[2,1] i = {0, 2}> "
        '{ Y = ScatterND<reduction = "add">(A, i, B) }',
        "(float[4,3] A, float[2,3] B) => (float[4,3] Y) <int64[2,1] i = {0, 2}, float f = {1.5}> "
        '{ C = Mul(B, f) Y = ScatterND<reduction = "add">(A, i, C) }',
    ),
    "a constant behind many gates": (
        f"{GATED} <float[4] c = {{1.0, 2.0, 3.0, 4.0}}, float one = {{1.0}}> {{ {GATES} }}",
        f"{GATED} <float[4] c = {{1.01, 2.0, 3.0, 4.0}}, float one = {{1.0}}> {{ {GATES} }}",
    ),
    "a column beside one of a million times its size": (
        AB + "<float[4] k = {1000.0, 1.0, 1.0, 1.0}> { a = Mul(A, k) b = Mul(a, k) Y = Tanh(b) }",
        AB + "<float[4] k = {1000.0, 1.0, 1.0, 1.0}, float[4] f = {1.0, 1.01, 1.0, 1.0}> "
        "{ c = Mul(A, f) a = Mul(c, k) b = Mul(a, k) Y = Tanh(b) }",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_one_formula_written_twice(name: str) -> None:
    for seed in (1, 2):
        found = verdict(*SAME[name], seed=seed)

        assert found.holds, found.reason


@pytest.mark.parametrize("name", SAME)
def test_it_does_not_matter_which_model_is_the_original(name: str) -> None:
    one, other = SAME[name]
    assert verdict(other, one).holds


@pytest.mark.parametrize("name", OTHER)
def test_another_formula(name: str) -> None:
    for pair in (OTHER[name], OTHER[name][::-1]):
        found = verdict(*pair)

        assert found.verdict == "not equivalent"
        assert found.reason.startswith("output 'Y' is another formula")


def test_the_node_where_they_part_is_named() -> None:
    found = verdict(
        AB
        + "{ c = Add(A, B) [first] d = Tanh(c) [second] Y = Mul(d, d) }".replace(" [first]", "").replace(
            " [second]", ""
        ),
        AB + "{ c = Add(A, B) d = Sin(c) Y = Mul(d, d) }",
    )

    assert found.parted == "Sin d"
    assert found.reason == "output 'Y' is another formula, from Sin d on"


def test_what_has_no_rule_is_unknown() -> None:
    text = AB + "{ Y = com.microsoft.NobodyKnows(A) }"

    found = verdict(text, text)

    assert (found.verdict, found.reason) == (
        "unknown",
        "NobodyKnows Y: there is no record of the operator com.microsoft.NobodyKnows",
    )


def test_without_sizes_nothing_is_compared() -> None:
    same = model(SAME["a Relu and a Clip"][0])

    assert prove_equivalent(same, same, [], seed=1).verdict == "unknown"


@pytest.mark.parametrize("seed", range(150))
def test_random_formulas(seed: int) -> None:
    """A formula that is rewritten by laws stays one; one that is changed in a place that counts does not."""
    original, rewritten, changed = drawn_pair(seed)

    assert prove_equivalent(original, rewritten, [{}], seed=seed).holds
    assert prove_equivalent(original, changed, [{}], seed=seed).verdict == "not equivalent"


def test_landmarks_are_found_in_any_order_of_axes() -> None:
    landmarks = Landmarks()
    known = landmarks.settled(np.random.default_rng(1).standard_normal((2, 3, 4)))
    moved = (known * (1 + 1e-9)).transpose(2, 0, 1)

    assert np.array_equal(landmarks.settled(moved), known.transpose(2, 0, 1))
    assert np.array_equal(landmarks.settled(moved.reshape(4, 6)), known.transpose(2, 0, 1).reshape(4, 6))


def test_small_numbers_beside_large_ones_have_their_own_scale() -> None:
    one = np.repeat([[1.0], [1e-3]], 32, axis=1)
    two = one.copy()
    two[1, 5] *= 1.0001

    assert not close(two, one)


def test_numbers_are_of_the_size_that_is_asked() -> None:
    for below in (0, 13):
        found = np.abs(Reals(5, below=below).leaves(7, 100).view(np.float64))

        assert found.min() >= 2.0**-below
        assert found.max() < 2.0 ** (1 - below)


def test_a_value_that_only_has_other_dims_is_not_where_models_part() -> None:
    one = AB + "{ c = Add(A, B) d = Tanh(c) e = Sin(d) Y = Identity(e) }"
    two = (
        AB
        + """<int64[2] flat = {6, 4}, int64[3] back = {2, 3, 4}>
            { a = Reshape(A, flat) b = Reshape(B, flat) c = Add(a, b) d = Tanh(c) e = Cos(d) Y = Reshape(e, back) }"""
    )

    assert verdict(one, two).parted == "Cos e"
