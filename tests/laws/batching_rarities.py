"""More models that are easily batched wrongly: numbers of samples, rows that are too few, dims that have names."""

from __future__ import annotations

from tests.laws.batching_indexing import numbers_of
from tests.laws.batching_sketch import BOOL, INT, Sketch
from tests.laws.batching_traps import trap


@trap
def fewer_rows_of_numbers_than_samples() -> Sketch:
    """GatherElements allows fewer numbers than data has rows: here it takes from the first of two samples alone."""
    s = Sketch("GatherElements", size=2, free=False)
    return s.out(s.op("GatherElements", s.x((2, 3)), s.const([[2, 0, 1]], INT), axis=1))


@trap
def fewer_rows_of_updates_than_samples() -> Sketch:
    s = Sketch("ScatterElements", 18, size=2, free=False)
    return s.out(s.op("ScatterElements", s.x((2, 3)), s.const([[2, 0]], INT), s.floats(1, 2), axis=1))


@trap
def updates_that_number_the_samples() -> Sketch:
    s = Sketch("ScatterND")
    x = s.x((1, 4), dtype=INT)
    return s.out(s.op("ScatterND", x, s.const([[0, 2]], INT), numbers_of(s, x)))


@trap
def numbers_of_samples_less_one() -> Sketch:
    s = Sketch("Gather")
    x = s.x((1, 4))
    return s.out(s.op("Gather", x, s.op("Sub", numbers_of(s, x), s.ints(1)), axis=0))


@trap
def numbers_of_samples_beside_negative_numbers() -> Sketch:
    s = Sketch("Gather")
    x = s.x((4, 3), 0, 1, 4)
    own = s.x((1, 2), dtype=INT, low=-4, high=4)
    starts = s.op("Mul", s.op("Unsqueeze", numbers_of(s, own), s.ints(1)), s.ints(4))
    return s.out(s.op("Gather", x, s.op("Add", own, starts), axis=0))


@trap
def numbers_of_samples_from_a_table() -> Sketch:
    s = Sketch("Gather")
    x = s.x((1, 4))
    return s.out(s.op("Add", x, s.op("Gather", s.floats(9, 4), numbers_of(s, x))))


@trap
def numbers_of_samples_as_values() -> Sketch:
    s = Sketch("Range")
    x = s.x((1, 4))
    return s.out(s.op("Add", x, s.op("Cast", s.op("Unsqueeze", numbers_of(s, x), s.ints(1)), to=1)))


@trap
def numbers_of_samples_compared() -> Sketch:
    s = Sketch("Range")
    x = s.x((1, 4))
    first = s.op("Equal", s.op("Unsqueeze", numbers_of(s, x), s.ints(1)), s.ints(0))
    return s.out(s.op("Where", first, x, s.floats(4)))


@trap
def numbers_of_samples_as_an_output() -> Sketch:
    s = Sketch("Range", free=False)
    x = s.x((1, 4))
    return s.out(s.op("Relu", x), numbers_of(s, x))


@trap
def a_target_in_an_attribute_of_integers() -> Sketch:
    s = Sketch("Reshape")
    return s.out(s.op("Reshape", s.x((1, 6)), s.op("Constant", value_ints=[1, 2, 3])))


@trap
def a_named_dim_in_the_target() -> Sketch:
    s = Sketch("Reshape", named={"S": 3})
    x = s.x((1, "S", 4))
    target = s.op("Concat", s.ints(1), s.dim(x, 1), s.ints(2, 2), axis=0)
    return s.out(s.op("Reshape", x, target))


@trap
def a_named_dim_merged_with_the_batch() -> Sketch:
    s = Sketch("Reshape", named={"S": 3})
    x = s.op("Reshape", s.x((1, "S", 4)), s.ints(-1, 4))
    return s.out(s.op("Reshape", s.op("Relu", x), s.ints(1, -1, 4)))


@trap
def samples_in_two_inputs_at_different_axes() -> Sketch:
    s = Sketch("Transpose")
    x, y = s.x((1, 3), 0), s.x((3, 1), 1)
    return s.out(s.op("Add", x, s.op("Transpose", y)))


@trap
def a_value_that_is_twice_an_output() -> Sketch:
    s = Sketch("Squeeze")
    y = s.op("Squeeze", s.x((1, 1, 3)), s.ints(0))
    return s.out(y, s.op("Identity", y))


@trap
def a_spread_between_named_dims() -> Sketch:
    s = Sketch("Concat", named={"S": 3}, free=False)
    x, z = s.x((2, "S"), 0, 2, 1), s.x((2, "S"), None)
    return s.out(s.op("Concat", s.op("Softmax", x, axis=1), z, axis=1))


@trap
def a_constant_beside_the_batch_and_a_named_dim() -> Sketch:
    s = Sketch("Add", named={"S": 3})
    return s.out(s.op("Add", s.x((1, "S")), s.floats(4, 1)))


@trap
def a_gather_from_the_batch_beside_a_named_dim() -> Sketch:
    s = Sketch("Gather", named={"S": 3})
    x = s.x((1, "S"))
    return s.out(s.op("Gather", x, s.ints(0, 0), axis=0))


@trap
def a_squeeze_beside_named_dims() -> Sketch:
    s = Sketch("Squeeze", named={"S": 3, "T": 2}, free=False)
    return s.out(s.op("Squeeze", s.x((1, "S", "T")), s.ints(0)))


@trap
def an_expand_beside_a_named_dim_that_is_not_known() -> Sketch:
    s = Sketch("Expand", named={"S": 3, "T": 2})
    x, z = s.x((1, 1)), s.x(("S", "T"), None)
    size = s.op("Add", s.dim(z, 0), s.dim(z, 1))
    return s.out(s.op("Expand", x, s.op("Concat", s.ints(1), size, axis=0)))


@trap
def a_shape_with_an_unknown_dim_beside_the_batch() -> Sketch:
    s = Sketch("Shape", named={"S": 3}, free=False)
    x = s.x((1, 2))
    z = s.x(("S",), None, dtype=BOOL)
    chosen = s.op("Cast", s.op("NonZero", z), to=1)
    wide = s.op("Add", s.op("Unsqueeze", s.op("Slice", x, s.ints(0), s.ints(1), s.ints(1)), s.ints(2)), chosen)
    target = s.op("Concat", s.op("Gather", s.op("Shape", wide), s.ints(0)), s.ints(3), axis=0)
    return s.out(wide, s.op("Reshape", s.floats(1, 3), target))


@trap
def a_name_for_dims_that_are_no_longer_the_same() -> Sketch:
    """What the model declares inside gives one name to a dim that grows with the batch and to one that does not."""
    s = Sketch("ConstantOfShape", 13, annotated=True)
    x = s.x((1,))
    zeros = s.op("ConstantOfShape", s.op("Min", s.dim(x, 0), s.ints(2)))
    y = s.op("Relu", s.op("Add", x, zeros))
    return s.out(s.op("Exp", s.op("Neg", y)))
