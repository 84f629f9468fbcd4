"""Running a model with ONNX Runtime: the one place that opens sessions, feeds them and reads what they say.

A model goes to the engine as bytes; weights in other files stay there and are mapped into memory from where they lie.
What the engine refuses becomes a `Refusal` with one line of its text.  What is fed, and what the answers mean, is left
to others.
"""

from __future__ import annotations

import ctypes
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

Array = npt.NDArray[Any]

_LARGEST: Final = 2**31 - 1
"""Bytes of a protobuf message, the form in which a model reaches the engine."""
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


class Refusal(Exception):  # noqa: N818 - it is the engine's answer, and its name
    """The engine does not load a model, or does not run it on what was fed."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Session:
    """A model in the engine.  Its memory is free when the last reference to it is gone."""

    __slots__ = ("_names", "_session", "inputs", "outputs")

    def __init__(self, model: ir.Model, base_dir: str, *, optimize: bool = True) -> None:
        """Loads the model, whose external data are in the folder `base_dir`, or raises a Refusal."""
        onnxruntime = _onnxruntime()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = min(_cores(), _THREADS)
        options.inter_op_num_threads = 1
        # No two runs have the same sizes, so what one allocated is of no use to the next.
        options.enable_mem_pattern = False
        options.enable_cpu_mem_arena = False
        # Threads that spin while they wait slow down whoever else is at work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if not optimize:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        tensors = [*_tensors(model)]
        if any(isinstance(tensor, ir.ExternalTensor) for tensor in tensors):
            options.add_session_config_entry(_WHERE, str(Path(base_dir).resolve()))
            # Packing copies the weights, which otherwise are only mapped: twice their size, measured.
            options.add_session_config_entry("session.disable_prepacking", "1")
        content = _content(model, tensors)
        try:
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class in common
            raise Refusal(_said(error, base_dir)) from None
        self._session = session
        self._names = [value.name for value in session.get_outputs()]
        self.inputs: Mapping[str, str] = {value.name: value.type for value in session.get_inputs()}
        self.outputs: Mapping[str, str] = {value.name: value.type for value in session.get_outputs()}

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs, or a Refusal."""
        try:
            if all(array.dtype.isbuiltin == 1 for array in feeds.values()) and all(map(_plain, self.outputs.values())):
                return dict(zip(self._names, self._session.run(self._names, dict(feeds)), strict=True))
            values = {name: _to_value(array) for name, array in feeds.items()}
            found = self._session.run_with_ort_values(self._names, values)
            return {name: _to_array(value) for name, value in zip(self._names, found, strict=True)}
        except Refusal:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise Refusal(_said(error, "")) from None


def engine_name() -> str:
    """The engine and its version, as a certificate names it."""
    try:
        return f"onnxruntime {_onnxruntime().__version__}"
    except Refusal as refusal:
        return f"onnxruntime: {refusal.why}"


def folder_of(model: ir.Model) -> str:
    """The folder in which the model itself says that its external data are, empty where it does not."""
    external = (tensor for tensor in _tensors(model) if isinstance(tensor, ir.ExternalTensor))
    return next((str(tensor.base_dir) for tensor in external), "")


def _onnxruntime() -> Any:
    try:
        import onnxruntime  # noqa: PLC0415 - only who runs a model needs it
    except ImportError:
        raise Refusal("it is not installed") from None
    return onnxruntime


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tensors(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """Every tensor of the model: initializers, also those of subgraphs, and attributes."""
    graphs: Iterable[Any] = (*model.graphs(), *model.functions.values())
    for graph in graphs:
        yield from (value.const_value for value in getattr(graph, "initializers", {}).values() if value.const_value)
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
                    yield attribute.value  # as_tensor() takes a hundred times as long


def _content(model: ir.Model, tensors: Iterable[ir.TensorProtocol]) -> bytes:
    inside = sum(tensor.nbytes for tensor in tensors if not isinstance(tensor, ir.ExternalTensor))
    if inside > _LARGEST:
        raise Refusal(
            f"its weights are {inside} bytes, and a model that has them inside takes less than 2 GiB; "
            f"save them as external data first"
        )
    try:
        content: bytes = ir.to_proto(model).SerializeToString()
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir or protobuf say
        raise Refusal(f"the model cannot be serialised: {_said(error, '')}") from None
    return content


def _plain(kind: str) -> bool:
    """Whether NumPy has the type by itself; the engine gives the others only as its own values."""
    return not kind.startswith(("tensor(bfloat16", "tensor(float8", "tensor(int4", "tensor(uint4", "tensor(float4"))


def _to_value(array: Array) -> Any:
    onnxruntime = _onnxruntime()
    if array.dtype.isbuiltin == 1:
        return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, int(ir.DataType.from_numpy(array.dtype)))


def _to_array(value: Any) -> Array:
    if _plain(value.data_type()):
        array: Array = value.numpy()
        return array
    kind = ir.DataType(value.element_type())
    if kind.bitwidth < 8:  # packed, two or more to a byte
        raise Refusal(f"an output is {kind.name.lower()}, which cannot be read")
    dims = tuple(value.shape())
    content = ctypes.string_at(value.data_ptr(), prod(dims) * kind.bitwidth // 8)
    return np.frombuffer(content, kind.numpy()).reshape(dims)


def _said(error: Exception, base_dir: str) -> str:
    """One line of what the engine said: no source files, no folders of this machine."""
    text = " ".join(str(error).split())
    text = _STATUS.sub(
        lambda found: f"{found[1]} {found[2]!r}: " if found[2] else f"{found[1]}: ", _PREFIX.sub("", text)
    )
    text = _CHECK.sub("", _SOURCE.sub("", text))
    folders = {base_dir, str(Path(base_dir).resolve()), str(Path.cwd()), str(Path.home()), tempfile.gettempdir()}
    for folder in sorted(folders - {"", "/", "."}, key=len, reverse=True):
        text = text.replace(folder.rstrip("/") + "/", "").replace(folder, "")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
