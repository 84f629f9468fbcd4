"""Reshape as a custom operator of torch: `onereshape::reshape`, for torch.compile and torch.export.

An operator of torch cannot give back its input's memory, so that inside a compiled graph a Reshape is a copy, which
the kernels make.  Its fake implementation follows the rule of `infer` with torch's symbols: a copied dim is data's own,
and an inferred one is the product of the dims that are not copied, divided by the fixed ones.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from onereshape.arrays import torch_arrays
from onereshape.semantics import output_dims
from onereshape.specs import Spec, spec as find_spec
from onereshape.target import Copied, Fixed, read_target

_SYMBOL = 1
"""Stands for a symbol while a target is read: a size, neither 0 nor -1."""


def traced(data: Any, target: Any, spec: Spec, zero_copies: bool, copy: bool | None) -> Any:
    """The operator in a graph that is being traced; `target` may hold symbols."""
    if copy is False:
        return data.view(symbolic_dims(tuple(data.shape), tuple(target), spec, zero_copies))
    return torch.ops.onereshape.reshape(data, list(target), spec.name, zero_copies)


def symbolic_dims(data: tuple[Any, ...], target: tuple[Any, ...], spec: Spec, zero_copies: bool) -> list[Any]:
    """The output dims where some are symbols; what must hold of the symbols is said to torch."""
    words = tuple(word if isinstance(word, int) else _SYMBOL for word in target)
    read = read_target(words, spec, zero_copies=zero_copies, data=None)
    if all(isinstance(dim, int) for dim in (*data, *target)):
        return list(output_dims(data, read))
    output: list[Any] = []
    copied = set()
    for axis, entry in enumerate(read.entries):
        if isinstance(entry, Copied):
            copied.add(axis)
            output.append(data[axis])
        else:
            output.append(target[axis] if isinstance(entry, Fixed) else -1)
    left = prod(dim for axis, dim in enumerate(data) if axis not in copied)
    others = prod(output[axis] for axis, entry in enumerate(read.entries) if isinstance(entry, Fixed))
    if read.inferred is None:
        torch._check(left == others)  # noqa: SLF001 - how operators say what must hold of symbols
    else:
        torch._check(left % others == 0)  # noqa: SLF001
        output[read.inferred] = left // others
    return output


@torch.library.custom_op(
    "onereshape::reshape",
    mutates_args=(),
    schema="(Tensor data, SymInt[] target, str spec, bool zero_copies) -> Tensor",
)
def _reshape(data: Any, target: Any, spec: str, zero_copies: bool) -> Any:
    row = find_spec(spec)
    dims = tuple(data.shape)
    output = output_dims(dims, read_target(tuple(target), row, zero_copies=zero_copies, data=dims))
    return torch_arrays.contiguous(data.detach()).view(output)


@_reshape.register_fake
def _(data: Any, target: Any, spec: str, zero_copies: bool) -> Any:
    return data.new_empty(symbolic_dims(tuple(data.shape), tuple(target), find_spec(spec), zero_copies))


def _keep_dims(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG001 - torch's signature
    ctx.dims = inputs[0].shape


def _gradient(ctx: Any, grad: Any) -> Any:
    return grad.reshape(ctx.dims), None, None, None


_reshape.register_autograd(_gradient, setup_context=_keep_dims)
