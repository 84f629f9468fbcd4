"""Reshape and reshape() on NumPy arrays: the checks of the specifications, views, copies and every element type."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import onereshape as orx
from onereshape.ground import dtypes
from onereshape.rule.specs import SPECS, Spec
from tests.laws.definition import DATA, TARGETS
from tests.strategies import Array, Dims, factored, layouts

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def operator(row: Spec, target: list[int], **given_: Any) -> tuple[orx.Reshape, tuple[Any, ...]]:
    """The operator of a row and its further inputs, wherever the row wants its target."""
    if row.flag is not None:
        given_.setdefault(row.flag.name, row.flag.copies)
    if row.target_in == "attribute":
        return orx.Reshape(row, shape=target, **given_), ()
    dtype = dtypes.named(row.shape_types[-1 if row.dialect == "onednn" else 0])
    assert dtype is not None
    return orx.Reshape(row, **given_), (np.array(target, dtype.numpy),)


@pytest.mark.parametrize("row", SPECS, ids=str)
def test_every_specification_as_an_operator(row: Spec) -> None:
    op, inputs = operator(row, [0, -1])

    for _ in range(2):  # the second call answers from memory
        output = op(X, *inputs)
        np.testing.assert_array_equal(output, X.reshape(2, 12))
        assert np.shares_memory(output, X)


class TestElementOrder:
    """NumPy is the oracle for elements and for refusals, with what it takes too lightly listed."""

    NUMPY_TAKES_ANY_NEGATIVE = "NumPy infers a dim for any one negative entry; the specifications know only -1"

    def test_over_the_small_world(self) -> None:
        op = orx.Reshape("onnx", allowzero=1)
        excused = set()
        for data in DATA:
            array = np.arange(np.prod(data, dtype=int)).reshape(data)
            for target in TARGETS:
                ours = theirs = None
                with suppress(orx.ReshapeError):
                    ours = op(array, np.array(target, np.int64))
                with suppress(ValueError):
                    theirs = array.reshape(target)
                if ours is None and theirs is not None and -2 in target:
                    excused.add(self.NUMPY_TAKES_ANY_NEGATIVE)
                else:
                    assert (ours is None) == (theirs is None), (data, target)
                    if ours is not None and theirs is not None:
                        assert ours.shape == theirs.shape
                        assert np.array_equal(ours, theirs)

        assert excused == {self.NUMPY_TAKES_ANY_NEGATIVE}

    @given(st.data())
    def test_of_any_layout(self, data: st.DataObject) -> None:
        array: Array = data.draw(layouts())
        output: Dims = data.draw(factored(array.size))
        before = array.copy()
        expected = array.copy(order="C").reshape(output)
        view_exists = _has_view(array, output)
        for copy in (None, True, False):
            if copy is False and not view_exists:
                with pytest.raises(orx.ReshapeError) as refusal:
                    orx.reshape(array, output, "onnx", copy=copy, allowzero=1)
                assert refusal.value.code == "needs-copy"
                continue
            result = orx.reshape(array, output, "onnx", copy=copy, allowzero=1)
            assert (result.shape, result.dtype) == (output, array.dtype)
            assert np.array_equal(result, expected)
            if array.size:
                assert np.shares_memory(result, array) == (view_exists and copy is not True)
        assert np.array_equal(array, before)


def _has_view(array: Array, output: Dims) -> bool:
    """Whether NumPy makes one; of no elements any dims are one."""
    return not array.size or np.shares_memory(array, array.reshape(output))


def filled(element_type: dtypes.ElementType, dims: Dims) -> Array:
    """An array of that type with different bits in its elements."""
    if element_type is dtypes.STRING:
        return np.array([f"s{i}" for i in range(np.prod(dims, dtype=int))], object).reshape(dims)
    assert element_type.numpy is not None
    return np.arange(np.prod(dims, dtype=int)).astype(element_type.numpy).reshape(dims)


@pytest.mark.parametrize("row", SPECS, ids=str)
def test_every_type_of_every_specification(row: Spec) -> None:
    for element_type in dtypes.ELEMENT_TYPES:
        if element_type.numpy is None:
            continue
        array = filled(element_type, (2, 3))
        op, inputs = operator(row, [3, 2])
        if element_type.named_in(row.dialect) in row.data_types:
            result = op(array, *inputs)
            assert result.dtype == array.dtype
            assert result.tobytes() == array.tobytes()
        else:
            with pytest.raises(orx.ReshapeError) as refusal:
                op(array, *inputs)
            assert refusal.value.code == "data-type"


@pytest.mark.parametrize(
    ("dtype", "row", "said"),
    [
        (np.int64, "onnx-1", "data of type int64 is refused: allowed since onnx Reshape-5"),
        (ml_dtypes.bfloat16, "onnx-5", "data of type bfloat16 is refused: allowed since onnx Reshape-13"),
        (ml_dtypes.float8_e5m2, "onnx-14", "data of type float8e5m2 is refused: allowed since onnx Reshape-19"),
        (ml_dtypes.int4, "onnx-19", "data of type int4 is refused: allowed since onnx Reshape-21"),
        (ml_dtypes.float4_e2m1fn, "onnx-21", "data of type float4e2m1 is refused: allowed since onnx Reshape-23"),
        (ml_dtypes.float8_e8m0fnu, "onnx-23", "data of type float8e8m0 is refused: allowed since onnx Reshape-24"),
        (ml_dtypes.uint2, "onnx-24", "data of type uint2 is refused: allowed since onnx Reshape-25"),
        (ml_dtypes.float8_e3m4, "onnx", "data of type float8_e3m4 is refused: no Reshape of onnx takes it"),
        (np.complex64, "openvino", "data of type complex64 is refused: no Reshape of openvino takes it"),
        (np.str_, "openvino", "data of type string is refused: no Reshape of openvino takes it"),
        (np.int32, "onednn-static", "data of type s32 is refused: allowed by onednn Reshape-1"),
        (np.float64, "onednn-reshape", "data of type f64 is refused: no Reshape of onednn takes it"),
        ("datetime64[s]", "onnx", "data of type datetime64[s] is refused: no Reshape of onnx takes it"),
        ([("a", "f4")], "onnx", "data of type [('a', '<f4')] is refused: no Reshape of onnx takes it"),
    ],
)
def test_a_refused_type_says_who_takes_it(dtype: Any, row: str, said: str) -> None:
    op, inputs = operator(orx.spec(row), [4])
    with pytest.raises(orx.ReshapeError) as refusal:
        op(np.zeros((2, 2), dtype), *inputs)

    assert refusal.value.sentence == said


@pytest.mark.parametrize("dtype", [np.dtypes.StringDType(), "U3", "S3", object])
def test_strings_of_every_kind(dtype: Any) -> None:
    words = np.array([["a", "bb"], ["ccc", "d"]], dtype)
    result = orx.reshape(words, [4], "onnx")

    assert result.dtype == words.dtype
    assert result.tolist() == words.ravel().tolist()


def test_objects_that_are_no_strings() -> None:
    op = orx.Reshape("onnx")
    array = np.array(["a", "b"], object)
    shape = np.array([2, 1])
    assert op(array, shape).shape == (2, 1)
    array[1] = 5
    with pytest.raises(orx.ReshapeError, match="data of type int is refused: an array of objects must hold only str"):
        op(array, shape)  # also when the same dims were seen before


@pytest.mark.parametrize(
    ("dtype", "row", "taken"),
    [
        (np.int64, "onnx", True),
        (np.int32, "onnx", False),
        (np.uint64, "onnx", False),
        (np.float64, "onnx", False),
        (np.bool_, "onnx", False),
        (np.dtype(">i8"), "onnx", True),
        (np.int8, "openvino", True),
        (np.uint64, "openvino", True),
        (ml_dtypes.int4, "openvino", True),
        (ml_dtypes.uint4, "openvino", True),
        (np.float32, "openvino", False),
        (np.bool_, "openvino", False),
        (np.int64, "onednn-reshape", True),
        (np.int32, "onednn-reshape", True),
        (np.int16, "onednn-reshape", False),
        (np.int32, "onednn-dynamic", True),
        (np.int64, "onednn-dynamic", False),
    ],
)
def test_the_type_of_the_shape_tensor(dtype: Any, row: str, taken: bool) -> None:
    flag: dict[str, Any] = {} if row == "onnx" else {"special_zero": False}
    op = orx.Reshape(row, **flag)
    shape = np.array([4, 6]).astype(dtype)
    if taken:
        assert op(X, shape).shape == (4, 6)
    else:
        with pytest.raises(orx.ReshapeError) as refusal:
            op(X, shape)
        assert refusal.value.code == "shape-type"


@pytest.mark.parametrize("shape", [np.array(24), np.array([[4, 6]]), np.zeros((0, 1), np.int64)])
def test_the_shape_tensor_has_one_dim(shape: Array) -> None:
    op = orx.Reshape("onnx")
    assert op(X, np.array([24])).shape == (24,)
    assert op(X, np.array([4, 6])).shape == (4, 6)
    with pytest.raises(orx.ReshapeError) as refusal:
        op(X, shape)  # same bytes as a remembered call, other dims

    assert refusal.value.code == "shape-rank"


def test_what_was_remembered_is_not_mixed_up() -> None:
    op = orx.Reshape("onnx-13")
    shape = np.array([0, -1])
    assert op(X, shape).shape == (2, 12)
    assert op(X.transpose(1, 0, 2), shape).shape == (3, 8)
    shape[0] = -1
    shape[1] = 0
    assert op(X, shape).shape == (8, 3)
    with pytest.raises(orx.ReshapeError) as refusal:
        op(np.zeros((2, 3, 4), ml_dtypes.int4), shape)
    assert refusal.value.code == "data-type"
    for rows in range(600):  # more than it remembers
        assert op(np.zeros((rows + 1, 2), np.float32), np.array([-1])).shape == (2 * rows + 2,)


def test_targets_wrong_for_every_data_are_refused_at_once() -> None:
    with pytest.raises(orx.ReshapeError, match="second -1"):
        orx.Reshape("onnx-1", shape=[-1, -1])
    with pytest.raises(orx.ReshapeError, match="literal 0"):
        orx.Reshape("onednn-static", shape=[0, -1], special_zero=False)


@pytest.mark.parametrize("bad", [[[1, 2], [3, 4]], 5, "abc", None])
def test_data_that_is_no_array(bad: Any) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(bad, [4], "onnx")

    assert refusal.value.code == "not-an-array"


def test_scalars_and_subclasses() -> None:
    assert orx.reshape(np.asarray(np.float32(5)), [1, 1], "onnx").shape == (1, 1)
    masked = np.ma.masked_array(X, mask=X > 5)
    result = orx.reshape(masked, [4, 6], "onnx")
    assert isinstance(result, np.ma.MaskedArray)
    assert result.mask.tolist() == masked.mask.reshape(4, 6).tolist()


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_that_keeps_its_two_dims_is_refused() -> None:
    matrix = np.matrix([[1.0, 2.0]])
    assert orx.reshape(matrix, [2, 1], "onnx").shape == (2, 1)
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(matrix, [2], "onnx")
    assert refusal.value.code == "array-limit"


def test_the_rank_goes_to_numpys_limit() -> None:
    assert orx.reshape(X, [1] * 63 + [-1], "onnx").shape == (1,) * 63 + (24,)
    with pytest.raises(orx.ReshapeError, match="65 dims are more than its 64"):
        orx.reshape(X, [1] * 64 + [-1], "onnx")


def test_empty_arrays_that_numpy_cannot_hold() -> None:
    empty = np.zeros(0, np.float32)
    assert orx.resolve([0], [2**32, 2**32, 0], "onnx", allowzero=1) == (2**32, 2**32, 0)
    with pytest.raises(orx.ReshapeError, match="span more bytes than int64 can count"):
        orx.reshape(empty, [2**32, 2**32, 0], "onnx", allowzero=1)


@pytest.mark.parametrize("copy", ["yes", 0, 1, 2])
def test_copy_is_none_true_or_false(copy: Any) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(X, [24], "onnx", copy=copy)

    assert refusal.value.code == "bad-attribute"


def test_an_operator_shows_itself() -> None:
    assert repr(orx.Reshape("onnx-17", allowzero=1)) == "Reshape('onnx-14', allowzero=1)"
