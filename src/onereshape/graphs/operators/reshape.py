"""Reshape: where N and the free sizes go is a question of row-major order; the target is rewritten to say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import each_home
from onereshape.graphs.batch_rules.marks import Mark, homes, marked, times
from onereshape.graphs.batch_rules.turned import turned
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.elements import Elements, Holding, Unknown
from onereshape.graphs.facts.reshaping import shape_reshape
from onereshape.graphs.folding.folded_operators import Unfolded, Use
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.reshape_free import free_reshape, grow_reshape
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Entry, Rewriter
from onereshape.graphs.words import meant
from onereshape.ground.errors import ReshapeError
from onereshape.ground.numpy_types import Array
from onereshape.rule.semantics import resolve
from onereshape.rule.sizes import Size


def held_reshape(holding: Holding) -> Elements:
    """Reshape of known elements: `[1, 2, 3, 4], [2, 2] -> [[1, 2], [3, 4]]`."""
    target, data = holding.numbers("shape", 1), holding.given(0)
    if target is None:
        raise Unknown
    flag = holding.attribute("allowzero", 0)
    try:
        return [data.reshape(resolve(data.shape, target, "onnx-14", allowzero=flag))]
    except ReshapeError:
        raise Unknown from None


def fold_reshape(use: Use) -> list[Array]:
    """By our own rule: NumPy, and with it onnx.reference, takes any number below 0 for -1."""
    data, target = use.given(0), use.given(1)
    if target.ndim != 1 or target.dtype.kind != "i":
        raise Unfolded
    try:
        return [data.reshape(resolve(data.shape, target.tolist(), "onnx-14", allowzero=use.attribute("allowzero", 0)))]
    except ReshapeError:
        raise Unfolded from None


def batch_reshape(view: BatchView) -> Iterator[BatchAnswer]:
    """N goes to an axis that begins where N stands in row-major order; the target is rewritten to say so."""
    mark = view.mark(0)
    if mark is None:
        if view.mark(1) is not None:
            raise Refused("its target differs from sample to sample")
        yield BatchAnswer((), (view.pin(1),))  # the same for all samples, so its dims are those of one
        return
    dims, place = view.dims(0), mark

    def none() -> str:
        here = times(*dims[: place.axis], place.outer)
        return f"no dim of its output begins where {view.state.symbol} does, after {here} elements"

    found = homes(dims, mark, view.output_dims(), view.size)
    others = turned(view, place)
    try:
        yield from each_home(found, lambda home: BatchAnswer((home,), _rewritten(view, home)), none)
    except Refused:
        if (other := next(others, None)) is None:
            raise
        yield other
    yield from others


def _rewritten(view: BatchView, home: Mark) -> tuple[Edit, ...]:
    """The edit that makes a Reshape put N there; none where it does already."""
    wanted = marked(view.output_dims(), home, view.batch)
    flag = bool(view.attribute("allowzero", 0))
    if _says(view, home, wanted, literal_zero=flag):
        return ()
    before = view.integers(1) if view.opset >= 5 else list(view.attribute("shape", ()))
    code, message = _diagnosis(view, home, before)
    for zero_copies in (not flag, flag):  # the flag stays if it can
        words = view.constant_target(wanted, before, zero_copies=zero_copies)
        if words is not None:
            break
    if words is None and view.opset < 5:
        raise Refused("its target is an attribute, which cannot say this")
    entries = None if words is not None else _computed(view, wanted)
    node = view.node

    def apply(build: Rewriter) -> None:
        if words is not None and view.opset < 5:
            node.attributes["shape"] = ir.AttrInt64s("shape", words)
            return
        value = node.inputs[1]
        if words is not None:
            node.replace_input_with(1, build.integers(words))
            if 0 in words and flag and zero_copies:
                node.attributes.pop("allowzero")
        elif entries is not None and value is not None:
            node.replace_input_with(1, build.vector(entries(build, node, value), node))

    after = str(words) if words is not None else "[" + ", ".join(map(str, wanted)) + "]"
    slot, said = 1 if view.opset >= 5 else None, "computed" if before is None else str(before)
    return (view.edit(slot, message, said, after, apply, code=code),)


def _computed(view: BatchView, wanted: Sequence[Size]) -> Callable[[Rewriter, ir.Node, ir.Value], list[Entry]]:
    """How to compute a target: a size that nothing computes yet can be inferred, if it is the only one."""
    view.not_empty(wanted)
    live = _live_target(view) or []
    missing = [axis for axis, size in enumerate(wanted) if not view.ours(size) and live[axis : axis + 1] != [size]]
    if len(missing) == 1:
        return view.entries(1, [-1 if axis in missing else size for axis, size in enumerate(wanted)])
    return view.entries(1, wanted)


def _diagnosis(view: BatchView, home: Mark, before: Sequence[int] | None) -> tuple[str, str]:
    """The code of the finding, and how the target as written loses N, or fixes it, in words."""
    symbol, axis = view.state.symbol, home.axis
    if before is None or axis >= len(before):
        return "baked-dim", f"{symbol} is lost in the computed target of {view.label}"
    if -1 in before and before[axis] != -1:
        lost = before.index(-1)
        here = f"shape[{axis}] = {before[axis]}"
        return (
            "absorbed-dim",
            f"the -1 at shape[{lost}] swallows {symbol}, which belongs in {here}: a wrong answer, no error",
        )
    return "baked-dim", f"{symbol} is forced to {view.size} by {view.label}: shape[{axis}] = {before[axis]}"


def _live_target(view: BatchView) -> list[Size | None] | None:
    return list(view.attribute("shape", ())) if view.opset < 5 else view.live(1)


def _says(view: BatchView, home: Mark, wanted: Sequence[Size], *, literal_zero: bool) -> bool:
    """Whether nothing need be rewritten; refuses where nothing may be."""
    live = _live_target(view)
    if live is not None and (
        _means(view, live, wanted, literal_zero=literal_zero)
        or _grows_there(view, live, home)
        or _infers_there(view, live, home)
    ):
        return True
    if view.opset >= 5 and view.sized(1):
        view.not_told(view.value(1).name or "")
    return False


def _means(view: BatchView, live: Sequence[Size | None], wanted: Sequence[Size], *, literal_zero: bool) -> bool:
    """Whether a target as written gives the wanted dims: `[0, -1]` of data (N, 3, 4) means (N, 12)."""
    if None in live or len(live) != len(wanted) or (0 in live and literal_zero):
        return False
    if 0 not in live and -1 not in live:
        return list(live) == list(wanted)
    mark = view.mark(0)
    data = view.dims(0) if mark is None else marked(view.dims(0), mark, view.batch)
    dims = meant(data, live, zero_copies=True)
    if dims.count(-1) == 1:
        at = dims.index(-1)
        dims[at] = wanted[at]
        if times(*dims) != times(*data):  # type: ignore[arg-type]
            return False
    return dims == list(wanted)


def _grows_there(view: BatchView, live: Sequence[Size | None], home: Mark) -> bool:
    """Whether a computed target is what one sample has, but for N at its place: then it has as many elements as data.

    So nothing need be known of its other entries, and of what they are at sizes of 0.
    """
    one = view.original(1) if view.opset >= 5 and view.sized(1) else None
    mark = view.mark(0)
    if one is None or len(one) != len(live) or 0 in live or live[home.axis] != home.size(view.batch):
        return False
    if mark is not None and mark.axis != home.axis and live[mark.axis : mark.axis + 1] == [None]:
        return False  # it may be a 0, which copies N
    return all(live[axis] == one[axis] for axis in range(len(one)) if axis != home.axis)


def _infers_there(view: BatchView, live: Sequence[Size | None], home: Mark) -> bool:
    """Whether a computed target is what one sample has, and a -1 where N goes: that grows, whatever the others are."""
    one, mark = view.original(1) if view.opset >= 5 else None, view.mark(0)
    if one is None or mark is None or list(one) != list(live) or live[home.axis : home.axis + 1] != [-1]:
        return False
    here = live[mark.axis] if mark.axis < len(live) else 1
    return mark.axis == home.axis or (isinstance(here, int) and here != 0)  # else it may be a 0, which copies N


RECORDS = {
    "Reshape": Record(
        shape=shape_reshape,
        elements=held_reshape,
        batch=batch_reshape,
        slots=frozenset({1}),
        several=True,
        free=free_reshape,
        grows=grow_reshape,
        moves=True,
        keeps=True,
        by_place=True,
        beside=True,
        in_order=True,
        takes={1: "target"},
        folds=True,
        fold=fold_reshape,
    )
}
