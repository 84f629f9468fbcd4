"""Functions of elements that are of no other family: bits, texts, counts of words."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.arithmetic import operands
from onereshape.terms.records.content import content
from onereshape.terms.records.pointwise import attributes_of, type_of
from onereshape.terms.tensor import Tensor, numbers


def _bit_cast(call: Call) -> Sequence[Tensor]:
    """BitCast: the bits of data as another type."""
    data, kind = call.tensor(0), type_of(call, int(call.attribute("to")))
    if ir.DataType.STRING in {kind, data.dtype} or kind.bitwidth != data.dtype.bitwidth:
        call.refuse(f"{data.dtype.name} has not as many bits as {kind.name}")
    if kind == data.dtype:
        return [data]
    if data.depends:
        call.not_for_all("reads the bits of a number that depends on the number of samples")
    whole = kind.bitwidth >= 8 and ir.DataType.BOOL not in {kind, data.dtype}
    if data.values is not None and whole:
        return [numbers(np.ascontiguousarray(data.values).view(kind.numpy()).reshape(data.shape), kind)]
    return [call.mixed(kind, call.key(data.dtype.name, kind.name), call.words(0))]


def _string_concat(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    return [call.mixed(ir.DataType.STRING, call.key(), left.hashed(call.hashing), right.hashed(call.hashing))]


def _matches(call: Call) -> Sequence[Tensor]:
    return [call.mixed(ir.DataType.BOOL, call.key(*attributes_of(call)), call.words(0))]


def _normalised(call: Call) -> Sequence[Tensor]:
    """StringNormalizer: each text by itself, refused where stopwords may leave texts out."""
    data = call.tensor(0)
    if data.rank not in {1, 2} or (data.rank == 2 and data.shape[0] != 1) or not prod(data.shape):
        call.refuse(f"the dims {list(data.shape)} are not [C] or [1, C]")
    if call.attribute("stopwords"):
        call.refuse("leaves texts out, and how many are left depends on them")
    if data.rank == 2 and data.growth and data.growth[0]:
        call.not_for_all("takes a single row")
    return [call.mixed(ir.DataType.STRING, call.key(*attributes_of(call)), call.words(0))]


def _pieces(call: Call) -> Sequence[Tensor | None]:
    """StringSplit: only the number of each text's pieces; the dims of the pieces themselves depend on the texts."""
    return [None, call.mixed(ir.DataType.INT64, call.key(*attributes_of(call)), call.words(0))][: call.outputs]


def _counted(call: Call) -> Sequence[Tensor]:
    """TfIdfVectorizer: for each of its sequences a count of a row, as a function of the whole row."""
    data = call.tensor(0)
    indexes = call.attribute("ngram_indexes")
    if data.rank not in {1, 2} or not prod(data.shape) or not indexes or min(indexes) < 0:
        call.refuse(f"the dims {list(data.shape)} are not those of rows")
    width = max(indexes) + 1
    call.check_size((*data.shape[:-1], width))
    places = call.hashing.leaves(call.key(op="place"), width)
    row = content(call, data, (data.rank - 1,), keep=True)
    return [call.mixed(ir.DataType.FLOAT, call.key(*attributes_of(call)), row, places)]


RECORDS: Final[dict[str, Record]] = {
    "BitCast": record(_bit_cast, carries=True),
    "RegexFullMatch": record(_matches),
    "StringConcat": record(_string_concat),
    "StringNormalizer": record(_normalised),
    "StringSplit": record(_pieces),
    "TfIdfVectorizer": record(_counted),
}
