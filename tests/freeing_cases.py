"""Small models of which a size is freed, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping

HEADER = '<ir_version: 10, opset_import: ["" : 20, "local" : 1]>'
S = {"x": {1: "S"}}
HW = {"x": {2: "H", 3: "W"}}

GENERALISED: dict[str, tuple[str, Mapping[str, Mapping[int, str]], dict[str, str]]] = {
    "a number becomes a copy": (
        "g (float[1, 6, 8] x) => (float[1, 6, 2, 4] y) <int64[4] t = {1, 6, 2, 4}> { y = Reshape(x, t) }",
        S,
        {"t": "[1, 0, 2, 4]"},
    ),
    "the size is also that of the heads and of the width": (
        "g (float[1, 4, 16] x) => (float[1, 4, 4, 4] y) <int64[4] t = {1, 4, 4, 4}> { y = Reshape(x, t) }",
        S,
        {"t": "[1, 0, 4, 4]"},
    ),
    "a -1 that is right stays": (
        "g (float[1, 6, 2, 4] x) => (float[1, 6, 8] y) <int64[3] t = {1, -1, 8}> { y = Reshape(x, t) }",
        S,
        {},
    ),
    "a -1 that would swallow it does not": (
        "g (float[1, 6, 2, 4] x) => (float[1, 6, 8] y) <int64[3] t = {-1, 6, 8}> { y = Reshape(x, t) }",
        S,
        {"t": "[-1, 0, 8]"},
    ),
    "merged and taken apart in the same order": (
        "g (float[1, 2, 4, 4] x) => (float[1, 4, 4, 2] y) <int64[3] t = {1, 2, 16}, int64[4] u = {1, 4, 4, 2}> {"
        " a = Reshape(x, t) b = Transpose <perm = [0, 2, 1]> (a) y = Reshape(b, u) }",
        HW,
        {"t": "[1, 2, -1]", "u": "[1, H, W, 2]"},
    ),
    "taken apart after something was joined to it": (
        "g (float[1, 2, 4, 4] x) => (float[1, 4, 4, 2] y) <int64[3] t = {1, 2, 16}, int64[4] u = {1, 4, 4, 2},"
        " float[1, 1, 2] c = {7, 8}, int64[2] p = {1, 16}> { a = Reshape(x, t) b = Transpose <perm = [0, 2, 1]> (a)"
        " d = Concat <axis = 1> (c, b) e, f = Split <axis = 1> (d, p) y = Reshape(f, u) }",
        HW,
        {"t": "[1, 2, -1]", "p": "[1, H*W]", "u": "[1, H, W, 2]"},
    ),
    "a size that must be computed": (
        "g (float[1, 2, 4, 6] x) => (float[6, 4, 2] y) <int64[3] t = {6, 4, 2}> {"
        " a = Transpose <perm = [3, 2, 1, 0]> (x) y = Reshape(a, t) }",
        HW,
        {"t": "[0, 0, 2]"},
    ),
    "numbers that count": (
        "g (int64[1, 6] x) => (int64[1, 6] y) <int64[1, 6] p = {2, 3, 4, 5, 6, 7}> { y = Add(x, p) }",
        S,
        {"p": "[1, S]"},
    ),
    "the same all along": (
        "g (float[1, 4, 2] x) => (float[1, 4, 2] y) <float[1, 4, 2] p = {1, 2, 1, 2, 1, 2, 1, 2}> { y = Add(x, p) }",
        S,
        {"p": "[1, S, 2]"},
    ),
    "a triangle": (
        "g (float[1, 3] x) => (float[1, 3, 3] y) <bool[1, 3, 3] p = {1, 0, 0, 1, 1, 0, 1, 1, 1}, float low = {-9},"
        " int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) b = Unsqueeze(x, two) c = Mul(a, b) y = Where(p, c, low) }",
        S,
        {"p": "[1, S, S]"},
    ),
    "a triangle without its diagonal": (
        "g (float[1, 3] x) => (float[1, 3, 3] y) <float[3, 3] p = {5, 5, 5, 7, 5, 5, 7, 7, 5},"
        " int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) b = Unsqueeze(x, two) c = Sub(a, b) d = Sub(c, c) y = Add(d, p) }",
        S,
        {"p": "[S, S]"},
    ),
    "a triangle of which one side is asked for first": (
        "g (float[1, 3] x) => (float[1, 3, 3] y) <float[1, 3, 3] p = {0, -9, -9, 0, 0, -9, 0, 0, 0},"
        " int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) m = Add(a, p) b = Unsqueeze(x, two) y = Mul(m, b) }",
        S,
        {"p": "[1, S, S]"},
    ),
    "the same along two axes, asked for one after the other": (
        "g (float[1, 3] x) => (float[1, 3, 3] y) <float[1, 3, 3] p = {5, 5, 5, 5, 5, 5, 5, 5, 5},"
        " int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) m = Add(a, p) b = Unsqueeze(x, two) y = Mul(m, b) }",
        S,
        {"p": "[1, S, S]"},
    ),
    "distances": (
        "g (int64[1, 3] x) => (int64[1, 3, 3] y) <int64[3, 3] p = {0, 1, 2, -1, 0, 1, -2, -1, 0},"
        " int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) b = Unsqueeze(x, two) c = Mul(a, b) y = Add(c, p) }",
        S,
        {"p": "[S, S]"},
    ),
    "a shape to be filled": (
        "g (float[1, 6, 2] x) => (float[1, 6, 2] y) <int64[3] t = {1, 6, 2}> { a = ConstantOfShape(t) y = Add(x, a) }",
        S,
        {"t": "[1, S, 2]"},
    ),
    "a shape to be grown to, asked for by a later node": (
        "g (float[1, 6] x) => (float[1, 6, 6] y) <int64[3] t = {1, 6, 6}, int64[1] one = {1}, int64[1] two = {2}> {"
        " a = Unsqueeze(x, one) m = Expand(a, t) b = Unsqueeze(x, two) y = Mul(m, b) }",
        S,
        {"t": "[1, S, 1]"},
    ),
    "repeats": (
        "g (float[1, 6] x) => (float[1, 6] y) <float[1, 1] c = {3}, int64[2] r = {1, 6}> {"
        " a = Tile(c, r) y = Mul(x, a) }",
        S,
        {"r": "[1, S]"},
    ),
    "a range": (
        "g (int64[1, 6] x) => (int64[1, 6] y) <int64 zero = {0}, int64 six = {6}, int64 one = {1}> {"
        " a = Range(zero, six, one) y = Add(x, a) }",
        S,
        {"six": "S"},
    ),
    "all of an axis, and all but its first": (
        "g (float[1, 6] x) => (float[1, 5] y)"
        " <int64[1] s = {1}, int64[1] z = {0}, int64[1] e = {6}, int64[1] a = {1}> {"
        " w = Slice(x, z, e, a) y = Slice(w, s, e, a) }",
        S,
        {"e": "[9223372036854775807]"},
    ),
    "a part of a table that is long enough": (
        "g (float[1, 3] x) => (float[1, 3] y) <float[1, 9] p = {5, 1, 4, 2, 3, 9, 8, 7, 6},"
        " int64[1] s = {1}, int64[1] e = {4}, int64[1] a = {1}> { w = Slice(p, s, e, a) y = Add(x, w) }",
        S,
        {"e": "[S + 1]"},
    ),
    "sizes of a Resize": (
        "g (float[1, 1, 4, 6] x) => (float[1, 1, 8, 12] y) <int64[4] t = {1, 1, 8, 12}> { y = Resize(x, , , t) }",
        HW,
        {"t": "[1, 1, 2*H, 2*W]"},
    ),
    "parts that were joined": (
        "g (float[1, 6, 2] x) => (float[1, 6, 2] y) <float[1, 1, 2] c = {7, 8}, int64[2] p = {1, 6}> {"
        " a = Concat <axis = 1> (c, x) b, y = Split <axis = 1> (a, p) }",
        S,
        {"p": "[1, S]"},
    ),
    "states of a recurrence": (
        "g (float[3, 6, 2] x) => (float[3, 1, 6, 1] y)"
        " <float[1, 3, 2] w = {1, 2, 3, 4, 5, 6}, float[1, 3, 1] r = {1, 2, 3},"
        " float[1, 6, 1] h = {0, 0, 0, 0, 0, 0}> { y, z = GRU <hidden_size = 1> (x, w, r, , , h) }",
        S,
        {"h": "[1, S, 1]"},
    ),
    "a state that is made for one sequence": (
        "g (float[3, 1, 2] x) => (float[3, 1, 1, 1] y) <float[1, 1, 2] w = {1, 2}, float[1, 1, 1] r = {1},"
        " int64[3] t = {1, 1, 1}> { h = ConstantOfShape(t) y = RNN <hidden_size = 1> (x, w, r, , , h) }",
        S,
        {"t": "[1, S, 1]"},
    ),
    "sequences that are the same, for states that are free": (
        "g (float[1, 2, 1] x) => (float[2, 1, 2, 1] y) <float[1, 4, 1] w = {1, 2, 3, 4}, float[1, 4, 1] r ="
        " {1, 2, 3, 4}, float[2, 2, 1] d = {3, 3, 5, 5}, float[1, 2, 1] c = {0, 0}> {"
        " y = LSTM <hidden_size = 1> (d, w, r, , , x, c) }",
        S,
        {"d": "[2, S, 1]", "c": "[1, S, 1]"},
    ),
    "determinants of any number of matrices": (
        "g (float[1, 4, 2, 2] x) => (float[1, 4] y) { y = Det(x) }",
        S,
        {},
    ),
    "determinants of larger matrices": (
        "g (float[1, 2, 3] x) => (float[1] y) { t = Transpose <perm = [0, 2, 1]> (x) a = MatMul(t, x) y = Det(a) }",
        {"x": {2: "S"}},
        {},
    ),
    "lengths of sequences that are turned": (
        "g (float[3, 6, 2] x) => (float[3, 6, 2] y) <int64[6] l = {2, 2, 2, 2, 2, 2}> { y = ReverseSequence(x, l) }",
        S,
        {"l": "[S]"},
    ),
    "steps that are turned, as many as there were": (
        "g (float[2, 6] x) => (float[2, 6] y) <int64[2] l = {3, 2}> {"
        " y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }",
        S,
        {},
    ),
    "lengths that are computed from the steps": (
        "g (float[1, 6] x) => (float[1, 6] y) {"
        " l = Shape <start = 1> (x) y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }",
        S,
        {},
    ),
    "sequences that are the same, for lengths that are free": (
        "g (int64[1, 4] x) => (float[2, 4] y) <float[2, 4] d = {1, 1, 1, 1, 2, 2, 2, 2}, int64[1] m = {-1},"
        " int64 least = {0}, int64 most = {2}> {"
        " r = Reshape(x, m) l = Clip(r, least, most) y = ReverseSequence(d, l) }",
        S,
        {"d": "[2, S]"},
    ),
    "blocks of an image, side by side": (
        "g (float[1, 4, 6] x) => (float[1, 2, 12] y) <int64[1] i = {12}, int64[1] b = {2}> {"
        " y = Col2Im <strides = [2]> (x, i, b) }",
        {"x": {2: "S"}},
        {"i": "[2*S]"},
    ),
    "blocks of an image that lie over one another": (
        "g (float[1, 4, 3, 2] x) => (float[1, 1, 4, 3] y) <int64[3] t = {1, 4, 6}, int64[2] i = {4, 3},"
        " int64[2] b = {2, 2}> { a = Reshape(x, t) y = Col2Im(a, i, b) }",
        HW,
        {"t": "[1, 4, -1]", "i": "[H + 1, W + 1]"},
    ),
    "blocks in one row of an image": (
        "g (float[1, 4, 3] x) => (float[1, 1, 2, 4] y) <int64[2] i = {2, 4}, int64[2] b = {2, 2}> {"
        " y = Col2Im(x, i, b) }",
        {"x": {2: "S"}},
        {"i": "[2, S + 1]"},
    ),
    "blocks of any number of channels": (
        "g (float[1, 4, 3] x) => (float[1, 1, 6] y) <int64[1] i = {6}, int64[1] b = {2}> {"
        " c = Concat <axis = 1> (x, x) d = Col2Im <strides = [2]> (c, i, b) y = ReduceSum <noop_with_empty_axes = 0,"
        " keepdims = 1> (d) }",
        S,
        {},
    ),
    "blocks of an image whose size is computed": (
        "g (float[1, 1, 3, 4] x) => (float[1, 1, 4, 4] y) <int64[3] t = {1, 2, -1}, int64[2] b = {2, 1}> {"
        " i = Shape <start = 2> (x) o = Constant <value_ints = [1, 0]> () j = Add(i, o) p = Concat <axis = 1> (x, x)"
        " a = Reshape(p, t) y = Col2Im(a, j, b) }",
        HW,
        {},
    ),
    "a grid for each matrix": (
        "g (float[4, 2, 3] x) => (float[4, 5, 4, 2] y) <int64[4] s = {4, 3, 5, 4}> { y = AffineGrid(x, s) }",
        {"x": {0: "S"}},
        {"s": "[S, 3, 5, 4]"},
    ),
    "a grid of the size of an image": (
        "g (float[1, 1, 3, 4] x) => (float[1, 1, 3, 4] y) <float[1, 2, 3] t = {1, 0, 0, 0, 1, 0}> {"
        " s = Shape(x) a = AffineGrid(t, s) y = GridSample(x, a) }",
        HW,
        {},
    ),
    "the same matrix for each image": (
        "g (float[3, 1, 2, 2] x) => (float[3, 1, 2, 2] y)"
        " <float[3, 2, 3] t = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}> {"
        " s = Shape(x) a = AffineGrid(t, s) y = GridSample(x, a) }",
        {"x": {0: "S"}},
        {"t": "[S, 2, 3]"},
    ),
    "a grid that must be as large as something else": (
        "g (float[1, 3, 4, 2] x) => (float[1, 3, 4, 2] y) <float[1, 2, 3] t = {1, 0, 0, 0, 1, 0},"
        " int64[4] s = {1, 1, 3, 4}> { a = AffineGrid(t, s) y = Add(x, a) }",
        {"x": {1: "H", 2: "W"}},
        {"s": "[1, 1, H, W]"},
    ),
    "places that must be as many as something else": (
        "g (float[1, 1, 3, 4] x) => (float[1, 1, 3, 4] y) <float[1, 1, 2, 2] d = {1, 2, 3, 4},"
        " float[1, 2, 3] t = {1, 0, 0, 0, 1, 0}, int64[4] s = {1, 1, 3, 4}> {"
        " a = AffineGrid(t, s) b = GridSample(d, a) y = Add(x, b) }",
        HW,
        {"s": "[1, 1, H, W]"},
    ),
    "images and grids that must be as many as something else": (
        "g (float[3, 1, 2, 2] x) => (float[3, 1, 2, 2] y) <float[3, 1, 1, 1] d = {7, 7, 7},"
        " float[3, 2, 2, 2] g = {0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0}> {"
        " b = GridSample(d, g) y = Add(x, b) }",
        {"x": {0: "S"}},
        {"d": "[S, 1, 1, 1]", "g": "[S, 2, 2, 2]"},
    ),
    "fewer places than the image has": (
        "g (float[1, 1, 4, 4] x) => (float[1, 1, 1, 2] y) <float[1, 1, 2, 2] g = {0, 0, 1, 1}> {"
        " y = GridSample(x, g) }",
        HW,
        {},
    ),
    "grids that must be as many as something else": (
        "g (float[3, 2, 2, 2] x) => (float[3, 2, 2, 2] y)"
        " <float[3, 2, 3] t = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}, int64[4] s = {3, 1, 2, 2}> {"
        " a = AffineGrid(t, s) y = Mul(x, a) }",
        {"x": {0: "S"}},
        {"t": "[S, 2, 3]", "s": "[S, 1, 2, 2]"},
    ),
}
"""By what happens: the model, what is freed, and what each constant is afterwards."""

FORBIDDEN: dict[str, tuple[str, Mapping[str, Mapping[int, str]], str]] = {
    "a shape of which one entry is not known, and another is the old size": (
        "g (float[B, 4, 1] x, int64[1] k) => (float[a, b, c, d] y) <int64[1] four = {4}, int64[1] one = {1}> {"
        " t = Concat <axis = 0> (k, one, four, one) y = Expand(x, t) }",
        S,
        "(Expand): its shape is computed from what is not known, and would have to be rewritten",
    ),
    "bounds of which one is not known, and another is the old size": (
        "g (float[B, 4] x, int64[1] k) => (float[a, b] y) <int64[1] four = {4}, int64[2] none = {0, 0}> {"
        " t = Concat <axis = 0> (k, four) y = Slice(x, none, t) }",
        S,
        "(Slice): its ends are computed from what is not known, and would have to be rewritten",
    ),
    "bounds of which one is not known, and another may be one less than the size": (
        "g (float[B, 6] x, int64[1] k) => (float[a, b] y) <int64[1] five = {5}, int64[2] none = {0, 0}> {"
        " t = Concat <axis = 0> (k, five) y = Slice(x, none, t) }",
        S,
        "(Slice): its ends are computed from what is not known, and would have to be rewritten",
    ),
    "a matrix": (
        "g (float[1, 4] x) => (float[1, 2] y) <float[4, 2] w = {1, 1, 1, 1, 1, 1, 1, 1}> { y = MatMul(x, w) }",
        S,
        "(MatMul): it sums over S, and w has a fixed size of 4 there",
    ),
    "a matrix after all was flattened": (
        "g (float[1, 1, 2, 2] x) => (float[1, 2] y) <float[4, 2] w = {1, 1, 1, 1, 1, 1, 1, 1}> {"
        " a = Flatten(x) y = Gemm(a, w) }",
        HW,
        "(Gemm): it sums over H*W, and w has a fixed size of 4 there",
    ),
    "a mean over a window that is all there is": (
        "g (float[1, 1, 4, 4] x) => (float[1, 1, 1, 1] y) { y = AveragePool <kernel_shape = [4, 4]> (x) }",
        HW,
        "(AveragePool): its window of 4 covers all of H, which was 4: whether it is to cover all of another size too is"
        " not known",
    ),
    "a mean that is a sum and a division": (
        "g (float[1, 4, 2] x) => (float[1, 1, 2] y) <int64[1] one = {1}, float four = {4}> {"
        " a = ReduceSum(x, one) y = Div(a, four) }",
        S,
        "(ReduceSum): it sums over S, and y then takes 4.0 for it",
    ),
    "a sum of products that is divided by the old size": (
        "g (float[1, 4, 3] x) => (float[1, 3] y) <float d = {4}> {"
        ' r = Einsum <equation = "bsc->bc"> (x) y = Div(r, d) }',
        S,
        "(Einsum): it sums over S, and y then takes 4.0 for it",
    ),
    "a product of matrices that is divided by the old size": (
        "g (float[1, 4, 3] x) => (float[1, 3, 3] y) <float d = {4}> {"
        " t = Transpose <perm = [0, 2, 1]> (x) r = MatMul(t, x) y = Div(r, d) }",
        S,
        "(MatMul): it sums over S, and y then takes 4.0 for it",
    ),
    "a variance by one less than the old size": (
        "g (float[1, 4, 3] x) => (float[1, 1, 3] y) <int64[1] a = {1}, float d = {3}> {"
        " r = ReduceSumSquare(x, a) y = Div(r, d) }",
        S,
        "(ReduceSumSquare): it sums over S, and y then takes 3.0 for it",
    ),
    "a third in single precision": (
        "g (float[1, 3, 2] x) => (float[1, 1, 2] y) <int64[1] a = {1}, float d = {0.333333343}> {"
        " r = ReduceSum(x, a) y = Mul(r, d) }",
        S,
        "(ReduceSum): it sums over S, and y then takes 0.3333333432674408 for it",
    ),
    "a class for each": (
        "g (float[1, 4, 3] x) => (float[1, 3, 4] y) <int64 d = {4}, float[2] v = {0, 1}> {"
        " i = ArgMax <axis = 1, keepdims = 0> (x) y = OneHot(i, d, v) }",
        S,
        "(ArgMax): it looks along S, and y has a fixed number of classes for it",
    ),
    "sequences that are as long as they were": (
        "g (float[1, 4, 2] x) => (float[4, 1, 1, 1] y) <float[1, 1, 2] w = {1, 1}, float[1, 1, 1] r = {1},"
        " int32[1] l = {4}> { t = Transpose <perm = [1, 0, 2]> (x) y = RNN <hidden_size = 1> (t, w, r, , l) }",
        S,
        "(RNN): its sequences have 4 steps each, which is fixed, of S",
    ),
    "a state for the one sequence that there was": (
        "g (float[3, 1, 2] x) => (float[3, 1, 1, 1] y) <float[1, 3, 2] w = {1, 2, 3, 4, 5, 6},"
        " float[1, 3, 1] r = {1, 2, 3}, float[1, 1, 1] h = {0}> { y = GRU <hidden_size = 1> (x, w, r, , , h) }",
        S,
        "(GRU): the table h has 1 entries along axis 1, one for each of S",
    ),
    "places in the one sample that there was": (
        "g (float[3, 1, 2] x) => (float[1, 2] y) <int64[1, 1] i = {1}> {"
        " a = Transpose <perm = [1, 0, 2]> (x) y = GatherND <batch_dims = 1> (a, i) }",
        S,
        "(GatherND): the table i has 1 entries along axis 0, one for each of S",
    ),
    "places for the one entry that there was": (
        "g (float[2, 1] x) => (float[2, 4] y) <float[2, 4] d = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2, 1] i = {0, 1}> {"
        " y = ScatterElements(d, i, x) }",
        S,
        "(ScatterElements): the table i has 1 entries along axis 1, one for each of S",
    ),
    "a slice for the one place that there was": (
        "g (float[4, 1] x) => (float[4, 1] y) <int64[1, 1] i = {1}, float[1, 1] u = {5}> { y = ScatterND(x, i, u) }",
        S,
        "(ScatterND): the table u has 1 entries along axis 1, one for each of S",
    ),
    "a bias that is no longer one row": (
        "g (float[2, 1] x) => (float[1, 2] y) <float[1, 3] a = {1, 2, 3}, float[3, 2] b = {1, 2, 3, 4, 5, 6}> {"
        " c = Transpose(x) y = Gemm(a, b, c) }",
        S,
        "(Gemm): the table a has 1 entries along axis 0, one for each of S",
    ),
    "a grid for the one image that there was": (
        "g (float[1, 1, 4, 4] x) => (float[1, 1, 1, 2] y) <float[1, 1, 2, 2] g = {0, 0, 1, 1}> {"
        " y = GridSample(x, g) }",
        {"x": {0: "S"}},
        "(GridSample): the table g has 1 entries along axis 0, one for each of S",
    ),
    "as many places as the image had": (
        "g (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y) <float[1, 2, 2, 2] g = {0, 0, 1, 1, 0, 1, 1, 0}> {"
        " y = GridSample(x, g) }",
        HW,
        "(GridSample): it looks at 2 places along H, which was 2",
    ),
    "a matrix that is square only once": (
        "g (float[1, 2, 2] x) => (float[1] y) { y = Det(x) }",
        S,
        "(Det): its matrices have S rows and 2 columns, which are equal at the original size only",
    ),
    "sequences that are turned as long as they were": (
        "g (float[1, 4] x) => (float[1, 4] y) <int64[1] l = {4}> {"
        " y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }",
        S,
        "(ReverseSequence): its sequences have 4 steps each, which is fixed, of S",
    ),
    "a length for the one sequence that there was": (
        "g (float[3, 1] x) => (float[3, 1] y) <int64[1] l = {2}> { y = ReverseSequence(x, l) }",
        S,
        "(ReverseSequence): the table l has 1 entries along axis 0, one for each of S",
    ),
    "sequences and lengths that are as many only once": (
        "g (float[3, 4] x, int64[2] z) => (float[3, 4] y) { l = Concat <axis = 0> (z, z) y = ReverseSequence(x, l) }",
        {"x": {1: "S"}, "z": {0: "T"}},
        "(ReverseSequence): it has S sequences and 2*T lengths, which are equal at the original size only",
    ),
    "blocks that leave a part of the image empty": (
        "g (float[1, 2, 3] x) => (float[1, 1, 7] y) <int64[1] i = {7}, int64[1] b = {2}> {"
        " y = Col2Im <strides = [2]> (x, i, b) }",
        {"x": {2: "S"}},
        "(Col2Im): its image_shape fixes 3 blocks, of which there are S",
    ),
    "blocks of rows and columns that are one number": (
        "g (float[1, 4, 6] x) => (float[1, 1, 4, 3] y) <int64[2] i = {4, 3}, int64[2] b = {2, 2}> {"
        " y = Col2Im(x, i, b) }",
        {"x": {2: "S"}},
        "(Col2Im): its image_shape fixes 3 x 2 blocks, of which there are S",
    ),
    "one block, which may become a row of them or a column": (
        "g (float[1, 4, 1] x) => (float[1, 1, 2, 2] y) <int64[2] i = {2, 2}, int64[2] b = {2, 2}> {"
        " y = Col2Im(x, i, b) }",
        {"x": {2: "S"}},
        "(Col2Im): its image_shape fixes 1 x 1 blocks, of which there are S",
    ),
    "as many blocks as there were of a larger image": (
        "g (float[1, 2, 3] x, float[4] z) => (float[1, 1, 4] y) <int64[1] b = {2}> {"
        " i = Shape(z) y = Col2Im(x, i, b) }",
        {"z": {0: "S"}},
        "(Col2Im): an image of [S] has S - 1 blocks, and it is given 3",
    ),
    "channels that may not divide by a block": (
        "g (float[1, 4, 3] x) => (float[1, 2, 4] y) <int64[1] i = {4}, int64[1] b = {2}> { y = Col2Im(x, i, b) }",
        S,
        "(Col2Im): S channels do not divide by the 2 places of a block",
    ),
    "a matrix that is no matrix at another size": (
        "g (float[1, 2, 3] x) => (float[1, 2, 2, 2] y) <int64[4] s = {1, 1, 2, 2}> { y = AffineGrid(x, s) }",
        {"x": {2: "S"}},
        "(AffineGrid): its matrices have a fixed size, and axis 2 is S",
    ),
    "a matrix of its own for each of the images that there were": (
        "g (float[2, 1, 2, 2] x) => (float[2, 1, 2, 2] y) <float[2, 2, 3] t = {1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 3, 0}> {"
        " s = Shape(x) a = AffineGrid(t, s) y = GridSample(x, a) }",
        {"x": {0: "S"}},
        "(AffineGrid): the table t has 2 entries along axis 0, one for each of S",
    ),
    "a grid whose size is not known": (
        "g (float[1, 2, 3] x, int64[4] s) => (float[a, b, c, d] y) { y = AffineGrid(x, s) }",
        {"x": {0: "S"}},
        "(AffineGrid): its size is computed at run time from what is not known",
    ),
    "three numbers for a place that has two": (
        "g (float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y) <float[1, 2, 3] t = {1, 0, 0, 0, 1, 0},"
        " int64[4] s = {1, 1, 2, 2}> { a = AffineGrid(t, s) y = Add(x, a) }",
        {"x": {3: "S"}},
        "(Add): AffineGrid of a has a place of 2 numbers at axis 3",
    ),
    "windows, or a number of them": (
        "g (float[1, 6] x) => (float[1, 3, 2] y) <int64[3] t = {1, 3, 2}> { y = Reshape(x, t) }",
        S,
        "(Reshape): it can be read as [1, floor(S/2), 2], by [1, -1, 2] or as [1, 3, floor(S/3)], by [1, 3, -1], and"
        " nothing tells which is right",
    ),
    "the last but one, or the fifth": (
        "g (float[1, 6] x) => (float[1, 5] y) <int64[1] z = {0}, int64[1] e = {5}, int64[1] a = {1}> {"
        " y = Slice(x, z, e, a) }",
        S,
        "(Slice): it can be read as [1, 5] or as [1, S - 1], by [-1], and nothing tells which is right",
    ),
    "one entry near the end": (
        "g (float[1, 6] x) => (float[1, 1] y) <int64[1] s = {4}, int64[1] e = {5}, int64[1] a = {1}> {"
        " y = Slice(x, s, e, a) }",
        S,
        "(Slice): it can be read as [1, 1] or as [1, S - 5], by [-1], and nothing tells which is right",
    ),
    "one entry near the end, alone": (
        "g (float[1, 6] x) => (float[1] y) <int64[1] s = {4}, int64[1] e = {5}, int64[1] a = {1}> {"
        " w = Slice(x, s, e, a) y = Squeeze(w, a) }",
        S,
        "(Slice): it can be read as [1, 1] or as [1, 1], by [-2] and [-1], and nothing tells which is right",
    ),
    "an index near the end": (
        "g (float[1, 6] x) => (float[1] y) <int64 i = {5}> { y = Gather <axis = 1> (x, i) }",
        S,
        "(Gather): it takes entry 5 of 6 along S: from the front or from the end is not known",
    ),
    "a number that may be the size": (
        "g (float[1, 6] x) => (float[6, 6] y) <int64[2] t = {6, 1}> { y = Expand(x, t) }",
        S,
        "(Expand): it makes 6 entries at axis 0, and whether that is S or always 6 is not known",
    ),
    "a size that is no multiple": (
        "g (float[1, 1, 4, 4] x) => (float[1, 1, 6, 4] y) <int64[4] t = {1, 1, 6, 4}> { y = Resize(x, , , t) }",
        HW,
        "(Resize): its size 6 is no whole multiple or part of H, which was 4",
    ),
    "a table that is full": (
        "g (int64[1, 3] x) => (float[1, 3, 2] y) <int64[1, 3] p = {0, 1, 2}, float[3, 2] w = {1, 2, 3, 4, 5, 6},"
        " float[9, 2] v = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}> {"
        " a = Gather(w, p) b = Gather(v, x) y = Add(a, b) }",
        S,
        "(Add): the table w has 3 rows, one for each of S",
    ),
    "numbers that count backwards": (
        "g (int64[1, 4] x) => (int64[1, 4] y) <int64[1, 4] p = {3, 2, 1, 0}> { y = Add(x, p) }",
        S,
        "(Add): the table p has 4 entries along axis 1, one for each of S",
    ),
    "sizes that are equal only once": (
        "g (float[1, 6, 2] x, float[1, 2, 12] z) => (float[1, 6, 12] y) {"
        " a = MatMul(x, z) b = Concat <axis = 1> (x, x) c = Transpose <perm = [0, 2, 1]> (b) d = MatMul(x, c)"
        " y = Add(a, d) }",
        {"x": {1: "S"}, "z": {2: "T"}},
        "(Add): 2*S meets T, which are equal at the original size only",
    ),
    "a size of 1 that other sizes are broadcast to": (
        "g (float[1, 1] x) => (float[1, 5] y) <float[1, 5] p = {3, 3, 3, 3, 3}> { y = Add(x, p) }",
        S,
        "(Add): S meets 5: p has size 5 at axis 1",
    ),
    "a channel for each": (
        "g (float[1, 4, 2] x) => (float[1, 1, 2] y) <float[1, 4, 1] w = {1, 1, 1, 1}> { y = Conv(x, w) }",
        S,
        "(Conv): it sums over S, and w has a fixed size of 4 there",
    ),
    "a scale for each": (
        "g (float[1, 3] x) => (float[1, 3] y) <float[3] w = {1, 1, 1}> { y = LayerNormalization(x, w) }",
        S,
        "(LayerNormalization): w has one entry for each of S",
    ),
    "steps one after the other": (
        "g (float[1, 3] x) => (float[1, 3] y) <int64[1] a = {0}, int64[1] b = {1}, int64[1] c = {2}, int64[1] d = {3},"
        " float[1, 1] w = {5}> { p = Slice(w, a, b) q = Relu(p) r = Neg(p) t = Concat <axis = 1> (p, q, r)"
        " y = Mul(x, t) }",
        S,
        "(Mul): which of the parts that Concat of t joins along axis 1 is to grow is not known, where S is needed",
    ),
    "a size that is not known": (
        "g (float[1, 6] x) => (float[a, b, c] y) <int64[3] t = {-1, 2, 3}> {"
        " n = NonZero(x) f = Cast <to = 1> (n) y = Reshape(f, t) }",
        S,
        "(Reshape): a size of f is not known, so shape[1] = 2 cannot be decided",
    ),
    "a graph inside": (
        "g (float[1, 6] x, bool c) => (float[1, 6] y) {"
        " y = If(c) <then_branch = t () => (float[1, 6] a) { a = Relu(x) },"
        " else_branch = e () => (float[1, 6] b) { b = Neg(x) }> }",
        S,
        "(If): a free size reaches the graphs inside it, which are not followed",
    ),
    "an operator of somebody else": (
        "g (float[1, 6] x) => (float[1, 6] y) { y = local.Strange(x) }",
        S,
        "(Strange): it has no rule for free sizes, and its input x has one",
    ),
    "a size that is removed": (
        "g (float[1, 1, 1, 1] x) => (float[1, 1, 1] y) <int64[1] a = {3}> { y = Squeeze(x, a) }",
        HW,
        "(Squeeze): it removes axis 3, which is W",
    ),
}
"""By what forbids it: the model, what is freed, and the end of the message."""
