"""Small models of which a size cannot be freed, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tests.repair.freeing_cases import HW, S

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
    "other entries for all that there were": (
        "g (float[1, 3] x) => (float[1, 3] y) <int64[1, 3] i = {0, 0, 0}, float[1, 3] u = {7, 9, 8}> {"
        " y = ScatterElements(x, i, u) }",
        S,
        "(ScatterElements): the table u has 3 entries along axis 1, one for each of S",
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
