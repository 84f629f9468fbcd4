"""Single models of several samples, whose constants number them as `arange(B)` does, or only seem to."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from tests.laws.batching_sketch import INT, Sketch
from tests.laws.batching_traps import trap

_GRID = ((-1, 1), (1, -1))


def _flat(s: Sketch, rows: int = 4) -> str:
    """Rows of all samples, one sample after the other."""
    return s.x((s.size * rows, 3), 0, 1, rows)


def _steps(s: Sketch, step: int, *dims: int) -> Any:
    """A constant that grows by a step from sample to sample."""
    return np.broadcast_to((np.arange(s.size) * step).reshape(-1, *[1] * len(dims)), (s.size, *dims))


def _own(s: Sketch, *dims: int, high: int = 4) -> str:
    """Numbers of each sample, which never are below 0."""
    return str(s.op("Mod", s.x((s.size, *dims), dtype=INT), s.ints(high)))


@trap
def several_samples_numbered_in_a_sum() -> Sketch:
    s = Sketch("Gather", 17, 3)
    places = s.op("Add", _own(s, 2), s.const(_steps(s, 4, 1), INT))
    return s.out(s.op("Gather", _flat(s), places))


@trap
def several_samples_numbered_in_a_sum_that_is_moved() -> Sketch:
    s = Sketch("Gather", 13, 2)
    places = s.op("Add", s.const(_steps(s, 4, 2, 1), INT), _own(s, 2, 1))
    flat = s.op("Reshape", s.op("Transpose", places, perm=[0, 2, 1]), s.ints(-1))
    return s.out(s.op("Gather", _flat(s), flat))


@trap
def several_samples_numbered_and_scaled() -> Sketch:
    s = Sketch("Gather", 17, 2)
    numbers = s.op("Add", _own(s, 1, high=2), s.const(_steps(s, 2, 1), INT))
    return s.out(s.op("Gather", s.x((16, 3), 0, 1, 8), s.op("Mul", numbers, s.ints(4))))


@trap
def several_samples_numbered_in_a_column() -> Sketch:
    s = Sketch("GatherND", 13, 3)
    pairs = s.op("Concat", s.const(_steps(s, 1, 2, 1), INT), _own(s, 2, 1), axis=-1)
    return s.out(s.op("GatherND", s.x((3, 4)), pairs))


@trap
def several_samples_numbered_in_32_bits() -> Sketch:
    s = Sketch("Gather", 13, 2)
    within = s.op("Mod", s.x((2, 2), dtype=np.int32), s.const([4], np.int32))
    return s.out(s.op("Gather", _flat(s), s.op("Add", within, s.const(_steps(s, 4, 1), np.int32))))


@trap
def several_samples_numbered_by_a_constant_alone() -> Sketch:
    s = Sketch("Gather", 17, 3)
    return s.out(s.op("Gather", s.x((3, 4)), s.const(np.arange(3), INT)))


@trap
def several_samples_of_which_a_constant_picks_rows() -> Sketch:
    s = Sketch("Gather", 17, 3)
    return s.out(s.op("Gather", _flat(s), s.const(np.array([1, 3, 5, 7, 9, 11]), INT)))


@trap
def several_samples_numbered_in_a_grid() -> Sketch:
    s = Sketch("ScatterND", 16, 2)
    grid = np.stack([*np.broadcast_arrays(np.arange(2)[:, None], np.array([[1, 3]]))], -1)
    return s.out(s.op("ScatterND", s.x((2, 4, 3)), s.const(grid, INT), s.x((2, 2, 3))))


@trap
def several_samples_numbered_in_a_grid_that_writes_into_zeros() -> Sketch:
    s = Sketch("ScatterND", 16, 3)
    grid = np.stack([*np.broadcast_arrays(np.arange(3)[:, None], np.array([[0, 2]]))], -1)
    return s.out(s.op("ScatterND", s.const(np.zeros((3, 4)), np.float32), s.const(grid, INT), s.x((3, 2))))


@trap
def several_samples_numbered_in_a_grid_with_constant_updates() -> Sketch:
    s = Sketch("ScatterND", 13, 2)
    grid = np.stack([*np.broadcast_arrays(np.arange(2)[:, None], np.array([[1, 3]]))], -1)
    return s.out(s.op("ScatterND", s.x((2, 4)), s.const(grid, INT), s.const(np.full((2, 2), 0.5), np.float32)))


@trap
def several_samples_numbered_beside_a_column_from_the_end() -> Sketch:
    s = Sketch("ScatterND", 16, 2)
    grid = np.stack([*np.broadcast_arrays(np.arange(2)[:, None], np.array([[-1]]))], -1)
    return s.out(s.op("ScatterND", s.x((2, 4)), s.const(grid, INT), s.x((2, 1))))


@trap
def several_samples_numbered_in_a_grid_from_the_end() -> Sketch:
    s = Sketch("ScatterND", 16, 2, free=False)
    grid = np.stack([*np.broadcast_arrays(np.arange(2)[:, None] - 2, np.array([[1]]))], -1)
    return s.out(s.op("ScatterND", s.x((2, 4)), s.const(grid, INT), s.x((2, 1))))


@trap
def several_samples_numbered_by_a_range() -> Sketch:
    s = Sketch("Range", 17, 2)
    x = s.x((2, 4))
    count = s.op("Reshape", s.dim(x, 0), s.const([], INT))
    numbers = s.op("Reshape", s.op("Range", s.const(0, INT), count, s.const(1, INT)), s.ints(2, 1))
    return s.out(s.op("GatherND", x, s.op("Concat", numbers, _own(s, 1), axis=1)))


@trap
def several_samples_numbered_from_the_end() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", s.x((2, 4)), s.const(np.array([-2, -1]), INT)))


@trap
def several_samples_numbered_in_a_sum_from_the_end() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", _flat(s), s.op("Add", _own(s, 2), s.const(_steps(s, 4, 1) - 8, INT))))


@trap
def several_samples_numbered_in_a_column_from_the_end() -> Sketch:
    s = Sketch("GatherND", 13, 2, free=False)
    pairs = s.op("Concat", s.const(_steps(s, 1, 2, 1) - 2, INT), _own(s, 2, 1), axis=-1)
    return s.out(s.op("GatherND", s.x((2, 4)), pairs))


@trap
def several_samples_numbered_in_a_sum_that_may_reach_back() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    within = s.x((2, 2), dtype=INT, low=0, high=4)
    return s.out(s.op("Gather", _flat(s), s.op("Add", within, s.const(_steps(s, 4, 1), INT))))


@trap
def several_samples_numbered_by_another_step() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", _flat(s), s.op("Add", _own(s, 2, high=1), s.const(_steps(s, 3, 1), INT))))


@trap
def several_samples_numbered_backwards() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", s.x((2, 4)), s.const(np.array([1, 0]), INT)))


@trap
def several_samples_that_all_pick_the_first() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", s.x((2, 4)), s.const(np.array([0, 0]), INT)))


@trap
def several_samples_of_which_one_is_picked() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    return s.out(s.op("Gather", s.x((2, 4)), s.const(1, INT)))


@trap
def several_samples_numbered_in_the_wrong_column() -> Sketch:
    s = Sketch("GatherND", 13, 2, free=False)
    pairs = s.op("Concat", _own(s, 2, 1, high=1), s.const(_steps(s, 1, 2, 1), INT), axis=-1)
    return s.out(s.op("GatherND", s.x((2, 4)), pairs))


@trap
def numbers_of_several_samples_that_are_added_to_them() -> Sketch:
    s = Sketch("Add", 17, 2, free=False)
    return s.out(s.op("Add", s.x((2, 4), dtype=INT), s.const(_steps(s, 1, 1), INT)))


@trap
def numbers_of_several_samples_that_are_cast() -> Sketch:
    s = Sketch("Add", 17, 2, free=False)
    whole = s.op("Add", s.x((2, 4), dtype=INT), s.const(_steps(s, 1, 1), INT))
    return s.out(s.op("Cast", whole, to=1))


@trap
def numbers_of_several_samples_that_are_compared() -> Sketch:
    s = Sketch("Equal", 17, 2, free=False)
    return s.out(s.op("Cast", s.op("Equal", s.x((2, 4), dtype=INT), s.const(_steps(s, 1, 1), INT)), to=1))


@trap
def numbers_of_several_samples_that_look_up_a_table() -> Sketch:
    s = Sketch("Gather", 17, 2, free=False)
    table = s.const(np.arange(27).reshape(9, 3), np.float32)
    return s.out(s.op("Gather", table, s.op("Add", _own(s), s.const(np.arange(2), INT))))


@trap
def numbers_of_several_samples_times_what_they_have() -> Sketch:
    s = Sketch("Mul", 17, 2, free=False)
    numbers = s.op("Add", s.op("Mul", _own(s, 1, high=1), s.ints(0)), s.const(_steps(s, 4, 1), INT))
    return s.out(s.op("Gather", _flat(s), s.op("Mul", numbers, _own(s, 1, high=2))))


def _largest(s: Sketch, dims: Any) -> tuple[str, str]:
    """An image, and where in each of its channels the largest entry of each window is."""
    x = s.x(dims)
    _, places = s.op("MaxPool", x, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    _, each = s.op("MaxPool", x, outputs=2, kernel_shape=[1, 1])
    first = s.op("Slice", each, s.ints(0, 0), s.ints(1, 1), s.ints(2, 3))
    return x, str(s.op("Sub", places, first))


@trap
def places_of_the_largest_within_each_channel() -> Sketch:
    s = Sketch("MaxPool", 18)
    x, places = _largest(s, (1, 2, 4, 2))
    flat = (s.op("Reshape", each, s.ints(1, 2, -1)) for each in (x, places))
    return s.out(s.op("GatherElements", *flat, axis=2))


@trap
def places_of_the_largest_within_each_channel_of_several_samples() -> Sketch:
    s = Sketch("MaxPool", 13, 3)
    x, places = _largest(s, (3, 2, 2, 4))
    flat = (s.op("Reshape", each, s.ints(3, 2, -1)) for each in (x, places))
    return s.out(s.op("GatherElements", *flat, axis=2))


@trap
def places_of_the_largest_that_are_written_back() -> Sketch:
    s = Sketch("MaxPool", 16)
    x, places = _largest(s, (1, 2, 4, 2))
    numbers = s.op("Reshape", s.op("Add", places, s.const([[[[0]], [[8]]]], INT)), s.ints(-1, 1))
    rows = s.op("Reshape", s.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), s.ints(-1))
    return s.out(s.op("ScatterND", s.floats(16), numbers, rows))


@trap
def places_of_the_largest_among_all() -> Sketch:
    s = Sketch("MaxPool", 13, 2, free=False)
    _, places = s.op("MaxPool", s.x((2, 2, 4, 2)), outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    return s.out(s.op("Cast", places, to=1))


@trap
def places_of_the_largest_of_one_sample_as_numbers() -> Sketch:
    s = Sketch("MaxPool", 13, free=False)
    _, places = s.op("MaxPool", s.x((1, 2, 4, 2)), outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    return s.out(s.op("Cast", places, to=1))


@trap
def places_of_the_largest_that_pick_from_all() -> Sketch:
    s = Sketch("MaxPool", 13)
    x = s.x((1, 2, 4, 2))
    _, places = s.op("MaxPool", x, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    return s.out(s.op("Gather", s.op("Reshape", x, s.ints(-1)), places))


def _put(s: Sketch, data: str, mask: str, numbers: str, **how: Any) -> str:
    """What torch writes for `data[mask] = number`."""
    places = s.op("Transpose", s.op("NonZero", mask), perm=[1, 0])
    count = s.op("ReduceSum", s.op("Cast", s.op("Reshape", mask, s.ints(-1)), to=7), keepdims=1)
    return str(s.op("ScatterND", data, places, s.op("Reshape", s.op("Expand", numbers, count), s.ints(-1)), **how))


def _above(s: Sketch, x: str, least: float = 0.0) -> str:
    return str(s.op("Greater", x, s.const(least, np.float32)))


@trap
def a_number_put_where_a_mask_is() -> Sketch:
    s = Sketch("ScatterND", 18)
    x = s.x((1, 3, 2))
    return s.out(_put(s, s.op("Neg", x), _above(s, x), s.const(0.5, np.float32)))


@trap
def a_number_put_where_a_mask_of_several_samples_is() -> Sketch:
    s = Sketch("ScatterND", 18, 3)
    return s.out(_put(s, s.x((2, 3), 1), _above(s, s.x((2, 3), 1), 1.0), s.const([0.5], np.float32)))


@trap
def numbers_put_one_after_the_other_where_masks_are() -> Sketch:
    s = Sketch("ScatterND", 13, 2)
    x = s.x((2, 4))
    once = _put(s, x, _above(s, x, 2.0), s.const(2.0, np.float32))
    return s.out(s.op("Relu", _put(s, once, _above(s, s.op("Neg", once)), s.const(-1.0, np.float32))))


@trap
def a_number_put_where_the_mask_of_another_sample_is() -> Sketch:
    s = Sketch("ScatterND", 18, 2, free=False)
    x = s.x((2, 2))
    return s.out(_put(s, x, _above(s, s.op("Transpose", x)), s.const(0.5, np.float32)))


@trap
def a_number_added_where_a_mask_is() -> Sketch:
    s = Sketch("ScatterND", 18, free=False)
    x = s.x((1, 3))
    return s.out(_put(s, x, _above(s, x), s.const(0.5, np.float32), reduction="add"))


@trap
def a_number_put_into_what_all_samples_share() -> Sketch:
    s = Sketch("ScatterND", 18, free=False)
    return s.out(_put(s, s.floats(1, 3), _above(s, s.x((1, 3))), s.const(0.5, np.float32)))


@trap
def rows_that_an_axis_of_one_gives_back() -> Sketch:
    s = Sketch("Unsqueeze", 13)
    rows = s.op("Reshape", s.x((1, 4, 3)), s.ints(4, 3))
    return s.out(s.op("Concat", s.op("Unsqueeze", rows, s.ints(0)), s.x((1, 2, 3)), axis=1))


@trap
def rows_that_an_axis_of_one_gives_back_behind_others() -> Sketch:
    s = Sketch("Unsqueeze", 13)
    rows = s.op("Reshape", s.op("Transpose", s.x((1, 2, 3)), perm=[1, 0, 2]), s.ints(2, 3))
    return s.out(s.op("Add", s.op("Unsqueeze", rows, s.ints(1)), s.op("Transpose", s.x((1, 2, 3)), perm=[1, 0, 2])))


@trap
def rows_beside_which_axes_of_one_come() -> Sketch:
    s = Sketch("Unsqueeze", 11)
    rows = s.op("Reshape", s.x((1, 2, 3)), s.ints(6))
    return s.out(s.op("Mul", s.op("Unsqueeze", rows, axes=[0, 2]), s.x((1, 6, 2))))


@trap
def places_of_ones_that_index_a_sample() -> Sketch:
    s = Sketch("Gather", 13)
    ones = [s.op("ConstantOfShape", s.ints(count), value=helper.make_tensor("", 7, [1], [1])) for count in (3, 2)]
    rows, columns = (
        s.op("Reshape", s.op("NonZero", each), s.ints(*dims)) for each, dims in zip(ones, _GRID, strict=True)
    )
    return s.out(s.op("Gather", s.x((4, 2), 0, 1, 4), s.op("Add", rows, columns)))


@trap
def sizes_put_into_sizes() -> Sketch:
    s = Sketch("ScatterElements", 18, 2)
    x = s.x((2, 4, 3))
    dims = s.op("ScatterElements", s.op("Shape", x), s.ints(1), s.ints(2), axis=0)
    places = s.op("Expand", s.const([[[0], [3]]], INT), dims)
    return s.out(s.op("ScatterElements", x, places, s.op("Expand", s.const([0.5], np.float32), dims), axis=1))


@trap
def a_size_put_over_that_of_the_batch() -> Sketch:
    s = Sketch("ScatterElements", 18, free=False)
    x = s.x((1, 4))
    dims = s.op("ScatterElements", s.op("Shape", x), s.ints(-2), s.ints(3), axis=0)
    return s.out(s.op("Add", s.op("Expand", x, dims), s.floats(3, 4)))
