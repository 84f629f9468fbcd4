"""onnx's checker and its shape inference, which are native code, in a child process (`ground.isolation.room`)."""

from __future__ import annotations

from typing import Any

from onereshape.formats.refusals import cause
from onereshape.ground.isolation.messages import Arrays, Plain, bytes_array
from onereshape.ground.isolation.room import Ended, ask

DeclaredDims = tuple[int | str | None, ...]


def refused_by_checker(model: bytes) -> str | None:
    """What onnx.checker says against a model in full, None where it has no complaint."""
    try:
        said = ask(f"{__name__}:check", {}, {"model": bytes_array(model)})[0]["said"]
    except Ended as ended:
        return f"onnx.checker {ended}"
    return None if said is None else str(said)


def inferred_dims(model: bytes) -> dict[str, DeclaredDims]:
    """The dims that onnx infers for values inside a model; none where it cannot."""
    try:
        found = ask(f"{__name__}:infer", {}, {"model": bytes_array(model)})[0]["dims"]
    except Ended:
        return {}
    return {name: tuple(dims) for name, dims in found.items()}


# In the child


def check(_told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """Asks the checker."""
    import onnx  # noqa: PLC0415 - takes long

    try:
        onnx.checker.check_model(arrays["model"].tobytes(), full_check=True)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the checker's errors and those of shape inference
        return {"said": cause(error)}, {}
    return {"said": None}, {}


def infer(_told: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """Asks the inference."""
    import onnx  # noqa: PLC0415 - takes long

    try:
        model = onnx.ModelProto.FromString(arrays["model"].tobytes())
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - what cannot be inferred is simply not known
        return {"dims": {}}, {}
    known = [info for info in graph.value_info if info.type.tensor_type.HasField("shape")]
    return {"dims": {info.name: [_dim(dim) for dim in info.type.tensor_type.shape.dim] for info in known}}, {}


def _dim(dim: Any) -> int | str | None:
    return int(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or None
