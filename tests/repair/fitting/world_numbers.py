"""Numbers that are made of sizes: real ones that values are multiplied by, integers of shapes, attributes of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.repair.fitting.exporting import BATCHES, EIGHTHS, ODD, PICTURE, TWO, Build, Case, Export, collected

NUMBERS: list[Case] = []
case = collected(NUMBERS)
SQUARES = ({"H": 8, "W": 8}, {"H": 20, "W": 20}), ({"H": 16, "W": 16}, {"H": 8, "W": 20})
EVEN = ({"S": 12}, {"S": 22}), ({"S": 15},)


def times(g: Export, factor: float, op: str = "Mul") -> str:
    """An input of S entries, and a number of it."""
    return g.node(op, g.x(1, "S", 4), g.constant(np.float32(factor)))


def ints(g: Export, *numbers: int) -> str:
    return g.constant(np.array(numbers, np.int64))


# Real numbers


@case()
def a_length(g: Export) -> str:
    return times(g, g.sizes["S"], "Div")


@case()
def one_part_of_a_length(g: Export) -> str:
    return times(g, 1 / g.sizes["S"])


@case()
def a_length_less_one(g: Export) -> str:
    return times(g, g.sizes["S"] - 1, "Div")


@case()
def the_root_of_a_length(g: Export) -> str:
    return times(g, math.sqrt(g.sizes["S"]), "Div")


@case()
def one_over_the_root_of_a_length(g: Export) -> str:
    return times(g, 1 / math.sqrt(g.sizes["S"]))


@case()
def the_logarithm_of_a_length(g: Export) -> str:
    return times(g, math.log(g.sizes["S"]))


@case()
def two_pi_over_a_length(g: Export) -> str:
    return times(g, 2 * math.pi / g.sizes["S"])


@case(EVEN)
def pi_over_a_length(g: Export) -> str:
    """No plainer multiple of half the length is that, though all sizes are even."""
    return times(g, math.pi / g.sizes["S"])


@case(EVEN)
def one_part_of_what_a_pool_leaves(g: Export) -> list[str]:
    """A tensor of half the size, rounded down, tells how the half is rounded."""
    x = g.x(1, 2, "S")
    half = g.constant(np.float32(1 / (g.sizes["S"] // 2)))
    return [g.node("Mul", x, half), g.node("MaxPool", x, kernel_shape=[2], strides=[2])]


@case(ODD)
def an_area(g: Export) -> str:
    x = g.x(1, 2, "H", "W")
    return g.node("Div", g.node("ReduceSum", x, ints(g, 2, 3)), g.constant(np.float32(g.sizes["H"] * g.sizes["W"])))


@case(ODD)
def a_width(g: Export) -> str:
    return g.node("Div", g.x(1, 2, "H", "W"), g.constant(np.float32(g.sizes["W"])))


@case(ODD)
def a_width_and_a_height(g: Export) -> str:
    x = g.x(1, 2, "H", "W")
    both = g.constant(np.array([[[[g.sizes["W"]]], [[g.sizes["H"]]]]], np.float32).reshape(1, 2, 1, 1))
    return g.node("Div", x, both)


# Shapes


@case()
def heads_apart(g: Export) -> str:
    x = g.x(1, "S", 8)
    split = g.node("Reshape", x, ints(g, 1, g.sizes["S"], 2, 4))
    joined = g.node("Reshape", g.node("Transpose", split, perm=[0, 2, 1, 3]), ints(g, 2, g.sizes["S"], 4))
    scored = g.node("Softmax", g.node("MatMul", joined, g.node("Transpose", joined, perm=[0, 2, 1])), axis=-1)
    back = g.node("Reshape", g.node("MatMul", scored, joined), ints(g, 1, 2, g.sizes["S"], 4))
    return g.node("Reshape", g.node("Transpose", back, perm=[0, 2, 1, 3]), ints(g, 1, g.sizes["S"], 8))


@case(BATCHES)
def samples_and_positions_in_one(g: Export) -> str:
    x = g.x("N", "S", 4)
    flat = g.node("Reshape", x, ints(g, g.sizes["N"] * g.sizes["S"], 4))
    return g.node("Reshape", g.node("MatMul", flat, g.weight(4, 4)), ints(g, g.sizes["N"], g.sizes["S"], 4))


@case(PICTURE)
def pixels_in_a_row(g: Export) -> str:
    h, w = g.sizes["H"], g.sizes["W"]
    x = g.x(1, 4, "H", "W")
    row = g.node("Transpose", g.node("Reshape", x, ints(g, 1, 4, h * w)), perm=[0, 2, 1])
    back = g.node("Transpose", g.node("MatMul", row, g.weight(4, 4)), perm=[0, 2, 1])
    return g.node("Reshape", back, ints(g, 1, 4, h, w))


@case(PICTURE)
def patches(g: Export) -> str:
    h, w = g.sizes["H"] // 4, g.sizes["W"] // 4
    x = g.x(1, 3, "H", "W")
    apart = g.node("Reshape", x, ints(g, 1, 3, h, 4, w, 4))
    return g.node("Reshape", g.node("Transpose", apart, perm=[0, 2, 4, 1, 3, 5]), ints(g, 1, h * w, 48))


@case(PICTURE)
def a_grid_behind_a_convolution(g: Export) -> str:
    x = g.x(1, 3, "H", "W")
    seen = g.node("Conv", x, g.weight(4, 3, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
    return g.node("Reshape", seen, ints(g, 1, 4, g.sizes["H"] // 2 * (g.sizes["W"] // 2)))


@case()
def an_expanded_row(g: Export) -> str:
    x = g.x(1, "S", 4)
    return g.node("Concat", g.node("Expand", g.weight(1, 1, 2), ints(g, 1, g.sizes["S"], 2)), x, axis=2)


@case()
def halves_in_the_other_order(g: Export) -> str:
    x, half = g.x(1, "S", 4), g.sizes["S"] // 2
    one = g.node("Slice", x, ints(g, 0), ints(g, half), ints(g, 1))
    other = g.node("Slice", x, ints(g, half), ints(g, 2**63 - 1), ints(g, 1))
    return g.node("Concat", other, one, axis=1)


@case()
def all_but_the_last(g: Export) -> str:
    return g.node("Slice", g.x(1, "S", 4), ints(g, 0), ints(g, g.sizes["S"] - 1), ints(g, 1))


@case()
def the_last_position(g: Export) -> str:
    return g.node("Gather", g.x(1, "S", 4), g.constant(np.int64(g.sizes["S"] - 1)), axis=1)


@case(TWO)
def apart_what_was_joined(g: Export) -> list[str]:
    a, b = g.x(1, "S", 4), g.x(1, "T", 4, name="z")
    both = g.node("MatMul", g.node("Concat", a, b, axis=1), g.weight(4, 4))
    first = g.node("Split", both, ints(g, g.sizes["S"], g.sizes["T"]), outputs=2, axis=1)
    return [first, f"{first}.1"]


@case(ODD)
def back_to_the_size_of_the_picture(g: Export) -> str:
    x = g.x(1, 3, "H", "W")
    small = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    return g.node(
        "Resize",
        small,
        "",
        "",
        ints(g, 1, 3, g.sizes["H"], g.sizes["W"]),
        mode="linear",
        coordinate_transformation_mode="half_pixel",
    )


@case()
def padded_to_eighths(g: Export) -> str:
    x = g.x(1, "S", 4)
    more = -g.sizes["S"] % 8
    wide = g.node("Pad", x, ints(g, 0, 0, 0, 0, more, 0))
    groups = g.node("Reshape", wide, ints(g, 1, (g.sizes["S"] + more) // 8, 8, 4))
    return g.node("ReduceSum", groups, ints(g, 2))


@case()
def a_shape_that_two_nodes_share(g: Export) -> str:
    x = g.x(1, "S", 4)
    target = ints(g, 1, g.sizes["S"], 2, 2)
    one, other = g.node("Reshape", x, target), g.node("Reshape", g.node("Abs", x), target)
    return g.node("Add", one, other)


@case(ODD)
def one_constant_that_is_two(g: Export) -> str:
    """In a square export one number says how high and how wide; in the other one there are two."""
    wide = g.node("Pad", g.x(1, 2, "H", "W"), ints(g, 0, 0, 0, 0, 0, 0, 2, 3))
    low = g.node("Slice", wide, ints(g, 0), ints(g, g.sizes["H"]), ints(g, 2))
    return g.node("Slice", low, ints(g, 0), ints(g, g.sizes["W"]), ints(g, 3))


@case(SQUARES)
def squares_that_are_expanded(g: Export) -> str:
    """What is high and what is wide is told by the tensor itself."""
    return g.node("Expand", g.x(1, 2, "H", "W"), ints(g, 3, 2, g.sizes["H"], g.sizes["W"]))


@case(EVEN)
def a_half_that_a_sum_tells(g: Export) -> str:
    """How the half is rounded is told by what it is added to."""
    x = g.x(1, 4, "S")
    half = g.node("Slice", x, ints(g, 0), ints(g, g.sizes["S"] // 2), ints(g, 2))
    return g.node("Add", half, g.node("MaxPool", x, kernel_shape=[2], strides=[2]))


# Attributes


@case(EIGHTHS)
def a_pool_of_one_half(g: Export) -> str:
    x = g.x(1, 4, "S")
    half = g.sizes["S"] // 2
    return g.node("AveragePool", x, kernel_shape=[half], strides=[half])


@case(ODD)
def a_pool_of_all(g: Export) -> str:
    return g.node("AveragePool", g.x(1, 4, "H", "W"), kernel_shape=[g.sizes["H"], g.sizes["W"]])


# Near misses


@case(SQUARES, refused="ambiguous")
def squares_do_not_tell_height_from_width(g: Export) -> str:
    return g.node("Mul", g.x(1, 4, "H", "W"), g.constant(np.float32(g.sizes["H"])))


@case(SQUARES, refused="ambiguous")
def squares_do_not_tell_a_slice_of_which(g: Export) -> str:
    x = g.x(1, 64, "H", "W")
    return g.node("Slice", x, ints(g, 0), ints(g, g.sizes["W"]), ints(g, 1))


@case(EVEN, refused="ambiguous")
def even_sizes_do_not_tell_where_halves_are_rounded(g: Export) -> str:
    return g.node("Slice", g.x(1, "S", 4), ints(g, 0), ints(g, (g.sizes["S"] + 1) // 2), ints(g, 1))


@case(EVEN, refused="ambiguous")
def even_sizes_do_not_tell_whether_halves_are_rounded(g: Export) -> str:
    return times(g, g.sizes["S"] // 2)


@case((({"S": 8}, {"S": 20}), ({"S": 15},)), refused="ambiguous")
def divisors_do_not_tell_whether_a_quotient_is_rounded(g: Export) -> str:
    return times(g, 1000 // g.sizes["S"])


@case(EVEN, refused="ambiguous")
def pi_over_a_half_that_rests_do_not_tell(g: Export) -> str:
    return times(g, math.pi / (g.sizes["S"] // 2))


@case(EVEN, refused="ambiguous")
def a_half_and_one_more_that_rests_do_not_tell(g: Export) -> list[str]:
    """Another tensor has half the size, rounded up; that says nothing of what is added to it."""
    x = g.x(1, 2, "S")
    one = g.node("Mul", x, g.constant(np.float32(1 / (g.sizes["S"] // 2 + 1))))
    return [one, g.node("MaxPool", x, kernel_shape=[1], strides=[2])]


@case(refused="ambiguous")
def a_part_of_what_was_rounded_is_no_multiple(g: Export) -> str:
    """Of 12 and 23, half is 6 and 12; so is a part of one less."""
    return g.node("Add", g.x(1, "S"), g.constant(np.arange(g.sizes["S"]) / ((g.sizes["S"] + 1) // 2)))


COUNTS: dict[str, Callable[[int], int]] = {
    "the root, rounded down": math.isqrt,
    "seven tenths": lambda size: size * 7 // 10,
    "bits": lambda size: size.bit_length(),
    "what is more than 16": lambda size: max(size - 16, 1),
    "the greatest divisor shared with 6": lambda size: math.gcd(size, 6),
    "thirds, rounded": lambda size: round(size / 3),
    "an even half": lambda size: size // 4 * 2,
    "the next power of two": lambda size: 1 << (size - 1).bit_length(),
}
"""Of which two exports do not tell how they go on."""
DOUBTFUL = (({"S": 12}, {"S": 23}), ({"S": 14}, {"S": 17}, {"S": 40}))


def _counted(count: Callable[[int], int]) -> Build:
    def build(g: Export) -> str:
        x = g.x(1, 64, "S")
        return g.node("Slice", x, ints(g, 0), ints(g, count(g.sizes["S"])), ints(g, 1))

    return build


NUMBERS += [Case(name, _counted(count), *DOUBTFUL, "ambiguous cannot-free") for name, count in COUNTS.items()]


@case(refused="cannot-free ambiguous")
def a_number_that_follows_no_size(g: Export) -> str:
    return times(g, 0.37 if g.sizes["S"] == 12 else 2.9)
