"""What may come next in a wild model: one step of each kind, on any tensors that are there."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import helper

from tests.laws.batching_law import Unfit
from tests.laws.batching_sketch import FLOAT, INT
from tests.laws.batching_trials import Wild


def pointwise(w: Wild) -> str:
    kind = w.rng.choice(("f", "f", "i"))
    op = w.rng.choice(("Add", "Sub", "Mul", "Min", "Max") if w.opset >= 12 or kind == "f" else ("Add", "Sub", "Mul"))
    name = w.pick(kind)
    pair = [name, w.beside(name)]
    w.rng.shuffle(pair)
    return w.op(op, *pair)


def alone(w: Wild) -> str:
    if w.rng.random() < 0.3:
        return w.op("Neg", w.pick("i"))
    return w.op(w.rng.choice(("Relu", "Neg", "Tanh", "Identity", "Floor")), w.pick("f"))


def compared(w: Wild) -> str:
    kind = w.rng.choice(("f", "i"))
    name = w.pick(kind)
    ops = ("Less", "Greater", "Equal") if w.opset >= 11 or kind == "i" else ("Less",)
    return w.op(w.rng.choice(ops), name, w.beside(name))


def chosen(w: Wild) -> str:
    kind = w.rng.choice(("f", "i"))
    condition = w.pick("b")
    one = w.beside(condition, kind=kind)
    pair = [one, w.beside(condition, one, kind=kind)]
    w.rng.shuffle(pair)
    return w.op("Where", condition, *pair)


def cast(w: Wild) -> str:
    return w.op("Cast", w.pick("fib"), to=w.rng.choice((1, 7, 7, 9)))


def joined(w: Wild) -> str:
    name = w.pick(w.rng.choice(("f", "i")), 1)
    array, axis = w.arrays[name], w.axis(name) % w.arrays[name].ndim
    around = (*array.shape[:axis], *array.shape[axis + 1 :])
    fit = [
        each
        for each, other in w.arrays.items()
        if other.dtype == array.dtype
        and other.ndim == array.ndim
        and (*other.shape[:axis], *other.shape[axis + 1 :]) == around
    ]
    names = [name, *w.rng.choices(fit, k=w.rng.choice((1, 1, 2)))]
    w.rng.shuffle(names)
    return w.op("Concat", *names, axis=axis)


def shaped(w: Wild) -> str:
    return w.op("Shape", w.pick("fib"))


def reshaped(w: Wild) -> str:
    name = w.pick("fi")
    if w.rng.random() < 0.5:
        return w.op("Reshape", name, w.vector())
    count, dims = w.arrays[name].size, list[int]()
    while count > 1 and len(dims) < 3:
        part = w.rng.choice([each for each in range(1, count + 1) if count % each == 0])
        dims.append(part)
        count //= part
    target = [*dims, count]
    w.rng.shuffle(target)
    if w.rng.random() < 0.5:
        target[w.rng.randrange(len(target))] = -1
    if w.rng.random() < 0.3:
        place = w.rng.randrange(len(target))
        parts = [w.number() if each == place else w.ints(number) for each, number in enumerate(target)]
        return w.op("Reshape", name, w.op("Concat", *parts, axis=0))
    return w.op("Reshape", name, w.ints(*target))


def turned(w: Wild) -> str:
    name = w.pick("fi", 2)
    rank = w.arrays[name].ndim
    return w.op("Transpose", name, perm=w.rng.sample(range(rank), rank))


def expanded(w: Wild) -> str:
    return w.op("Expand", w.pick("fi"), w.vector(w.rng.choice((1, 1, 2, 2, 3))))


def tiled(w: Wild) -> str:
    name = w.pick("fi", 1)
    return w.op("Tile", name, w.vector(w.arrays[name].ndim))


def filled(w: Wild) -> str:
    value = helper.make_tensor("value", 7, [1], [w.rng.choice((0, 1, 2))])
    return w.op("ConstantOfShape", w.vector(w.rng.choice((1, 2, 3))), value=value if w.rng.random() < 0.5 else None)


def ranged(w: Wild) -> str:
    if w.opset < 11:
        raise Unfit
    limit = w.op("Reshape", w.number(), w.const(np.empty(0, np.int64)))
    start, step = w.rng.choice(((0, 1), (0, 1), (0, 1), (-1, 1), (1, 1), (0, 2)))
    return w.op("Range", w.const(start, INT), limit, w.const(step, INT))


def shifted(w: Wild) -> str:
    """Integers plus or times a small constant."""
    return w.op(w.rng.choice(("Add", "Sub", "Mul")), w.pick("i"), w.const(w.rng.choice((-1, 1, 2, 3)), INT))


def column(w: Wild) -> str:
    name = w.pick("i", 1)
    return unsqueezed(w, name)


def unsqueezed(w: Wild, name: str | None = None) -> str:
    name = name or w.pick("fib")
    axis = w.rng.randrange(w.arrays[name].ndim + 1)
    return w.listed("Unsqueeze", 13, "axes", [axis], name)


def squeezed(w: Wild) -> str:
    name = w.pick("fib", 1)
    axes = [axis for axis, dim in enumerate(w.arrays[name].shape) if dim == 1]
    if not axes:
        raise Unfit
    return w.listed("Squeeze", 13, "axes", w.rng.sample(axes, w.rng.randint(1, len(axes))), name)


def flattened(w: Wild) -> str:
    name = w.pick("f")
    return w.op("Flatten", name, axis=w.rng.randint(0, w.arrays[name].ndim))


def sliced(w: Wild) -> str:
    name = w.pick("fi", 1)
    axis = w.axis(name)
    if w.opset < 10:
        bounds = w.rng.choice(((0, 1), (0, 2**63 - 1), (-1, 2**63 - 1), (0, -1), (1, 2)))
        return w.op("Slice", name, starts=[bounds[0]], ends=[bounds[1]], axes=[axis % w.arrays[name].ndim])
    if w.rng.random() < 0.4:
        return w.op("Slice", name, w.vector(1), w.vector(1), w.ints(axis))
    end = w.vector(1) if w.rng.random() < 0.4 else w.ints(w.rng.choice((1, 2, -1, 2**63 - 1, -(2**63) + 1)))
    step = w.ints(w.rng.choice((1, 1, 2, -1)))
    return w.op("Slice", name, w.ints(w.rng.choice((0, 0, 1, -1))), end, w.ints(axis), step)


def split(w: Wild) -> str:
    name = w.pick("fi", 1)
    axis = w.axis(name)
    if w.opset >= 13 and w.rng.random() < 0.6:
        return w.op("Split", name, w.vector(2), axis=axis, outputs=2)
    return w.op("Split", name, axis=axis, outputs=2, num_outputs=2 if w.opset >= 18 else None)


def padded(w: Wild) -> str:
    name = w.pick("f", 1)
    rank = w.arrays[name].ndim
    if w.opset >= 11 and w.rng.random() < 0.4:
        return w.op("Pad", name, w.vector(2 * rank))
    pads = [w.rng.choice((0, 0, 0, 1)) for _ in range(2 * rank)]
    mode = w.rng.choice(("constant", "edge", "reflect"))
    return w.listed("Pad", 11, "pads", pads, name, mode=mode)


def gathered(w: Wild) -> str:
    name = w.pick("fi", 1)
    axis = w.axis(name)
    dim = w.arrays[name].shape[axis]
    return w.op("Gather", name, w.indices(dim), axis=axis)


def elements(w: Wild) -> str:
    """By element; onnxruntime does not look whether all indices are within data."""
    if w.opset < 11:
        raise Unfit
    name = w.pick("fi", 1)
    data, axis = w.arrays[name], w.axis(name)
    indices = w.indices(data.shape[axis], 1)
    if w.arrays[indices].ndim != data.ndim or any(np.greater(w.arrays[indices].shape, data.shape)):
        raise Unfit
    if w.rng.random() < 0.6:
        return w.op("GatherElements", name, indices, axis=axis)
    same = [each for each, array in w.arrays.items() if array.dtype == data.dtype]
    fit = [each for each in same if w.arrays[each].shape == w.arrays[indices].shape]
    if not fit:
        raise Unfit
    return w.op("ScatterElements", name, indices, w.rng.choice(fit), axis=axis)


def by_rows(w: Wild) -> str:
    """By rows of numbers."""
    if w.opset < 12:
        raise Unfit
    name = w.pick("fi", 1)
    data, lead = w.arrays[name], w.rng.choice((0, 0, 1))
    indices = w.indices(max(data.shape), 1)
    rows = w.arrays[indices]
    limits = np.array(data.shape[lead:][: rows.shape[-1]])
    if (
        lead >= min(rows.ndim, data.ndim)
        or len(limits) != rows.shape[-1]
        or (rows >= limits).any()
        or (rows < -limits).any()
    ):
        raise Unfit
    if lead or w.rng.random() < 0.6:
        return w.op("GatherND", name, indices, batch_dims=lead)
    wanted = (*rows.shape[:-1], *data.shape[rows.shape[-1] :])
    fit = [each for each, array in w.arrays.items() if array.dtype == data.dtype and array.shape == wanted]
    if not fit:
        fit = [w.const(np.arange(prod(wanted)).reshape(wanted), data.dtype)]
    return w.op("ScatterND", name, indices, w.rng.choice(fit))


def multiplied(w: Wild) -> str:
    kind = w.rng.choice(("f", "f", "i"))
    return w.op("MatMul", w.pick(kind, 1), w.pick(kind, 1))


def linear(w: Wild) -> str:
    given = [w.pick("f", 2), w.pick("f", 2), *([w.pick("f")] if w.rng.random() < 0.5 or w.opset < 11 else [])]
    return w.op("Gemm", *given, transA=w.rng.randint(0, 1), transB=w.rng.randint(0, 1))


def summed(w: Wild) -> str:
    name = w.pick("fi", 1)
    op = w.rng.choice(("ReduceSum", "ReduceMax", "ReduceProd", "ReduceMean"))
    since = 13 if op == "ReduceSum" else 18
    return w.listed(op, since, "axes", [w.axis(name) % w.arrays[name].ndim], name, keepdims=w.rng.randint(0, 1))


def found(w: Wild) -> str:
    name = w.pick("f", 1)
    return w.op("ArgMax", name, axis=w.axis(name) % w.arrays[name].ndim, keepdims=w.rng.randint(0, 1))


def normalized(w: Wild) -> str:
    name = w.pick("f", 1)
    op = w.rng.choice(("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"))
    given = {"p": w.rng.choice((1, 2))} if op == "LpNormalization" else {}
    return w.op(op, name, axis=w.axis(name) % w.arrays[name].ndim, **given)


def running(w: Wild) -> str:
    if w.opset < 11:
        raise Unfit
    name = w.pick("f", 1)
    return w.op("CumSum", name, w.const(w.axis(name), INT), reverse=w.rng.randint(0, 1))


def largest(w: Wild) -> str:
    name = w.pick("f", 1)
    return w.op("TopK", name, w.vector(1), axis=w.axis(name) if w.opset >= 11 else -1, outputs=2)


def hot(w: Wild) -> str:
    values = w.const([0, 1], np.float32)
    return w.op("OneHot", w.pick("i"), w.number(), values, axis=w.rng.choice((-1, 0, 1)))


def resized(w: Wild) -> str:
    if w.opset < 13:
        raise Unfit
    name = w.pick("f", 1)
    rank = w.arrays[name].ndim
    if w.rng.random() < 0.4:
        return w.op("Resize", name, "", "", w.vector(rank), mode="nearest")
    scales = w.const([w.rng.choice((1, 1, 1, 2)) for _ in range(rank)], np.float32)
    return w.op("Resize", name, "", scales, mode=w.rng.choice(("nearest", "linear")))


def equation(w: Wild) -> str:
    if w.opset < 12:
        raise Unfit
    terms = w.rng.choice(("ab,ab->ab", "ab,bc->ac", "ab,cb->acb", "ab->ba", "abc,ac->ab", "ab,b->a", "a,b->ab"))
    given = terms.split("->", maxsplit=1)[0].split(",")
    names = [w.pick("f", 1) for _ in given]
    sizes: dict[str, int] = {}
    for term, name in zip(given, names, strict=True):  # onnxruntime dies of letters that do not fit
        dims = w.arrays[name].shape
        if len(term) != len(dims) or any(sizes.setdefault(*pair) != pair[1] for pair in zip(term, dims, strict=True)):
            raise Unfit
    return w.op("Einsum", *names, equation=terms)


def convolved(w: Wild) -> str:
    return w.op("Conv", w.pick("f", 3), w.pick("f", 3))


def pooled(w: Wild) -> str:
    name = w.pick("f", 3)
    op = w.rng.choice(("MaxPool", "AveragePool"))
    return w.op(op, name, kernel_shape=[w.rng.choice((1, 2)) for _ in range(w.arrays[name].ndim - 2)])


def constant(w: Wild) -> str:
    """Another constant: often with as many rows as there are samples, the same or not."""
    dims = [w.rng.choice((1, 2, 3, w.sketch.size)) for _ in range(w.rng.choice((0, 1, 2, 2, 3)))]
    if w.rng.random() < 0.4:
        return w.const(w.seed.integers(-1, 3, dims), INT)
    numbers = (
        np.zeros(dims) + w.rng.choice((0.5, 1.5)) if w.rng.random() < 0.4 else np.arange(prod(dims)).reshape(dims) * 0.5
    )
    return w.const(numbers, np.float32)


def another(w: Wild) -> str:
    """Another input: of samples, of numbers that each sample has, or of what all share."""
    axis = w.rng.choice((0, 0, 1, 2))
    turn = w.rng.random()
    if turn < 0.35:
        return w.input(FLOAT, -4, 5, axis)
    if turn < 0.6:
        return w.input(INT, w.rng.choice((-1, 0)), 3, axis)
    if turn < 0.75:
        return w.input(FLOAT, -4, 5, None)
    return w.numbers(w.rng.choice((1, 1, 2)), w.rng.choice((-1, 0, 1)), w.rng.choice((2, 3)))
