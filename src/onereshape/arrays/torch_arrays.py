"""PyTorch tensors: views wherever the strides allow them, copies by our kernels, gradients through both.

While torch compiles, exports or records, dims may be symbols, and a Reshape is torch's own; see `torch_tracing`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import _C
from torch.autograd import forward_ad

from onereshape.arrays import cpu_copy
from onereshape.arrays.view_or_copy import view_strides
from onereshape.ground.errors import ReshapeError

try:
    from onereshape.arrays import _calls
except ImportError:  # installed without a compiler
    pass
else:
    if _exchange := getattr(torch.Tensor, "__dlpack_c_exchange_api__", None):  # what the C++ reads tensors through
        _calls.know_torch(torch.Tensor, _exchange, _C._is_tracing)  # noqa: SLF001 - what torch.jit.is_tracing asks

SMALLEST = {"cpu": cpu_copy.SMALLEST, "cuda": 4 << 20}
"""The bytes of a copy, on each kind of device, below which torch's own is as fast; on other devices it always is."""

_NEVER = 1 << 63


def dims(data: Any) -> tuple[int, ...]:
    return tuple(data.shape)


def type_name(data: Any) -> str:
    return str(data.dtype).removeprefix("torch.")


def integers(shape: Any) -> Any:
    """A shape tensor as a NumPy array: a few integers, wherever they are."""
    return shape.detach().cpu().numpy()


def layout(data: Any) -> tuple[Any, ...]:
    """The element type, dims and strides of data, and whether a GPU holds it: a remembered answer depends on these."""
    return data.dtype, data.shape, data.stride() if data.layout is torch.strided else None, data.is_cuda


def quickest(data: Any, output: tuple[int, ...]) -> Any:
    """The function that reshapes tensors of this layout from now on: torch's own for a view or a small copy."""
    if view_strides(tuple(data.shape), data.stride(), 1, output) is None:
        if data.numel() * data.element_size() < SMALLEST.get(data.device.type, _NEVER):
            return torch.Tensor.reshape
        return _cuda().quickest(data, still_plain, reshaped) if data.is_cuda and _plain(data) else reshaped
    try:
        data.view(output)
    except RuntimeError:  # torch overlooks a view
        return reshaped
    return torch.Tensor.view


def tracing(data: Any) -> bool:
    """Whether torch records what is done: then dims may be symbols, and all that is done must be torch's operators."""
    return torch.compiler.is_compiling() or _recording() or any(type(dim) is not int for dim in data.shape)


def _recording() -> bool:
    found: bool = torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    return found


def traced(data: Any, target: Any, spec: Any, zero_copies: bool, copy: bool | None) -> Any:
    """The operator in a graph that is being traced."""
    from onereshape.arrays import torch_tracing  # noqa: PLC0415 - imports torch's compiler, which takes long

    if _recording():
        return torch_tracing.recorded(data, target, spec.name, zero_copies, copy)
    return torch_tracing.reshape(data, target, spec.name, zero_copies, copy)


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None = None) -> Any:
    if data.layout is not torch.strided:
        raise _limit(output, f"data is {str(data.layout).removeprefix('torch.')}, not strided")
    strides = view_strides(tuple(data.shape), data.stride(), 1, output)
    if copy is False and strides is None:
        raise ReshapeError("needs-copy", strides=list(data.stride()), output=list(output))
    try:
        if strides is not None and not copy:
            return _view(data, output, strides)
        if not copy and data.numel() * data.element_size() < SMALLEST.get(data.device.type, _NEVER):
            return data.reshape(output)
        return contiguous(data).view(output)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise _limit(output, f"it says {str(error).partition(chr(10))[0]}") from None


def _view(data: Any, output: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    try:
        return data.view(output)
    except RuntimeError:  # torch overlooks a view
        return data.as_strided(output, strides)


def contiguous(data: Any) -> Any:
    """A copy in C order, differentiable where data is."""
    if not _plain(data):
        return data.clone(memory_format=torch.contiguous_format)
    if data.requires_grad and torch.is_grad_enabled():
        return _Contiguous.apply(data)  # type: ignore[no-untyped-call]
    return _copied(data)


def _plain(data: Any) -> bool:
    """Whether the elements are the bytes in memory: no lazy conjugate or negative, no subclass, nothing traced."""
    kind = type(data)
    if kind is not torch.Tensor and kind is not torch.nn.Parameter:
        return False
    return data.numel() != 0 and not data.is_quantized and still_plain(data)


def still_plain(data: Any) -> bool:
    """Whether a tensor is plain, where another of its class, type and dims is."""
    if data.is_neg() or data.is_conj():
        return False
    if _C._len_torch_dispatch_stack():  # noqa: SLF001 - someone watches torch's operators
        return False
    # vmap and grad have no other sign, nor has forward mode.
    return not _C._functorch.is_functorch_wrapped_tensor(data) and forward_ad._current_level < 0  # noqa: SLF001


class _Contiguous(torch.autograd.Function):
    """The copy, whose gradient is the gradient itself: dims and elements stay the same."""

    @staticmethod
    def forward(ctx: Any, data: Any) -> Any:  # noqa: ARG004 - torch's signature
        return _copied(data)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # noqa: ARG004
        return grad


def _copied(data: Any) -> Any:
    if data.device.type == "cuda":
        return _cuda().contiguous(data)
    itemsize = data.element_size()
    if data.device.type != "cpu" or not cpu_copy.available() or data.numel() * itemsize < SMALLEST["cpu"]:
        return data.clone(memory_format=torch.contiguous_format)
    result = torch.empty(data.shape, dtype=data.dtype)
    strides = tuple(stride * itemsize for stride in data.stride())
    cpu_copy.copied_between(tuple(data.shape), strides, itemsize, data.data_ptr(), result.data_ptr())
    return result


def _cuda() -> Any:
    from onereshape.arrays import torch_cuda  # noqa: PLC0415 - only where there is a GPU

    return torch_cuda


def _limit(output: tuple[int, ...], why: str) -> ReshapeError:
    return ReshapeError("array-limit", library="PyTorch", output=list(output), why=why)
