"""Operators on images: convolutions, pools, resizing."""

from __future__ import annotations

import numpy as np

from tests.hostile.contractions import weight
from tests.hostile.makers import makes
from tests.hostile.pointwise import clipped
from tests.hostile.sizes import Hint, vector
from tests.hostile.sketch import Misfit, Sketch, Value


def image(g: Sketch, low: int = 3, high: int = 4) -> Value:
    """A tensor whose samples come first, of a rank that has room for channels; made out of another if there is none."""
    fit = [each for each in g.values if low <= each.rank <= high and each.array.dtype == np.float32]
    first = [each for each in fit if each.batch == 0]
    if first and g.dice.chance(0.9):
        return g.dice.pick(first[-3:])
    if fit and g.dice.chance(0.15):
        return g.dice.pick(fit)
    value = g.pick("f", 1, high)
    if value.array.dtype != np.float32 or value.batch is None:
        raise Misfit
    if value.batch and g.dice.chance(0.9):
        order = [value.batch, *(axis for axis in range(value.rank) if axis != value.batch)]
        value = g.op("Transpose", value, perm=order, batch=0)
    if value.rank < low:
        dims = [value.dims[0], *[1] * (low - value.rank), *value.dims[1:]]
        hints: list[Hint] = [(value, 0)]
        value = g.op("Reshape", value, vector(g, dims, hints), batch=0)
    return value


def _window(g: Sketch, value: Value) -> dict[str, object]:
    """Kernel, strides and pads that fit."""
    dims = value.dims[2:]
    if 0 in dims:
        raise Misfit
    kernel = [g.dice.number(1, min(3, size)) for size in dims]
    found: dict[str, object] = {"kernel_shape": kernel}
    if g.dice.chance(0.5):
        found["strides"] = [g.dice.number(1, 2) for _ in dims]
    if g.dice.chance(0.3):
        found["auto_pad"] = g.dice.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.dice.chance(0.5):
        found["pads"] = [g.dice.number(0, size - 1) for size in kernel * 2]
    return found


@makes("MaxPool:8 AveragePool:7 LpPool")
def pool(g: Sketch, op: str) -> None:
    value = image(g)
    attributes = _window(g, value)
    since = {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]
    if g.opset >= since and g.dice.chance(0.4) and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if op == "AveragePool" and g.dice.chance(0.3):
        attributes["count_include_pad"] = 1
    if op == "MaxPool" and g.dice.chance(0.25):
        values, places = g.ops(op, 2, value, **attributes)
        g.keep(values._replace(batch=value.batch))
        if g.dice.chance(0.5):
            g.keep(places._replace(batch=value.batch))
        return
    g.keep(g.op(op, value, batch=value.batch, **attributes))


@makes("GlobalAveragePool GlobalMaxPool GlobalLpPool", weight=0.8)
def whole(g: Sketch, op: str) -> None:
    value = image(g)
    g.keep(g.op(op, value, batch=value.batch))


@makes("Conv", weight=2)
def conv(g: Sketch, op: str) -> None:
    value = image(g)
    window = _window(g, value)
    groups = g.dice.pick([1, 1, value.dims[1]])
    out = g.dice.number(1, 2) * groups
    kernel = window["kernel_shape"]
    assert isinstance(kernel, list)
    weights = weight(g, out, value.dims[1] // groups if groups else 0, *kernel)
    bias = [weight(g, out)] if g.dice.chance(0.4) else []
    g.keep(g.op(op, value, weights, *bias, batch=value.batch, group=groups, **window))


@makes("ConvTranspose")
def transposed(g: Sketch, op: str) -> None:
    value = image(g)
    window = _window(g, value)
    window.pop("auto_pad", None)
    kernel = window["kernel_shape"]
    assert isinstance(kernel, list)
    weights = weight(g, value.dims[1], g.dice.number(1, 2), *kernel)
    g.keep(g.op(op, value, weights, batch=value.batch, **window))


@makes("ConvInteger:10", weight=0.5)
def conv_integer(g: Sketch, op: str) -> None:
    value = _bytes(g, image(g))
    weights = weight(g, 2, value.dims[1], *[1] * (value.rank - 2), dtype=np.uint8)
    zero = [g.const(2, np.uint8)] if g.dice.chance(0.5) else []
    g.keep(g.op("Cast", g.op(op, value, weights, *zero), to=1, batch=value.batch))


@makes("QLinearConv:10", weight=0.5)
def qlinear_conv(g: Sketch, op: str) -> None:
    value = _bytes(g, image(g))
    weights = weight(g, 2, value.dims[1], *[1] * (value.rank - 2), dtype=np.uint8)
    scale, zero = g.const(0.5, np.float32), g.const(2, np.uint8)
    made = g.op(op, value, scale, zero, weights, scale, zero, scale, zero, batch=value.batch)
    g.keep(g.op("DequantizeLinear", made, scale, zero, batch=value.batch))


def _bytes(g: Sketch, value: Value) -> Value:
    return g.op("QuantizeLinear", value, g.const(0.25, np.float32), g.const(4, np.uint8), batch=value.batch)


@makes("DeformConv:19", weight=0.6)
def deform(g: Sketch, op: str) -> None:
    value = image(g, 4, 4)
    count, channels, height, width = value.dims
    if min(value.dims) < 1 or height < 2 or width < 2:
        raise Misfit
    weights = weight(g, 1, channels, 2, 2)
    dims = [count, 8, height - 1, width - 1]
    if value.batch == 0 and g.dice.chance(0.5):
        offset = g.given(g.dice.constant(dims), 0)
    else:
        table = np.repeat(g.dice.constant([1, *dims[1:]]), count, 0)
        offset = Value(g.const(table), table)
    g.keep(g.op(op, value, weights, offset, batch=value.batch, kernel_shape=[2, 2], strides=[1, 1]))


@makes("GridSample:16", weight=0.8)
def grid_sample(g: Sketch, op: str) -> None:
    value = image(g, 4, 4)
    table = g.dice.constant([value.dims[0], 2, 2, 2])
    if value.batch == 0 and g.dice.chance(0.5):
        grid = g.given(table, 0)
    else:
        table = np.repeat(table[:1], value.dims[0], 0)
        grid = Value(g.const(table), table)
    mode = g.dice.pick(["bilinear", "nearest"] if g.opset < 20 else ["linear", "nearest"])
    g.keep(g.op(op, value, grid, batch=value.batch, mode=mode, padding_mode=g.dice.pick(["zeros", "border"])))


@makes("BatchNormalization:9")
def batch_norm(g: Sketch, op: str) -> None:
    value = image(g, 2, 4)
    tables = [g.const(g.dice.constant([value.dims[1]])) for _ in range(3)]
    spread = g.const(np.abs(g.dice.constant([value.dims[1]])) + 0.5, np.float32)
    g.keep(g.op(op, value, *tables, spread, batch=value.batch))


@makes("InstanceNormalization:6")
def instance_norm(g: Sketch, op: str) -> None:
    value = image(g)
    if g.naming or value.batch != 0:  # other channels than its weights have make it read beyond them
        raise Misfit
    g.keep(g.op(op, value, *(g.const(g.dice.constant([value.dims[1]])) for _ in range(2)), batch=value.batch))


@makes("GroupNormalization:21")
def group_norm(g: Sketch, op: str) -> None:
    value = image(g)
    tables = [g.const(g.dice.constant([value.dims[1]])) for _ in range(2)]
    g.keep(g.op(op, value, *tables, batch=value.batch, num_groups=g.dice.pick([1, value.dims[1]])))


@makes("LRN", weight=0.7)
def lrn(g: Sketch, op: str) -> None:
    value = image(g)
    g.keep(g.op(op, value, batch=value.batch, size=g.dice.pick([1, 3])))


@makes("Resize:10", weight=3.5)
def resize(g: Sketch, op: str) -> None:
    value = image(g) if g.dice.chance(0.8) else g.pick("f", 1, 4)
    if 0 in value.dims or value.array.dtype != np.float32:
        raise Misfit
    axes = [axis for axis in range(value.rank) if axis != value.batch and (axis > 1 or g.dice.chance(0.2))]
    scales = [g.dice.pick([1, 2, 0.5, 1.5]) if axis in axes else 1 for axis in range(value.rank)]
    sizes = [max(1, int(size * scale)) for size, scale in zip(value.dims, scales, strict=True)]
    attributes: dict[str, object] = {"mode": "nearest" if g.dice.chance(0.6) else "linear"}
    if attributes["mode"] == "linear":  # a weight of 0 lets NaN through
        value = clipped(g, value, -1e6, 1e6)
    if g.opset == 10:
        g.keep(g.op(op, value, g.const(scales, np.float32), batch=value.batch, **attributes))
        return
    roi = "" if g.opset >= 13 or g.dice.chance(0.3) else g.const([], np.float32)
    if attributes["mode"] == "nearest":
        attributes["nearest_mode"] = g.dice.pick(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"])
    way = "tf_crop_and_resize" if g.dice.chance(0.3) else g.dice.pick(["half_pixel", "asymmetric", "align_corners"])
    attributes["coordinate_transformation_mode"] = way
    if way.startswith("tf"):
        box = [0.0] * value.rank + [1.0] * value.rank
        place = value.batch if value.batch is not None and g.dice.chance(0.5) else value.rank - 1
        box[place], box[place + value.rank] = 0.0, g.dice.pick([0.5, 1.0])
        roi = g.const(box, np.float32)
    chosen = axes if g.opset >= 18 and axes and g.dice.chance(0.3) and not way.startswith("tf") else None
    if chosen is not None:
        attributes["axes"] = chosen
    kept = range(value.rank) if chosen is None else chosen
    if g.dice.chance(0.5):
        by = g.const([scales[axis] for axis in kept], np.float32)
        if roi == "" and g.opset < 13:
            raise Misfit
        g.keep(g.op(op, value, roi, by, batch=value.batch, **attributes))
        return
    if g.opset >= 18 and g.dice.chance(0.3) and not way.startswith("tf"):
        attributes["keep_aspect_ratio_policy"] = g.dice.pick(["not_larger", "not_smaller"])
    hints: list[Hint] = [(value, axis) for axis in kept]
    target = vector(g, [sizes[axis] for axis in kept], hints)
    none = "" if g.opset >= 13 else g.const([], np.float32)
    g.keep(g.op(op, value, roi, none, target, batch=value.batch, **attributes))


@makes("Upsample:9", until=9, weight=3)
def upsample(g: Sketch, op: str) -> None:
    value = image(g, 3, 4)
    scales = [1.0 if axis < 2 else float(g.dice.number(1, 2)) for axis in range(value.rank)]
    g.keep(g.op(op, value, g.const(scales, np.float32), batch=value.batch, mode="nearest"))


@makes("Col2Im:18", weight=0.3)
def col2im(g: Sketch, op: str) -> None:
    value = g.pick("f", 3, 3)
    if value.dims[1] % 2 or value.dims[2] < 1:
        raise Misfit
    sizes = vector(g, [value.dims[2] + 1, 1])
    g.keep(g.op(op, value, sizes, g.const([2, 1], np.int64), batch=value.batch))


@makes("AffineGrid:20", weight=0.3)
def affine(g: Sketch, op: str) -> None:
    rank = g.dice.number(2, 3)
    theta = g.given(g.dice.constant([g.size, rank, rank + 1]), 0)
    sizes = vector(g, [g.size, 1, *[2] * rank], [(theta, 0)])
    if g.dice.chance(0.3):
        same = g.const(np.broadcast_to(g.dice.constant([1, rank, rank + 1]), theta.dims))
        g.keep(g.op(op, same, sizes, batch=0))
    else:
        g.keep(g.op(op, theta, sizes, batch=0, align_corners=g.dice.number(0, 1)))
