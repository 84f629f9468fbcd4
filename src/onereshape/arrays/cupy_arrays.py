"""CuPy arrays: a view whenever strides allow one; large copies by our GPU kernels, through DLPack, where torch is."""

from __future__ import annotations

import sys
from typing import Any

from onereshape.arrays import namespace_arrays
from onereshape.arrays.view_or_copy import view_strides
from onereshape.ground.errors import ReshapeError

dims = namespace_arrays.dims
layout = namespace_arrays.layout
tracing = namespace_arrays.tracing
type_name = namespace_arrays.type_name


def integers(shape: Any) -> Any:
    """A shape tensor as a NumPy array: a few integers, fetched from the device."""
    return shape.get()


def quickest(data: Any, output: tuple[int, ...]) -> Any:  # noqa: ARG001 - as in every library
    return reshaped


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None = None) -> Any:
    strides = view_strides(data.shape, data.strides, data.itemsize, output)
    if copy is False and strides is None:
        raise ReshapeError("needs-copy", strides=list(data.strides), output=list(output))
    try:
        if strides is not None and not copy:
            return data.reshape(output)
        return _contiguous(data).reshape(output)
    except Exception as error:  # noqa: BLE001 - whatever CuPy or CUDA says
        raise ReshapeError("array-limit", library="CuPy", output=list(output), why=f"it says {error}") from None


def _contiguous(data: Any) -> Any:
    """A copy in C order on the same device; without torch, which the kernels need, by CuPy itself."""
    torch = sys.modules.get("torch")
    if torch is None or data.size == 0 or data.dtype.kind not in "biufc":
        return data.copy(order="C")
    from onereshape.arrays import torch_cuda  # noqa: PLC0415 - torch is there

    try:
        tensor = torch.from_dlpack(data)
    except (BufferError, RuntimeError, TypeError, ValueError):  # a layout or a type that DLPack cannot say
        return data.copy(order="C")
    cupy = sys.modules["cupy"]
    return cupy.from_dlpack(torch_cuda.contiguous(tensor))
