"""Where each dim of an output comes from, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onereshape.rule.dims import Dim, Interval, Product, Size, multiply, read_dim
from onereshape.rule.specs import Spec


def explain(data: Sequence[Dim] | None, target: Sequence[Dim], spec: Spec, *, zero_copies: bool) -> list[str]:
    """One phrase for each dim of the output that `target` makes of `data`.

    >>> from onereshape.rule.specs import spec
    >>> explain((2, 3, 4), (0, 4, -1), spec("onnx"), zero_copies=True)
    ['copied from data[0]', 'fixed by target[1]', 'inferred: 24 / 8']
    >>> explain(("N", 6), (-1, 3), spec("onnx"), zero_copies=True)
    ['inferred: 6*N / 3', 'fixed by target[1]']
    """
    sizes = None if data is None else [_size(dim, "data", axis) for axis, dim in enumerate(data)]
    words = [_size(dim, "target", axis) for axis, dim in enumerate(target)]
    copied = {axis for axis, word in enumerate(words) if word == 0 and zero_copies}
    return [_phrase(axis, sizes, words, copied, spec) for axis in range(len(words))]


def _size(dim: Any, what: str, axis: int) -> Size:
    """A formula for a dim: the name of its place, if nothing better is known."""
    size = read_dim(dim, what, axis, -1)
    return Product(1, (f"{what}[{axis}]",)) if isinstance(size, Interval) else size


def _phrase(axis: int, data: list[Size] | None, words: list[Size], copied: set[int], spec: Spec) -> str:
    word = words[axis]
    if axis in copied:
        return f"copied from data[{axis}]"
    if word == Product(1, (f"target[{axis}]",)):
        return f"known only at run time, by target[{axis}]"
    return _division(axis, data, words, copied, spec) if word == -1 else f"fixed by target[{axis}]"


def _division(inferred: int, data: list[Size] | None, words: list[Size], copied: set[int], spec: Spec) -> str:
    if data is None:
        return "inferred: what keeps the number of elements"
    others = [data[axis] if axis in copied else word for axis, word in enumerate(words) if axis != inferred]
    top, bottom, note = multiply(data), multiply(others), ""
    if not bottom.coefficient and spec.empty_copy_beside_inferred:
        top = multiply(size for axis, size in enumerate(data) if axis not in copied)
        bottom = multiply(word for axis, word in enumerate(words) if axis != inferred and axis not in copied)
        note = ", among the dims that are not copied"
    below = f"({bottom})" if "*" in str(bottom) else str(bottom)
    return f"inferred: {top} / {below}{note}"
