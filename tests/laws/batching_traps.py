"""Single models that are easily batched wrongly: sizes that depend on N in unusual places, and nodes that go away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import helper

from tests.laws.batching_sketch import INT, Sketch

TRAPS: list[Callable[[], Sketch]] = []


def trap(make: Callable[[], Sketch]) -> Callable[[], Sketch]:
    TRAPS.append(make)
    return make


@trap
def expand_grows_another_axis_by_the_batch() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 1))
    return s.out(s.op("Expand", x, s.op("Concat", s.ints(1), s.dim(x, 0), axis=0)))


@trap
def expand_grows_both_axes_by_the_batch() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 1))
    return s.out(s.op("Expand", x, s.op("Concat", s.dim(x, 0), s.dim(x, 0), axis=0)))


@trap
def expand_of_a_constant_by_the_batch_twice() -> Sketch:
    s = Sketch("Expand")
    x = s.x((1, 3))
    square = s.op("Expand", s.floats(1, 1), s.op("Concat", s.dim(x, 0), s.dim(x, 0), axis=0))
    return s.out(s.op("Add", x, square))


@trap
def slice_with_a_step_on_the_batch() -> Sketch:
    s = Sketch("Slice")
    return s.out(s.op("Slice", s.x((1, 3)), s.ints(0), s.ints(1), s.ints(0), s.ints(2)))


@trap
def slice_to_the_end_with_a_step_on_the_batch() -> Sketch:
    s = Sketch("Slice")
    return s.out(s.op("Slice", s.x((1, 3)), s.ints(0), s.ints(2**63 - 1), s.ints(0), s.ints(3)))


@trap
def slice_backwards_along_the_batch() -> Sketch:
    s = Sketch("Slice", free=False)
    return s.out(s.op("Slice", s.x((1, 3)), s.ints(-1), s.ints(-(2**62)), s.ints(0), s.ints(-1)))


@trap
def slice_of_another_axis_up_to_the_batch() -> Sketch:
    s = Sketch("Slice")
    x = s.x((1, 3))
    return s.out(s.op("Slice", x, s.ints(0), s.dim(x, 0), s.ints(1)))


@trap
def slice_of_all_axes_up_to_the_batch() -> Sketch:
    s = Sketch("Slice")
    x = s.x((1, 3))
    ends = s.op("Concat", s.dim(x, 0), s.dim(x, 0), axis=0)
    return s.out(s.op("Slice", x, s.ints(0, 0), ends))


@trap
def split_into_parts_of_the_batch() -> Sketch:
    s = Sketch("Split")
    x = s.x((1, 3))
    return s.out(*s.op("Split", x, s.op("Concat", s.dim(x, 0), s.ints(2), axis=0), axis=1, outputs=2))


@trap
def pad_by_the_batch() -> Sketch:
    s = Sketch("Pad")
    x = s.x((1, 3))
    return s.out(s.op("Pad", x, s.op("Concat", s.ints(0), s.dim(x, 0), s.ints(0, 0), axis=0)))


@trap
def pad_of_axes_that_the_caller_gives() -> Sketch:
    s = Sketch("Pad", 18, free=False)
    axes = s.x((1,), None, dtype=INT, low=0, high=1)
    return s.out(s.op("Pad", s.x((1, 3)), s.ints(1, 1), "", axes))


@trap
def reduction_over_an_axis_numbered_by_the_batch() -> Sketch:
    s = Sketch("ReduceSum")
    x = s.x((1, 3, 2))
    return s.out(s.op("ReduceSum", x, s.dim(x, 0)))


@trap
def cumsum_along_an_axis_numbered_by_the_batch() -> Sketch:
    s = Sketch("CumSum")
    x = s.x((1, 3, 2))
    return s.out(s.op("CumSum", x, s.op("Squeeze", s.dim(x, 0))))


@trap
def squeeze_of_an_axis_numbered_by_the_batch() -> Sketch:
    s = Sketch("Squeeze")
    x = s.x((1, 1, 2))
    return s.out(s.op("Squeeze", x, s.dim(x, 0)))


@trap
def unsqueeze_at_an_axis_numbered_by_the_batch() -> Sketch:
    s = Sketch("Unsqueeze")
    x = s.x((1, 3, 2))
    return s.out(s.op("Unsqueeze", x, s.dim(x, 0)))


@trap
def resize_to_the_size_of_the_batch() -> Sketch:
    s = Sketch("Resize")
    x = s.x((1, 2, 3, 4))
    sizes = s.op("Concat", s.dim(x, 0), s.dim(x, 1), s.op("Mul", s.dim(x, 0), s.ints(6)), s.ints(8), axis=0)
    return s.out(s.op("Resize", x, "", "", sizes, mode="nearest"))


@trap
def tile_of_another_axis_by_the_batch() -> Sketch:
    s = Sketch("Tile")
    x = s.x((1, 3))
    return s.out(s.op("Tile", x, s.op("Concat", s.ints(1), s.dim(x, 0), axis=0)))


@trap
def top_k_of_as_many_as_the_batch() -> Sketch:
    s = Sketch("TopK")
    x = s.x((1, 3))
    return s.out(*s.op("TopK", x, s.dim(x, 0), outputs=2))


@trap
def the_batch_as_a_number() -> Sketch:
    s = Sketch("Shape")
    x = s.x((1, 3))
    return s.out(s.op("Div", x, s.op("Cast", s.dim(x, 0), to=1)))


@trap
def a_shape_as_an_output() -> Sketch:
    s = Sketch("Shape", free=False)
    x = s.x((1, 3))
    return s.out(s.op("Relu", x), s.op("Shape", x))


@trap
def a_count_of_elements_as_an_output() -> Sketch:
    s = Sketch("Size", free=False)
    x = s.x((1, 3))
    return s.out(s.op("Relu", x), s.op("Mul", s.op("Size", x), s.const(2, INT)))


@trap
def indices_of_a_pooling_as_an_output() -> Sketch:
    s = Sketch("MaxPool", free=False)
    return s.out(*s.op("MaxPool", s.x((1, 2, 4, 4)), kernel_shape=[2, 2], outputs=2))


@trap
def the_type_of_a_batched_tensor() -> Sketch:
    s = Sketch("CastLike")
    x = s.x((1, 3))
    return s.out(s.op("Add", x, s.op("CastLike", s.const([[1], [2]], INT), x)))


@trap
def a_first_node_that_goes_away() -> Sketch:
    s = Sketch("Squeeze")
    x = s.op("Squeeze", s.x((1, 3, 1)), s.ints(0))
    return s.out(s.op("Concat", x, s.floats(3, 2), axis=1))


@trap
def a_first_node_that_is_replaced_by_a_gather_of_each() -> Sketch:
    s = Sketch("Gather")
    x, i = s.x((1, 3, 1)), s.x((1, 2), dtype=INT, low=0, high=3)
    return s.out(s.op("Concat", s.op("Gather", x, i, axis=1), s.floats(1, 1, 2, 4), axis=-1))


@trap
def gather_of_each_with_short_indices() -> Sketch:
    s = Sketch("Gather")
    x, i = s.x((1, 3)), s.x((1, 2), dtype=np.int32, low=0, high=3)
    return s.out(s.op("Gather", x, i, axis=1))


@trap
def gather_of_each_of_two_samples_by_all() -> Sketch:
    s = Sketch("Gather", size=2, free=False)
    x, i = s.x((2, 3)), s.x((2, 2), dtype=INT, low=0, high=3)
    return s.out(s.op("Gather", x, i, axis=1))


@trap
def gather_by_offsets_in_an_old_opset() -> Sketch:
    s = Sketch("Gather", 9, free=False)
    x, i = s.x((1, 3)), s.x((1, 2), dtype=INT, low=0, high=1)
    return s.out(s.op("Gather", x, i, axis=0))


@trap
def gather_nd_that_leads_by_one_and_picks_the_other() -> Sketch:
    s = Sketch("GatherND", free=False, reference=True)
    x, i = s.x((1, 1, 5), 1), s.x((1, 2, 1), 0, dtype=INT, low=0, high=1)
    return s.out(s.op("GatherND", x, i, batch_dims=1))


@trap
def offsets_of_a_deformed_convolution_for_all_samples() -> Sketch:
    s = Sketch("DeformConv", 19)
    x = s.x((1, 1, 3, 3))
    return s.out(s.op("DeformConv", x, s.floats(1, 1, 2, 2), s.floats(1, 8, 2, 2), kernel_shape=[2, 2]))


@trap
def zero_points_by_columns_that_carry_the_batch() -> Sketch:
    s = Sketch("MatMulInteger", free=False)
    byte = np.dtype(np.uint8)
    a, b = s.const(np.arange(6).reshape(2, 3), byte), s.x((3, 4), 1, 1, 4, dtype=byte, low=0)
    return s.out(s.op("MatMulInteger", a, b, s.const(1, byte), s.const([1, 2, 3, 4], byte)))


@trap
def a_target_that_the_batch_makes_longer() -> Sketch:
    s = Sketch("Reshape", free=False)
    x = s.x((1, 6))
    target = s.op("Expand", s.ints(-1), s.dim(x, 0))
    return s.out(s.op("Reshape", x, target))


@trap
def repeats_that_the_batch_makes_longer() -> Sketch:
    s = Sketch("Tile", free=False)
    x = s.x((1,))
    return s.out(s.op("Tile", x, s.op("Expand", s.ints(2), s.dim(x, 0))))


@trap
def a_target_shared_with_a_node_that_needs_it() -> Sketch:
    s = Sketch("Reshape")
    target = s.ints(1, 6)
    x = s.op("Reshape", s.x((1, 2, 3)), target)
    return s.out(x, s.op("Reshape", s.floats(2, 3), target), s.op("Mul", target, s.ints(2)))


@trap
def an_output_that_is_used_inside_and_squeezed() -> Sketch:
    s = Sketch("Squeeze")
    x = s.x((1, 1, 3))
    y = s.op("Squeeze", x, s.ints(0))
    return s.out(y, s.op("Relu", y), s.op("Concat", y, y, axis=0), x)


@trap
def two_samples_that_are_averaged() -> Sketch:
    s = Sketch("ReduceMean", 13, size=2, free=False)
    return s.out(s.op("ReduceMean", s.x((2, 3)), axes=[0], keepdims=0))


@trap
def two_samples_in_another_order() -> Sketch:
    s = Sketch("Gather", size=2, free=False)
    return s.out(s.op("Gather", s.x((2, 3)), s.ints(1, 0)))


@trap
def two_samples_of_which_one_is_taken() -> Sketch:
    s = Sketch("Slice", size=2, free=False)
    return s.out(s.op("Slice", s.x((2, 3)), s.ints(0), s.ints(1), s.ints(0)))


@trap
def one_hot_as_deep_as_the_batch() -> Sketch:
    s = Sketch("OneHot")
    x = s.x((1, 3), dtype=INT, low=0, high=1)
    return s.out(s.op("OneHot", x, s.dim(x, 0), s.const([0, 1], np.float32)))


@trap
def sizes_of_a_tensor_whose_place_for_the_batch_is_found_late() -> Sketch:
    """The first place that a Reshape can put N is wrong, and sizes were computed from it before that shows."""
    s = Sketch("Reshape")
    r = s.op("Reshape", s.x((1, 12)), s.ints(1, 1, 12))
    flat = s.op("Reshape", r, s.op("Concat", s.dim(r, 0), s.dim(r, 1), s.ints(3, 4), axis=0))
    return s.out(s.op("Softmax", r, axis=0), flat)


@trap
def sizes_of_a_tensor_that_came_back_unbatched() -> Sketch:
    s = Sketch("Reshape")
    r = s.op("Reshape", s.x((1, 6)), s.ints(1, 1, 6))
    wide = s.op("Expand", s.floats(1, 6), s.op("Concat", s.dim(r, 0), s.ints(6), axis=0))
    return s.out(s.op("Add", s.op("CumSum", r, s.const(0, INT)), wide))


@trap
def a_range_over_the_batch() -> Sketch:
    s = Sketch("Shape")
    x = s.x((1, 3))
    count = s.op("Range", s.const(0, INT), s.op("Squeeze", s.dim(x, 0)), s.const(1, INT))
    return s.out(s.op("Add", x, s.op("Cast", s.op("Unsqueeze", count, s.ints(1)), to=1)))


@trap
def resize_of_some_axes_to_the_size_of_the_batch() -> Sketch:
    s = Sketch("Resize", 18)
    x = s.x((1, 2, 3, 4))
    sizes = s.op("Concat", s.op("Mul", s.dim(x, 0), s.ints(6)), s.ints(8), axis=0)
    return s.out(s.op("Resize", x, "", "", sizes, axes=[2, 3], mode="nearest"))


@trap
def pad_of_some_axes_by_the_batch() -> Sketch:
    s = Sketch("Pad", 18)
    x = s.x((1, 3))
    return s.out(s.op("Pad", x, s.op("Concat", s.dim(x, 0), s.ints(0), axis=0), "", s.ints(-1)))


@trap
def blocks_of_one_sample() -> Sketch:
    s = Sketch("DequantizeLinear", 21)
    return s.out(s.op("DequantizeLinear", s.x((1, 3), dtype=np.int8), s.floats(1, 1), axis=1, block_size=3))


@trap
def blocks_of_one_sample_to_quantize() -> Sketch:
    s = Sketch("QuantizeLinear", 21)
    scale, zero = s.floats(1, 2), s.const([[1, 2]], np.int8)
    return s.out(s.op("QuantizeLinear", s.x((1, 6)), scale, zero, axis=1, block_size=3))


@trap
def a_size_inside_an_if() -> Sketch:
    s = Sketch("Shape", free=False)
    x = s.x((1, 3))
    body = helper.make_graph(
        [helper.make_node("Identity", [s.dim(x, 0)], ["inside"])],
        "body",
        [],
        [helper.make_tensor_value_info("inside", 7, [1])],
    )
    size = s.op("If", s.const(True, np.bool_), then_branch=body, else_branch=body)
    return s.out(s.op("Add", x, s.op("Cast", size, to=1)))


@trap
def a_tensor_inside_an_if() -> Sketch:
    s = Sketch("Relu", free=False)
    s.x((1, 3))
    body = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["inside"])], "body", [], [helper.make_tensor_value_info("inside", 1, None)]
    )
    return s.out(s.op("If", s.const(True, np.bool_), then_branch=body, else_branch=body))


@trap
def windows_counted_from_the_tensor_itself() -> Sketch:
    """An image in windows, as shifted-window transformers have it: their number over windows per image is N."""
    s = Sketch("Reshape")
    windows = s.op("Reshape", s.x((1, 4, 4, 2)), s.ints(1, 2, 2, 2, 2, 2))
    flat = s.op("Reshape", s.op("Transpose", windows, perm=[0, 1, 3, 2, 4, 5]), s.ints(-1, 4, 2))
    mixed = s.op("Softmax", s.op("Add", flat, s.floats(4, 4, 2)), axis=-1)
    images = s.op("Div", s.dim(mixed, 0), s.ints(4))
    return s.out(s.op("Reshape", mixed, s.op("Concat", images, s.ints(2, 2, 2, 2, 2), axis=0)))
