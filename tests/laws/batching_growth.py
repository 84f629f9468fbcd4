"""Models in which something grows with N beside the samples: operands, vectors of sizes, and numbers of samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tests.laws.batching_habits
import tests.laws.batching_named
import tests.laws.batching_numbers
import tests.laws.batching_rarities  # noqa: F401 - their traps come before these
from tests.laws.batching_indexing import numbers_of
from tests.laws.batching_sketch import FLOAT, INT, Sketch
from tests.laws.batching_traps import TRAPS, trap

# Operands that grow, and must be both pinned and spread


def _sizes(s: Sketch, x: str, *dims: int) -> str:
    """The dims of x in these dims: what one sample has must be put there for each."""
    return str(s.op("Expand", s.op("Shape", x), s.ints(*dims)))


@trap
def a_choice_between_sizes() -> Sketch:
    s = Sketch("Where", size=2)
    x = s.x((2, 3, 2), dtype=INT)
    return s.out(s.op("Where", s.op("Greater", x, s.ints(0)), _sizes(s, s.op("Flatten", x), 2, 3, 2), s.ints(7)))


@trap
def a_choice_between_two_spreads_of_the_same_sizes() -> Sketch:
    s = Sketch("Where")
    x = s.x((3, 2), 0, 1, 3, dtype=INT)
    sizes = _sizes(s, s.op("Flatten", x), 3, 2)
    return s.out(
        s.op("Where", s.op("Greater", x, s.ints(0)), sizes, s.op("Neg", sizes)), s.op("Concat", x, sizes, axis=1)
    )


@trap
def sizes_beside_the_samples() -> Sketch:
    s = Sketch("Concat")
    x = s.x((1, 3), dtype=INT)
    return s.out(s.op("Concat", x, s.op("Unsqueeze", s.op("Shape", x), s.ints(0)), axis=1))


@trap
def the_same_sizes_beside_several_samples_twice() -> Sketch:
    s = Sketch("Concat", size=3)
    x = s.x((3, 2), dtype=INT)
    sizes = _sizes(s, x, 3, 2)
    return s.out(s.op("Concat", sizes, x, sizes, axis=1), s.op("Add", x, sizes))


@trap
def sizes_with_samples_scattered_into_them() -> Sketch:
    s = Sketch("ScatterND")
    x = s.x((2, 1), 1, dtype=INT)
    sizes = s.op("Unsqueeze", s.op("Concat", s.op("Shape", x), s.dim(x, 1), axis=0), s.ints(1))
    return s.out(s.op("ScatterND", sizes, s.const([[0], [2]], INT), x))


@trap
def elements_of_sizes_picked_by_each_sample() -> Sketch:
    s = Sketch("GatherElements")
    x = s.x((1, 3), dtype=INT, low=0, high=2)
    return s.out(s.op("GatherElements", s.op("Unsqueeze", s.op("Shape", x), s.ints(0)), x, axis=1))


@trap
def slices_of_sizes_picked_by_each_sample() -> Sketch:
    s = Sketch("GatherND")
    x = s.x((1, 3, 1), dtype=INT, low=0, high=2)
    return s.out(s.op("GatherND", s.op("Unsqueeze", s.op("Shape", s.op("Flatten", x)), s.ints(0)), x, batch_dims=1))


@trap
def a_sum_of_products_with_sizes() -> Sketch:
    s = Sketch("MatMul", size=2)
    x = s.x((2, 1, 3), dtype=INT)
    return s.out(s.op("MatMul", x, _sizes(s, s.op("Squeeze", x, s.ints(1)), 2, 3, 2)))


@trap
def lengths_that_grow() -> Sketch:
    s = Sketch("RNN", 14)
    x = s.x((5, 1, 2), 1)
    lengths = s.op("Cast", s.dim(x, 1), to=6)
    made = s.op("RNN", x, s.floats(1, 3, 2), s.floats(1, 3, 3), "", lengths, hidden_size=3, outputs=2)
    return s.out(*made)


@trap
def lengths_that_grow_of_what_is_turned() -> Sketch:
    s = Sketch("ReverseSequence")
    x = s.x((5, 1, 2), 1)
    return s.out(s.op("ReverseSequence", x, s.op("Add", s.dim(x, 1), s.ints(2))))


@trap
def lengths_of_their_own_for_two_samples() -> Sketch:
    s = Sketch("ReverseSequence", size=2, free=False)
    return s.out(s.op("ReverseSequence", s.x((5, 2, 2), 1), s.ints(5, 2)))


@trap
def an_image_that_grows() -> Sketch:
    s = Sketch("Col2Im", 18)
    x = s.x((1, 4, 4))
    return s.out(
        s.op("Col2Im", x, s.op("Concat", s.op("Add", s.dim(x, 0), s.ints(2)), s.ints(3), axis=0), s.ints(2, 2))
    )


@trap
def an_image_of_the_size_of_another() -> Sketch:
    s = Sketch("Col2Im", 18, named={"B": 1})
    x, z = s.x(("B", 4, 4)), s.x(("B", 2, 3, 3))
    return s.out(s.op("Col2Im", x, s.op("Shape", z, start=2), s.ints(2, 2)))


@trap
def blocks_of_each_sample() -> Sketch:
    s = Sketch("Col2Im", 18, free=False)
    return s.out(s.op("Col2Im", s.x((1, 2, 2)), s.ints(3), s.x((1,), 0, dtype=INT, low=2, high=3)))


@trap
def a_grid_as_high_as_there_are_samples() -> Sketch:
    s = Sketch("AffineGrid", 20)
    theta = s.x((1, 2, 3))
    sizes = s.op("Concat", s.dim(theta, 0), s.ints(3), s.dim(theta, 0), s.ints(4), axis=0)
    return s.out(s.op("AffineGrid", theta, sizes))


@trap
def a_shared_grid_as_high_as_there_are_samples() -> Sketch:
    s = Sketch("AffineGrid", 20)
    x = s.x((1, 1, 3, 3))
    sizes = s.op("Concat", s.ints(1, 1), s.dim(x, 0), s.ints(4), axis=0)
    return s.out(s.op("GridSample", x, s.op("AffineGrid", s.floats(1, 2, 3), sizes)))


@trap
def a_grid_of_the_size_of_each_sample() -> Sketch:
    s = Sketch("AffineGrid", 20, free=False)
    sizes = s.op("Concat", s.ints(1, 1), s.x((1,), 0, dtype=INT, low=1), s.ints(4), axis=0)
    return s.out(s.op("AffineGrid", s.floats(1, 2, 3), sizes))


@trap
def a_grid_for_each_of_an_open_batch() -> Sketch:
    s = Sketch("AffineGrid", 20, named={"B": 1})
    x = s.x(("B", 1, 3, 3))
    theta = s.op("Expand", s.floats(1, 2, 3), s.op("Concat", s.dim(x, 0), s.ints(2, 3), axis=0))
    return s.out(s.op("GridSample", x, s.op("AffineGrid", theta, s.op("Shape", x))))


@trap
def grids_as_high_as_an_open_batch() -> Sketch:
    s = Sketch("AffineGrid", 22, named={"B": 1}, free=False)
    theta = s.x(("B", 2, 3))
    sizes = s.op("Concat", s.dim(theta, 0), s.ints(3, 4), s.dim(theta, 0), axis=0)
    return s.out(s.op("AffineGrid", theta, sizes))


@trap
def sizes_calculated_from_one_that_is_pinned() -> Sketch:
    """A Split of sizes is not followed, so what it gives is that of one sample; 2 * N - 1 is not N."""
    s = Sketch("Split")
    x = s.x((1, 6))
    one, _ = s.op("Split", s.op("Shape", x), axis=0, outputs=2)
    size = s.op("Sub", s.op("Mul", s.dim(x, 0), s.ints(2)), one)
    return s.out(s.op("Reshape", x, s.op("Concat", size, s.ints(2, 3), axis=0)))


@trap
def a_shared_tensor_that_grows_by_what_is_pinned() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 6))
    one, _ = s.op("Split", s.op("Shape", x), axis=0, outputs=2)
    size = s.op("Sub", s.op("Mul", s.dim(x, 0), s.ints(2)), one)
    return s.out(s.op("Relu", x), s.op("Expand", s.floats(1, 6), s.op("Concat", size, s.ints(6), axis=0)))


@trap
def a_difference_of_sizes_of_which_one_is_pinned() -> Sketch:
    s = Sketch("Sub")
    x = s.x((1, 6))
    one, _ = s.op("Split", s.op("Shape", x), axis=0, outputs=2)
    return s.out(s.op("Add", x, s.op("Cast", s.op("Sub", s.dim(x, 0), one), to=1)))


# Vectors of sizes that are shorter than the rank


@trap
def a_shared_tensor_that_grows_at_its_last_axis() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 4))
    return s.out(s.op("Relu", x), s.op("Expand", s.floats(1, 1), s.dim(x, 0)))


@trap
def a_shared_tensor_that_grows_at_its_last_axis_but_one() -> Sketch:
    s = Sketch("Expand")
    x = s.x((3, 1, 4), 1)
    wide = s.op("Expand", s.floats(3, 1, 1), s.op("Concat", s.dim(x, 1), s.ints(4), axis=0))
    return s.out(s.op("Add", x, wide))


@trap
def a_shared_row_that_meets_the_batch_at_another_axis() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 4))
    wide = s.op("Expand", s.floats(4, 1), s.dim(x, 0))
    return s.out(s.op("Add", s.op("Transpose", x), wide))


@trap
def samples_that_meet_a_vector_shorter_than_their_rank() -> Sketch:
    s = Sketch("Expand", size=2)
    x = s.x((2, 1, 3))
    return s.out(s.op("Expand", x, s.op("Concat", s.dim(x, 0), s.ints(1), axis=0)))


# Numbers of samples


def _numbers(s: Sketch, x: str, plus: int = 0, times: int = 1) -> str:
    numbers = numbers_of(s, x)
    numbers = numbers if times == 1 else s.op("Mul", numbers, s.ints(times))
    return numbers if plus == 0 else str(s.op("Add", numbers, s.ints(plus)))


@trap
def numbers_of_samples_less_one_among_several_rows() -> Sketch:
    s = Sketch("Gather")
    x = s.x((1, 4))
    return s.out(s.op("Gather", s.op("Reshape", x, s.ints(-1, 2)), _numbers(s, x, -1), axis=0))


@trap
def numbers_of_samples_in_steps_and_less_one() -> Sketch:
    s = Sketch("Gather")
    x = s.x((1, 6))
    return s.out(s.op("Gather", s.op("Reshape", x, s.ints(-1, 2)), _numbers(s, x, -1, 3), axis=0))


@trap
def numbers_of_samples_backwards() -> Sketch:
    s = Sketch("Gather")
    x = s.x((1, 4))
    return s.out(s.op("Gather", x, s.op("Sub", s.op("Sub", s.dim(x, 0), s.ints(1)), numbers_of(s, x)), axis=0))


@trap
def numbers_of_samples_compared_with_each_other() -> Sketch:
    s = Sketch("Range", free=False)
    x = s.x((1, 4))
    numbers = numbers_of(s, x)
    eye = s.op("Equal", s.op("Unsqueeze", numbers, s.ints(1)), s.op("Unsqueeze", numbers, s.ints(0)))
    return s.out(s.op("MatMul", s.op("Cast", eye, to=1), x))


@trap
def numbers_of_samples_in_both_columns() -> Sketch:
    s = Sketch("GatherND")
    x = s.x((1, 4))
    numbers = s.op("Unsqueeze", numbers_of(s, x), s.ints(1))
    return s.out(s.op("GatherND", x, s.op("Concat", numbers, numbers, axis=1)))


@trap
def numbers_of_samples_in_the_wrong_column_of_updates() -> Sketch:
    s = Sketch("ScatterND")
    x = s.x((1, 4))
    numbers = s.op("Unsqueeze", _numbers(s, x, -1), s.ints(1))
    updates = s.op("ReduceMax", x, axes=[1], keepdims=0)
    return s.out(s.op("ScatterND", x, s.op("Concat", s.const([[0]], INT), numbers, axis=1), updates))


def _open(about: str, *, free: bool = False) -> tuple[Sketch, str]:
    """A model that names the size of its batch: what it does with several samples is not for us to change."""
    s = Sketch(about, free=free, named={"B": 1})
    return s, s.x(("B", 4))


@trap
def an_open_batch_that_is_turned() -> Sketch:
    s, x = _open("Gather")
    return s.out(s.op("Gather", x, _numbers(s, x, -1), axis=0))


@trap
def an_open_batch_that_is_turned_for_a_sum() -> Sketch:
    s, x = _open("Gather")
    turned = s.op("Gather", x, s.op("Sub", _numbers(s, x, 1), s.ints(2)), axis=0)
    return s.out(s.op("Sub", x, turned))


@trap
def an_open_batch_that_is_picked_from_its_first_half() -> Sketch:
    s, x = _open("Gather")
    rows = s.op("Reshape", x, s.ints(-1, 2))
    return s.out(s.op("Gather", rows, _numbers(s, x), axis=0))


@trap
def an_open_batch_in_which_each_sample_meets_the_next() -> Sketch:
    s, x = _open("ScatterND")
    return s.out(s.op("ScatterND", x, s.op("Unsqueeze", _numbers(s, x, -1), s.ints(1)), s.op("Neg", x)))


@trap
def an_open_batch_that_is_picked_by_row_and_column() -> Sketch:
    s, x = _open("GatherND", free=True)
    last = s.op("ArgMax", x, axis=1)
    numbers = s.op("Unsqueeze", numbers_of(s, x), s.ints(1))
    return s.out(s.op("GatherND", x, s.op("Concat", numbers, last, axis=1)))


@trap
def an_open_batch_that_is_picked_by_row_there_and_back() -> Sketch:
    s, x = _open("Gather", free=True)
    return s.out(s.op("Gather", x, s.op("Sub", _numbers(s, x, 1), s.ints(1)), axis=0))


# Space that is cut out of the batch


@trap
def a_part_of_the_batch_cut_out() -> Sketch:
    s = Sketch("Resize", free=False, reference=True)
    roi = s.const([0.5, 0, 0, 1, 1, 1], FLOAT)
    crop: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    return s.out(s.op("Resize", s.x((1, 2, 3)), roi, s.const([1, 1, 2], FLOAT), **crop))


@trap
def proportions_kept_with_the_batch_among_them() -> Sketch:
    s = Sketch("Resize", 18, free=False)
    given: dict[str, Any] = {"keep_aspect_ratio_policy": "not_smaller", "mode": "nearest"}
    return s.out(s.op("Resize", s.x((1, 3, 4)), "", "", s.ints(1, 4, 4), **given))


@trap
def half_an_entry_further_along_the_batch() -> Sketch:
    s = Sketch("Resize", free=False, reference=True)
    moved: dict[str, Any] = {
        "coordinate_transformation_mode": "tf_half_pixel_for_nn",
        "mode": "nearest",
        "nearest_mode": "ceil",
    }
    return s.out(s.op("Resize", s.x((1, 3)), "", s.const(np.array([1, 2]), FLOAT), **moved))


# Rows that are computed from constants, and seem to be the same for each sample


def _beside(op: str, rows: Any, opset: int, **given: Any) -> Sketch:
    s = Sketch("Add", opset, size=2, free=False)
    made = s.op(op, s.const(rows, FLOAT), **given)
    return s.out(s.op("Add", s.x(np.shape(rows)), made))


@trap
def rows_of_an_old_softmax() -> Sketch:
    """Before opset 13 it looks along all axes from the first on; along that axis alone the rows would be the same."""
    return _beside("Softmax", [[[1, 2]], [[2, 4]]], 11)


@trap
def rows_of_an_old_logarithm_of_a_softmax() -> Sketch:
    return _beside("LogSoftmax", [[[1, 2]], [[2, 4]]], 12, axis=1)


@trap
def rows_of_an_old_hardmax() -> Sketch:
    return _beside("Hardmax", [[[1, 2]], [[4, 2]]], 9, axis=1)


@trap
def rows_of_a_norm_of_absolute_numbers() -> Sketch:
    return _beside("LpNormalization", [[3, -1], [-3, 1]], 13, p=1)


@trap
def rows_of_a_slice_that_begins_before_the_first() -> Sketch:
    s = Sketch("Concat", size=2, free=False)
    none = s.op("Slice", s.floats(3), s.ints(-9), s.ints(-9), s.ints(0), s.ints(-1))
    rows = s.op("Concat", s.op("Neg", none), none, axis=0)
    return s.out(s.op("Concat", s.x((2, 3)), s.op("Unsqueeze", rows, s.ints(1)), axis=1))


# What breaks the rules of an operator, or has no elements


@trap
def more_batch_dims_than_the_indices_have_axes() -> Sketch:
    """onnxruntime runs it for one sample."""
    s = Sketch("GatherND", 12, free=False)
    return s.out(s.op("GatherND", s.x((1, 3)), s.ints(1), batch_dims=1))


@trap
def a_difference_from_nothing() -> Sketch:
    s = Sketch("Sub", free=False)
    x = s.x((1, 2))
    return s.out(s.op("Relu", x), s.op("Sub", x, s.const(np.zeros((0, 1)), FLOAT)))


@trap
def a_choice_from_nothing() -> Sketch:
    s = Sketch("Where", free=False)
    x = s.x((2, 1, 0), 1)
    return s.out(s.op("Where", s.op("Greater", x, s.const(0.0, FLOAT)), s.floats(3, 1), s.floats(1)))


@trap
def nothing_squeezed() -> Sketch:
    s = Sketch("Squeeze", free=False)
    return s.out(s.op("Squeeze", s.x((1, 2, 0, 3)), s.ints(0)))


@trap
def sizes_backwards_to_the_end() -> Sketch:
    """Backwards, the end that means all there is is the first element for some and the last for others."""
    s = Sketch("Slice")
    x = s.x((1, 3), dtype=INT)
    sizes = s.op("Slice", s.op("Shape", x), s.ints(0), s.ints(2**63 - 1), s.ints(0), s.ints(-1))
    return s.out(s.op("Concat", x, s.op("Expand", sizes, s.ints(1, 1)), axis=1))


@trap
def another_input_of_the_size_of_the_batch() -> Sketch:
    """What has the same name has the same size, so it is of the batch too; but nobody said at which axis."""
    s = Sketch("Add", named={"N": 1}, free=False)
    return s.out(s.op("Add", s.x((1, 4)), s.x(("N", 4), None)))


def traps() -> Iterator[Sketch]:
    """All of them, and those of the other files."""
    for make in TRAPS:
        made = make()
        made.trap = make.__name__
        yield made
