"""Attentions of com.microsoft: what is made of a sample is a function of all of this sample, and of the place in it.

That says less than could be said, as a token need not see every other one, but it keeps the samples apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content
from onereshape.terms.records.contrib import places
from onereshape.terms.records.declared import BYTES, DOMAIN, Optional, declared, own, vector
from onereshape.terms.records.quantised import single
from onereshape.terms.tensor import Tensor, terms


@dataclass(slots=True)
class _Samples:
    """The inputs of an operator, in a word per sample: of its own part, and of what all samples share."""

    call: Call
    batch: int
    parts: list[Words] = field(default_factory=list)

    def own(self, place: int, axis: int = 0, *, shared: bool = False) -> None:
        """Adds the words of an input that has the samples along an axis, or 1 if it may be `shared`."""
        if not self.call.has(place):
            self.parts.append(np.zeros(1, np.uint64))
            return
        tensor = self.call.tensor(place)
        if tensor.rank <= axis or tensor.shape[axis] not in {self.batch, 1 if shared else self.batch}:
            self.call.refuse(f"input {place} has the dims {list(tensor.shape)}, and there are {self.batch} samples")
        rest = tuple(each for each in range(tensor.rank) if each != axis)
        dims = tuple(tensor.shape[each] for each in rest)
        part = content(self.call, tensor, rest) if rest else tensor.hashed(self.call.hashing)
        self.parts.append(self.call.hashing.mix(self.call.key(place, dims, op="sample"), part))

    def common(self, place: int) -> None:
        """Adds the words of an input that all samples read as a whole."""
        if not self.call.has(place):
            self.parts.append(np.zeros(1, np.uint64))
            return
        tensor = self.call.tensor(place)
        part = content(self.call, tensor, tuple(range(tensor.rank)))
        self.parts.append(self.call.hashing.mix(self.call.key(place, tensor.shape, op="common"), part).reshape(1))

    def made(self, dtype: ir.DataType, dims: Sequence[int], what: str, axis: int = 0) -> Tensor:
        """An output with the samples along an axis among `dims`: N, `(2, H)` at axis 1 -> `(2, N, H)`."""
        self.call.check_size((self.batch, *dims))
        given = tuple(self.call.has(place) for place in range(len(self.call.inputs)))
        key = own(self.call, what, tuple(dims), given, *self.call.settings())
        sample = np.broadcast_to(self.call.hashing.mix(key, *self.parts), (self.batch,))
        words = self.call.hashing.mix(
            self.call.key(op="place of sample"),
            sample.reshape(self.batch, *[1] * len(dims)),
            places(self.call, *dims)[None],
        )
        return terms(np.moveaxis(words, 0, axis), dtype)


def _rank(call: Call, place: int, rank: int) -> tuple[int, ...]:
    found = call.tensor(place).shape
    if len(found) != rank:
        call.refuse(f"input {place} has the dims {list(found)}, and should have {rank} of them")
    return found


def _heads(call: Call, width: int, heads: int) -> int:
    """The size of a head."""
    if heads < 1 or width % heads or not width:
        call.refuse(f"a width of {width} does not go into {heads} heads")
    return width // heads


def _mask(call: Call, samples: _Samples, place: int) -> None:
    """Adds the words of a mask with the samples on its first axis; refuses masks of another rank."""
    if call.has(place) and call.tensor(place).rank not in {1, 2, 3, 4}:
        call.refuse(f"input {place} is a mask of another kind")
    samples.own(place)


def _present(call: Call, past: int, length: int, dims: Sequence[int]) -> int:
    """The length of the present keys: `length`, and that of the past ones, input `past`, whose dims must be `dims`."""
    if not call.has(past):
        return length
    found = call.tensor(past).shape
    if len(found) != len(dims) or any(want not in {-1, have} for have, want in zip(found, dims, strict=True)):
        call.refuse(f"input {past} has the dims {list(found)}")
    return length + found[-2]


def _attention(call: Call) -> Sequence[Value]:
    batch, length, inner = _rank(call, 0, 3)
    rows, width = _rank(call, 1, 2)
    sizes = call.attribute("qkv_hidden_sizes") or [width // 3] * 3
    heads = call.attribute("num_heads")
    if call.attribute("past_present_share_buffer", 0) or call.has(6):
        call.refuse("it writes into what it is given")
    if rows != inner or len(sizes) != 3 or sum(sizes) != width or sizes[0] != sizes[1]:
        call.refuse(f"its weights have the dims {[rows, width]} for {sizes}")
    size, out = _heads(call, sizes[0], heads), _heads(call, sizes[2], heads)
    if call.has(2):
        vector(call, 2, width)
    samples = _Samples(call, batch)
    samples.own(0)
    samples.common(1)
    samples.common(2)
    _mask(call, samples, 3)
    samples.own(4, 1)
    samples.own(5, shared=True)
    total = _present(call, 4, length, (2, batch, heads, -1, size))
    dtype = call.tensor(0).dtype
    found: list[Value] = [samples.made(dtype, (length, sizes[2]), "output")]
    if call.outputs > 1:
        if size != out:
            call.refuse("what it keeps is of several sizes")
        found.append(samples.made(dtype, (2, heads, total, size), "present", 1))
    return found


def _quantised_attention(call: Call) -> Sequence[Value]:
    batch, length, inner = _rank(call, 0, 3)
    rows, width = _rank(call, 1, 2)
    heads = call.attribute("num_heads")
    if call.attribute("past_present_share_buffer", 0) or rows != inner or width % 3:
        call.refuse(f"its weights have the dims {[rows, width]}, or it writes into what it is given")
    size = _heads(call, width // 3, heads)
    vector(call, 2, width)
    single(call, 3)
    samples = _Samples(call, batch)
    samples.own(0)
    for place in (1, 2, 3, 4, 6, 7):
        samples.common(place)
    _mask(call, samples, 5)
    samples.own(8, 1)
    total = _present(call, 8, length, (2, batch, heads, -1, size))
    dtype = call.tensor(2).dtype
    found: list[Value] = [samples.made(dtype, (length, width // 3), "output")]
    return [*found, samples.made(dtype, (2, heads, total, size), "present", 1)][: call.outputs]


def _widths(call: Call, heads: int) -> tuple[int, int, int, int]:
    """The lengths of queries and of keys, the sizes of a head of keys and of values."""
    query = call.tensor(0).shape
    if len(query) == 5 and not call.has(1) and not call.has(2) and query[2:4] == (heads, 3):
        return query[1], query[1], query[4], query[4]
    if len(query) != 3 or not call.has(1):
        call.refuse(f"its queries have the dims {list(query)}")
    size, key = _heads(call, query[2], heads), call.tensor(1).shape
    if len(key) == 5 and not call.has(2) and key[2:] == (heads, 2, size):
        return query[1], key[1], size, size
    value = call.tensor(2).shape
    if len(key) == len(value) == 3 and key[1] == value[1] and key[2] == query[2]:
        return query[1], key[1], size, _heads(call, value[2], heads)
    if len(key) == len(value) == 4 and key[:3] == value[:3] and key[1] == heads and key[3] == size:
        return query[1], key[2], size, value[3]
    return call.refuse(f"the dims {list(query)}, {list(key)} and {list(value)} do not go together")


def _multi_head(call: Call) -> Sequence[Value]:
    heads = call.attribute("num_heads")
    length, other, size, out = _widths(call, heads)
    if call.has(8) or call.has(9):
        call.refuse("it writes into what it is given")
    if call.has(3):
        vector(call, 3, heads * (2 * size + out))
    batch = call.tensor(0).shape[0]
    samples = _Samples(call, batch)
    for place in (0, 1, 2):
        samples.own(place)
    samples.common(3)
    _mask(call, samples, 4)
    samples.own(5, shared=True)
    samples.own(6)
    samples.own(7)
    if call.has(6) != call.has(7):
        call.refuse("it has only one of what it is to go on with")
    total = _present(call, 6, other, (batch, heads, -1, size))
    _present(call, 7, other, (batch, heads, -1, out))
    dtype = call.tensor(0).dtype
    return [
        samples.made(dtype, (length, heads * out), "output"),
        samples.made(dtype, (heads, total, size), "present key"),
        samples.made(dtype, (heads, total, out), "present value"),
    ][: call.outputs]


def _check_grouped(call: Call) -> None:
    """Refuses a GroupQueryAttention whose inputs or attributes ask for more than attention."""
    if call.has(1) != call.has(2) or call.has(3) != call.has(4):
        call.refuse("it has only one of keys and values")
    if {call.attribute("k_quant_type"), call.attribute("v_quant_type")} != {"NONE"}:
        call.refuse("it keeps quantised numbers")
    if call.has(12) or call.has(13) or call.attribute("sliding_window_cache") or call.attribute("qk_output"):
        call.refuse("it is asked for more than attention")


def _grouped(call: Call) -> Sequence[Value]:
    batch, length, width = _rank(call, 0, 3)
    heads, few = call.attribute("num_heads"), call.attribute("kv_num_heads")
    _check_grouped(call)
    if few < 1 or heads % few or (call.has(3) and length > 1 and batch > 1):
        call.refuse(f"it goes not over {batch} samples with {heads} and {few} heads")
    size = _heads(call, width, heads if call.has(1) else heads + 2 * few)
    for place in (1, 2):
        if call.has(place) and call.tensor(place).shape != (batch, length, few * size):
            call.refuse(f"input {place} has the dims {list(call.tensor(place).shape)}")
    if call.tensor(5).shape not in {(batch,), (batch, 1)} or call.tensor(6).size != 1:
        call.refuse("its lengths are not one for each sample, and one for all")
    samples = _Samples(call, batch)
    for place in (0, 1, 2, 3, 4, 5):
        samples.own(place)
    for place in (6, 7, 8, 11, 14, 15):
        samples.common(place)
    samples.own(9)
    samples.own(10, shared=True)
    dtype = call.tensor(0).dtype
    found: list[Value] = [samples.made(dtype, (length, heads * size), "output")]
    if call.outputs > 1:
        past = [_present(call, place, 0, (batch, few, -1, size)) for place in (3, 4)]
        total = max(past[0], int(call.scalar(6)))
        if past[0] != past[1] or call.tensor(6).depends:
            call.refuse("what it keeps has several lengths")
        found += [samples.made(dtype, (few, total, size), what) for what in ("present key", "present value")]
    return found[: call.outputs]


def _rotary(call: Call) -> Sequence[Tensor]:
    """A row is turned by its position: it is a function of itself, of its position and of the tables."""
    data, positions = call.tensor(0), call.tensor(1)
    if data.rank not in {3, 4} or call.attribute("is_packed_batching", 0):
        call.refuse(f"the dims {list(data.shape)} are not those of samples")
    batch, length = data.shape[0], data.shape[-2]
    tables = [call.tensor(place) for place in (2, 3)]
    if tables[0].shape != tables[1].shape or tables[0].rank != 2:
        call.refuse("its tables have several dims")
    if positions.shape == (batch, length):
        position = positions.hashed(call.hashing)
    elif positions.shape == (1,):
        if data.growth and data.growth[-2]:
            call.not_for_all("counts places of a dim that grows with the number of samples")
        position = positions.hashed(call.hashing) + call.hashing.constants(np.arange(length), "INT64")[None]
    else:
        call.refuse(f"its positions have the dims {list(positions.shape)}")
    position = position.reshape(position.shape[0], *[1] * (data.rank - 3), length, 1)
    row = content(call, data, (data.rank - 1,), keep=True)
    turns = [content(call, each, (0, 1)) for each in tables]
    key = own(call, data.rank, data.shape[-1], tables[0].shape, *call.settings())
    return [call.mixed(data.dtype, key, row, position, places(call, data.shape[-1]), *turns)]


_FLOATS: Final = "FLOAT FLOAT16 BFLOAT16"
_T: Final = {"T": _FLOATS, "M": "INT32", "L": "INT64"}
_SETTINGS: Final[dict[str, Any]] = {
    "mask_filter_value": Optional(float),
    "num_heads": int,
    "scale": Optional(float),
    "unidirectional": 0,
}
_SHARING: Final[dict[str, Any]] = {
    **_SETTINGS,
    "do_rotary": Optional(int),
    "past_present_share_buffer": Optional(int),
}

RECORDS: Final[dict[str | tuple[str, str], Record]] = {
    (DOMAIN, "Attention"): record(
        declared(
            _attention,
            "T T T? M? T? T? M?",
            _T,
            {**_SHARING, "qkv_hidden_sizes": Optional(list), "rotary_embedding_dim": Optional(int)},
            2,
        )
    ),
    (DOMAIN, "QAttention"): record(
        declared(
            _quantised_attention,
            "A B F F F M? A? B? F?",
            {"A": BYTES, "B": BYTES, "F": "FLOAT FLOAT16", "M": "INT32"},
            _SHARING,
            2,
        )
    ),
    (DOMAIN, "MultiHeadAttention"): record(declared(_multi_head, "T T? T? T? M? T? T? T? M? M?", _T, _SETTINGS, 3)),
    (DOMAIN, "GroupQueryAttention"): record(
        declared(
            _grouped,
            "T T? T? T? T? M M T? T? L? T? T? F? F? T? T?",
            {**_T, "F": "FLOAT"},
            {
                "causal": 1,
                "do_rotary": Optional(int),
                "k_quant_type": "NONE",
                "kv_cache_bit_width": Optional(int),
                "kv_num_heads": int,
                "local_window_size": -1,
                "num_heads": int,
                "qk_norm_epsilon": 1e-6,
                "qk_output": 0,
                "rotary_interleaved": Optional(int),
                "scale": Optional(float),
                "sliding_window_cache": 0,
                "smooth_softmax": -1,
                "softcap": Optional(float),
                "v_quant_type": "NONE",
            },
            3,
        )
    ),
    (DOMAIN, "RotaryEmbedding"): record(
        declared(
            _rotary,
            "T L T T",
            _T,
            {
                "interleaved": Optional(int),
                "is_packed_batching": Optional(int),
                "num_heads": Optional(int),
                "rotary_embedding_dim": Optional(int),
                "scale": Optional(float),
            },
        )
    ),
}
