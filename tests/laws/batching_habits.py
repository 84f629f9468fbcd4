"""Single models as released ones are written: pads that are computed, nodes that nobody needs, sizes of sizes."""

from __future__ import annotations

import numpy as np
from onnx import helper

from tests.laws.batching_sketch import BOOL, INT, Sketch
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


@trap
def a_target_that_infers_what_the_samples_have_together() -> Sketch:
    """Rows of all samples, as many as half of a width that may be 0."""
    s = Sketch("Reshape", named={"H": 3, "W": 4})
    x = s.x((1, "H", "W", 2))
    small = s.op("MaxPool", s.op("Transpose", x, perm=[0, 3, 1, 2]), kernel_shape=[1, 2], strides=[1, 2])
    back = s.op("Transpose", small, perm=[0, 2, 3, 1])
    return s.out(s.op("Reshape", back, s.op("Concat", s.ints(-1), s.dim(back, 2), s.ints(2), axis=0)))


@trap
def a_target_that_infers_beside_what_may_copy_the_batch() -> Sketch:
    s = Sketch("Reshape", named={"H": 3, "W": 4}, free=False)
    x = s.x(("H", 1, "W", 2), 1)
    return s.out(s.op("Reshape", x, s.op("Concat", s.ints(-1), s.dim(x, 2), s.ints(2), axis=0)))


@trap
def two_open_sizes_that_only_the_input_says() -> Sketch:
    s = Sketch("Squeeze", named={"H": 3, "W": 4})
    return s.out(s.op("Squeeze", s.x((1, 1, "H", "W")), s.ints(0)))


@trap
def two_open_sizes_of_which_one_is_halved() -> Sketch:
    s = Sketch("Squeeze", named={"H": 3, "W": 5})
    small = s.op("AveragePool", s.x((1, 1, "H", "W")), kernel_shape=[2, 2], strides=[1, 2])
    return s.out(s.op("Squeeze", small, s.ints(0)))


@trap
def two_sizes_that_only_a_run_tells() -> Sketch:
    s = Sketch("Squeeze", free=False)
    which = s.x((3,), None, dtype=BOOL)
    one = s.op("Compress", s.x((1, 1, 3, 3)), which, axis=2)
    return s.out(s.op("Squeeze", s.op("Compress", one, which, axis=3), s.ints(0)))


@trap
def heads_whose_rows_are_joined() -> Sketch:
    """Boxes of two scales, those of each flattened with the samples, as old detectors have them."""
    s = Sketch("Concat")
    x = s.x((1, 2, 4, 4))
    small = s.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    rows = [s.op("Reshape", s.op("Transpose", each, perm=[0, 2, 3, 1]), s.ints(-1, 2)) for each in (x, small)]
    return s.out(s.op("Concat", *rows, axis=0))


@trap
def heads_whose_rows_are_joined_and_counted() -> Sketch:
    s = Sketch("Concat", 9)
    x = s.x((1, 3, 4))
    parts = s.op("Split", x, axis=1, split=[1, 2], outputs=2)
    rows = s.op("Concat", *(s.op("Reshape", each, s.ints(-1, 4)) for each in parts), axis=0)
    return s.out(s.op("Reshape", rows, s.ints(1, 3, 4)), s.op("Relu", rows))


@trap
def heads_of_open_sizes_whose_rows_are_joined() -> Sketch:
    s = Sketch("Concat", named={"H": 4, "W": 6})
    x = s.x((1, 2, "H", "W"))
    small = s.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    rows = [s.op("Reshape", s.op("Transpose", each, perm=[0, 2, 3, 1]), s.ints(-1, 2)) for each in (x, small)]
    return s.out(s.op("Concat", *rows, axis=0))


@trap
def rows_that_all_samples_share_joined_with_those_of_each() -> Sketch:
    s = Sketch("Concat")
    rows = s.op("Reshape", s.x((1, 3, 2)), s.ints(3, 2))
    return s.out(s.op("Concat", s.floats(2, 2), rows, s.floats(1, 2), axis=0))


@trap
def heads_of_two_samples_whose_rows_are_joined() -> Sketch:
    """There the model itself says that those of one scale stand before those of the other."""
    s = Sketch("Concat", size=2, free=False)
    x = s.x((2, 3, 4))
    rows = [s.op("Reshape", each, s.ints(-1, 4)) for each in s.op("Split", x, s.ints(1, 2), axis=1, outputs=2)]
    return s.out(s.op("Concat", *rows, axis=0))


@trap
def rows_that_stand_between_others_joined() -> Sketch:
    s = Sketch("Concat", free=False)
    x, y = s.x((4, 2), 0, 2, 2), s.x((6, 2), 0, 2, 3)
    return s.out(s.op("Concat", x, y, axis=0))


def _ones_and(s: Sketch, *scales: str) -> str:
    return str(s.op("Concat", s.const([1, 1], np.float32), *scales, axis=0))


@trap
def scales_of_space_that_are_computed() -> Sketch:
    s = Sketch("Upsample", 9, named={"H": 2, "W": 3})
    x = s.x((1, 2, "H", "W"))
    twice = [
        s.op("Div", s.op("Cast", s.op("Mul", s.dim(x, at), s.ints(2)), to=1), s.op("Cast", s.dim(x, at), to=1))
        for at in (2, 3)
    ]
    return s.out(s.op("Upsample", x, _ones_and(s, *twice), mode="nearest"))


@trap
def scales_of_space_that_the_caller_gives() -> Sketch:
    s = Sketch("Resize", 13)
    given = s.x((1,), None, low=1, high=3)
    return s.out(s.op("Resize", s.x((1, 2, 3, 3)), "", _ones_and(s, given, given), mode="nearest"))


@trap
def scales_that_the_caller_gives_for_the_batch_too() -> Sketch:
    s = Sketch("Resize", 13, free=False)
    return s.out(s.op("Resize", s.x((1, 2)), "", s.x((2,), None, low=1, high=3), mode="nearest"))


def _before_it_broadcast(op: str, *, first: bool) -> Sketch:
    s = Sketch(op, 7)
    pair = [s.floats(1, 3), s.x((1, 3))]
    return s.out(s.op(op, *(pair if first else pair[::-1]), s.floats(1, 3)))


@trap
def a_sum_whose_operands_are_all_alike() -> Sketch:
    return _before_it_broadcast("Sum", first=True)


@trap
def a_maximum_whose_operands_are_all_alike() -> Sketch:
    return _before_it_broadcast("Max", first=False)


@trap
def a_mean_whose_operands_are_all_alike() -> Sketch:
    return _before_it_broadcast("Mean", first=True)


def _mask_by_numbers(s: Sketch, mask: str, *, by: int) -> str:
    """A mask looked up in all its rows at once, at the number of the sample times the length, as transformers do it."""
    wide = [s.op("Squeeze", s.dim(mask, axis)) for axis in (0, 1)]
    rows, columns = (s.op("Range", s.const(0, INT), each, s.const(1, INT)) for each in wide)
    first = s.op("Mul", s.op("Unsqueeze", rows, s.ints(1)), s.dim(mask, by))
    places = s.op("Add", s.op("Unsqueeze", columns, s.ints(0)), first)
    return str(s.op("Gather", s.op("Reshape", mask, s.ints(-1)), places, axis=0))


@trap
def a_mask_looked_up_by_numbers_times_its_length() -> Sketch:
    s = Sketch("Gather", named={"S": 4})
    return s.out(_mask_by_numbers(s, s.x((1, "S")), by=1))


@trap
def a_mask_looked_up_by_numbers_times_another_length() -> Sketch:
    s = Sketch("Gather", named={"S": 4, "T": 3}, free=False)
    mask, other = s.x((1, "S")), s.x((2, "T"), None)
    columns = s.op("Range", s.const(0, INT), s.op("Squeeze", s.dim(mask, 1)), s.const(1, INT))
    rows = s.op("Range", s.const(0, INT), s.op("Squeeze", s.dim(mask, 0)), s.const(1, INT))
    first = s.op("Mul", s.op("Unsqueeze", rows, s.ints(1)), s.dim(other, 1))
    places = s.op("Add", s.op("Unsqueeze", columns, s.ints(0)), first)
    return s.out(s.op("Gather", s.op("Reshape", mask, s.ints(-1)), places, axis=0), s.op("Relu", other))
