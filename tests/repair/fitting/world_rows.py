"""Constants along one size: counts, ramps, waves, masks, relative positions, tables."""

from __future__ import annotations

import numpy as np

from tests.repair.fitting.exporting import TABLES, TWO, Array, Case, Export, collected

ROWS: list[Case] = []
case = collected(ROWS)
EVEN = ({"S": 12}, {"S": 22}), ({"S": 15},)


def added(g: Export, row: Array) -> str:
    """An input of S entries plus a constant along them."""
    return g.node("Add", g.x(1, "S", 4), g.constant(row))


def positions(g: Export) -> Array:
    return np.arange(g.sizes["S"])


def pairs(g: Export) -> Array:
    """j - i."""
    i = positions(g)
    return i[None, :] - i[:, None]


def scores(g: Export, bias: Array) -> str:
    """Scores of pairs of positions plus a constant."""
    x = g.x(1, "S", 4)
    return g.node(
        "Softmax", g.node("Add", g.node("MatMul", x, g.node("Transpose", x, perm=[0, 2, 1])), g.constant(bias)), axis=-1
    )


def looked_up(g: Export, indices: Array, entries: int) -> str:
    """Rows of a table at constant indices, as learned positions are taken."""
    x = g.x(1, "S", 4)
    return g.node("Add", x, g.node("Gather", g.weight(entries, 4), g.constant(indices.astype(np.int64)), axis=0))


# The same all along


@case()
def the_same_all_along(g: Export) -> str:
    return added(g, np.tile(np.array([1.5, -2, 0.25, 3]), (g.sizes["S"], 1)))


@case()
def a_mean_by_a_matrix(g: Export) -> str:
    return g.node("MatMul", g.constant(np.full((1, 1, g.sizes["S"]), 1 / g.sizes["S"])), g.x(1, "S", 4))


@case()
def a_root_all_along(g: Export) -> str:
    return added(g, np.full((g.sizes["S"], 4), np.sqrt(g.sizes["S"])) * [1, 2, 3, 4])


@case(refused="cannot-free")
def a_number_all_along_that_is_made_of_nothing(g: Export) -> str:
    return added(g, np.full((g.sizes["S"], 4), {12: 0.7}.get(g.sizes["S"], 0.11)))


@case(refused="cannot-free")
def a_number_of_a_size_that_is_not_the_same_all_along(g: Export) -> str:
    row = np.full((g.sizes["S"], 1), 1 / g.sizes["S"])
    row[3:] = np.sin(np.arange(g.sizes["S"] - 3) ** 2 + g.sizes["S"])[:, None]
    return added(g, row)


@case()
def waves_of_ramps(g: Export) -> str:
    """Places as parts of a length, as DETR has them."""
    angle = (np.arange(1, g.sizes["S"] + 1) / g.sizes["S"] * 2 * np.pi)[:, None] / 100 ** np.array([0, 0.5])
    return added(g, np.concatenate([np.sin(angle), np.cos(angle)], -1))


@case()
def zeros_of_pairs(g: Export) -> str:
    return scores(g, np.zeros((g.sizes["S"], g.sizes["S"])))


@case()
def a_block_again_and_again(g: Export) -> str:
    """Three anchors at each position."""
    x = g.node("Reshape", g.x(1, "S", 12), g.constant(np.array([1, 3 * g.sizes["S"], 4])))
    return g.node("Add", x, g.constant(np.tile(np.array([[1.0, 2], [4, 8], [5, 3]]), (g.sizes["S"], 2))))


# Counts


@case()
def positions_from_zero(g: Export) -> str:
    return looked_up(g, positions(g), 40)


@case()
def positions_from_two(g: Export) -> str:
    return looked_up(g, positions(g) + 2, 40)


@case()
def positions_of_a_batch(g: Export) -> str:
    return looked_up(g, positions(g)[None], 40)


@case()
def positions_from_the_end(g: Export) -> str:
    return looked_up(g, positions(g)[::-1], 40)


@case()
def positions_as_floats(g: Export) -> str:
    return added(g, positions(g)[:, None].astype(np.float32))


@case()
def strides_of_three(g: Export) -> str:
    return added(g, 3.0 * positions(g)[:, None] - 7)


@case()
def angles_of_rotation(g: Export) -> str:
    rate = (1e4 ** (-np.arange(4) / 4)).astype(np.float32)
    row = positions(g).astype(np.float32)[:, None] * rate
    x = g.x(1, "S", 4)
    return g.node("Mul", x, g.node("Cos", g.constant(row)))


@case()
def centred_positions(g: Export) -> str:
    return added(g, (positions(g) - (g.sizes["S"] - 1) / 2)[:, None])


@case()
def from_the_size_down(g: Export) -> str:
    return added(g, np.arange(g.sizes["S"], 0, -1)[:, None].astype(np.float32))


@case()
def three_of_each(g: Export) -> str:
    """i // 3."""
    return added(g, (positions(g) // 3)[:, None].astype(np.float32))


@case()
def one_of_three(g: Export) -> str:
    """i % 3."""
    return added(g, (positions(g) % 3)[:, None].astype(np.float32) * np.array([1.0, 2, 3, 5]))


# Ramps


@case()
def a_ramp_from_zero_to_one(g: Export) -> str:
    return added(g, np.linspace(0, 1, g.sizes["S"])[:, None])


@case()
def a_ramp_from_minus_one_to_one(g: Export) -> str:
    return added(g, np.linspace(-1, 1, g.sizes["S"])[:, None])


@case()
def a_ramp_of_centres(g: Export) -> str:
    return added(g, ((positions(g) + 0.5) / g.sizes["S"])[:, None])


@case()
def a_ramp_that_never_ends(g: Export) -> str:
    return added(g, (positions(g) / g.sizes["S"])[:, None])


# Waves


def waves(place: Array, width: int, base: float = 1e4) -> Array:
    rate = base ** (-np.arange(0, width, 2) / width)
    angles = place[:, None] * rate
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(place), -1)


@case()
def sines_and_cosines_by_turns(g: Export) -> str:
    return added(g, waves(positions(g), 4))


@case()
def sines_then_cosines(g: Export) -> str:
    angles = positions(g)[:, None] * np.array([1.0, 0.01])
    return added(g, np.concatenate([np.sin(angles), np.cos(angles)], -1))


@case()
def cosines_of_rotation(g: Export) -> str:
    angles = positions(g)[:, None] * np.array([1.0, 0.1, 1.0, 0.1])
    x = g.x(1, "S", 4)
    return g.node("Mul", x, g.constant(np.cos(angles)[None]))


@case()
def waves_of_an_odd_width(g: Export) -> str:
    return g.node("Add", g.x(1, "S", 7), g.constant(waves(positions(g), 8)[:, :7]))


# Masks


@case()
def the_past_as_truth_values(g: Export) -> str:
    x = g.x(1, "S", "S")
    return g.node("Where", g.constant(pairs(g) <= 0), x, g.constant(np.float32(-1e4)))


@case()
def the_past_as_minus_infinity(g: Export) -> str:
    return scores(g, np.where(pairs(g) <= 0, 0, -np.inf))


@case()
def the_strict_past(g: Export) -> str:
    return scores(g, np.where(pairs(g) < 0, 0, -1e4))


@case()
def a_window_of_the_past(g: Export) -> str:
    return scores(g, np.where((pairs(g) <= 0) & (pairs(g) > -4), 0, -1e4))


@case()
def a_band(g: Export) -> str:
    return scores(g, np.where(np.abs(pairs(g)) <= 2, 0, -1e4))


@case()
def the_diagonal(g: Export) -> str:
    return scores(g, np.eye(g.sizes["S"]))


# Relative positions


@case()
def how_far_apart(g: Export) -> str:
    return scores(g, -0.5 * np.abs(pairs(g)))


@case()
def slopes_of_heads(g: Export) -> str:
    x = g.x(1, 2, "S", 4)
    scored = g.node("MatMul", x, g.node("Transpose", x, perm=[0, 1, 3, 2]))
    return g.node("Add", scored, g.constant(np.array([0.5, 0.25])[:, None, None] * pairs(g)))


@case()
def slopes_from_the_last(g: Export) -> str:
    return scores(g, 0.25 * (positions(g) - g.sizes["S"] + 1)[None])


@case()
def relative_and_clipped(g: Export) -> str:
    x = g.x(1, "S", "S")
    taken = g.node("Gather", g.weight(9), g.constant(np.clip(pairs(g), -4, 4) + 4), axis=0)
    return g.node("Add", x, taken)


@case()
def relative_from_the_size(g: Export) -> str:
    """2S - 1 numbers that count from S - 1 down."""
    size = g.sizes["S"]
    return g.node("Add", g.node("MatMul", g.x(1, "S", 4), g.weight(4, 1)), g.constant(np.arange(size - 1, -size, -1.0)))


@case(TWO)
def two_sizes_aligned_at_their_ends(g: Export) -> str:
    a, b = g.x(1, "S", 4), g.x(1, "T", 4, name="z")
    scored = g.node("MatMul", a, g.node("Transpose", b, perm=[0, 2, 1]))
    i, j = np.arange(g.sizes["S"])[:, None] - g.sizes["S"], np.arange(g.sizes["T"])[None] - g.sizes["T"]
    return g.node("Add", scored, g.constant(np.where(j <= i, 0, -1e4)))


@case(TWO)
def a_cross_of_two_sizes(g: Export) -> str:
    a, b = g.x(1, "S", 4), g.x(1, "T", 4, name="z")
    scored = g.node("MatMul", a, g.node("Transpose", b, perm=[0, 2, 1]))
    i, j = np.arange(g.sizes["S"])[:, None], np.arange(g.sizes["T"])[None]
    return g.node("Add", scored, g.constant(0.5 * i - 0.125 * j))


# Tables


def table(entries: int) -> Array:
    return np.random.default_rng(7).standard_normal((entries, 4))


@case(TABLES)
def the_start_of_a_table(g: Export) -> str:
    return added(g, table(64)[: g.sizes["S"]])


@case(TABLES)
def the_end_of_a_table(g: Export) -> str:
    return added(g, table(64)[64 - g.sizes["S"] :])


@case(TABLES)
def the_start_of_a_table_of_pairs(g: Export) -> str:
    return scores(g, np.random.default_rng(8).standard_normal((64, 64))[: g.sizes["S"], : g.sizes["S"]])


@case(TABLES)
def a_learned_number_for_each_distance(g: Export) -> str:
    learned = np.random.default_rng(9).standard_normal(127)
    return scores(g, learned[pairs(g) + 63])


@case()
def a_ramp_that_starts_at_its_middle(g: Export) -> str:
    size = g.sizes["S"]
    return added(g, ((2 * positions(g) + 1 - size) / size)[:, None])


def in_fours(g: Export) -> str:
    """Entries in rows of 4, the last of which is not full, and a mask of those that are there."""
    size = g.sizes["S"]
    rows = -(-size // 4)
    padded = g.node("Pad", g.x(1, "S"), g.constant(np.array([0, 0, 0, 4 * rows - size])))
    mask = (np.arange(4 * rows) < size).reshape(1, rows, 4)
    return g.node(
        "Mul", g.node("Reshape", padded, g.constant(np.array([1, rows, 4]))), g.constant(mask.astype(np.float32))
    )


@case((({"S": 13}, {"S": 27}), ({"S": 16}, {"S": 31}, {"S": 9})))
def a_mask_of_rows_that_are_not_full(g: Export) -> str:
    return in_fours(g)


# Near misses


@case((({"S": 12}, {"S": 23}), ({"S": 16}, {"S": 13})), refused="cannot-free")
def a_mask_whose_end_one_export_does_not_have(g: Export) -> str:
    return in_fours(g)


@case(EVEN, refused="ambiguous")
def a_ramp_over_a_half_that_rests_do_not_tell(g: Export) -> str:
    return added(g, (np.pi * positions(g) / (g.sizes["S"] // 2))[:, None])


@case(EVEN, refused="ambiguous")
def a_middle_that_rests_do_not_tell(g: Export) -> str:
    half = g.sizes["S"] // 2
    return added(g, ((positions(g) - half) / half)[:, None])


@case((({"S": 13}, {"S": 23}), ({"S": 16},)), refused="ambiguous")
def an_odd_middle_that_rests_do_not_tell(g: Export) -> str:
    size = g.sizes["S"]
    return added(g, (2 * (positions(g) - size // 2) / (size - 1))[:, None])


@case((({"S": 12}, {"S": 27}), ({"S": 16},)), refused="ambiguous")
def a_third_that_rests_do_not_tell(g: Export) -> str:
    size = g.sizes["S"]
    return added(g, ((positions(g) - size // 3) / size)[:, None])


@case((({"S": 16}, {"S": 31}), ({"S": 24},)), refused="ambiguous")
def a_ramp_whose_start_is_a_round_number_in_one_reading(g: Export) -> str:
    size = g.sizes["S"]
    return added(g, ((positions(g) - size // 2) / (size - 1) / 2 + 1)[:, None])


@case(refused="cannot-free")
def a_count_with_one_number_wrong(g: Export) -> str:
    row = positions(g).astype(np.float32)
    row[5] += 1 if g.sizes["S"] == 23 else 0
    return added(g, row[:, None])


@case(refused="cannot-free")
def a_table_that_is_no_start_of_the_other(g: Export) -> str:
    return added(g, np.random.default_rng(g.sizes["S"]).standard_normal((g.sizes["S"], 4)))


@case(refused="cannot-free")
def a_shuffle(g: Export) -> str:
    return looked_up(g, np.random.default_rng(3).permutation(g.sizes["S"]), 40)


@case(refused="cannot-free")
def waves_that_are_not_quite(g: Export) -> str:
    row = waves(positions(g), 4)
    row[3, 1] += 0.01 * (g.sizes["S"] == 12)
    return added(g, row)


@case(refused="cannot-free")
def a_past_with_a_hole(g: Export) -> str:
    bias = np.where(pairs(g) <= 0, 0, -1e4)
    bias[9, 2] = -1e4 * (g.sizes["S"] == 23)
    return scores(g, bias)


@case(refused="cannot-free")
def weights_that_differ(g: Export) -> str:
    x = g.x(1, "S", 4)
    other = np.random.default_rng(1).standard_normal((4, 4)) + (g.sizes["S"] == 23) * 0.01
    return g.node("MatMul", x, g.constant(other))
