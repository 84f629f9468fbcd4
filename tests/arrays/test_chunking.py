"""The plan of a chunked reshape, on integers: every element goes where it belongs, once, within the limit."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from onereshape.arrays.blocks import at
from onereshape.arrays.chunk_choice import ChunkPlan, chunks_before, divided, plan, plan_given, within
from onereshape.arrays.chunking import Chunks, boxes, count, is_contiguous, largest, parts, strides
from onereshape.ground.integers import Dims
from tests import budget
from tests.strategies import Array, chunked, factored


def factorings(volume: int, rank: int) -> list[Dims]:
    """All dims of that volume and rank, without ones."""
    if rank == 1:
        return [(volume,)] if volume > 1 else []
    return [
        (first, *rest)
        for first in range(2, volume)
        if volume % first == 0
        for rest in factorings(volume // first, rank - 1)
    ]


def compositions(dim: int) -> list[Dims]:
    """All chunks of an axis, but for those of size 0."""
    return [(dim,), *((first, *rest) for first in range(1, dim) for rest in compositions(dim - first))]


def cut(array: Array, chunks: Chunks, index: Dims) -> Array:
    """One block of an array."""
    starts = [sum(sizes[:number]) for sizes, number in zip(chunks, index, strict=True)]
    ends = [sum(sizes[: number + 1]) for sizes, number in zip(chunks, index, strict=True)]
    slices: Any = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    found: Array = array[*slices, ...]
    return found


def carried_out(found: ChunkPlan, data: Array, chunks: Chunks, output: Dims) -> int:
    """Carries a plan out, one element after the other, checks the result, and counts the pieces."""
    result = np.full(output, -1)
    pieces = 0
    for index in product(*(range(len(sizes)) for sizes in found.output)):
        block = cut(result, found.output, index)
        made = np.full(block.shape, -1)
        seen: list[int] = []
        for part in found.planned:
            sizes = [block.shape[axis] for axis in part.part.output_axes]
            seen.extend([prod(sizes)] if part.moves.flat else sizes)
        moves = [part.moves.moves(tuple(index[axis] for axis in part.part.output_axes)) for part in found.planned]
        for numbers in product(*moves):
            place = [next(n for n, size in enumerate(sizes) if size) for sizes in chunks]
            for part, where in zip(found.planned, numbers, strict=True):
                for axis, number in zip(part.part.data_axes, where, strict=True):
                    place[axis] = number
            source = cut(data, chunks, tuple(place))
            source = source.reshape([source.shape[axis] for part in found.planned for axis in part.part.data_axes])
            pieces += 1
            for chosen in product(*(part[where] for part, where in zip(moves, numbers, strict=True))):
                there = at(made.reshape(seen), tuple(move.destination for move in chosen))
                assert (there == -1).all()  # nothing is written twice
                there[...] = at(source, tuple(move.source for move in chosen))
        block[...] = made

    assert (result == data.reshape(output)).all()
    return pieces


WORLD = [
    (data, output)
    for volume in (4, 6, 8, 12)
    for ranks in product((1, 2, 3), repeat=2)
    for data in factorings(volume, ranks[0])
    for output in factorings(volume, ranks[1])
    if volume < 12 or 1 < len(data) + len(output) <= 4
]


@pytest.mark.parametrize("limit", [2, 5])
def test_every_chunking_of_a_small_world(limit: int) -> None:
    for data, output in budget.part(WORLD, 4):
        array = np.arange(prod(data)).reshape(data)
        choices = [compositions(dim)[:: 1 if dim <= 4 else 9] for dim in data]
        for chunks in product(*choices):
            found = plan(data, chunks, output, limit)
            assert largest(found.output) <= limit
            carried_out(found, array, chunks, output)


def test_every_chunking_that_can_be_asked_for() -> None:
    refused = 0
    for data, output in budget.part(WORLD, 2):
        array = np.arange(prod(data)).reshape(data)
        chunks = tuple(compositions(dim)[-1 if dim < 3 else 2] for dim in data)
        for asked in product(*(compositions(dim)[:: 1 if dim <= 4 else 9] for dim in output)):
            found = plan_given(data, chunks, output, asked)
            if found is None:
                refused += 1
                assert any(part.digits is None for part in parts(data, output))
                continue
            assert found.output == asked
            carried_out(found, array, chunks, output)

    assert refused > 0


@st.composite
def questions(draw: st.DrawFn) -> tuple[Dims, Chunks, Dims, int]:
    volume = draw(st.sampled_from([1, 6, 24, 30, 36, 60, 64, 72, 210]))
    data, output = draw(factored(volume)), draw(factored(volume))
    return data, draw(chunked(data)), output, draw(st.integers(1, 40))


@settings(max_examples=60, deadline=None)
@given(questions())
def test_random_questions(question: tuple[Dims, Chunks, Dims, int]) -> None:
    data, chunks, output, limit = question
    found = plan(data, chunks, output, limit)

    assert largest(found.output) <= limit
    carried_out(found, np.arange(prod(data)).reshape(data), chunks, output)


@settings(max_examples=60, deadline=None)
@given(questions())
def test_regular_chunks_are_regular_and_contiguous_within_their_part(question: tuple[Dims, Chunks, Dims, int]) -> None:
    data, chunks, output, limit = question
    found = plan(data, chunks, output, limit, regular=True)

    assert largest(found.output) <= limit
    assert all(len(set(sizes[:-1])) <= 1 and sizes[-1] <= sizes[0] for sizes in found.output)
    assert all(is_contiguous(part.part.output, part.output) for part in found.planned)
    carried_out(found, np.arange(prod(data)).reshape(data), chunks, output)


@settings(max_examples=60, deadline=None)
@given(questions())
def test_chunks_before_are_chunks_of_data_within_the_limit(question: tuple[Dims, Chunks, Dims, int]) -> None:
    data, chunks, output, limit = question
    small = divided(chunks, limit)
    before = chunks_before(small, plan(data, chunks, output, limit), limit)

    for found in (small, before):
        assert tuple(map(sum, found)) == data
        assert largest(found) <= limit


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple), st.data())
def test_an_interval_is_few_boxes(digits: Dims, data: st.DataObject) -> None:
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, prod(digits))] * 2)))
    if start == stop:
        return
    found = boxes(start, stop, digits)

    assert len(found) <= 2 * len(digits) - 1
    numbers = np.arange(prod(digits)).reshape(digits)
    covered = [numbers[tuple(slice(*one) for one in box.ranges)].ravel() for box in found]
    assert np.concatenate(covered).tolist() == list(range(start, stop))
    assert [box.start for box in found] == [one[0] for one in covered]


class TestParts:
    def test_common_axes_are_parts_of_their_own(self) -> None:
        found = parts((2, 3, 1, 4, 5), (2, 12, 1, 5))
        assert [(part.data_axes, part.output_axes) for part in found] == [((0,), (0,)), ((1, 3), (1,)), ((4,), (3,))]

    def test_digits(self) -> None:
        assert parts((6, 2), (3, 4))[0].digits == (3, 2, 2)
        assert parts((24,), (2, 3, 4))[0].digits == (2, 3, 4)

    def test_no_digits(self) -> None:
        assert parts((2, 3), (3, 2))[0].digits is None

    def test_only_ones(self) -> None:
        assert parts((1, 1), ()) == []


class TestChoice:
    """Chunks as large as those of data, and few pieces."""

    def test_rows_stay_rows(self) -> None:
        found = plan((600, 20), ((10,) * 60, (20,)), (300, 40), 10**6)
        assert found.output == ((5,) * 60, (40,))
        assert found.pieces == 60

    def test_tiles_stay_tiles_where_digits_allow_it(self) -> None:
        found = plan((100, 100), ((10,) * 10, (10,) * 10), (50, 200), 100)
        assert largest(found.output) == 100
        assert found.pieces == 200

    def test_a_split_into_many_axes(self) -> None:
        found = plan((1000,), ((300, 300, 400),), (10, 10, 10), 400)
        assert found.output == ((3, 3, 4), (10,), (10,))
        assert found.pieces == 3

    def test_chunks_that_are_ones_then_cut_are_kept(self) -> None:
        found = plan((4, 18483), ((1,) * 4, (183,) * 101), (73932,), 10**6)
        assert found.output == ((183,) * 404,)
        assert found.pieces == 404

    def test_tiles_of_a_merge_grow_to_save_pieces(self) -> None:
        found = plan((1000, 1000), ((100,) * 10, (100,) * 10), (10**6,), 10**5)
        assert found.pieces <= 4 * (100 + count(found.output))
        assert not found.is_heavy

    def test_columns_are_heavy(self) -> None:
        found = plan((1000, 1000), ((1000,), (10,) * 100), (10**6,), 10**4)
        assert found.is_heavy
        assert chunks_before(found.planned[0].data, found, 10**4) == ((10,) * 100, (1000,))

    def test_growing_ends_at_the_limit(self) -> None:
        found = plan((1000, 1000), ((1000,), (10,) * 100), (10**6,), 30_000)
        assert 10_000 < largest(found.output) <= 30_000

    def test_regular_chunks_are_contiguous_where_tiles_would_be_cheaper(self) -> None:
        found = plan((100, 100), ((10,) * 10, (10,) * 10), (50, 200), 100, regular=True)
        assert is_contiguous((50, 200), found.output)

    def test_chunks_beyond_the_limit_are_cut(self) -> None:
        found = plan((100, 100), ((100,), (100,)), (10**4,), 1000)
        assert largest(found.output) <= 1000
        assert count(found.output) == 10

    def test_axes_that_stay_keep_their_chunks(self) -> None:
        found = plan((7, 6, 2), ((3, 4), (6,), (2,)), (7, 3, 4), 10**6)
        assert found.output == ((3, 4), (3,), (4,))


def test_strides() -> None:
    assert strides((2, 3, 4)) == (12, 4, 1)
    assert strides(()) == ()


def test_within() -> None:
    assert within([10, 10], 100) == [10, 10]
    assert within([10, 10], 7) == [1, 7]


def test_chunks_that_are_not_contiguous_need_digits() -> None:
    assert plan_given((2, 3), ((2,), (3,)), (3, 2), ((2, 1), (1, 1))) is None
