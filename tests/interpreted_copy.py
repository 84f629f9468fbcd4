"""The GPU kernels' logic, on the CPU: Triton's interpreter runs them, and NumPy is the oracle.

    TRITON_INTERPRET=1 python tests/interpreted_copy.py

Prints the kernels that it has run.
"""

from __future__ import annotations

import ctypes
from math import prod

import numpy as np
import torch
from hypothesis import given, settings, strategies as st

from onereshape.arrays import triton_copy
from onereshape.arrays.gpu_plan import launch_of
from onereshape.arrays.layout import copy_plan
from tests.copying import random_array
from tests.strategies import Array

SEEN: set[str] = set()


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
    ((2, 320, 272), (0, 2, 1), "pack pack tile tile"),  # several tiles along each dim, twice
    ((2, 521, 133), (0, 2, 1), "tile tile tile tile"),
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
    ((2, 2, 7, 3, 7, 1), (0, 1, 3, 2, 4, 5), "small small small small"),
]


def every_kernel() -> None:
    for dims, axes, kernels in CASES:
        for itemsize, kernel in zip((1, 2, 4, 8), kernels.split(), strict=True):
            array = aligned(dims, itemsize).transpose(axes)
            found = by_kernel(array, WIDE=itemsize % 2)
            assert found is not None
            assert found[0] == kernel, (dims, itemsize, found[0])
            assert found[1].tobytes() == array.tobytes(), (dims, itemsize)
            SEEN.add(kernel)


@settings(max_examples=40, deadline=None, database=None)
@given(st.integers(0, 2**32))
def any_layout(seed: int) -> None:
    array = random_array(seed, 1 << 11)
    found = by_kernel(array)
    assert found is None or found[1].tobytes() == array.tobytes(), seed


if __name__ == "__main__":
    every_kernel()
    any_layout()
    print(*sorted(SEEN), sep="\n")
