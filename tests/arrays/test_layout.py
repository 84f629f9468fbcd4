"""View or copy, from integers alone: NumPy's reshape is the oracle, over a whole small world."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.lib.stride_tricks import as_strided

from onereshape.arrays.view_or_copy import LONG, CopyPlan, collapse, copy_plan, view_strides
from tests.budget import part
from tests.strategies import Array, Dims, factored, layouts

STRIDES = (-8, -4, -2, -1, 0, 1, 2, 3, 4, 6, 8)
ROOM: Array = np.arange(128, dtype=np.int8)


def shapes(volume: int, longest: int) -> list[Dims]:
    """Every dims of at most that rank and exactly that volume, dims of 1 among them."""
    every = (dims for rank in range(longest + 1) for dims in product(range(volume + 1), repeat=rank))
    return [dims for dims in every if prod(dims) == volume]


def arrays(dims: Dims) -> list[Array]:
    """An array of these dims for every combination of strides."""
    return [as_strided(ROOM[64:], dims, strides) for strides in product(STRIDES, repeat=len(dims))]


def oracle(array: Array, output: Dims) -> Array | None:
    theirs = array.reshape(output)  # NumPy 2.0 knows no copy=False
    return theirs if array.size == 0 or np.shares_memory(array, theirs) else None


def agrees(array: Array, output: Dims) -> bool:
    """Whether our view is NumPy's: there or not, and the same step along every dim that has one."""
    theirs = oracle(array, output)
    ours = view_strides(array.shape, array.strides, array.itemsize, output)
    if theirs is None or ours is None:
        return theirs is None and ours is None
    steps = [pair for pair, dim in zip(zip(ours, theirs.strides, strict=True), output, strict=True) if dim > 1]
    return len(ours) == len(output) and (array.size == 0 or all(a == b for a, b in steps))


@pytest.mark.parametrize("volume", [0, 1, 2, 3, 4, 6])
def test_views_over_the_small_world(volume: int) -> None:
    outputs = shapes(volume, 3)
    seen = 0
    for dims in outputs:
        for array in part(arrays(dims), 3):
            for output in outputs:
                assert agrees(array, output), (dims, array.strides, output)
                seen += 1

    assert seen > 50


@pytest.mark.parametrize("dims", [(2, 2, 2), (2, 3, 2), (2, 2, 3), (4, 2, 2)])
def test_views_of_three_dims_that_merge_in_part(dims: Dims) -> None:
    for array in arrays(dims):
        for output in [*shapes(prod(dims), 2), (2, 2, prod(dims) // 4), (prod(dims) // 4, 2, 2)]:
            assert agrees(array, output), (array.strides, output)


@given(st.data())
def test_views_of_any_layout(data: st.DataObject) -> None:
    array: Array = data.draw(layouts())
    output: Dims = data.draw(factored(array.size))

    assert agrees(array, output)


def walk(dims: Dims, strides: Dims) -> list[int]:
    """The offsets of all elements, in C order."""
    return [sum(i * stride for i, stride in zip(index, strides, strict=True)) for index in np.ndindex(*dims)]


def check_plan(plan: CopyPlan, dims: Dims, strides: Dims, itemsize: int) -> None:
    """The plan moves exactly data's bytes, in C order, and says of itself what is true."""
    source = [offset + byte for offset in walk(plan.dims, plan.source) for byte in range(plan.item)]
    destination = [offset + byte for offset in walk(plan.dims, plan.destination) for byte in range(plan.item)]
    assert source == [offset + byte for offset in walk(dims, strides) for byte in range(itemsize)]
    assert destination == list(range(prod(dims) * itemsize)) == list(range(plan.nbytes))

    assert plan.destination_axis == len(plan.dims) - 1
    moving = [abs(stride) for stride in plan.source if stride]
    assert plan.item >= LONG or abs(plan.source[plan.source_axis]) == min(moving, default=0)
    assert (plan.kind == "rows") == (plan.source_axis == plan.destination_axis)
    if plan.kind in {"transpose", "interleave", "deinterleave"}:
        assert plan.item in {1, 2, 4, 8, 16}
        assert plan.source[plan.source_axis] == plan.item
    if plan.kind == "interleave":
        assert plan.destination[plan.source_axis] == plan.dims[plan.destination_axis] * plan.item
    if plan.kind == "deinterleave":
        assert plan.source[plan.destination_axis] == plan.dims[plan.source_axis] * plan.item
    sizes = plan.dims[plan.source_axis], plan.dims[plan.destination_axis]
    assert all(1 <= part <= size for part, size in zip(plan.tile, sizes, strict=True))


@pytest.mark.parametrize("itemsize", [1, 3, 8])
def test_plans_over_the_small_world(itemsize: int) -> None:
    for dims in [dims for volume in (1, 2, 4, 6, 12) for dims in shapes(volume, 3)]:
        for steps in part(product((-6, -1, 0, 1, 2, 6), repeat=len(dims)), 3):
            strides = tuple(step * itemsize for step in steps)
            check_plan(copy_plan(dims, strides, itemsize), dims, strides, itemsize)


@given(layouts().filter(lambda array: array.size > 0))
def test_plans_of_any_layout(array: Array) -> None:
    check_plan(copy_plan(array.shape, array.strides, array.itemsize), array.shape, array.strides, array.itemsize)


def test_the_fewest_dims() -> None:
    for dims in [(2, 3, 2), (3, 1, 4), (2, 2, 2)]:
        for array in arrays(dims):
            found = collapse(array.shape, array.strides)
            pairs = pairwise(found)
            assert all(size != 1 for size, _ in found)
            assert all(outer != inner * size for (_, outer), (size, inner) in pairs)


X = np.zeros((2, 6, 4, 8), np.float32)


@pytest.mark.parametrize(
    ("array", "kind", "item", "dims"),
    [
        (X, "rows", X.nbytes, (1,)),
        (X.transpose(0, 2, 1, 3), "blocks", 32, (2, 4, 6)),
        (np.zeros((2, 3, LONG), np.int8).transpose(1, 0, 2), "rows", LONG, (3, 2)),
        (X.transpose(0, 2, 3, 1), "transpose", 4, (2, 32, 6)),
        (X.transpose(3, 2, 1, 0), "transpose", 4, (8, 4, 6, 2)),
        (X[:, :3].transpose(0, 2, 3, 1), "interleave", 4, (2, 32, 3)),
        (X.reshape(2, 64, 3).transpose(0, 2, 1), "deinterleave", 4, (2, 3, 64)),
        (X.reshape(32, 3, 4)[:, ::2].transpose(1, 0, 2), "blocks", 16, (2, 32)),
        (X.reshape(4, 4, 24)[:, :, ::2].transpose(0, 2, 1), "blocks", 4, (4, 12, 4)),
        (X[..., ::-1], "rows", 4, (48, 8)),
        (np.broadcast_to(X[0], (5, 6, 4, 8)), "rows", 768, (5,)),
    ],
)
def test_the_plans_of_known_copies(array: Array, kind: str, item: int, dims: Dims) -> None:
    plan = copy_plan(array.shape, array.strides, array.itemsize)

    assert (plan.kind, plan.item, plan.dims) == (kind, item, dims)
