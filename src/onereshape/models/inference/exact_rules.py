"""Shape rules of our own, for operators of which the engine's rule says more than is so.

Each was wrong somewhere in the small world of the law of shapes: where sizes or axes are known only at run time, where
a dim may be 0 or 1, or where rounding goes another way.  A rule takes the engine's context and a node, and says of the
outputs what holds in every run; what it does not say stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx_ir as ir
import sympy  # type: ignore[import-untyped]

from onereshape.models.inference.formulas import Formulas, TheirDim, ceil_div
from onereshape.models.inference.exact_broadcasts import meet

_FAR = 2**31 - 1
"""From here on the end of a Slice means the end of the dim."""
_FLOAT_EXACT = 2**24
"""Integers that a 32-bit float holds exactly."""


class Asked:
    """One node, and what its rule may ask and say."""

    def __init__(self, context: Any, node: ir.Node, formulas: Formulas) -> None:
        self.context = context
        self.node = node
        self.formulas = formulas

    def has(self, index: int) -> bool:
        """Whether the node has this input; one without a name is none."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def dims(self, index: int = 0) -> list[TheirDim] | None:
        """The dims of an input, None if not even their number is known."""
        value = self.node.inputs[index] if self.has(index) else None
        if value is None or value.shape is None:
            return None
        self.formulas.note(value.shape)
        return list(value.shape)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        found = self.node.attributes.get(name)
        return default if found is None else found.value

    def integers(self, index: int) -> list[int] | None:
        """The elements of an input, if all are known as numbers."""
        known = self.context.get_symbolic_value(self.node.inputs[index]) if self.has(index) else None
        return known if known is not None and all(isinstance(each, int) for each in known) else None

    def floats(self, index: int) -> list[Any] | None:
        """The elements of a constant of floats, each in its own type."""
        value = self.node.inputs[index] if self.has(index) else None
        tensor = None if value is None else ir.convenience.get_const_tensor(value)
        return None if tensor is None else list(np.asarray(tensor.numpy()).reshape(-1))

    def count(self, index: int) -> int | None:
        """How many elements a vector has."""
        dims = self.dims(index)
        return dims[0] if dims is not None and len(dims) == 1 and isinstance(dims[0], int) else None

    def say(self, dims: Sequence[TheirDim | None] | None, output: int = 0, dtype: Any = None) -> None:
        """The dims of an output, None for one that is not known; its type is that of the first input."""
        if output >= len(self.node.outputs):
            return
        value, first = self.node.outputs[output], self.node.inputs[0]
        value.shape = None if dims is None else ir.Shape([self.new() if dim is None else dim for dim in dims])
        if dtype is None and first is not None:
            dtype = first.dtype
        if dtype is not None:
            value.dtype = dtype

    def new(self) -> ir.SymbolicDim:
        """A dim of which nothing is known."""
        return self.context.new_symbolic_dim()  # type: ignore[no-any-return]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(axis)
    return axis % rank


def squeeze(asked: Asked) -> None:
    """Without axes all dims of 1 go, which only numbers tell."""
    dims = asked.dims()
    given = asked.has(1)
    axes = asked.integers(1) if given else asked.attribute("axes")
    if dims is None:
        return asked.say(None)
    if axes is not None:
        gone = {_axis(axis, len(dims)) for axis in axes}
        return asked.say([dim for axis, dim in enumerate(dims) if axis not in gone])
    if given:
        count = asked.count(1)
        return asked.say(None if not count or count > len(dims) else [None] * (len(dims) - count))
    numbers = all(isinstance(dim, int) for dim in dims)
    return asked.say([dim for dim in dims if dim != 1] if numbers else None)


def split(asked: Asked) -> None:
    """By sizes that are known; else evenly, where no input says otherwise."""
    dims, count = asked.dims(), len(asked.node.outputs)
    if dims is None:
        for output in range(count):
            asked.say(None, output)
        return
    axis = _axis(asked.attribute("axis", 0), len(dims))
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
        axis = _axis(place if axes is None else axes[place], len(dims))
        if starts is None or ends is None or unread[3]:
            dims[axis] = asked.new()
        else:
            step = 1 if steps is None else steps[place]
            dims[axis] = cut(asked.formulas, dims[axis], starts[place], ends[place], step)
    return asked.say(dims)


def cut(formulas: Formulas, dim: TheirDim, start: int, end: int, step: int) -> TheirDim:
    """How many elements a slice takes of a dim."""
    if isinstance(dim, int):
        return len(range(*slice(start, end, step).indices(dim)))
    size = formulas.expr(dim)
    # What lies beyond the dim on the one side need not be clamped: the difference is below 0 then anyway.
    if step > 0:
        first = start if start >= 0 else _below(size, start, 0)
        last = size if end >= _FAR else sympy.Min(end, size) if end >= 0 else _below(size, end, 0)
        return formulas.dim(sympy.Max(0, ceil_div(last - first, step)))
    first = size - 1 if start >= _FAR else sympy.Min(start, size - 1) if start >= 0 else _below(size, start, -1)
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
    dims[_axis(axis, len(dims))] = asked.new()
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
        count = dims[_axis(axis, len(dims))] = asked.new()
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


def pool(asked: Asked) -> None:
    """A window that begins beyond the data, in the padding at the end, is none."""
    dims = asked.dims()
    kernel = asked.attribute("kernel_shape")
    outputs = range(len(asked.node.outputs))
    types = [None, ir.DataType.INT64]
    if dims is None or kernel is None or len(kernel) != len(dims) - 2:
        for output in outputs:
            asked.say(None, output, types[output])
        return
    rank = len(kernel)
    strides = asked.attribute("strides") or [1] * rank
    dilations = asked.attribute("dilations") or [1] * rank
    pads = asked.attribute("pads") or [0] * (2 * rank)
    mode = asked.attribute("auto_pad", "NOTSET")
    ceil = bool(asked.attribute("ceil_mode", 0))
    found: list[TheirDim] = []
    for axis in range(rank):
        span = dilations[axis] * (kernel[axis] - 1) + 1
        size = asked.formulas.expr(dims[axis + 2])
        if mode in {"SAME_UPPER", "SAME_LOWER"}:  # with dilations onnxruntime pads by less than the specification
            same = asked.formulas.dim(ceil_div(size, strides[axis]))
            found.append(same if dilations[axis] == 1 else asked.new())
            continue
        begin, end = (0, 0) if mode == "VALID" else (pads[axis], pads[axis + rank])
        room = size + begin + end - span
        if ceil:
            windows = sympy.Min(ceil_div(room, strides[axis]) + 1, ceil_div(size + begin, strides[axis]))
        else:
            windows = sympy.floor(room / strides[axis]) + 1
        found.append(asked.formulas.dim(windows))
    for output in outputs:
        asked.say([*dims[:2], *found], output, types[output])


def resize(asked: Asked) -> None:
    """By sizes as they are given; by scales where floats cannot round another way."""
    dims = asked.dims()
    if dims is None:
        return asked.say(None)
    opset = asked.context.opset
    axes = asked.attribute("axes")
    places = list(range(len(dims))) if axes is None else [_axis(axis, len(dims)) for axis in axes]
    scales = asked.attribute("scales") if opset < 9 else asked.floats(1 if opset in {9, 10} else 2)
    sizes = asked.context.get_symbolic_value(asked.node.inputs[3]) if asked.has(3) else None
    policy = asked.attribute("keep_aspect_ratio_policy", "stretch")
    if scales and len(scales) == len(places) and asked.attribute("coordinate_transformation_mode") != _CROP:
        for axis, scale in zip(places, scales, strict=True):
            dims[axis] = _scaled(asked, dims[axis], scale)
    elif not scales and sizes and len(sizes) == len(places):
        chosen = sizes if policy == "stretch" else _kept(policy, [dims[axis] for axis in places], sizes)
        for axis, size in zip(places, chosen, strict=True):
            dims[axis] = asked.new() if size is None else size
    else:
        for axis in places:
            dims[axis] = asked.new()
    return asked.say(dims)


_CROP = "tf_crop_and_resize"


def _scaled(asked: Asked, dim: TheirDim, scale: Any) -> TheirDim:
    """The floor of a dim times a scale, which engines calculate in 32-bit floats."""
    exact = Fraction(float(scale))
    if isinstance(dim, int):
        floored = exact * dim // 1
        rounded = int(np.float32(scale) * np.float32(dim))
        return rounded if rounded == floored else asked.new()
    if exact.denominator > 64 or exact.numerator >= _FLOAT_EXACT:
        return asked.new()
    size = asked.formulas.expr(dim)
    return asked.formulas.dim(sympy.floor(size * exact.numerator / exact.denominator))


def _kept(policy: str, dims: Sequence[TheirDim], sizes: Sequence[TheirDim]) -> list[int | None]:
    """The sizes that keep the aspect ratio: all dims by one scale, rounded; a half may go either way."""
    numbers = [
        (dim, size) for dim, size in zip(dims, sizes, strict=True) if isinstance(dim, int) and isinstance(size, int)
    ]
    if len(numbers) < len(dims) or any(dim == 0 for dim, _ in numbers):
        return [None] * len(dims)
    ratios = [Fraction(size, dim) for dim, size in numbers]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [None if (scale * dim) % 1 == Fraction(1, 2) else round(scale * dim) for dim, _ in numbers]


Rule = Callable[[Asked], None]
RULES: dict[str, Rule] = {
    "Squeeze": squeeze,
    "Split": split,
    "Slice": slice_,
    "Einsum": einsum,
    "Expand": expand,
    "PRelu": prelu,
    "Compress": compress,
    "Unique": unique,
    "NonZero": nonzero,
    "Range": range_,
    "AveragePool": pool,
    "MaxPool": pool,
    "LpPool": pool,
    "Resize": resize,
    "Upsample": resize,
}
"""By operator of ONNX's own domain."""
