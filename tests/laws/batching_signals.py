"""Cases for transforms of signals, for products along an axis, and for what is cut out or chosen along others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

import numpy as np

from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import BOOL, INT, Sketch


def transforms() -> Iterator[Sketch]:
    """DFT along each axis, with its axis as an attribute and as an input, real and complex."""
    for dims, axis, outer, inner, size in PLACES:
        for parts, last in ((1, False), (2, False), (2, True)):
            for along in range(len(dims)):
                for opset, onesided in ((17, 0), (20, 0), (17, 1), (20, 1)):
                    if onesided and parts == 2:
                        continue
                    s = Sketch("DFT", opset, size, free=along != axis)
                    x = s.x((*dims, parts), axis, outer, inner)
                    length = s.const(3, INT) if last else ""
                    if opset < 20:
                        given, place = [length] if last else [], {"axis": along}
                    else:
                        given, place = [length, s.const(along - len(dims) - 1, INT)], {}
                    yield s.out(s.op("DFT", x, *given, onesided=onesided, inverse=int(last), **place))
    s = Sketch("DFT", 20, free=False)
    yield s.out(s.op("DFT", s.x((3, 1), 1)))


def frames() -> Iterator[Sketch]:
    """STFT of signals of each sample, and of others by a window of each."""
    for outer, inner, size in ((1, 1, 1), (2, 3, 1), (1, 4, 1), (3, 1, 1), (1, 1, 3), (1, 2, 2)):
        rows = outer * inner * size
        for windowed, onesided in ((True, 1), (True, 0), (False, 1)):
            s = Sketch("STFT", 17, size)
            x = s.x((rows, 11, 1), 0, outer, inner)
            window = s.op("HannWindow", s.const(4, INT)) if windowed else ""
            yield s.out(s.op("STFT", x, s.const(3, INT), window, s.const(4, INT), onesided=onesided))
    s = Sketch("STFT", 17, free=False)
    yield s.out(s.op("STFT", s.floats(1, 11, 1), s.const(3, INT), s.op("Reshape", s.x((1, 4)), s.ints(-1))))
    s = Sketch("STFT", 17, free=False)
    yield s.out(s.op("STFT", s.x((2, 3, 1), 1, 1, 3), s.const(1, INT), "", s.const(2, INT)))
    s = Sketch("STFT", 17)
    x = s.x((1, 8, 1))
    yield s.out(s.op("STFT", x, s.op("Reshape", s.dim(x, 0), s.ints()), "", s.const(4, INT)))


def products() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        for along in range(len(dims)):
            s = Sketch("CumProd", 26, size, free=along != axis)
            made = s.const(along - len(dims) * (along % 2), INT)
            yield s.out(s.op("CumProd", s.x(dims, axis, outer, inner), made, reverse=along % 2))


def cropped() -> Iterator[Sketch]:
    """CenterCropPad of other axes, and of that of the batch: as many as there are, or not."""
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for asked, more in ((set(range(rank)) - {axis}, 1), ({axis}, 0), (set(range(rank)), 0), ({axis}, 1)):
            places = sorted(asked)
            if not places:
                continue
            s = Sketch("CenterCropPad", 18, size, free=axis not in asked or not more)
            x = s.x(dims, axis, outer, inner)
            shape = s.ints(*(dims[place] + (more if place == axis else more + place % 2) for place in places))
            axes = None if len(places) == rank else [place - rank * (size % 2) for place in places]
            yield s.out(s.op("CenterCropPad", x, shape, axes=axes))
    s = Sketch("CenterCropPad", 18, free=False)
    yield s.out(s.op("CenterCropPad", s.x((1, 2)), s.x((2,), None, dtype=INT, low=1, high=3)))
    s = Sketch("CenterCropPad", 18)
    x = s.x((1, 2))
    yield s.out(s.op("CenterCropPad", x, s.op("Concat", s.dim(x, 0), s.ints(5), axis=0)))


def compressed() -> Iterator[Sketch]:
    turn = cycle((9, 11))
    for dims, axis, outer, inner, size in PLACES:
        for along in (*range(len(dims)), None):
            s = Sketch("Compress", next(turn), size, free=along not in {axis, None})
            x = s.x(dims, axis, outer, inner)
            count = int(np.prod(dims)) if along is None else dims[along]
            chosen = np.arange(count) % 2 == 0
            place = None if along is None else along - len(dims) * (s.opset == 11)
            yield s.out(s.op("Compress", x, s.const(chosen), axis=place))
    for given in (True, False):
        s = Sketch("Compress", 11, free=False)
        x, y = s.x((1, 3)), s.x((1, 3), 0, dtype=BOOL)
        which = s.op("Reshape", y, s.ints(-1))
        yield s.out(s.op("Compress", x if given else s.floats(2, 3), which, axis=1))
    s = Sketch("Compress", 11)
    yield s.out(s.op("Compress", s.x((1, 3)), s.x((2,), None, dtype=BOOL), axis=1))


def signals() -> Iterator[Sketch]:
    for family in (transforms, frames, products, cropped, compressed):
        yield from family()
