"""Cases for operators on images, and for tensors whose dims are computed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import numpy as np
from onnx import numpy_helper

from tests.laws.batching_pointwise import IMAGES, PLACES
from tests.laws.batching_sketch import FLOAT, INT, Sketch, opsets

BYTE = np.dtype(np.uint8)


def _weights(s: Sketch, op: str, channels: int, space: int, kind: Any) -> str:
    dims = (channels, 3, *[2] * space) if op == "ConvTranspose" else (3, channels, *[2] * space)
    return s.const((np.arange(int(np.prod(dims))) * 3 % 7).reshape(dims), kind)


def convolutions() -> Iterator[Sketch]:
    for op, kind in (("Conv", FLOAT), ("ConvTranspose", FLOAT), ("ConvInteger", BYTE), ("QLinearConv", BYTE)):
        turn = cycle(opsets(op, 10 if kind == BYTE else 7))
        for dims, axis, outer, inner, size in IMAGES:
            if min(dims[2:]) < 2:
                continue
            s = Sketch(op, next(turn), size, free=axis == 0)
            x = s.x(dims, axis, outer, inner, dtype=kind, low=0)
            yield s.out(_convolved(s, x, _weights(s, op, dims[1], len(dims) - 2, kind)))
        for mine, bias in product((True, False), (True, False)):
            s = Sketch(op, max(next(turn), 9))
            shared = np.arange(18).reshape(1, 2, 3, 3)
            x = s.x((1, 2, 3, 3), 0, dtype=kind, low=0) if mine else s.const(shared, kind)
            first, second = (2, 3) if op == "ConvTranspose" else (3, 2)
            w = s.x((first, second, 2, 2), 0, 1, first, dtype=kind, low=0)
            yield s.out(_convolved(s, x, w, *([s.x((3,), 0, 1, 3)] if bias and kind == FLOAT else [])))


def deformed_convolutions() -> Iterator[Sketch]:
    for constant, mask, size in product((True, False), (True, False), (1, 2)):
        s = Sketch("DeformConv", (19, 22)[size - 1], size, free=constant or size == 1)
        x, dims = s.x((size, 1, 3, 3), low=0), (size, 8, 2, 2)
        offset = s.const(np.full(dims, 0.25), np.float32) if constant else s.x(dims, low=0, high=1)
        more = ["", s.const(np.full((size, 4, 2, 2), 0.5), np.float32)] if mask else []
        yield s.out(s.op("DeformConv", x, s.floats(1, 1, 2, 2), offset, *more, kernel_shape=[2, 2]))
    for axis, dims, kernel in ((1, (1, 1, 5, 5), (2, 2)), (2, (1, 1, 1, 5), (1, 2))):
        for opset in (19, 22):
            s = Sketch("DeformConv", opset, free=False)
            places = (1, 2 * kernel[0] * kernel[1], dims[2] - kernel[0] + 1, dims[3] - kernel[1] + 1)
            offset = s.const(np.zeros(places), np.float32)
            yield s.out(s.op("DeformConv", s.x(dims, axis), s.floats(1, 1, *kernel), offset, kernel_shape=kernel))


def _convolved(s: Sketch, x: str, w: str, *bias: str) -> str:
    if s.about == "QLinearConv":
        scale, zero = s.const(0.5, np.float32), s.const(1, np.uint8)
        return str(s.op("QLinearConv", x, scale, zero, w, scale, zero, s.const(4.0, np.float32), zero))
    if s.about == "ConvInteger":
        return str(s.op("ConvInteger", x, w, s.const(1, np.uint8)))
    return str(s.op(s.about, x, w, *bias, strides=None))


POOLS: dict[str, dict[str, Any]] = {
    "AveragePool": {"kernel": 2, "count_include_pad": 1},
    "MaxPool": {"kernel": 2},
    "LpPool": {"kernel": 2},
    "GlobalAveragePool": {},
    "GlobalMaxPool": {},
    "GlobalLpPool": {},
}


def pools() -> Iterator[Sketch]:
    for op, given in POOLS.items():
        turn = cycle(opsets(op, 7, 20))
        for dims, axis, outer, inner, size in IMAGES:
            if min(dims[2:]) < 2 and given:
                continue
            s = Sketch(op, next(turn), size, free=axis <= 1)
            attributes = {name: value for name, value in given.items() if name != "kernel"}
            if given:
                attributes["kernel_shape"] = [given["kernel"]] * (len(dims) - 2)
            yield s.out(s.op(op, s.x(dims, axis, outer, inner), **attributes))
        for axis in (0, 1, 2, 3):
            s = Sketch(op, 11, 2, free=axis <= 1)
            attributes = {"kernel_shape": [2, 2]} if given else {}
            yield s.out(s.op(op, s.x([2 if place == axis else 3 for place in range(4)], axis), **attributes))
    for op in ("DepthToSpace", "SpaceToDepth"):
        turn = cycle(opsets(op))
        for mode in ("DCR", "CRD"):
            for dims, axis, outer, inner, size in (
                ((1, 4, 2, 4), 0, 1, 1, 1),
                ((6, 4, 2, 2), 0, 2, 3, 1),
                ((2, 4, 2, 2), 0, 1, 1, 2),
                ((2, 4, 4, 2), 1, 1, 4, 1),
                ((2, 4, 4, 2), 1, 4, 1, 1),
                ((1, 4, 2, 2), 2, 2, 1, 1),
                ((1, 4, 2, 2), 3, 1, 2, 1),
            ):
                s = Sketch(op, next(turn), size, free=axis == 0)
                with_mode = mode if op == "DepthToSpace" and s.opset >= 11 else None
                yield s.out(s.op(op, s.x(dims, axis, outer, inner), blocksize=2, mode=with_mode))


def blocks() -> Iterator[Sketch]:
    """Col2Im: two blocks of two along an axis, or four of four in a square."""
    turn = cycle(opsets("Col2Im"))
    for square, (dims, axis, outer, inner, size) in product(
        (False, True),
        (
            ((1, 2, 1), 0, 1, 1, 1),
            ((6, 1, 1), 0, 2, 3, 1),
            ((4, 2, 1), 0, 1, 4, 1),
            ((2, 1, 1), 0, 1, 1, 2),
            ((6, 2, 1), 0, 1, 1, 6),
            ((1, 2, 1), 1, 1, 2, 1),
            ((2, 6, 1), 1, 2, 3, 1),
            ((1, 6, 1), 1, 1, 2, 3),
        ),
    ):
        count = 4 if square else 2
        given = (dims[0], dims[1] * count, dims[2] * count)
        image, block = ((3, 3), (2, 2)) if square else ((3,), (2,))
        s = Sketch("Col2Im", next(turn), size)
        x = s.x(given, axis, outer, inner * count if axis == 1 else inner)
        yield s.out(s.op("Col2Im", x, s.ints(*image), s.ints(*block)))
    for dims, axis, outer, inner, size in (
        ((1, 4, 4), 1, 1, 4, 1),
        ((1, 4, 4), 1, 2, 2, 1),
        ((1, 8, 4), 1, 8, 1, 1),
        ((1, 4, 4), 1, 1, 2, 2),
        ((1, 4, 4), 2, 1, 4, 1),
        ((1, 4, 4), 2, 2, 1, 2),
    ):
        s = Sketch("Col2Im", next(turn), size, free=(axis, outer, inner) == (1, 1, 4))
        # A Transpose before it, and not a Reshape, which would find a better axis for the samples.
        x = s.op("Transpose", s.x(dims, axis, outer, inner), perm=[0, 1, 2])
        yield s.out(s.op("Col2Im", x, s.ints(3, 3), s.ints(2, 2)))
    ways: tuple[dict[str, Any], ...] = (
        {"strides": [2, 1], "pads": [0, 1, 2, 0]},
        {"dilations": [2, 1], "pads": [1, 0, 0, 0]},
        {"strides": [3, 3]},
    )
    for size, way in product((1, 3), ways):
        s = Sketch("Col2Im", next(turn), size)
        image, steps, wide = (4, 4), way.get("strides", [1, 1]), way.get("dilations", [1, 1])
        pads = way.get("pads", [0] * 4)
        places = [(image[at] + pads[at] + pads[at + 2] - wide[at] - 1) // steps[at] + 1 for at in (0, 1)]
        x = s.x((size, 8, places[0] * places[1]))
        yield s.out(s.op("Col2Im", x, s.const_node(image, INT), s.ints(2, 2), **way))


def resized() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in IMAGES:
        scales = [1.0 if place == axis or place < 2 else 2.0 for place in range(len(dims))]
        twice = [2.0 if place == axis else 1.0 for place in range(len(dims))]
        for opset, factors in ((7, scales), (9, scales), (9, twice)):
            s = Sketch("Upsample", opset, size, free=factors == scales)
            x = s.x(dims, axis, outer, inner)
            made = s.op("Upsample", x, scales=factors) if opset == 7 else s.op("Upsample", x, s.const(factors, FLOAT))
            yield s.out(made)
        s = Sketch("Resize", 10, size)
        yield s.out(s.op("Resize", s.x(dims, axis, outer, inner), s.const(scales, FLOAT)))
        for opset, by in product((11, 13, 18, 19), ("scales", "sizes", "computed", "axes")):
            if by == "axes" and opset < 18:
                continue
            s = Sketch("Resize", opset, size)
            x = s.x(dims, axis, outer, inner)
            yield s.out(_resized(s, x, (dims, axis), scales, by))
        s = Sketch("Resize", 13, size, free=False)
        yield s.out(s.op("Resize", s.x(dims, axis, outer, inner), "", s.const(twice, FLOAT), mode="nearest"))
    yield from _cropped()
    s = Sketch("Resize", 13)
    shared, x = s.ints(1, 2, 6, 8), s.x((1, 2, 3, 4))
    yield s.out(s.op("Resize", x, "", "", shared, mode="linear"), s.op("Mul", shared, s.ints(2)))


def _cropped() -> Iterator[Sketch]:
    """A roi on the batch or beside it, proportions that are kept, coordinates that are moved."""
    crop: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    for opset, axis, start, end in product((11, 13, 18), (0, 1, 2), (0.0, 0.5, -1.0), (1.0, 0.5, 2.0)):
        for mode, kept in (("linear", 0), ("nearest", 0), ("nearest", 1)):
            dims = [1 if place == kept else 2 for place in range(4)]
            # onnxruntime does not look at the roi of an axis that keeps its size; the reference does.
            s = Sketch("Resize", opset, free=axis != kept and mode == "nearest", reference=axis == kept)
            roi = [*(start if each == axis else 0.0 for each in range(4))]
            roi += [end if each == axis else 1.0 for each in range(4)]
            x = s.op("Relu", s.x(dims, kept, low=1))
            yield s.out(s.op("Resize", x, s.const(roi, FLOAT), s.const([1, 1, 1, 1], FLOAT), mode=mode, **crop))
    s = Sketch("Resize", 13, free=False)
    part = s.x((8,), None, low=0, high=1)
    yield s.out(s.op("Resize", s.x((1, 2, 3, 3)), part, s.const([1, 1, 2, 2], FLOAT), mode="linear", **crop))
    for policy, sizes in product(
        ("not_larger", "not_smaller"), ((1, 1, 6), (1, 1, 2), (2, 1, 3), (1, 2, 3), (1, 4, 6))
    ):
        s = Sketch("Resize", 18, free=False)
        given: dict[str, Any] = {"keep_aspect_ratio_policy": policy, "mode": "nearest"}
        yield s.out(s.op("Resize", s.x((1, 2, 3)), "", "", s.ints(*sizes), **given))
    for mode, nearest in product(("nearest", "linear"), ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")):
        s = Sketch("Resize", 11, free=mode == "nearest" and nearest.endswith("floor"))
        scales, given = s.const([1, 2], FLOAT), {"mode": mode, "nearest_mode": nearest}
        made = s.op(
            "Resize", s.x((1, 3)), nothing(s), scales, coordinate_transformation_mode="tf_half_pixel_for_nn", **given
        )
        yield s.out(made)


def _resized(s: Sketch, x: str, place: tuple[tuple[int, ...], int], scales: list[float], by: str) -> str:
    dims, axis = place
    sizes = [dim * int(scale) for dim, scale in zip(dims, scales, strict=True)]
    if by == "scales":
        return str(s.op("Resize", x, nothing(s), s.const(scales, FLOAT), mode="nearest"))
    if by == "axes":
        others = [each for each in range(len(dims)) if each != axis][1:]
        axes = others if s.opset == 18 else list(range(len(dims)))[::-1]
        return str(s.op("Resize", x, "", "", s.ints(*(sizes[each] for each in axes)), axes=axes, mode="nearest"))
    given = s.ints(*sizes)
    if by == "computed":
        parts = [s.dim(x, each) if scale == 1 else s.ints(sizes[each]) for each, scale in enumerate(scales)]
        given = s.op("Concat", *parts, axis=0)
    return str(s.op("Resize", x, nothing(s), nothing(s), given, mode="nearest"))


def nothing(s: Sketch) -> str:
    """An input that is left out, in the words of the opset."""
    return s.const([], np.float32) if s.opset < 13 else ""


def sampled() -> Iterator[Sketch]:
    turn = cycle((16, 20, 22))
    for outer, inner, size in ((1, 1, 1), (2, 3, 1), (1, 1, 2), (1, 4, 1)):
        rows = outer * inner * size
        for image, grid in ((True, True), (True, False), (False, True)):
            s = Sketch("GridSample", next(turn), size)
            x = s.x((rows, 2, 3, 3), 0, outer, inner) if image else s.const(np.full((rows, 2, 3, 3), 0.5), np.float32)
            s.free = size == 1 or outer == 1
            where = (
                s.x((rows, 2, 2, 2), 0, outer, inner, low=-1, high=1)
                if grid
                else s.const(np.full((rows, 2, 2, 2), 0.3), np.float32)
            )
            yield s.out(s.op("GridSample", x, where))
    for axis in (1, 2):
        s = Sketch("GridSample", 16, free=False)
        dims = [1, 3, 3, 3]
        dims[axis] = 1
        yield s.out(s.op("GridSample", s.x(dims, axis), s.const(np.full((1, 2, 2, 2), 0.3), np.float32)))


def grids() -> Iterator[Sketch]:
    """AffineGrid: matrices of each sample with sizes that are fixed or computed, and shared ones."""
    turn = cycle(opsets("AffineGrid"))
    for outer, inner, size in ((1, 1, 1), (2, 3, 1), (1, 4, 1), (1, 1, 2), (1, 2, 3)):
        rows = outer * inner * size
        for deep, way in product((False, True), ("fixed", "node", "computed", "whole")):
            s = Sketch("AffineGrid", next(turn), size)
            theta = s.x((rows, 3, 4) if deep else (rows, 2, 3), 0, outer, inner)
            sizes = (rows, 3, 2, 2, 3) if deep else (rows, 3, 4, 5)
            yield s.out(s.op("AffineGrid", theta, _grid_size(s, theta, sizes, way), align_corners=rows % 2))
        for same in (True, False):
            s = Sketch("AffineGrid", next(turn), size, free=outer == 1 and (same or size == 1))
            x = s.x((rows, 1, 3, 3), 0, outer, inner)
            one = np.arange(6 * inner).reshape(inner, 2, 3) / 9
            theta = s.const(np.tile(one, (outer * size, 1, 1)) + (0 if same else np.arange(rows)[:, None, None]), FLOAT)
            yield s.out(s.op("GridSample", x, s.op("AffineGrid", theta, s.op("Shape", x))))
    for axis in (1, 2):
        s = Sketch("AffineGrid", next(turn), 2 if axis == 1 else 3, free=False)
        yield s.out(s.op("AffineGrid", s.x((2, 2, 3), axis), s.ints(2, 1, 2, 2)))


def _grid_size(s: Sketch, theta: str, sizes: tuple[int, ...], way: str) -> str:
    if way == "computed":
        return str(s.op("Concat", s.dim(theta, 0), s.ints(*sizes[1:]), axis=0))
    if way == "whole":
        picture = s.op("Expand", s.floats(1), s.op("Concat", s.dim(theta, 0), s.ints(*sizes[1:]), axis=0))
        return str(s.op("Shape", picture))
    return s.const_node(sizes, INT) if way == "node" else s.ints(*sizes)


def computed() -> Iterator[Sketch]:
    """Tensors whose dims are computed from the batch: Shape, Size, ConstantOfShape."""
    five = numpy_helper.from_array(np.array([5.0], np.float32))
    for dims, axis, outer, inner, size in PLACES:
        for number, op in enumerate(("Relu", "Identity")):
            s = Sketch("ConstantOfShape", (9, 20)[number], size)
            x = s.x(dims, axis, outer, inner)
            s.free = outer == 1
            yield s.out(s.op("Add", s.op(op, x), s.op("ConstantOfShape", s.op("Shape", x), value=five)))
        s = Sketch("ConstantOfShape", 13, size, free=outer == 1)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("ConstantOfShape", s.op("Concat", s.dim(x, axis), s.ints(3), axis=0), value=five))
        s = Sketch("Shape", 15, size)
        x = s.x(dims, axis, outer, inner)
        part = s.op("Shape", x, start=axis, end=axis + 1)
        yield s.out(s.op("Reshape", x, s.op("Concat", s.ints(*dims[:axis]), part, s.ints(*dims[axis + 1 :]), axis=0)))
        s = Sketch("Shape", 13, size, free=size == 1)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("Mul", x, s.op("Cast", s.dim(x, axis), to=1)))
        s = Sketch("Size", 13, size)
        x = s.x(dims, axis, outer, inner)
        rest = int(np.prod(dims)) // dims[axis]
        rows = s.op("Div", s.op("Unsqueeze", s.op("Size", x), s.ints(0)), s.ints(rest))
        flat = s.op(
            "Reshape",
            x,
            s.op("Concat", *(rows if place == axis else s.ints(dim) for place, dim in enumerate(dims)), axis=0),
        )
        yield s.out(flat)
        s = Sketch("Size", 13, size)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("Div", x, s.op("Cast", s.op("Size", x), to=1)))
    for size in (1, 2):
        s = Sketch("Tile", 13, size)
        x = s.x((size, 3))
        yield s.out(s.op("Add", x, s.op("Tile", s.floats(1, 3), s.op("Concat", s.dim(x, 0), s.ints(1), axis=0))))
        s = Sketch("Expand", 13, size)
        x = s.x((size, 3))
        yield s.out(
            s.op("Concat", x, s.op("Expand", s.floats(1, 2), s.op("Concat", s.dim(x, 0), s.ints(2), axis=0)), axis=1)
        )
        s = Sketch("Gather", 13, size)
        x, table = s.x((size, 3)), s.floats(7, 3)
        numbers = s.op("Expand", s.ints(2), s.dim(x, 0))
        yield s.out(s.op("Add", x, s.op("Gather", table, numbers)))
        s = Sketch("GatherND", 13, free=False)
        x = s.x((1, 3, 2))
        counted = s.op("Range", s.const(0, INT), s.op("Squeeze", s.dim(x, 0)), s.const(1, INT))
        column = s.op("Concat", s.op("Unsqueeze", counted, s.ints(1)), s.const([[2]], INT), axis=1)
        yield s.out(s.op("GatherND", x, column))


def spatial() -> Iterator[Sketch]:
    for family in (convolutions, deformed_convolutions, pools, blocks, resized, sampled, grids, computed):
        yield from family()
