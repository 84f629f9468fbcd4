"""Reshape while torch compiles, exports or records: torch's own reshape, with the dims that the rule gives.

So it is a view wherever one exists, and fuses with what is around it.  Dims may be symbols then.  The rule is that of
`infer`: a copied dim is data's own, and an inferred one is the product of the dims that are not copied, divided by the
fixed ones.  What must hold of symbols is said to torch, which asks it where they get their sizes.

In a model that is exported to ONNX a Reshape is the operator of that name, with the words of its target.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false
from torch.fx.experimental.symbolic_shapes import guard_or_false

from onereshape.arrays.view_or_copy import view_strides
from onereshape.ground.errors import ReshapeError
from onereshape.rule.semantics import output_dims
from onereshape.rule.specs import spec as find_spec
from onereshape.rule.target import Copied, Fixed, Inferred, Target, read_target

_SYMBOL = 1
"""Stands for a symbol while a target is read: a size, neither 0 nor -1."""

TracedDims = tuple[Any, ...]


class _SaidError(ReshapeError):
    """A refusal while torch compiles, which shows how an error writes itself rather than what it says."""

    def __repr__(self) -> str:
        return str(self)


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def reshape(data: Any, words: TracedDims, name: str, zero_copies: bool, copy: bool | None) -> Any:
    """A Reshape of a specification in a graph; dims of data and words of the target may be symbols.

    torch.compile does not look into it, only at what torch's operators do in it.
    """
    try:
        return _traced(data, words, name, zero_copies, copy)
    except ReshapeError as error:
        raise _SaidError(
            error.code, data=error.data, target=error.target, spec=error.spec, axis=error.axis, **error.fields
        ) from None


def _traced(data: Any, words: TracedDims, name: str, zero_copies: bool, copy: bool | None) -> Any:
    dims, words = tuple(data.shape), tuple(map(_word, words))
    target = _read(words, name, zero_copies, dims)
    numbers = all(map(_is_number, (*dims, *words)))
    output = output_dims(dims, target) if numbers else _symbolic_dims(dims, words, target)
    if copy is None and torch.onnx.is_in_onnx_export() and _has_words(data, words):
        shape = torch.tensor(_onnx_words(target))
        flag: dict[str, Any] = {"allowzero": int(not zero_copies)}
        return torch.onnx.ops.symbolic("Reshape", (data, shape), flag, dtype=data.dtype, shape=output)
    if copy is None and not numbers and _splits(dims, output) and is_contiguous_or_false(data):
        data = data.reshape(-1)  # from where torch asks nothing of the symbols
    return _reshaped(data, output, copy)


def _splits(dims: TracedDims, output: TracedDims) -> bool:
    """Whether symbols are in what is taken apart: torch would ask how its sizes lie in one another, and remember it."""
    same = 0
    while same < min(len(dims), len(output)) and dims[same] is output[same]:
        same += 1
    rest = (*dims[same:], *output[same:])
    return len(output) - same > 1 and not all(map(_is_number, rest))


def recorded(data: Any, words: TracedDims, name: str, zero_copies: bool, copy: bool | None) -> Any:
    """A reshape while torch.jit records: a dim of data is a number that is followed, or a word of ONNX's target."""
    sizes, numbers = _unrecorded(data, words)
    target = _read(numbers, name, zero_copies, sizes)
    output = output_dims(sizes, target)
    if copy is False and view_strides(sizes, data.stride(), 1, output) is None:
        raise ReshapeError("needs-copy", strides=list(data.stride()), output=list(output))
    if copy is None and torch.onnx.is_in_onnx_export() and _has_words(data, words):
        return _ExportedReshape.apply(data, output, _onnx_words(target), not zero_copies)  # type: ignore[no-untyped-call]
    dims = data.shape
    followed: list[Any] = []
    for axis, (entry, word) in enumerate(zip(target.entries, words, strict=True)):
        if isinstance(entry, Inferred):
            followed.append(-1 if 0 not in output else output[axis])
        else:
            followed.append(dims[axis] if isinstance(entry, Copied) else word)
    return _reshaped(data, tuple(followed), copy)


def _reshaped(data: Any, output: TracedDims, copy: bool | None) -> Any:
    if copy:
        return data.clone(memory_format=torch.contiguous_format).view(output)
    if copy is None:
        return data.reshape(output)
    try:
        return data.view(output)
    except (RuntimeError, ValueError):  # the strides may be symbols too
        strides, sizes = (tuple(map(int, each)) for each in (data.stride(), output))
        if view_strides(tuple(map(int, data.shape)), strides, 1, sizes) is None:
            raise ReshapeError("needs-copy", strides=list(strides), output=list(sizes)) from None
        raise


def _read(words: TracedDims, name: str, zero_copies: bool, dims: TracedDims) -> Target:
    numbers = tuple(word if _is_number(word) else _SYMBOL for word in words)
    return read_target(numbers, find_spec(name), zero_copies=zero_copies, data=_shown(dims))


def _word(word: Any) -> Any:
    """A word of a target: a number, or a symbol that is a size; any integer of the user's may come as a symbol."""
    if not _is_number(word) and (guard_or_false(word < 0) or guard_or_false(word == 0)):
        return int(word)
    return word


def _is_number(size: Any) -> bool:
    return type(size) is int


def _shown(dims: TracedDims) -> TracedDims:
    """Dims as a message has them."""
    return tuple(dim if _is_number(dim) else str(dim) for dim in dims)


def _symbolic_dims(dims: TracedDims, words: TracedDims, target: Target) -> TracedDims:
    """The output dims where some are symbols; what must hold of the symbols is said to torch."""
    output: list[Any] = []
    copied = set()
    for axis, entry in enumerate(target.entries):
        if isinstance(entry, Copied):
            if axis >= len(dims):
                fields = {"axis": axis, "rank": len(dims)}
                raise ReshapeError("copy-beyond-rank", data=_shown(dims), target=words, spec=target.spec, **fields)
            copied.add(axis)
            output.append(dims[axis])
        else:
            output.append(words[axis] if isinstance(entry, Fixed) else -1)
    left = prod(dim for axis, dim in enumerate(dims) if axis not in copied)
    fixed = prod(size for size, entry in zip(output, target.entries, strict=True) if isinstance(entry, Fixed))
    try:
        torch._check(left == fixed if target.inferred is None else left % fixed == 0)  # noqa: SLF001 - as operators do
    except RuntimeError:  # not for the sizes that it is traced with
        numbers = read_target(map(int, words), target.spec, zero_copies=bool(copied), data=None)
        output_dims(tuple(map(int, dims)), numbers)
        raise
    if target.inferred is not None:
        output[target.inferred] = left // fixed
    return tuple(output)


def _unrecorded(data: Any, words: TracedDims) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims of data and the words of a target as numbers, without a trace of their being asked for."""
    state = torch._C._get_tracing_state()  # noqa: SLF001 - there is no other way to look without being seen
    torch._C._set_tracing_state(None)  # type: ignore[attr-defined]  # noqa: SLF001
    try:
        return tuple(data.shape), tuple(word if _is_number(word) else int(word) for word in words)
    finally:
        torch._C._set_tracing_state(state)  # type: ignore[attr-defined]  # noqa: SLF001


# ONNX


def _has_words(data: Any, words: TracedDims) -> bool:
    """Whether the target is numbers, and data no complex ones, which the exporters write as pairs."""
    return all(map(_is_number, words)) and not data.dtype.is_complex


def _onnx_words(target: Target) -> list[int]:
    return [
        entry.size if isinstance(entry, Fixed) else 0 if isinstance(entry, Copied) else -1 for entry in target.entries
    ]


class _ExportedReshape(torch.autograd.Function):
    """A Reshape that torch's older exporter writes as it was asked."""

    @staticmethod
    def forward(ctx: Any, data: Any, output: Any, words: Any, literal: bool) -> Any:  # noqa: ARG004 - torch's signature
        ctx.dims = data.shape
        return data.reshape(output)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.reshape(ctx.dims), None, None, None

    @staticmethod
    def symbolic(g: Any, data: Any, output: Any, words: Any, literal: bool) -> Any:  # noqa: ARG004
        shape = g.op("Constant", value_t=torch.tensor(words))
        return g.op("Reshape", data, shape, allowzero_i=1) if literal and 0 in words else g.op("Reshape", data, shape)
