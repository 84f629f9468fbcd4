"""CUDA C++ compiled and launched at run time: NVRTC and the driver, through ctypes alone."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

try:
    from onereshape.arrays import _calls
except ImportError:  # installed without a compiler
    _calls = None  # type: ignore[assignment]

Ready = Callable[[int, int, int], bool]
"""A launch that waits for two addresses, of the source and of the destination, and a stream; whether it was taken."""

_SHARED_LIMIT = 8
"""The driver's number for the attribute of a function that lets a block have more shared memory than 48 KB."""

_SHARED_PER_BLOCK, _MAJOR, _MINOR = 97, 75, 76


class NoKernel(RuntimeError):  # noqa: N818 - not an error of anybody's: the caller copies otherwise
    """A kernel that cannot be compiled or launched: no driver, no compiler, or an error of theirs."""


class PlainLaunch:
    """A launch that is remembered, all but the two addresses and the stream, without the C++."""

    __slots__ = ("_arguments", "_destination", "_driver", "_lock", "_plan", "_source", "_stream", "_words")

    def __init__(self, driver: Any, function: Any, blocks: int, threads: int, shared: int, plan: bytes) -> None:  # noqa: PLR0913, PLR0917 - as the driver asks for them
        sizes = (blocks, 1, 1, threads, 1, 1, shared)
        self._driver = driver
        self._words = (function, *(ctypes.c_uint(number) for number in sizes))
        self._source, self._destination, self._stream = (ctypes.c_void_p() for _ in range(3))
        self._plan = ctypes.create_string_buffer(plan, len(plan))
        places = (ctypes.addressof(place) for place in (self._source, self._destination, self._plan))
        self._arguments = (ctypes.c_void_p * 3)(*places)
        self._lock = Lock()

    def __call__(self, source: int, destination: int, stream: int, /) -> bool:
        """Launches, one thread at a time, and says whether the driver took it."""
        with self._lock:
            self._source.value = source
            self._destination.value = destination
            self._stream.value = stream
            code: int = self._driver.cuLaunchKernel(*self._words, self._stream, self._arguments, None)
        return code == 0


def ready(function: Any, blocks: int, threads: int, shared: int, plan: bytes) -> Ready:
    """A launch of a kernel with this plan."""
    driver = _driver()
    if _calls is None:
        return PlainLaunch(driver, function, blocks, threads, shared, plan)
    entry = ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p).value or 0
    return _calls.Launch(entry, function.value, blocks, threads, shared, plan)


@cache
def function_of(device: int, source: Path, name: str, defines: tuple[tuple[str, int], ...]) -> Any:
    """A kernel compiled for a device, whose context is the current one."""
    image = compiled(source, defines, f"sm_{_attribute(device, _MAJOR)}{_attribute(device, _MINOR)}")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _checked(_driver().cuModuleLoadData(ctypes.byref(module), image))
    _checked(_driver().cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    _checked(_driver().cuFuncSetAttribute(function, _SHARED_LIMIT, _attribute(device, _SHARED_PER_BLOCK)))
    return function


def compiled(source: Path, defines: tuple[tuple[str, int], ...], target: str) -> bytes:
    """Machine code."""
    nvrtc = _nvrtc()
    program = ctypes.c_void_p()
    text = source.read_bytes()
    _asked(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None))
    options = [f"--gpu-architecture={target}", "--std=c++17", f"--include-path={source.parent}"]
    options += (f"-D{name}={value}" for name, value in defines)
    try:
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        _asked(nvrtc.nvrtcCompileProgram(program, len(options), words))
        size = ctypes.c_size_t()
        _asked(nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        held = ctypes.create_string_buffer(size.value)
        _asked(nvrtc.nvrtcGetCUBIN(program, held))
        return held.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


@cache
def _driver() -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise NoKernel("no libcuda") from error
    _checked(driver.cuInit(0))
    return driver


def _checked(code: int) -> None:
    if code:
        raise NoKernel(f"the driver says {code}")


def _asked(code: int) -> None:
    if code:
        raise NoKernel(f"NVRTC says {code}")


@cache
def _attribute(device: int, number: int) -> int:
    found = ctypes.c_int()
    _checked(_driver().cuDeviceGetAttribute(ctypes.byref(found), number, device))
    return found.value


@cache
def _nvrtc() -> Any:
    """The library, wherever the system or a package of this Python has it."""
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    folders = [Path(entry) / "nvidia" for entry in sys.path if entry]
    names += [str(path) for folder in folders for path in sorted(folder.glob("*/lib/libnvrtc.so.*"), reverse=True)]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise NoKernel("no libnvrtc")
