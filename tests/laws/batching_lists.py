"""Cases for regions of images, losses, random draws, and what lists its findings in all samples one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product

import numpy as np

from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import FLOAT, INT, Sketch, opsets


def lists() -> Iterator[Sketch]:
    """All of them."""
    yield from regions()
    yield from losses()
    yield from draws()
    yield from findings()


_CORNERS = np.array([[0, 0, 2, 2], [1, 0, 3, 2], [0, 1, 3, 3]], np.float32)


def regions() -> Iterator[Sketch]:
    """RoiAlign of images that are the samples', of regions that are, and of both."""
    turn = cycle(opsets("RoiAlign", 10, 20))
    for images, count, marked in product((1, 2), (1, 3), product((True, False), (True, False), (True, False))):
        image, corners, numbers = marked
        if not any(marked):
            continue
        s = Sketch("RoiAlign", next(turn))
        x = s.x((images, 2, 4, 4), 0, 1, images) if image else s.floats(images, 2, 4, 4)
        where = s.x((count, 4), 0, 1, count, low=0, high=4) if corners else s.const(_CORNERS[:count])
        own = np.arange(count) % images
        which = s.x((count,), 0, 1, count, dtype=INT, low=0, high=images) if numbers else s.const(own, INT)
        yield s.out(s.op("RoiAlign", x, where, which, output_height=2, output_width=2, sampling_ratio=2))
    for axis in (1, 2, 3):
        dims = [2, 2, 4, 4]
        dims[axis] = 1
        s = Sketch("RoiAlign", 16, free=axis == 1)
        x, where, which = s.x(dims, axis), s.const(_CORNERS), s.const([1, 0, 1], INT)
        yield s.out(s.op("RoiAlign", x, where, which, output_height=2, output_width=2, sampling_ratio=2))
    s = Sketch("RoiAlign", 16, 2, free=False)
    yield s.out(s.op("RoiAlign", s.x((2, 1, 4, 4)), s.const(_CORNERS[:2]), s.const([0, 1], INT)))
    s = Sketch("RoiAlign", 16, free=False)
    yield s.out(s.op("RoiAlign", s.x((1, 1, 4, 4)), s.x((3, 4), 1, 1, 4, low=0, high=4), s.const([0, 0, 0], INT)))
    s = Sketch("RoiAlign", 16, free=False)
    yield s.out(s.op("RoiAlign", s.x((1, 1, 4, 4), 1), s.x((1, 4), low=0, high=4), s.const([0], INT), sampling_ratio=2))
    for axis, opset in product(range(4), (7, 17, 21)):
        dims = [2, 2, 4, 4]
        dims[axis] = 1
        s = Sketch("MaxRoiPool", opset, free=False)
        where = s.const([[0, 0, 0, 2, 2], [dims[0] - 1, 1, 1, 3, 3]], FLOAT)
        yield s.out(s.op("MaxRoiPool", s.x(dims, axis), where, pooled_shape=[2, 2]))
    for axis, opset in product(range(4), (9, 11, 22)):
        dims = [2, 2, 2, 2]
        dims[axis] = 1
        count = int(np.prod(dims))
        s = Sketch("MaxUnpool", opset, free=False)
        places = s.const((np.arange(count) * 2).reshape(dims), INT)
        yield s.out(s.op("MaxUnpool", s.x(dims, axis), places, kernel_shape=[2, 2], strides=[2, 2]))


def losses() -> Iterator[Sketch]:
    """One loss for each label, or one for all of them."""
    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        turn = cycle(opsets(op, 12, 21))
        for reduction, deep, marked in product(("none", "mean", "sum"), (0, 1, 2), ((1, 1), (1, 0), (0, 1))):
            around = (2, 3)[:deep]
            s = Sketch(op, next(turn), free=reduction == "none")
            scores = s.x((1, 3, *around)) if marked[0] else s.floats(1, 3, *around)
            labels = np.arange(int(np.prod((1, *around)))).reshape(1, *around) % 3
            wanted = s.x((1, *around), dtype=INT, low=0, high=3) if marked[1] else s.const(labels, INT)
            weights = [s.floats(3)] if deep else []
            yield s.out(s.op(op, scores, wanted, *weights, reduction=reduction))
        for axis, marked in product((1, 2, 3), ((1, 1), (1, 0))):
            dims = [2, 3, 2, 2]
            dims[axis] = 1
            s = Sketch(op, next(turn), free=axis != 1)
            rest = [dims[0], *dims[2:]]
            known = marked[1] and axis != 1
            wanted = s.x(rest, axis - 1, dtype=INT, low=0, high=3) if known else s.const(np.zeros(rest), INT)
            yield s.out(s.op(op, s.x(dims, axis), wanted, reduction="none"))
    s = Sketch("SoftmaxCrossEntropyLoss", 13)
    two = s.const([[0, 2]], INT)
    yield s.out(*s.op("SoftmaxCrossEntropyLoss", s.x((1, 3, 2)), two, outputs=2, reduction="none"))


def draws() -> Iterator[Sketch]:
    """Of which the dims alone can be compared."""
    for dims, axis, outer, inner, size in PLACES:
        s = Sketch("Bernoulli", 15, size, random=True)
        yield s.out(s.op("Bernoulli", s.x(dims, axis, outer, inner, low=0, high=1)))
        if len(dims) == 2:
            for count in (1, 3):
                s = Sketch("Multinomial", 7, size, free=axis == 0, random=True)
                x = s.x(dims, axis, outer, inner, low=0, high=1)
                yield s.out(s.op("Multinomial", x, sample_size=count))
    for rows, opset in product((1, 4), (7, 9, 13, 17)):
        s = Sketch("Multinomial", opset, random=True)
        yield s.out(s.op("Multinomial", s.x((rows, 3), 0, 1, rows, low=0, high=1), sample_size=2, dtype=7))


def findings() -> Iterator[Sketch]:
    """Of all samples together, so that they are refused."""
    for dims, axis, outer, inner, size in PLACES:
        for op, opset in (("NonZero", 9), ("Unique", 11)):
            s = Sketch(op, opset, size, free=False)
            yield s.out(s.op(op, s.x(dims, axis, outer, inner)))
        if len(dims) == 2:
            for opset in (9, 13, 17):
                s = Sketch("EyeLike", opset, size, free=False)
                yield s.out(s.op("EyeLike", s.x(dims, axis, outer, inner), k=opset % 2))
    for boxes, scores, opset in product((True, False), (True, False), (10, 11, 13, 17)):
        if boxes or scores:
            s = Sketch("NonMaxSuppression", opset, free=False)
            corners = s.x((1, 3, 4), low=0, high=4) if boxes else s.const(_CORNERS[None])
            worth = s.x((1, 2, 3), low=0, high=1) if scores else s.floats(1, 2, 3)
            yield s.out(s.op("NonMaxSuppression", corners, worth, s.ints(2)))
