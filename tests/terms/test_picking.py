"""Gather, GatherElements, GatherND: by numbers and by data, beside onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from tests.terms.indexing_law import Case, check, numbered, on_terms, words

KINDS = ("int32", "int64")


def _dims(rng: Generator, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(1, 5, rng.integers(least, most + 1)))


def _data(rng: Generator, dims: tuple[int, ...]) -> Any:
    dtype = str(rng.choice(["float32", "int64"]))
    return rng.permutation(int(np.prod(dims))).reshape(dims).astype(dtype) + 10


def _known(rng: Generator, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if rng.random() < 0.4)


def _gather(rng: Generator) -> Case:
    dims = _dims(rng, 1, 4)
    axis = int(rng.integers(-len(dims), len(dims)))
    index = rng.integers(-dims[axis], dims[axis], _dims(rng, 0, 2)).astype(str(rng.choice(KINDS)))
    return Case(
        "Gather",
        [("x", _data(rng, dims)), ("i", index)],
        {"axis": axis},
        int(rng.choice([11, 13, 18])),
        _known(rng, "x", "i"),
        ranges={"i": (-dims[axis], dims[axis])},
    )


def _gather_elements(rng: Generator) -> Case:
    dims = _dims(rng, 1, 3)
    axis = int(rng.integers(-len(dims), len(dims)))
    around = [int(rng.integers(1, dim + 1)) if rng.random() < 0.3 else dim for dim in dims]
    around[axis] = int(rng.integers(1, 5))
    index = rng.integers(-dims[axis], dims[axis], around).astype(str(rng.choice(KINDS)))
    return Case(
        "GatherElements",
        [("x", _data(rng, dims)), ("i", index)],
        {"axis": axis},
        int(rng.choice([11, 13, 18])),
        _known(rng, "x", "i"),
        ranges={"i": (-dims[axis], dims[axis])},
    )


def _gather_nd(rng: Generator) -> Case:
    dims = _dims(rng, 1, 4)
    lead = int(rng.integers(0, len(dims)))
    width = int(rng.integers(1, len(dims) - lead + 1))
    ends = np.array(dims[lead : lead + width])
    index = rng.integers(-ends, ends, (*dims[:lead], *_dims(rng, 0, 2), width))
    least = int(ends.min())
    return Case(
        "GatherND",
        [("x", _data(rng, dims)), ("i", index)],
        {"batch_dims": lead},
        int(rng.choice([12, 13, 18])),
        _known(rng, "x", "i"),
        ranges={"i": (-least, least)},
    )


MAKERS = {"Gather": _gather, "GatherElements": _gather_elements, "GatherND": _gather_nd}


@pytest.mark.parametrize("op", MAKERS)
def test_whatever_changes_changes_in_terms(op: str) -> None:
    rng = np.random.default_rng(7)
    held = sum(check(MAKERS[op](rng), rng, 3) for _ in range(25))
    assert held == 25


@pytest.mark.parametrize("op", MAKERS)
def test_known_indices_move_exactly(op: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(25):
        case = replace(MAKERS[op](rng), known=frozenset({"i"}))
        case = case.with_input("x", case.arrays["x"].astype(np.int64))
        mine, wanted = numbered(case, "x")
        np.testing.assert_array_equal(mine, wanted, str(case))


def test_other_content_gives_other_words() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    i = np.zeros((2, 3, 4), np.int64)
    found = [words(on_terms(Case("GatherElements", [("x", x), ("i", i)], {"axis": axis})))[0] for axis in range(3)]
    for one in range(3):
        for two in range(one):
            assert not np.any(found[one] == found[two])


def test_rows_stay_apart() -> None:
    """By its own indices with batch_dims a sample reads nothing of another."""
    x, i = np.zeros((3, 4, 2), np.float32), np.zeros((3, 5, 1), np.int64)
    case = Case("GatherND", [("x", x), ("i", i)], {"batch_dims": 1})
    before = words(on_terms(case))[0]
    for name in "xi":
        after = words(on_terms(case, (name, (1, 2, 0))))[0]
        assert [bool(np.any(each)) for each in before != after] == [False, True, False]


def test_of_numbers_that_count_an_index_picks_its_remainder() -> None:
    """And of numbers that almost count, something else; of another type it is not the index itself."""
    i = np.array([[0, 2], [-1, 1]])
    case = Case("Gather", [("x", np.arange(3)), ("i", i)], known=frozenset({"x"}), ranges={"i": (-3, 3)})
    (remainder,) = words(on_terms(Case("Mod", [("i", i), ("x", np.array(3))], known=frozenset({"x"}))))
    (picked,) = words(on_terms(case))
    np.testing.assert_array_equal(picked, remainder)
    assert check(case, np.random.default_rng(5))
    for other in (np.array([0, 1, 3]), np.array([0, 2, 1]), np.arange(4), np.arange(3)[:, None]):
        assert not np.any(words(on_terms(case.with_input("x", other)))[0].reshape(i.shape) == picked)
    assert not np.any(words(on_terms(case.with_input("x", np.arange(3, dtype=np.int32))))[0] == picked)
