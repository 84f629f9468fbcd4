"""In which passes and blocks a store is reshaped: every element arrives, within the budget."""

from __future__ import annotations

import shutil
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st

from onereshape.formats.stores import stream
from onereshape.formats.stores.partial_folder import beside
from onereshape.formats.stores.passes import Pass, coarser, decodings, default_chunk, grid, passes
from onereshape.formats.stores.reshape_store import open_store
from tests.formats.stored import held, opened, stored
from tests.strategies import Dims, factored


@st.composite
def questions(draw: st.DrawFn) -> tuple[Dims, Dims, Dims, Dims, int]:
    volume = draw(st.sampled_from([1, 6, 24, 30, 36]))
    data, output = draw(factored(volume, 4)), draw(factored(volume, 4))
    stored_in, chunk = (draw(st.tuples(*(st.integers(1, dim) for dim in dims))) for dims in (data, output))
    return data, stored_in, output, chunk, draw(st.integers(1, 50))


class TestPasses:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(questions(), st.booleans())
    def test_every_pass_moves_every_element(
        self, tmp_path: Path, question: tuple[Dims, Dims, Dims, Dims, int], chosen: bool
    ) -> None:
        data, stored_in, output, chunk, budget = question
        if not chosen:
            chunk = default_chunk(data, stored_in, output, budget)
        array = np.arange(prod(data), dtype=np.int32).reshape(data)
        folder = tmp_path / "now"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        stored(str(folder / "x.zarr"), array, stored_in)
        source = open_store(str(folder / "x.zarr"))
        found = tuple(passes(data, stored_in, output, chunk, budget))
        final = folder / "y.zarr"
        work = stream.StoreWork(source.store, source.path, "y.zarr", final, data, source.store, found, source.seen)
        with beside(final, [], "y.zarr") as partial:
            stream.run(work, partial, serially, lambda _done, _total: None)

        assert (held(str(folder / "y.zarr")) == array.reshape(output)).all()
        assert opened(str(folder / "y.zarr")).chunks == chunk
        assert sorted(path.name for path in folder.iterdir()) == ["x.zarr", "y.zarr"]

    @settings(max_examples=200, deadline=None)
    @given(questions())
    def test_blocks_are_whole_chunks_within_the_budget(self, question: tuple[Dims, Dims, Dims, Dims, int]) -> None:
        for one in passes(*question):
            assert prod(one.block) <= max(question[-1], prod(one.chunk), prod(question[1]))
            for dim, block, chunk in zip(one.dims, one.block, one.chunk, strict=True):
                assert block == dim or block % chunk == 0

    def test_rows_take_one_pass(self) -> None:
        assert passes((1000, 100), (10, 100), (500, 200), (5, 200), 5000) == [Pass((500, 200), (5, 200), (25, 200))]

    def test_columns_take_two(self) -> None:
        found = passes((1000, 1000), (1000, 10), (10**6,), (10**4,), 10**5)
        assert [one.dims for one in found] == [(1000, 1000), (10**6,)]
        first, second = found
        often = decodings(first.dims, first.chunk, second.dims, second.block)
        assert often <= 2 * prod(len(sizes) for sizes in grid(first.dims, first.chunk))

    def test_tiles_that_are_asked_for_are_made_of_contiguous_chunks(self) -> None:
        found = passes((100, 101), (10, 101), (101, 100), (10, 10), 500)
        assert [one.dims for one in found[-2:]] == [(101, 100)] * 2
        assert found[-1].chunk == (10, 10)

    def test_coarser(self) -> None:
        assert coarser((10, 10), (3, 3), 10**6) == (10, 10)
        assert coarser((10, 10), (3, 3), 1) == (3, 3)


def serially(job: Any, blocks: list[int], done: Any) -> None:
    for block in blocks:
        job(block)
        done(block)
