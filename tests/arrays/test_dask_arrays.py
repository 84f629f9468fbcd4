"""reshape() on Dask arrays: the answer of NumPy, lazily, for any chunks, in bounded memory and few tasks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import dask
import dask.array as da
import dask.local
import ml_dtypes
import numpy as np
import pytest
from dask.base import tokenize
from dask.callbacks import Callback
from dask.delayed import delayed
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.arrays.blocks import Take
from onereshape.arrays.chunking import BlockPlace, Chunks
from onereshape.ground.integers import Dims
from onereshape.rule.specs import SPECS
from tests.strategies import Array, chunked, factored, worded

DIALECTS: list[tuple[str, dict[str, Any]]] = [
    (row.name, attributes)
    for row in SPECS
    for attributes in ([{}] if row.flag is None else [{row.flag.name: value} for value in (0, 1)])
]
"""Every specification, with each value of its flag."""


def flagged(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return attributes if name.startswith("onnx") else {key: bool(value) for key, value in attributes.items()}


def computed(array: Any) -> Array:
    found: Array = array.compute(scheduler="synchronous")
    return found


def answer(call: Callable[[], Any]) -> Any:
    """What a call returns, or the code of its refusal."""
    try:
        return call()
    except orx.ReshapeError as refusal:
        return refusal.code


def tasks(array: Any, data: Any) -> int:
    """How many tasks there are beyond those of data."""
    return len(set(dict(array.__dask_graph__())) - set(dict(data.__dask_graph__())))


def overlaps(data: Dims, chunks: Chunks, output: Dims, made: Chunks) -> int:
    """How many pairs of a chunk of data and a chunk of output have an element in common, by looking at each."""
    numbers = [np.arange(prod(dims)).reshape(dims) for dims in (data, output)]
    owners = []
    for array, side in zip(numbers, (chunks, made), strict=True):
        labels = np.zeros(array.shape, np.int64)
        for axis, sizes in enumerate(side):
            along = np.repeat(np.arange(len(sizes)), sizes)
            labels = labels * len(sizes) + along.reshape([-1 if n == axis else 1 for n in range(array.ndim)])
        owners.append(labels.reshape(-1))
    return len(set(zip(owners[0].tolist(), owners[1].tolist(), strict=True)))


class Largest(Callback):
    """The largest result of any task, in bytes, but for those of some keys."""

    def __init__(self, but: set[Any]) -> None:
        self.but = but
        self.bytes = 0

    def _posttask(self, key: Any, result: Any, *_: Any) -> None:
        if key not in self.but:
            made = result if isinstance(result, list) else [result]
            self.bytes = max(self.bytes, sum(one.nbytes for one in made if isinstance(one, np.ndarray)))


@st.composite
def questions(draw: st.DrawFn) -> tuple[Dims, Chunks, Dims]:
    volume = draw(st.sampled_from([0, 1, 2, 6, 12, 24, 30, 36, 60, 72, 210]))
    data, output = draw(factored(volume, 5)), draw(factored(volume, 5))
    return data, draw(chunked(data)), output


@settings(max_examples=150, deadline=None)
@given(questions(), st.sampled_from(DIALECTS), st.integers(8, 400), st.data())
def test_the_answer_of_numpy_in_every_dialect(
    question: tuple[Dims, Chunks, Dims], dialect: tuple[str, dict[str, Any]], limit: int, draws: st.DataObject
) -> None:
    data, chunks, output = question
    name, attributes = dialect[0], flagged(*dialect)
    target = draws.draw(worded(data, output))
    array = np.arange(prod(data), dtype=np.float32).reshape(data)
    expected = answer(lambda: orx.resolve(data, target, name, **attributes))
    lazy = da.from_array(array, chunks=chunks)
    result = answer(lambda: orx.reshape(lazy, target, name, limit=limit, **attributes))
    if isinstance(expected, str):
        assert result == expected
        return

    assert result.shape == expected
    made = computed(result)
    assert (made.shape, made.dtype) == (expected, array.dtype)
    assert (made == array.reshape(expected)).all()


@settings(max_examples=100, deadline=None)
@given(questions(), st.integers(1, 50), st.data())
def test_memory_and_tasks_are_bounded(question: tuple[Dims, Chunks, Dims], limit: int, draws: st.DataObject) -> None:
    data, chunks, output = question
    array = da.from_array(np.arange(prod(data)).reshape(data), chunks=chunks)
    asked = draws.draw(st.none() | chunked(output))
    result = orx.reshape(array, output, "onnx", allowzero=1, limit=8 * limit, chunks=asked)

    if asked is not None:
        assert result.chunks == asked
        limit = max(limit, *(prod(sizes) for sizes in product(*asked)))
    assert max(prod(sizes) for sizes in product(*result.chunks)) <= limit
    largest = Largest(set(dict(array.__dask_graph__())))
    with largest:  # not compute(), which puts the blocks together
        dask.local.get_sync(dict(result.__dask_graph__()), result.__dask_keys__())
    assert largest.bytes <= 8 * limit
    forced = overlaps(data, chunks, output, result.chunks) if prod(output) else 0
    multiple = 2 if asked is None else 8  # chunks that are asked for may take a step more
    assert tasks(result, array) <= multiple * (array.npartitions + result.npartitions) + forced


@settings(max_examples=60, deadline=None)
@given(questions())
def test_a_slice_is_taken_of_what_is_needed_only(question: tuple[Dims, Chunks, Dims]) -> None:
    """What the tasks that take give away is never more than the output."""
    data, chunks, output = question
    array = da.from_array(np.arange(prod(data)).reshape(data), chunks=chunks)
    result = orx.reshape(array, output, "onnx", allowzero=1)
    taken = 0

    def count(key: Any, made: Any, *_: Any) -> None:
        nonlocal taken
        taken += sum(one.size for one in made) if "-take" in str(key[0]) else 0

    with Callback(posttask=count):
        computed(result)
    assert taken <= prod(output)


class TestKnownTroubles:
    """What Dask's own reshape refuses or blows up."""

    def test_dims_that_are_neither_merged_nor_split(self) -> None:
        array = da.arange(12, chunks=5).reshape(6, 2)
        with pytest.raises(NotImplementedError):
            array.rechunk((2, 1)).reshape(3, 4)
        result = orx.reshape(array.rechunk((2, 1)), [3, 4], "onnx")

        assert computed(result).tolist() == np.arange(12).reshape(3, 4).tolist()

    def test_chunks_do_not_grow(self) -> None:
        array = da.zeros((300, 180, 4, 18483), chunks=(-1, -1, 1, 183))
        result = orx.reshape(array, [0, 0, -1], "onnx")

        assert result.chunks == ((300,), (180,), (183,) * 404)
        assert tasks(result, array) == 404

    def test_a_single_chunk_beyond_the_limit_is_cut(self) -> None:
        array = da.zeros((2000, 3000), chunks=-1)
        result = orx.reshape(array, [3000, 2000], "onnx", limit="1MiB")

        assert max(prod(sizes) for sizes in product(*result.chunks)) * 8 <= 2**20

    def test_the_limit_of_the_configuration(self) -> None:
        with dask.config.set({"array.chunk-size": "8kB"}):
            result = orx.reshape(da.zeros((100, 100), chunks=-1), [-1], "onnx")

        assert max(result.chunks[0]) == 1000

    def test_columns_go_through_chunks_between(self) -> None:
        data = np.arange(200 * 200).reshape(200, 200)
        array = da.from_array(data, chunks=(200, 2))
        result = orx.reshape(array, [-1], "onnx", limit=8 * 400)

        assert tasks(result, array) < 100 * 100
        assert (computed(result) == data.reshape(-1)).all()

    def test_columns_beyond_the_limit_are_cut_before_they_are_chunked_anew(self) -> None:
        data = np.arange(200 * 200).reshape(200, 200)
        array = da.from_array(data, chunks=(200, 2))
        result = orx.reshape(array, [-1], "onnx", limit=8 * 100)
        largest = Largest(set(dict(array.__dask_graph__())))
        with largest:
            dask.local.get_sync(dict(result.__dask_graph__()), result.__dask_keys__())

        assert largest.bytes <= 8 * 100

    def test_a_plan_of_many_chunks_is_quick(self) -> None:
        array = da.zeros((10**6, 10**4), chunks=(1000, 10**4), dtype=np.float32)
        result = orx.reshape(array, [10**4, 10**6], "onnx")

        assert tasks(result, array) <= 3 * (array.npartitions + result.npartitions)


def test_a_small_slice_does_not_keep_its_block_in_memory() -> None:
    block = np.arange(100).reshape(10, 10)
    place = BlockPlace(((0, 10), (0, 10)), (10, 10), ((2, 4), (0, 10)))
    (taken,) = Take((10, 10), ((place,),))(block)

    assert taken.tolist() == block[2:4].tolist()
    assert not np.shares_memory(taken, block)


class TestLazy:
    def test_nothing_is_computed(self) -> None:
        array = da.zeros((6, 2), chunks=(1, 2)).map_blocks(_fail, dtype=float)
        assert orx.reshape(array, [3, 4], "onnx").shape == (3, 4)

    def test_only_what_is_needed_is_computed(self) -> None:
        seen: list[Any] = []
        array = da.from_array(np.arange(100).reshape(50, 2), chunks=(10, 2)).map_blocks(_noted, seen=seen, dtype=int)
        result = orx.reshape(array, [25, 4], "onnx")

        assert result[0].compute(scheduler="synchronous").tolist() == [0, 1, 2, 3]
        assert len([block for block in seen if block.size]) == 1

    def test_names_are_the_same_each_time(self) -> None:
        array = da.from_array(np.arange(24).reshape(4, 6), chunks=(3, 4), name="known")
        first, again = (orx.reshape(array, [6, 4], "onnx") for _ in range(2))
        other = orx.reshape(array, [8, 3], "onnx")

        assert first.name == again.name != other.name
        assert tokenize(first) == tokenize(again)
        assert set(dict(first.__dask_graph__())) == set(dict(again.__dask_graph__()))

    def test_different_limits_are_different_graphs(self) -> None:
        array = da.from_array(np.arange(2400).reshape(40, 60), chunks=-1, name="known")
        small, large = (orx.reshape(array, [-1], "onnx", limit=limit) for limit in (480, 4800))

        assert small.name != large.name
        both = da.compute(small, large, scheduler="synchronous")
        assert all((made == np.arange(2400)).all() for made in both)

    def test_the_operator(self) -> None:
        op = orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)
        result = op(da.ones((2, 3, 4), chunks=1, dtype=np.float32), limit=16)

        assert result.shape == (2, 12)
        assert max(prod(sizes) for sizes in product(*result.chunks)) <= 4

    def test_the_graph_crosses_processes(self) -> None:
        data = np.arange(24).reshape(4, 6)
        result = orx.reshape(da.from_array(data, chunks=(3, 4)), [8, 3], "onnx")

        assert (result.compute(scheduler="processes", num_workers=1) == data.reshape(8, 3)).all()


def _fail(block: Array) -> Array:
    if block.size:
        raise AssertionError
    return block


def _noted(block: Array, seen: list[Any]) -> Array:
    seen.append(block)
    return block


class TestTypes:
    @pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, "c16", "?", "U3"])
    def test_elements_stay_what_they_are(self, dtype: Any) -> None:
        data = (np.arange(24) % 7).astype(dtype).reshape(4, 6)
        result = orx.reshape(da.from_array(data, chunks=(3, 4)), [8, 3], "onnx")

        assert result.dtype == result._meta.dtype == data.dtype
        made = computed(result)
        assert made.dtype == data.dtype
        assert made.tobytes() == data.tobytes()

    def test_a_type_that_the_specification_does_not_list(self) -> None:
        with pytest.raises(orx.ReshapeError, match="data of type int8 is refused: allowed since onnx Reshape-5"):
            orx.reshape(da.zeros(6, dtype="i1"), [6], "onnx-1")

    def test_strings_as_objects(self) -> None:
        data = np.array([["a", b"b"], ["c", "d"]], dtype=object)
        result = orx.reshape(da.from_array(data, chunks=(1, 1)), [4], "onnx")

        assert computed(result).tolist() == ["a", b"b", "c", "d"]

    def test_objects_that_are_no_strings_are_refused_when_they_are_met(self) -> None:
        data = np.array([["a", 1.5], ["c", "d"]], dtype=object)
        result = orx.reshape(da.from_array(data, chunks=(1, 1)), [4], "onnx")

        with pytest.raises(orx.ReshapeError, match="must hold only str or bytes"):
            computed(result)

    @pytest.mark.parametrize("mask", [True, False])
    def test_masks_move_with_their_elements(self, mask: bool) -> None:
        data = np.ma.masked_array(np.arange(24).reshape(4, 6))
        if mask:
            data = np.ma.masked_where(data % 5 == 0, data)
        array = da.from_array(data, chunks=(3, 4), asarray=False)
        result = computed(orx.reshape(array, [8, 3], "onnx"))

        assert isinstance(result, np.ma.MaskedArray)
        assert result.tolist() == data.reshape(8, 3).tolist()

    @pytest.mark.parametrize("copy", [None, True])
    def test_copies(self, copy: bool | None) -> None:
        data = np.arange(6.0)
        made = computed(orx.reshape(da.from_array(data, chunks=-1), [2, 3], "onnx", copy=copy))
        assert (made == data.reshape(2, 3)).all()
        if copy:
            assert not np.shares_memory(made, data)


class TestRefused:
    def test_unknown_chunks(self) -> None:
        array = da.arange(10, chunks=5)
        array = array[array > 3]
        with pytest.raises(orx.ReshapeError, match=r"compute_chunk_sizes\(\)") as refusal:
            orx.reshape(array, [-1, 2], "onnx")
        assert refusal.value.code == "unknown-chunks"
        result = orx.reshape(array.compute_chunk_sizes(), [-1, 2], "onnx")

        assert computed(result).tolist() == [[4, 5], [6, 7], [8, 9]]

    def test_another_volume(self) -> None:
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.reshape(da.zeros((2, 3)), [7], "onnx")
        assert refusal.value.code == "volume"

    @pytest.mark.parametrize("limit", ["much", 0, 7, "7B", True, [8], -1, None.__class__])
    def test_limits_that_are_none(self, limit: Any) -> None:
        with pytest.raises(orx.ReshapeError, match=r"limit is .*, but it takes only a number of bytes"):
            orx.reshape(da.zeros((2, 3)), [6], "onnx", limit=limit)

    @pytest.mark.parametrize("chunks", [(4, 4), ((2, 3),), "no", (0,), ((7, -1),), 2.5, object()])
    def test_chunks_that_do_not_fit(self, chunks: Any) -> None:
        with pytest.raises(orx.ReshapeError, match=r"chunks is .*, but it takes only what Dask takes as chunks of"):
            orx.reshape(da.zeros((2, 3)), [6], "onnx", chunks=chunks)

    @pytest.mark.parametrize(
        ("chunks", "expected"),
        [(2, ((2, 2, 2), (2, 2))), ((-1, 2), ((6,), (2, 2))), ({0: 3}, ((3, 3), (4,))), ("auto", ((6,), (4,)))],
    )
    def test_chunks_in_the_forms_of_dask(self, chunks: Any, expected: Chunks) -> None:
        assert orx.reshape(da.zeros((2, 12)), [6, 4], "onnx", chunks=chunks).chunks == expected

    def test_copy_false(self) -> None:
        with pytest.raises(orx.ReshapeError, match="copy is False, but it takes only None or True on a Dask array"):
            orx.reshape(da.zeros((2, 3)), [6], "onnx", copy=False)

    def test_other_collections(self) -> None:
        with pytest.raises(orx.ReshapeError, match=r"data is of type dask's Delayed.*, not an array"):
            orx.reshape(delayed(1), [1], "onnx")

    def test_options_of_dask_on_other_arrays(self) -> None:
        with pytest.raises(orx.ReshapeError, match="chunks and limit: only Dask arrays have chunks"):
            orx.reshape(np.zeros(4), [2, 2], "onnx", chunks=2, limit=100)

    @pytest.mark.parametrize("chunks", [-1, 1])
    def test_more_axes_than_numpy_has(self, chunks: int) -> None:
        with pytest.raises(orx.ReshapeError, match="65 dims are more than its 64"):
            orx.reshape(da.zeros((1, 1), chunks=chunks), [1] * 65, "onnx")

    def test_empty_dims_beyond_numpy(self) -> None:
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.reshape(da.zeros((0, 3)), [0, 2**40, 2**40], "onnx", allowzero=1)
        assert refusal.value.code == "array-limit"


class TestSmallest:
    def test_scalars(self) -> None:
        assert computed(orx.reshape(da.ones((), dtype="f4"), [1, 1], "onnx")).tolist() == [[1.0]]
        assert computed(orx.reshape(da.ones((1, 1), dtype="f4"), [], "onnx")).tolist() == 1.0

    def test_empty(self) -> None:
        result = orx.reshape(da.ones((0, 3), chunks=(1, 2), dtype="f4"), [-1, 5], "onnx")
        assert (result.shape, result.dtype, computed(result).shape) == ((0, 5), np.float32, (0, 5))

    def test_empty_with_chunks(self) -> None:
        result = orx.reshape(da.ones((0, 4), dtype="f4"), [0, 4], "onnx", chunks=(1, 2))
        assert result.chunks[1] == (2, 2)
        assert computed(result).shape == (0, 4)
