"""What is calculated where floats are real numbers, beside the numbers of onnxruntime: a small world of attributes.

A record is fed the very numbers that the engine is fed, as words; so what it calculates must be what the engine does.
What is opaque is fed as constants, as then it is calculated too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as failures

from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.reals import Reals
from onereshape.terms.records import REAL_RECORDS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, numbers, terms
from tests.terms.single_nodes import Array, Node

Rng = np.random.Generator
REFUSED = (failures.Fail, failures.InvalidArgument, failures.RuntimeException, failures.NotImplemented)
CASES = 40
"""How many nodes of each operator are drawn."""


def floats(rng: Rng, *dims: int) -> Array:
    """Numbers between 0.5 and 2, of either sign."""
    return np.asarray(rng.uniform(0.5, 2, dims) * rng.choice((-1, 1), dims), np.float32)


def some(rng: Rng, low: int, high: int, count: int) -> list[int]:
    return [int(each) for each in rng.integers(low, high, count, endpoint=True)]


def windows(rng: Rng, count: int, *, most: int = 1) -> dict[str, Any]:
    """Strides, dilations and pads, or one of the automatic ones."""
    found: dict[str, Any] = {"strides": some(rng, 1, 3, count)}
    if rng.random() < 0.5:
        found["dilations"] = some(rng, 1, 2, count)
    if rng.random() < 0.4:
        found["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    elif rng.random() < 0.7:
        found["pads"] = some(rng, 0, most, 2 * count)
    return found


def conv(rng: Rng) -> Node:
    count, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    channels, outputs, kernel = group * int(rng.integers(1, 3)), group * int(rng.integers(1, 3)), some(rng, 1, 3, count)
    data = floats(rng, int(rng.integers(1, 3)), channels, *some(rng, 5, 8, count))
    bias = floats(rng, outputs) if rng.random() < 0.5 else None
    weights = floats(rng, outputs, channels // group, *kernel)
    return Node("Conv", [data, weights, bias], {"group": group, **windows(rng, count)})


def conv_transpose(rng: Rng) -> Node:
    count, group = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    channels, outputs = group * int(rng.integers(1, 3)), int(rng.integers(1, 3))
    data = floats(rng, int(rng.integers(1, 3)), channels, *some(rng, 2, 5, count))
    bias = floats(rng, outputs * group) if rng.random() < 0.5 else None
    found = {"group": group, **windows(rng, count)}
    if rng.random() < 0.5:
        found["output_padding"] = [int(rng.integers(0, each)) for each in found["strides"]]
    if rng.random() < 0.3:
        found["output_shape"] = [int(size * step) for size, step in zip(data.shape[2:], found["strides"], strict=True)]
        found.pop("pads", None)
    return Node("ConvTranspose", [data, floats(rng, channels, outputs, *some(rng, 1, 3, count)), bias], found)


def average_pool(rng: Rng) -> Node:
    count = int(rng.integers(1, 4))
    found = {"kernel_shape": some(rng, 2, 3, count), **windows(rng, count)}
    found |= {"count_include_pad": int(rng.integers(2)), "ceil_mode": int(rng.integers(2))}
    opset = 19 if "dilations" in found else int(rng.choice([11, 19, 22]))
    return Node("AveragePool", [floats(rng, 2, 2, *some(rng, 4, 9, count))], found, opset=opset)


def global_average_pool(rng: Rng) -> Node:
    return Node("GlobalAveragePool", [floats(rng, 2, 3, *some(rng, 1, 5, int(rng.integers(1, 4))))])


EQUATIONS = (
    "ij,jk->ik ij,kj ij->ji ij->i ij-> ii->i ii-> iij->j i,j->ij ij,ij->ij ij,jk,kl->il bij,bkj->bik "
    "...ij,...jk->...ik ba ...i->i... i...->... bhid,bhjd->bhij ab,bc,ca-> ij,j"
).split()


def einsum(rng: Rng) -> Node:
    equation = str(rng.choice(EQUATIONS))
    sizes = {letter: int(rng.integers(1, 5)) for letter in "abcdhijkl"}
    many = some(rng, 1, 3, int(rng.integers(0, 3)))
    shapes = [
        [size for letter in part.replace("...", ".") for size in (many if letter == "." else [sizes[letter]])]
        for part in equation.partition("->")[0].split(",")
    ]
    return Node("Einsum", [floats(rng, *shape) for shape in shapes], {"equation": equation})


def cum_sum(rng: Rng) -> Node:
    dims = some(rng, 1, 5, int(rng.integers(1, 4)))
    axis = np.asarray(rng.integers(-len(dims), len(dims)), np.int64)
    found = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    return Node("CumSum", [floats(rng, *dims), axis], found, held=frozenset({1}))


def reduction(op: str) -> Callable[[Rng], Node]:
    def drawn(rng: Rng) -> Node:
        dims = some(rng, 1, 4, int(rng.integers(1, 4)))
        opset = int(rng.choice([11, 13, 18, 21]))
        some_axes = rng.permutation(len(dims))[: int(rng.integers(0, len(dims) + 1))]
        axes = [int(axis) - (len(dims) if rng.random() < 0.5 else 0) for axis in some_axes]
        found: dict[str, Any] = {"keepdims": int(rng.integers(2))}
        if opset < (13 if op == "ReduceSum" else 18):
            return Node(op, [floats(rng, *dims)], {**found, **({"axes": axes} if axes else {})}, opset=opset)
        found["noop_with_empty_axes"] = int(rng.integers(2))
        second = np.asarray(axes, np.int64) if axes or rng.random() < 0.5 else None
        return Node(op, [floats(rng, *dims), second], found, opset=opset, held=frozenset({1}))

    return drawn


def gemm(rng: Rng) -> Node:
    rows, inner, columns = some(rng, 1, 4, 3)
    turned = [int(rng.integers(2)) for _ in range(2)]
    left = floats(rng, *((rows, inner)[:: -1 if turned[0] else 1]))
    right = floats(rng, *((inner, columns)[:: -1 if turned[1] else 1]))
    dims = [None, (), (1,), (columns,), (rows, 1), (1, columns), (rows, columns)][int(rng.integers(7))]
    found = {"transA": turned[0], "transB": turned[1], "alpha": 0.75, "beta": float(rng.choice([0, 1, 1.5]))}
    return Node("Gemm", [left, right, None if dims is None else floats(rng, *dims)], found)


def matmul(rng: Rng) -> Node:
    one, two, rows, inner, columns = some(rng, 1, 4, 5)
    shapes = [
        ((inner,), (inner,)),
        ((rows, inner), (inner,)),
        ((inner,), (one, inner, columns)),
        ((one, 1, rows, inner), (two, inner, columns)),
        ((rows, inner), (one, two, inner, columns)),
    ]
    return Node("MatMul", [floats(rng, *each) for each in shapes[int(rng.integers(len(shapes)))]])


def power(rng: Rng) -> Node:
    exponent: Array = np.asarray(rng.choice([1, 2, 3, 5, 8, -1, -2, -3]), rng.choice(["float32", "int64", "int32"]))
    exponent = exponent.reshape([(), (1,), (1, 1)][int(rng.integers(3))])
    return Node("Pow", [floats(rng, *some(rng, 1, 4, 2)), exponent], held=frozenset({1}))


def root_power(rng: Rng) -> Node:
    exponent = np.asarray(rng.choice([0.5, -0.5, 1.5, 0.0, 9.0]), np.float32)
    return Node("Pow", [np.abs(floats(rng, 3, 2)), exponent], held=frozenset({0, 1}))


def pointwise(op: str, most: int = 2) -> Callable[[Rng], Node]:
    """An operator of operands that are broadcast."""

    def drawn(rng: Rng) -> Node:
        dims = some(rng, 1, 4, 3)
        shapes = [
            [1 if rng.random() < 0.3 else dim for dim in dims[int(rng.integers(0, 3)) :]]
            for _ in range(most if most < 3 else int(rng.integers(1, most)))
        ]
        return Node(op, [floats(rng, *shape) for shape in shapes])

    return drawn


def clip(rng: Rng) -> Node:
    """Limits that are given or left out, both also the wrong way round: then the upper one counts."""
    ends = [None if rng.random() < 0.3 else np.asarray(each, np.float32) for each in rng.uniform(-1.5, 1.5, 2)]
    return Node("Clip", [floats(rng, 3, 4), *ends], held=frozenset({0, 1, 2}))


def old_clip(rng: Rng) -> Node:
    ends = {name: float(end) for name, end in (("min", -0.75), ("max", 1.25)) if rng.random() < 0.6}
    return Node("Clip", [floats(rng, 3, 4)], ends, opset=int(rng.choice([7, 10])), held=frozenset({0}))


def hard_sigmoid(rng: Rng) -> Node:
    found = {name: float(rng.uniform(0.1, 0.9)) for name in ("alpha", "beta") if rng.random() < 0.6}
    return Node("HardSigmoid", [floats(rng, 3, 4)], found, held=frozenset({0}))


def softmax_of_one(op: str) -> Callable[[Rng], Node]:
    def drawn(rng: Rng) -> Node:
        axis, opset = int(rng.integers(-3, 3)), int(rng.choice([11, 13]))
        dims = some(rng, 1, 4, 3)
        for place in range(3) if opset < 13 else ():
            dims[place] = dims[place] if place < axis % 3 else 1
        dims[axis] = 1
        return Node(op, [floats(rng, *dims)], {"axis": axis}, opset=opset)

    return drawn


def batch_normalization(rng: Rng) -> Node:
    channels = int(rng.integers(1, 4))
    parameters = [floats(rng, channels) for _ in range(3)]
    data = floats(rng, 2, channels, *some(rng, 1, 3, int(rng.integers(0, 3))))
    found = {"epsilon": float(rng.choice([1e-5, 0.25]))}
    return Node("BatchNormalization", [data, *parameters, np.abs(floats(rng, channels))], found, held=frozenset({4}))


WORLD: dict[str, Callable[[Rng], Node]] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "Einsum": einsum,
    "CumSum": cum_sum,
    "Gemm": gemm,
    "MatMul": matmul,
    "Pow": power,
    "Pow of constants": root_power,
    "Clip": clip,
    "Clip of old": old_clip,
    "HardSigmoid": hard_sigmoid,
    "BatchNormalization": batch_normalization,
    **{op: reduction(op) for op in ("ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare")},
    **{op: pointwise(op) for op in ("Add", "Sub", "Mul", "Div")},
    **{op: pointwise(op, 5) for op in ("Sum", "Mean")},
    **{op: pointwise(op, 1) for op in ("Neg", "Reciprocal", "Sqrt")},
    **{op: pointwise(op, 5) for op in ("Max", "Min")},
    **{op: softmax_of_one(op) for op in ("Softmax", "LogSoftmax")},
}
OPAQUE = {"Max", "Min", "ReduceL2", "Sqrt"}
"""What is calculated of constants alone."""


def calculated(node: Node, *, known: bool) -> Array:
    """The numbers that the reading as real numbers makes of the node's own, as constants or as what is fed."""
    reals = Reals(7)
    program = Program(ir.from_proto(node.model), reals, Limits(), REAL_RECORDS)
    feeds: dict[str, Tensor] = {}
    for place in node.fed:
        array = np.asarray(node.inputs[place])
        words = array.astype(np.float64).view(np.uint64)
        feeds[f"x{place}"] = numbers(array) if known else terms(words, ir.DataType.from_numpy(array.dtype))
    (found,) = program.run(feeds)[0].values()
    assert isinstance(found, Tensor)
    if found.known:
        return found.array.astype(np.float64)
    assert not known
    return found.linear(reals).view(np.float64)


@pytest.mark.parametrize("name", WORLD)
def test_what_is_calculated_is_what_the_engine_calculates(name: str) -> None:
    answered = 0
    for seed in range(CASES):
        node = WORLD[name](np.random.default_rng([seed, *name.encode()]))
        try:
            wanted = node.engine()[0]
        except REFUSED:
            continue
        for known in (True,) if name in OPAQUE else (True, False):
            try:
                found = calculated(node, known=known)
            except NotProven:
                continue
            assert found.shape == wanted.shape, node
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5, err_msg=str(node), equal_nan=True)
            answered += 1

    assert answered >= CASES // 2, f"{answered} answers"
