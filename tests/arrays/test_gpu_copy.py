"""The GPU kernel without a GPU: the rule that cuts a copy into boxes, and the kernel itself, its threads as fibers."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from collections.abc import Iterator
from math import prod
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from onereshape.arrays import cuda_copy
from onereshape.arrays.gpu_boxes import BY_RULE, OTHERS, Cutting, boxes_of, ways_of
from onereshape.arrays.gpu_plans import STEPS, Boxes
from onereshape.arrays.view_or_copy import CopyPlan, c_strides, copy_plan
from tests.arrays.copying import Array, random_array

EMULATOR = Path(__file__).with_name("gpu_emulator.cpp")
HEADER = "=49I4xq"
STEP = "=6I2q"
HELD = 0xA5


class Step(NamedTuple):
    """One dim of a walk, as the kernel reads it."""

    size: int
    multiplier: int
    shift: int
    step: int
    last: int
    unused: int
    x: int
    y: int


Walk = list[tuple[int, int, int]]
BEFORE, AFTER = 1, 2


class Read(NamedTuple):
    """What the kernel is told: numbers of its Plan, and where its four walks lead."""

    numbers: tuple[int, ...]
    steps: list[Step]

    def walk(self, number: int) -> Walk:
        """The sums of x and of y at each index, the innermost dim first, and whether there is more along runs."""
        ends = (0, *self.numbers[:4])
        found: Walk = [(0, 0, 0)]
        for index in range(ends[number], ends[number + 1]):
            step = self.steps[index]
            places = [min(at * step.step, step.last) for at in range(step.size)]
            along = index in self.numbers[28:30]
            more = [along * (BEFORE * (at > 0) | AFTER * (at < step.last)) for at in places]
            found = [
                (x + at * step.x, y + at * step.y, so_far | opened)
                for at, opened in zip(places, more, strict=True)
                for x, y, so_far in found
            ]
        return found


def read(boxes: Boxes) -> Read:
    numbers = struct.unpack_from(HEADER, boxes.parameters)
    size, first = struct.calcsize(STEP), struct.calcsize(HEADER)
    assert len(boxes.parameters) == first + STEPS * size
    steps = [Step(*struct.unpack_from(STEP, boxes.parameters, first + size * at)) for at in range(numbers[3])]
    return Read(numbers, steps)


def permuted(dims: tuple[int, ...], axes: tuple[int, ...], itemsize: int) -> CopyPlan:
    strides = c_strides(dims, itemsize)
    return copy_plan(tuple(dims[axis] for axis in axes), tuple(strides[axis] for axis in axes), itemsize)


def squares(seed: int) -> Array:
    """Units of 1 or 2 bytes whose last axes are exchanged, with runs of every length: what squares are for."""
    random = Random(seed)  # noqa: S311
    dims = random.choice((2, 3)), random.choice((31, 32, 45, 64, 96, 129, 300)), random.choice((4, 7, 16, 31, 33, 64))
    raw = np.random.default_rng(seed).integers(0, 256, 2 * prod(dims) + 6, np.uint8).view(random.choice("BH"))
    first = random.choice((0, 1, 3))
    return raw[first : first + prod(dims)].reshape(dims).transpose(0, 2, 1)


def crossed(seed: int) -> Array:
    """Rows of the source across several inner axes of any length: what is cut along all of them as one."""
    random = Random(seed)  # noqa: S311
    dims = [
        random.choice(sizes) for sizes in ((1, 2, 3), (2, 3, 5, 13), (4, 7, 17, 31), (3, 5, 9, 31), (4, 7, 33, 100))
    ]
    raw = np.random.default_rng(seed).integers(0, 256, 8 * prod(dims) + 32, np.uint8).view(random.choice("BBHIQ"))
    first = random.choice((0, 1, 3))
    axes = random.choice(((0, 4, 1, 2, 3), (4, 0, 3, 1, 2), (0, 1, 4, 3, 2), (4, 3, 2, 1, 0)))
    return raw[first : first + prod(dims)].reshape(dims).transpose(axes)


def plans() -> Iterator[tuple[int, CopyPlan, int, int]]:
    """Random layouts, with an alignment of the source and the bytes of a box."""
    for seed in range(300):
        random = Random(seed)  # noqa: S311 - a seed that fails must fail again
        itemsize = random.choice((1, 2, 4, 8, 16))
        view = random_array(seed, most=1 << 13, itemsize=itemsize, offset=0) if seed % 5 else squares(seed)
        itemsize = view.itemsize
        alignment = random.choice([step for step in (1, 2, 4, 8, 16) if step >= min(itemsize, 16)])
        yield seed, copy_plan(view.shape, view.strides, itemsize), alignment, random.choice((4096, 16384, 32768))


def test_boxes_cover_every_unit_and_move_it_to_its_place() -> None:
    """What a unit of a run in a box holds is where the source has it, wherever boxes overlap."""
    cut = 0
    for seed, plan, alignment, room in plans():
        boxes = boxes_of(plan, alignment, Cutting(room, 0, True if seed % 5 == 0 else None, seed % 2 == 1))
        if boxes is None:
            assert plan.dims == (1,) or seed % 5 == 0, seed
            continue
        told = read(boxes)
        numbers = told.numbers
        unit, low, stage = boxes.unit, numbers[49], numbers[21]
        wanted = _places(plan, unit)
        written = np.zeros(plan.nbytes // unit, bool)
        # Where a byte of a box lies in shared memory, by its distance from the box's lowest byte.
        held = {x + at: y + at for x, y, _ in told.walk(1) for at in range(numbers[8])}
        beyond = 2 * (boxes.grain - 1)  # where the first read begins, and what the last reads on
        assert max(held.values()) + beyond < stage <= boxes.shared, f"seed {seed}"
        assert len(set(held.values())) == len(held), f"seed {seed}: two bytes in one place"
        lies = {place: at for at, place in held.items()}
        # Where runs are woven, those of the side follow each other.
        beside = range(numbers[32]) if numbers[44] else range(1)
        inside = [
            (
                x,
                more,
                [lies[numbers[22] + y + at * unit + numbers[23] + z] for at in beside for _, z, _ in told.walk(3)],
            )
            for x, y, more in told.walk(2)
        ]
        starts = told.walk(0)
        assert len(starts) == boxes.boxes == numbers[4]
        for x, y, around in starts:
            for into, more, places in inside:
                first, end = _written(numbers, y + into, around | more)
                for at in range(first, end, unit):
                    assert wanted[at // unit] == x + low + places[(at - y - into) // unit], f"seed {seed}: {plan}"
                written[first // unit : end // unit] = True
        assert written.all(), f"seed {seed}: {plan}"
        cut += 1

    assert cut > 150


def _written(numbers: tuple[int, ...], begin: int, more: int) -> tuple[int, int]:
    """What is written of a run that begins there: whole sectors or words, where others go on."""
    end, trim = begin + numbers[12], numbers[27] + 1
    return (-(-begin // trim) * trim if more & BEFORE else begin), (end // trim * trim if more & AFTER else end)


def _places(plan: CopyPlan, unit: int) -> list[int]:
    """Where the source has each unit of the destination, in order."""
    found = np.zeros(1, np.int64)
    for size, stride in [*zip(plan.dims, plan.source, strict=True), (plan.item // unit, unit)]:
        found = np.add.outer(found, np.arange(size) * stride).ravel()
    return [int(at) for at in found]


def test_division_by_multiplication_is_exact() -> None:
    for seed, plan, alignment, room in plans():
        boxes = boxes_of(plan, alignment, Cutting(room))
        for step in [] if boxes is None else read(boxes).steps:
            for number in (0, 1, step.size - 1, step.size, 7 * step.size - 1, 2**31 - 1, 2**31 - step.size):
                assert number * step.multiplier >> step.shift == number // step.size, seed
                assert step.multiplier < 1 << 32


@pytest.mark.parametrize(("alignment", "unit"), [(16, 16), (8, 8), (4, 4), (2, 2), (1, 1)])
def test_units_are_as_wide_as_alignment_allows(alignment: int, unit: int) -> None:
    boxes = boxes_of(permuted((4, 6, 64), (1, 0, 2), 4), alignment)
    assert boxes is not None

    assert boxes.unit == unit


@pytest.mark.parametrize(
    ("dims", "itemsize", "squares"),
    [
        ((1024, 512), 1, True),
        ((1023, 511), 1, True),
        ((1024, 3), 1, False),
        ((1024, 512), 2, True),
        ((1024, 512), 4, False),
    ],
)
def test_squares_are_for_units_of_less_than_a_word(dims: tuple[int, ...], itemsize: int, squares: bool) -> None:
    boxes = boxes_of(permuted(dims, (1, 0), itemsize), 16)
    assert boxes is not None

    assert boxes.squares is squares


@pytest.mark.parametrize(
    ("dims", "itemsize", "trim"), [((1024, 511), 1, 0), ((1023, 512), 1, 16), ((1023, 511), 4, 32)]
)
def test_runs_that_begin_anywhere_are_written_in_whole_sectors_or_halves(
    dims: tuple[int, ...], itemsize: int, trim: int
) -> None:
    boxes = boxes_of(permuted(dims, (1, 0), itemsize), 32)
    assert boxes is not None

    assert read(boxes).numbers[27] == max(0, trim - 1)


def test_reads_of_long_rows_begin_with_a_sector() -> None:
    boxes = boxes_of(permuted((512, 511), (1, 0), 4), 32)
    assert boxes is not None

    assert read(boxes).numbers[26] == 31


@pytest.mark.parametrize(("step", "line"), [(1, 1), (2, 0)])
def test_whole_lines_are_asked_for_where_the_source_has_no_gaps(step: int, line: int) -> None:
    boxes = boxes_of(copy_plan((64, 512, 128), (512 * step, 32768 * step, 4), 4), 32)
    assert boxes is not None

    assert read(boxes).numbers[31] == line


def test_more_threads_are_for_large_boxes() -> None:
    found = {
        (dims, itemsize): boxes.threads
        for dims in ((4096, 4096), (64, 64))
        for itemsize in (1, 4)
        if (boxes := boxes_of(permuted(dims, (1, 0), itemsize), 32)) is not None
    }

    assert found == {((4096, 4096), 1): 512, ((4096, 4096), 4): 512, ((64, 64), 1): 256, ((64, 64), 4): 256}


def test_shapes_are_numbers_of_one_kernel() -> None:
    """There are at most fifteen kernels, whatever the shapes: a unit and the bytes of a read."""
    kernels = {
        (boxes.unit, boxes.grain)
        for _, plan, alignment, room in plans()
        if (boxes := boxes_of(plan, alignment, Cutting(room)))
    }

    assert kernels <= {(unit, grain) for unit in (1, 2, 4, 8, 16) for grain in (4, 8, 16)}


def test_what_no_box_takes() -> None:
    assert boxes_of(permuted((8, 8), (0, 1), 4), 16) is None  # one run: the library's own copy
    assert boxes_of(permuted((3, 2**33), (1, 0), 1), 16) is None


def test_offsets_past_int32_are_wide() -> None:
    plan = permuted((65537, 33101), (1, 0), 1)
    boxes = boxes_of(plan, 1)
    assert boxes is not None
    told = read(boxes)
    rows = told.steps[: told.numbers[0]]

    assert sum(step.last * step.y for step in rows) > 2**31
    assert sum(step.last * step.y for step in rows) < plan.nbytes


def test_the_ways_to_cut_boxes_differ() -> None:
    found = 0
    for _, plan, alignment, _ in plans():
        ways = ways_of(plan, alignment)
        assert ways[:1] == [boxes for boxes in [boxes_of(plan, alignment)] if boxes is not None]
        assert len(set(ways)) == len(ways) <= len((BY_RULE, *OTHERS))
        found += len(ways) > 2

    assert found > 20


def test_reads_begin_with_a_line_where_lines_count() -> None:
    plan = permuted((512, 511), (1, 0), 4)
    begins = {
        lined: read(boxes).numbers[26]
        for lined in (False, True)
        if (boxes := boxes_of(plan, 32, Cutting(squares=False, lined=lined)))
    }

    assert begins == {False: 31, True: 127}


@pytest.mark.parametrize(
    ("inner", "woven"), [(31, True), (63, True), (64, False), (128, True), (129, True), (255, True), (256, False)]
)
def test_short_runs_that_cut_words_are_woven(inner: int, woven: bool) -> None:
    """Such runs of single bytes follow each other in the destination."""
    boxes = boxes_of(permuted((inner, 65536), (1, 0), 1), 32)
    assert boxes is not None

    assert bool(read(boxes).numbers[44]) is woven


def kernels_of(folder: Path, widths: set[tuple[int, int, bool]]) -> dict[tuple[int, int, bool], Any]:
    """The kernel for each unit and each width of a read, compiled for this machine, side by side."""
    compiler = shutil.which("c++") or shutil.which("g++")
    assert compiler is not None, "a C++ compiler is needed"
    runs = []
    for unit, grain, square in sorted(widths):
        path = folder / f"kernel_{unit}_{grain}_{square}.so"
        source, entry = cuda_copy.kernel_of(square)
        words = [f"-DUNIT={unit}", f"-DGRAIN={grain}", f'-DKERNEL="{source}"', f"-DENTRY={entry}"]
        words += ["-o", str(path), str(EMULATOR)]
        command = [compiler, "-std=c++17", "-O1", "-w", "-fpermissive", "-shared", "-fPIC", *words]
        runs.append(((unit, grain, square), path, subprocess.Popen(command)))  # noqa: S603
    assert [run.wait() for _, _, run in runs] == [0] * len(runs)
    return {key: ctypes.CDLL(str(path)).emulate for key, path, _ in runs}


def test_the_kernel_copies_what_numpy_copies(tmp_path: Path) -> None:
    """Into memory between guards, which held other bytes; no shared memory is touched beyond what was asked for."""
    drawn: list[tuple[Array, Boxes]] = []
    for seed in range(120):
        random = Random(seed)  # noqa: S311
        itemsize = random.choice((1, 1, 1, 2, 2, 2, 4, 8, 16, None))
        made = (squares, crossed, lambda seed: random_array(seed, random.choice((1 << 11, 1 << 15)), itemsize))  # noqa: B023
        data = made[seed % 4 % 3](seed)
        plan = copy_plan(data.shape, data.strides, data.itemsize)
        low = data.__array_interface__["data"][0] | 32
        sizes = random.choice((2048, 4096, 16384)), random.choice((32, 64, 128))
        way = Cutting(*sizes, True if seed % 4 % 3 == 0 else None, lined=seed % 5 > 2, flat=seed % 4 == 1)
        boxes = boxes_of(plan, low & -low, way)
        if boxes is not None:
            drawn.append((data, boxes))
    told = [read(boxes).numbers for _, boxes in drawn]
    assert sum(boxes.squares for _, boxes in drawn) >= 15
    assert sum(numbers[44] > 0 for numbers in told) >= 5
    assert sum(numbers[47] > 0 for numbers in told) >= 10
    kernels = kernels_of(tmp_path, {(boxes.unit, boxes.grain, boxes.squares) for _, boxes in drawn})
    for data, boxes in drawn:
        guarded = np.full(data.nbytes + 64, HELD, np.uint8)
        address = guarded.__array_interface__["data"][0]
        first = -address % 16 + 16
        copied = guarded[first : first + data.nbytes]
        copied[:] = ~np.frombuffer(data.tobytes(), np.uint8)
        places = ctypes.c_void_p(data.__array_interface__["data"][0]), ctypes.c_void_p(address + first)
        beyond = kernels[boxes.unit, boxes.grain, boxes.squares](
            *places, boxes.parameters, boxes.boxes, boxes.threads, boxes.shared
        )  # fmt: skip

        assert beyond == 0
        assert copied.tobytes() == data.tobytes(), (data.shape, data.strides, data.itemsize)
        assert {*guarded[:first], *guarded[first + data.nbytes :]} == {HELD}
