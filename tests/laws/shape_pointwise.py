"""Pointwise operators, contractions and reductions in the small world of shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.laws.shape_cases import FULL, PAIRS, each, grid, signed, versions
from tests.laws.shape_law import Case, const, run, shape_of, size, x

UNARY_FLOAT = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Hardmax "
    "IsInf IsNaN LeakyRelu Log LogSoftmax LpNormalization Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin "
    "Sinh Softmax Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Identity MeanVarianceNormalization"
).split()


def unary() -> Iterator[Case]:
    for op in UNARY_FLOAT:
        if op == "MeanVarianceNormalization":
            yield from each(op, x("N", 2, "H", 3))
            continue
        yield from each(op, x("N", 3))
        if op not in {"Hardmax", "Softmax", "LogSoftmax", "LpNormalization"}:
            yield from each(op, x())
    for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
        for axis in (0, 1, -1):
            yield from each(op, x("N", 3, "M"), axis=axis)
    yield from each("Not", x("N", 3, kind="?"))
    yield from each("Swish", x("N", 3), opsets=[24], reference=True)
    yield from each("BitwiseNot", x("N", 3, kind="l"))
    for to in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16):
        yield from each("Cast", x("N", 3), to=to)
        yield from each("Cast", shape_of("N", 3), to=to)
    yield from each("CastLike", x("N", 3), x("M", kind="l"))
    for inputs in ([x("N", 3)], [x("N", 3), const(0.0, "f"), const(1.0, "f")]):
        yield from each("Clip", *inputs)
    yield from each("Clip", x("N", 3), opsets=[7], min=0.0, max=1.0)
    yield from each("Clip", const([-1.5, 0.5, 2.5], "f"), opsets=[7], min=0.0, max=1.0)
    yield from each("Clip", const([-1.5, 0.5, 2.5], "f"), const(0.0, "f"), None, opsets=[11, 12, 13])
    for limits in ([const(2), const(5)], [const(2), None], [None, const(2)], [const(4), const(1)], [run(1), const(3)]):
        yield from each("Clip", shape_of("N", 3), *limits, opsets=[12, 13])
    yield from each("Relu", shape_of("N", 3), opsets=[14])
    for op in ("Relu", "Abs", "Round"):
        yield from each(op, const([-1.5, -0.5, 0.0, 0.5, 1.5, 2.5], "f"), opsets=versions(op))
    yield from each("Abs", const([-2, 0, 3]))
    yield from each("Dropout", x("N", 3), outputs=2)
    yield from each("Dropout", x("N", 3), outputs=1)
    yield from each("Dropout", x("N", 3), const(0.5, "f"), const(True, "?"), outputs=2)
    yield from grid("CumSum", x("N", 3), const(1), options={"exclusive": (0, 1), "reverse": (0, 1)})
    for op in ("RandomNormalLike", "RandomUniformLike", "Bernoulli"):
        yield from each(op, x("N", 3))
        yield from each(op, x("N", 3), dtype=TensorProto.DOUBLE)
    yield from each("EyeLike", x("N", "M"))
    yield from each("EyeLike", x("N", 3), dtype=TensorProto.INT64, k=1)
    yield from each("Trilu", x("N", 3, "M"))
    yield from each("Trilu", x("N", 3, "M"), const(1), upper=0)
    yield from each("QuantizeLinear", x("N", 3), const(0.5, "f"), const(1, "B"))
    yield from each("QuantizeLinear", x("N", 3), const(0.5, "f"), const(1, "b"))
    yield from each(
        "QuantizeLinear", x("N", 3), const([0.5, 1, 2], "f"), const([1, 2, 3], "B"), axis=1, opsets=[13, 19, 21]
    )
    yield from each("DequantizeLinear", x("N", 3, kind="B"), const(0.5, "f"), const(1, "B"))
    yield from each(
        "DequantizeLinear",
        x("N", 3, kind="B"),
        const([0.5, 1, 2], "f"),
        const([1, 2, 3], "B"),
        axis=1,
        opsets=[13, 19, 21],
    )
    yield from each("DynamicQuantizeLinear", x("N", 3), outputs=3)


BINARY = {
    "f": "Add Sub Mul Div Pow Min Max Sum Mean Equal Greater GreaterOrEqual Less LessOrEqual PRelu".split(),
    "l": "Add Sub Mul Div Mod BitwiseAnd BitwiseOr BitwiseXor Equal Less".split(),
    "?": "And Or Xor Equal".split(),
    "B": ["BitShift"],
}


def binary() -> Iterator[Case]:
    for kind, ops in BINARY.items():
        for op in ops:
            rest: dict[str, Any] = {"direction": "LEFT"} if op == "BitShift" else {}
            for left, right in PAIRS:
                yield from each(op, x(*left, kind=kind), x(*right, kind=kind), **rest)
    for op in ("Min", "Max", "Sum", "Mean"):
        yield from each(op, x("N", 3))
        yield from each(op, x("N", 1), x("M"), x(2, 1, 1))
    yield from each("Mod", x("N", 3), x("M", 1), fmod=1)
    for op in (
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Mod",
        "Min",
        "Max",
        "Pow",
        "Equal",
        "Less",
        "Greater",
        "GreaterOrEqual",
        "LessOrEqual",
    ):
        for other in (const([2, 3]), const(2), const([3]), const([-1, 1]), shape_of("M", 3), run([2, 3], [1, 4])):
            yield from each(op, shape_of("N", "M"), other)
    for op in ("Add", "Sub", "Mul", "Pow"):  # what an integer cannot hold wraps around
        yield from each(op, shape_of("N", 3), const([2**63 - 1]))
        yield from each(op, const([2**62, 3]), const([5, 2**62]))
        yield from each(op, const([2**30, 3], "i"), const([5, 2**30], "i"))
    yield from each("Cast", const([2**40, -5]), to=TensorProto.INT32)
    yield from each("Cast", const([2**40, -5]), to=TensorProto.UINT8)
    large = {"N": (1, 2**31 - 1, 2**31, 2**32), "M": (1, 2**20)}
    for to in (TensorProto.INT32, TensorProto.UINT32, TensorProto.INT64):
        yield from each("Cast", shape_of("N", "M", 0), to=to, sizes=large)
    for op in ("Neg", "Abs", "Sign", "Identity"):
        yield from each(op, shape_of("N", 3))
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Pow", "Equal", "Less"):
        yield from each(op, size("N"), const(3))
        yield from each(op, const(3), size("N"))
        yield from each(op, size("N"), size("M"))
        yield from each(op, size("N"), const([1, 2]))
    for op in ("Sqrt", "Floor", "Ceil", "Round"):
        yield from each(op, const([2.5, -1.5, 4.0], "f"))
    for op in ("And", "Or", "Xor"):
        yield from each(op, const([True, False], "?"), const([True], "?"))
    yield from each("Not", const([True, False], "?"))
    for condition in (x("N", 3, kind="?"), x("M", 1, kind="?"), x(kind="?")):
        for first, second in ((("N", 3), ("N", 3)), ((3,), ("N", 1)), (("M", 1), (1, 3)), ((), ("K", 1, 3))):
            yield from each("Where", condition, x(*first), x(*second))
    yield from each("Where", const([True, False], "?"), shape_of("N", "M"), const([1, 2]))


def contractions() -> Iterator[Case]:
    for left, right in [
        (("N", 3), (3, 4)),
        (("N", "K"), ("K", "M")),
        (("N", 3), (3,)),
        ((3,), (3, "M")),
        ((3,), (3,)),
        (("K",), ("K",)),
        (("N", 2, 3), (3, 4)),
        ((2, 3), ("N", 3, 4)),
        (("N", 1, 2, 3), ("M", 3, 4)),
        (("N", 2, 3), ("M", 3, 4)),
        (("N", "S", 3), ("N", 3, "S")),
    ]:
        yield from each("MatMul", x(*left), x(*right))
        yield from each("MatMulInteger", x(*left, kind="B"), x(*right, kind="B"))
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        left, right = ("K", "N") if a else ("N", "K"), ("M", "K") if b else ("K", "M")
        yield from each("Gemm", x(*left), x(*right), transA=a, transB=b, opsets=[11, 13])
        yield from each("Gemm", x(*left), x(*right), const([1.0], "f"), transA=a, transB=b)
    scale, zero = const(0.5, "f"), const(1, "B")
    yield from each("QLinearMatMul", x("N", 3, kind="B"), scale, zero, x(3, "M", kind="B"), scale, zero, scale, zero)
    yield from each(
        "QLinearMatMul", x("N", 2, 3, kind="B"), scale, zero, x("M", 3, 4, kind="B"), scale, zero, scale, zero
    )
    for equation, dims in [
        ("ij,jk->ik", [("N", 3), (3, "M")]),
        ("bij,bjk->bik", [("N", 2, 3), ("N", 3, 4)]),
        ("bij,bjk->bik", [("N", 2, 3), (1, 3, 4)]),
        ("bij,bjk->bik", [("N", 2, 3), ("M", 3, 4)]),
        ("bij,bjk->bik", [(1, 2, "K"), ("M", 1, 4)]),
        ("ij->ji", [("N", 3)]),
        ("ii->i", [("N", "N")]),
        ("ij->", [("N", 3)]),
        ("...ij,...jk->...ik", [("N", 2, 3), ("N", 3, 4)]),
        ("...ij,...jk->...ik", [("N", 1, 2, 3), ("M", 3, 4)]),
        ("i,j", [("N",), ("M",)]),
        ("ij,jk", [("N", 3), (3, "M")]),
        ("ba,ba", [("N", 3), ("N", 3)]),
        ("b...->...b", [("N", 2, 3)]),
        ("bi,i->bi", [("N", 1), (3,)]),
        ("bi,bi->b", [("N", "M"), ("N", 1)]),
        (" bij , bjk -> bik ", [("N", 2, 3), ("N", 3, 4)]),
        ("Bi,i->B", [("N", 3), (3,)]),
        ("ij,jk->ik", [("N", 1), (3, "M")]),
    ]:
        yield from each("Einsum", *(x(*each_) for each_ in dims), equation=equation, sizes=FULL)


def reductions() -> Iterator[Case]:
    ops = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"]
    ops += ["ReduceProd", "ReduceSum", "ReduceSumSquare"]
    for op in ops:
        old = [each_ for each_ in versions(op) if each_ < (13 if op == "ReduceSum" else 18)]
        new = [each_ for each_ in versions(op) if each_ not in old]
        for keep in (None, 0, 1):
            rest = {} if keep is None else {"keepdims": keep}
            for axes in ([0], [1], [-1], [0, 2], [-2, 0]):
                opsets = old if min(axes) >= 0 else signed(old)
                yield from each(op, x("N", 2, "M"), axes=axes, opsets=opsets, **rest)
                yield from each(op, x("N", 2, "M"), const(axes), opsets=new, **rest)
            yield from each(op, x("N", 2, "M"), **rest)
            yield from each(
                op, x("N", 2, "M"), const(np.empty(0, np.int64)), opsets=new, noop_with_empty_axes=1, **rest
            )
            yield from each(
                op, x("N", 2, "M"), const(np.empty(0, np.int64)), opsets=new, noop_with_empty_axes=0, **rest
            )
            yield from each(op, x("N", 2, "M"), None, opsets=new, noop_with_empty_axes=1, **rest)
            yield from each(op, x("N", 2, "M"), run([0], [1], [-1]), opsets=new, **rest)
            yield from each(
                op, x("N", 2, "M"), run([0], [1, 2], [], dims=["K"]), opsets=new, noop_with_empty_axes=1, **rest
            )
            yield from each(op, x("N", 2, "M"), run([0], [1, 2], [], dims=["K"]), opsets=new, **rest)
    for op in ("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"):
        for keep in (0, 1):
            yield from each(op, shape_of("N", 3, "M"), keepdims=keep)
    for op in ("ArgMax", "ArgMin"):
        yield from grid(op, x("N", 2, "M"), options={"axis": (None, 0, 1), "keepdims": (None, 0, 1)})
        yield from grid(
            op,
            x("N", 2, "M"),
            options={"axis": (-1, -3), "keepdims": (None, 0, 1)},
            opsets=signed(versions(op)),
        )
        yield from each(op, x("N", 2), select_last_index=1, opsets=[12, 13])
    for axis in (None, 0, 1, -1):
        rest = {} if axis is None else {"axis": axis}
        yield from each("TopK", x("N", "M", 3), const([2]), outputs=2, opsets=[10, 11], **rest)
        yield from each("TopK", x("N", "M", 3), run([1], [2], [3], [0]), outputs=2, opsets=[10, 11], **rest)
    yield from each("TopK", x("N", 3), k=2, outputs=2, opsets=[7])
