"""Operators of com.microsoft on quantised numbers, and those that find their scales in the data."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import along, common_mark, images, mixing, only_first, shared
from onereshape.graphs.batch_rules.marks import times
from onereshape.graphs.batch_rules.own_scales import ONE_SCALE
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.contractions import product_answer, product_mark, product_of, shape_matmul
from onereshape.graphs.operators.joining import joined
from onereshape.graphs.operators.quantising import batch_quantize
from onereshape.graphs.operators.windows import pooled_space
from onereshape.graphs.record import Record


def _check_scales(view: BatchView, data: tuple[int, ...]) -> None:
    """Refuses scales and zero points that differ from sample to sample, or from entry to entry."""
    for index in range(len(view.node.inputs)):
        if index in data or not view.has(index):
            continue
        if view.mark(index) is not None:
            raise Refused(f"its input {view.value(index).name} differs from sample to sample")
        if any(dim != 1 for dim in view.dims(index)):
            raise Refused(f"its input {view.value(index).name} has a number for each of several entries")


def shape_quantised_concat(asking: Asking) -> Shapes:
    """QLinearConcat: every third input from the third on is data."""
    return [joined([asking.dims(index) for index in range(2, len(asking.node.inputs), 3)], asking, 0)]


def kinds_quantised_concat(given: Kinds, _: Attribute) -> list[Kind | None]:
    """QLinearConcat: the type of the zero point, input 1."""
    return [given(1)]


def batch_quantised_concat(view: BatchView) -> Iterator[BatchAnswer]:
    """QLinearConcat: data side by side, along an axis that N is not on."""
    data = tuple(range(2, len(view.node.inputs), 3))
    _check_scales(view, data)
    marks = {index: mark for index in data if (mark := view.mark(index))}
    home = common_mark(marks.values(), view)
    axis = view.axis(len(view.output_dims()), 0)
    if axis == home.axis:
        raise Refused(f"it lays its inputs one after the other along axis {axis}, which is {home.size(view.batch)}")
    yield BatchAnswer((home,), tuple(view.spread(index, home) for index in data if index not in marks))


def shape_quantised_pair(asking: Asking) -> Shapes:
    """QLinearAdd and QLinearMul: the inputs 0 and 3 meet."""
    return [asking.broadcast(asking.dims(0), asking.dims(3))]


def batch_quantised_pair(view: BatchView) -> Iterator[BatchAnswer]:
    """QLinearAdd and QLinearMul: two operands meet at the same axis, counted from the right."""
    _check_scales(view, (0, 3))
    rank = len(view.output_dims())
    marks = {index: mark.at(mark.axis + rank - view.rank(index)) for index in (0, 3) if (mark := view.mark(index))}
    home = common_mark(marks.values(), view)
    edits: list[Edit] = []
    for index in {0, 3} - marks.keys():
        axis = home.axis - rank + view.rank(index)
        if axis >= 0 and (dim := view.dims(index)[axis]) != 1:
            if dim not in {home.size(view.size), times(home.outer, home.inner)}:
                raise Refused(f"an operand has another size at axis {home.axis}, where the batch is")
            edits.append(shared(view, index, home.at(axis)))
    yield BatchAnswer((home,), tuple(edits))


def batch_quantised_each(view: BatchView) -> Iterator[BatchAnswer]:
    """QLinearSigmoid, QLinearLeakyRelu: each element by itself."""
    _check_scales(view, (0,))
    yield BatchAnswer((only_first(view),))


def _softmax_axes(view: BatchView, rank: int) -> set[int]:
    """The axes of a QLinearSoftmax: `axis` alone, or all from it on where the attribute `opset` is below 13."""
    axis = view.axis(rank, -1)
    return {axis} if int(view.attribute("opset", 0)) >= 13 else set(range(axis, rank))


def shape_quantised_mean(asking: Asking) -> Shapes:
    """QLinearGlobalAveragePool: `(N, C, H, W) -> (N, C, 1, 1)`, with channels last `(N, H, W, C) -> (N, 1, 1, C)`."""
    dims = asking.dims(0)
    if len(dims) < 3:
        raise Refused("its data have no space")
    last, ones = bool(asking.attribute("channels_last", 0)), (1,) * (len(dims) - 2)
    return [(dims[0], *ones, dims[-1]) if last else (*dims[:2], *ones)]


def shape_quantised_pool(asking: Asking) -> Shapes:
    """QLinearAveragePool: windows over space, with the channels before or behind it."""
    dims = asking.dims(0)
    if len(dims) < 3:
        raise Refused("its data have no space")
    if asking.attribute("channels_last", 0):
        return [(dims[0], *pooled_space(asking, dims[1:-1]), dims[-1])]
    return [(*dims[:2], *pooled_space(asking, dims[2:]))]


def batch_quantised_pool(view: BatchView) -> Iterator[BatchAnswer]:
    """QLinearAveragePool: N may be the images, axis 0, or the channels, axis 1 or the last one."""
    _check_scales(view, (0,))
    yield from images(0, view.rank(0) - 1 if view.attribute("channels_last", 0) else 1)(view)


def shape_quantised_gemm(asking: Asking) -> Shapes:
    """QGemm: rows of the first matrix, columns of the second, which stands behind its scale and zero point."""
    left, right = asking.dims(0), asking.dims(3)
    if len(left) != 2 or len(right) != 2:
        raise Refused("it multiplies no matrices")
    return [(left[1 if asking.attribute("transA", 0) else 0], right[0 if asking.attribute("transB", 0) else 1])]


def kinds_quantised_gemm(given: Kinds, _: Attribute) -> list[Kind | None]:
    """QGemm: the type of the output's zero point, input 8; floats where input 8 is left out."""
    return [given(8) or Kind.FLOAT]


def batch_quantised_gemm(view: BatchView) -> Iterator[BatchAnswer]:
    """QGemm: N may be the rows of the first matrix, if all rows share one scale."""
    mark = only_first(view)
    if mark.axis != (1 if view.attribute("transA", 0) else 0):
        raise Refused(f"it sums over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    for index in (1, 2, 6):
        several = view.has(index) and view.rank(index) > (1 if index == 6 else 0)
        if several and view.dims(index)[0] != 1:
            raise Refused(f"its input {view.value(index).name} has a number for each of several rows")
    yield BatchAnswer((mark.at(0),))


def shape_by_blocks(asking: Asking) -> Shapes:
    """GatherBlockQuantized: rows of a table, of which two or more entries may be in one byte."""
    dims, places = list(asking.dims(0)), asking.dims(1)
    axis, blocks = asking.axis(len(dims), 0, "gather_axis"), asking.axis(len(dims), 1, "quantize_axis")
    kind = asking.kind(0)
    if kind is None or axis == blocks:
        raise Refused("the type of its table is not known, or it picks from within a block")
    if kind == Kind.UINT8:
        dims[blocks] = dims[blocks] * (8 // asking.attribute("bits", 4))
    return [(*dims[:axis], *places, *dims[axis + 1 :])]


def batch_by_blocks(view: BatchView) -> Iterator[BatchAnswer]:
    """GatherBlockQuantized: rows of a table that all samples share."""
    mark = view.mark(1)
    if mark is None or view.batched() != [1]:
        raise Refused("its table differs from sample to sample")
    yield BatchAnswer((mark.at(mark.axis + view.axis(view.rank(0), 0, "gather_axis")),))


def kinds_scale(given: Kinds, _: Attribute) -> list[Kind | None]:
    """GatherBlockQuantized: that of its scales."""
    return [given(2)]


def shape_by_bits(asking: Asking) -> Shapes:
    """MatMulNBits: rows times a matrix that is packed, of so many columns."""
    dims = asking.dims(0)
    if not dims:
        raise Refused("it multiplies a scalar")
    return [(*dims[:-1], asking.size(asking.attribute("N")))]


def batch_by_bits(view: BatchView) -> Iterator[BatchAnswer]:
    """MatMulNBits: each row by itself."""
    mark = only_first(view)
    if mark.axis == view.rank(0) - 1:
        raise Refused(f"it sums over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


def shape_dynamic_product(asking: Asking) -> Shapes:
    """DynamicQuantizeMatMul: a product."""
    return [product_of(asking, asking.dims(0), asking.dims(1))]


def shape_quantised_lstm(asking: Asking) -> Shapes:
    """DynamicQuantizeLSTM: an LSTM whose weights are turned: directions, inputs, gates."""
    data, weights = asking.dims(0), asking.dims(2)
    if len(data) != 3 or len(weights) != 3:
        raise Refused("its data or its weights have not three dims")
    state = (weights[0], data[1], weights[1])
    return [(data[0], *state), state, state]


def batch_scaled_product(view: BatchView) -> Iterator[BatchAnswer]:
    """MatMulIntegerToFloat: products of integers, with one scale for the rows and any for the columns."""
    if [index for index in view.batched() if index > 1]:
        raise Refused("its scales or zero points differ from sample to sample")
    home = product_mark(view, (0, 1), (view.mark(0), view.mark(1)))
    for index in range(2, len(view.node.inputs)):
        single = not view.has(index) or all(dim == 1 for dim in view.dims(index))
        if not single and (index in {2, 4} or view.rank(index) > 1 or view.mark(1) is not None):
            raise Refused(f"its input {view.value(index).name} has a number for each of several entries")
    yield product_answer(view, (0, 1), home)


def kinds_zero_point(given: Kinds, _: Attribute) -> list[Kind | None]:
    """QuantizeLinear: that of the zero point."""
    return [given(2) or Kind.UINT8]


def kinds_second(given: Kinds, _: Attribute) -> list[Kind | None]:
    """The type of input 1, a scale."""
    return [given(1)]


def kinds_floats(_: Kinds, __: Attribute) -> list[Kind | None]:
    """Floats, whatever the scales are."""
    return [Kind.FLOAT]


_EACH = Record(shape=same_first, batch=batch_quantised_each)
_PAIR = Record(shape=shape_quantised_pair, batch=batch_quantised_pair)

RECORDS = {
    f"com.microsoft::{op}": record
    for op, record in {
        "QLinearAdd": _PAIR,
        "QLinearMul": _PAIR,
        "QLinearSigmoid": _EACH,
        "QLinearLeakyRelu": _EACH,
        "QLinearSoftmax": Record(shape=same_first, batch=along(_softmax_axes, "sum")),
        "QLinearConcat": Record(
            shape=shape_quantised_concat, kinds=kinds_quantised_concat, batch=batch_quantised_concat
        ),
        "QLinearGlobalAveragePool": Record(shape=shape_quantised_mean, batch=images(0)),
        "QLinearAveragePool": Record(shape=shape_quantised_pool, batch=batch_quantised_pool),
        "QGemm": Record(shape=shape_quantised_gemm, kinds=kinds_quantised_gemm, batch=batch_quantised_gemm),
        "GatherBlockQuantized": Record(shape=shape_by_blocks, kinds=kinds_scale, batch=batch_by_blocks),
        "QuantizeLinear": Record(shape=same_first, kinds=kinds_zero_point, batch=batch_quantize),
        "DequantizeLinear": Record(shape=same_first, kinds=kinds_second, batch=batch_quantize),
        "DynamicQuantizeMatMul": Record(shape=shape_dynamic_product, batch=mixing(ONE_SCALE)),
        "DynamicQuantizeLSTM": Record(shape=shape_quantised_lstm, batch=mixing(ONE_SCALE)),
        "MatMulIntegerToFloat": Record(shape=shape_matmul(0, 1), kinds=kinds_floats, batch=batch_scaled_product),
        "MatMulNBits": Record(shape=shape_by_bits, batch=batch_by_bits),
    }.items()
}
