"""work(): how much a folded operator would make, or calculate, told from its inputs before anything is made.

A node of a few bytes can ask for more elements than any memory holds; a product of two small matrices can take hours.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from onereshape.models.batch.folded_operators import Unknown, Use

_STEPS_PER_ELEMENT = 64
"""How many multiplications a product of matrices may take for each element that an array may have."""


def work(use: Use) -> int:
    """About how many elements the output has; of a product, how many steps it takes, in elements."""
    rule = _RULES.get(use.node.op_type, _broadcast)
    try:
        return rule(use)
    except (ValueError, IndexError, OverflowError, ZeroDivisionError):
        raise Unknown from None  # what breaks the rules of its operator has no answer


def _broadcast(use: Use) -> int:
    """The inputs with each other; most operators that do not broadcast make no more than they are given."""
    arrays = [array for array in use.inputs if array is not None]
    largest = sum(array.size for array in arrays)
    if use.node.op_type not in _BROADCAST:
        return largest
    return max(largest, prod(np.broadcast_shapes(*(array.shape for array in arrays))))


def _numbers(use: Use, index: int) -> list[int]:
    return [int(each) for each in use.given(index).reshape(-1)]


def _expand(use: Use) -> int:
    return prod(np.broadcast_shapes(use.given(0).shape, tuple(_numbers(use, 1))))


def _range(use: Use) -> int:
    start, limit, step = (use.given(index).reshape(()).item() for index in range(3))
    return max(0, int((limit - start) / step) + 1)


def _pad(use: Use) -> int:
    shape, by = use.given(0).shape, use.list("pads", 1) or []
    given = use.optional(3)
    axes = range(len(shape)) if given is None else [int(axis) for axis in given]
    grown = list(shape)
    for place, axis in enumerate(axes):
        grown[axis] += max(0, int(by[place])) + max(0, int(by[place + len(axes)]))
    return int(prod(grown))


def _gather(use: Use) -> int:
    data, axis = use.given(0).shape, int(use.attribute("axis", 0))
    return int(use.given(1).size * prod(data[:axis]) * prod(data[axis:][1:]))


def _gather_nd(use: Use) -> int:
    data, indices = use.given(0), use.given(1)
    depth = indices.shape[-1] + int(use.attribute("batch_dims", 0))
    return int(indices.size * prod(data.shape[depth:]))


def _product(use: Use) -> int:
    """Matrices, and as many of them as both sides have together."""
    left, right = (use.given(index).shape for index in range(2))
    several = prod(np.broadcast_shapes(left[:-2], right[:-2]))
    steps = several * prod(left[-2:]) * max((1, *right[-2:]))
    return int(max(prod(left), prod(right), steps // _STEPS_PER_ELEMENT))


def _einsum(use: Use) -> int:
    """All labels with each other; each dim counts once, an ellipsis as what it stands for."""
    sizes: dict[str, int] = {}
    terms = use.attribute("equation", b"").decode().partition("->")[0].split(",")
    for index, term in enumerate(terms):
        shape, labels = use.given(index).shape, "".join(term.split())
        before, _, after = labels.partition("...")
        middle = shape[len(before) : len(shape) - len(after)]
        named = [*zip(before, shape, strict=False), *zip(after[::-1], shape[::-1], strict=False)]
        for label, size in [*named, *((f".{place}", size) for place, size in enumerate(middle[::-1]))]:
            sizes[label] = max(sizes.get(label, 1), size)
    return prod(sizes.values()) // _STEPS_PER_ELEMENT


_BROADCAST = frozenset(
    "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min "
    "Mod Mul Or PRelu Pow Sub Sum Where Xor".split()
)
_RULES: dict[str, Callable[[Use], int]] = {
    "ConstantOfShape": lambda use: prod(_numbers(use, 0)),
    "Einsum": _einsum,
    "Expand": _expand,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Gemm": _product,
    "MatMul": _product,
    "OneHot": lambda use: use.given(0).size * int(use.given(1).reshape(()).item()),
    "Pad": _pad,
    "Range": _range,
    "Tile": lambda use: use.given(0).size * prod(_numbers(use, 1)),
}
