"""oneDNN's graph API as it is found on this machine: where it is looked for, and its functions, called by address.

To be imported in a child process only: what is loaded here may abort.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint8, c_void_p
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import Any

from onereshape.backends.conformance.elf import NotReadable, functions
from onereshape.backends.conformance.questions import Missing

MOST_DIMS = 12
"""DNNL_MAX_NDIMS."""
UNKNOWN_RANK = -1
STATIC_RESHAPE = 72
SHAPE, SPECIAL_ZERO = 0x48, 0x64
STRIDED = 2
FUSION = 1
"""The policy of partitions that everybody has."""
_CPU = 1
TYPES = {"f16": 1, "bf16": 2, "f32": 3, "s32": 4, "s8": 5, "u8": 6, "f64": 7, "boolean": 8}
"""dnnl_data_type_t, by the names that dumps have."""
REFUSALS = {3: "unimplemented", 7: "invalid graph", 8: "invalid graph op", 9: "invalid shape", 10: "invalid data type"}
"""dnnl_status_t as far as it is about the question; any other is about how it was asked."""


class LogicalTensor(Structure):
    """dnnl_graph_logical_tensor_t: what is known of a tensor without its elements."""

    _fields_ = [
        ("id", c_size_t),
        ("rank", c_int),
        ("dims", c_int64 * MOST_DIMS),
        ("type", c_int),
        ("property", c_int),
        ("layout", c_int),
        ("strides", c_int64 * MOST_DIMS),
    ]


class _Version(Structure):
    _fields_ = [("major", c_int), ("minor", c_int), ("patch", c_int), ("hash", c_char_p), ("runtimes", c_uint * 2)]


_TENSOR, _HANDLE = POINTER(LogicalTensor), POINTER(c_void_p)
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "engine_create": (_HANDLE, c_int, c_size_t),
    "stream_create": (_HANDLE, c_void_p, c_uint),
    "stream_wait": (c_void_p,),
    "graph_logical_tensor_init": (_TENSOR, c_size_t, c_int, c_int32, c_int, c_int),
    "graph_logical_tensor_init_with_dims": (_TENSOR, c_size_t, c_int, c_int32, POINTER(c_int64), c_int, c_int),
    "graph_op_create": (_HANDLE, c_size_t, c_int, c_char_p),
    "graph_op_set_attr_s64": (c_void_p, c_int, POINTER(c_int64), c_size_t),
    "graph_op_set_attr_bool": (c_void_p, c_int, POINTER(c_uint8), c_size_t),
    "graph_op_add_input": (c_void_p, _TENSOR),
    "graph_op_add_output": (c_void_p, _TENSOR),
    "graph_op_destroy": (c_void_p,),
    "graph_graph_create": (_HANDLE, c_int),
    "graph_add_op": (c_void_p, c_void_p),
    "graph_graph_finalize": (c_void_p,),
    "graph_graph_filter": (c_void_p, c_int),
    "graph_graph_get_partition_num": (c_void_p, POINTER(c_size_t)),
    "graph_graph_get_partitions": (c_void_p, c_size_t, _HANDLE),
    "graph_graph_destroy": (c_void_p,),
    "graph_partition_is_supported": (c_void_p, POINTER(c_uint8)),
    "graph_partition_compile": (c_void_p, c_void_p, c_size_t, POINTER(_TENSOR), c_size_t, POINTER(_TENSOR), c_void_p),
    "graph_partition_destroy": (c_void_p,),
    "graph_compiled_partition_create": (_HANDLE, c_void_p),
    "graph_compiled_partition_query_logical_tensor": (c_void_p, c_size_t, _TENSOR),
    "graph_compiled_partition_execute": (c_void_p, c_void_p, c_size_t, _HANDLE, c_size_t, _HANDLE),
    "graph_compiled_partition_destroy": (c_void_p,),
    "graph_tensor_create": (_HANDLE, _TENSOR, c_void_p, c_void_p),
    "graph_tensor_destroy": (c_void_p,),
}
"""The functions that are called, without `dnnl_`, and what they take; all give a dnnl_status_t."""
_NAMES = tuple(f"dnnl_{name}" for name in ("version", *_ARGUMENTS))


class StatusError(Exception):
    """A function of the library gave another status than success."""

    def __init__(self, name: str, status: int) -> None:
        self.status = status
        super().__init__(f"dnnl_{name}: {REFUSALS.get(status, f'status {status}')}")


class Library:
    """A oneDNN with an engine of the CPU and a stream."""

    def __init__(self, addresses: dict[str, int], place: str) -> None:
        self._functions: dict[str, Callable[..., int]] = {
            name: ctypes.CFUNCTYPE(c_int, *takes)(addresses[f"dnnl_{name}"]) for name, takes in _ARGUMENTS.items()
        }
        found = ctypes.CFUNCTYPE(POINTER(_Version))(addresses["dnnl_version"])().contents
        self.release = f"{found.major}.{found.minor}.{found.patch}"
        self.place = place
        self.engine = self.made("engine_create", _CPU, 0)
        self.stream = self.made("stream_create", self.engine, 1)

    def call(self, name: str, *given: Any) -> None:
        """Calls a function, and raises whatever it says but success."""
        if status := self._functions[name](*given):
            raise StatusError(name, status)

    def made(self, name: str, *given: Any) -> c_void_p:
        """What a function makes, by its handle."""
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *given)
        return handle

    def graph(self) -> c_void_p:
        """An empty graph for the CPU."""
        return self.made("graph_graph_create", _CPU)


def _exported(names: tuple[str, ...]) -> tuple[dict[str, int], str]:
    """A oneDNN of its own, wherever the loader finds it: a distribution's, a build of one's own, or PyPI's `onednn`.

    The last brings two gigabytes of runtimes for x86-64; its folder must be in LD_LIBRARY_PATH, and OCL_ICD_FILENAMES
    name its `libintelocl.so`, since for it the CPU is a device of OpenCL.
    """
    library = ctypes.CDLL("libdnnl.so.3")
    return {name: _address(library, name) for name in names}, "libdnnl.so.3"


def _inside_torch(names: tuple[str, ...]) -> tuple[dict[str, int], str]:
    """The oneDNN that is built into torch, which exports none of its functions."""
    found = util.find_spec("torch")
    if found is None or found.origin is None:
        raise NotReadable("torch is not installed")
    path = str(Path(found.origin).parent / "lib" / "libtorch_cpu.so")
    inside = functions(path, names)
    library = ctypes.CDLL(path)
    start = _address(library, inside.anchor) - inside.anchor_at
    return {name: start + at for name, at in inside.found.items()}, f"torch {metadata.version('torch')}"


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        function = library[name]
    except AttributeError:
        raise NotReadable(f"{library._name}: it exports no {name}") from None  # noqa: SLF001 - as it was found
    return ctypes.cast(function, c_void_p).value or 0


Loader = Callable[[tuple[str, ...]], tuple[dict[str, int], str]]
"""The addresses of functions that are asked for, and what they were found in."""
PLACES: tuple[Loader, ...] = (_exported, _inside_torch)
"""Where the library is looked for, one after the other."""


@cache
def library() -> Library:
    """The first oneDNN that has the graph API and an engine of the CPU."""
    reasons = []
    for look in PLACES:
        found = _tried(look)
        if isinstance(found, Library):
            return found
        reasons.append(found)
    raise Missing(f"no oneDNN is found: {'; '.join(reasons)}")


def _tried(look: Loader) -> Library | str:
    """The library of one place, or why there is none."""
    try:
        return Library(*look(_NAMES))
    except (OSError, NotReadable, StatusError) as error:
        return str(error)
