"""Regions of images, losses, draws: operators that read labels, corners or numbers of images beside data."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.sketch import Misfit, Sketch, Value
from tests.hostile.spatial import image

_LAST = 21
"""The last opset in which onnxruntime has those that opset 22 gave more types."""


def _single(value: Value) -> Value:
    if value.array.dtype != np.float32 or 0 in value.dims:
        raise Misfit
    return value


def _corners(g: Sketch, count: int, height: int, width: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = [
        [g.dice.number(0, width), g.dice.number(0, height), g.dice.number(0, width), g.dice.number(0, height)]
        for _ in range(count)
    ]
    return np.array(rows, np.float32).reshape(count, 4)


@makes("RoiAlign:10 MaxRoiPool", until=_LAST, weight=1.5)
def regions(g: Sketch, op: str) -> None:
    value = _single(image(g, 4, 4))
    count = g.dice.number(1, 3)
    corners = _corners(g, count, *value.dims[2:])
    numbers = np.array([g.dice.number(0, value.dims[0] - 1) for _ in range(count)])
    if op == "MaxRoiPool":
        rows = np.concatenate([numbers[:, None], np.sort(corners.reshape(count, 2, 2), 1).reshape(count, 4)], 1)
        g.keep(g.op(op, value, g.const(rows, np.float32), pooled_shape=[2, 1]))
        return
    which = g.const(numbers, np.int64)
    g.keep(g.op(op, value, g.const(corners), which, output_height=2, sampling_ratio=2))


@makes("MaxUnpool:9", until=_LAST, weight=1.5)
def unpooled(g: Sketch, op: str) -> None:
    value = _single(image(g, 4, 4))
    which = np.arange(value.array.size).reshape(value.dims) * 4
    g.keep(g.op(op, value, g.const(which, np.int64), kernel_shape=[2, 2], strides=[2, 2]))


@makes("NonMaxSuppression:10", weight=1)
def suppressed(g: Sketch, op: str) -> None:
    value = _single(g.pick("f", 3, 3))
    boxes = np.stack([_corners(g, value.dims[2], 4, 4) for _ in range(value.dims[0])])
    g.keep(g.op(op, g.const(boxes), value, g.const([2], np.int64)))


@makes("NegativeLogLikelihoodLoss:12 SoftmaxCrossEntropyLoss:12", until=_LAST, weight=1)
def losses(g: Sketch, op: str) -> None:
    value = _single(g.pick("f", 2, 4))
    dims = (value.dims[0], *value.dims[2:])
    labels = g.const(np.array(g.dice.number(0, value.dims[1] - 1)) + np.zeros(dims), np.int64)
    reduction = "none" if g.tame or g.dice.chance(0.5) else "mean"
    last = None if value.batch in (None, 1) or reduction == "mean" else max(value.batch - 1, 0)
    g.keep(g.op(op, value, labels, batch=last, reduction=reduction))


@makes("Bernoulli:15", until=_LAST, weight=0.25)
def drawn(g: Sketch, op: str) -> None:
    value = _single(g.pick("f"))
    share = g.op("Sigmoid", value, batch=value.batch)
    g.random = True
    g.keep(g.op(op, share, batch=value.batch))


@makes("Multinomial:9", until=_LAST, weight=0.4)
def chosen(g: Sketch, op: str) -> None:
    value = _single(g.pick("f", 2, 2))
    g.random = True
    g.keep(g.op(op, value, batch=0 if value.batch == 0 else None, sample_size=2))
