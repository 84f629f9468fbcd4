"""Marks: the place of N in a tensor, and the places that a Reshape can give it."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from onereshape.graphs.batch_rules.marks import Mark, homes, marked, mentions, over, times
from onereshape.rule.sizes import Size, symbol

Array = np.ndarray[Any, Any]

N, S = symbol("N"), symbol("S")
SHAPES = {
    volume: [dims for rank in (1, 2, 3) for dims in product((1, 2, 3, 4, 6, 12), repeat=rank) if prod(dims) == volume]
    for volume in (1, 2, 4, 6, 12)
}


def numbered(dims: tuple[int, ...], mark: Mark, batch: int) -> Array:
    """For three times the samples: the number of the sample that each element belongs to."""
    assert isinstance(mark.outer, int)
    assert isinstance(mark.inner, int)
    samples = 3 * batch
    whole = [mark.outer * samples * mark.inner if axis == mark.axis else dim for axis, dim in enumerate(dims)]
    line = np.broadcast_to(np.arange(samples)[:, None], (mark.outer, samples, mark.inner)).reshape(-1)
    place = [1] * len(dims)
    place[mark.axis] = -1
    return np.broadcast_to(line.reshape(place), whole).copy()


def marks_of(dims: tuple[int, ...], batch: int) -> list[Mark]:
    """All marks that dims can have."""
    return [
        Mark(axis, outer, dim // (outer * batch))
        for axis, dim in enumerate(dims)
        for outer in range(1, dim + 1)
        if dim % (outer * batch) == 0
    ]


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_homes_are_the_marks_that_keep_every_sample(batch: int) -> None:
    """Against the definition: reshaped to the dims with N, each element is still of the sample that it was of."""
    for shapes in SHAPES.values():
        arrays = {dims: {mark: numbered(dims, mark, batch) for mark in marks_of(dims, batch)} for dims in shapes}
        for data, output in product(shapes, shapes):
            for mark, array in arrays[data].items():
                right = {home for home, wanted in arrays[output].items() if np.array_equal(array.flat, wanted.flat)}

                assert set(homes(data, mark, output, batch)) == right, (data, mark, output)


def test_the_most_natural_home_comes_first() -> None:
    assert list(homes((1, 12, 16), Mark(0), (1, 1, 192), 1)) == [Mark(0), Mark(1), Mark(2, 1, 192)]
    assert list(homes((2, 1, 6), Mark(1), (2, 6), 1)) == [Mark(1, 1, 6), Mark(0, 2, 1)]


def test_homes_among_sizes_with_names() -> None:
    assert list(homes((1, S, 4), Mark(0), (S, 4), 1)) == [Mark(0, 1, S)]
    assert list(homes((S, 1, 4), Mark(1), (S, 4), 1)) == [Mark(1, 1, 4), Mark(0, S, 1)]
    assert list(homes((S, 1, 4), Mark(1), (4, S), 1)) == []


def test_a_tensor_without_elements_has_no_home_behind_its_zero() -> None:
    assert list(homes((1, 0, 3), Mark(0), (1, 0), 1)) == [Mark(0), Mark(1, 1, 0)]
    assert list(homes((0, 1, 3), Mark(1), (0, 3), 1)) == []


@pytest.mark.parametrize(
    ("mark", "bare", "size"),
    [
        (Mark(2), True, N),
        (Mark(0, 1, 12), False, 12 * N),
        (Mark(0, 2, 3), False, 6 * N),
        (Mark(1, 1, S), False, N * S),
    ],
)
def test_the_size_of_an_axis(mark: Mark, bare: bool, size: Size) -> None:
    assert mark.bare == bare
    assert mark.size(N) == size
    assert mark.at(5) == Mark(5, mark.outer, mark.inner)
    assert marked((7,) * 3, mark, N) == (*(7,) * mark.axis, size, *(7,) * (2 - mark.axis))


def test_the_size_of_an_axis_of_the_original() -> None:
    assert Mark(0, 2, 3).size(4) == 24
    assert marked((9, 9), Mark(1, 2, 3), 4) == (9, 24)


@pytest.mark.parametrize(
    ("top", "bottom", "quotient"),
    [
        (12, 4, 3),
        (12, 5, None),
        (12, 0, None),
        (0, 3, 0),
        (6 * N, 3, 2 * N),
        (6 * N, N, 6),
        (6 * N, 4, None),
        (6, N, None),
        (N, S, None),
        (2 * N * S, 2 * S, N),
        (N, 0, None),
    ],
)
def test_a_quotient_is_a_size_or_nothing(top: Size, bottom: Size, quotient: object) -> None:
    assert over(top, bottom) == quotient


def test_a_product_of_numbers_is_a_number() -> None:
    assert times(2, 3, 4) == 24
    assert isinstance(times(2, 3), int)
    assert times() == 1
    assert times(2, N, 3) == 6 * N
    assert times(0, N) == 0


def test_a_size_depends_on_the_names_in_it() -> None:
    assert mentions(3 * N * S, "N")
    assert not mentions(S, "N")
    assert not mentions(3, "N")
