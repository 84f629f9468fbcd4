"""The C++ kernels: NumPy's copy, byte for byte, on every layout, item size and number of threads, and after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.arrays import _copy, cpu_copy
from onereshape.arrays.threads import threads
from onereshape.arrays.view_or_copy import copy_plan
from tests.arrays.copying import random_array
from tests.strategies import Array, layouts


def right(array: Array) -> bool:
    result = cpu_copy.copied(array, array.shape)
    return (
        (result.shape, result.dtype) == (array.shape, array.dtype)
        and result.flags.c_contiguous
        and result.tobytes() == array.tobytes()
    )


@settings(max_examples=400)
@given(st.integers(0, 2**32))
def test_numpys_copy(seed: int) -> None:
    assert right(random_array(seed))


@given(layouts().filter(lambda array: array.size > 0))
def test_numpys_copy_of_small_arrays(array: Array) -> None:
    assert right(array)


@pytest.mark.parametrize("kind", ["rows", "transpose", "interleave", "deinterleave", "blocks"])
def test_random_arrays_meet_every_kind(kind: str) -> None:
    arrays = (random_array(seed) for seed in range(400))

    assert any(copy_plan(x.shape, x.strides, x.itemsize).kind == kind for x in arrays)


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        ((1030, 1100), (1, 0)),
        ((1024, 1024), (1, 0)),
        ((64, 64, 130), (0, 2, 1)),
        ((2, 65, 40, 40), (0, 2, 3, 1)),
        ((16, 8, 10, 12, 32), (4, 3, 2, 1, 0)),
        ((64, 8, 9, 32, 32), (4, 3, 2, 1, 0)),
        ((3, 224, 225), (1, 2, 0)),
        ((224, 225, 4), (2, 0, 1)),
        ((2, 3, 14, 16, 14, 16), (0, 2, 4, 1, 3, 5)),
        ((5, 7, 8, 7, 8, 96), (0, 1, 3, 2, 4, 5)),
    ],
)
def test_large_copies(itemsize: int, dims: tuple[int, ...], axes: tuple[int, ...], monkeypatch: Any) -> None:
    raw = np.random.default_rng(itemsize).integers(0, 256, (*dims, itemsize), np.uint8)
    array = raw.view(f"V{itemsize}").reshape(dims).transpose(axes)
    for number in ("1", "3"):
        monkeypatch.setenv("ONERESHAPE_NUM_THREADS", number)
        assert right(array)


def test_reshape_copies_by_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, ...]] = []
    kernel = cpu_copy.copied

    def watched(array: Array, output: tuple[int, ...]) -> Array:
        seen.append(output)
        return kernel(array, output)

    monkeypatch.setattr(cpu_copy, "copied", watched)
    x = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    op = orx.Reshape("onnx").bind([-1])
    for _ in range(3):  # the first call plans, the others remember
        assert np.array_equal(op(x.T), x.T.reshape(-1))
    assert np.shares_memory(op(x), x)
    assert not np.shares_memory(orx.reshape(x.T, [-1], "onnx", copy=True), x)
    assert not np.shares_memory(orx.reshape(x, [-1], "onnx", copy=True), x)  # which NumPy does as well

    assert seen == [(65536,)] * 4


@pytest.mark.parametrize("dtype", [object, np.dtypes.StringDType(), "U2", "S3", [("a", "i4"), ("b", "i8")], "M8[s]"])
def test_what_is_not_plain_numbers_stays_with_numpy(dtype: Any) -> None:
    x = np.zeros((1024, 1024), dtype).T
    assert x.nbytes >= 2 * cpu_copy.BYTES_PER_THREAD
    assert not cpu_copy.takes(x)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ">f4", bool, "c16"])
def test_every_number_is_copied(dtype: Any) -> None:
    x = np.arange(512 * 512).reshape(512, 512).astype(dtype)
    assert cpu_copy.takes(x.T)
    result = orx.reshape(x.T, [-1], "onnx")

    assert (result.dtype, result.tobytes()) == (x.dtype, x.T.tobytes())


def test_subclasses_stay_with_numpy() -> None:
    masked = np.ma.masked_array(np.zeros((600, 600)), mask=np.eye(600, dtype=bool))

    assert cpu_copy.takes(np.zeros((800, 800)).T)
    assert not cpu_copy.takes(masked.T)
    assert orx.reshape(masked.T, [-1], "onnx").mask.sum() == 600  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("dtype", "dims", "axes", "gains"),
    [
        ("u1", (64, 1000), (1, 0), True),
        ("f4", (3, 100, 100), (1, 2, 0), True),
        ("u2", (1300, 8, 5), (0, 2, 1), True),
        ("f4", (8, 2, 8, 2, 8, 32), (0, 1, 3, 2, 4, 5), False),
        ("f8", (2, 8, 28, 64), (0, 2, 1, 3), False),
        ("f4", (4, 300, 2000), (1, 0, 2), True),
        ("u1", (40, 60), (1, 0), False),
    ],
)
def test_what_gains_nothing_is_left_to_numpy(
    dtype: str, dims: tuple[int, ...], axes: tuple[int, ...], gains: bool
) -> None:
    """Rows that NumPy moves at once too, unless threads share them, and what is over before a kernel is called."""
    assert cpu_copy.takes(np.zeros(dims, dtype).transpose(axes)) == gains


def test_long_rows_are_written_past_the_cache_or_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, many, short, few = (
        np.zeros(dims, "f4").transpose(1, 0, 2)
        for dims in ((4, 300, 1000), (4, 600, 1000), (4, 2700, 100), (4, 2000, 100))
    )
    for number in ("1", "2"):
        monkeypatch.setenv("ONERESHAPE_NUM_THREADS", number)
        assert not cpu_copy.takes(rows)
        assert cpu_copy.takes(many)
        assert cpu_copy.takes(short) is (number == "2")  # two threads share them
        assert not cpu_copy.takes(few)  # as they would these, for nothing


@pytest.mark.parametrize(
    ("dtype", "dims"), [("f4", (5, 1600, 5)), ("f4", (2, 4000, 5)), ("f8", (8, 1000, 8)), ("u2", (7, 2000, 9))]
)
def test_what_is_short_at_both_ends_gains_with_every_level(dtype: str, dims: tuple[int, ...]) -> None:
    x = np.zeros(dims, dtype).transpose(2, 1, 0)
    try:
        for level in range(_copy.levels()):
            _copy.use_level(level)
            plan = cpu_copy.kernel_plan.__wrapped__(x.shape, x.strides, x.itemsize)
            assert plan.cost * x.itemsize < 3.0, (level, plan.kernel)
    finally:
        _copy.use_level(_copy.levels() - 1)


def test_few_rows_are_read_at_a_time() -> None:
    """Five rows of one matrix after the other, not fifty of ten matrices."""
    x = np.zeros((10, 5, 110428)).transpose(0, 2, 1)
    try:
        for level in range(_copy.levels()):
            _copy.use_level(level)
            plan = cpu_copy.kernel_plan.__wrapped__(x.shape, x.strides, x.itemsize)
            assert plan.extents[0] == 10, (level, plan.kernel)
    finally:
        _copy.use_level(_copy.levels() - 1)


@pytest.mark.parametrize(("dims", "alone"), [((40_000, 3), True), ((2000, 2, 3), False), ((1000, 3, 4, 2), False)])
@pytest.mark.parametrize("item", [1, 4])
def test_few_planes_are_woven_by_themselves_where_they_are_long(dims: tuple[int, ...], alone: bool, item: int) -> None:
    """A rectangle of six items is over before its kernel has begun: such short ones are made one by others."""
    x = np.zeros((*dims[:-2], dims[-1], dims[-2]), f"i{item}").swapaxes(-1, -2)
    try:
        _copy.use_level(0)
        plan = cpu_copy.kernel_plan.__wrapped__(x.shape, x.strides, x.itemsize)
    finally:
        _copy.use_level(_copy.levels() - 1)

    assert (plan.kernel == "planes") == alone, (plan.kernel, plan.extents)


def test_large_outputs_begin_on_a_line() -> None:
    for _ in range(5):
        assert _copy.beyond_line(cpu_copy.copied(np.zeros((512, 512)).T, (-1 + 2, 512 * 512))) == 0


@pytest.mark.parametrize(
    "change", [{"item": 0}, {"dims": (0, 4)}, {"dims": (4,)}, {"destination": (4, 8)}, {"source_axis": 2}]
)
def test_a_plan_that_is_none_is_refused(change: dict[str, Any]) -> None:
    good: dict[str, Any] = {
        "item": 4,
        "dims": (4, 4),
        "source": (4, 16),
        "destination": (16, 4),
        "source_axis": 0,
    }
    words = good | change
    with pytest.raises(ValueError, match=r"\w"):
        _copy.Plan(*words.values())


def test_more_bytes_than_can_be_counted_are_refused() -> None:
    with pytest.raises(ValueError, match="more bytes than can be counted"):
        _copy.Plan(4, (1 << 62,), (4,), (4,), 0)
    with pytest.raises(ValueError, match="more bytes than can be counted"):
        _copy.Plan(4, (4,), (1 << 62,), (4,), 0)


def test_threads_that_move_nothing_are_refused() -> None:
    x = np.zeros((8, 8), np.int32)
    plan = cpu_copy.kernel_plan(x.T.shape, x.T.strides, 4)
    with pytest.raises(ValueError, match="a thread moves something"):
        _copy.copy_array(plan, np.empty((8, 8), np.int32), x.T, 2, 0, 1)


def test_a_plan_of_other_arrays_is_refused() -> None:
    x = np.zeros((8, 8), np.int32)
    plan = cpu_copy.kernel_plan(x.T.shape, x.T.strides, 4)
    for destination, source in [
        (np.empty((8, 7), np.int32), x.T),
        (np.empty((8, 8), np.int32), x[:4]),
        (x.copy().T, x.T),
    ]:
        with pytest.raises(ValueError, match="other arrays"):
            _copy.copy_array(plan, destination, source, 1, 1, 1)


class TestThreads:
    X = np.random.default_rng(5).integers(0, 256, (3, 1200, 1300), np.uint8)

    @pytest.mark.parametrize(
        ("environment", "count"),
        [
            ({"ONERESHAPE_NUM_THREADS": "3", "OMP_NUM_THREADS": "2"}, 3),
            ({"OMP_NUM_THREADS": "2,4"}, 2),
            ({"ONERESHAPE_NUM_THREADS": "many", "OMP_NUM_THREADS": "0"}, len(os.sched_getaffinity(0))),
        ],
    )
    def test_the_limit(self, environment: dict[str, str], count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("ONERESHAPE_NUM_THREADS", "OMP_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

        assert threads() == count

    def test_many_python_threads_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ONERESHAPE_NUM_THREADS", "3")
        expected = self.X.T.tobytes()
        op = orx.Reshape("onnx").bind([-1])
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: op(self.X.T).tobytes() == expected, range(24)))

        assert all(results)

    @pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    def test_after_a_fork(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ONERESHAPE_NUM_THREADS", "3")
        expected = self.X.T.tobytes()
        assert cpu_copy.copied(self.X.T, (-1 + 1 + self.X.size,)).tobytes() == expected
        child = os.fork()
        if child == 0:
            os._exit(0 if cpu_copy.copied(self.X.T, (self.X.size,)).tobytes() == expected else 1)
        _, status = os.waitpid(child, 0)

        assert os.waitstatus_to_exitcode(status) == 0

    def test_where_no_more_can_be_made(self) -> None:
        """The one there is does the others' parts, and those that were made are joined."""
        code = (
            "import resource\n"
            "import numpy as np\n"
            "from onereshape.arrays import _copy, cpu_copy\n"
            "x = np.arange(600 * 700, dtype=np.int32).reshape(600, 700).T\n"
            "plan = cpu_copy.kernel_plan(x.shape, x.strides, 4)\n"
            "y = np.empty(x.shape, x.dtype)\n"
            "pages = int(open('/proc/self/statm').read().split()[0])\n"
            "for more in (0, 1 << 20, 12 << 20, 40 << 20):\n"  # a thread's stack is often 8 MB
            "    limit = pages * resource.getpagesize() + more\n"
            "    np.invert(x, out=y)\n"
            "    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))\n"
            "    _copy.copy_array(plan, y, x, 9, 1, 1)\n"
            "    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
            "    assert (y == x).all()\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_without_the_extension() -> None:
    """Everything works through NumPy, and the version says so."""
    code = (
        "import sys; sys.modules['onereshape.arrays._copy'] = None\n"
        "import numpy as np, onereshape as orx, onereshape.cli\n"
        "x = np.arange(4096).reshape(64, 64).T\n"
        "assert np.array_equal(orx.reshape(x, [-1], 'onnx'), x.reshape(-1))\n"
        "onereshape.cli.main(['--version'])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert "\ncopies: NumPy's (no C++ kernels built)\n" in run.stdout
