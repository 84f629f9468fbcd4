"""The law of the copies: every kind of plan, item, extent, number of threads and cut is NumPy's copy, byte for byte.

The output's memory holds the complement of what must come to lie there, so that a byte that was not written cannot be
right by chance, between guards that must stay as they are.  What NumPy's own allocation would hide is filled twice.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch

import onereshape as orx
from onereshape.arrays import _copy, cpu_copy
from tests.arrays.copying import Array
from tests.budget import WHOLE, part
from tests.laws.copies_world import ITEMS, THREADS, Recipe, kernels_plan, plan_of, random_cut, random_recipe, world

BYTES: Array = np.random.default_rng(11).integers(0, 256, 1 << 20, np.uint8)
BYTES.flags.writeable = False
GUARD = 64
LEVELS = range(_copy.levels())
NEVER = 1 << 62


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    """Every level of kernels that this processor has."""
    _copy.use_level(request.param)
    yield request.param
    _copy.use_level(LEVELS[-1])


def lined(nbytes: int) -> Array:
    """Memory that begins on a line."""
    raw = np.empty(nbytes + 64, np.uint8)
    start = -_copy.beyond_line(raw) % 64
    return raw[start : start + nbytes]


def wrong(view: Array, cuts: list[tuple[int, int]], shift: int = 0, stream_from: int = NEVER) -> list[tuple[int, int]]:
    """The threads and bytes per thread with which the copy is not NumPy's, or touches what is not its own."""
    plan = kernels_plan(_copy, view)
    expected = np.frombuffer(view.tobytes(), np.uint8)
    inside = slice(GUARD + shift, GUARD + shift + expected.size)
    wanted = np.full(expected.size + 2 * GUARD + shift, 0xA5, np.uint8)
    poisoned = wanted.copy()
    wanted[inside], poisoned[inside] = expected, ~expected
    found = []
    memory = lined(wanted.size)
    for threads, bytes_per_thread in cuts:
        memory[:] = poisoned
        output = memory[inside].view(view.dtype).reshape(view.shape)
        _copy.copy_array(plan, output, view, threads, bytes_per_thread, stream_from)
        if not np.array_equal(memory, wanted):
            found.append((threads, bytes_per_thread))
    return found


def seen(recipe: Recipe) -> Array:
    return recipe.seen(BYTES[: recipe.nbytes])


def asked(item: int, level: int) -> Iterator[Recipe]:
    """Half of the world for the kernels that this processor takes, and less of it for those that it does not."""
    return part(world(item), 2 if level == LEVELS[-1] else 8)


def numbers_of_threads(place: int) -> Iterable[int]:
    """One thread and two other numbers of them, in turn; or all of them."""
    more = THREADS[1:]
    return THREADS if WHOLE else (THREADS[0], more[place % len(more)], more[(place + 3) % len(more)])


@pytest.mark.parametrize("item", ITEMS)
def test_the_whole_world_by_any_number_of_threads(item: int, level: int) -> None:
    bad = {
        recipe.name: found
        for place, recipe in enumerate(asked(item, level))
        if (found := wrong(seen(recipe), [(threads, 1) for threads in numbers_of_threads(place)]))
    }

    assert not bad


@pytest.mark.parametrize("item", ITEMS)
def test_the_whole_world_past_the_cache(item: int, level: int) -> None:
    """Lines that are whole and on lines, which most outputs of the world are not, and such that begin elsewhere."""
    bad = [
        recipe.name
        for place, recipe in enumerate(asked(item, level))
        for shift in ((0, 1) if WHOLE else (place % 2,))
        if wrong(seen(recipe), [(1, 1), (3, 64)], shift=shift, stream_from=1)
    ]

    assert not bad


WHOLE_LINES = [
    ((64, 128), (1, 0)),
    ((3, 64, 192), (0, 2, 1)),
    ((64, 3, 128), (2, 1, 0)),
    ((128, 64, 3), (2, 1, 0)),
    ((3, 128, 64), (1, 2, 0)),
    ((4, 64, 16, 8), (0, 2, 1, 3)),
    ((64, 8, 5), (0, 2, 1)),
    ((2, 64, 5, 64), (0, 2, 1, 3)),
    ((16, 5, 128, 2), (3, 1, 2, 0)),
]


@pytest.mark.parametrize("item", [1, 2, 3, 4, 8, 12, 16])
@pytest.mark.parametrize(("dims", "axes"), WHOLE_LINES)
@pytest.mark.usefixtures("level")
def test_whole_lines_past_the_cache(dims: tuple[int, ...], axes: tuple[int, ...], item: int) -> None:
    recipe = Recipe("whole lines", item, dims, lambda base: base.transpose(axes))
    cuts = [(threads, bytes_per_thread) for threads in (1, 2, 3, 7) for bytes_per_thread in (1, 4096)]

    assert not wrong(seen(recipe), cuts, stream_from=1)


@pytest.mark.parametrize("item", [1, 2, 4, 8])
@pytest.mark.parametrize("length", [255, 257, 511, 513, 1023, 1025, 1600])
@pytest.mark.usefixtures("level")
def test_rows_about_as_long_as_the_longest_run(length: int, item: int) -> None:
    recipe = Recipe("runs", item, (64, length), lambda base: base.transpose(1, 0))
    cuts = [(1, 1), (3, 4096)]

    assert not wrong(seen(recipe), cuts, stream_from=1)
    assert not wrong(seen(recipe), cuts)


LARGE = [
    ("u1", (13, 300, 1100), (2, 1, 0)),
    ("u2", (65_537, 4, 5), (0, 2, 1)),
    ("f4", (3, 512, 1031), (1, 2, 0)),
    ("f4", (700, 1001, 3), (2, 0, 1)),
    ("f8", (5, 7, 64, 131), (3, 1, 0, 2)),
    ("c16", (9, 40, 16, 33), (0, 2, 1, 3)),
    ("c16", (523, 517), (1, 0)),
    ("u2", (3, 14, 16, 200, 16), (0, 1, 3, 2, 4)),
]
"""More bytes than the threads begin at, short and odd dims."""


@lru_cache(maxsize=1)
def large(dtype: str, dims: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Array, Array]:
    """A view of random numbers, and NumPy's copy of it."""
    view = np.random.default_rng(5).integers(1, 250, dims, np.uint8).astype(dtype).transpose(axes)
    return view, np.ascontiguousarray(view)


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
@pytest.mark.parametrize(("dtype", "dims", "axes"), LARGE)
@pytest.mark.usefixtures("level", "poison")
def test_threads_by_themselves(
    dtype: str, dims: tuple[int, ...], axes: tuple[int, ...], threads: str, monkeypatch: Any
) -> None:
    monkeypatch.setenv("ONERESHAPE_NUM_THREADS", threads)
    monkeypatch.setattr(cpu_copy, "STREAM_FROM", 1 << 20)
    cpu_copy.kernel_plan.cache_clear()
    x, expected = large(dtype, dims, axes)
    assert x.nbytes >= 2 * cpu_copy.BYTES_PER_THREAD

    assert cpu_copy.copied(x, x.shape).tobytes() == expected.tobytes()


def chain(pieces: list[tuple[int, int]], length: int) -> bool:
    """Whether each piece begins where the one before ended, from 0 to the length, and none is empty."""
    ends = [end for _, end in pieces]
    return [begin for begin, _ in pieces] == [0, *ends[:-1]] and ends[-1] == length and all(a < b for a, b in pieces)


def cut_wrongly(view: Array, cuts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The threads and bytes per thread whose parts are too many, or are not the whole with each piece of it once."""
    made = kernels_plan(_copy, view)
    (walk, na, nb), found = made.extents, []
    for threads, bytes_per_thread in cuts:
        parts = made.parts(threads, bytes_per_thread)
        walks, items, length = [part[:2] for part in parts], [part[2:4] for part in parts], na if parts[0][4] else nb
        by_walk = chain(walks, walk) and set(items) == {(0, length)}
        by_items = chain(items, length) and set(walks) == {(0, walk)}
        few = (
            len(parts) <= max(1, min(threads, view.nbytes // bytes_per_thread))
            and len({part[4] for part in parts}) == 1
        )
        if not (few and (by_walk or by_items)):
            found.append((threads, bytes_per_thread))
    return found


@pytest.mark.parametrize("item", ITEMS)
def test_the_parts_are_the_whole_and_nothing_twice(item: int, level: int) -> None:
    cuts = [*((threads, 1) for threads in THREADS), (64, 1), (1000, 3), (5, 100)]
    bad = {recipe.name: found for recipe in asked(item, level) if (found := cut_wrongly(seen(recipe), cuts))}

    assert not bad


@pytest.mark.parametrize("seeds", [range(start, start + 2500) for start in range(0, 10_000, 2500)], ids=str)
@pytest.mark.usefixtures("level")
def test_random_copies_by_any_cut(seeds: range) -> None:
    bad = []
    for seed in part(seeds, 4):
        recipe = random_recipe(seed)
        view = seen(recipe)
        if wrong(view, [random_cut(seed, view.nbytes)], shift=seed % 3, stream_from=1 if seed % 2 else NEVER):
            bad.append(recipe.name)

    assert not bad


@pytest.mark.parametrize("item", [1, 2, 4, 8])
def test_the_world_has_every_kind(item: int) -> None:
    kinds = {plan_of(seen(recipe)).kind for recipe in world(item)}

    assert kinds == {"rows", "transpose", "interleave", "deinterleave", "blocks"}


@pytest.mark.parametrize("item", [1, 2, 4, 8])
def test_the_world_has_every_kernel(item: int, level: int) -> None:
    kernels = {kernels_plan(_copy, seen(recipe)).kernel for recipe in world(item)}
    woven = level > 0 or platform.machine() == "aarch64"

    assert kernels == {"items", "tiles"} | ({"weave"} if woven else set()) | ({"planes"} if level == 0 else set())


def test_a_level_that_is_not_there_is_refused() -> None:
    for none in (-1, _copy.levels()):
        with pytest.raises(ValueError, match="no such level"):
            _copy.use_level(none)


def filled(fill: int, empty: Any) -> Any:
    """An `empty` whose memory holds that byte everywhere."""

    def poisoned(*words: Any, **named: Any) -> Any:
        memory = empty(*words, **named)
        (memory if isinstance(memory, np.ndarray) else memory.numpy()).view(np.uint8).fill(fill)
        return memory

    return poisoned


@pytest.fixture(params=[0x00, 0xFF], ids=hex)
def poison(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What memory holds before it is written: of two fillings, no byte is right by chance in both."""
    monkeypatch.setattr(np, "empty", filled(request.param, np.empty))
    monkeypatch.setattr(torch, "empty", filled(request.param, torch.empty))


NARROW = [
    ("f4", (6, 256, 512)),
    ("f4", (4, 256, 512)),
    ("u1", (16, 256, 512)),
    ("u1", (24, 256, 512)),
    ("u2", (8, 256, 512)),
    ("u1", (40, 512, 512)),
    ("u2", (20, 512, 512)),
    ("f4", (32, 256, 256)),
    ("f8", (10, 256, 512)),
]
"""A few rows, cut between threads, that go on into the next axis: once most of the output was left as it was."""


@pytest.mark.parametrize("threads", ["2", "8"])
@pytest.mark.parametrize(("dtype", "dims"), NARROW)
@pytest.mark.usefixtures("poison")
def test_narrow_rows_that_go_on(dtype: str, dims: tuple[int, ...], threads: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("ONERESHAPE_NUM_THREADS", threads)
    x, expected = large(dtype, dims, (2, 1, 0))

    assert np.array_equal(orx.reshape(x, [-1], "onnx"), expected.reshape(-1))
    by_torch = orx.reshape(torch.from_numpy(x), [-1], "onnx")
    assert np.array_equal(by_torch.numpy(), expected.reshape(-1))


@pytest.mark.parametrize("threads", ["1", "2", "8"])
@pytest.mark.usefixtures("poison")
def test_the_door_for_arrays_and_the_door_for_addresses(threads: str, monkeypatch: Any) -> None:
    """Both choose the threads from the environment, and the cut that they are told."""
    monkeypatch.setenv("ONERESHAPE_NUM_THREADS", threads)
    for seed in range(150):
        view = seen(random_recipe(seed))
        expected = view.tobytes()
        _, bytes_per_thread = random_cut(seed, view.nbytes)
        assert cpu_copy.copied(view, view.shape, bytes_per_thread=bytes_per_thread).tobytes() == expected, seed
        output = np.empty(view.nbytes, np.uint8)
        ends = view.ctypes.data, output.ctypes.data
        cpu_copy.copied_between(view.shape, view.strides, view.itemsize, *ends, bytes_per_thread=bytes_per_thread)
        assert output.tobytes() == expected, seed
