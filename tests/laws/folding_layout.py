"""The world of folding: operators that move elements, and those that pick them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import onnx

from tests.laws.folding_world import FLOATS, INTEGERS, Case, Kinds, case, numbers

I64 = np.int64
TYPES: Kinds = (np.float32, np.float16, np.int64, np.int32, np.bool_)
Dims = tuple[int, ...]
GROWN: tuple[tuple[Dims, Dims], ...] = (
    *(((2, 1), (3,)), ((1, 3), (2, 1, 1)), ((3,), (3,)), ((), (2, 2)), ((1,), (0,)), ((2, 0), (1, 1))),
)
REPEATED: tuple[tuple[Dims, Dims], ...] = (*(((2, 3), (1, 2)), ((2, 3), (2, 1)), ((2,), (0,)), ((1, 2, 1), (3, 1, 2))),)
DIMS: tuple[Dims, ...] = ((2, 3), (1, 3, 2), (2, 0), (4,))


def _ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, I64)


def shapes() -> Iterator[Case]:
    """What changes the dims alone."""
    for dtype, dims in product(TYPES, (*DIMS, ())):
        x = numbers(dtype, dims)
        yield case("Size", x)
        yield case("Shape", x)
        for start, end in ((0, 1), (-1, None), (1, -1), (-9, 9), (2, 1)):
            yield case("Shape", x, least=15, start=start, end=end)
        yield case("Transpose", x)
        yield case("Transpose", x, perm=list(range(len(dims)))[::-1] or None)
        for axis in range(-len(dims), len(dims) + 1):
            yield case("Flatten", x, axis=axis, least=7 if axis >= 0 else 11)
    for dtype in TYPES:
        x = numbers(dtype, (2, 3, 4))
        yield case("Transpose", x, perm=[1, 2, 0])
        for target in ((-1,), (0, -1), (4, 0, 2), (2, 0, -1), (24,), (3, 2, 2, 2), (0, 0, 0)):
            yield case("Reshape", x, _ints(*target))
        for target in ((0, 3), (3, 0), (0, 5)):
            yield case("Reshape", numbers(dtype, (0, 3)), _ints(*target), allowzero=1, least=14)
        yield case("Reshape", numbers(dtype, ()), _ints())
        x = numbers(dtype, (1, 3, 1, 1))
        for axes in (None, [0], [-1], [0, 2], [3, -2], [-4, 3]):
            yield case("Squeeze", x, axes=axes, most=12)
            yield case("Squeeze", x, None if axes is None else _ints(*axes), least=13)
        for axes in ([0], [-1], [0, 3], [4, 0], [-1, -3], [1, 2]):
            yield case("Unsqueeze", numbers(dtype, (2, 3)), axes=axes, most=12)
            yield case("Unsqueeze", numbers(dtype, (2, 3)), _ints(*axes), least=13)


def growing() -> Iterator[Case]:
    for dtype in TYPES:
        for dims, target in GROWN:
            yield case("Expand", numbers(dtype, dims), _ints(*target))
        for dims, repeats in REPEATED:
            yield case("Tile", numbers(dtype, dims), _ints(*repeats))
        for axis in (0, 1, -1, -2):
            yield case("Concat", numbers(dtype, (2, 2)), numbers(dtype, (2, 2), 5), axis=axis)
            yield case("Concat", numbers(dtype, (2, 0)), numbers(dtype, (2, 0)), numbers(dtype, (2, 0)), axis=axis)
            yield case("Concat", numbers(dtype, (2, 2)), axis=axis)
        filler = onnx.numpy_helper.from_array(numbers(dtype, (1,), 3))
        for target in ((2, 3), (), (0,), (1, 0, 2)):
            yield case("ConstantOfShape", _ints(*target), value=filler)
            yield case("ConstantOfShape", _ints(*target))
        for start, limit, step in ((0, 5, 1), (5, 0, -2), (0, 0, 1), (3, 1, 1), (-2, 7, 3), (1, 2, 5)):
            given = (np.array(each, dtype) for each in (start, limit, step))
            if dtype is not np.bool_:
                yield case("Range", *given)
        for k, wanted in product((None, 0, 1, -1), (None, 1, 6, 7, 9, 11)):
            for dims in ((3, 3), (2, 4), (4, 2)):
                yield case("EyeLike", numbers(dtype, dims), k=k, dtype=wanted)
    yield case("Range", *(np.array(each, np.float32) for each in (0.0, 1.0, 0.3)))
    yield case("Range", *(np.array(each, np.float32) for each in (1.0, -1.0, -0.7)))


def pads() -> Iterator[Case]:
    wide = ((0, 1, 1, 0), (1, 1, 1, 1), (0, 2, 0, 0), (0, 0, 0, 0), (-1, 0, 0, -1), (1, -1, -1, 2), (0, -1, 0, 2))
    for dtype, mode, by in product((np.float32, np.int64, np.int32, np.bool_), ("constant", "reflect", "edge"), wide):
        x, filler = numbers(dtype, (2, 3)), numbers(dtype, (), 7)
        yield case("Pad", x, _ints(*by), mode=mode, least=11)
        yield case("Pad", x, _ints(*by), filler, mode=mode, least=11)
        yield case("Pad", x, pads=list(by), mode=mode, value=2.5, most=10)
    for by in wide:
        yield case("Pad", numbers(np.float32, (2, 3)), _ints(*by), mode="wrap", least=19)
    some: tuple[int, ...]
    for axes, some in (([1], (1, 2)), ([-1], (0, 2)), ([1, 0], (1, 0, 0, 2)), ([0], (-1, 3))):
        yield case("Pad", numbers(np.float32, (2, 3)), _ints(*some), np.float32(9), _ints(*axes), least=18)


def slices() -> Iterator[Case]:
    most = 2**63 - 1
    bounds = [
        *((0, 2, 1), (1, most, 1), (-2, most, 1), (0, -1, 1), (-99, 99, 2), (3, 1, 1), (9, 10, 1), (0, 2**31 - 1, 3)),
        *((-1, -most, -1), (3, 0, -1), (2, -99, -2), (-99, -99, -1), (99, -99, -1), (0, 4, -1), (1, -most - 1, -1)),
        *((0, most, -1), (-1, 2**31 - 1, -1), (2, most, -2), (1, 2**31 - 2, -1)),
    ]
    for dtype, (start, end, step) in product((np.float32, np.int64, np.bool_), bounds):
        x = numbers(dtype, (4, 5))
        for axis in (0, 1, -1):
            yield case("Slice", x, _ints(start), _ints(end), _ints(axis), _ints(step), least=10)
            if step == 1:
                yield case("Slice", x, starts=[start], ends=[end], axes=[axis], most=9)
        yield case("Slice", x, _ints(start, 1), _ints(end, 3), None, _ints(step, 2), least=10)
        if step == 1:
            yield case("Slice", x, _ints(start), _ints(end), least=10)
            yield case("Slice", x, starts=[start, 1], ends=[end, -1], most=9)
        short = [np.array([min(max(each, -(2**31)), 2**31 - 1)], np.int32) for each in (start, end, 0, step)]
        yield case("Slice", x, *short, least=10)


def splits() -> Iterator[Case]:
    for dtype, axis in product((np.float32, np.int64), (0, 1, -1)):
        x = numbers(dtype, (4, 6))
        yield case("Split", x, axis=axis, outputs=2, most=17)
        yield case("Split", x, axis=axis, outputs=2, num_outputs=2, least=18)
        yield case("Split", numbers(dtype, (7, 5)), axis=axis, outputs=3, num_outputs=3, least=18)
        for sizes in ((1, 3), (0, 4), (4, 0)):
            whole = [sizes[0], (4 if axis == 0 else 6) - sizes[0]]
            yield case("Split", x, _ints(*whole), axis=axis, outputs=2, least=13)
            yield case("Split", x, axis=axis, split=whole, outputs=2, most=12)


def picks() -> Iterator[Case]:
    for dtype, axis in product(TYPES, (0, 1, -1)):
        x = numbers(dtype, (3, 4))
        for kind, indices in product((I64, np.int32), ([0, 2], [-1, -3], [[1], [0]], 1, -2, [])):
            yield case("Gather", x, np.array(indices, kind), axis=axis)
        for kind in (I64, np.int32):
            indices = np.array([[0, -1, 2, 1], [1, 0, -3, 2]], kind)
            yield case("GatherElements", x, indices, axis=axis)
            updates = numbers(dtype, (2, 4), 20)
            distinct = np.array([[0, 1, 2, -1], [1, 2, 0, 1]] if axis == 0 else [[0, 1, 2, -1], [3, 2, -4, 1]], kind)
            for reduction in (None, "none", "add", "mul", "max", "min"):
                least = 7 if reduction is None else 18 if reduction in {"max", "min"} else 16
                yield case("ScatterElements", x, distinct, updates, axis=axis, reduction=reduction, least=least)
    for places in ([0, 2], [-1], [3, 1, 0], []):
        row, updates = np.array(places, I64), numbers(I64, (len(places),), 20)
        yield case("ScatterElements", numbers(I64, (4,)), row, updates, axis=0)


def picks_by_rows() -> Iterator[Case]:
    for dtype in TYPES:
        x = numbers(dtype, (2, 3, 4))
        for indices in ([[0, 1], [1, -1]], [[-2], [1]], [[[0, 0, 3]], [[1, -3, 0]]], [1]):
            yield case("GatherND", x, np.array(indices, I64))
        for indices in ([[0], [2]], [[-1], [1]]):
            yield case("GatherND", x, np.array(indices, I64), batch_dims=1, least=12)
        for reduction, least in ((None, 7), ("none", 16), ("add", 16), ("mul", 16), ("max", 18), ("min", 18)):
            rows, updates = np.array([[0, 1], [1, -1]], I64), numbers(dtype, (2, 4), 20)
            yield case("ScatterND", x, rows, updates, reduction=reduction, least=least)
            updates = numbers(dtype, (1, 3, 4), 30)
            yield case("ScatterND", x, np.array([[-1]], I64), updates, reduction=reduction, least=least)
        for upper, k in product((None, 0, 1), (None, 0, 1, -1, 5, -5)):
            for dims in ((3, 4), (2, 3, 2), (0, 3)):
                yield case("Trilu", numbers(dtype, dims, 1), None if k is None else np.array(k, I64), upper=upper)


def others() -> Iterator[Case]:
    kind: Any
    for kind, axis in product((I64, np.int32, np.float32), (None, 0, 1, -1, -2)):
        values = np.array([2, 5], np.float32)
        for depth in (np.array(3, kind), np.array([3], kind)):
            yield case("OneHot", np.array([0, 2, -1, -3, 3, -4], kind), depth, values, axis=axis)
            yield case("OneHot", np.array([[0, 2]], kind), depth, values.astype(I64), axis=axis)
    for dtype, dims in product((*FLOATS, *INTEGERS, np.bool_), ((2, 3), (), (0, 2), (1,))):
        yield case("NonZero", numbers(dtype, dims))
    for mode, dtype in product((None, "DCR", "CRD"), (np.float32, np.int64)):
        x = numbers(dtype, (1, 8, 2, 3))
        yield case("DepthToSpace", x, blocksize=2, mode=mode, least=7 if mode is None else 11)
        yield case("SpaceToDepth", numbers(dtype, (1, 2, 4, 6)), blocksize=2)
