"""Shape rules of our own for operators that choose, cut, count and broadcast elements."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import onnx_ir as ir
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr, expr_to_dim  # type: ignore[import-untyped]

from onereshape.models.inference.asked import Asked, axis_of
from onereshape.models.inference.exact_broadcasts import meet
from onereshape.models.inference.formulas import Formulas, TheirDim, ceil_div

_FAR = 2**31 - 1
"""From here on the end of a Slice means the end of the dim."""


def squeeze(asked: Asked) -> None:
    """Without axes all dims of 1 go, which only numbers tell."""
    dims = asked.dims()
    given = asked.has(1)
    axes = asked.integers(1) if given else asked.attribute("axes")
    if dims is None:
        return asked.say(None)
    if axes is not None:
        gone = {axis_of(axis, len(dims)) for axis in axes}
        return asked.say([dim for axis, dim in enumerate(dims) if axis not in gone])
    if given:
        count = asked.count(1)
        return asked.say(None if not count or count > len(dims) else [None] * (len(dims) - count))
    numbers = all(isinstance(dim, int) for dim in dims)
    return asked.say([dim for dim in dims if dim != 1] if numbers else None)


def concat(asked: Asked) -> None:
    """The sizes along the axis, added up once; the other dims are those of the first input."""
    shapes = [asked.dims(index) for index in range(len(asked.node.inputs))]
    known = [dims for dims in shapes if dims is not None]
    if len(known) < len(shapes) or len({len(dims) for dims in known}) != 1:
        return asked.say(None)
    axis = axis_of(asked.attribute("axis", 1), len(known[0]))
    number = sum(dims[axis] for dims in known if isinstance(dims[axis], int))
    exprs = [dim_to_expr(dims[axis]) for dims in known if not isinstance(dims[axis], int)]
    total = None if None in exprs else expr_to_dim(sympy.Add(number, *exprs))
    return asked.say([*known[0][:axis], total, *known[0][axis + 1 :]])


def split(asked: Asked) -> None:
    """By sizes that are known; else evenly, where no input says otherwise."""
    dims, count = asked.dims(), len(asked.node.outputs)
    if dims is None:
        for output in range(count):
            asked.say(None, output)
        return
    axis = axis_of(asked.attribute("axis", 0), len(dims))
    sizes: Sequence[TheirDim | None] | None
    if asked.has(1):
        sizes = asked.context.get_symbolic_value(asked.node.inputs[1])
    else:
        sizes = asked.attribute("split")
        if sizes is None:
            # Before version 18 the dim divides; since then the last piece, and only that, may be smaller.
            sizes = _pieces(asked, dims[axis], count)
    for output in range(count):
        size = sizes[output] if sizes is not None and output < len(sizes) else None
        asked.say([*dims[:axis], size, *dims[axis + 1 :]], output)


def _pieces(asked: Asked, dim: TheirDim, count: int) -> list[TheirDim | None]:
    if isinstance(dim, int):
        piece = -(-dim // count)
        return [max(0, min(piece, dim - piece * place)) for place in range(count)]
    if asked.context.opset >= 18:
        return [None] * count
    expr = asked.formulas.expr(dim)
    return [asked.formulas.dim(sympy.floor(expr / count))] * count


def slice_(asked: Asked) -> None:
    """The exact number of elements, also where the dim is shorter than the cut; unknown where the cut is."""
    dims = asked.dims()
    if dims is None:
        return asked.say(None)
    old = asked.context.opset < 10
    words = [
        asked.attribute(name) if old else asked.integers(index)
        for index, name in enumerate(("starts", "ends", "axes", "steps"), 1)
    ]
    starts, ends, axes, steps = words
    unread = [not old and asked.has(index) and words[index - 1] is None for index in (1, 2, 3, 4)]
    if unread[2] or (axes is None and starts is None and asked.count(1) is None):
        return asked.say([None] * len(dims))
    number = len(next((each for each in (axes, starts, ends) if each is not None), [0] * (asked.count(1) or 0)))
    for place in range(number):
        axis = axis_of(place if axes is None else axes[place], len(dims))
        if starts is None or ends is None or unread[3]:
            dims[axis] = asked.new()
        else:
            step = 1 if steps is None else steps[place]
            length = cut(asked.formulas, dims[axis], starts[place], ends[place], step)
            dims[axis] = asked.new() if length is None else length
    return asked.say(dims)


def cut(formulas: Formulas, dim: TheirDim, start: int, end: int, step: int) -> TheirDim | None:
    """How many elements a slice takes of a dim; None where engines differ."""
    if step < 0 and end >= _FAR:  # "to the end", which is not the same end for all
        return None
    if isinstance(dim, int):
        # As in Python, but for a start before the first element: going backwards it is the first.
        first = 0 if step < 0 and start < -dim else start
        return len(range(*slice(first, end, step).indices(dim)))
    size = formulas.expr(dim)
    # What lies beyond the dim on the one side need not be clamped: the difference is below 0 then anyway.
    if step > 0:
        first = start if start >= 0 else _below(size, start, 0)
        last = size if end >= _FAR else sympy.Min(end, size) if end >= 0 else _below(size, end, 0)
        return formulas.dim(sympy.Max(0, ceil_div(last - first, step)))
    if start >= _FAR or start == -1:
        first = size - 1
    else:
        first = sympy.Min(start if start >= 0 else _below(size, start, 0), size - 1)
    last = end if end >= 0 else _below(size, end, -1)
    return formulas.dim(sympy.Max(0, ceil_div(first - last, -step)))


def _below(size: Any, place: int, low: int) -> Any:
    """A place that is counted from the end, and not before `low`."""
    return sympy.Integer(low) if place <= -_FAR else sympy.Max(low, size + place)


def einsum(asked: Asked) -> None:
    """A label that stands for several dims has the size that they have together: 1 gives way to another."""
    equation = asked.attribute("equation")
    text = "".join((equation.decode() if isinstance(equation, bytes) else equation).split())
    left, arrow, right = text.partition("->")
    terms, sizes, wide = left.split(","), dict[str, list[TheirDim]](), list[TheirDim]()
    for index, term in enumerate(terms):
        dims = asked.dims(index)
        if dims is None:
            return asked.say(None)
        before, dots, after = term.partition("...")
        width = len(dims) - len(before) - len(after)
        if width < 0 or (not dots and width):
            return asked.say(None)
        for label, dim in zip(before + after, dims[: len(before)] + dims[len(before) + width :], strict=True):
            sizes.setdefault(label, []).append(dim)
        middle = dims[len(before) : len(before) + width]
        wide = [_meet(a, b) for a, b in zip_longest(reversed(wide), reversed(middle), fillvalue=1)][::-1]
    if not arrow:
        once = sorted(label for label in sizes if left.count(label) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    before, dots, after = right.partition("...")
    found = {label: _all_meet(each) for label, each in sizes.items()}
    return asked.say([*(found[label] for label in before), *(wide if dots else []), *(found[label] for label in after)])


def _meet(one: TheirDim, other: TheirDim) -> TheirDim:
    met = meet(one, other)
    if met is None:
        raise ValueError(one, other)
    return met


def _all_meet(dims: Sequence[TheirDim]) -> TheirDim:
    found = dims[0]
    for dim in dims[1:]:
        found = _meet(found, dim)
    return found


def prelu(asked: Asked) -> None:
    """By onnxruntime both are broadcast, so nothing but that is taken for granted."""
    data, slope = asked.dims(0), asked.dims(1)
    if data is None or slope is None:
        return asked.say(None)
    return asked.say([_meet(a, b) for a, b in zip_longest(reversed(data), reversed(slope), fillvalue=1)][::-1])


def expand(asked: Asked) -> None:
    """Broadcast both ways: an entry of 1, or a target of fewer entries, leaves the dims of data as they are."""
    dims, count = asked.dims(), asked.count(1)
    target = asked.context.get_symbolic_value(asked.node.inputs[1]) if asked.has(1) else None
    if dims is None or (target is None and count is None):
        return asked.say(None)
    if target is None:
        return asked.say([None] * max(len(dims), count or 0))
    return asked.say([_meet(a, b) for a, b in zip_longest(reversed(dims), reversed(target), fillvalue=1)][::-1])


def compress(asked: Asked) -> None:
    """How many elements are kept is known only at run time, and of a constant only how many at most."""
    dims, axis = asked.dims(), asked.attribute("axis")
    if axis is None:
        return asked.say([None])
    if dims is None:
        return asked.say(None)
    dims[axis_of(axis, len(dims))] = asked.new()
    return asked.say(dims)


def unique(asked: Asked) -> None:
    """Along an axis whole slices are compared; else all elements, in one row."""
    dims, axis = asked.dims(), asked.attribute("axis")
    if axis is None:
        asked.say([count := asked.new()])
    elif dims is None:
        asked.say(None)
        count = None
    else:
        count = dims[axis_of(axis, len(dims))] = asked.new()
        asked.say(dims)
    kind = ir.DataType.INT64
    asked.say([count], 1, kind)
    asked.say([None], 2, kind)
    asked.say([count], 3, kind)


def nonzero(asked: Asked) -> None:
    """A row per axis; for a scalar onnxruntime has one row, and the specification none."""
    dims = asked.dims()
    asked.say([None if not dims else len(dims), None], 0, ir.DataType.INT64)


def range_(asked: Asked) -> None:
    """As many as there are steps, and none where the limit lies on the other side."""
    first = asked.node.inputs[0]
    kind = None if first is None else first.dtype
    if kind is None or not kind.is_integer():
        numbers = [asked.floats(index) for index in range(3)]
        if any(each is None or len(each) != 1 for each in numbers):
            return asked.say([None])
        start, limit, step = (Fraction(each[0].item()) for each in numbers if each is not None)
        exact = all(each.denominator == 1 for each in (start, limit, step)) and step
        return asked.say([max(0, -((start - limit) // step)) if exact else None])
    known = [asked.context.get_symbolic_value(value) for value in asked.node.inputs]
    if any(each is None or len(each) != 1 for each in known):
        return asked.say([None])
    start, limit, step = (asked.formulas.expr(each[0]) for each in known)
    if any(each is None for each in (start, limit, step)) or not step.is_Integer or step == 0:
        return asked.say([None])
    away = limit - start if step > 0 else start - limit
    return asked.say([asked.formulas.dim(sympy.Max(0, ceil_div(away, abs(int(step)))))])
