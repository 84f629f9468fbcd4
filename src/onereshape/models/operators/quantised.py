"""Operators of com.microsoft on quantised numbers, and those that find their scales in the data."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.models.batch.answers import along, common_mark, images, mixing, only_first, shared
from onereshape.models.batch.marks import times
from onereshape.models.batch.view import BatchAnswer, BatchView
from onereshape.models.edit import Edit
from onereshape.models.facts.answers import same_first
from onereshape.models.facts.asking import Asking, Shapes
from onereshape.models.facts.kinds import Attribute, Kind, Kinds
from onereshape.models.node_view import Refused
from onereshape.models.operators.contractions import product_answer, product_mark, product_of, shape_matmul
from onereshape.models.operators.joining import joined
from onereshape.models.operators.quantising import ONE_SCALE, batch_quantize
from onereshape.models.record import Record


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
    """That of the zero point, which comes after the scale."""
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
    """One axis, or in older versions all that follow it; the operator says itself which version it means."""
    axis = view.axis(rank, -1)
    return {axis} if int(view.attribute("opset", 0)) >= 13 else set(range(axis, rank))


def shape_quantised_mean(asking: Asking) -> Shapes:
    """QLinearGlobalAveragePool: one place for each channel, which may be last."""
    dims = asking.dims(0)
    if len(dims) < 3:
        raise Refused("its data have no space")
    last, ones = bool(asking.attribute("channels_last", 0)), (1,) * (len(dims) - 2)
    return [(dims[0], *ones, dims[-1]) if last else (*dims[:2], *ones)]


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
    """That of a scale."""
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
        "QuantizeLinear": Record(shape=same_first, kinds=kinds_zero_point, batch=batch_quantize),
        "DequantizeLinear": Record(shape=same_first, kinds=kinds_second, batch=batch_quantize),
        "DynamicQuantizeMatMul": Record(shape=shape_dynamic_product, batch=mixing(ONE_SCALE)),
        "DynamicQuantizeLSTM": Record(shape=shape_quantised_lstm, batch=mixing(ONE_SCALE)),
        "MatMulIntegerToFloat": Record(shape=shape_matmul(0, 1), kinds=kinds_floats, batch=batch_scaled_product),
        "MatMulNBits": Record(shape=shape_by_bits, batch=batch_by_bits),
    }.items()
}
