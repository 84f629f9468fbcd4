"""Operators that treat every element by itself; those with several operands broadcast them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.aligning import aligning
from onereshape.graphs.batch_rules.answers import along, common_mark, only_first, reshaped_around, shared
from onereshape.graphs.batch_rules.marks import Mark, marked, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import broadcast, same, same_first
from onereshape.graphs.facts.kinds import by_attribute
from onereshape.graphs.folding.folded_operators import TYPES, Unfolded, Use, reference
from onereshape.graphs.folding.folded_work import broadcast as broadcast_work
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs, same_axes
from onereshape.graphs.free_rules.meeting import Meeting, broadcast as meet_all, same_dims
from onereshape.graphs.free_rules.spans import Spans
from onereshape.graphs.free_rules.state import FreeAnswer, sizes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size


@aligning
def batch_elementwise(view: BatchView) -> Iterator[BatchAnswer]:
    """All operands meet at the same axis, counted from the right."""
    rank = len(view.output_dims())
    batched = view.batched()
    lead = {
        index: view.lead(index, rank, view.rank(index)) for index, _ in enumerate(view.node.inputs) if view.has(index)
    }
    marks = {index: mark.at(mark.axis + lead[index]) for index in batched if (mark := view.mark(index))}
    lower = _lower(view, marks, lead) if view.state.aligns else {}
    home = common_mark((mark for index, mark in marks.items() if index not in lower), view)
    edits: list[Edit] = [_raised(view, index, dims) for index, dims in lower.items()]
    for index, before in lead.items():
        axis = home.axis - before
        if index in batched or not 0 <= axis < view.rank(index):
            continue
        dim = view.dims(index)[axis]
        if dim != 1:
            if dim != home.size(view.size) and dim != times(home.outer, home.inner):
                yield _apart(view, home, lead)
                return
            edits += [shared(view, index, home.at(axis))]
        elif home.bare and _needs_all(view, index):
            edits += [view.spread(index, home.at(axis))]
    yield BatchAnswer((home,), tuple(edits))


def _lower(view: BatchView, marks: Mapping[int, Mark], lead: Mapping[int, int]) -> dict[int, list[Size]]:
    """Operands whose batch stands outermost, but right of that of the others: with which dims they would meet them.

    A mask `[1, 1, S, S]` from which both first dims were squeezed has N before its rows, while the scores have it two
    axes further left: as `[N, 1, S, S]` each sample meets its own.
    """
    bare = [mark.axis for mark in marks.values() if mark.bare]
    if not bare or view.size != 1 or view.opset < 7:
        return {}
    found: dict[int, list[Size]] = {}
    for index, mark in marks.items():
        axis, dims = mark.axis - lead[index], view.dims(index)
        outermost = mark.outer == 1 and all(dim == 1 for dim in dims[:axis])
        home = min(bare) - lead[index]
        if not outermost or view.counts(index) is not None:
            continue
        if home < 0:
            found[index] = [view.batch, *[1] * (-home - 1), *dims]
        elif home < axis:
            found[index] = [*dims[:home], view.batch, *dims[home + 1 :]]
    return found


def _raised(view: BatchView, index: int, dims: list[Size]) -> Edit:
    """An operand with an axis of its own for N, left of all that it had."""
    mark = view.mark(index)
    now = view.dims(index) if mark is None else marked(view.dims(index), mark, view.batch)
    target, symbol = view.sayable(now, dims), view.state.symbol

    def make(build: Rewriter, value: ir.Value) -> ir.Value:
        return build.insert(view.node, "Reshape", [value, build.vector(target)])

    name = view.value(index).name
    message = f"{name} has no axis for {symbol}, and {view.label} meets the other samples there"
    after = f"[{', '.join(map(str, dims))}]"
    return view.replace_input(index, message, f"[{', '.join(map(str, view.dims(index)))}]", after, make)


def _needs_all(view: BatchView, index: int) -> bool:
    """Whether an operand of size 1 does not give way: so it was of most before opset 7, and of some before 8."""
    if view.opset >= 8 or len(view.node.inputs) < 2 or view.node.op_type == "PRelu":
        return False
    if view.opset == 7:
        return view.node.op_type in _LATE
    alone = index == 1 and bool(view.attribute("broadcast", 0))
    return not alone or any(dim != 1 for dim in view.dims(index))


_LATE = frozenset({"Max", "Mean", "Min", "Sum"})
"""Operators whose operands had all to be of the same dims before opset 8."""


def _apart(view: BatchView, home: Mark, lead: Mapping[int, int]) -> BatchAnswer:
    """Where a constant has several entries on the axis that N has for itself: N and those entries, side by side."""
    if not home.bare or view.size != 1 or view.opset < 7:
        raise Refused(f"an operand has another size at axis {home.axis}, where the batch is")
    entries = view.output_dims()[home.axis]
    splits: list[tuple[int, list[Size]]] = []
    for index, before in lead.items():
        axis, dims = home.axis - before, view.dims(index)
        if axis >= 0:
            here: list[Size] = [1, dims[axis]] if view.mark(index) is None else [view.batch, 1]
            splits.append((index, [*dims[:axis], *here, *dims[axis + 1 :]]))
    mark = Mark(home.axis, 1, entries)
    output = view.output_dims()
    joined = marked(output, mark, view.batch)
    between = (*output[: home.axis], view.batch, entries, *output[home.axis + 1 :])
    return BatchAnswer(
        (mark,), (reshaped_around(view, splits, (between, joined), f"{view.batch} x {entries} at axis {home.axis}"),)
    )


def free_elementwise(view: FreeView) -> Iterator[FreeAnswer]:
    """All operands meet at the same axis, counted from the right."""
    indices = [index for index in range(len(view.node.inputs)) if view.has(index)]
    rank = max(map(view.rank, indices), default=0)
    if any(view.lead(index, rank, view.rank(index)) != rank - view.rank(index) for index in indices):
        raise Refused("its second input meets the first at an axis that an attribute says, as before opset 7")
    yield Meeting(view).result(lambda meeting: meet_all(meeting, {index: view.rank(index) for index in indices}))


def grow_elementwise(growing: Growing) -> Inputs:
    """The operands to grow for a larger output: all that are not broadcast from 1 along a wanted axis."""
    view = growing.view
    rank = len(view.output())
    indices = range(len(view.node.inputs))
    for axis, size in growing.wanted.items():
        if not any(_spans(view, index, axis, rank) for index in indices):
            raise Refused(f"no operand of {view.label} has more than one entry at axis {axis}, where {size} is needed")
    wanted = dict(growing.wanted)
    found: dict[int, Grown] = {}
    for _ in range(rank + 1):  # an operand that grew further than asked takes the others with it
        before = dict(wanted)
        for index in indices:
            own = {axis - rank + view.rank(index): wanted[axis] for axis in wanted if _spans(view, index, axis, rank)}
            if own:
                found[index] = growing.input(index, own)
                wanted |= _grown_axes(view, found[index], rank)
        if wanted == before:
            break
    return found, wanted


def _grown_axes(view: FreeView, grown: Grown, rank: int) -> dict[int, Size]:
    """The axes of the output at which a grown operand has a free size."""
    found = {axis + rank - len(grown.dims): size for axis, size in enumerate(sizes(grown.dims))}
    return {axis: size for axis, size in found.items() if size is not None and view.move(size)}


def _spans(view: FreeView, index: int, axis: int, rank: int) -> bool:
    """Whether an operand has more than one entry at an axis of the output."""
    if not view.has(index):
        return False
    place = axis - rank + view.rank(index)
    return place >= 0 and view.dims(index)[place] != (1,)


def span_truth(_: Spans, __: ir.Node, ___: int) -> Size | None:
    """Of truth values."""
    return 1


def batch_clip(view: BatchView) -> Iterator[BatchAnswer]:
    """The limits of a Clip are scalars, the same for all elements."""
    only_first(view)
    yield from batch_elementwise(view)


def batch_cast_like(view: BatchView) -> Iterator[BatchAnswer]:
    """Of the second input only the type matters."""
    yield BatchAnswer((view.mark(0),))


def batch_dropout(view: BatchView) -> Iterator[BatchAnswer]:
    """Dropout at inference passes all through."""
    mark = only_first(view)
    yield BatchAnswer((mark,) * len(view.node.outputs))


def _last_two(_view: BatchView, rank: int) -> set[int]:
    return {rank - 2, rank - 1}


def fold_clip(use: Use) -> list[Array]:
    """A limit that is left out is the last number of the type; not all engines cut what is infinite to it."""
    data = use.given(0)
    if data.dtype.kind == "f" and np.isinf(data).any():
        raise Unfolded
    kind: Any = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
    if use.opset < 11:
        low, high = use.attribute("min", kind.min), use.attribute("max", kind.max)
    else:
        low, high = (
            limit if (given := use.optional(index)) is None else given.reshape(())
            for index, limit in ((1, kind.min), (2, kind.max))
        )
    return [np.minimum(np.maximum(data, np.asarray(low, data.dtype)), np.asarray(high, data.dtype))]


def fold_mean(use: Use) -> list[Array]:
    arrays = [use.given(index) for index in range(len(use.inputs))]
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return [(total / len(arrays)).astype(arrays[0].dtype)]


def fold_sign(use: Use) -> list[Array]:
    if np.isnan(use.given(0)).any():
        raise Unfolded
    return reference(use)


def folded_cast(use: Use, to: np.dtype[Any]) -> list[Array]:
    """A cast to integers of what is too large for them is left open."""
    data = use.given(0)
    if to.name not in TYPES:
        raise Unfolded
    if to.kind in "iu" and data.dtype.kind == "f":
        cut, kind = np.trunc(data.astype(np.float64)), np.iinfo(to)
        if not ((cut >= kind.min) & (cut < float(kind.max) + (kind.bits < 64))).all():
            raise Unfolded
    return [data.astype(to)]


def fold_cast_like(use: Use) -> list[Array]:
    return folded_cast(use, use.given(1).dtype)


def batch_eye(view: BatchView) -> Iterator[BatchAnswer]:
    """EyeLike: ones on a diagonal, whatever data hold; that of N rows is not that of each of them."""
    mark = only_first(view)
    why = f"it puts ones on a diagonal along axis {mark.axis}, which is {mark.size(view.batch)}"
    raise Refused(why, final=True, alone=True)
    yield  # never reached: without it this would be no generator


UNARY = Record(shape=broadcast, batch=batch_elementwise, free=free_elementwise, grows=grow_elementwise, folds=True)
BROADCAST = UNARY._replace(work=broadcast_work)
"""Multidirectional broadcasting, one output; a PRelu's slope broadcasts as well."""

RECORDS = {
    **dict.fromkeys(
        "Acos Acosh Asin Asinh Atan Atanh BitwiseNot Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish "
        "LeakyRelu Mish Reciprocal Selu Shrink Sigmoid Sin Sinh Softplus Softsign Tan Tanh "
        "ThresholdedRelu".split(),
        UNARY,
    ),
    "Log": UNARY._replace(takes={0: "positive"}),
    "Sign": UNARY._replace(fold=fold_sign),
    "Swish": UNARY._replace(folds=False),
    **dict.fromkeys(("IsInf", "IsNaN"), UNARY._replace(span=span_truth)),
    **dict.fromkeys("BitShift BitwiseAnd BitwiseOr BitwiseXor PRelu Sum".split(), BROADCAST),
    "Mean": BROADCAST._replace(fold=fold_mean),
    "CastLike": Record(
        shape=same, batch=batch_cast_like, carries=frozenset({0}), in_order=True, folds=True, fold=fold_cast_like
    ),
    "Dropout": Record(shape=same, batch=batch_dropout, free=same_dims, carries=frozenset({0}), in_order=True),
    "EyeLike": Record(shape=same, kinds=by_attribute("dtype", 0), batch=batch_eye, free=same_dims, folds=True),
    "Trilu": Record(
        shape=same_first,
        batch=along(_last_two, "triangle"),
        free=same_dims,
        grows=same_axes,
        carries=frozenset({0}),
        takes={1: "diagonal"},
        folds=True,
    ),
}
