"""Attention and RotaryEmbedding: a query beside all keys, a column of all values, and its row of the mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records import picking
from onereshape.terms.records.content import content, places, switch
from onereshape.terms.records.reshaping import joined
from onereshape.terms.tensor import Tensor, terms

_ATTRIBUTES: Final = (
    "scale softcap softmax_precision qk_matmul_output_mode is_causal left_window_size right_window_size"
).split()


def _heads(call: Call, tensor: Tensor, name: str) -> Tensor:
    """A tensor as (batch, heads, places, width), which may be given in three axes: `(1, 5, 8)`, 2 -> `(1, 2, 5, 4)`."""
    if tensor.rank == 4:
        return tensor
    heads = call.attribute(name)
    if tensor.rank != 3 or heads is None or heads < 1 or tensor.shape[2] % heads:
        call.refuse(f"the dims {list(tensor.shape)} do not divide into heads")
    batch, length, width = tensor.shape
    return tensor.moved(lambda array: array.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3))


def _attention(call: Call) -> Sequence[Tensor | None]:
    given = [call.tensor(place) for place in range(3)]
    if len({each.rank for each in given}) > 1:
        call.refuse("its queries, keys and values have several ranks")
    if any(any(each.growth[1:]) for each in given if each.growth):
        call.not_for_all("a dim that is not its batch grows with the number of samples")
    query = _heads(call, given[0], "q_num_heads")
    key, value = (_heads(call, each, "kv_num_heads") for each in given[1:])
    new = key.shape[2]
    if call.has(4) != call.has(5) or (call.has(4) and call.has(6)):
        call.refuse("a past of keys goes with one of values, and with no lengths")
    if call.has(4):
        key, value = _after(call, 4, key), _after(call, 5, value)
    _check_dims(call, query, key, value)
    groups = query.shape[1] // max(key.shape[1], 1)
    flags = [call.attribute(name) for name in _ATTRIBUTES]
    placed = switch(call, "is_causal") or any(
        call.attribute(name, -1) >= 0 for name in ("left_window_size", "right_window_size")
    )
    read = [
        content(call, query, (3,), keep=True),
        np.repeat(content(call, key, (2, 3), keep=True), groups, 1),
        *_masks(call, query, key),
    ]
    if placed:  # what a query may read depends on its place, counted after the past
        flags += [call.version, key.shape[2] - new]
        read.append(places(call, query.shape[2], 4, 2))
    word = call.key(*flags, call.has(3), call.has(6), query.dtype.name)
    shape = (*query.shape[:3], value.shape[3])
    columns = np.repeat(content(call, value, (2,), keep=True), groups, 1)
    found = call.hashing.mix(word, *_fitting(call, shape, (*read, columns)))
    answer = terms(np.broadcast_to(found, shape), query.dtype)
    if given[0].rank == 3:
        dims = (shape[0], shape[2], shape[1] * shape[3])
        answer = answer.moved(lambda array: array.transpose(0, 2, 1, 3).reshape(dims))
    scores = _scores(call, (word, read), query, np.repeat(content(call, key, (3,)), groups, 1))
    return [answer, key, value, scores]


def _after(call: Call, place: int, tensor: Tensor) -> Tensor:
    """New keys or values behind those of the past, which is the input at `place`, along axis 2."""
    past = call.tensor(place)
    if past.rank != 4 or past.shape[:2] != tensor.shape[:2] or past.shape[3] != tensor.shape[3]:
        call.refuse(f"the dims {list(past.shape)} of the past do not go with {list(tensor.shape)}")
    return joined(call, [past, tensor], 2)


def _check_dims(call: Call, query: Tensor, key: Tensor, value: Tensor) -> None:
    heads, others = query.shape[1], key.shape[1]
    if (
        not query.shape[0] == key.shape[0] == value.shape[0]
        or key.shape[1:3] != value.shape[1:3]
        or query.shape[3] != key.shape[3]
        or (others and heads % others)
        or (heads and not others)
    ):
        call.refuse(f"the dims {[list(each.shape) for each in (query, key, value)]} do not go together")
    call.check_size((*query.shape[:3], value.shape[3]))


def _masks(call: Call, query: Tensor, key: Tensor) -> list[Words]:
    """The row of the mask that each query has, and the length of its sequence."""
    found = []
    if call.has(3):
        mask = call.tensor(3)
        total = key.shape[2]
        shorter = mask.shape[-1] < total if mask.rank else True
        if not 1 < mask.rank <= 4 or mask.shape[-1] > total or (shorter and (call.version < 24 or mask.shape[-1] == 1)):
            call.refuse(f"a mask of {list(mask.shape)} does not fit {total} keys")
        wanted = query.shape[:3][4 - mask.rank :]
        if any(one not in {1, two} for one, two in zip(mask.shape[:-1], wanted, strict=True)):
            call.refuse(f"a mask of {list(mask.shape)} does not fit queries of {list(query.shape)}")
        found.append(content(call, mask, (mask.rank - 1,), keep=True))
    if call.has(6):
        lengths = call.tensor(6)
        if lengths.shape != query.shape[:1]:
            call.refuse(f"{list(lengths.shape)} lengths are not those of {query.shape[0]} sequences")
        found.append(lengths.hashed(call.hashing).reshape(-1, 1, 1, 1))
    return found


def _fitting(call: Call, shape: tuple[int, ...], operands: Sequence[Words]) -> Sequence[Words]:
    call.check_size(shape)
    return operands


def _scores(call: Call, read: tuple[int, Sequence[Words]], query: Tensor, rows: Words) -> Tensor | None:
    """The scores of queries and keys, at the stage that an attribute names; None where that output is not read."""
    if call.outputs < 4:
        return None
    shape = (*query.shape[:3], rows.shape[2])
    word = call.hashing.key("scores", read[0])
    operands = [*read[1], rows[:, :, None], places(call, rows.shape[2], 4, 3)]
    found = call.hashing.mix(word, *_fitting(call, shape, operands))
    return terms(np.broadcast_to(found, shape), query.dtype)


def _rotary(call: Call) -> Sequence[Tensor]:
    given = call.tensor(0)
    if given.growth and any(given.growth[1:]):
        call.not_for_all("a dim that is not its batch grows with the number of samples")
    data = _heads(call, given, "num_heads")
    batch, heads, length, width = data.shape
    turned = int(call.attribute("rotary_embedding_dim", 0)) or width
    if turned % 2 or not 0 <= turned <= width:
        call.refuse(f"it cannot turn {turned} of {width}")
    angles = []
    for place in (1, 2):
        each = _angles(call, place)
        if each.shape != (batch, length, turned // 2):
            call.refuse(f"the angles have dims {list(each.shape)}, and should have {[batch, length, turned // 2]}")
        angles.append(each.hashed(call.hashing)[:, None])
    words = data.hashed(call.hashing)
    found = words.copy()
    halves = (
        (slice(0, turned, 2), slice(1, turned, 2))
        if switch(call, "interleaved")
        else (slice(0, turned // 2), slice(turned // 2, turned))
    )
    first, second = (words[..., half] for half in halves)
    for half, part in zip(halves, ("real", "imaginary"), strict=True):
        found[..., half] = call.hashing.mix(call.key(part), first, second, *angles)
    if given.rank == 3:
        found = found.transpose(0, 2, 1, 3).reshape(batch, length, heads * width)
    return [terms(found, given.dtype)]


def _angles(call: Call, place: int) -> Tensor:
    """The cosines or sines `[batch, length, half]` of a RotaryEmbedding, picked from a table by positions, if given."""
    table = call.tensor(place)
    if not call.has(3):
        return table
    if table.rank != 2 or call.tensor(3).rank != 2:
        call.refuse("its table of angles has not two axes")
    attributes: dict[str, Any] = {"axis": 0}
    picked = replace(call, op="Gather", inputs=(table, call.tensor(3)), attributes=attributes)
    found = picking.RECORDS["Gather"].rule(picked)[0]
    if not isinstance(found, Tensor):
        call.refuse("its angles are no tensor")
    return found


RECORDS: Final[dict[str, Record]] = {
    "Attention": record(_attention),
    "RotaryEmbedding": record(_rotary),
}
