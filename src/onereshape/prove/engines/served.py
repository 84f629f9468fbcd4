"""ONNX Runtime in the child process: loads models, runs them, and tells what the engine says; `engine` asks.

Of this package only light modules of `ground` are imported: a child should start fast.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from onereshape.ground.dtypes import named, of_dtype
from onereshape.ground.installed import RUNTIME_MISSING
from onereshape.ground.isolation.kept import KEPT, keep
from onereshape.ground.isolation.messages import Arrays, Plain
from onereshape.ground.numpy_types import Array

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # some warnings go past the session's own
except ImportError:
    onnxruntime = None

_THREADS: Final = 4
"""More do not pay for models that are run a dozen times."""
_LONGEST: Final = 300
"""Characters of the engine's text that are kept."""
_WHERE: Final = "session.model_external_initializers_file_folder_path"
_SOURCE: Final = re.compile(
    r"(?:/[\w.+-]+)+\.(?:h|cc|cpp|hpp|cu):\d+ .*?\) (?=\S)|(?:/[\w.+-]+)+\.(?:h|cc|cpp|hpp|cu):\d+ "
)
"""Where in the engine's own source something was noticed, and the signature of the function there."""
_CHECK: Final = re.compile(r"\w[\w ()<>=!&|*+-]* was false\. (?=\S)")
"""The condition in the engine's source, where a sentence follows it."""
_PREFIX: Final = re.compile(r"^\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : ")
_STATUS: Final = re.compile(r"Non-zero status code returned while running (\w+) node\. Name:'(.*?)' Status Message: ")


_LOADED: Final = re.compile(r"Load model from \S+ failed: ?")
"""The start of a message on a model that was loaded from a file."""
_NO_MEMORY: Final = re.compile(r"bad_alloc|Failed to allocate memory|bad allocation")
_MAPS: Final = "seq(map("
"""The start of the type of a ZipMap's output."""
_LISTS: Final = ("seq(tensor(", "optional(")
"""The starts of the types of sequences of tensors, and of optional values."""
_PACKED: Final = frozenset({"int2", "uint2", "int4", "uint4", "float4e2m1"})
"""The element types of which two or more share a byte."""


class _EngineRefused(Exception):  # noqa: N818 - an answer
    """The engine refuses to load or to run a model."""


def name(_told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """The engine and its version."""
    found = f"onnxruntime: {RUNTIME_MISSING}" if onnxruntime is None else f"onnxruntime {onnxruntime.__version__}"
    return {"name": found}, {}


def load(told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """Loads a model, whose external data are in a folder."""
    if onnxruntime is None:
        return {"refused": RUNTIME_MISSING}, {}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = min(_cores(), _THREADS)
    options.inter_op_num_threads = 1
    # No two runs have the same sizes, so what one allocated is of no use to the next.
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = False
    # Threads that spin while they wait slow down whoever else is at work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not told["optimize"]:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if told["external"]:
        options.add_session_config_entry(_WHERE, told["folder"])
        # Packing copies the weights, which otherwise are only mapped: twice their size, measured.
        options.add_session_config_entry("session.disable_prepacking", "1")
    path = str(told["path"])
    content = path or arrays.pop("model").tobytes()
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class in common
        return {"refused": _said(error, str(Path(path).parent) if path else told["folder"])}, {}
    if path:
        _let_go()
    inputs = {value.name: value.type for value in session.get_inputs()}
    outputs = {value.name: value.type for value in session.get_outputs()}
    return {"number": keep(session), "inputs": inputs, "outputs": outputs}, {}


def _let_go() -> None:
    """Gives back to the system what an engine has freed and the C library keeps, more than half of what it took."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None  # only glibc has it
    if trim is not None:
        trim(0)


def run(told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """The outputs of a model that was loaded."""
    session = KEPT[told["number"]]
    types = {value.name: value.type for value in session.get_outputs()}
    try:
        if all(array.dtype.isbuiltin == 1 for array in arrays.values()) and all(map(_plain, types.values())):
            found = dict(zip(types, session.run([*types], arrays), strict=True))
        else:
            values = {each: _to_value(array) for each, array in arrays.items()}
            given = session.run_with_ort_values([*types], values)
            found = {each: _to_array(value) for each, value in zip(types, given, strict=True)}
    except _EngineRefused as refused:
        return {"refused": str(refused)}, {}
    except Exception as error:  # noqa: BLE001 - as above
        return {"refused": _said(error, "")}, {}
    for each, output in [*found.items()]:
        if isinstance(output, np.ndarray):
            continue
        if types[each].startswith(_LISTS) and isinstance(output, list):
            del found[each]
            found.update({f"{each}[{place}]": tensor for place, tensor in enumerate(output)})
            continue
        if output is None:
            return {"refused": f"output {each!r} holds nothing"}, {}
        if not types[each].startswith(_MAPS):
            return {"refused": f"output {each!r} is a {types[each]}, and only tensors, sequences and maps are read"}, {}
        if len({tuple(row) for row in output}) > 1:
            return {"refused": f"the maps of output {each!r} have different labels"}, {}
        found[each], found[f"{each} (labels)"] = _table(output)
    return {}, found


def _table(maps: Sequence[Mapping[Any, float]]) -> tuple[Array, Array]:
    """Maps of the same labels: a row for each, and the labels."""
    labels = [*maps[0]] if maps else []
    named = np.array(labels, np.int64 if all(isinstance(each, int) for each in labels) else object)
    return np.array([[*row.values()] for row in maps], np.float32).reshape(len(maps), len(labels)), named


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(kind: str) -> bool:
    """Whether NumPy has the type by itself; the engine gives the others only as its own values."""
    return not kind.startswith(("tensor(bfloat16", "tensor(float8", "tensor(int4", "tensor(uint4", "tensor(float4"))


def _to_value(array: Array) -> Any:
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
    from onnx import TensorProto  # noqa: PLC0415 - hardly ever needed

    kind = of_dtype(array.dtype)
    number = TensorProto.DataType.Value(((kind and kind.onnx) or "undefined").upper())
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)


def _to_array(value: Any) -> Array:
    if _plain(value.data_type()):
        array: Array = value.numpy()
        return array
    name = value.data_type().removeprefix("tensor(").removesuffix(")")
    kind = named(name)
    if kind is None or kind.numpy is None or name in _PACKED:
        raise _EngineRefused(f"an output is {name}, which cannot be read")
    dims = tuple(value.shape())
    content = ctypes.string_at(value.data_ptr(), prod(dims) * kind.numpy.itemsize)
    return np.frombuffer(content, kind.numpy).reshape(dims)


def _said(error: Exception, base_dir: str) -> str:
    """One line of what the engine said: no source files, no folders of this machine."""
    text = " ".join(str(error).split())
    if _NO_MEMORY.search(text):
        raise MemoryError
    text = _STATUS.sub(
        lambda found: f"{found[1]} {found[2]!r}: " if found[2] else f"{found[1]}: ", _PREFIX.sub("", text)
    )
    text = _CHECK.sub("", _SOURCE.sub("", _LOADED.sub("", text)))
    folders = {base_dir, str(Path(base_dir).resolve()), str(Path.cwd()), str(Path.home()), tempfile.gettempdir()}
    for folder in sorted(folders - {"", "/", "."}, key=len, reverse=True):
        text = text.replace(folder.rstrip("/") + "/", "").replace(folder, "")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
