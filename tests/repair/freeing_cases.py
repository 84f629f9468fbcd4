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
