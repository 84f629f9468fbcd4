"""The small world of the law of shapes: every operator whose shape rule is believed, over what its rule tells apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.laws.shape_law import Case, In, const, run, shape_of, size, x

NEWEST = 23
"""The newest opset that is asked: onnxruntime knows it whole."""

SMALL = (1, 2, 3, 0)
LONG = (1, 2, 3, 4, 5, 6, 7, 0)


def versions(op: str, domain: str = "") -> list[int]:
    """The opsets at which the operator changed, from 7 on."""
    since = sorted({each.since_version for each in onnx.defs.get_all_schemas_with_history() if (each.domain, each.name) == (domain, op)})
    if domain:
        return [NEWEST]
    found = [each for each in since if 7 <= each <= NEWEST]
    return found if any(each == 7 for each in since) else [*([7] if since[0] < 7 else []), *found]


def each(op: str, *inputs: In | None, opsets: Iterable[int] | None = None, outputs: int = 1, sizes: Mapping[str, Sequence[int]] = {}, domain: str = "", reference: bool = False, **attributes: Any) -> Iterator[Case]:  # noqa: B006, E501
    """The case under every version of the operator, or under these opsets."""
    for opset in versions(op, domain) if opsets is None else opsets:
        yield Case(op, opset, inputs, attributes, outputs, sizes, domain, reference)


def grid(op: str, *inputs: In | None, options: Mapping[str, Sequence[Any]], **rest: Any) -> Iterator[Case]:
    """All combinations of values of attributes; None leaves one out."""
    from itertools import product

    for chosen in product(*options.values()):
        attributes = {name: value for name, value in zip(options, chosen, strict=True) if value is not None}
        yield from each(op, *inputs, **attributes, **rest)


_FULL = {name: (1, 2, 3) for name in "NMK"}
"""Sizes without 0: onnxruntime's Concat passes over what is empty, for an axis that is counted from the end onnxruntime gives empty data other dims than the
specification, and its Einsum divides by the size of a dim."""


def _signed(opsets: Iterable[int]) -> list[int]:
    """Those in which an axis may be counted from the end."""
    return [opset for opset in opsets if opset >= 11]


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
    yield from each("QuantizeLinear", x("N", 3), const([0.5, 1, 2], "f"), const([1, 2, 3], "B"), axis=1, opsets=[13, 19, 21])
    yield from each("DequantizeLinear", x("N", 3, kind="B"), const(0.5, "f"), const(1, "B"))
    yield from each("DequantizeLinear", x("N", 3, kind="B"), const([0.5, 1, 2], "f"), const([1, 2, 3], "B"), axis=1, opsets=[13, 19, 21])
    yield from each("DynamicQuantizeLinear", x("N", 3), outputs=3)


BINARY = {
    "f": "Add Sub Mul Div Pow Min Max Sum Mean Equal Greater GreaterOrEqual Less LessOrEqual PRelu".split(),
    "l": "Add Sub Mul Div Mod BitwiseAnd BitwiseOr BitwiseXor Equal Less".split(),
    "?": "And Or Xor Equal".split(),
    "B": ["BitShift"],
}
PAIRS: list[tuple[tuple[int | str, ...], tuple[int | str, ...]]] = [
    (("N", 3), ("N", 3)),
    (("N", 3), (3,)),
    (("N", 3), (1,)),
    (("N", 3), ()),
    (("N", 3), ("M", 1)),
    (("N",), ("M",)),
    (("N", 1), ("M",)),
    (("N", 4), (2, 1)),
    (("N", "M"), (3, 1)),
    (("N", 2), (2, "M", 2)),
    ((1, "N"), ("N", 1)),
    ((3,), ("N", "M")),
]


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
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Pow", "Equal", "Less", "Greater", "GreaterOrEqual", "LessOrEqual"):
        for other in (const([2, 3]), const(2), const([3]), const([-1, 1]), shape_of("M", 3), run([2, 3], [1, 4])):
            yield from each(op, shape_of("N", "M"), other)
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
        (("N", 3), (3, 4)), (("N", "K"), ("K", "M")), (("N", 3), (3,)), ((3,), (3, "M")), ((3,), (3,)), (("K",), ("K",)),
        (("N", 2, 3), (3, 4)), ((2, 3), ("N", 3, 4)), (("N", 1, 2, 3), ("M", 3, 4)), (("N", 2, 3), ("M", 3, 4)),
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
    yield from each("QLinearMatMul", x("N", 2, 3, kind="B"), scale, zero, x("M", 3, 4, kind="B"), scale, zero, scale, zero)
    for equation, dims in [
        ("ij,jk->ik", [("N", 3), (3, "M")]), ("bij,bjk->bik", [("N", 2, 3), ("N", 3, 4)]), ("bij,bjk->bik", [("N", 2, 3), (1, 3, 4)]),
        ("bij,bjk->bik", [("N", 2, 3), ("M", 3, 4)]), ("bij,bjk->bik", [(1, 2, "K"), ("M", 1, 4)]), ("ij->ji", [("N", 3)]), ("ii->i", [("N", "N")]), ("ij->", [("N", 3)]),
        ("...ij,...jk->...ik", [("N", 2, 3), ("N", 3, 4)]), ("...ij,...jk->...ik", [("N", 1, 2, 3), ("M", 3, 4)]), ("i,j", [("N",), ("M",)]),
        ("ij,jk", [("N", 3), (3, "M")]), ("ba,ba", [("N", 3), ("N", 3)]), ("b...->...b", [("N", 2, 3)]), ("bi,i->bi", [("N", 1), (3,)]), ("bi,bi->b", [("N", "M"), ("N", 1)]),
        (" bij , bjk -> bik ", [("N", 2, 3), ("N", 3, 4)]), ("Bi,i->B", [("N", 3), (3,)]), ("ij,jk->ik", [("N", 1), (3, "M")]),
    ]:
        yield from each("Einsum", *(x(*each_) for each_ in dims), equation=equation, sizes=_FULL)


def reductions() -> Iterator[Case]:
    ops = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare".split()
    for op in ops:
        old = [each_ for each_ in versions(op) if each_ < (13 if op == "ReduceSum" else 18)]
        new = [each_ for each_ in versions(op) if each_ not in old]
        for keep in (None, 0, 1):
            rest = {} if keep is None else {"keepdims": keep}
            for axes in ([0], [1], [-1], [0, 2], [-2, 0]):
                sizes = {} if min(axes) >= 0 else _FULL
                signed = old if min(axes) >= 0 else _signed(old)
                yield from each(op, x("N", 2, "M"), axes=axes, opsets=signed, sizes=sizes, **rest)
                yield from each(op, x("N", 2, "M"), const(axes), opsets=new, sizes=sizes, **rest)
            yield from each(op, x("N", 2, "M"), **rest)
            yield from each(op, x("N", 2, "M"), const(np.empty(0, np.int64)), opsets=new, noop_with_empty_axes=1, **rest)
            yield from each(op, x("N", 2, "M"), const(np.empty(0, np.int64)), opsets=new, noop_with_empty_axes=0, **rest)
            yield from each(op, x("N", 2, "M"), None, opsets=new, noop_with_empty_axes=1, **rest)
            yield from each(op, x("N", 2, "M"), run([0], [1], [-1]), opsets=new, sizes=_FULL, **rest)
            yield from each(op, x("N", 2, "M"), run([0], [1, 2], [], dims=["K"]), opsets=new, noop_with_empty_axes=1, **rest)
            yield from each(op, x("N", 2, "M"), run([0], [1, 2], [], dims=["K"]), opsets=new, **rest)
    for op in ("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"):
        for keep in (0, 1):
            yield from each(op, shape_of("N", 3, "M"), keepdims=keep)
    for op in ("ArgMax", "ArgMin"):
        yield from grid(op, x("N", 2, "M"), options={"axis": (None, 0, 1), "keepdims": (None, 0, 1)})
        yield from grid(op, x("N", 2, "M"), options={"axis": (-1, -3), "keepdims": (None, 0, 1)}, opsets=_signed(versions(op)), sizes=_FULL)
        yield from each(op, x("N", 2), select_last_index=1, opsets=[12, 13])
    for axis in (None, 0, 1, -1):
        rest = {} if axis is None else {"axis": axis}
        yield from each("TopK", x("N", "M", 3), const([2]), outputs=2, opsets=[10, 11], **rest)
        yield from each("TopK", x("N", "M", 3), run([1], [2], [3], [0]), outputs=2, opsets=[10, 11], **rest)
    yield from each("TopK", x("N", 3), k=2, outputs=2, opsets=[7])


def layout() -> Iterator[Case]:
    yield from each("Reshape", x("N", 6), const([0, 2, -1]))
    yield from each("Reshape", x("N", 6), const([-1, 4]))
    yield from each("Reshape", x("N", 6), const([3, -1]), opsets=[14, 19, 21], allowzero=1)
    yield from each("Reshape", x("N", 6), run([-1, 3], [0, 6], [6, -1]))
    yield from each("Reshape", x("N", 6), run([-1], [2, -1], dims=["K"]))
    for perm in (None, [1, 0, 2], [2, 1, 0], [1, 2, 0]):
        yield from each("Transpose", x("N", 2, "M"), **({} if perm is None else {"perm": perm}))
    for axis in (None, 0, 1, 2, 3, -1):
        rest = {} if axis is None else {"axis": axis}
        yield from each("Flatten", x("N", 2, "M"), opsets=None if (axis or 0) >= 0 else [11, 13, 21], **rest)
    yield from each("Flatten", x())
    new, old = [13, 21], [7, 11]
    for axes in ([0], [1], [-1], [0, 2], [-1, 0], [2, 0]):
        opsets = old if min(axes) >= 0 else [11]
        for op, dims in (("Squeeze", (1, "N", 1)), ("Squeeze", (1, 1, "N")), ("Squeeze", ("N", 1, "M")), ("Unsqueeze", ("N", 3))):
            yield from each(op, x(*dims), axes=axes, opsets=opsets)
            yield from each(op, x(*dims), const(axes), opsets=new)
    for dims in ((1, "N", 1), ("N", 3), ("N", "M"), (1, 2, 1), (1, 1)):
        yield from each("Squeeze", x(*dims))
        yield from each("Squeeze", x(*dims), run([0], [-1], [0, -1], dims=["K"]), opsets=new)
        yield from each("Squeeze", x(*dims), run([0], [-1], [1]), opsets=new)
    yield from each("Unsqueeze", x("N", 3), run([0], [-1], [1], [2]), opsets=new)
    yield from each("Unsqueeze", x("N", 3), run([0], [-1, 1], [0, 1], dims=["K"]), opsets=new)
    yield from each("Unsqueeze", const(3), const([0]), opsets=new)
    yield from each("Unsqueeze", size("N"), const([0]), opsets=new)
    yield from each("Squeeze", shape_of("N"), const([0]), opsets=new)
    yield from each("Squeeze", shape_of("N"))
    yield from each("Reshape", size("N"), const([1]))
    yield from each("Reshape", shape_of("N", 3), const([2, 1]))
    yield from each("Reshape", shape_of("N", 3), const([-1]))
    yield from each("Transpose", shape_of("N", 3))
    yield from each("Flatten", shape_of("N", 3), axis=0)
    yield from each("Expand", size("N"), const([2]))
    yield from each("Expand", shape_of("N", "M"), const([2, 2]))
    yield from each("Tile", shape_of("N", "M"), const([2]))
    yield from each("Squeeze", const([[3]]), const([0]), opsets=new)
    for axis in (0, 1, -1):
        yield from each("Concat", x("N", 3), x("N", 3), axis=axis)
        yield from each("Concat", x("N", "M"), x("N", "M"), x("N", "M"), axis=axis)
        yield from each("Concat", x("N", "M"), axis=axis)
    yield from each("Concat", x("N", 3), x("M", 3), axis=0)
    yield from each("Concat", x("N", 3), x("M", 3), axis=-2, opsets=[11, 13])
    yield from each("Concat", x("N", 3), x("M", 2), axis=1, sizes=_FULL)
    yield from each("Concat", shape_of("N", 2), const([3]), shape_of("M"), axis=0)
    yield from each("Concat", run([1], [2]), const([3]), axis=0)
    yield from each("Shape", x("N", 2, "M"))
    for start, end in ((0, 2), (1, None), (-1, None), (-2, -1), (0, -1), (-9, 9), (2, 1), (5, None)):
        rest = {"start": start} if end is None else {"start": start, "end": end}
        yield from each("Shape", x("N", 2, "M"), opsets=[15, 19, 21], **rest)
    yield from each("Size", x("N", 2, "M"))
    yield from each("Size", x())
    for values in (helper.make_tensor("v", TensorProto.INT64, [2], [1, 2]), helper.make_tensor("v", TensorProto.FLOAT, [], [1.0])):
        yield from each("Constant", value=values)
    for rest in ({"value_int": 3}, {"value_ints": [1, 2]}, {"value_float": 3.0}, {"value_floats": [1.0]}):
        yield from each("Constant", opsets=[12, 13, 19, 21], **rest)
    for fill in ({}, {"value": helper.make_tensor("v", TensorProto.INT64, [1], [7])}, {"value": helper.make_tensor("v", TensorProto.BOOL, [1], [True])}):
        for shape in (const([2, 3]), const(np.empty(0, np.int64)), shape_of("N", 2), const([3]), run([2, 3], [1, 0]), run([2], [], dims=["K"])):
            yield from each("ConstantOfShape", shape, **fill)
    for target in (const([2, 3]), const([3]), const([1]), const([2, 1, 1]), shape_of("M", 3), shape_of("M", "N", 3), run([2, 3], [1, 3], [5, 1]), run([2, 1, 1], [3], dims=["K"]), const([0, 3])):
        for dims in (("N", 3), (1, 3), ("N", 1), (3,), ()):
            yield from each("Expand", x(*dims), target)
    yield from each("Expand", const([4]), shape_of("N"))
    for repeats in (const([2, 3]), const([1, 0]), run([2, 3], [1, 1], [0, 2]), shape_of("M", 2)):
        yield from each("Tile", x("N", 3), repeats)
    yield from each("Tile", const([4, 5]), const([2]))
    for axis, split in ((0, [1, 2]), (1, [2, 4]), (-1, [1, 5]), (1, [3, 3]), (1, [0, 6])):
        yield from each("Split", x(3, 6), outputs=2, axis=axis, split=split, opsets=[7] if axis >= 0 else [11])
        yield from each("Split", x(3, 6), const(split), outputs=2, axis=axis, opsets=[13, 18])
        if axis:
            yield from each("Split", x("N", 6), const(split), outputs=2, axis=axis, opsets=[13, 18])
    yield from each("Split", x("N", 6), const([1, 2]), outputs=2, axis=0, opsets=[13, 18])
    for count in (2, 3):
        yield from each("Split", x("N", "M"), outputs=count, axis=1, opsets=[7, 11, 13], sizes={"M": (2, 3, 4, 6)})
        yield from each("Split", x("N", 6), outputs=count, axis=1, opsets=[7, 11, 13])
        for axis in (0, 1, -1):
            yield from each("Split", x("N", "M"), outputs=count, axis=axis, num_outputs=count, opsets=[18], sizes={"N": LONG, "M": LONG})
    for axis in (0, -1):
        yield from each("Split", x("N", 6), run([1, 5], [2, 4], [3, 3]), outputs=2, axis=axis, opsets=[13, 18], sizes={"N": (6, 1)})
    yield from each("Split", shape_of("N", 2, "M"), const([1, 2]), outputs=2, axis=0, opsets=[13, 18])
    yield from each("ReverseSequence", x(3, "N", 2), const([1, 1]), opsets=None, sizes={"N": (2,)})
    for op, dims in (("DepthToSpace", ("N", 4, "H", 3)), ("SpaceToDepth", ("N", 2, "H", 4))):
        yield from each(op, x(*dims), blocksize=2, sizes={"H": (2, 4, 6, 0)})
    yield from each("DepthToSpace", x("N", "C", 2, 3), blocksize=2, mode="CRD", opsets=[11, 13], sizes={"C": (4, 8)})


EDGES = (0, 1, 2, 5, -1, -2, -7, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 10**9)


def indexing() -> Iterator[Case]:
    for axis in (0, 1, -1):
        for indices in (x("K", kind="l", high=1), x(2, "K", kind="l", high=1), x(kind="l", high=1), const([0, 0]), const(0)):
            yield from each("Gather", x("N", 3, "M"), indices, axis=axis)
        yield from each("GatherElements", x("N", 3), x("N", 2, kind="l", high=1), axis=axis)
        yield from each("GatherElements", x("N", 3), x("K", 2, kind="l", high=1), axis=axis)
        for op in ("ScatterElements", "Scatter"):
            yield from each(op, x("N", 3), x("N", 2, kind="l", high=1), x("N", 2), axis=axis)
    for index in (const(0), const([0]), const([1, 0]), const(-1), const([[0, 2]]), run([0], [2]), run(0, -1)):
        yield from each("Gather", shape_of("N", 3, "M"), index, axis=0)
    for dims, last, batch in ((("N", 3, 4), 1, 0), (("N", 3, 4), 2, 0), (("N", 3, 4), 3, 0), (("N", 3, 4), 1, 1), (("N", 3, 4), 2, 1)):
        front = ("N", 2) if batch else ("K",)
        yield from each("GatherND", x(*dims), x(*front, last, kind="l", high=1), batch_dims=batch, opsets=[12, 13])
    yield from each("GatherND", x("N", 3), x("K", 1, kind="l", high=1), opsets=[11])
    yield from each("GatherND", x(3, 4), x(2, "L", kind="l", high=1), sizes={"L": (1, 2)})
    yield from each("ScatterND", x("N", 3), x("K", 1, kind="l", high=1), x("K", 3))
    for start in EDGES:
        for end in EDGES:
            yield from each("Slice", x("N", 5), const([start]), const([end]), const([0]), opsets=[13], sizes={"N": (1, 3, 6, 0)})
    for start, end, step in ((-1, -7, -1), (-1, -9, -2), (5, 0, -1), (2**31, -(2**31), -1), (2**63 - 1, -(2**63), -1), (0, 9, 2), (1, 2**31, 2), (1, 6, 3), (4, 1, -1), (3, 3, 1)):
        yield from each("Slice", x("N", 5), const([start]), const([end]), const([0]), const([step]), opsets=[10, 11, 13], sizes={"N": (1, 3, 6, 0)})
        yield from each("Slice", x("N", 5), const([start]), const([end]), const([-1]), const([step]), opsets=[11, 13])
        yield from each("Slice", shape_of("N", 2, "M", 4), const([start]), const([end]), const([0]), const([step]), opsets=[13])
    for start, end in ((0, 2), (1, -1), (-2, 2**63 - 1), (-2, 2**31 - 1), (1, 9), (3, 1), (-9, 2)):
        yield from each("Slice", x("N", 5), starts=[start], ends=[end], axes=[0], opsets=[7])
        yield from each("Slice", x("N", 5), starts=[start, 1], ends=[end, 4], opsets=[7])
        yield from each("Slice", x("N", 5), const([start, 1]), const([end, 4]), opsets=[10, 13])
    for which in range(3):
        words = [run([0], [1], [-1]) if which == 0 else const([1]), run([2], [1], [9]) if which == 1 else const([3]), run([0], [1], [-1]) if which == 2 else const([0])]
        yield from each("Slice", x("N", 5), *words, opsets=[13])
    yield from each("Slice", x("N", 5), const([1]), const([4]), const([0]), run([1], [2]), opsets=[13])
    yield from each("Slice", x("N", 5), run([1], [0, 0], dims=["K"]), run([4], [9, 9], dims=["K"]), opsets=[13])
    yield from each("Slice", x("N", "M"), const([0]), shape_of("M"), const([0]), opsets=[13])
    yield from each("Slice", x("N", "M"), shape_of("M"), const([2**31 - 1]), const([0]), opsets=[13])
    for axis in (None, 0, 1, -1):
        rest = {} if axis is None else {"axis": axis}
        yield from each("Compress", x("N", 3), x("K", kind="?"), **rest)
        yield from each("Compress", x("N", 3), const([True, False, True], "?"), **rest)
        yield from each("Unique", x("N", 3), outputs=4, **rest)
        yield from each("OneHot", x("N", 3, kind="l", high=1), const(4), const([0.0, 1.0], "f"), **({} if axis is None else {"axis": axis}))
        yield from each("OneHot", x("N", 3, kind="l", high=1), run(4, 2, 7), const([0.0, 1.0], "f"), **rest)
        yield from each("OneHot", x("N", 3, kind="l", high=1), const([4]), const([0.0, 1.0], "f"), **rest)
    yield from each("NonZero", x("N", 3))
    yield from each("NonZero", x())
    for mode in ("constant", "edge", "reflect"):
        for pads in ([0, 1, 0, 2], [1, 0, 1, 0], [0, -1, 0, 1], [0, 0, 0, 0], [-1, 0, 0, 0]):
            yield from each("Pad", x("N", 3), pads=pads, mode=mode, opsets=[7])
            yield from each("Pad", x("N", 3), const(pads), mode=mode, opsets=[11, 13, 18, 19, 21])
    yield from each("Pad", x("N", 3), const([1, 2]), None, const([0]), opsets=[18, 19, 21])
    yield from each("Pad", x("N", 3), const([1, 2]), None, const([-1]), opsets=[18, 19, 21])
    yield from each("Pad", x("N", 3), const([1, 2]), None, run([0], [1]), opsets=[18, 19, 21])
    yield from each("Pad", x("N", 3), run([0, 1, 0, 2], [1, 1, 1, 1]), opsets=[11, 13, 18, 19, 21])
    yield from each("Pad", x("N", 3), const([1, 2]), run(0.0, kind="f"), const([0]), opsets=[18, 19, 21])
    for start, limit, step in ((0, 5, 1), (5, 0, -2), (3, 3, 1), (0, 5, 2), (5, 0, 1)):
        yield from each("Range", const(start), const(limit), const(step))
        yield from each("Range", const(float(start), "f"), const(float(limit), "f"), const(step / 2, "f"))
    yield from each("Range", const(0), run(3, 0, 7), const(1))
    for start in (const(0), const(1), const(3), size("M")):
        for step in (const(1), const(2), const(-1), run(1, -1, 2)):
            yield from each("Range", start, size("N"), step)
            yield from each("Range", size("N"), start, step)
    yield from each("CenterCropPad", x("N", 5, 4), const([3, 6]), axes=[0, 1], reference=True)


def spatial() -> Iterator[Case]:
    from itertools import product

    h: dict[str, tuple[int, ...]] = {"W": (3, 5), "N": (1, 2)}
    auto = (None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    for kernel, stride, dilation, pads in product((1, 2, 3), (1, 2, 3), (1, 2), ([0, 0], [1, 1], [0, 1])):
        rest = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation], "pads": pads}
        # Where no window fits there is no output by the specification; onnxruntime rounds towards 0 and has one.
        h["H"] = tuple(size for size in LONG[:-1] if size + sum(pads) > dilation * (kernel - 1))
        weight = const(np.ones((4, 2, kernel)), "f")
        yield from each("Conv", x("N", 2, "H"), weight, opsets=[11], sizes=dict(h), **rest)
        for ceil_mode in (0, 1):
            if dilation == 1:
                yield from each("AveragePool", x("N", 2, "H"), kernel_shape=[kernel], strides=[stride], pads=pads, ceil_mode=ceil_mode, opsets=[10, 11], sizes=dict(h))
                yield from each("LpPool", x("N", 2, "H"), kernel_shape=[kernel], strides=[stride], pads=pads, opsets=[7, 11], sizes=dict(h))
            yield from each("AveragePool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[19], sizes=dict(h), **rest)
            yield from each("LpPool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[18], sizes=dict(h), **rest)
            yield from each("MaxPool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[10, 11, 12], sizes=dict(h), **rest)
        for extra in ([0], [1]):
            if extra[0] < stride:
                yield from each("ConvTranspose", x("N", 4, "H"), weight, opsets=[11], sizes=dict(h), output_padding=extra, **rest)
    h["H"] = (3, 4, 5, 6, 7)
    for mode, stride in product(auto, (1, 2, 3)):
        rest = {"strides": [stride, 1]} | ({} if mode is None else {"auto_pad": mode})
        yield from each("Conv", x("N", 2, "H", "W"), const(np.ones((4, 2, 3, 2)), "f"), sizes=dict(h), **rest)
        yield from each("Conv", x("N", 2, "H", "W"), const(np.ones((4, 1, 3, 2)), "f"), const(np.ones(4), "f"), group=2, sizes=dict(h), **rest)
        yield from each("ConvInteger", x("N", 2, "H", "W", kind="B"), const(np.ones((4, 2, 3, 2)), "B"), sizes=dict(h), **rest)
        yield from each("ConvTranspose", x("N", 4, "H", "W"), const(np.ones((4, 2, 3, 2)), "f"), sizes=dict(h), **rest)
        for op in ("AveragePool", "MaxPool", "LpPool"):
            yield from each(op, x("N", 2, "H", "W"), kernel_shape=[3, 2], sizes=dict(h), **rest)
        for ceil_mode in (0, 1):
            yield from each("MaxPool", x("N", 2, "H", "W"), kernel_shape=[3, 2], ceil_mode=ceil_mode, dilations=[1, 2], opsets=[10, 11, 12], sizes=dict(h), **rest)
            yield from each("AveragePool", x("N", 2, "H", "W"), kernel_shape=[3, 2], ceil_mode=ceil_mode, count_include_pad=1, opsets=[10, 11, 19], sizes=dict(h), **rest)
    yield from each("Conv", x("N", 2, "H", "W"), x("C", 2, 3, 3), sizes=h | {"C": (1, 4)})
    yield from each("Conv", x("N", 2, "H", "W"), x(4, 2, "K", 3), sizes=h | {"K": (1, 2, 3)})
    yield from each("MaxPool", x("N", 2, "H", "W"), kernel_shape=[2, 2], outputs=2, opsets=[8, 10, 11, 12], sizes=dict(h))
    yield from each("ConvTranspose", x("N", 4, "H"), const(np.ones((4, 2, 3)), "f"), strides=[2], output_shape=[7], sizes={"H": (3, 4)})
    yield from each("ConvTranspose", x("N", 4, 5), const(np.ones((4, 1, 3)), "f"), strides=[2], group=2)
    scale, zero = const(0.5, "f"), const(1, "B")
    yield from each("QLinearConv", x("N", 2, "H", "W", kind="B"), scale, zero, const(np.ones((4, 2, 3, 2)), "B"), scale, zero, scale, zero, sizes=dict(h))
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield from each(op, x("N", 2, "H", "W"), sizes=dict(h))
        yield from each(op, x("N", 2, "H"), sizes=dict(h))
    yield from each("LRN", x("N", 2, "H", 3), size=3, sizes=dict(h))
    sizes = {"H": (1, 2, 3, 4, 5), "N": (1, 2)}
    for scales in ([1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 0.5, 1.0], [1.0, 1.0, 1.5, 0.7], [1.0, 1.0, 0.6, 0.1], [2.0, 1.0, 1.0, 1.0]):
        dims = x("N", 2, "H", 10)
        yield from each("Upsample", dims, scales=scales, opsets=[7], sizes=sizes)
        yield from each("Upsample", dims, const(scales, "f"), opsets=[9], sizes=sizes)
        yield from each("Resize", dims, const(scales, "f"), opsets=[10], sizes=sizes)
        yield from each("Resize", dims, const(np.empty(0), "f"), const(scales, "f"), opsets=[11, 13, 18, 19], sizes=sizes)
        for mode in ("nearest", "linear"):
            yield from each("Resize", dims, None, const(scales, "f"), opsets=[13, 18, 19], mode=mode, sizes=sizes)
    yield from each("Resize", x("N", 2, "H", 3), None, run([1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 1.0, 0.5], kind="f"), opsets=[13, 18, 19], sizes=sizes)
    yield from each("Resize", x("N", 2, "H", 3), None, None, const([1, 2, 6, 5]), opsets=[13, 18, 19], sizes=sizes)
    yield from each("Resize", x("N", 2, "H", 3), None, None, run([1, 2, 6, 5], [2, 2, 1, 1]), opsets=[13, 18, 19], sizes=sizes)
    for policy in ("stretch", "not_larger", "not_smaller"):
        for target in ([6, 5], [5, 6], [2, 9]):
            yield from each("Resize", x("N", 2, "H", 3), None, None, const(target), axes=[2, 3], keep_aspect_ratio_policy=policy, opsets=[18, 19], sizes=sizes)
            yield from each("Resize", x("N", 2, 4, 3), None, None, const(target), axes=[2, 3], keep_aspect_ratio_policy=policy, opsets=[18, 19])
    yield from each("Resize", x("N", 2, "H", 3), None, const([2.0, 1.5], "f"), axes=[2, 3], opsets=[18, 19], sizes=sizes)
    yield from each("Resize", x("N", 2, "H", 3), None, const([2.0, 1.5], "f"), axes=[3, 2], opsets=[18, 19], sizes=sizes)
    roi = const([0, 0, 0.1, 0.2, 1, 1, 0.7, 0.9], "f")
    yield from each("Resize", x("N", 2, "H", 10), roi, const([1.0, 1.0, 2.0, 2.0], "f"), coordinate_transformation_mode="tf_crop_and_resize", opsets=[11, 13, 18, 19], sizes=sizes)
    yield from each("Resize", x("N", 2, "H", 10), roi, None, const([1, 2, 6, 5]), coordinate_transformation_mode="tf_crop_and_resize", opsets=[13, 18, 19], sizes=sizes)
    yield from each("GridSample", x("N", 2, "H", 3), x("N", "A", "B", 2), sizes=sizes | {"A": (1, 3), "B": (2, 3)})
    yield from each("AffineGrid", x("N", 2, 3), const([2, 3, 4, 5]), sizes={"N": (2,)})
    yield from each("AffineGrid", x("N", 2, 3), run([2, 3, 4, 5], [2, 1, 6, 1]), sizes={"N": (2,)})
    yield from each("RoiAlign", x("N", 2, "H", 5), x("R", 4), x("R", kind="l", high=1), output_height=2, output_width=3, sizes=sizes)
    yield from each("MaxRoiPool", x("N", 2, "H", 5), x("R", 5), pooled_shape=[2, 3], sizes=sizes | {"R": (1, 2)})
    yield from each("DeformConv", x("N", 2, "H", "W"), const(np.ones((4, 2, 2, 2)), "f"), x("N", 8, "A", "B"), sizes={"H": (3, 4), "W": (3,), "A": (2, 3), "B": (2,), "N": (1, 2)})
    yield from each("MaxUnpool", x("N", 2, "H", 2), x("N", 2, "H", 2, kind="l", high=0), kernel_shape=[2, 2], strides=[2, 2], sizes={"H": (2, 3), "N": (1, 2)})
    yield from each("Col2Im", x("N", 4, "L"), const([3, 3]), const([2, 2]), sizes={"L": (4,)})
    yield from each("Det", x("N", 2, 2))


def layers() -> Iterator[Case]:
    three = const([1.0, 2.0, 3.0], "f")
    yield from each("BatchNormalization", x("N", 3, "H"), three, three, three, three)
    yield from each("BatchNormalization", x("N", 3), three, three, three, three)
    yield from each("BatchNormalization", x("N", 3, "H"), three, three, three, three, training_mode=1, outputs=3, opsets=[14, 15], sizes={"N": (1, 2), "H": (2, 3)})
    yield from each("InstanceNormalization", x("N", 3, "H"), three, three)
    for axis in (-1, 1, 0, -2):
        for outputs in (1, 3):
            scale = {-1: (3,), 1: ("M", 3), 0: ("N", "M", 3), -2: ("M", 3)}[axis]
            yield from each("LayerNormalization", x("N", "M", 3), x(*scale), x(*scale), axis=axis, outputs=outputs)
        yield from each("RMSNormalization", x("N", "M", 3), x(*scale), axis=axis, opsets=[23])
        yield from each("SimplifiedLayerNormalization", x("N", "M", 3), x(*scale), axis=axis, opsets=[17])
    yield from each("GroupNormalization", x("N", 4, "H"), const([1.0, 2.0], "f"), const([1.0, 2.0], "f"), num_groups=2, opsets=[18])
    yield from each("GroupNormalization", x("N", 4, "H"), const([1.0] * 4, "f"), const([1.0] * 4, "f"), num_groups=2, opsets=[21])
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        for direction, count in (("forward", 1), ("bidirectional", 2)):
            w, r = const(np.ones((count, gates * 2, 3)), "f"), const(np.ones((count, gates * 2, 2)), "f")
            for wanted in range(1, outputs + 1):
                yield from each(op, x("S", "N", 3), w, r, hidden_size=2, direction=direction, outputs=wanted, sizes={"S": (1, 2, 3), "N": (1, 2)})
            yield from each(op, x("S", "N", 3), w, r, None, x("N", kind="i"), x(count, "N", 2), hidden_size=2, direction=direction, outputs=outputs, sizes={"S": (5,), "N": (1, 2)})
            yield from each(op, x("N", "S", 3), w, r, hidden_size=2, direction=direction, outputs=outputs, layout=1, opsets=[14, 22], reference=op != "LSTM" or True, sizes={"S": (2, 3), "N": (1, 2)})
    yield from each("NonMaxSuppression", x("N", "B", 4), x("N", 2, "B"), const([3]), const([0.5], "f"), const([0.0], "f"))
    for op in ("RandomNormal", "RandomUniform"):
        yield from each(op, shape=[2, 3])
        yield from each(op, shape=[2, 3], dtype=TensorProto.DOUBLE)
    yield from each("Multinomial", x("N", 3), sample_size=4)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield from each(op, const(5))
        yield from each(op, run(5, 3))
    for rest in ({}, {"reduction": "none"}, {"reduction": "sum"}):
        yield from each("NegativeLogLikelihoodLoss", x("N", 3, "H"), x("N", "H", kind="l", high=1), **rest)
        yield from each("SoftmaxCrossEntropyLoss", x("N", 3, "H"), x("N", "H", kind="l", high=1), outputs=2, **rest)
    for onesided in (0, 1):
        yield from each("DFT", x("N", 6, 1), axis=1, onesided=onesided, opsets=[17])
        yield from each("DFT", x("N", 6, 1), None, const(1), onesided=onesided, opsets=[20])
        yield from each("DFT", x("N", 6, 1), const(4), axis=1, onesided=onesided, opsets=[17])
    yield from each("STFT", x("N", 8, 1), const(2), const(np.ones(4), "f"), const(4), onesided=1)
    yield from each("Attention", x("N", 2, "S", 4), x("N", 2, "T", 4), x("N", 2, "T", 6), opsets=[23])
    yield from each("Attention", x("N", "S", 8), x("N", "T", 8), x("N", "T", 12), q_num_heads=2, kv_num_heads=2, opsets=[23])
    yield from each("RotaryEmbedding", x("N", 2, "S", 4), x(6, 2), x(6, 2), x("N", "S", kind="l", high=1), opsets=[23], sizes={"S": (1, 2), "N": (1, 2)})


def _body(text: str) -> onnx.GraphProto:
    return onnx.parser.parse_graph(text)


def flow() -> Iterator[Case]:
    """Branches see the data of the case as `x1`; the condition is `x0`."""
    branches = {
        "same": "b () => (float[a, b] y) { y = Relu(x1) }",
        "doubled": "b () => (float[a, b] y) { y = Concat <axis = 0> (x1, x1) }",
        "turned": "b () => (float[a, b] y) { y = Transpose(x1) }",
        "flat": "b () => (float[a] y) { t = Constant <value_ints = [-1]> () y = Reshape(x1, t) }",
        "one": "b () => (float[a, b] y) { t = Constant <value_floats = [1.0]> () s = Constant <value_ints = [1, 1]> () y = Reshape(t, s) }",
    }
    for one in branches.values():
        for other in branches.values():
            condition = run(True, False, kind="?")
            inner = {"then_branch": _body(one), "else_branch": _body(other)}
            yield Case("If", 16, (condition, x("N", 3)._replace(captured=True)), inner)
    bodies = [
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Relu(v) }",
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Concat <axis = 0> (v, v) }",
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Transpose(v) }",
    ]
    for body in bodies:
        for times in (const(3), run(0, 1, 4)):
            yield Case("Loop", 16, (times, const(True, "?"), x("N", 3)), {"body": _body(body)}, sizes={"N": (1, 2, 3)})
    scanned = "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w, float[e, f] s) { d = Identity(c) w = Relu(v) s = Transpose(v) }"
    for times in (const(3), run(0, 1, 4)):
        yield Case("Loop", 16, (times, const(True, "?"), x("N", 3)), {"body": _body(scanned)}, 2, sizes={"N": (1, 2, 3)})
    ends = "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w, float[e, f] s) { k = Constant <value_int = 1> () d = Less(i, k) w = Relu(v) s = Neg(v) }"
    yield Case("Loop", 16, (const(3), const(True, "?"), x("N", 3)), {"body": _body(ends)}, 2, sizes={"N": (1, 2, 3)})
    step = "b (float[a] v, float[a] e) => (float[a] w, float[a] o) { w = Add(v, e) o = Neg(w) }"
    yield Case("Scan", 16, (x(3), x("S", 3)), {"body": _body(step), "num_scan_inputs": 1}, 2, sizes={"S": (1, 2, 3)})
    yield Case("Scan", 16, (x("N"), x("S", "N")), {"body": _body(step), "num_scan_inputs": 1}, 2, sizes=_FULL | {"S": (1, 2)})
    yield Case("Scan", 16, (x("N"), x("N", "S")), {"body": _body(step), "num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [1]}, 2, sizes=_FULL | {"S": (1, 2)})


def contributed() -> Iterator[Case]:
    """Of onnxruntime's own operators those that its optimised and quantised models are full of."""
    own: dict[str, Any] = {"domain": "com.microsoft"}
    scale, zero = const(0.5, "f"), const(1, "B")
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        yield from each(op, x("N", "S", 4), **own)
    for op in ("FastGelu", "BiasGelu"):
        yield from each(op, x("N", "S", 4), x(4), **own)
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        left, right = ("N", 3, "S") if a else ("N", "S", 3), ("N", "T", 3) if b else ("N", 3, "T")
        yield from each("FusedMatMul", x(*left), x(*right), transA=a, transB=b, **own)
    for op in ("QLinearAdd", "QLinearMul"):
        for left, right in PAIRS[:8]:
            yield from each(op, x(*left, kind="B"), scale, zero, x(*right, kind="B"), scale, zero, scale, zero, **own)
    yield from each("QLinearSigmoid", x("N", 3, kind="B"), scale, zero, scale, zero, **own)
    yield from each("QLinearLeakyRelu", x("N", 3, kind="B"), scale, zero, scale, zero, alpha=0.1, **own)
    yield from each("QLinearSoftmax", x("N", 3, kind="B"), scale, zero, scale, zero, axis=1, opset=13, sizes=_FULL, **own)
    for axis in (0, 1):
        yield from each("QLinearConcat", scale, zero, x("N", 3, kind="B"), scale, zero, x("N", 3, kind="B"), scale, zero, axis=axis, **own)
    four = const([1.0, 2.0, 3.0, 4.0], "f")
    yield from each("SkipLayerNormalization", x("N", "S", 4), x("N", "S", 4), four, four, sizes={"N": (1, 2), "S": (1, 3)}, **own)
    yield from each("SkipSimplifiedLayerNormalization", x("N", "S", 4), x("N", "S", 4), four, sizes={"N": (1, 2), "S": (1, 3)}, **own)
    yield from each("MultiHeadAttention", x("N", "S", 4), x("N", "T", 4), x("N", "T", 4), num_heads=2, sizes={"N": (1, 2), "S": (1, 3), "T": (1, 2)}, **own)
    yield from each("Attention", x("N", "S", 4), x(4, 12), x(12), num_heads=2, sizes={"N": (1, 2), "S": (1, 3)}, **own)


FAMILIES = [unary, binary, contractions, reductions, layout, indexing, spatial, layers, flow, contributed]
