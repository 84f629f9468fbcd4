"""Attention as onnxruntime fuses it: each element is a function of all that its sample has, and of its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content, places
from onereshape.terms.records.pointwise import attributes_of
from onereshape.terms.tensor import Tensor

_DOMAIN: Final = "com.microsoft"


def _heads(call: Call) -> int:
    found = call.attribute("num_heads")
    if not isinstance(found, int) or found < 1:
        call.refuse(f"{found} is no number of heads")
    return found


def _many_heads(call: Call) -> Sequence[Tensor]:
    query, key, value = (call.tensor(place) for place in range(3))
    heads = _heads(call)
    if {query.rank, key.rank, value.rank} != {3} or key.shape[:2] != value.shape[:2]:
        call.refuse("its queries, keys and values have not three axes each")
    widths = (query.shape[2], value.shape[2])
    if key.shape[::2] != query.shape[::2] or any(width % heads for width in widths):
        call.refuse(f"the dims {[list(each.shape) for each in (query, key, value)]} do not go together")
    if call.has(3) and call.tensor(3).shape != (2 * widths[0] + widths[1],):
        call.refuse("its bias is not one of all widths")
    return [_whole(call, 3, query.shape[:2], key.shape[1], widths[1])]


def _with_weights(call: Call) -> Sequence[Tensor]:
    data, weights, heads = call.tensor(0), call.tensor(1), _heads(call)
    if data.rank != 3 or weights.rank != 2 or weights.shape[0] != data.shape[2]:
        call.refuse("its data and weights do not go together")
    total = weights.shape[1]
    widths = call.attribute("qkv_hidden_sizes") or [total // 3] * 3
    if (
        len(widths) != 3
        or not all(isinstance(width, int) and width >= 0 for width in widths)
        or sum(widths) != total
        or any(width % heads for width in widths)
    ):
        call.refuse(f"the widths {list(widths)} are not those of its weights")
    if call.has(2) and call.tensor(2).shape != (total,):
        call.refuse("its bias is not one of all widths")
    if call.has(4):
        call.refuse("it reads a past")
    return [_whole(call, 1, data.shape[:2], data.shape[1], int(widths[2]))]


_MASKS: Final = {"MultiHeadAttention": 4, "Attention": 3}


def _whole(call: Call, samples: int, outer: tuple[int, ...], keys: int, width: int) -> Tensor:
    """Everything of a sample: the first inputs have a batch, the others are the same for all."""
    batch, length = outer
    if call.outputs > 1 or len(call.inputs) > 6:
        call.refuse("it reads or writes a past")
    first = call.tensor(0)
    if any(any(each.growth[1:]) for each in call.inputs[:samples] if isinstance(each, Tensor) and each.growth):
        call.doubt("a dim that is not its batch grows with the number of samples")
    found: list[Words] = []
    for place in range(len(call.inputs)):
        if not call.has(place):
            continue
        each = call.tensor(place)
        if place == _MASKS[call.op]:
            if each.shape not in {(batch, keys), (batch, length, keys)} or each.dtype != ir.DataType.INT32:
                call.refuse(f"a mask of {list(each.shape)} is not one for each sample")
        elif each.dtype != first.dtype:
            call.refuse(f"its input {place} is of another type")
        if place == 5 and (each.rank != 4 or each.shape[0] not in {1, batch} or each.shape[2:] != (length, keys)):
            call.refuse(f"a bias of {list(each.shape)} does not fit")
        by_sample = place < samples or place in {_MASKS[call.op], 5}
        if by_sample and each.shape[0] not in {1, batch}:
            call.refuse(f"input {place} has not {batch} samples")
        axes = range(1 if by_sample else 0, each.rank)
        words = content(call, each, tuple(axes))
        found.append(words.reshape(-1, 1, 1))
    there = tuple(call.has(place) for place in range(6))
    key = call.key(_DOMAIN, attributes_of(call), there, first.dtype.name)
    call.check_size((batch, length, width))
    return call.mixed(first.dtype, key, *found, places(call, length, 3, 1), places(call, width, 3, 2))


RECORDS: Final[dict[tuple[str, str], Record]] = {
    (_DOMAIN, "Attention"): record(_with_weights),
    (_DOMAIN, "MultiHeadAttention"): record(_many_heads),
}
