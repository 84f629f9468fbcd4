"""Numbers about an axis: what its own sizes say goes before those of other axes, and holds in each walk."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.repair.fitting.exporting import EXPORTERS, Build, Case, Export, Sizes
from tests.repair.fitting.law import verdict
from tests.repair.fitting.world_numbers import ints

PICTURES: tuple[Sizes, ...] = ({"H": 16, "W": 16}, {"H": 24, "W": 32})


def case(build: Build, exports: tuple[Sizes, ...], *unseen: Sizes) -> Case:
    return Case(build.__qualname__, build, exports, unseen)


def resized(g: Export, height: int, width: int) -> str:
    """Features of a stride of 8 at other sizes."""
    data = g.node("Conv", g.x(1, 2, "H", "W"), g.weight(96, 2, 8, 8), strides=[8, 8])
    return g.node("Resize", data, "", "", ints(g, 1, 96, height, width), mode="nearest")


def to_even(g: Export) -> str:
    """As MobileViT does: 2 stays, 3 becomes 4, and the width is 2 and 4 as it is."""
    return resized(g, 2 * -(-(g.sizes["H"] // 8) // 2), g.sizes["W"] // 8)


def in_blocks(g: Export) -> str:
    """The same, and then in blocks of 2 x 2, as MobileViT has them: how many there are is as open as the height."""
    height, width = -(-(g.sizes["H"] // 8) // 2), g.sizes["W"] // 16
    rows = g.node("Reshape", to_even(g), ints(g, 96 * height, 2, width, 2))
    blocks = g.node("Reshape", g.node("Transpose", rows, perm=[0, 2, 1, 3]), ints(g, 1, 96, height * width, 4))
    places = g.node("Reshape", g.node("Transpose", blocks, perm=[0, 3, 2, 1]), ints(g, 4, height * width, 96))
    found = g.node("MatMul", places, g.weight(96, 96))
    return g.node("Reshape", g.node("Softmax", found, axis=1), ints(g, 4, height * width, 4, 24))


LARGE: tuple[Sizes, ...] = ({"H": 64, "W": 64}, {"H": 96, "W": 128})


def blocks_of(g: Export, data: str, channels: int, height: int, width: int) -> str:
    """Features in blocks of 2 x 2, all pixels of which attend to each other, and as a picture again."""
    many, half = height * width // 4, width // 2
    rows = g.node("Reshape", data, ints(g, channels * height // 2, 2, half, 2))
    blocks = g.node("Reshape", g.node("Transpose", rows, perm=[0, 2, 1, 3]), ints(g, 1, channels, many, 4))
    places = g.node("Reshape", g.node("Transpose", blocks, perm=[0, 3, 2, 1]), ints(g, 4, many, channels))
    heads = g.node("Reshape", g.node("Softmax", places, axis=1), ints(g, 4, many, 4, channels // 4))
    places = g.node("Reshape", heads, ints(g, 1, 4, many, channels))
    rows = g.node(
        "Reshape", g.node("Transpose", places, perm=[0, 3, 2, 1]), ints(g, channels * height // 2, half, 2, 2)
    )
    return g.node("Reshape", g.node("Transpose", rows, perm=[0, 2, 1, 3]), ints(g, 1, channels, height, width))


def in_stages_of_blocks(g: Export) -> str:
    """Two stages of blocks; the second picture is resized to even sizes before them."""
    height, width = g.sizes["H"] // 16, g.sizes["W"] // 16
    data = g.node("Conv", g.x(1, 1, "H", "W"), g.weight(80, 1, 16, 16), strides=[16, 16])
    data = blocks_of(g, data, 80, height, width)
    data = g.node("Conv", data, g.weight(96, 80, 1, 1), strides=[2, 2])
    height, width = (2 * ((size + 3) // 4) for size in (height, width))
    data = g.node("Resize", data, "", "", ints(g, 1, 96, height, width), mode="nearest")
    return blocks_of(g, data, 96, height, width)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_is_made_of_such_a_size_does_not_tell_it(exporter: str) -> None:
    found = verdict(case(in_stages_of_blocks, LARGE), exporter)

    assert found.why.startswith("[ambiguous]")
    assert "Resize" in found.why


def to_its_own(g: Export) -> str:
    return resized(g, 2 * (g.sizes["H"] // 8), 2 * (g.sizes["W"] // 8))


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("build", [to_even, in_blocks])
def test_the_size_of_another_axis_is_not_believed_where_its_own_fits(build: Build, exporter: str) -> None:
    found = verdict(case(build, PICTURES), exporter)

    assert found.why.startswith("[ambiguous]")
    assert "can be read as floor(W/8) or as 2*floor((H + 8)/16)" in found.why


def to_even_rows(g: Export) -> str:
    """Rows of a stride of 8, resized to the next even number where they are odd, and as they are elsewhere."""
    data, rows = g.node("Conv", g.x(1, 2, "H", 16), g.weight(2, 2, 8, 8), strides=[8, 8]), g.sizes["H"] // 8
    if rows % 2:
        data = g.node("Resize", data, "", "", ints(g, 1, 2, rows + 1, 2), mode="nearest")
    return data


def to_a_number(g: Export) -> str:
    """The same rows, resized to 12 of them whatever they are."""
    data = g.node("Conv", g.x(1, 2, "H", 16), g.weight(2, 2, 8, 8), strides=[8, 8])
    return g.node("Resize", data, "", "", ints(g, 1, 2, 12, 2), mode="nearest")


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_same_number_may_be_the_next_multiple(exporter: str) -> None:
    """3 rows become 4, and 4 are so already."""
    found = verdict(case(to_even_rows, ({"H": 24}, {"H": 32})), exporter)

    assert found.why.startswith("[ambiguous]")
    assert "the size to which floor(H/8) is resized can be read as 4 or as 2*floor((H + 8)/16)" in found.why


@pytest.mark.parametrize("build", [to_even_rows, to_a_number])
def test_exports_on_both_sides_of_a_multiple_tell_it(build: Build) -> None:
    found = verdict(case(build, ({"H": 24}, {"H": 48}), {"H": 32}, {"H": 40}, {"H": 72}), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_another_export_tells_it(exporter: str) -> None:
    found = verdict(case(to_even, (*PICTURES, {"H": 72, "W": 16}), {"H": 48, "W": 16}, {"H": 56, "W": 40}), exporter)

    assert (found.status, found.why) == ("right", "")


def test_what_an_axis_says_of_itself_is_read() -> None:
    found = verdict(case(to_its_own, PICTURES, {"H": 48, "W": 16}), "graph")

    assert (found.status, found.why) == ("right", "")


# What must hold


def masked(g: Export) -> str:
    """Blocks of 4, times a mask whose length only they tell; a Reshape behind it says that there are whole blocks."""
    blocks = g.sizes["S"] // 4
    mask = g.node("Pad", g.constant(np.ones((1, blocks, 4))), ints(g, 0, 1, 0, 0, 1, 0), g.constant(np.float32(0)))
    parts = [g.node("Slice", mask, ints(g, start), ints(g, start + blocks), ints(g, 1)) for start in (0, 1, 2)]
    mask = g.node("Concat", *parts, axis=2)
    data = g.node("Reshape", g.x(1, "S", 6), ints(g, 1, blocks, 4, 6))
    summed = g.node("Unsqueeze", g.node("ReduceSum", data, ints(g, 2), keepdims=0), ints(g, 2))
    return g.node("Mul", summed, g.node("Unsqueeze", mask, ints(g, 3)))


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("sizes", [(12, 20), (16, 28)])
def test_what_was_told_in_one_walk_is_asked_of_the_sizes_in_the_next(sizes: tuple[int, int], exporter: str) -> None:
    found = verdict(case(masked, tuple({"S": size} for size in sizes), {"S": 24}, {"S": 36}), exporter)

    assert (found.status, found.why, found.conditions) == ("right", "", ("S is divisible by 4",))


def in_pairs(g: Export) -> str:
    """Frames in pairs, pooled and repeated, and padded to as many as there were: by 1 where their number is odd."""
    frames = g.x(1, 2, "S")
    pooled = g.node("AveragePool", frames, kernel_shape=[2], strides=[2])
    again = g.node("Concat", pooled, pooled, axis=2)
    return g.node("Pad", again, ints(g, 0, 0, 0, 0, 0, g.sizes["S"] % 2), g.constant(np.float32(0)))


def test_a_pad_that_restores_a_size_in_all_exports_does_so() -> None:
    found = verdict(case(in_pairs, ({"S": 49}, {"S": 79}), {"S": 59}), "graph")

    assert (found.status, found.conditions) == ("right", ("S leaves 1 when divided by 2",))


def in_stages(g: Export, **said: Any) -> str:
    """Patches of 2 twice, each time of data that are padded to whole ones, where that takes a Pad."""
    data, size = g.x(1, 2, "S"), g.sizes["S"]
    for _ in range(2):
        if size % 2:
            data = g.node("Pad", data, ints(g, 0, 0, 0, 0, 0, 1), g.constant(np.float32(0)))
        data, size = g.node("Conv", data, g.weight(2, 2, 2), strides=[2], **said), -(-size // 2)
    return data


@pytest.mark.parametrize("said", [{}, {"kernel_shape": [2]}], ids=["as dynamo", "as script"])
def test_patches_of_a_model_that_pads_are_whole_where_no_export_pads(said: dict[str, Any]) -> None:
    """8 and 12 of the second stage are even; what is done with 9 no export shows."""
    build = partial(in_stages, **said)
    found = verdict(Case(f"stages {said}", build, ({"S": 15}, {"S": 24}), ({"S": 32}, {"S": 39})), "graph")

    asked = "floor((S + 1)/2) is divisible by 2, since no export shows what depends on it"
    assert (found.status, found.why, found.conditions) == ("right", "", (asked,))


# Numbers of the model


def from_the_middle(g: Export) -> str:
    """Positions from S - 1 before the middle of a table of 399 rows to S - 1 behind it."""
    size = g.sizes["S"]
    rows = g.node("Slice", g.weight(399, 4), ints(g, 200 - size), ints(g, 199 + size), ints(g, 0))
    return g.node("MatMul", g.x(1, "S", 4), g.node("Transpose", rows, perm=[1, 0]))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_table_is_cut_around_its_middle(exporter: str) -> None:
    """`200 - S` has a number of its own, which is that of the table."""
    found = verdict(case(from_the_middle, ({"S": 12}, {"S": 20}), {"S": 15}, {"S": 60}), exporter)

    assert (found.status, found.why) == ("right", "")


def from_anywhere(g: Export) -> str:
    size = g.sizes["S"]
    rows = g.node("Slice", g.weight(399, 4), ints(g, 150 - size), ints(g, 149 + size), ints(g, 0))
    return g.node("MatMul", g.x(1, "S", 4), g.node("Transpose", rows, perm=[1, 0]))


def test_a_number_of_its_own_is_not_proven() -> None:
    found = verdict(case(from_anywhere, ({"S": 12}, {"S": 20})), "graph")

    assert (found.status, "so few exports do not prove it" in found.why) == ("refused", True)


def shifted(g: Export) -> str:
    """As relative positions are skewed: padded by S, which are 288 and 800 then, and seen in other rows."""
    size = g.sizes["S"]
    flat = g.node("Reshape", g.node("MatMul", g.x(1, "S", 4), g.weight(4, 1)), ints(g, 1, size))
    wide = g.node("Expand", g.node("Unsqueeze", flat, ints(g, 2)), ints(g, 1, size, 2 * size - 1))
    return g.node("Pad", g.node("Reshape", wide, ints(g, 1, -1)), ints(g, 0, 0, 0, size), g.constant(np.float32(0)))


def test_a_pad_by_a_free_size_is_no_pad_to_a_multiple() -> None:
    found = verdict(case(shifted, ({"S": 12}, {"S": 20}), {"S": 15}), "graph")

    assert (found.status, found.why) == ("right", "")
