"""Reductions and functions along an axis, against onnxruntime and the law of dependency."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.terms.call import Call, TermRun
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.records import RECORDS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, formed, terms
from tests.terms.perturbing import HASHING, Node, check, floats, leaves, on_terms, words

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
).split()


def reduction(op: str, opset: int, data: Any, axes: list[int] | None, **attributes: Any) -> Node:
    """Axes are an input of newer opsets."""
    if opset < (13 if op == "ReduceSum" else 18):
        return Node(op, opset, [data], {**attributes, **({} if axes is None else {"axes": axes})})
    given = None if axes is None else np.array(axes, np.int64)
    return Node(op, opset, [data] if given is None else [data, given], attributes, constants=frozenset([1]))


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("opset", [8, 11, 13, 18, 20])
def test_reductions_depend_on_what_they_read(op: str, opset: int) -> None:
    rng = np.random.default_rng([opset, len(op)])
    for _ in range(6):
        rank = int(rng.integers(1, 5))
        data = np.abs(floats(rng, *rng.integers(1, 4, rank)))
        axes: Any = rng.permutation(rank)[: rng.integers(1, rank + 1)]
        axes = [int(each) - (rank if opset >= 11 and rng.random() < 0.5 else 0) for each in axes]
        node = reduction(op, opset, data, axes if rng.random() < 0.8 else None, keepdims=int(rng.integers(2)))
        rest = [axis for axis in range(rank) if axis not in {each % rank for each in axes}]
        if rest and (len(node.inputs) > 1 or "axes" in node.attributes):
            place = rest[0] if node.attributes["keepdims"] else 0
            node = Node(**{**vars(node), "batch": {0: rest[0], ~0: place}})
        check(node, rng)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("known", [True, False])
def test_integers_are_reduced_as_numbers(op: str, dtype: Any, known: bool) -> None:
    rng = np.random.default_rng(len(op))
    for axes in ([0], [1], [-1, 0], [0, 1, 2]):
        node = reduction(op, 18, rng.integers(-4, 9, (2, 3, 2)).astype(dtype), axes, keepdims=0)
        if known:
            node = Node(**{**vars(node), "constants": frozenset([0, 1])})
            assert on_terms(node)({})[0].known
        check(node, rng)


def test_a_reduction_of_nothing() -> None:
    rng = np.random.default_rng(0)
    for op in REDUCTIONS:
        node = reduction(op, 18, np.zeros((2, 0), np.float32), [1], keepdims=0)
        if op == "ReduceMean":
            with pytest.raises(NotProven, match="mean of nothing"):
                words(node)
        else:
            assert on_terms(node)(leaves(node))[0].shape == (2,)
    for op, value in (("ReduceSum", 0), ("ReduceProd", 1)):
        node = reduction(op, 18, np.zeros((2, 0), np.int64), [1])
        np.testing.assert_array_equal(on_terms(node)(leaves(node))[0].array, [[value]] * 2)
        check(node, rng)


def test_no_axes_reduce_nothing_or_everything() -> None:
    rng = np.random.default_rng(1)
    data = np.abs(floats(rng, 2, 3))
    for op in REDUCTIONS:
        for given in (None, 0):
            axes: list[int] | None = None if given is None else []
            everything = reduction(op, 18, data, axes)
            assert check(everything, rng)[0].shape == (1, 1)
            nothing = words(everything.changed(noop_with_empty_axes=1))[0]
            assert nothing.shape == (2, 3)
            assert len(np.unique(nothing)) == 6
    node = reduction("ReduceSum", 13, data, [], noop_with_empty_axes=1)
    np.testing.assert_array_equal(words(node)[0], leaves(node)["i0"].words)


@pytest.mark.parametrize("axes", [[0, 0], [0, -2], [2], [-3]])
def test_axes_that_are_none(axes: list[int]) -> None:
    for opset in (11, 18):
        with pytest.raises(NotProven):
            words(reduction("ReduceMax", opset, np.zeros((2, 3), np.float32), axes))


def test_an_integer_zero_at_the_end_is_seen() -> None:
    one, two = (
        reduction("ReduceMean", 18, np.array(values, np.int32), [0], keepdims=0) for values in ([4, 8], [4, 8, 0])
    )
    first, second = (words(Node(**{**vars(node), "constants": frozenset([0, 1])}))[0] for node in (one, two))
    assert first != second


def test_sums_of_integers_that_have_bounds_are_linear() -> None:
    node = reduction("ReduceSum", 13, np.zeros((2, 3), np.int64), [1], keepdims=0)
    given = leaves(node)["i0"].words
    assert given is not None
    held = terms(given, ir.DataType.INT64, np.zeros((), np.int64), np.full((), 9))
    found, _ = of_numbers("ReduceSum", held, 0, axes=[1], keepdims=0)
    np.testing.assert_array_equal(found.array, given.sum(1, dtype=np.uint64))
    assert np.all(words(node)[0] != found.array)  # without bounds 2^64 times a number would be 0


def test_other_reductions_have_other_words() -> None:
    data = np.ones((2, 3, 3), np.float32)
    found = [words(reduction(op, 18, data, axes, keepdims=0))[0].tobytes() for op in REDUCTIONS for axes in ([1], [2])]
    assert len(set(found)) == len(found)


def of_numbers(op: str, data: Tensor, samples: int, **attributes: Any) -> tuple[Tensor, list[str]]:
    """A rule on numbers that depend on N = samples."""
    call = Call(TermRun(HASHING, 1 << 20, samples), op, "n", 1, 11, (data,), attributes)
    found = RECORDS["", op].rule(call)[0]
    assert isinstance(found, Tensor)
    return found, call.notes.not_for_all


def test_a_product_leans_as_its_one_factor_does() -> None:
    dims = formed(np.array([7, 3, 4]), ir.DataType.INT64, np.array([1, 0, 0]), 0)
    found, not_for_all = of_numbers("ReduceProd", dims, 7, keepdims=0)
    assert (int(found.array), int(np.asarray(found.integers.slope)), found.integers.place, not_for_all) == (
        84,
        12,
        0,
        [],
    )
    _, not_for_all = of_numbers("ReduceProd", formed(np.array([7, 7]), ir.DataType.INT64, np.array([1, 1]), 0), 7)
    assert not_for_all
    zeros = formed(np.array([7, 0]), ir.DataType.INT64, np.array([1, 0]), 0)
    found, not_for_all = of_numbers("ReduceProd", zeros, 7, keepdims=0)
    assert (int(found.array), found.integers.slope, not_for_all) == (0, 0, [])


def test_a_sum_leans_as_all_its_parts_do() -> None:
    dims = formed(
        np.array([[7, 3], [14, 1]]), ir.DataType.INT64, np.array([[1, 0], [2, 0]]), np.array([[0, 1], [0, 0]])
    )
    found, not_for_all = of_numbers("ReduceSum", dims, 7, axes=[1], keepdims=0)
    assert not not_for_all
    np.testing.assert_array_equal(found.array, [10, 15])
    np.testing.assert_array_equal(np.asarray(found.integers.slope), [1, 2])
    np.testing.assert_array_equal(np.asarray(found.integers.place), [1, 0])


def test_a_sum_over_the_samples_counts_them() -> None:
    ones = Tensor(ir.DataType.INT64, values=np.full((7, 2), 3), growth=(1, 0))
    found, not_for_all = of_numbers("ReduceSum", ones, 7, keepdims=0)
    assert (int(found.array), int(np.asarray(found.integers.slope)), not_for_all) == (42, 6, [])
    assert of_numbers("ReduceProd", ones, 7)[1]
    assert not of_numbers("ReduceMax", ones, 7)[1]


@pytest.mark.parametrize(
    ("values", "slopes", "slope", "certain"),
    [
        ([7, 1], [1, 0], 1, True),  # N and 1
        ([7, 3], [1, 0], 1, False),  # N and 3: at N = 1 the other is larger
        ([8, 7], [1, 1], 1, True),  # N + 1 and N
        ([7, 7], [1, 0], 1, False),
        ([3, 3], [0, 0], 0, True),
        ([14, 7], [2, 1], 2, True),
    ],
)
def test_the_largest_for_every_n(values: list[int], slopes: list[int], slope: int, certain: bool) -> None:
    dims = formed(np.array(values), ir.DataType.INT64, np.array(slopes), 0)
    found, not_for_all = of_numbers("ReduceMax", dims, 7, keepdims=0)
    assert int(found.array) == max(values)
    assert bool(not_for_all) != certain
    assert int(found.integers.slope) == slope
    least, not_for_all = of_numbers("ReduceMin", formed(-np.array(values), ir.DataType.INT64, -np.array(slopes), 0), 7)
    assert int(least.array[0]) == -max(values)
    assert bool(not_for_all) != certain


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_softmax_over_one_axis_or_over_the_rest(op: str, opset: int) -> None:
    rng = np.random.default_rng(opset)
    for axis in (0, 1, 2) if opset < 11 else (0, 1, -1, -3):
        node = Node(op, opset, [floats(rng, 3, 2, 2)], {"axis": axis})
        if axis % 3:
            node = Node(**{**vars(node), "batch": {0: 0, ~0: 0}})
        check(node, rng, 4)
    old, new = (words(Node(op, opset, [np.zeros((2, 3, 4), np.float32)], {"axis": 1}))[0] for opset in (12, 13))
    assert np.all(old != new)
    old, new = (words(Node(op, opset, [np.zeros((2, 3), np.float32)], {"axis": 1}))[0] for opset in (12, 13))
    np.testing.assert_array_equal(old, new)


def test_softmax_words_go_with_their_elements() -> None:
    data = np.zeros((2, 3), np.float32)
    plain, turned = (words(Node("Softmax", 13, [data], {"axis": axis}))[0] for axis in (0, 1))
    assert np.all(plain != turned)
    assert len(np.unique(plain)) == 6


def test_of_equal_ones_hardmax_takes_the_first() -> None:
    node = Node("Hardmax", 13, [np.zeros((2, 3), np.float32)], {"axis": 1})
    fed = leaves(node)["i0"]
    alike = terms(np.repeat(fed.array[:, :1], 3, 1), fed.dtype)
    assert len(np.unique(on_terms(node)({"i0": alike})[0].array)) == 6
    soft = Node("Softmax", 13, node.inputs, node.attributes)
    assert len(np.unique(on_terms(soft)({"i0": alike})[0].array)) == 2


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_places_of_extremes(op: str) -> None:
    rng = np.random.default_rng(3)
    for opset in (11, 12, 13):
        for keep in (0, 1):
            for axis in (0, 1, -1):
                attributes = {"axis": axis, "keepdims": keep}
                if opset > 11:
                    attributes["select_last_index"] = int(rng.integers(2))
                node = Node(op, opset, [floats(rng, 3, 4, 2)], attributes)
                if axis:
                    node = Node(**{**vars(node), "batch": {0: 0, ~0: 0}})
                check(node, rng)
    node = Node(op, 13, [rng.integers(0, 3, (4, 5))], {"axis": 1}, constants=frozenset([0]))
    for last in (0, 1):
        check(node.changed(select_last_index=last), rng)
        assert on_terms(node.changed(select_last_index=last))({})[0].known
    fed = Node(op, 13, [floats(rng, 2, 3)], {"axis": 1})
    assert np.all(words(fed)[0] != words(fed.changed(select_last_index=1))[0])
    with pytest.raises(NotProven, match="nothing to pick"):
        words(Node(op, 13, [np.zeros((2, 0), np.float32)], {"axis": 1}))


def test_top_k() -> None:
    rng = np.random.default_rng(4)
    three = np.array([3], np.int64)
    for opset in (10, 11):
        for axis in (0, 1, -1):
            attributes = {"axis": axis}
            if opset > 10:
                attributes |= {"largest": int(rng.integers(2))}
            batch = {0: 0, ~0: 0, ~1: 0} if axis else {}
            node = Node("TopK", opset, [floats(rng, 4, 3, 5), three], attributes, 2, frozenset([1]), batch)
            check(node, rng)
    node = Node("TopK", 11, [floats(rng, 2, 4), three], {}, 2, frozenset([1]))
    values, places = words(node)
    assert np.all(values != places)
    assert len(np.unique(values)) == values.size
    least = words(node.changed(largest=0))
    assert np.all(least[0] != values)
    assert np.all(least[1] != places)
    with pytest.raises(NotProven, match="takes 3 of 2"):
        words(Node("TopK", 11, [floats(rng, 2, 2), three], {}, 2, frozenset([1])))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32])
@pytest.mark.parametrize("known", [True, False])
def test_running_sums(dtype: Any, known: bool) -> None:
    rng = np.random.default_rng(5)
    seen = set()
    for exclusive in (0, 1):
        for reverse in (0, 1):
            data = rng.integers(-3, 9, (3, 4)).astype(dtype)
            for axis in (0, 1, -1):
                constants = frozenset([0, 1] if known else [1])
                attributes = {"exclusive": exclusive, "reverse": reverse}
                batch = {0: 0, ~0: 0} if axis else {}
                node = Node("CumSum", 14, [data, np.array(axis)], attributes, 1, constants, batch)
                found = check(node, rng)
                assert on_terms(node)(leaves(node))[0].known == (known and dtype != np.float32)
            seen.add(found[0].tobytes())
    assert len(seen) == 4


def test_bounds_of_running_sums() -> None:
    mask = terms(leaves(Node("CumSum", 14, [np.zeros((2, 3), np.int64)]))["i0"].array, ir.DataType.INT64, *_bits())
    node = Node("CumSum", 14, [np.zeros((2, 3), np.int64), np.array(1)], {}, 1, frozenset([1]))
    found, _ = Program(ir.from_proto(node.model()), HASHING, Limits()).run({"i0": mask})
    assert isinstance(found["o0"], Tensor)
    np.testing.assert_array_equal(np.asarray(found["o0"].integers.high), [[1, 2, 3]] * 2)


def _bits() -> tuple[Any, Any]:
    return np.zeros((), np.int64), np.ones((), np.int64)
