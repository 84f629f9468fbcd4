"""Models that are right at some numbers of samples and wrong at another, and models that are right at each."""

from __future__ import annotations

from typing import NamedTuple


class Sized(NamedTuple):
    """A body for the original, or nothing where it is the same, and one for N samples."""

    name: str
    one: str
    many: str
    bad: int = 0
    """A number of samples at which it is wrong, 0 if it is always right."""
    dims: str = "3"
    """Of the input x, beside N."""
    out: str = "3"
    """Of the output z."""
    kind: str = "float"
    opset: int = 21


N = "n = Shape<start=0, end=1>(x) "
"""The number of samples as a list of one: the model has no dim of 2, and 2 samples are tried first."""
SAME = "{ z = Identity(x) }"
C = "<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] minus = {-1}, "
C += (
    "int64 o = {0}, int64 i = {1}, int64[1] far = {9223372036854775807}, int64[2] flat = {-1, 3}, float[1] half = {0.5}"
)


def _body(text: str, more: str = "") -> str:
    return f"{C}{', ' + more if more else ''}> {{ {text} }}"


RANGE = N + "m = Squeeze(n, zero) r = Range(o, m, i) "


def _wrong() -> list[Sized]:
    """Right for a while."""
    rolled = "b0 = Identity(x) " + " ".join(
        f"h{each} = Slice(b{each}, minus, far, zero) t{each} = Slice(b{each}, zero, minus, zero) "
        f"b{each + 1} = Concat<axis=0>(h{each}, t{each})"
        for each in range(42)
    )
    return [
        Sized("cut at 100", SAME, _body("z = Slice(x, zero, c, zero)", "int64[1] c = {100}"), 101),
        Sized("cut at 100 from the end", SAME, _body("z = Slice(x, c, far, zero)", "int64[1] c = {-100}"), 101),
        Sized("cut at the smaller of N and 50", SAME,
              _body(N + "e = Min(n, c) z = Slice(x, zero, e, zero)", "int64[1] c = {50}"), 51),
        Sized("cut at the larger of N - 40 and 0", SAME,
              _body(N + "d = Sub(n, c) e = Max(d, zero) z = Slice(x, e, far, zero)", "int64[1] c = {40}"), 41),
        Sized("cut at N modulo 64", SAME,
              _body(N + "e = Mod(n, c) z = Slice(x, zero, e, zero)", "int64[1] c = {64}"), 64),
        Sized("rolled 42 times", SAME, _body(rolled + " z = Identity(b42)"), 4),
        Sized("chosen by N > 20", SAME,
              _body(N + "g = Greater(n, c) d = Add(x, half) z = Where(g, d, x)", "int64[1] c = {20}"), 21),
        Sized("chosen by N = 50", SAME,
              _body(N + "g = Equal(n, c) d = Add(x, half) z = Where(g, d, x)", "int64[1] c = {50}"), 50),
        Sized("chosen by N > 30 as floats", SAME,
              _body(N + "f = Cast<to=1>(n) g = Less(c, f) d = Add(x, half) z = Where(g, d, x)", "float[1] c = {30}"),
              31),
        Sized("scaled by the smaller of N / 50 and 0", "",
              _body(N + "q = Div(n, c) f = Cast<to=1>(q) z = Add(x, f)", "int64[1] c = {50}"), 50),
        Sized("N shifted to the right", "",
              _body(N + 'u = Cast<to=13>(n) q = BitShift<direction="RIGHT">(u, c) f = Cast<to=1>(q) z = Add(x, f)',
                    "uint64[1] c = {5}"), 32),
        Sized("N and 32", "", _body(N + "q = BitwiseAnd(n, c) f = Cast<to=1>(q) z = Add(x, f)",
                                      "int64[1] c = {32}"), 32),
        Sized("N to the third, modulo N", "",
              _body(N + "p = Mul(n, n) q = Div(p, c) f = Cast<to=1>(q) z = Add(x, f)", "int64[1] c = {2500}"), 50),
        Sized("picked by a clipped range", SAME,
              _body(RANGE + "k = Clip(r, o, c) z = Gather(x, k)", "int64 c = {30}"), 32),
        Sized("picked by the smaller of a range and 30", SAME,
              _body(RANGE + "k = Min(r, c) z = Gather(x, k)", "int64[1] c = {30}"), 32),
        Sized("picked by a range modulo 64", SAME,
              _body(RANGE + "k = Mod(r, c) z = Gather(x, k)", "int64[1] c = {64}"), 65),
        Sized("picked by N - 2 + s", SAME,
              _body(RANGE + "d = Sub(n, two) k = Add(r, d) z = Gather(x, k)"), 3),
        Sized("picked by N - 3 + s of two rounds", "{ z = Identity(x) }",
              _body(RANGE + "t = Tile(x, reps) d = Sub(n, three) k = Add(r, d) z = Gather(t, k)",
                    "int64[2] reps = {2, 1}"), 4, dims="2", out="2"),
        Sized("picked by s + 2 of three rounds", SAME,
              _body(RANGE + "t = Tile(x, reps) k = Add(r, two) z = Gather(t, k)", "int64[2] reps = {3, 1}"), 3,
              dims="5", out="5"),
        Sized("picked by 3 s of three rounds", SAME,
              _body(RANGE + "t = Tile(x, reps) k = Mul(r, three) z = Gather(t, k)", "int64[2] reps = {5, 1}"), 3),
        Sized("picked by 4 s of ten rounds", SAME,
              _body(RANGE + "t = Tile(x, reps) k = Mul(r, c) z = Gather(t, k)",
                    "int64[2] reps = {10, 1}, int64[1] c = {4}"), 4, dims="2", out="2"),
        Sized("picked by a range from the end", SAME,
              _body(RANGE + "d = Sub(r, n) e = Neg(d) k = Sub(e, one) z = Gather(x, k)"), 2),
        Sized("cut from N to 2 N of thrice each", "{ z = Identity(x) }",
              _body(N + "e = Concat<axis=1>(x, x, x) f = Reshape(e, minus) d = Mul(n, two) "
                    "c = Slice(f, n, d, zero) z = Unsqueeze(c, one)"), 3, dims="1", out="1"),
        Sized("an axis that is N - 1", "<int64[1] c = {0}> { z = Unsqueeze(x, c) }",
              _body(N + "k = Sub(n, one) z = Unsqueeze(x, k)"), 3, out="?, ?"),
        Sized("a cut along axis N", SAME, _body(N + "z = Slice(x, zero, far, n)"), 3, dims="3, 3", out="3, 3"),
        Sized("a cut along axis -N", SAME,
              _body(N + "k = Neg(n) z = Slice(x, zero, far, k)"), 4, dims="3, 3", out="3, 3"),
        Sized("a cut in steps of N", SAME, _body(N + "z = Slice(x, zero, far, one, n)"), 2, out="?"),
        Sized("a sum over axis N", "<int64[1] k = {1}> { z = ReduceSum(x, k) }",
              _body(N + "z = ReduceSum(x, n)"), 3, dims="1, 1", out="1, 1"),
        Sized("a number of 8 bits", SAME,
              _body(N + "b = Cast<to=3>(n) w = Cast<to=7>(b) z = Slice(x, zero, w, zero)"), 128),
        Sized("a number of 8 bits without a sign", SAME,
              _body(N + "b = Cast<to=2>(n) w = Cast<to=7>(b) z = Slice(x, zero, w, zero)"), 256),
        Sized("a number of 32 bits that wraps", SAME,
              _body(N + "b = Cast<to=6>(n) m = Mul(b, c) d = Div(m, c) w = Cast<to=7>(d) z = Slice(x, zero, w, zero)",
                    "int32[1] c = {536870912}"), 4),
        Sized("a number of 64 bits that wraps", SAME,
              _body(N + "m = Mul(n, c) d = Div(m, c) z = Slice(x, zero, d, zero)", f"int64[1] c = {{{1 << 61}}}"), 4),
        Sized("expanded to a constant", SAME, _body("z = Expand(x, c)", "int64[2] c = {1, 3}"), 0),
        Sized("a range up to 50", SAME,
              _body(N + "r = Range(o, c, i) k = Slice(r, zero, n, zero) z = Gather(x, k)", "int64 c = {50}"), 51),
        Sized("a mask of 50 places", "",
              _body(N + "k = Slice(w, zero, n, zero) z = Mul(x, k)", f"float[50, 1] w = {{{', '.join(['1'] * 50)}}}"),
              51),
        Sized("reshaped by a constant that suits", SAME, _body("z = Reshape(x, c)", "int64[2] c = {1, -1}"), 2,
              out="?"),
        Sized("reshaped by a constant that suits more", SAME,
              _body("a = Reshape(x, c) z = Reshape(a, flat)", "int64[3] c = {-1, 1, 3}"), 0),
        Sized("resized by 1.0001", "{ z = Identity(x) }",
              _body('z = Resize<mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric">'
                    "(x, , c)", "float[2] c = {1.02, 1.0}"), 51),
        Sized("cropped to 50", "{ z = Identity(x) }",
              _body(N + "m = Min(n, c) z = CenterCropPad<axes=[0]>(x, m)", "int64[1] c = {50}"), 51),
        Sized("cut by a triangle", "",
              _body(N + "b = Concat<axis=0>(n, n) w = ConstantOfShape<value=v>(b) t = Trilu<upper=0>(w, c) "
                    "p = Slice(t, zero, one, zero) q = Squeeze(p, zero) u = Unsqueeze(q, one) z = Mul(x, u)",
                    "int64 c = {40}").replace("<value=v>", "<value=float[1] {1}>"), 42),
        Sized("parity as a product", "<float[1] c = {-1}> { z = Mul(x, c) }",
              _body(N + "w = ConstantOfShape<value=int64[1] {-1}>(n) p = ReduceProd<keepdims=0>(w) "
                    "f = Cast<to=1>(p) z = Mul(x, f)"), 2, dims="2", out="2"),
        Sized("parity as a product of matrices", "<float[1] c = {-2147483648.0}> { z = Mul(x, c) }",
              _body(N + "a = Concat<axis=0>(one, n) b = Concat<axis=0>(n, one) "
                    "v = ConstantOfShape<value=int32[1] {65536}>(a) w = ConstantOfShape<value=int32[1] {32768}>(b) "
                    "p = MatMul(v, w) f = Cast<to=1>(p) z = Mul(x, f)"), 2, dims="2", out="2"),
        Sized("the sample at 0 for all", SAME,
              _body(N + "h = Slice(x, zero, one, zero) b = Concat<axis=0>(n, three) z = Expand(h, b)"), 2),
        Sized("flipped", SAME, _body("z = Slice(x, minus, c, zero, minus)", f"int64[1] c = {{{-(1 << 40)}}}"), 2),
        Sized("the largest k", "",
              _body(N + "k = Min(n, c) z, j = TopK<axis=0>(x, k)", "int64[1] c = {50}"), 2),
        Sized("padded up to 40", SAME,
              _body(N + "d = Sub(c, n) m = Min(d, zero) p = Concat<axis=0>(zero, zero, m, zero) z = Pad(x, p)",
                    "int64[1] c = {40}"), 41),
        Sized("a sum of N ones, clipped", "",
              _body(N + "w = ConstantOfShape<value=float[1] {1}>(n) t = ReduceSum(w, zero) u = Clip(t, c) "
                    "d = Div(u, u) z = Mul(x, d)", "float c = {40}"), 0),
        Sized("a soft maximum over N zeros", "",
              _body(N + "w = ConstantOfShape<value=float[1] {0}>(n) t = Softmax<axis=0>(w) u = ReduceMax(t, zero) "
                    "z = Mul(x, u)"), 2),
        Sized("a logarithm of the sum of N zeros", "",
              _body(N + "w = ConstantOfShape<value=int32[1] {0}>(n) t = ReduceLogSumExp(w, zero) f = Cast<to=1>(t) "
                    "z = Add(x, f)"), 3, opset=18),
        Sized("a loop of N steps", "<float[1] c = {0.5}> { z = Add(x, c) }",
              _body(N + "m = Squeeze(n, zero) t = Constant<value=bool {1}>() z = Loop<body = step "
                    "(int64 k, bool go, float[N, 3] a) => (bool on, float[N, 3] b) { on = Identity(go) "
                    "h = Constant<value=float[1] {0.5}>() b = Add(a, h) }>(m, t, x)"), 2),
    ]  # fmt: skip


def _right() -> list[Sized]:
    """Right at each N."""
    return [
        Sized("as it is", SAME, SAME),
        Sized("each row of its own", "<int64[1] k = {1}> { z = Gather<axis=1>(x, k) }",
              _body(RANGE + "u = Unsqueeze(r, one) j = ConstantOfShape<value=int64[1] {1}>(n) w = Unsqueeze(j, one) "
                    "k = Concat<axis=1>(u, w) g = GatherND(x, k) z = Unsqueeze(g, one)"), out="1"),
        Sized("picked by a range", SAME, _body(RANGE + "z = Gather(x, r)")),
        Sized("picked of what is flat", "<int64[1] k = {2}> { z = Gather<axis=1>(x, k) }",
              _body(RANGE + "f = Reshape(x, minus) m3 = Mul(r, three) k = Add(m3, two) g = Gather(f, k) "
                    "z = Unsqueeze(g, one)"), out="1"),
        Sized("picked of the second round", SAME,
              _body(RANGE + "t = Tile(x, reps) k = Add(r, n) z = Gather(t, k)", "int64[2] reps = {2, 1}")),
        Sized("a cut of the second round", SAME,
              _body(N + "t = Tile(x, reps) d = Mul(n, two) z = Slice(t, n, d, zero)", "int64[2] reps = {2, 1}")),
        Sized("picked by data, flat", "<int64[2] s = {1, 1}> { a = ArgMax<axis=1, keepdims=0>(x) z = Cast<to=1>(a) }",
              _body("a = ArgMax<axis=1, keepdims=0>(x) z = Cast<to=1>(a)"), out=""),
        Sized("expanded to N", "<float[1, 3] c = {1, 2, 3}> { z = Add(x, c) }",
              _body(N + "b = Concat<axis=0>(n, three) e = Expand(c, b) z = Add(x, e)", "float[1, 3] c = {1, 2, 3}")),
        Sized("a state of N rows", "<float[1, 3] c = {1, 1, 1}> { z = Concat<axis=1>(x, c) }",
              _body(N + "b = Concat<axis=0>(n, three) e = ConstantOfShape<value=float[1] {1}>(b) "
                    "z = Concat<axis=1>(x, e)"), out="6"),
        Sized("flat and back", "{ z = Relu(x) }", _body("f = Reshape(x, minus) g = Relu(f) z = Reshape(g, flat)")),
        Sized("reshaped by its size", "{ z = Relu(x) }",
              _body("f = Reshape(x, minus) g = Relu(f) c = Size(x) q = Div(c, three) b = Concat<axis=0>(q, three) "
                    "z = Reshape(g, b)").replace("c = Size(x)", "c0 = Size(x) c = Unsqueeze(c0, zero)")),
        Sized("reshaped by the product of a shape", "{ z = Relu(x) }",
              _body("f = Reshape(x, minus) g = Relu(f) s = Shape(x) z = Reshape(g, s)")),
        Sized("turned around and back", "{ z = Relu(x) }",
              _body("t = Transpose<perm=[1, 0]>(x) g = Relu(t) z = Transpose<perm=[1, 0]>(g)")),
        Sized("a matrix for each", "<float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { z = MatMul(x, w) }",
              "<float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { z = MatMul(x, w) }"),
        Sized("through 32 bits", "{ z = Relu(x) }",
              _body("s = Shape(x) i32 = Cast<to=6>(s) i64 = Cast<to=7>(i32) f = Reshape(x, minus) g = Relu(f) "
                    "z = Reshape(g, i64)")),
        Sized("chosen by N > 0", "{ z = Relu(x) }",
              _body(N + "g = Greater(n, zero) d = Relu(x) z = Where(g, d, x)")),
        Sized("split into thirds", "{ a, b, c = Split<axis=1, num_outputs=3>(x) z = Concat<axis=1>(c, b, a) }",
              "{ a, b, c = Split<axis=1, num_outputs=3>(x) z = Concat<axis=1>(c, b, a) }"),
        Sized("rows of a sum", "<int64[1] k = {1}> { z = ReduceSum(x, k) }",
              "<int64[1] k = {1}> { z = ReduceSum(x, k) }",
              out="1"),
    ]  # fmt: skip


WRONG = [case for case in _wrong() if case.bad]
HARMLESS = [case for case in _wrong() if not case.bad]
"""Right, though nothing but a proof could tell."""
RIGHT = _right()
