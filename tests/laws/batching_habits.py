"""Single models as released ones are written: pads that are computed, nodes that nobody needs, sizes of sizes."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.laws.batching_sketch import INT, Sketch
from tests.laws.batching_traps import trap


def _as_torch_pads(s: Sketch, *last: str) -> str:
    """The pads of the last axes, each its front and its end, as torch writes them for data of rank 4."""
    given = s.op("Concat", *last, axis=0)
    more = s.op(
        "ConstantOfShape", s.op("Sub", s.ints(8), s.op("Shape", given)), value=helper.make_tensor("", 7, [1], [0])
    )
    pairs = s.op("Reshape", s.op("Concat", given, more, axis=0), s.ints(-1, 2))
    turned = s.op("Slice", pairs, s.ints(-1), s.ints(1 - 2**63), s.ints(0), s.ints(-1))
    flat = s.op("Reshape", s.op("Transpose", turned, perm=[1, 0]), s.ints(-1))
    return str(s.op("Cast", flat, to=7))


def _same_pads(s: Sketch, x: str, axis: int) -> list[str]:
    """What a window of 3 needs that goes 2 at a time, for as many places as half of the axis has."""
    size = s.op("Cast", s.dim(x, axis), to=1)
    steps = s.op("Ceil", s.op("Div", size, s.const([2.0], np.float32)))
    reach = s.op("Mul", s.op("Sub", steps, s.const([1.0], np.float32)), s.const([2.0], np.float32))
    more = s.op("Sub", s.op("Add", reach, s.const([3.0], np.float32)), size)
    whole = s.op("Cast", s.op("Clip", more, s.const(0.0, np.float32)), to=7)
    front = s.op("Div", whole, s.ints(2))
    return [front, s.op("Sub", whole, front)]


@trap
def pads_of_fixed_sizes_as_torch_computes_them() -> Sketch:
    s = Sketch("Pad")
    x = s.x((1, 2, 5, 4))
    return s.out(s.op("Pad", x, _as_torch_pads(s, *_same_pads(s, x, 3), *_same_pads(s, x, 2))))


@trap
def pads_of_open_sizes_as_torch_computes_them() -> Sketch:
    s = Sketch("Pad", named={"H": 5, "W": 4})
    x = s.x((1, 2, "H", "W"))
    return s.out(s.op("Pad", x, _as_torch_pads(s, *_same_pads(s, x, 3), *_same_pads(s, x, 2))))


@trap
def pads_that_the_caller_gives() -> Sketch:
    s = Sketch("Pad")
    given = s.x((4,), None, dtype=INT, low=0, high=3)
    return s.out(s.op("Pad", s.x((1, 2, 5, 4)), _as_torch_pads(s, given)))


@trap
def pads_that_the_caller_gives_for_the_batch_too() -> Sketch:
    s = Sketch("Pad", free=False)
    return s.out(s.op("Pad", s.x((1, 2)), s.x((4,), None, dtype=INT, low=0, high=3)))


@trap
def pads_times_nought() -> Sketch:
    """Of a length that is not known, as one that is filled up to 8."""
    s = Sketch("Pad", named={"T": 5})
    x = s.x((1, "T"))
    more = s.op("Sub", s.ints(8), s.dim(x, 1))
    return s.out(s.op("Pad", x, s.op("Mul", more, s.ints(0, 0, 0, 1))))


@trap
def a_reshape_that_no_output_needs() -> Sketch:
    s = Sketch("Reshape")
    x = s.x((1, 4))
    s.op("Relu", s.op("Reshape", x, s.ints(1, 2, 2)))
    return s.out(s.op("Reshape", x, s.ints(1, 4, 1)))


@trap
def a_mean_over_samples_that_no_output_needs() -> Sketch:
    s = Sketch("ReduceMean")
    x = s.x((1, 4))
    s.op("Add", s.op("ReduceMean", x, axes=[0]), s.floats(1, 4))
    return s.out(s.op("ReduceMean", x, axes=[1]))
