"""Gather, GatherElements, GatherND: by numbers and by data, beside onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from tests.terms.indexing_law import Case, check, numbered, on_terms, words

KINDS = (np.int32, np.int64)


def _dims(rng: Generator, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(1, 5, rng.integers(least, most + 1)))


def _data(rng: Generator, dims: tuple[int, ...]) -> Any:
    dtype = rng.choice([np.float32, np.int64])
    return rng.permutation(int(np.prod(dims))).reshape(dims).astype(dtype) + 10


def _known(rng: Generator, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if rng.random() < 0.4)


def _gather(rng: Generator) -> Case:
    dims = _dims(rng, 1, 4)
    axis = int(rng.integers(-len(dims), len(dims)))
    index = rng.integers(-dims[axis], dims[axis], _dims(rng, 0, 2)).astype(rng.choice(KINDS))
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
    index = rng.integers(-dims[axis], dims[axis], around).astype(rng.choice(KINDS))
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
    held = sum(check(MAKERS[op](rng), rng, 3) for _ in range(120))
    assert held == 120


@pytest.mark.parametrize("op", MAKERS)
def test_known_indices_move_exactly(op: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(100):
        case = replace(MAKERS[op](rng), known=frozenset({"i"}))
        case = case.with_input("x", case.arrays["x"].astype(np.int64))
        mine, wanted = numbered(case, "x")
        np.testing.assert_array_equal(mine, wanted, str(case))
