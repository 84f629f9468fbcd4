"""Operators that move and choose elements in the small world of shapes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import TensorProto, helper

from tests.laws.shape_cases import FULL, LONG, each
from tests.laws.shape_law import Case, const, run, shape_of, size, x


def layout() -> Iterator[Case]:
    yield from each("Reshape", x("N", 6), const([0, 2, -1]))
    yield from each("Reshape", x("N", 6), const([-1, 4]))
    yield from each("Reshape", x("N", 6), const([3, -1]), opsets=[14, 19, 21], allowzero=1)
    yield from each("Reshape", x("N", 0), const([0, 0]), opsets=[14, 19, 21], allowzero=1)
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
        for op, dims in (
            ("Squeeze", (1, "N", 1)),
            ("Squeeze", (1, 1, "N")),
            ("Squeeze", ("N", 1, "M")),
            ("Unsqueeze", ("N", 3)),
        ):
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
    yield from each("Concat", x("N", 3), x("M", 2), axis=1, sizes=FULL)
    yield from each("Concat", shape_of("N", 2), const([3]), shape_of("M"), axis=0)
    yield from each("Concat", run([1], [2]), const([3]), axis=0)
    yield from each("Shape", x("N", 2, "M"))
    for start, end in ((0, 2), (1, None), (-1, None), (-2, -1), (0, -1), (-9, 9), (2, 1), (5, None)):
        rest = {"start": start} if end is None else {"start": start, "end": end}
        yield from each("Shape", x("N", 2, "M"), opsets=[15, 19, 21], **rest)
    yield from each("Size", x("N", 2, "M"))
    yield from each("Size", x())
    for values in (
        helper.make_tensor("v", TensorProto.INT64, [2], [1, 2]),
        helper.make_tensor("v", TensorProto.FLOAT, [], [1.0]),
    ):
        yield from each("Constant", value=values)
    for rest in ({"value_int": 3}, {"value_ints": [1, 2]}, {"value_float": 3.0}, {"value_floats": [1.0]}):
        yield from each("Constant", opsets=[12, 13, 19, 21], **rest)
    for fill in (
        {},
        {"value": helper.make_tensor("v", TensorProto.INT64, [1], [7])},
        {"value": helper.make_tensor("v", TensorProto.BOOL, [1], [True])},
    ):
        for shape in (
            const([2, 3]),
            const(np.empty(0, np.int64)),
            shape_of("N", 2),
            const([3]),
            run([2, 3], [1, 0]),
            run([2], [], dims=["K"]),
        ):
            yield from each("ConstantOfShape", shape, **fill)
    for target in (
        const([2, 3]),
        const([3]),
        const([1]),
        const([2, 1, 1]),
        const([1, 1]),
        const([1, 3]),
        shape_of("M", 3),
        shape_of("M", "N", 3),
        run([2, 3], [1, 3], [5, 1]),
        run([2, 1, 1], [3], dims=["K"]),
        const([0, 3]),
    ):
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
            yield from each(
                "Split",
                x("N", "M"),
                outputs=count,
                axis=axis,
                num_outputs=count,
                opsets=[18],
                sizes={"N": LONG, "M": LONG},
            )
    for axis in (0, -1):
        yield from each(
            "Split", x("N", 6), run([1, 5], [2, 4], [3, 3]), outputs=2, axis=axis, opsets=[13, 18], sizes={"N": (6, 1)}
        )
    yield from each("Split", shape_of("N", 2, "M"), const([1, 2]), outputs=2, axis=0, opsets=[13, 18])
    yield from each("ReverseSequence", x(3, "N", 2), const([1, 1]), opsets=None, sizes={"N": (2,)})
    for op, dims in (("DepthToSpace", ("N", 4, "H", 3)), ("SpaceToDepth", ("N", 2, "H", 4))):
        yield from each(op, x(*dims), blocksize=2, sizes={"H": (2, 4, 6, 0)})
    yield from each("DepthToSpace", x("N", "C", 2, 3), blocksize=2, mode="CRD", opsets=[11, 13], sizes={"C": (4, 8)})


EDGES = (0, 1, 2, 5, -1, -2, -7, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 10**9)


def indexing() -> Iterator[Case]:
    for axis in (0, 1, -1):
        for indices in (
            x("K", kind="l", high=1),
            x(2, "K", kind="l", high=1),
            x(kind="l", high=1),
            const([0, 0]),
            const(0),
        ):
            yield from each("Gather", x("N", 3, "M"), indices, axis=axis)
        yield from each("GatherElements", x("N", 3), x("N", 2, kind="l", high=1), axis=axis)
        yield from each("GatherElements", x("N", 3), x("K", 2, kind="l", high=1), axis=axis)
        for op in ("ScatterElements", "Scatter"):
            yield from each(op, x("N", 3), x("N", 2, kind="l", high=1), x("N", 2), axis=axis)
    for index in (const(0), const([0]), const([1, 0]), const(-1), const([[0, 2]]), run([0], [2]), run(0, -1)):
        yield from each("Gather", shape_of("N", 3, "M"), index, axis=0)
    for places, sizes in (([1], [5]), ([-1, 0], [7, 9]), ([2], [0]), ([1], [1])):
        yield from each("ScatterElements", shape_of("N", 3, "M"), const(places), const(sizes), axis=0)
    yield from each("ScatterElements", shape_of("N", 3, "M"), run([0], [2]), const([4]), axis=0)
    yield from each("ScatterElements", shape_of("N", 3, "M"), const([0]), run([4], [2]), axis=0)
    yield from each(
        "ScatterElements", shape_of("N", 3), const([1]), const([4]), axis=0, reduction="add", opsets=[16, 18]
    )
    yield from each("Scatter", shape_of("N", 3), const([0]), const([4]), axis=0)
    for dims, last, batch in (
        (("N", 3, 4), 1, 0),
        (("N", 3, 4), 2, 0),
        (("N", 3, 4), 3, 0),
        (("N", 3, 4), 1, 1),
        (("N", 3, 4), 2, 1),
    ):
        front = ("N", 2) if batch else ("K",)
        yield from each("GatherND", x(*dims), x(*front, last, kind="l", high=1), batch_dims=batch, opsets=[12, 13])
    yield from each("GatherND", x("N", 3), x("K", 1, kind="l", high=1), opsets=[11])
    yield from each("GatherND", x(3, 4), x(2, "L", kind="l", high=1), sizes={"L": (1, 2)})
    yield from each("ScatterND", x("N", 3), x("K", 1, kind="l", high=1), x("K", 3))
    for start in EDGES:
        for end in EDGES:
            yield from each(
                "Slice", x("N", 5), const([start]), const([end]), const([0]), opsets=[13], sizes={"N": (1, 3, 6, 0)}
            )
    for start in EDGES:
        for end in EDGES:
            for step in (-1, -2, 3):
                words = (const([start]), const([end]), const([0]), const([step]))
                yield from each("Slice", x("N", 5), *words, opsets=[13], sizes={"N": (1, 3, 6, 0)})
    for start, end, step in (
        (-1, -7, -1),
        (-1, -9, -2),
        (5, 0, -1),
        (2**31, -(2**31), -1),
        (2**63 - 1, -(2**63), -1),
        (0, 9, 2),
        (1, 2**31, 2),
        (1, 6, 3),
        (4, 1, -1),
        (3, 3, 1),
    ):
        yield from each(
            "Slice",
            x("N", 5),
            const([start]),
            const([end]),
            const([0]),
            const([step]),
            opsets=[10, 11, 13],
            sizes={"N": (1, 3, 6, 0)},
        )
        yield from each("Slice", x("N", 5), const([start]), const([end]), const([-1]), const([step]), opsets=[11, 13])
        yield from each(
            "Slice", shape_of("N", 2, "M", 4), const([start]), const([end]), const([0]), const([step]), opsets=[13]
        )
    for start, end in ((0, 2), (1, -1), (-2, 2**63 - 1), (-2, 2**31 - 1), (1, 9), (3, 1), (-9, 2)):
        yield from each("Slice", x("N", 5), starts=[start], ends=[end], axes=[0], opsets=[7])
        yield from each("Slice", x("N", 5), starts=[start, 1], ends=[end, 4], opsets=[7])
        yield from each("Slice", x("N", 5), const([start, 1]), const([end, 4]), opsets=[10, 13])
    for which in range(3):
        words = [
            run([0], [1], [-1]) if which == 0 else const([1]),
            run([2], [1], [9]) if which == 1 else const([3]),
            run([0], [1], [-1]) if which == 2 else const([0]),
        ]
        yield from each("Slice", x("N", 5), *words, opsets=[13])
    yield from each("Slice", x("N", 5), const([1]), const([4]), const([0]), run([1], [2]), opsets=[13])
    yield from each("Slice", x("N", 5), run([1], [0, 0], dims=["K"]), run([4], [9, 9], dims=["K"]), opsets=[13])
    yield from each("Slice", x("N", "M"), const([0]), shape_of("M"), const([0]), opsets=[13])
    yield from each("Slice", x("N", "M"), shape_of("M"), const([2**31 - 1]), const([0]), opsets=[13])
    yield from each("Slice", x("N", 5), const([0]), const([2]), shape_of("N"), opsets=[13], sizes={"N": (0, 1)})
    for axis in (None, 0, 1, -1):
        rest = {} if axis is None else {"axis": axis}
        yield from each("Compress", x("N", 3), x("K", kind="?"), **rest)
        yield from each("Compress", x("N", 3), const([True, False, True], "?"), **rest)
        yield from each("Unique", x("N", 3), outputs=4, **rest)
        yield from each(
            "OneHot",
            x("N", 3, kind="l", high=1),
            const(4),
            const([0.0, 1.0], "f"),
            **({} if axis is None else {"axis": axis}),
        )
        yield from each("OneHot", x("N", 3, kind="l", high=1), run(4, 2, 7), const([0.0, 1.0], "f"), **rest)
        yield from each("OneHot", x("N", 3, kind="l", high=1), const([4]), const([0.0, 1.0], "f"), **rest)
    yield from each("NonZero", x("N", 3))
    yield from each("NonZero", x())
    for array, kind in (
        ([1, 1, 1], "l"),
        ([[0, 2], [-1, 3]], "l"),
        ([True, False, True], "?"),
        ([0.0, -0.0, 1e-3], "f"),
    ):
        yield from each("NonZero", const(array, kind))
    yield from each("NonZero", const([0, 0]))
    yield from each("NonZero", const(3))
    yield from each("NonZero", shape_of("N", 3, "M"))
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
    yield from each("CumProd", x("N", 3), const(1), opsets=[26])
