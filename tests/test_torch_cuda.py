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
        self.doubtful = False
        self.clock = 0.0

    def ready_for(
        self, dims: tuple[int, ...], strides: tuple[int, ...], itemsize: int, address: int, device: int
    ) -> tuple[Callable[[int, int, int], bool], ...]:
        assert (address % itemsize, device) == (0, -1)
        self.planned.append((dims, strides, itemsize))
        return tuple(partial(self.launch, self.planned[-1], at) for at in range(len(self.takes_time) * self.fits))

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


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    """Tensors of the CPU have the device -1."""
    found = Device()
    monkeypatch.setattr(cuda_copy, "ready_for", found.ready_for)
    monkeypatch.setattr(cuda_copy, "doubtful", lambda *_: found.doubtful)
    monkeypatch.setattr(torch_cuda, "_ready", {})
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 7, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: -1, raising=False)
    return found


def quickest(data: Any) -> Any:
    return torch_cuda.quickest(data, torch_arrays.still_plain, torch_arrays.reshaped)


def test_a_layout_is_planned_once_and_launched_each_time(device: Device) -> None:
    x, y = (torch.randn(3, 4, 5).permute(2, 0, 1) for _ in range(2))
    copied = quickest(x)

    for data in (x, y, x):
        assert torch.equal(copied(data, (15, 4)), data.reshape(15, 4))
    assert torch.equal(torch_cuda.by_kernel(y), y)
    assert torch_cuda.by_kernel(y).is_contiguous()
    assert (set(device.planned), device.launched) == ({((5, 3, 4), (4, 80, 20), 4)}, 5)


def test_alignment_is_part_of_a_layout(device: Device) -> None:
    raw = torch.arange(33, dtype=torch.float32)
    first, second = (raw[start : start + 32].view(4, 8).t() for start in (0, 1))
    copied = quickest(first)

    for data in (first, second, second):
        assert torch.equal(copied(data, (32,)), data.reshape(32))
    assert (len(device.planned), device.launched) == (2, 3)


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


class Event:
    """A mark on the device's clock."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.at = 0.0

    def record(self) -> None:
        self.at = self.device.clock

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


@pytest.mark.parametrize(
    ("takes", "own", "doubtful", "chosen"),
    [
        ([3.0], 2.0, False, 0),  # never tried: the kernel is faster by the rules
        ([3.0], 2.0, True, None),
        ([2.0], 3.0, True, 0),
        ([3.0, 2.0], 1.0, False, 1),
        ([2.0, 3.0], 4.0, True, 0),
        ([3.0, 2.0], 1.0, True, None),
    ],
)
def test_the_fastest_copy_is_kept(  # noqa: PLR0913, PLR0917 - what each takes, and what comes of it
    takes: list[float], own: float, doubtful: bool, chosen: int | None, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copied(data: Any, output: Any) -> None:
        device.clock += own
        output.copy_(data)

    device.takes_time, device.doubtful = takes, doubtful
    monkeypatch.setattr(torch_cuda, "_own", copied)
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(device) if enable_timing else None)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda _: None, raising=False)
    x = torch.randn(3, 4).t()
    copy = quickest(x)
    tried = device.launched

    assert (copy is torch.Tensor.reshape) is (chosen is None)
    assert torch.equal(copy(x, (12,)), x.reshape(12))
    assert device.launched - tried == (chosen is not None)
    if chosen is not None:
        before = device.clock
        copy(x, (12,))
        assert device.clock - before == takes[chosen]
    assert (tried > 0) is (doubtful or len(takes) > 1)


def test_what_the_driver_does_not_take_is_not_tried(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device.takes, device.doubtful = False, True
    monkeypatch.setattr(torch.cuda, "Event", lambda enable_timing: Event(device) if enable_timing else None)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda _: None, raising=False)

    assert quickest(torch.randn(3, 4).t()) is torch.Tensor.reshape
    assert device.launched == 1


def test_nothing_is_planned_while_a_graph_is_captured(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3, 4).t()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)

    assert quickest(x) is torch_arrays.reshaped
    assert torch.equal(torch_cuda.by_kernel(x), x)
    assert (device.planned, device.launched) == ([], 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    torch_cuda.by_kernel(x)
    assert device.launched == 1


def test_another_device_is_made_the_current_one(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[int] = []

    def entering(index: int) -> Any:
        entered.append(index)
        return nullcontext()

    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: 1)
    x = torch.randn(3, 4).t()
    copied = quickest(x)
    monkeypatch.setattr(torch.cuda, "device", entering)

    assert torch.equal(copied(x, (12,)), x.reshape(12))
    assert (entered, device.launched) == ([-1], 1)


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
