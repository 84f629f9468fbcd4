"""Constants over a height and a width: grids, levels, windows, waves, tables that are interpolated."""

from __future__ import annotations

import numpy as np

from tests.repair.fitting.exporting import ODD, PICTURE, Array, Case, Export, collected

PICTURES: list[Case] = []
case = collected(PICTURES)
WITHIN = ({"H": 8, "W": 8}, {"H": 20, "W": 12}), ({"H": 11, "W": 11}, {"H": 17, "W": 9}, {"H": 9, "W": 10})
"""Below the larger export, where a table ends."""
GRIDS = ({"H": 8, "W": 8}, {"H": 20, "W": 6}), ({"H": 16, "W": 16}, {"H": 12, "W": 5}, {"H": 6, "W": 9})
"""One grows beyond the grid, and one falls below: only then it is told whether an interpolation is smoothed."""


def grid(g: Export, part: int = 1) -> tuple[Array, Array]:
    """The rows and the columns of all pixels, or of patches."""
    found = np.meshgrid(np.arange(g.sizes["H"] // part), np.arange(g.sizes["W"] // part), indexing="ij")
    return found[0], found[1]


def pixels(g: Export, row: Array) -> str:
    """Pixels in a row plus a constant along them."""
    h, w = g.sizes["H"], g.sizes["W"]
    flat = g.node("Reshape", g.x(1, 2, "H", "W"), g.constant(np.array([1, 2, h * w])))
    return g.node("Add", flat, g.constant(row))


@case(ODD)
def rows_and_columns(g: Export) -> str:
    return g.node("Add", g.x(1, 2, "H", "W"), g.constant(np.stack(grid(g)).astype(np.float32)))


@case(ODD)
def coordinates_from_minus_one_to_one(g: Export) -> str:
    y, x = np.meshgrid(np.linspace(-1, 1, g.sizes["H"]), np.linspace(-1, 1, g.sizes["W"]), indexing="ij")
    return g.node("Add", g.x(1, 2, "H", "W"), g.constant(np.stack([x, y])))


@case(WITHIN)
def squares_of_two_colours(g: Export) -> str:
    """A chessboard: of a row and a column only their difference counts, as far as the exports go."""
    y, x = grid(g)
    return g.node("Mul", g.x(1, 2, "H", "W"), g.constant(((x + y) % 2).astype(np.float32)))


@case(ODD)
def numbers_of_pixels(g: Export) -> str:
    y, x = grid(g)
    return g.node("Add", g.x(1, 2, "H", "W"), g.constant((y * g.sizes["W"] + x).astype(np.float32)))


@case(ODD)
def every_pixel_a_ramp(g: Export) -> str:
    """i*W + j over the number of pixels: a ramp once both axes are one."""
    y, x = grid(g)
    count = g.sizes["H"] * g.sizes["W"]
    flat = g.node("Reshape", g.x(1, 2, "H", "W"), g.constant(np.array([1, 2, count])))
    back = g.node("Reshape", flat, g.constant(np.array([1, 2, g.sizes["H"], g.sizes["W"]])))
    return g.node("Add", back, g.constant((y * g.sizes["W"] + x) / count))


@case(ODD)
def columns_of_pixels_in_a_row(g: Export) -> str:
    return pixels(g, grid(g)[1].reshape(-1).astype(np.float32))


@case(ODD)
def rows_of_pixels_in_a_row(g: Export) -> str:
    return pixels(g, grid(g)[0].reshape(-1).astype(np.float32))


@case(PICTURE)
def centres_of_levels(g: Export) -> str:
    """Two levels of a detector: points and strides, joined."""
    image = g.x(1, 2, "H", "W")
    flat, points, strides = [], [], []
    for part in (2, 4):
        level = g.node("AveragePool", image, kernel_shape=[part, part], strides=[part, part])
        y, x = grid(g, part)
        flat.append(g.node("Reshape", level, g.constant(np.array([1, 2, y.size]))))
        points.append(np.stack([x.reshape(-1), y.reshape(-1)]) + 0.5)
        strides.append(np.full(y.size, float(part)))
    joined = g.node("Concat", *flat, axis=2)
    moved = g.node("Add", joined, g.constant(np.concatenate(points, 1)))
    return g.node("Mul", moved, g.constant(np.concatenate(strides)))


@case(PICTURE)
def waves_of_rows_and_columns(g: Export) -> str:
    y, x = (each.reshape(-1, 1) * np.array([1.0, 0.1]) for each in grid(g))
    row = np.concatenate([np.sin(y), np.cos(y), np.sin(x), np.cos(x)], 1)
    h, w = g.sizes["H"], g.sizes["W"]
    flat = g.node("Reshape", g.x(1, 8, "H", "W"), g.constant(np.array([1, 8, h * w])))
    return g.node("Add", g.node("Transpose", flat, perm=[0, 2, 1]), g.constant(row))


@case(GRIDS)
def a_table_that_is_interpolated(g: Export) -> str:
    """The first export has the grid itself."""
    table = np.random.default_rng(2).standard_normal((1, 2, 8, 8)).astype(np.float32)
    return g.node("Add", g.x(1, 2, "H", "W"), g.constant(_linear(table, g.sizes["H"], g.sizes["W"])))


def _linear(table: Array, height: int, width: int) -> Array:
    """Between centres, as an interpolation by lines has it."""
    for axis, size in ((2, height), (3, width)):
        old = table.shape[axis]
        place = np.clip((np.arange(size) + 0.5) * (old / size) - 0.5, 0, old - 1)
        low = np.floor(place).astype(int)
        share = (place - low).reshape([-1 if each == axis else 1 for each in range(4)])
        high = np.minimum(low + 1, old - 1)
        table = table.take(low, axis) * (1 - share) + table.take(high, axis) * share
    return table


def windows(plane: Array) -> Array:
    """A plane in windows of 2 x 2: one row for each window."""
    h, w = plane.shape
    return plane.reshape(h // 2, 2, w // 2, 2).transpose(0, 2, 1, 3).reshape(-1, 4)


def shifted(g: Export) -> Array:
    """For each window, which of its entries see each other: those at the edges hold parts of both sides."""
    rows, columns = (
        np.select([np.arange(size) < size - 2, np.arange(size) < size - 1], [0, 1], 2)
        for size in (g.sizes["H"], g.sizes["W"])
    )
    part = windows(rows[:, None] * 3 + columns)
    return np.where(part[:, None, :] == part[:, :, None], 0.0, -100.0)


@case(PICTURE)
def the_mask_of_shifted_windows(g: Export) -> str:
    h, w = g.sizes["H"], g.sizes["W"]
    x = g.node("Reshape", g.x(1, 4, "H", "W"), g.constant(np.array([1, 4, h // 2, 2, w // 2, 2])))
    rows = g.node("Transpose", x, perm=[0, 2, 4, 3, 5, 1])
    each = g.node("Reshape", rows, g.constant(np.array([h * w // 4, 4, 4])))
    scored = g.node("MatMul", each, g.node("Transpose", each, perm=[0, 2, 1]))
    return g.node("Softmax", g.node("Add", scored, g.constant(shifted(g))), axis=-1)


@case(PICTURE)
def the_mask_of_windows_that_a_convolution_cuts(g: Export) -> str:
    count = g.sizes["H"] // 2 * (g.sizes["W"] // 2)
    cut = g.node("Conv", g.x(1, 3, "H", "W"), g.weight(16, 3, 2, 2), strides=[2, 2])
    flat = g.node("Reshape", cut, g.constant(np.array([16, count])))
    scored = g.node("Reshape", g.node("Transpose", flat, perm=[1, 0]), g.constant(np.array([count, 4, 4])))
    return g.node("Softmax", g.node("Add", scored, g.constant(shifted(g))), axis=-1)


@case(PICTURE)
def numbers_of_pixels_in_windows(g: Export) -> str:
    h, w = g.sizes["H"], g.sizes["W"]
    order = windows(np.arange(h * w).reshape(h, w)).reshape(-1)
    flat = g.node("Reshape", g.x(1, 2, "H", "W"), g.constant(np.array([1, 2, h * w])))
    return g.node("Gather", flat, g.constant(order), axis=2)


@case(WITHIN)
def a_table_over_two_sizes(g: Export) -> str:
    """Rows and columns of a learned table, in a row."""
    table = np.random.default_rng(4).standard_normal((32, 32))[: g.sizes["H"], : g.sizes["W"]]
    return pixels(g, table.reshape(-1))


@case(ODD, refused="cannot-free")
def a_picture_of_noise(g: Export) -> str:
    noise = np.random.default_rng([g.sizes["H"], g.sizes["W"]]).standard_normal((2, g.sizes["H"], g.sizes["W"]))
    return g.node("Add", g.x(1, 2, "H", "W"), g.constant(noise))


@case(WITHIN)
def halves_that_a_product_tells(g: Export) -> str:
    """Two pools round the halves of both sizes otherwise; which of them a target means is told by what it reshapes."""
    x, row = g.x(1, 2, "H", "W"), g.constant(np.array([1, 2, -1]))
    low = g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    high = g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    halves = g.constant(np.array([1, 2, g.sizes["H"] // 2, g.sizes["W"] // 2]))
    back = g.node("Reshape", g.node("Reshape", low, row), halves)
    return g.node("Concat", g.node("Reshape", high, row), g.node("Reshape", back, row), axis=2)
