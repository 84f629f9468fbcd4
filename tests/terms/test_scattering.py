"""ScatterND, ScatterElements, Scatter, TensorScatter: by numbers and by data, beside onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from onereshape.terms.refusal import NotProven
from tests.terms.indexing_law import Case, check, numbered, on_terms, words

REDUCTIONS = {16: ["none", "add", "mul"], 18: ["none", "add", "mul", "max", "min"]}


def _dims(rng: Generator, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(1, 5, rng.integers(least, most + 1)))


def _known(rng: Generator, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if rng.random() < 0.4)


def _numbers(rng: Generator, dims: Any, dtype: str, start: int) -> Any:
    return rng.permutation(int(np.prod(dims))).reshape(dims).astype(dtype) + start


def _way(rng: Generator, opset: int) -> dict[str, str]:
    return {"reduction": str(rng.choice(REDUCTIONS[opset]))} if opset in REDUCTIONS else {}


def _elements(rng: Generator, op: str = "ScatterElements") -> Case:
    dims = _dims(rng, 1, 3)
    opset = 9 if op == "Scatter" else int(rng.choice([11, 13, 16, 18]))
    axis = int(rng.integers(-len(dims) if opset > 9 else 0, len(dims)))
    around = [int(rng.integers(1, dim + 1)) if rng.random() < 0.3 else dim for dim in dims]
    way = _way(rng, opset)
    length, dtype = dims[axis], str(rng.choice(["float32", "int64"]))
    if way.get("reduction", "none") == "none":
        around[axis] = int(rng.integers(1, length + 1))
        index = np.argsort(rng.random(dims), axis).take(np.arange(around[axis]), axis)
        index = index[tuple(slice(dim) for dim in around)] - length * rng.integers(0, 2 if opset > 9 else 1, around)
    else:
        around[axis] = int(rng.integers(1, 7))
        index = rng.integers(-length, length, around)
    return Case(
        op,
        [("x", _numbers(rng, dims, dtype, 10)), ("i", index), ("u", _numbers(rng, around, dtype, 200))],
        {"axis": axis, **way},
        opset,
        _known(rng, "x", "i", "u"),
        ranges={"i": (-length if opset > 9 else 0, length)},
    )


def _scatter(rng: Generator) -> Case:
    return _elements(rng, "Scatter")


def _nd(rng: Generator) -> Case:
    dims = _dims(rng, 1, 3)
    width = int(rng.integers(1, len(dims) + 1))
    opset = int(rng.choice([11, 13, 16, 18]))
    way, dtype = _way(rng, opset), str(rng.choice(["float32", "int64"]))
    ends = np.array(dims[:width])
    whole = int(np.prod(ends))
    if way.get("reduction", "none") == "none":
        flat = rng.permutation(whole)[: rng.integers(1, whole + 1)]
    else:
        flat = rng.integers(0, whole, rng.integers(1, 7))
    index = np.stack(np.unravel_index(flat, dims[:width]), -1) - ends * rng.integers(0, 2, (len(flat), width))
    least = int(ends.min())
    return Case(
        "ScatterND",
        [
            ("x", _numbers(rng, dims, dtype, 10)),
            ("i", index),
            ("u", _numbers(rng, (len(flat), *dims[width:]), dtype, 200)),
        ],
        way,
        opset,
        _known(rng, "x", "i", "u"),
        ranges={"i": (-least, least)},
    )


def _cache(rng: Generator) -> Case:
    dims = _dims(rng, 2, 4)
    axis = int(rng.integers(1, len(dims)))
    circular = rng.random() < 0.5
    count = int(rng.integers(1, dims[axis] + 1))
    most = dims[axis] if circular else dims[axis] - count + 1
    around = tuple(count if other == axis else dim for other, dim in enumerate(dims))
    starts = ("i", rng.integers(0, most, dims[0]))
    return Case(
        "TensorScatter",
        [
            ("x", _numbers(rng, dims, "float32", 10)),
            ("u", _numbers(rng, around, "float32", 200)),
            *([starts] if rng.random() < 0.9 else []),
        ],
        {"axis": axis, "mode": "circular" if circular else "linear"},
        24,
        _known(rng, "x", "u", *(["i"] if starts else [])),
        ranges={"i": (0, most)},
    )


MAKERS = {"ScatterElements": _elements, "Scatter": _scatter, "ScatterND": _nd, "TensorScatter": _cache}


def _made(op: str, rng: Generator) -> Case:
    case = MAKERS[op](rng)
    return replace(case, known=case.known & {*case.arrays})


@pytest.mark.parametrize("op", MAKERS)
def test_whatever_changes_changes_in_terms(op: str) -> None:
    rng = np.random.default_rng(7)
    held = sum(check(_made(op, rng), rng, 2) for _ in range(20))
    assert held == 20


@pytest.mark.parametrize("op", MAKERS)
def test_known_indices_move_exactly(op: str) -> None:
    rng = np.random.default_rng(8)
    tried = 0
    while tried < 60:
        case = replace(_made(op, rng), known=frozenset())
        if case.attributes.get("reduction", "none") != "none":
            continue
        tried += 1
        for name in "xu":
            case = case.with_input(name, case.arrays[name].astype(np.int64))
        case = replace(case, known=frozenset({"i", "u"}) & {*case.arrays})
        mine, wanted = numbered(case, "x")
        np.testing.assert_array_equal(mine, wanted, str(case))


def _nd_case(index: Any, known: str = "", **attributes: Any) -> Case:
    index = np.array(index)
    x, u = np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((len(index), 4), np.float32)
    return Case("ScatterND", [("x", x), ("i", index), ("u", u)], attributes, 18, frozenset(known))


def test_two_updates_of_one_place_are_refused_or_reduced_in_their_order() -> None:
    with pytest.raises(NotProven, match="twice"):
        on_terms(_nd_case([[1], [-2]], "i"))
    found = {way: words(on_terms(_nd_case([[1], [1]], "i", reduction=way)))[0] for way in ("add", "mul", "max", "min")}
    for way, each in found.items():
        assert np.array_equal(each[[0, 2]], found["add"][[0, 2]])
        assert not any(np.any(each[1] == other[1]) for name, other in found.items() if name != way)


def test_one_update_that_is_added_is_a_sum() -> None:
    case = _nd_case([[0], [1], [2]], "i", reduction="add")
    added = Case("Add", [case.inputs[0], case.inputs[2]])
    assert np.array_equal(words(on_terms(case))[0], words(on_terms(added))[0])


def test_other_reductions_and_axes_give_other_words() -> None:
    x, i = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.int64)
    found = [
        words(on_terms(Case("ScatterElements", [("x", x), ("i", i), ("u", x)], {"axis": axis, "reduction": way})))[0]
        for axis in (0, 1)
        for way in ("none", "add", "mul", "max", "min")
    ]
    for one in range(len(found)):
        for two in range(one):
            assert not np.any(found[one] == found[two])


def test_what_an_index_does_not_reach_is_untouched() -> None:
    """Lines of ScatterElements stay apart, and a number of ScatterND that is known keeps the rest as it is."""
    x, i = np.zeros((3, 4), np.float32), np.zeros((3, 2), np.int64)
    case = Case("ScatterElements", [("x", x), ("i", i), ("u", x[:, :2])], {"axis": 1})
    before = words(on_terms(case))[0]
    for name in "xiu":
        after = words(on_terms(case, (name, (1, 1))))[0]
        assert [bool(np.any(each)) for each in before != after] == [False, True, False]
