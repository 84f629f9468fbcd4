"""OpenVINO's CPU plugin in the child process: loads IRs, runs them, and tells what the engine says; `engine` asks.

Of this package only light modules of `ground` are imported: a child should start fast.
"""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from onereshape.ground.dtypes import named
from onereshape.ground.installed import OPENVINO_MISSING
from onereshape.ground.isolation.kept import KEPT, keep
from onereshape.ground.isolation.messages import Arrays, Plain
from onereshape.ground.numpy_types import Array

try:
    import openvino
except ImportError:
    openvino = None

_CONFIG: Final = {
    "INFERENCE_NUM_THREADS": 2,  # with one the plugin drops a refusal, and puts out what was there before
    "NUM_STREAMS": 1,
    "INFERENCE_PRECISION_HINT": "f32",  # else some machines compute in less
    "EXECUTION_MODE_HINT": "ACCURACY",
}
_LONGEST: Final = 300
"""Characters of the engine's text that are kept."""
_SOURCE: Final = re.compile(r"^(Exception from|Check ).*?:\d+:?\s*", re.DOTALL)
_NO_MEMORY: Final = re.compile(r"bad_alloc|bad allocation|failed to allocate", re.IGNORECASE)


class _Loaded(NamedTuple):
    """A model that is compiled, and what its inputs and outputs are called outside."""

    compiled: Any
    inputs: list[str]
    outputs: list[str]


@cache
def _core() -> Any:
    return openvino.Core()


def name(_told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """The engine and its version."""
    found = (
        f"openvino: {OPENVINO_MISSING}" if openvino is None else f"openvino {openvino.__version__.partition('-')[0]}"
    )
    return {"name": found}, {}


def load(told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """Loads an IR, from its text, the content of its .bin and the tensors added behind; or tells why it is refused."""
    if openvino is None:
        return {"refused": OPENVINO_MISSING}, {}
    weights = _weights(told["weights"], told["start"], arrays.pop("added"))
    try:
        model = _core().read_model(io.BytesIO(arrays.pop("model").tobytes()), io.BytesIO(weights))
        compiled = _core().compile_model(model, "CPU", _CONFIG)
        inputs = [told["inputs"][_called(each, told["inputs"])] for each in model.inputs]
        outputs = [told["outputs"][each.get_friendly_name()] for each in model.get_results()]
    except Exception as error:  # noqa: BLE001 - openvino's errors have no class in common
        return {"refused": _said(error)}, {}
    found = {
        "number": keep(_Loaded(compiled, inputs, outputs)),
        "inputs": {each: _type(port) for each, port in zip(inputs, model.inputs, strict=True)},
        "outputs": {each: _type(port) for each, port in zip(outputs, model.outputs, strict=True)},
    }
    return found, {}


def run(told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """The outputs of a model that was loaded; by a request of its own, since a kept one may repeat itself."""
    loaded: _Loaded = KEPT[told["number"]]
    try:
        request = loaded.compiled.create_infer_request()
        for place, each in enumerate(loaded.inputs):
            request.set_input_tensor(place, _tensor(arrays[each], loaded.compiled.inputs[place]))
        request.infer()
        found = {each: _array(request.get_output_tensor(place)) for place, each in enumerate(loaded.outputs)}
    except Exception as error:  # noqa: BLE001 - as above
        return {"refused": _said(error)}, {}
    return {}, found


def _called(port: Any, names: Plain) -> str:
    """The layer of an input; in an IR of version 10 a Convert may stand behind it, which has its name then."""
    own: str = port.get_node().get_friendly_name()
    users = (each.get_node().get_friendly_name() for each in port.get_target_inputs())
    return own if own in names else next((each for each in users if each in names), own)


def _type(port: Any) -> str:
    """The element type of a port as ONNX Runtime writes types: `f32 -> tensor(float)`."""
    said = port.get_element_type().get_type_name()
    kind = named(said)
    return f"tensor({said if kind is None or kind.onnx is None else kind.onnx})"


def _tensor(array: Array, port: Any) -> Any:
    """What is fed, in the type of its port: of an IR of version 10 OpenVINO reads inputs of f16 as f32."""
    whole = np.ascontiguousarray(array).reshape(array.shape)
    if whole.dtype == np.float16 and port.get_element_type() == openvino.Type.f32:
        whole = whole.astype(np.float32)
    if whole.dtype.isbuiltin == 1:
        return openvino.Tensor(whole)
    made = openvino.Tensor(port.get_element_type(), openvino.Shape(list(whole.shape)))
    bits = f"u{whole.dtype.itemsize}"
    made.data.view(bits)[...] = whole.view(bits)
    return made


def _array(tensor: Any) -> Array:
    """What came out; of a type that NumPy lacks openvino shows the bits as another one."""
    found = np.array(tensor.data)
    kind = named(tensor.get_element_type().get_type_name())
    if kind is None or kind.numpy is None or kind.numpy.isbuiltin == 1 or kind.numpy.itemsize != found.itemsize:
        return found
    return found.view(kind.numpy)


def _weights(path: str, start: int, added: Array) -> bytes:
    content = Path(path).read_bytes() if path else b""
    return content if not added.size else content + b"\0" * (start - len(content)) + added.tobytes()


def _said(error: Exception) -> str:
    """The last line of what the engine said, which is what is wrong; the others are places in its source."""
    text = str(error).strip()
    if _NO_MEMORY.search(text):
        raise MemoryError
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = _SOURCE.sub("", lines[-1]) if lines else type(error).__name__
    return said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."
