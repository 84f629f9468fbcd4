"""Operators that move every element, and each just once: where N goes is a question of row-major order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import each_home, node_words, only_first
from onereshape.graphs.batch_rules.marks import Mark, homes, marked, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, Unknown
from onereshape.graphs.folding.folded_operators import Unfolded, Use
from onereshape.graphs.free_rules.alignment import Axis, axis_of, size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.grown import Growing, Inputs, moved_axes
from onereshape.graphs.free_rules.meeting import ONE, same_dims
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted
from onereshape.graphs.operators.pointwise import batch_elementwise, grow_elementwise
from onereshape.graphs.operators.sequences import batch_identity, shape_same
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.condition import Condition, at_least
from onereshape.rule.sizes import Formula, Size, bounds, is_never_one, product

_AXES_ARE_INPUTS = 13


def shape_flatten(asking: Asking) -> Shapes:
    """Flatten, a matrix cut at `axis`: `(2, 3, 4)` by axis 1 gives `(2, 12)`."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims), 1, end=True)
    return [(product(dims[:axis]), product(dims[axis:]))]


def held_flatten(holding: Holding) -> Elements:
    """Flatten, a matrix cut at `axis`: elements in (2, 3, 4) by axis 1 are in (2, 12)."""
    data = holding.given(0)
    axis = holding.axis(data.ndim, 1, end=True)
    return [data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))]


def batch_flatten(view: BatchView) -> Iterator[BatchAnswer]:
    """Two dims: all before an axis, and all from it on."""
    mark, dims = only_first(view), view.dims(0)
    axis = view.axis(len(dims), 1, end=True)
    start, end = (0, axis) if mark.axis < axis else (axis, len(dims))
    outer = times(*dims[start : mark.axis], mark.outer)
    inner = times(mark.inner, *dims[mark.axis + 1 : end])
    yield BatchAnswer((Mark(int(mark.axis >= axis), outer, inner),))


def free_flatten(view: FreeView) -> Iterator[FreeAnswer]:
    """Two dims: all before an axis, and all from it on."""
    dims = view.dims(0)
    axis = view.axis(len(dims), 1, end=True)
    yield FreeAnswer((tuple(_merged(part) for part in (dims[:axis], dims[axis:])),))


def _merged(part: Sequence[Axis | None]) -> Axis | None:
    factors = [factor for axis in part if axis is not None for factor in axis]
    return None if None in part else axis_of(*factors)


def shape_squeeze(asking: Asking) -> Shapes:
    """Squeeze, axes of size 1 removed: `(1, 3, 1)` without axis 0 gives `(3, 1)`, without axes named `(3)`."""
    dims = asking.dims(0)
    axes = asking.numbers("axes", 1)
    if axes is not None and not len(axes):  # none to the specification, all dims of 1 to engines
        return [dims if all(isinstance(size, int) and size != 1 for size in dims) else None]
    if axes is not None:
        gone = {counted(axis, len(dims)) for axis in axes}
        return [tuple(size for axis, size in enumerate(dims) if axis not in gone)]
    if asking.has(1):
        count = asking.length(1)
        return [None if not count or count > len(dims) else asking.unknown(len(dims) - count)]
    if not all(is_never_one(size) or size == 1 or _empties(size) for size in dims):
        return [None]
    for size in dims:
        if size != 1 and not is_never_one(size):
            asking.at_least(size, 2)
    return [tuple(size for size in dims if size != 1)]


def _empties(size: Size) -> bool:
    """Whether a size that may be 1 is so only where a dim is 0."""
    least = bounds(size, 1)[0]
    return least is not None and least > 1


def held_squeeze(holding: Holding) -> Elements:
    """Squeeze, axes of size 1 removed: `[[5]]` without axis 0 is `[5]`."""
    axes = holding.numbers("axes", 1)
    if axes is not None and not axes:
        raise Unknown
    return [np.squeeze(holding.given(0), None if axes is None else tuple(axes))]


def batch_squeeze(view: BatchView) -> Iterator[BatchAnswer]:
    """Dims of size 1 go; where N would be one of them, a Reshape keeps it in another."""
    mark, dims = only_first(view), view.dims(0)
    given = view.axes(1, len(dims))
    conditions = _same_rank(view) if given is None else ()
    axes = [axis for axis, dim in enumerate(dims) if dim == 1] if given is None else given
    kept = mark.axis not in axes
    if kept and (given is not None or not all(isinstance(dim, int) for dim in dims)):
        edits = () if given is not None else (_with_axes(view, axes, conditions),)
        yield BatchAnswer((mark.at(mark.axis - sum(axis < mark.axis for axis in axes)),), edits)
        return
    output = [dim for axis, dim in enumerate(dims) if axis not in axes]
    places = homes(dims, mark, output, view.size)
    yield from _as_reshape(view, output, f"removes the axis that is {view.state.symbol}", places, conditions)


def _same_rank(view: BatchView) -> tuple[Condition, ...]:
    """Makes sure that a Squeeze without axes removes the same ones at all sizes, or at these."""
    found: dict[Condition, None] = {}
    for dim in (each for each in view.dims(0) if isinstance(each, Formula) and not is_never_one(each)):
        if not _empties(dim) or not view.state.declared(dim):
            raise Refused(f"it removes whatever has size 1, and only the run says whether {dim} has")
        found |= {at_least(view.state.facts.in_words(name), 1): None for name in sorted(dim.symbols)}
    if view.state.named and view.size == 1:
        raise Refused(f"it removes the axis that is {view.state.symbol} where that is 1, and keeps it elsewhere")
    return tuple(found)


def _with_axes(view: BatchView, axes: Sequence[int], conditions: tuple[Condition, ...]) -> Edit:
    """The edit that writes the removed axes into a Squeeze without axes, which would also remove an N of 1."""
    node = view.node

    def apply(build: Rewriter) -> None:
        if view.opset < _AXES_ARE_INPUTS:
            node.attributes["axes"] = ir.AttrInt64s("axes", axes)
        else:
            build.replace(node, "Squeeze", [node.inputs[0], build.integers(axes)])

    message = f"{view.label} removes whatever has size 1, which {view.state.symbol} may have"
    return view.edit(None, message, node_words(view), f"axes {list(axes)}", apply).given(conditions)


def _as_reshape(
    view: BatchView, output: Sequence[Size], does: str, places: Iterable[Mark], conditions: tuple[Condition, ...] = ()
) -> Iterator[BatchAnswer]:
    """The node written as a Reshape of input 0 to `output`, which keeps N at one of these places."""
    mark, dims, node = only_first(view), view.dims(0), view.node

    def answer(home: Mark) -> BatchAnswer:
        target = view.sayable(marked(dims, mark, view.batch), marked(output, home, view.batch))

        def apply(build: Rewriter) -> None:
            build.replace(node, "Reshape", [node.inputs[0], build.vector(target)])

        after = f"Reshape [{', '.join(map(str, target))}]"
        message = f"{view.label} {does}"
        return BatchAnswer((home,), (view.edit(None, message, node_words(view), after, apply).given(conditions),))

    yield from each_home(places, answer, lambda: f"it {does}, and no other can take it")


def free_squeeze(view: FreeView) -> Iterator[FreeAnswer]:
    """Dims of size 1 go."""
    dims = view.dims(0)
    axes = view.axes(1, len(dims))
    if axes is None:
        then = [None if axis is None else view.state.then(size_of(axis)) for axis in dims]
        axes = [axis for axis, size in enumerate(then) if size == 1]
    for axis in axes:
        own = dims[axis]
        if own is not None and view.move(size_of(own)):
            raise Refused(f"it removes axis {axis}, which is {size_of(own)}")
    yield FreeAnswer((tuple(own for axis, own in enumerate(dims) if axis not in axes),))


def grow_squeeze(growing: Growing) -> Inputs:
    view = growing.view
    axes = view.axes(1, view.rank(0))
    gone = [axis for axis, each in enumerate(view.dims(0)) if each == (1,)] if axes is None else axes
    return moved_axes(growing, [axis for axis in range(view.rank(0)) if axis not in gone])


def shape_unsqueeze(asking: Asking) -> Shapes:
    """Unsqueeze, axes of size 1 added: `(3)` with new axes 0 and 2 gives `(1, 3, 1)`."""
    dims = asking.dims(0)
    given = asking.numbers("axes", 1)
    if given is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(len(dims) + count)]
    rank = len(dims) + len(given)
    axes = {counted(axis, rank) for axis in given}
    if len(axes) != len(given):
        raise Refused("it names an axis twice")
    left = iter(dims)
    return [tuple(1 if axis in axes else next(left) for axis in range(rank))]


def held_unsqueeze(holding: Holding) -> Elements:
    """Unsqueeze, axes of size 1 added: `[5]` with a new axis 0 is `[[5]]`."""
    axes = holding.numbers("axes", 1)
    if axes is None:
        raise Unknown
    return [np.expand_dims(holding.given(0), tuple(axes))]


def batch_unsqueeze(view: BatchView) -> Iterator[BatchAnswer]:
    """New dims of size 1; one that stands where N is has it for itself, since it comes back there after a Squeeze."""
    mark, output = only_first(view), view.output_dims()
    axes = view.axes(1, len(output)) or []
    old = [axis for axis in range(len(output)) if axis not in axes]
    if view.size == 1 and not view.state.named and not mark.bare:
        bare = [home for home in homes(view.dims(0), mark, output, 1) if home.bare and home.axis in axes]
        if bare:
            yield from _as_reshape(view, output, f"adds an axis of 1 where {view.state.symbol} is", bare)
    yield BatchAnswer((mark.at(old[mark.axis]),))


def free_unsqueeze(view: FreeView) -> Iterator[FreeAnswer]:
    """New dims of size 1."""
    dims = list(view.dims(0))
    rank = len(view.output())
    axes = view.axes(1, rank) or []
    yield FreeAnswer((tuple(ONE if axis in axes else dims.pop(0) for axis in range(rank)),))


def grow_unsqueeze(growing: Growing) -> Inputs:
    view = growing.view
    rank = len(view.output())
    new = view.axes(1, rank) or []
    old = iter(range(rank))
    return moved_axes(growing, [None if axis in new else next(old) for axis in range(rank)])


def _order(view: NodeView, rank: int) -> list[int]:
    """Where each axis of a Transpose comes from."""
    order = list(view.attribute("perm", ())) or list(range(rank))[::-1]
    if sorted(order) != list(range(rank)):
        raise Refused(f"its perm {order} is no order of {rank} axes")
    return order


def shape_transpose(asking: Asking) -> Shapes:
    """Transpose, the axes in the order of `perm`: `(2, 3, 4), [2, 0, 1] -> (4, 2, 3)`."""
    dims = asking.dims(0)
    return [tuple(dims[axis] for axis in _order(asking, len(dims)))]


def held_transpose(holding: Holding) -> Elements:
    """The elements in another order."""
    data = holding.given(0)
    return [np.transpose(data, _order(holding, data.ndim))]


def batch_transpose(view: BatchView) -> Iterator[BatchAnswer]:
    """The axes in another order."""
    mark = only_first(view)
    yield BatchAnswer((mark.at(_order(view, view.rank(0)).index(mark.axis)),))


def grow_transpose(growing: Growing) -> Inputs:
    """The axes where they come from."""
    return moved_axes(growing, _order(growing.view, growing.view.rank(0)))


def held_identity(holding: Holding) -> Elements:
    """Identity: the elements of input 0."""
    return [holding.given(0)]


def fold_flatten(use: Use) -> list[Array]:
    data, axis = use.given(0), use.attribute("axis", 1)
    axis = axis + data.ndim if axis < 0 else axis
    return [data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))]


def fold_squeeze(use: Use) -> list[Array]:
    data, axes = use.given(0), use.list("axes", 1)
    away = None if axes is None else tuple(axis + data.ndim if axis < 0 else axis for axis in axes)
    if away is not None and any(not 0 <= axis < data.ndim or data.shape[axis] != 1 for axis in away):
        raise Unfolded
    return [data.squeeze(away)]


_MOVES = Record(moves=True, keeps=True, beside=True, folds=True)
_ORDERED = _MOVES._replace(in_order=True)

RECORDS = {
    "Flatten": _ORDERED._replace(
        shape=shape_flatten,
        elements=held_flatten,
        batch=batch_flatten,
        free=free_flatten,
        by_place=True,
        fold=fold_flatten,
    ),
    "Squeeze": _ORDERED._replace(
        shape=shape_squeeze,
        elements=held_squeeze,
        batch=batch_squeeze,
        several=True,
        free=free_squeeze,
        grows=grow_squeeze,
        by_place=True,
        takes={1: "axes of one"},
        fold=fold_squeeze,
    ),
    "Unsqueeze": _ORDERED._replace(
        shape=shape_unsqueeze,
        elements=held_unsqueeze,
        batch=batch_unsqueeze,
        several=True,
        free=free_unsqueeze,
        grows=grow_unsqueeze,
        takes={1: "new axes"},
    ),
    "Transpose": _MOVES._replace(
        shape=shape_transpose, elements=held_transpose, batch=batch_transpose, free=by_shape, grows=grow_transpose
    ),
    "Identity": _ORDERED._replace(
        shape=shape_same,
        elements=held_identity,
        batch=batch_identity(batch_elementwise),
        free=same_dims,
        grows=grow_elementwise,
    ),
}
