"""Operators of newer opsets: caches, and states that are handed on from step to step; bits, and gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onereshape.graphs.batch_rules.answers import common_mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds, by_attribute
from onereshape.graphs.free_rules.meeting import same_dims
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.pointwise import batch_elementwise
from onereshape.graphs.record import Record
from onereshape.rule.sizes import cut


def _rows(*weights: int) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """A rule for operators whose inputs have a row for each sample on axis 0, but for weights that all rows share."""

    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        given = [index for index in range(len(view.node.inputs)) if view.has(index)]
        if own := [index for index in weights if view.mark(index) is not None]:
            raise Refused(f"its input {view.value(own[0]).name} differs from sample to sample")
        marks = {index: mark for index in given if (mark := view.mark(index)) is not None}
        home = common_mark(marks.values(), view)
        if home.axis != 0:
            raise Refused(f"it works along axis {home.axis}, which is {home.size(view.batch)}", mixes=True)
        rows = [index for index in given if index not in weights and index not in marks]
        edits = tuple(view.spread(index, home) for index in rows)
        yield BatchAnswer((home,) * len(view.node.outputs), edits)

    return answers


def batch_gate(view: BatchView) -> Iterator[BatchAnswer]:
    """SwiGLU: element by element, of two tensors of the same dims."""
    marks = {index: mark for index in (0, 1) if (mark := view.mark(index)) is not None}
    home = common_mark(marks.values(), view)
    yield BatchAnswer((home,), tuple(view.spread(index, home) for index in (0, 1) if index not in marks))


def batch_cache(view: BatchView) -> Iterator[BatchAnswer]:
    """TensorScatter: rows written into those of a cache, each sample's at a place of its own."""
    data = {index: mark for index in (0, 1) if (mark := view.mark(index)) is not None}
    places = view.mark(2) if view.has(2) else None
    home = common_mark([*data.values(), *([places] if places else [])], view)
    axis = view.axis(view.rank(0), -2)
    if axis == 0:
        raise Refused("it writes along axis 0, which no engine takes")
    if home.axis == axis:
        raise Refused(f"it writes along axis {axis}, which is {home.size(view.batch)}", mixes=True)
    edits = [view.spread(index, home) for index in (0, 1) if index not in data]
    if view.has(2) and places is None and home.axis == 0:
        edits.append(view.spread(2, home))
    yield BatchAnswer((home,), tuple(edits))


def shape_convolved(asking: Asking) -> Shapes:
    """CausalConvWithState: the dims of its data, and the last entries as the state of the next step."""
    dims, weights = asking.dims(0), asking.dims(1)
    if len(dims) != 3 or len(weights) != 3:
        raise Refused("its data or its weights have not three dims")
    state = asking.known(3)
    if state is None:
        kernel = weights[2]
        state = (dims[0], dims[1], kernel - 1 if isinstance(kernel, int) and kernel > 0 else asking.new())
    return [dims, state][: asking.count]


def shape_attended(asking: Asking) -> Shapes:
    """LinearAttention: heads side by side, and a state of keys by values for each."""
    query, key, value = (asking.dims(index) for index in range(3))
    if any(len(dims) != 3 for dims in (query, key, value)):
        raise Refused("its queries, keys and values have not three dims")
    heads, queries = int(asking.attribute("kv_num_heads", 0)), int(asking.attribute("q_num_heads", 0))
    if heads < 1 or queries < 1:
        raise Refused("it has no heads")
    width = cut(value[2], heads)
    state: Dims = asking.known(3) or (query[0], heads, cut(key[2], heads), width)
    return [(*query[:2], width * queries), state][: asking.count]


def kinds_attended(given: Kinds, _attribute: Attribute) -> list[Kind | None]:
    """LinearAttention: the state is of the type that it had; a new one of that of the queries."""
    return [given(0), given(3) or given(0)]


RECORDS = {
    "BitCast": Record(shape=same_first, kinds=by_attribute("to", 0), batch=batch_elementwise, free=same_dims),
    "SwiGLU": Record(shape=same_first, batch=batch_gate),
    "TensorScatter": Record(shape=same_first, batch=batch_cache),
    "CausalConvWithState": Record(shape=shape_convolved, batch=_rows(1, 2)),
    "LinearAttention": Record(shape=shape_attended, batch=_rows(), kinds=kinds_attended),
}
