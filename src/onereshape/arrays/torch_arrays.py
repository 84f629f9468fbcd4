"""PyTorch tensors: views wherever the strides allow them, copies by our kernels, gradients through both.

While torch compiles or exports, a Reshape is one custom operator, whose dims may be symbols; see `torch_operator`.
"""

from __future__ import annotations

from typing import Any

import torch

from onereshape.arrays import cpu_copy
from onereshape.arrays.layout import view_strides
from onereshape.errors import ReshapeError


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
    """What a remembered answer depends on."""
    return data.dtype, data.shape, data.stride() if data.layout is torch.strided else None, data.is_cuda


def quickest(data: Any, output: tuple[int, ...]) -> Any:
    """What reshapes other tensors of the same layout: torch alone, where it would not copy or the copy is small."""
    small = data.numel() * data.element_size() < SMALLEST.get(data.device.type, _NEVER)
    if not small and view_strides(tuple(data.shape), data.stride(), 1, output) is None:
        return reshaped
    return _by_torch


def _by_torch(data: Any, output: tuple[int, ...], copy: bool | None) -> Any:
    try:
        return data.reshape(output)
    except RuntimeError:  # said in our words
        return reshaped(data, output, copy)


def tracing() -> bool:
    """Whether torch compiles or exports: then dims may be symbols, and all that is done must be torch's operators."""
    return torch.compiler.is_compiling()


def traced(data: Any, target: Any, spec: Any, zero_copies: bool, copy: bool | None) -> Any:
    """The operator in a graph that is being traced."""
    from onereshape.arrays import torch_operator  # noqa: PLC0415 - registers an operator, which takes long

    return torch_operator.traced(data, target, spec, zero_copies, copy)


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None) -> Any:
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
    if data.is_conj() or data.is_neg() or data.numel() == 0 or data.is_quantized:
        return False
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor(data)  # noqa: SLF001 - vmap and grad have no other sign
    return not wrapped and torch.autograd.forward_ad._current_level < 0  # noqa: SLF001 - nor has forward mode


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
        from onereshape.arrays import torch_cuda  # noqa: PLC0415 - Triton is not always there

        return torch_cuda.contiguous(data)
    itemsize = data.element_size()
    if data.device.type != "cpu" or not cpu_copy.available() or data.numel() * itemsize < SMALLEST["cpu"]:
        return data.clone(memory_format=torch.contiguous_format)
    result = torch.empty(data.shape, dtype=data.dtype)
    strides = tuple(stride * itemsize for stride in data.stride())
    cpu_copy.copied_between(tuple(data.shape), strides, itemsize, data.data_ptr(), result.data_ptr())
    return result


def _limit(output: tuple[int, ...], why: str) -> ReshapeError:
    return ReshapeError("array-limit", library="PyTorch", output=list(output), why=why)
