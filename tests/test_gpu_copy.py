"""The GPU kernels' logic, on the CPU: Triton's interpreter runs them on random layouts, and NumPy is the oracle."""

from __future__ import annotations

import ctypes
import os
from math import prod
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from onereshape.arrays.gpu_plan import OUTER, launch_of
from onereshape.arrays.layout import LONG, CopyPlan, c_strides, copy_plan
from tests.copying import random_array
from tests.strategies import Array

os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are defined
from onereshape.arrays import triton_copy  # noqa: E402

del os.environ["TRITON_INTERPRET"]


def words_at(address: int, word: int) -> torch.Tensor:
    """A tensor that begins there, for its address alone."""
    return torch.frombuffer((ctypes.c_uint8 * word).from_address(address), dtype=triton_copy.WORD_TYPES[word])


def address_of(array: Array) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


def by_kernel(array: Array, **changed: int) -> tuple[str, Array] | None:
    """The kernel's name and its copy, with guards around that must stay; None where no kernel fits."""
    guarded = np.full(array.nbytes + 64, 0xA5, np.uint8)
    start = -address_of(guarded) % 16 + 16
    source, output = address_of(array), address_of(guarded) + start
    low = source | 16
    launch = launch_of(copy_plan(array.shape, array.strides, array.itemsize), low & -low)
    if launch is None:
        return None
    if changed:
        constants = tuple((name, changed.get(name, value)) for name, value in launch.constants)
        launch = type(launch)(launch.kernel, launch.word, constants, launch.integers, launch.warps, launch.programs)
    triton_copy.interpret(launch, words_at(source, launch.word), words_at(output, launch.word))
    assert set(guarded[:start]) | set(guarded[start + array.nbytes :]) == {0xA5}
    return launch.kernel, guarded[start : start + array.nbytes]


def aligned(dims: tuple[int, ...], itemsize: int) -> Array:
    raw = np.random.default_rng(7).integers(0, 256, prod(dims) * itemsize + 16, np.uint8)
    start = -address_of(raw) % 16
    return raw[start : start + prod(dims) * itemsize].view(f"u{itemsize}").reshape(dims)


CASES = [
    # dims, axes, and the kernel for items of 1, 2, 4 and 8 bytes
    ((64, 80), (1, 0), "pack pack tile tile"),
    ((33, 35), (1, 0), "tile tile tile tile"),
    ((2, 16, 4, 8), (0, 2, 3, 1), "pack pack tile tile"),
    ((2, 3, 16, 16), (0, 2, 3, 1), "interleave interleave interleave interleave"),
    ((2, 3, 7, 5), (0, 2, 3, 1), "interleave interleave interleave interleave"),
    ((2, 2, 8, 8), (0, 2, 3, 1), "interleave interleave interleave interleave"),
    ((2, 4, 8, 8), (0, 2, 3, 1), "interleave interleave interleave interleave"),
    ((2, 8, 8, 3), (0, 3, 1, 2), "deinterleave deinterleave deinterleave deinterleave"),
    ((2, 5, 7, 3), (0, 3, 1, 2), "deinterleave deinterleave deinterleave deinterleave"),
    ((2, 8, 8, 2), (0, 3, 1, 2), "deinterleave deinterleave deinterleave deinterleave"),
    ((2, 8, 8, 4), (0, 3, 1, 2), "deinterleave deinterleave deinterleave deinterleave"),
    ((2, 3, 5, 128), (0, 2, 1, 3), "blocks blocks blocks blocks"),
    ((2, 3, 2, 16, 3, 16), (0, 2, 4, 1, 3, 5), "tile tile tile blocks"),
    ((2, 3, 2, 2, 8, 8), (0, 1, 4, 2, 5, 3), "interleave interleave interleave interleave"),
    ((8, 4, 6, 5, 8), (4, 3, 2, 1, 0), "pack pack tile tile"),
    ((2, 2, 7, 3, 7, 1), (0, 1, 3, 2, 4, 5), "blocks blocks blocks blocks"),
]


@pytest.mark.parametrize(("dims", "axes", "kernels"), CASES)
@pytest.mark.parametrize("wide", [0, 1])
def test_every_kernel(dims: tuple[int, ...], axes: tuple[int, ...], kernels: str, wide: int) -> None:
    for itemsize, kernel in zip((1, 2, 4, 8), kernels.split(), strict=True):
        array = aligned(dims, itemsize).transpose(axes)
        found = by_kernel(array, WIDE=wide)
        assert found is not None
        assert found[0] == kernel
        assert found[1].tobytes() == array.tobytes()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_any_layout(seed: int) -> None:
    array = random_array(seed, 1 << 11)
    found = by_kernel(array)

    assert found is None or found[1].tobytes() == array.tobytes()


def contiguous_plan(dims: tuple[int, ...], axes: tuple[int, ...], itemsize: int) -> CopyPlan:
    strides = c_strides(dims, itemsize)
    return copy_plan(tuple(dims[axis] for axis in axes), tuple(strides[axis] for axis in axes), itemsize)


@pytest.mark.parametrize(
    ("axes", "classes"),
    [
        ((1, 0), [(4096, 8192), (1024, 512), (64, 6400)]),
        ((0, 2, 3, 1), [(8, 256, 56, 56), (3, 64, 128, 128)]),
        ((0, 2, 3, 1), [(8, 3, 256, 256), (1, 3, 32, 1024), (700, 3, 224, 224)]),
        ((0, 2, 1, 3), [(32, 32, 2048, 128), (1, 64, 100, 128), (2, 32, 7, 128)]),
    ],
)
def test_a_new_shape_of_a_class_compiles_nothing(axes: tuple[int, ...], classes: list[tuple[int, ...]]) -> None:
    launches = [launch_of(contiguous_plan(dims, axes, 4), 16) for dims in classes]
    keys = {(launch.kernel, launch.word, launch.constants, launch.warps) for launch in launches if launch is not None}

    assert len(keys) == 1


@pytest.mark.parametrize(("alignment", "word"), [(16, 4), (4, 4), (2, 2), (1, 1)])
def test_words_are_as_wide_as_alignment_allows(alignment: int, word: int) -> None:
    rows = launch_of(contiguous_plan((4, 6, 64), (1, 0, 2), 4), alignment)
    assert rows is not None

    assert rows.word == word


def test_offsets_past_int32_are_wide() -> None:
    def wide(dims: tuple[int, ...]) -> Any:
        launch = launch_of(contiguous_plan(dims, (1, 0), 1), 1)
        return None if launch is None else dict(launch.constants)["WIDE"]

    assert (wide((1000, 1001)), wide((65537, 33001))) == (0, 1)


def test_what_no_kernel_takes() -> None:
    many = (2, 3, 2, 3, 2, 3, 2, 3)
    assert launch_of(contiguous_plan(many, (6, 4, 2, 0, 7, 5, 3, 1), 4), 16) is None
    assert len(many) - 2 > OUTER
    assert launch_of(contiguous_plan((8, 8), (0, 1), 4), 16) is None  # one run: torch's own copy
    assert launch_of(contiguous_plan((3, 2**33), (1, 0), 1), 16) is None
    assert contiguous_plan((2, 3, LONG), (1, 0, 2), 1).kind == "rows"
