"""Operators of com.microsoft that are no compositions, or whose compositions would be too large to be followed.

All others are text (`ground.functions`).  Inverse is plain.  Packed weights (MatMulNBits, GatherBlockQuantized) would
be eight times as many elements once they are taken apart, and are multiplied as bytes where `accuracy_level` says so.
GroupQueryAttention puts keys where lengths say, which are data: what it makes of a sample is a function of all of this
sample, and of the place in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content
from onereshape.terms.records.declared import DOMAIN, Optional, declared, own, vector
from onereshape.terms.tensor import Tensor, terms

_NOTHING: Final = np.asarray(np.uint64(0))


def _places(call: Call, *dims: int) -> Words:
    """A word for each place in a tensor with `dims`, which are its dims."""
    call.check_size(dims)
    return call.hashing.leaves(call.key(op="place"), prod(dims)).reshape(dims)


def _inverse(call: Call) -> Sequence[Tensor]:
    data = call.square(0)
    matrix = content(call, data, (data.rank - 2, data.rank - 1), keep=True)
    return [call.mixed(data.dtype, own(call, data.shape[-1]), matrix, _places(call, *data.shape[-2:]))]


def _few_bits(call: Call) -> Sequence[Tensor]:
    """A product with packed weights: a column is of all of them and of its place."""
    data = call.tensor(0)
    width, inner = call.attribute("N"), call.attribute("K")
    if not data.rank or data.shape[-1] != inner or width < 1:
        call.refuse(f"the dims {list(data.shape)} do not end in {inner}")
    weights = [_content(call, place) for place in range(1, 5) if call.has(place)]
    given = tuple(call.has(place) for place in range(1, 6))
    bias = vector(call, 5, width).hashed(call.hashing) if call.has(5) else _NOTHING
    rows = content(call, data, (data.rank - 1,), keep=True)
    key = own(call, given, *call.settings())
    return [call.mixed(data.dtype, key, rows, _places(call, width), bias, *weights)]


def _content(call: Call, place: int) -> Words:
    """A word for the whole content of an input and its dims."""
    found = call.tensor(place)
    return call.hashing.mix(call.key(found.shape, op="common"), content(call, found, range(found.rank)))


def _few_bits_gather(call: Call) -> Sequence[Tensor]:
    """What an index picks is of all of the table, of the index and of the place within a row."""
    data, index, scales = (call.tensor(place) for place in range(3))
    axis = call.axis(call.attribute("gather_axis"), data.rank)
    call.axis(call.attribute("quantize_axis"), data.rank)
    bits = call.attribute("bits")
    if bits not in {2, 4, 8}:
        call.refuse(f"there are no numbers of {bits} bits")
    dims = list(data.shape)
    if data.dtype == ir.DataType.UINT8:
        if axis:
            call.refuse("it gathers packed numbers along another axis than the first")
        dims[-1] *= 8 // bits
        if data.rank < 2 and bits < 8:
            call.refuse("its packed numbers have no row")
    before, behind = dims[:axis], dims[axis + 1 :]
    call.check_size((*before, *index.shape, *behind))
    spread = _places(call, *before, *behind).reshape(*before, *[1] * index.rank, *behind)
    words = index.hashed(call.hashing).reshape(*index.shape, *[1] * len(behind))
    weights = [_content(call, place) for place in (0, 2, 3) if call.has(place)]
    if data.grows:
        call.not_for_all("picks from a table that grows with the number of samples")
    key = own(call, call.has(3), data.dtype.name, *call.settings())
    return [call.mixed(scales.dtype, key, spread, words, *weights)]


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
            _places(self.call, *dims)[None],
        )
        return terms(np.moveaxis(words, 0, axis), dtype)


def _present(call: Call, past: int, length: int, dims: Sequence[int]) -> int:
    """The length of the present keys: `length`, and that of the past ones, input `past`, whose dims must be `dims`."""
    if not call.has(past):
        return length
    found = call.tensor(past).shape
    if len(found) != len(dims) or any(want not in {-1, have} for have, want in zip(found, dims, strict=True)):
        call.refuse(f"input {past} has the dims {list(found)}")
    return length + found[-2]


def _check_grouped(call: Call) -> None:
    """Refuses a GroupQueryAttention whose inputs or attributes ask for more than attention."""
    if call.has(1) != call.has(2) or call.has(3) != call.has(4):
        call.refuse("it has only one of keys and values")
    if {call.attribute("k_quant_type"), call.attribute("v_quant_type")} != {"NONE"}:
        call.refuse("it keeps quantised numbers")
    if call.has(12) or call.has(13) or call.attribute("sliding_window_cache") or call.attribute("qk_output"):
        call.refuse("it is asked for more than attention")


def _grouped(call: Call) -> Sequence[Value]:
    batch, length, width = call.tensor(0).shape if call.tensor(0).rank == 3 else call.refuse("its query has not 3 dims")
    heads, few = call.attribute("num_heads"), call.attribute("kv_num_heads")
    _check_grouped(call)
    if few < 1 or heads % few or (call.has(3) and length > 1 and batch > 1):
        call.refuse(f"it goes not over {batch} samples with {heads} and {few} heads")
    many = heads if call.has(1) else heads + 2 * few
    if heads < 1 or width % many or not width:
        call.refuse(f"a width of {width} does not go into {many} heads")
    size = width // many
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


_NARROW: Final = "FLOAT FLOAT16 BFLOAT16"
_FEW: Final[dict[str, Any]] = {"bits": 4, "block_size": 128, "gather_axis": 0, "quantize_axis": 1}

RECORDS: Final[dict[str | tuple[str, str], Record]] = {
    (DOMAIN, "Inverse"): record(declared(_inverse, "T", {"T": "FLOAT FLOAT16 DOUBLE"})),
    (DOMAIN, "MatMulNBits"): record(
        declared(
            _few_bits,
            "T B T Z? G? T?",
            {"T": _NARROW, "B": "UINT8", "Z": f"UINT8 {_NARROW}", "G": "INT32"},
            {"K": int, "N": int, "accuracy_level": 0, "bits": 4, "block_size": int, "weight_prepacked": 0},
        )
    ),
    (DOMAIN, "GatherBlockQuantized"): record(
        declared(_few_bits_gather, "D I F D?", {"D": "INT4 UINT4 UINT8", "I": "INT32 INT64", "F": _NARROW}, _FEW)
    ),
    (DOMAIN, "GroupQueryAttention"): record(
        declared(
            _grouped,
            "T T? T? T? T? M M T? T? L? T? T? F? F? T? T?",
            {"T": _NARROW, "M": "INT32", "L": "INT64", "F": "FLOAT"},
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
}
