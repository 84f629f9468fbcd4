"""Attentions, and what goes before them: each sample attends to itself, and to what all samples share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from onereshape.graphs.batch_rules.answers import common_mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.rule.sizes import cut


def samples_apart(
    view: BatchView, places: Mapping[int, int], outputs: Sequence[int], broadcast: frozenset[int] = frozenset()
) -> BatchAnswer:
    """Samples that stay apart: the axis that each input has them on, and each output.

    What all samples share is spread over them, but for inputs of which one entry there is enough (`broadcast`).
    """
    marks = {index: mark for index in view.batched() if (mark := view.mark(index))}
    if strange := [view.value(index).name for index in marks if index not in places]:
        raise Refused(f"its input {strange[0]} differs from sample to sample")
    for index, mark in marks.items():
        if mark.axis != places[index]:
            raise Refused(f"it attends along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    home = common_mark([mark.at(0) for mark in marks.values()], view)
    edits = [
        view.spread(index, home.at(axis))
        for index, axis in places.items()
        if view.has(index) and index not in marks and not (index in broadcast and view.dims(index)[axis] == 1)
    ]
    return BatchAnswer(tuple(home.at(axis) for axis in outputs[: len(view.node.outputs)]), tuple(edits))


def shape_attention(asking: Asking) -> Shapes:
    """Attention of onnxruntime: data times weights for query, key and value at once."""
    dims, weights = asking.dims(0), asking.dims(1)
    if len(dims) != 3 or len(weights) != 2:
        raise Refused("its data have not three dims")
    sizes = asking.attribute("qkv_hidden_sizes")
    if sizes:
        return [(dims[0], dims[1], sizes[2])]
    return [(dims[0], dims[1], cut(weights[1], 3))]


def shape_heads(asking: Asking) -> Shapes:
    """MultiHeadAttention of onnxruntime: as long as the query, as wide as the value."""
    query = asking.dims(0)
    if len(query) != 3 or not asking.has(2):
        raise Refused("its query is packed")
    value = asking.dims(2)
    if len(value) == 3:
        return [(*query[:2], value[2])]
    if len(value) == 4:
        return [(*query[:2], value[1] * value[3])]
    raise Refused("its value has neither three dims nor four")


def _check_mask(view: BatchView, index: int) -> None:
    if view.has(index) and view.rank(index) < 2:
        raise Refused("its mask is a list of lengths, in which the samples need not stand one by one")


def batch_heads(view: BatchView) -> Iterator[BatchAnswer]:
    """MultiHeadAttention: query, key, value, a mask, a bias, and the keys and values of before."""
    if view.has(8) or view.has(9):
        raise Refused("it keeps keys and values from run to run")
    _check_mask(view, 4)
    yield samples_apart(view, dict.fromkeys((0, 1, 2, 4, 5, 6, 7), 0), (0, 0, 0), frozenset({5}))


def batch_packed_attention(view: BatchView) -> Iterator[BatchAnswer]:
    """Attention of onnxruntime: data times weights for query, key and value at once."""
    if view.has(6):
        raise Refused("it keeps keys and values from run to run")
    _check_mask(view, 3)
    yield samples_apart(view, {0: 0, 3: 0, 4: 1, 5: 0}, (0, 1), frozenset({5}))


def shape_grouped(asking: Asking) -> Shapes:
    """GroupQueryAttention: as long as the query; keys and values are kept for fewer heads than there are queries."""
    query, many, few = asking.dims(0), asking.attribute("num_heads"), asking.attribute("kv_num_heads")
    if len(query) != 3 or not many or not few:
        raise Refused("its query has not three dims, or its heads are not known")
    size = cut(query[2], many if asking.has(1) else many + 2 * few)
    kept = (query[0], few, asking.new(), size)
    return [(*query[:2], many * size), kept, kept]


def batch_grouped_attention(view: BatchView) -> Iterator[BatchAnswer]:
    """GroupQueryAttention: query, key, value, those of before, lengths, places and a bias of each sample."""
    before = view.dims(3)[2] if view.has(3) else 0
    if before != 0 and view.dims(0)[1] != 1:
        why = "with keys and values of before it takes several samples only where each has one token"
        raise Refused(f"{why}, and its query has {view.dims(0)[1]}")
    yield samples_apart(view, dict.fromkeys((0, 1, 2, 3, 4, 5, 9, 10), 0), (0, 0, 0), frozenset({10}))


def batch_quantised_attention(view: BatchView) -> Iterator[BatchAnswer]:
    """QAttention: data times weights for query, key and value at once, on bytes."""
    _check_mask(view, 5)
    yield samples_apart(view, {0: 0, 5: 0, 8: 1}, (0, 1))


def kinds_bias(given: Kinds, _: Attribute) -> list[Kind | None]:
    """QAttention: that of its bias."""
    return [given(2), given(2)]


def shape_plain_attention(asking: Asking) -> Shapes:
    """Attention: as long as the query, as wide as the value."""
    query, value = asking.dims(0), asking.dims(2)
    if len(query) == len(value) == 4:
        return [(*query[:3], value[3])]
    few, many = asking.attribute("kv_num_heads"), asking.attribute("q_num_heads")
    if len(query) != 3 or len(value) != 3 or not few or not many:
        raise Refused("its query and its value have neither three dims nor four")
    return [(*query[:2], many * cut(value[2], few))]


def batch_plain_attention(view: BatchView) -> Iterator[BatchAnswer]:
    """Attention: query, key, value, the keys and values of before; a mask of four dims has one for each sample."""
    places = dict.fromkeys((0, 1, 2, 4, 5, 6), 0)
    if view.has(3) and (view.rank(3) == 4 or view.mark(3) is not None):
        if view.rank(3) != 4:
            raise Refused(f"its mask has {view.rank(3)} dims, and the samples are on one of them")
        places[3] = 0
    yield samples_apart(view, places, (0, 0, 0, 0), frozenset({3}))


def batch_rotary(view: BatchView) -> Iterator[BatchAnswer]:
    """RotaryEmbedding: places of their own for each sample, or tables that are; one of the two all samples share."""
    places = {0: 0, 3: 0} if view.has(3) else {0: 0, 1: 0, 2: 0}
    yield samples_apart(view, places, (0,))


def batch_contributed_rotary(view: BatchView) -> Iterator[BatchAnswer]:
    """RotaryEmbedding of onnxruntime: a place where all samples begin, or places of their own."""
    if view.attribute("is_packed_batching", 0):
        raise Refused("it has the samples one after the other, without their lengths")
    yield samples_apart(view, {0: 0, 1: 0} if view.rank(1) > 1 else {0: 0}, (0,))


def shape_embedding(asking: Asking) -> Shapes:
    """EmbedLayerNormalization: a row of a table for each identifier; the lengths of masks; what was normalised."""
    ids, table = asking.dims(0), asking.dims(2)
    if len(ids) != 2 or len(table) != 2:
        raise Refused("its identifiers or its table have not two dims")
    whole = (*ids, table[1])
    return [whole, (ids[0],), whole]


def kinds_embedding(given: Kinds, _: Attribute) -> list[Kind | None]:
    """EmbedLayerNormalization: the type of its tables, input 2; the lengths are int32."""
    return [given(2), Kind.INT32, given(2)]


def batch_embedding(view: BatchView) -> Iterator[BatchAnswer]:
    """EmbedLayerNormalization: identifiers, segments, masks and places of each sample."""
    yield samples_apart(view, {0: 0, 1: 0, 7: 0, 8: 0}, (0, 0, 0), frozenset({8}))


RECORDS = {
    "Attention": Record(shape=shape_plain_attention, batch=batch_plain_attention),
    "RotaryEmbedding": Record(shape=same_first, batch=batch_rotary),
    "com.microsoft::Attention": Record(shape=shape_attention, batch=batch_packed_attention),
    "com.microsoft::QAttention": Record(shape=shape_attention, kinds=kinds_bias, batch=batch_quantised_attention),
    "com.microsoft::GroupQueryAttention": Record(shape=shape_grouped, batch=batch_grouped_attention),
    "com.microsoft::MultiHeadAttention": Record(shape=shape_heads, batch=batch_heads),
    "com.microsoft::RotaryEmbedding": Record(shape=same_first, batch=batch_contributed_rotary),
    "com.microsoft::EmbedLayerNormalization": Record(
        shape=shape_embedding, kinds=kinds_embedding, batch=batch_embedding
    ),
}
