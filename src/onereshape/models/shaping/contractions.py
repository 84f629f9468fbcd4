"""Shapes of operators that sum over axes, or look along one: products of matrices, reductions, recurrences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul
from typing import Any

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.facts.elements import Array, Holding, Unknown, array_of
from onereshape.models.node_view import Refused
from onereshape.models.record import Record
from onereshape.sizes import Size

Shapes = Sequence[Dims | None]
REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)


def product_of(left: int, right: int) -> Callable[[Asking], Shapes]:
    """Products of the last two axes of these inputs; those before them broadcast."""

    def rule(asking: Asking) -> Shapes:
        return [_product(asking, asking.dims(left), asking.dims(right))]

    return rule


def _product(asking: Asking, left: Dims, right: Dims) -> Dims:
    if not len(left) or not len(right):
        raise Refused("it multiplies a scalar")
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (*asking.broadcast(tuple(left[:-2]), tuple(right[:-2])), *rows, *columns)


def gemm(asking: Asking) -> Shapes:
    """A matrix times a matrix."""
    left, right = asking.dims(0), asking.dims(1)
    if len(left) != 2 or len(right) != 2:
        raise Refused("its inputs are no matrices")
    return [(left[bool(asking.attribute("transA", 0))], right[not asking.attribute("transB", 0)])]


def einsum(asking: Asking) -> Shapes:
    """A label that stands for several dims has the size that they have together: 1 gives way to another."""
    text = "".join(str(asking.attribute("equation")).split())
    left, arrow, right = text.partition("->")
    sizes: dict[str, Size] = {}
    wide: Dims = ()
    for index, term in enumerate(left.split(",")):
        dims = tuple(asking.dims(index))
        before, dots, after = term.partition("...")
        width = len(dims) - len(before) - len(after)
        if width < 0 or (not dots and width):
            raise Refused("its equation does not name the dims of its inputs")
        for label, size in zip(before + after, dims[: len(before)] + dims[len(before) + width :], strict=True):
            sizes[label] = asking.meet(sizes[label], size) if label in sizes else size
        wide = asking.broadcast(wide, dims[len(before) : len(before) + width])
    if not arrow:
        once = sorted(label for label in sizes if left.count(label) == 1)
        right = ("..." if "..." in left else "") + "".join(once)
    before, dots, after = right.partition("...")
    if not set(before + after) <= sizes.keys():
        raise Refused("its equation asks for letters that no input has")
    return [(*(sizes[label] for label in before), *(wide if dots else ()), *(sizes[label] for label in after))]


def reduction(asking: Asking) -> Shapes:
    """One entry in place of many."""
    dims = asking.dims(0)
    kept = asking.attribute("keepdims", 1)
    axes = asking.attribute("axes")
    if asking.has(1):
        axes = asking.integers(1)
        if axes is None:
            count = asking.length(1)
            if kept:
                return [asking.unknown(len(dims))]
            return [None if not count or count > len(dims) else asking.unknown(len(dims) - count)]
    if not axes:
        if asking.attribute("noop_with_empty_axes", 0):
            return [dims]
        axes = range(len(dims))
    gone = {_axis(axis, len(dims)) for axis in axes}
    return [_without(dims, gone, kept=bool(kept))]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Refused(f"it names axis {axis} of {rank}")
    return axis % rank


def _without(dims: Dims, gone: set[int], *, kept: bool) -> Dims:
    if kept:
        return tuple(1 if axis in gone else size for axis, size in enumerate(dims))
    return tuple(size for axis, size in enumerate(dims) if axis not in gone)


def extreme_place(asking: Asking) -> Shapes:
    """ArgMax and ArgMin, over one axis."""
    dims = asking.dims(0)
    return [_without(dims, {asking.axis(len(dims), 0)}, kept=bool(asking.attribute("keepdims", 1)))]


def top_k(asking: Asking) -> Shapes:
    """The largest along one axis."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims), -1)
    count = [asking.attribute("k")] if asking.opset < 10 else asking.elements(1)
    size = asking.told(count[0] if count is not None and len(count) == 1 else None)
    return [(*dims[:axis], size, *dims[axis + 1 :])] * 2


def recurrent(asking: Asking) -> Shapes:
    """RNN, GRU, LSTM: all states, the last one, and of an LSTM the last cell."""
    dims = asking.dims(0)
    if len(dims) != 3:
        raise Refused("its data have not three dims")
    first = asking.attribute("layout", 0) == 1 and asking.opset >= 14
    directions = 2 if asking.attribute("direction", "forward") == "bidirectional" else 1
    hidden = asking.attribute("hidden_size")
    if hidden is None:
        weights = asking.known(2)
        hidden = asking.new() if weights is None or len(weights) != 3 else weights[2]
    if first:
        return [(dims[0], dims[1], directions, hidden), *[(dims[0], directions, hidden)] * 2]
    return [(dims[0], directions, dims[1], hidden), *[(directions, dims[1], hidden)] * 2]


def determinant(asking: Asking) -> Shapes:
    """One number for each matrix."""
    dims = asking.dims(0)
    if len(dims) < 2:
        raise Refused("it has no matrices")
    return [tuple(dims[:-2])]


# Elements


def _reduced(function: Callable[[Any, Any], Any], start: int) -> Callable[[Holding], list[Array | None]]:
    """The sum or the product of all elements, or along axes."""

    def rule(holding: Holding) -> list[Array | None]:
        data, axes = holding.given(0), holding.numbers("axes", 1)
        if not axes and holding.attribute("noop_with_empty_axes", 0):
            return [data]
        kept = holding.attribute("keepdims", 1)
        along = [_axis(axis, data.ndim) for axis in axes] if axes else list(range(data.ndim))
        rest = [axis for axis in range(data.ndim) if axis not in along]
        count = 1
        for axis in rest:
            count *= data.shape[axis]
        rows = data.transpose(*rest, *along).reshape(count, -1) if data.size else None
        if rows is None:
            raise Unknown
        found = array_of(_total(function, start, row) for row in rows)
        dims = [1 if axis in along else size for axis, size in enumerate(data.shape) if kept or axis in rest]
        return [found.reshape(dims)]

    return rule


def _total(function: Callable[[Any, Any], Any], total: Any, row: Array) -> Any:
    for each in row.tolist():
        if each is None:
            return None
        total = function(total, each)
    return total


RECORDS = {
    "MatMul": Record(product_of(0, 1)),
    "MatMulInteger": Record(product_of(0, 1)),
    "QLinearMatMul": Record(product_of(0, 3)),
    "Gemm": Record(gemm),
    "Einsum": Record(einsum),
    **dict.fromkeys(REDUCTIONS.split(), Record(reduction)),
    "ReduceProd": Record(reduction, _reduced(mul, 1)),
    "ReduceSum": Record(reduction, _reduced(add, 0)),
    **dict.fromkeys(("ArgMax", "ArgMin"), Record(extreme_place)),
    "TopK": Record(top_k),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), Record(recurrent)),
    "Det": Record(determinant),
}
