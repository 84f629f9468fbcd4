"""Cases in which two inputs carry N at different places: each sample must meet itself, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tests.laws.batching_sketch import FLOAT, Sketch

PLACES = ((1, 3, 1), (1, 1, 3), (3, 1, 1))
"""Dims of which two have one entry, where N can be and where it can go."""


def products() -> Iterator[Sketch]:
    """Matrices of each sample with themselves, wherever N is in them."""
    for opset, (first, second) in product((9, 13, 17), product((0, 1), (0, 2))):
        s = Sketch("MatMul", opset, free=True)
        yield s.out(s.op("MatMul", s.x((1, 1, 3), first), s.x((1, 3, 1), second)))
    for first, second in product((0, 1), (0, 3)):
        s = Sketch("MatMul", 17)
        left, right = s.x((1, 1, 2, 4), first), s.x((1, 1, 4, 1), second)
        yield s.out(s.op("MatMul", left, right))
    s = Sketch("MatMul", 17)  # outer products, whose sum over all samples N would be
    yield s.out(s.op("MatMul", s.x((1, 3, 1), 2), s.x((1, 1, 4), 1)))
    s = Sketch("MatMul", 17)  # an attention whose state has N where its layers are
    state = s.op("Transpose", s.x((1, 1, 4), 0), perm=[1, 2, 0])
    scores = s.op("Softmax", s.op("MatMul", s.x((1, 5, 4), 0), state), axis=1)
    yield s.out(s.op("MatMul", s.op("Transpose", scores, perm=[0, 2, 1]), s.x((1, 5, 2), 0)))
    s = Sketch("MatMul", 17, named={"S": 5})
    yield s.out(s.op("MatMul", s.x((1, "S", 4), 0), s.x((1, 4, 1), 2)))
    for size in (2, 3):  # several samples in the original met all others, and nobody may separate them
        s = Sketch("MatMul", 17, size, free=False)
        yield s.out(s.op("MatMul", s.x((size, 2, 3), 0), s.x((1, 3, size), 2)))
    s = Sketch("MatMul", 17, free=False)  # without an axis for N
    yield s.out(s.op("MatMul", s.x((1, 3), 0), s.x((3, 1), 1)))


def sums() -> Iterator[Sketch]:
    """Sums and joins of what carries N at different places."""
    for opset, dims in product((9, 13, 17), PLACES):
        ones = [axis for axis, dim in enumerate(dims) if dim == 1]
        for first, second in (ones, ones[::-1]):
            s = Sketch("Add", opset)
            yield s.out(s.op("Add", s.x(dims, first), s.x(dims, second)))
            s = Sketch("Concat", opset)
            along = dims.index(3)
            yield s.out(s.op("Concat", s.x(dims, first), s.x(dims, second), axis=along))
            s = Sketch("Where", opset)
            mask = s.op("Cast", s.x(dims, first), to=9)
            yield s.out(s.op("Where", mask, s.x(dims, second), s.x(dims, first)))
    s = Sketch("Add", 17)  # ranks that differ
    yield s.out(s.op("Add", s.x((1, 1, 3), 0), s.x((1, 3), 0)))
    s = Sketch("Add", 17)  # an axis that is full, and none for N left of it
    yield s.out(s.op("Add", s.x((1, 2, 3), 0), s.x((1, 3), 0)))
    for op, opset in product(("Add", "Mul"), (9, 13, 17)):  # masks that lost the axis of their batch
        s = Sketch(op, opset)
        lost = s.op("Reshape", s.x((1, 1, 3, 4), 0), s.ints(3, 4))
        yield s.out(s.op(op, s.x((1, 2, 3, 4), 0), lost))
        s = Sketch(op, opset)
        lost = s.op("Reshape", s.x((1, 4), 0), s.ints(4))
        yield s.out(s.op(op, lost, s.x((2, 1, 3, 4), 1)))
    s = Sketch("Where", 17)
    lost = s.op("Reshape", s.x((1, 3, 4), 0), s.ints(3, 4))
    yield s.out(s.op("Where", s.op("Greater", lost, s.const([0.5], FLOAT)), s.x((1, 2, 3, 4), 0), lost))
    s = Sketch("Mul", 17)  # a constant beside them
    yield s.out(s.op("Mul", s.op("Add", s.x((1, 3, 1), 0), s.x((1, 3, 1), 2)), s.const([[[2.0]]], FLOAT)))


def rows() -> Iterator[Sketch]:
    """Slices of several rows of samples that follow one another: `chunk` of `cat([x, x])`, times folded ahead of N."""
    for opset, size, outer, inner in product((10, 13, 18), (1, 2), (2, 3), (1, 2)):
        unit = size * inner
        for first, last in ((0, 1), (1, 2), (1, outer), (0, outer)):
            s = Sketch("Slice", opset, size)
            data = s.x((outer * unit, 2), 0, outer, inner)
            yield s.out(s.op("Slice", data, s.ints(first * unit), s.ints(last * unit), s.ints(0)))
    for size in (1, 2):
        s = Sketch("Slice", 18, size)  # a guided model: two halves, and what is between them
        joined = s.op("Concat", data := s.x((size, 3), 0), s.op("Relu", data), axis=0)
        one = s.op("Slice", joined, s.ints(0), s.ints(size), s.ints(0))
        two = s.op("Slice", joined, s.ints(size), s.ints(2 * size), s.ints(0))
        yield s.out(s.op("Sub", two, one))
        s = Sketch("Slice", 18, size)  # counted from the end
        joined = s.op("Concat", data := s.x((size, 3), 0), s.op("Relu", data), axis=0)
        yield s.out(s.op("Slice", joined, s.ints(-size), s.ints(2**31), s.ints(0)))
    s = Sketch("Slice", 18, 2, free=False)  # half a row, and so other samples
    yield s.out(s.op("Slice", s.x((4, 3), 0, 2), s.ints(1), s.ints(3), s.ints(0)))
    s = Sketch("Slice", 18, 1, free=False)  # every other row: N must be elsewhere
    yield s.out(s.op("Slice", s.x((4, 3), 0, 4), s.ints(0), s.ints(4), s.ints(0), s.ints(2)))


def meetings() -> Iterator[Sketch]:
    for family in (products, sums, rows):
        yield from family()
