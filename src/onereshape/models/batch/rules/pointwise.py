"""Operators that treat every element, or every line along some axes, by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence


from onereshape.dims import Product, Size
from onereshape.models.batch.rules.rule import Rule
from onereshape.models.rewrite import Rewriter
from onereshape.models.batch.marks import Mark, marked, over, times
from onereshape.models.batch.view import Answer, View
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused

ELEMENTWISE = (
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil "
    "Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu "
    "Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where "
    "Xor"
).split()
"""Multidirectional broadcasting, one output; a PRelu's slope broadcasts as well."""


def elementwise(view: View) -> Iterator[Answer]:
    """All operands meet at the same axis, counted from the right."""
    rank = len(view.output_dims())
    batched = view.batched()
    marks = {index: mark.at(mark.axis + rank - view.rank(index)) for index in batched if (mark := view.mark(index))}
    home = common_mark(marks.values(), view)
    others = [index for index in range(len(view.node.inputs)) if view.has(index) and index not in batched]
    edits: list[Edit] = []
    for index in others:
        axis = home.axis - rank + view.rank(index)
        if axis >= 0 and (dim := view.dims(index)[axis]) != 1:
            if dim != home.size(view.size) and dim != times(home.outer, home.inner):
                yield _apart(view, home, rank)
                return
            edits += [shared(view, index, home.at(axis))]
    yield Answer((home,), tuple(edits))


def clip(view: View) -> Iterator[Answer]:
    """The limits of a Clip are scalars, the same for all elements."""
    only_first(view)
    yield from elementwise(view)


def common_mark(marks: Iterable[Mark], view: View) -> Mark:
    """The one mark of all operands."""
    found = set(marks)
    if len(found) == 1:
        return found.pop()
    places = " and ".join(
        sorted(f"axis {mark.axis}" + ("" if mark.bare else f" ({mark.size(view.batch)})") for mark in found)
    )
    symbol = view.state.symbol
    raise Refused(
        f"its inputs carry {symbol} at different places, {places}, so each sample would meet all others", mixes=True
    )


def shared(view: View, index: int, mark: Mark) -> Edit:
    """An operand that is the same for all samples, where a size of 1 there is enough."""
    if view.size > 1 and mark.bare and view.dims(index)[mark.axis] == view.size:
        return view.one_sample(index, mark)
    return view.spread(index, mark)


def _apart(view: View, home: Mark, rank: int) -> Answer:
    """Where a constant has several entries on the axis that N has for itself: N and those entries, side by side."""
    if not home.bare or view.size != 1:
        raise Refused(f"an operand has another size at axis {home.axis}, where the batch is")
    entries = view.output_dims()[home.axis]
    splits: list[tuple[int, list[Size]]] = []
    for index in range(len(view.node.inputs)):
        if not view.has(index):
            continue
        axis = home.axis - rank + view.rank(index)
        dims = view.dims(index)
        if axis >= 0:
            here: list[Size] = [1, dims[axis]] if view.mark(index) is None else [view.batch, 1]
            splits.append((index, [*dims[:axis], *here, *dims[axis + 1 :]]))
    mark = Mark(home.axis, 1, entries)
    output = view.output_dims()
    joined = marked(output, mark, view.batch)
    between = (*output[: home.axis], view.batch, entries, *output[home.axis + 1 :])
    return Answer(
        (mark,), (reshaped_around(view, splits, (between, joined), f"{view.batch} x {entries} at axis {home.axis}"),)
    )


def reshaped_around(
    view: View, inputs: list[tuple[int, list[Size]]], output: tuple[Sequence[Size], Sequence[Size]], after: str
) -> Edit:
    """The same node between Reshapes: of some inputs to new dims, and of the output from the first dims to the last."""
    node = view.node
    targets = [(index, view.sayable(_live(view, index), dims)) for index, dims in inputs]
    last = view.sayable(*output)

    def apply(build: Rewriter) -> None:
        for index, target in targets:
            value = node.inputs[index]
            if value is not None:
                node.replace_input_with(index, build.insert(node, "Reshape", [value, build.vector(target)]))
        build.reshape_output(node, last)

    message = f"{view.label} would meet {view.state.symbol} and another size on one axis"
    return view.edit(None, message, "one axis", after, apply)


def _live(view: View, index: int) -> tuple[Size, ...]:
    mark, dims = view.mark(index), view.dims(index)
    return dims if mark is None else marked(dims, mark, view.batch)


def along(index_of_axes: Callable[[View, int], set[int]], what: str) -> Callable[[View], Iterator[Answer]]:
    """A rule for operators that work along some axes of input 0 and keep the shape: N must be on none of them."""

    def answers(view: View) -> Iterator[Answer]:
        mark = only_first(view)
        if mark.axis in index_of_axes(view, view.rank(0)):
            raise Refused(f"its {what} runs along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield Answer((mark,) * len(view.node.outputs))

    return answers


def only_first(view: View) -> Mark:
    """The mark of input 0, where no other input may have one."""
    mark = view.mark(0)
    strangers = [view.value(index).name for index in view.batched() if index != 0]
    if mark is None or strangers:
        raise Refused(f"its input {strangers[0] if strangers else 1} differs from sample to sample")
    return mark


def _softmax_axes(view: View, rank: int) -> set[int]:
    if view.opset >= 13:
        return {view.axis(rank, -1)}
    return set(range(view.axis(rank, 1), rank))  # older versions flatten all that follows


def _one_axis(default: int) -> Callable[[View, int], set[int]]:
    return lambda view, rank: {view.axis(rank, default)}


def _from_axis(view: View, rank: int) -> set[int]:
    return set(range(view.axis(rank, -1), rank))


def _axis_input(view: View, rank: int) -> set[int]:
    found = view.integers(1)
    if found is None:
        raise Refused("its axis is computed at run time")
    return {found[0] % rank}


def _mvn_axes(view: View, rank: int) -> set[int]:
    return {axis % rank for axis in view.attribute("axes", (0, 2, 3))}


def _channels(_view: View, _rank: int) -> set[int]:
    return {1}


def _last_two(_view: View, rank: int) -> set[int]:
    return {rank - 2, rank - 1}


def normalization(view: View) -> Iterator[Answer]:
    """LayerNormalization and its kin: over the last axes; scale and bias may broadcast."""
    mark, rank = only_first(view), view.rank(0)
    axis = view.axis(rank, -1)
    if mark.axis >= axis:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    edits = []
    for index in range(1, len(view.node.inputs)):
        here = mark.axis - rank + view.rank(index) if view.has(index) else -1
        if here >= 0 and view.dims(index)[here] != 1:
            edits.append(shared(view, index, mark.at(here)))
    yield Answer((mark,) * len(view.node.outputs), tuple(edits))


def channelwise(view: View) -> Iterator[Answer]:
    """BatchNormalization: by the channels of axis 1, all else pointwise."""
    mark = only_first(view)
    outputs = [value for value in view.node.outputs if value.name]
    trains = len(outputs) > 1 if 7 <= view.opset < 14 else not view.attribute("is_test", 0) and view.opset < 7
    if view.attribute("training_mode", 0) or trains:  # between, the number of its outputs says so
        raise Refused("it normalizes over the batch (training mode)", mixes=True)
    if mark.axis and not view.attribute("spatial", 1):
        raise Refused("it has a scale for each place (spatial=0)")
    edits: tuple[Edit, ...] = ()
    if mark.axis == 1:
        edits = tuple(view.spread(index, mark.at(0)) for index in range(1, 5))
    yield Answer((mark, *[None] * (len(view.node.outputs) - 1)), edits)


def instance(view: View) -> Iterator[Answer]:
    """InstanceNormalization: over all axes from 2 on, each channel of each sample by itself."""
    mark = only_first(view)
    if mark.axis >= 2:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    edits = tuple(view.spread(index, mark.at(0)) for index in (1, 2)) if mark.axis == 1 else ()
    yield Answer((mark,), edits)


def grouped(view: View) -> Iterator[Answer]:
    """GroupNormalization: over the channels and what follows; N must be at axis 0."""
    mark = only_first(view)
    if mark.axis != 0:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark,))


def quantize(view: View) -> Iterator[Answer]:
    """QuantizeLinear, DequantizeLinear: a scale for all, or one per entry of an axis (or per block of it)."""
    mark = only_first(view)
    if view.attribute("block_size", 0):
        if view.axis(view.rank(0), 1) == mark.axis:
            raise Refused(f"it has a scale for each block of axis {mark.axis}, which is {mark.size(view.batch)}")
        yield Answer((mark,), tuple(view.spread(index, mark) for index in (1, 2) if view.has(index)))
        return
    if view.rank(1) and not all(dim == 1 for dim in view.dims(1)):
        axis = view.axis(view.rank(0), 1)
        if axis == mark.axis or view.rank(1) > 1:
            raise Refused(f"it has a scale for each entry of axis {axis}, and {mark.size(view.batch)} is among them")
    yield Answer((mark,))


def cast_like(view: View) -> Iterator[Answer]:
    """Of the second input only the type matters."""
    yield Answer((view.mark(0),))


def dropout(view: View) -> Iterator[Answer]:
    """Dropout at inference passes all through."""
    mark = only_first(view)
    yield Answer((mark,) * len(view.node.outputs))


def random_like(view: View) -> Iterator[Answer]:
    """Random numbers in the shape of a tensor."""
    yield Answer((only_first(view),))


def one_hot(view: View) -> Iterator[Answer]:
    """A new axis for the classes."""
    mark = only_first(view)
    rank = view.rank(0) + 1
    axis = view.axis(rank, -1)
    yield Answer((mark.at(mark.axis + (mark.axis >= axis)),))


def sizes(view: View) -> Iterator[Answer]:
    """Shape and Size: their values are followed by themselves."""
    view.rank(0)
    yield Answer(())


def constant_of_shape(view: View) -> Iterator[Answer]:
    """A constant of computed dims: one that depends on N carries it."""
    try:
        home = sized_mark(view, 0)
    except Refused:
        yield Answer((), (view.pin(0),))
        return
    yield from (Answer((each,)) for each in any_place(home))


def any_place(home: Mark) -> Iterator[Mark]:
    """All places that N can have on an axis along which nothing differs."""
    yield home
    if isinstance(home.inner, int):
        for outer in range(2, home.inner + 1):
            if home.inner % outer == 0:
                yield Mark(home.axis, outer, home.inner // outer)


def sized_mark(view: View, index: int) -> Mark:
    """The mark of a tensor whose dims an input gives, which depends on N."""
    live = view.live(index)
    homes = [
        axis for axis, size in enumerate(live or ()) if isinstance(size, Product) and view.state.symbol in size.symbols
    ]
    if live is None or None in live or len(homes) != 1:
        raise Refused(f"{view.state.symbol} is in {len(homes)} of its dims")
    size, one = live[homes[0]], (view.original(index) or live)[homes[0]]
    inner = None if one is None else over(one, view.size)
    if inner is None or times(view.batch, inner) != size:
        raise Refused(f"it makes a dim of {size}, which is no multiple of {view.state.symbol}")
    return Mark(homes[0], 1, inner)


RULES = {
    **{op: Rule(elementwise) for op in ELEMENTWISE},
    "Clip": Rule(clip),
    **{op: Rule(along(_softmax_axes, "sum")) for op in ("Softmax", "LogSoftmax", "Hardmax")},
    "LpNormalization": Rule(along(_one_axis(-1), "norm")),
    "CumSum": Rule(along(_axis_input, "sum")),
    "MeanVarianceNormalization": Rule(along(_mvn_axes, "mean")),
    "Trilu": Rule(along(_last_two, "triangle")),
    "LayerNormalization": Rule(normalization),
    "RMSNormalization": Rule(normalization),
    "SimplifiedLayerNormalization": Rule(normalization),
    "BatchNormalization": Rule(channelwise),
    "InstanceNormalization": Rule(instance),
    "GroupNormalization": Rule(grouped),
    "LRN": Rule(along(_channels, "sum")),
    "CastLike": Rule(cast_like),
    "QuantizeLinear": Rule(quantize),
    "DequantizeLinear": Rule(quantize),
    "Dropout": Rule(dropout),
    "RandomNormalLike": Rule(random_like),
    "RandomUniformLike": Rule(random_like),
    "OneHot": Rule(one_hot),
    "Shape": Rule(sizes),
    "Size": Rule(sizes),
    "ConstantOfShape": Rule(constant_of_shape, slots=frozenset({0}), several=True),
}
