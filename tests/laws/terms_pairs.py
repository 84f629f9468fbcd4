"""Pairs of models that give different answers, and that algebra on words might take for the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LEAST = -(1 << 63)
"""The least INT64."""


class Pair(NamedTuple):
    """Two bodies with the same inputs, and what to feed so that their answers differ."""

    name: str
    signature: str
    one: str
    two: str
    feeds: dict[str, Any]
    opset: int = 21


def _int64(*values: int) -> Any:
    return np.array(values, np.int64)


def _wraps() -> list[Pair]:
    """Linear words of integers: what wraps in one type and not in another, and multiples of powers of two."""
    x, y = {"x": _int64(5)}, {"x": _int64(5), "y": _int64(5)}
    narrow = "(int32[1] x) => (float[1] z)"
    far = "<int32[1] c = {2147483647}, int64[1] w = {2147483647}>"
    return [
        Pair(
            "a sum that wraps in 32 bits and not in 64",
            narrow,
            f"{far} {{ a = Add(x, c) z = Cast<to=1>(a) }}",
            f"{far} {{ b = Cast<to=7>(x) a = Add(b, w) z = Cast<to=1>(a) }}",
            {"x": np.array([5], np.int32)},
        ),
        Pair(
            "the sign of a sum that wraps in 32 bits and not in 64",
            "(int32[1] x) => (bool[1] z)",
            f"{far} {{ a = Add(x, c) d = Sub(c, c) z = Less(a, d) }}",
            f"{far} {{ b = Cast<to=7>(x) a = Add(b, w) d = Sub(w, w) z = Less(a, d) }}",
            {"x": np.array([5], np.int32)},
        ),
        Pair(
            "2^63 changes sides",
            "(int64[1] x, int64[1] y) => (bool[1] z)",
            f"<int64[1] c = {{{LEAST}}}> {{ a = Add(x, c) z = Less(a, y) }}",
            f"<int64[1] c = {{{LEAST}}}> {{ a = Add(y, c) z = Less(x, a) }}",
            y,
        ),
        Pair(
            "2^63 changes its place in a table",
            "(int64[1] x) => (int64[1] z)",
            f"<int64[2] c = {{{LEAST}, 0}}> {{ z = Gather(c, x) }}",
            f"<int64[2] c = {{0, {LEAST}}}> {{ z = Gather(c, x) }}",
            {"x": _int64(0)},
        ),
        *(
            Pair(
                f"2^63 times element {other} for that of element 0",
                "(int64[8] x) => (int64[1] z)",
                f"<int64[1] c = {{{LEAST}}}, int64[1] i = {{0}}> {{ a = Mul(x, c) z = Gather(a, i) }}",
                f"<int64[1] c = {{{LEAST}}}, int64[1] i = {{{other}}}> {{ a = Mul(x, c) z = Gather(a, i) }}",
                {"x": _int64(1, *[0] * 7)},
            )
            for other in range(1, 8)
        ),
        *(
            Pair(
                f"2^62 times flag {other} for that of flag 0",
                "(bool[16] x) => (int64[1] z)",
                f"<int64[1] c = {{{1 << 62}}}, int64[1] i = {{0}}> "
                "{ f = Cast<to=7>(x) a = Mul(f, c) z = Gather(a, i) }",
                f"<int64[1] c = {{{1 << 62}}}, int64[1] i = {{{other}}}> "
                "{ f = Cast<to=7>(x) a = Mul(f, c) z = Gather(a, i) }",
                {"x": np.array([True] + [False] * 15)},
            )
            for other in range(1, 16)
        ),
        *(
            Pair(
                f"doubled 63 times, {other} for 0",
                "(int64[8] x) => (int64[1] z)",
                f"<int64[1] i = {{0}}> {{ {_doubled(63)} z = Gather(d63, i) }}",
                f"<int64[1] i = {{{other}}}> {{ {_doubled(63)} z = Gather(d63, i) }}",
                {"x": _int64(1, *[0] * 7)},
            )
            for other in range(1, 8)
        ),
        *(
            Pair(
                f"summed 65536 times, four times over, {other} for 0",
                "(int64[4] x) => (int64[4] z)",
                f"<int64[4] i = {{0, 1, 2, 3}}, int64[2] s = {{65536, 4}}, int64[1] k = {{0}}> {{ {_summed()} }}",
                f"<int64[4] i = {{{other}, 1, 2, 3}}, int64[2] s = {{65536, 4}}, int64[1] k = {{0}}> {{ {_summed()} }}",
                {"x": _int64(1 << 0, 0, 0, 0)},
            )
            for other in range(1, 4)
        ),
        Pair("x for x + x / 2 * 2", "(int64[1] x) => (int64[1] z)",
             "<int64[1] c = {2}> { a = Div(x, c) z = Mul(a, c) }", "<int64[1] c = {2}> { z = Identity(x) }", x),
        Pair(
            "unsigned and signed of the same bits, picked",
            "(int64[1] x) => (float[1] z)",
            "<int64[2] c = {-1, 0}> { a = Gather(c, x) z = Cast<to=1>(a) }",
            "<uint64[2] c = {18446744073709551615, 0}> { a = Gather(c, x) z = Cast<to=1>(a) }",
            {"x": _int64(0)},
        ),
        Pair(
            "unsigned and signed of the same bits, beside others",
            "(bool[1] x) => (float[2] z)",
            "<int64[1] c = {-1}> { b = Cast<to=7>(x) a = Concat<axis=0>(b, c) z = Cast<to=1>(a) }",
            "<uint64[1] c = {18446744073709551615}> { b = Cast<to=13>(x) a = Concat<axis=0>(b, c) z = Cast<to=1>(a) }",
            {"x": np.array([True])},
        ),
    ]  # fmt: skip


def _doubled(times: int) -> str:
    return "d0 = Identity(x) " + " ".join(f"d{each + 1} = Add(d{each}, d{each})" for each in range(times))


def _summed() -> str:
    """65536 times each element, four times over, and moved back to where it is seen: 2^64 times it is 0."""
    steps = [f"e{each} = Expand(p{each}, s) p{each + 1} = ReduceSum<keepdims=0>(e{each}, k)" for each in range(3)]
    return " ".join(["p0 = Gather(x, i)", *steps, "w = Constant<value_ints=[32768]>() z = Mul(p3, w)"])


def _bounds() -> list[Pair]:
    """Bounds that are wrong make a Mod nothing."""
    low, high = (f"<int64 c = {{{end}}}, int64[1] m = {{8}}, int64[1] o = {{0}}>" for end in (0, 5))
    signature, feeds = "(int64[1] x) => (int64[1] z)", {"x": _int64(-100)}
    return [
        Pair("the modulus of a negated clip", signature,
             f"{low} {{ a = Clip(x, , c) b = Neg(a) z = Mod(b, m) }}",
             f"{low} {{ a = Clip(x, , c) z = Neg(a) }}", feeds),
        Pair("the modulus of a clip taken from 0", signature,
             f"{low} {{ a = Clip(x, , c) b = Sub(o, a) z = Mod(b, m) }}",
             f"{low} {{ a = Clip(x, , c) z = Sub(o, a) }}", feeds),
        Pair("the modulus of the amount of a clip", signature,
             f"{high} {{ a = Clip(x, , c) b = Abs(a) z = Mod(b, m) }}",
             f"{high} {{ a = Clip(x, , c) z = Abs(a) }}", feeds),
        Pair("the modulus of a part of a clip", signature,
             f"{high} {{ a = Clip(x, , c) b = Div(a, m) z = Mod(b, m) }}",
             f"{high} {{ a = Clip(x, , c) z = Div(a, m) }}", {"x": _int64(-100000)}),
        Pair("the modulus of an unsigned clip", "(uint64[1] x) => (uint64[1] z)",
             "<uint64 c = {5}, uint64[1] m = {8}> { a = Clip(x, c) z = Mod(a, m) }",
             "<uint64 c = {5}, uint64[1] m = {8}> { z = Clip(x, c) }", {"x": np.array([1 << 40], np.uint64)}),
        Pair("the modulus of unsigned choices", "(bool[1] x) => (uint64[1] z)",
             "<uint64[2] c = {18446744073709551615, 3}, uint64[1] m = {8}> "
             "{ i = Cast<to=7>(x) a = Gather(c, i) z = Mod(a, m) }",
             "<uint64[2] c = {18446744073709551615, 3}> { i = Cast<to=7>(x) z = Gather(c, i) }",
             {"x": np.array([False])}),
        Pair("the modulus of the least number by an unsigned one", "(uint64[1] x) => (uint64[1] z)",
             "<uint64[1] m = {18446744073709551615}, uint64[1] k = {9}> { a = Mod(x, m) z = Mod(a, k) }",
             "<uint64[1] m = {18446744073709551615}, uint64[1] k = {9}> { z = Mod(x, m) }",
             {"x": np.array([100], np.uint64)}),
        Pair("a quotient of the least number", "(int64[1] x) => (int64[1] z)",
             f"<int64[1] a = {{{LEAST}}}, int64[1] b = {{2}}> {{ q = Div(a, b) z = Add(x, q) }}",
             f"<int64[1] q = {{{1 << 62}}}> {{ z = Add(x, q) }}", {"x": _int64(0)}),
    ]  # fmt: skip


def _orders() -> list[Pair]:
    """Sums of many, zeros of both signs, contents that are longer by a 0."""
    three = "(float[1] a, float[1] b, float[1] c) => (float[1] z)"
    far = {"a": np.array([1e30], np.float32), "b": np.array([-1e30], np.float32), "c": np.array([1], np.float32)}
    zeros = {"x": np.array([0.0], np.float32), "y": np.array([-0.0], np.float32)}
    two = "(float[1] x, float[1] y) => (float[1] z)"
    vector = "(int32[3] x) => (int32 z)"
    return [
        Pair("Sum in another order", three, "{ z = Sum(a, b, c) }", "{ z = Sum(c, a, b) }", far),
        Pair("Mean in another order", three, "{ z = Mean(a, b, c) }", "{ z = Mean(c, a, b) }", far),
        Pair("nested Adds", three, "{ d = Add(a, b) z = Add(d, c) }", "{ d = Add(a, c) z = Add(d, b) }", far),
        Pair("Max of zeros", two, "{ m = Max(x, y) z = Reciprocal(m) }", "{ m = Max(y, x) z = Reciprocal(m) }", zeros),
        Pair("Min of zeros", two, "{ m = Min(x, y) z = Reciprocal(m) }", "{ m = Min(y, x) z = Reciprocal(m) }", zeros),
        Pair("a slope of zero with a sign", "(float[1] x) => (float[1] z)",
             "{ l = LeakyRelu<alpha=0.0>(x) z = Reciprocal(l) }", "{ l = LeakyRelu<alpha=-0.0>(x) z = Reciprocal(l) }",
             {"x": np.array([-1], np.float32)}),
        Pair("a zero with a sign", "(float[1] x) => (float[1] z)",
             "<float[1] c = {0.0}> { z = Div(x, c) }",
             "<float[1] c = {0.0}> { n = Neg(c) z = Div(x, n) }", {"x": np.array([-1], np.float32)}),
        *(
            Pair(f"{op} of one 0 more", vector,
                 f"<int64[1] k = {{0}}> {{ z = {op}<keepdims=0>(x, k) }}",
                 f"<int64[1] k = {{0}}, int32[1] o = {{0}}> "
                 f"{{ y = Concat<axis=0>(x, o) z = {op}<keepdims=0>(y, k) }}",
                 {"x": np.array([-3, -5, -7], np.int32)})
            for op in ("ReduceMax", "ReduceProd", "ReduceMean")
        ),
        Pair("ArgMax of one 0 more", "(int32[3] x) => (int64 z)", "{ z = ArgMax<keepdims=0>(x) }",
             "<int32[1] o = {0}> { y = Concat<axis=0>(x, o) z = ArgMax<keepdims=0>(y) }",
             {"x": np.array([-3, -5, -7], np.int32)}),
        Pair("the largest of one 0 more", "(int64[3] x) => (int64[1] z)",
             "<int64[1] k = {1}> { z, i = TopK(x, k) }",
             "<int64[1] k = {1}, int64[1] o = {0}> { y = Concat<axis=0>(x, o) z, i = TopK(y, k) }",
             {"x": _int64(-3, -5, -7)}),
        Pair("rows for columns", "(float[3, 3] x) => (float[3, 3] z)",
             "<float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { z = MatMul(x, w) }",
             "<float[3, 3] w = {1, 4, 7, 2, 5, 8, 3, 6, 9}> { z = MatMul(x, w) }",
             {"x": np.arange(9, dtype=np.float32).reshape(3, 3)}),
        Pair("a norm of the other axis of a symmetric sum", "(float[3, 3] x) => (float[1, 1] z)",
             "<int64[1] r = {0}, int64[1] c = {1}> { a = ReduceMax(x, r) z = ReduceSum(a, c) }",
             "<int64[1] r = {0}, int64[1] c = {1}> { a = ReduceMax(x, c) z = ReduceSum(a, r) }",
             {"x": np.arange(9, dtype=np.float32).reshape(3, 3)}),
        Pair("channels for places of the kernel", "(float[1, 3, 5] x) => (float[1, 1, 3] z)",
             "<float[1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { z = Conv(x, w) }",
             "<float[1, 3, 3] w = {1, 4, 7, 2, 5, 8, 3, 6, 9}> { z = Conv(x, w) }",
             {"x": np.arange(15, dtype=np.float32).reshape(1, 3, 5) ** 2}),
        Pair("rows for columns of the kernel", "(float[1, 1, 3, 3] x) => (float[1, 1, 1, 1] z)",
             "<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { z = Conv(x, w) }",
             "<float[1, 1, 3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> "
             "{ t = Transpose<perm=[0, 1, 3, 2]>(x) z = Conv(t, w) }",
             {"x": np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)}),
        Pair("a pool of 2 by 3 for one of 3 by 2", "(float[1, 1, 4, 4] x) => (float[?, ?, ?, ?] z)",
             "{ z = AveragePool<kernel_shape=[2, 3], strides=[2, 2], pads=[0, 0, 0, 1]>(x) }",
             "{ z = AveragePool<kernel_shape=[3, 2], strides=[2, 2], pads=[0, 0, 1, 0]>(x) }",
             {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}),
        Pair("a transposed input of the same size", "(float[2, 3] x) => (float[2, 3] z)",
             "{ z = Relu(x) }",
             "<int64[2] s = {2, 3}> { t = Transpose(x) r = Reshape(t, s) z = Relu(r) }",
             {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}),
    ]  # fmt: skip


def _types() -> list[Pair]:
    """Constants and functions that only their types tell apart."""
    x = {"x": np.array([0.3], np.float32)}
    one = "(float[1] x) => (float[1] z)"
    return [
        Pair("a constant of another precision", one,
             "<float[1] c = {0.1}> { z = Add(x, c) }",
             "<float[1] c = {0.1}> { h = Cast<to=10>(c) d = Cast<to=1>(h) z = Add(x, d) }", x),
        Pair("through half precision", one, "{ h = Cast<to=10>(x) z = Cast<to=1>(h) }", "{ z = Identity(x) }", x),
        Pair("through bfloat16", one, "{ h = Cast<to=10>(x) z = Cast<to=1>(h) }",
             "{ h = Cast<to=16>(x) z = Cast<to=1>(h) }", x),
        Pair("through 8 bits with and without a sign", "(int32[1] x) => (int32[1] z)",
             "{ h = Cast<to=3>(x) z = Cast<to=6>(h) }", "{ h = Cast<to=2>(x) z = Cast<to=6>(h) }",
             {"x": np.array([200], np.int32)}),
        Pair("through 8 bits and not", "(int32[1] x) => (int32[1] z)",
             "{ h = Cast<to=3>(x) z = Cast<to=6>(h) }", "{ z = Identity(x) }", {"x": np.array([200], np.int32)}),
        Pair("a truth and a number", "(uint8[1] x) => (float[1] z)",
             "{ b = Cast<to=9>(x) z = Cast<to=1>(b) }", "{ z = Cast<to=1>(x) }", {"x": np.array([7], np.uint8)}),
        Pair("a text and another", "(bool[1] x) => (bool[1] z)",
             '<string[1] a = {"a"}, string[1] b = {"b"}> { w = Where(x, a, b) z = Equal(w, a) }',
             '<string[1] a = {"a"}, string[1] b = {"b"}> { w = Where(x, b, a) z = Equal(w, a) }',
             {"x": np.array([True])}),
        Pair("a remainder and C's", "(int64[1] x) => (int64[1] z)",
             "<int64[1] m = {3}> { z = Mod(x, m) }", "<int64[1] m = {3}> { z = Mod<fmod=1>(x, m) }",
             {"x": _int64(-1)}),
        Pair("Gelu and its approximation", one, "{ z = Gelu(x) }", '{ z = Gelu<approximate="tanh">(x) }', x),
        Pair("a clip that is turned around", one,
             "<float a = {1.0}, float b = {0.0}> { z = Clip(x, a, b) }",
             "<float a = {1.0}, float b = {0.0}> { z = Clip(x, b, a) }", x),
        Pair("the least of three for the largest", "(int64[1] x) => (int64[1] z)",
             "<int64[1] a = {3}> { z = Max(x, a) }", "<int64[1] a = {3}> { z = Min(x, a) }", {"x": _int64(5)}),
        Pair("the power of large integers", "(int64[1] x) => (int64[1] z)",
             "<int64[1] a = {3}, int64[1] b = {39}> { p = Pow(a, b) z = Add(x, p) }",
             "<int64[1] p = {4052555153018976267}> { z = Add(x, p) }", {"x": _int64(0)}),
    ]  # fmt: skip


PAIRS = [*_wraps(), *_bounds(), *_orders(), *_types()]
