"""The GPU kernels without a GPU: the rule that launches them, and their logic under Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from onereshape.arrays.gpu_plan import launch_of
from onereshape.arrays.layout import LONG, CopyPlan, c_strides, copy_plan
from tests.copying import random_array

ROOT = Path(__file__).parent.parent


def test_the_kernels_copy_what_numpy_copies() -> None:
    """In a process of its own, since Triton decides when it is imported whether it interprets."""
    script = ROOT / "tests" / "interpreted_copy.py"
    run = subprocess.run(  # noqa: S603
        [sys.executable, str(script)],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 0, run.stdout + run.stderr

    assert run.stdout.split() == ["blocks", "deinterleave", "interleave", "pack", "small", "tile"]


def contiguous_plan(dims: tuple[int, ...], axes: tuple[int, ...], itemsize: int) -> CopyPlan:
    strides = c_strides(dims, itemsize)
    return copy_plan(tuple(dims[axis] for axis in axes), tuple(strides[axis] for axis in axes), itemsize)


@pytest.mark.parametrize(
    ("axes", "classes"),
    [
        ((1, 0), [(4096, 8192), (1024, 512), (64, 6400)]),
        ((0, 2, 3, 1), [(8, 256, 56, 56), (3, 64, 128, 128)]),
        ((0, 2, 3, 1), [(8, 3, 256, 256), (2, 3, 32, 1024), (700, 3, 224, 224)]),
        ((0, 2, 1, 3), [(32, 32, 2048, 128), (3, 64, 100, 128), (2, 32, 7, 128)]),
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


@pytest.mark.parametrize(("dims", "keep"), [((1024, 512), 0), ((1023, 513), 1)])
def test_lines_that_programs_share_are_kept_in_the_cache(dims: tuple[int, ...], keep: int) -> None:
    launch = launch_of(contiguous_plan(dims, (1, 0), 4), 16)
    assert launch is not None

    assert (launch.kernel, dict(launch.constants)["KEEP"]) == ("tile", keep)


def test_offsets_past_int32_are_wide() -> None:
    def wide(dims: tuple[int, ...]) -> Any:
        launch = launch_of(contiguous_plan(dims, (1, 0), 1), 1)
        return None if launch is None else dict(launch.constants)["WIDE"]

    assert (wide((1000, 1001)), wide((65537, 33001))) == (0, 1)


def test_what_no_kernel_takes() -> None:
    many = (2, 3, 2, 3, 2, 3, 2, 3, 2, 3)
    assert launch_of(contiguous_plan(many, (8, 6, 4, 2, 0, 9, 7, 5, 3, 1), 4), 16) is None
    assert launch_of(contiguous_plan((8, 8), (0, 1), 4), 16) is None  # one run: torch's own copy
    assert launch_of(contiguous_plan((3, 2**33), (1, 0), 1), 16) is None
    assert contiguous_plan((2, 3, LONG), (1, 0, 2), 1).kind == "rows"


def test_no_access_is_wider_than_its_address_allows() -> None:
    """Random layouts, in which an item of several elements may begin anywhere that an element may."""
    kernels = set()
    for seed in range(6000):
        random = Random(seed)  # noqa: S311 - a seed that fails must fail again
        itemsize = random.choice((1, 2, 4, 8, 16))
        view = random_array(seed, most=1 << 14, itemsize=itemsize, offset=0)
        plan = copy_plan(view.shape, view.strides, itemsize)
        alignment = random.choice([step for step in (1, 2, 4, 8, 16) if step >= min(itemsize, 16)])
        launch = launch_of(plan, alignment)
        if launch is None:
            continue
        kernels.add(launch.kernel)
        moved = [stride for size, stride in zip(plan.dims, plan.source, strict=True) if size > 1]
        assert all(length % launch.word == 0 for length in (alignment, *moved)), f"seed {seed}: {launch} {plan}"

    assert kernels == {"blocks", "deinterleave", "interleave", "pack", "small", "tile"}
