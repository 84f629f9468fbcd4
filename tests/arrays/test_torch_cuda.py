"""How CUDA tensors reach their launches, without a GPU: the driver is stood in for by NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from onereshape.arrays import cuda_copy, cuda_driver, torch_arrays, torch_cuda

Layout = tuple[tuple[int, ...], tuple[int, ...], int]


class Device:
    """What was planned and launched."""

    def __init__(self) -> None:
        self.planned: list[Layout] = []
        self.launched = 0
        self.takes = True
        self.fits = True
        self.takes_time = [1.0]
        self.own = 1e9
        self.behind = 0
        self.slept: list[int] = []
        self.clock = 0.0

    def ways(
        self, dims: tuple[int, ...], strides: tuple[int, ...], itemsize: int, address: int, device: int
    ) -> list[Callable[[int, int, int], bool]]:
        assert (address % itemsize, device) == (0, -1)
        self.planned.append((dims, strides, itemsize))
        return [partial(self.launch, self.planned[-1], at) for at in range(len(self.takes_time) * self.fits)]

    def by_rule(self, *layout: Any) -> Callable[[int, int, int], bool] | None:
        return next(iter(self.ways(*layout)), None)

    def launch(self, layout: Layout, number: int, source: int, destination: int, stream: int) -> bool:
        assert stream == 7
        self.launched += 1
        self.clock += self.takes_time[number]
        dims, strides, itemsize = layout
        span = sum((dim - 1) * stride for dim, stride in zip(dims, strides, strict=True)) + itemsize
        held = (ctypes.c_uint8 * span).from_address(source)
        data: Any = np.ndarray(dims, f"V{itemsize}", memoryview(held), 0, strides)
        if self.takes:
            ctypes.memmove(destination, data.tobytes(), data.nbytes)
        return self.takes

    def copy(self, data: Any, output: Any) -> None:
        """Torch's own."""
        self.clock += self.own
        output.copy_(data)


class Event:
    """A mark on the device's clock."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.at = 0.0

    def record(self) -> None:
        self.at = self.device.clock

    def query(self) -> bool:
        """Whether the device is past it: the host was not ahead."""
        self.device.behind -= 1
        return self.device.behind >= 0

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """Tensors of the CPU have the device -1."""
    found = Device()
    monkeypatch.setattr(cuda_copy, "by_rule", found.by_rule)
    monkeypatch.setattr(cuda_copy, "ways", found.ways)
    monkeypatch.setattr(torch_cuda, "_first", {})
    monkeypatch.setattr(torch_cuda, "_fastest", {})
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 7, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: -1, raising=False)
    monkeypatch.setattr(torch_cuda, "_own", found.copy)
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(found) if enable_timing else None)
    monkeypatch.setattr(torch.cuda, "_sleep", found.slept.append, raising=False)
    return found


def quickest(data: Any) -> Any:
    return torch_cuda.quickest(data, torch_arrays.still_plain, torch_arrays.reshaped)


def test_a_layout_is_planned_when_it_comes_and_when_it_comes_again(device: Device) -> None:
    x, y = (torch.randn(3, 4, 5).permute(2, 0, 1) for _ in range(2))
    copied = quickest(x)
    planned = []

    for data in (x, y, x, y):
        assert torch.equal(copied(data, (15, 4)), data.reshape(15, 4))
        planned.append(len(device.planned))
    assert planned == [2, 3, 3, 3]
    assert device.launched == 8  # in the second call once to see that it is taken, and three times to be timed
    assert torch.equal(torch_cuda.by_kernel(y), y)
    assert torch_cuda.by_kernel(y).is_contiguous()
    assert (set(device.planned), device.launched) == ({((5, 3, 4), (4, 80, 20), 4)}, 10)


def test_all_ways_to_copy_share_what_they_found(device: Device) -> None:
    x = torch.randn(1024, 1025).t()

    for copy in (torch_cuda.contiguous, torch_cuda.contiguous, lambda data: quickest(data)(data, (1025, 1024))):
        assert torch.equal(copy(x), x)
    assert len(device.planned) == 3  # by rule, all, and by rule whether there is any


def test_alignment_is_part_of_a_layout(device: Device) -> None:
    raw = torch.arange(33, dtype=torch.float32)
    first, second = (raw[start : start + 32].view(4, 8).t() for start in (0, 1))
    copied = quickest(first)

    for data in (first, first, second, second, second):
        assert torch.equal(copied(data, (32,)), data.reshape(32))
    assert (len(device.planned), device.launched) == (5, 13)


def test_gradients_and_lazy_bits_go_the_long_way(device: Device) -> None:
    x = torch.randn(3, 4, requires_grad=True)
    copied = quickest(x.detach().t())
    result = copied(x.t(), (12,))
    result.backward(torch.arange(12.0))

    assert x.grad is not None
    assert torch.equal(x.grad, torch.arange(12.0).view(4, 3).t())
    with torch.no_grad():
        assert not copied(x.t(), (12,)).requires_grad
    z = torch.randn(3, 4, dtype=torch.complex64)
    assert torch.equal(quickest(z.t())(z.t().conj(), (12,)), z.t().conj().reshape(12))
    negative = z.conj().imag
    assert negative.is_neg()
    assert torch.equal(quickest(z.imag.t())(negative.t(), (12,)), negative.t().reshape(12))
    assert device.launched == 1


def test_torch_copies_what_the_driver_does_not_take(device: Device) -> None:
    x = torch.randn(3, 4).t()
    device.takes = False

    assert torch.equal(quickest(x)(x, (12,)), x.reshape(12))
    assert torch.equal(torch_cuda.by_kernel(x), x)
    assert device.launched == 2


def test_torch_copies_what_no_kernel_fits(device: Device) -> None:
    device.fits = False
    x = torch.randn(3, 4).t()

    assert quickest(x) is torch.Tensor.reshape
    assert torch.equal(torch_cuda.by_kernel(x), x)
    assert (len(set(device.planned)), device.launched) == (1, 0)


def test_what_another_thread_forgets_meanwhile_is_found_again(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(dict[Any, Any]):
        """Has a key when it is asked, and then has not."""

        def __contains__(self, key: object) -> bool:
            return True

    monkeypatch.setattr(torch_cuda, "_fastest", Forgetful())
    x = torch.randn(1024, 1025).t()

    assert torch.equal(torch_cuda.contiguous(x), x)
    assert device.launched == 1


@pytest.mark.parametrize(
    ("takes", "own", "chosen", "timed"),
    [
        ([3.0], 2.0, None, [3, 3]),  # the launch is too slow to be looked at twice
        ([2.0], 3.0, 0, [3, 3]),
        ([3.0, 2.0], 2.6, 1, [3, 3, 3]),
        ([3.0, 2.0], 2.4, 1, [3, 15, 15]),
        ([2.0, 2.2], 4.0, 0, [15, 15, 3]),
        ([2.2, 2.0], 1.9, None, [15, 15, 15]),
        ([2.0, 2.0], 2.03, None, [15, 15, 15]),  # as fast
        ([2.0, 2.1], 2.05, 0, [15, 15, 15]),
    ],
)
def test_the_fastest_copy_is_kept(
    takes: list[float], own: float, chosen: int | None, timed: list[int], device: Device
) -> None:
    device.takes_time, device.own = takes, own
    x = torch.randn(3, 4).t()
    copy = quickest(x)
    spent = []
    for _ in range(4):
        before = device.clock
        assert torch.equal(copy(x, (12,)), x.reshape(12))
        spent.append(device.clock - before)

    each = [0.0 if chosen is None else takes[chosen]]
    tried = sum(takes) + sum(count * span for count, span in zip(timed, [*takes, own], strict=True))
    assert spent == pytest.approx([takes[0], tried + each[0], *each * 2])


def test_a_clock_that_jumps_does_not_choose(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [9.0, 8.0, 9.0] * 3
    elapsed = iter([*alone, 9.0, 8.0, 9.0, 0.0, 8.0, 9.0, 9.0, 8.0, 9.0])

    class Jumping(Event):
        def elapsed_time(self, end: Event) -> float:
            assert end is not self
            return next(elapsed)

    device.takes_time = [3.0, 2.0]
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Jumping(device) if enable_timing else None)
    x = torch.randn(3, 4).t()
    copy = quickest(x)
    for _ in range(2):
        copy(x, (12,))
    before = device.clock
    copy(x, (12,))

    assert device.clock - before == 2.0


def test_what_was_timed_while_the_host_was_behind_is_timed_again(device: Device) -> None:
    x = torch.randn(3, 4).t()
    copy = quickest(x)
    copy(x, (12,))
    device.behind = 2
    before = device.clock
    device.own = 5.0
    copy(x, (12,))

    assert [slept // device.slept[0] for slept in device.slept] == [1, 2, 4]
    assert device.clock - before == 1 + 3 * (3 * 1 + 3 * 5) + 1
    device.behind = 1000  # always: what was timed last counts
    other = torch.randn(3, 5).t()
    copy = quickest(other)
    for _ in range(3):
        assert torch.equal(copy(other, (15,)), other.reshape(15))
    assert len(device.slept) == 3 + 4


def test_what_the_driver_does_not_take_is_not_tried(device: Device) -> None:
    device.takes = False
    x = torch.randn(3, 4).t()
    copy = quickest(x)

    for _ in range(3):
        assert torch.equal(copy(x, (12,)), x.reshape(12))
    assert (device.launched, device.slept) == (2, [])  # by rule, and once more when it came again


def test_small_copies_and_what_torch_is_faster_at_are_handed_over(device: Device) -> None:
    small, large = torch.randn(3, 4).t(), torch.randn(1024, 1025).t()
    for _ in range(2):
        torch_cuda.contiguous(large)
    assert (torch_cuda.handed_over(small), torch_cuda.handed_over(large)) == (True, False)

    device.own = 0.5
    other = torch.randn(1025, 1024).t()
    for _ in range(2):
        torch_cuda.contiguous(other)
    assert torch_cuda.handed_over(other)


def test_nothing_is_planned_while_a_graph_is_captured(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 4).t()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)

    assert quickest(x) is torch_arrays.reshaped
    assert torch.equal(torch_cuda.by_kernel(x), x)
    assert (device.planned, device.launched) == ([], 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    torch_cuda.by_kernel(x)
    assert device.launched == 1


def test_what_came_once_is_launched_while_a_graph_is_captured(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 4).t()
    copy = quickest(x)
    copy(x, (12,))
    planned = len(device.planned)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)

    assert torch.equal(copy(x, (12,)), x.reshape(12))
    assert (len(device.planned), device.launched) == (planned, 2)


def test_another_device_is_made_the_current_one(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[int] = []

    def entering(index: int) -> Any:
        entered.append(index)
        return nullcontext()

    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 1)
    x = torch.randn(3, 4).t()
    copied = quickest(x)
    for _ in range(2):
        copied(x, (12,))
    launched = device.launched
    monkeypatch.setattr(torch.cuda, "device", entering)

    assert torch.equal(copied(x, (12,)), x.reshape(12))
    assert (entered, device.launched) == ([-1], launched + 1)


NUMBER, POINTER = ctypes.c_uint, ctypes.c_void_p
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, *[NUMBER] * 7, POINTER, ctypes.POINTER(POINTER), POINTER)


@pytest.mark.parametrize("plain", [False, True], ids=["C++", "ctypes"])
def test_a_launch_says_all_to_the_driver(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signature is that of cuLaunchKernel in CUDA's documentation; it reads the arguments while it is called."""
    plan = bytes(range(200))
    asked: list[Any] = []
    codes = [0, 1]

    def driver(*call: Any) -> int:
        *sizes, arguments, extra = call
        source, destination = (POINTER.from_address(arguments[at]).value for at in (0, 1))
        asked.append((sizes, source, destination, ctypes.string_at(arguments[2], len(plan)), extra))
        return codes.pop(0)

    library = SimpleNamespace(cuLaunchKernel=LAUNCH(driver))
    monkeypatch.setattr(cuda_driver, "_driver", lambda: library)
    if plain:
        monkeypatch.setattr(cuda_driver, "_calls", None)
    ready = cuda_driver.ready(POINTER(11), (1 << 31) - 1, 256, 70_000, plan)

    assert isinstance(ready, cuda_driver.PlainLaunch) is plain
    assert [ready(1 << 63, 2**47 + 8, 0), ready(16, 32, 2**64 - 1)] == [True, False]
    sizes = [11, (1 << 31) - 1, 1, 1, 256, 1, 1, 70_000]
    assert asked == [
        ([*sizes, None], 1 << 63, 2**47 + 8, plan, None),
        ([*sizes, 2**64 - 1], 16, 32, plan, None),
    ]
