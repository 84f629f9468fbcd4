"""Sums of products: the content of a row beside the content of a column, so that each is read once.

Products commute and both contents have the same order, so that a sum of products does not mind which operand comes
first: (A B)' has the words of B' A'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Value, record
from onereshape.terms.hashing import Words
from onereshape.terms.integers import once, small
from onereshape.terms.records.arithmetic import RECORDS as ARITHMETIC
from onereshape.terms.records.pointwise import cast
from onereshape.terms.records.reductions import RECORDS as REDUCTIONS
from onereshape.terms.tensor import Tensor, bounded, numbers, terms

_ADDEND_MAY_MISS: Final = 11
_BROADCASTS: Final = 7
_WORK: Final = 1 << 28
"""Products of integers that are calculated."""


def dot(call: Call, dtype: ir.DataType, left: Words, right: Words) -> Tensor:
    """Sums of products of two contents, which are broadcast."""
    try:
        call.check_size(np.broadcast_shapes(left.shape, right.shape))
    except ValueError:
        call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} do not go together")
    return terms(call.hashing.blend(call.key(dtype.name, op="Dot"), left, right), dtype)


def product(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """A product of matrices, as MatMul has it."""
    if not left.rank or not right.rank:
        call.refuse("an operand is a scalar")
    over = max(right.rank - 2, 0)
    if left.shape[-1] != right.shape[over]:
        call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} do not go together")
    if left.values is not None and right.values is not None and left.is_integer:
        height, width = (each.shape[axis] if each.rank > 1 else 1 for each, axis in ((left, -2), (right, -1)))
        work = max(left.size * width, right.size * height)
        if work <= _WORK:
            return _exact(call, left, right)
        if left.depends or right.depends:
            call.not_for_all("multiplies numbers that depend on the number of samples")
    rows = left.folded(call.hashing, (left.rank - 1,))
    columns = right.folded(call.hashing, (over,))
    if left.rank > 1 and right.rank > 1:
        columns = columns[..., None, :]
    if right.rank > 1:
        rows = rows[..., None]
    return dot(call, left.dtype, rows, columns)


def _exact(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """The product of two matrices of known integers, with sums that wrap as their type does."""
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} do not go together")
    call.check_size((*batch, *left.shape[-2:-1], *(right.shape[-1:] if right.rank > 1 else ())))
    return numbers(np.asarray(np.matmul(left.array, right.array)).astype(left.array.dtype, copy=False), left.dtype)


def _matmul(call: Call) -> Sequence[Tensor]:
    return [product(call, call.tensor(0), call.tensor(1))]


def _turned(tensor: Tensor) -> Tensor:
    return tensor.moved(lambda array: array.swapaxes(-1, -2))


def _gemm(call: Call) -> Sequence[Tensor]:
    left, right = call.tensor(0), call.tensor(1)
    turns = [bool(call.attribute(name, 0)) for name in ("transA", "transB")]
    call.dims("K M" if turns[0] else "M K", "N K" if turns[1] else "K N")
    found = _scaled(call, _matrices(call, left, right, turns), "alpha")
    if not call.has(2):
        if call.version < _ADDEND_MAY_MISS:
            call.refuse("input 2 is missing")
        return [found]
    addend = call.tensor(2)
    broadcasts = call.version >= _BROADCASTS or call.attribute("broadcast", 0)
    if addend.shape != found.shape and not (broadcasts and _fits(addend.shape, found.shape)):
        call.refuse(f"the dims {list(addend.shape)} do not fit to {list(found.shape)}")
    return [_sum(call, found, _scaled(call, addend, "beta"))]


def _matrices(call: Call, left: Tensor, right: Tensor, turns: Sequence[bool]) -> Tensor:
    """A product of two matrices that may be turned; contents of constants are kept with them."""
    if left.known and right.known:
        return product(
            call, *(_turned(each) if turn else each for each, turn in zip((left, right), turns, strict=True))
        )
    over = (0 if turns[0] else 1), (1 if turns[1] else 0)
    rows, columns = left.folded(call.hashing, over[:1]), right.folded(call.hashing, over[1:])
    return dot(call, left.dtype, rows[:, None], columns[None, :])


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether dims broadcast to a target that does not change: `(1, 4) -> (3, 4)` do, `(3, 4) -> (1, 4)` do not."""
    behind = target[len(target) - len(shape) :]
    return len(shape) <= len(target) and all(dim in {1, of} for dim, of in zip(shape, behind, strict=True))


def _scaled(call: Call, tensor: Tensor, name: str) -> Tensor:
    factor = call.attribute(name, 1.0)
    return (
        tensor if factor == 1 else call.mixed(tensor.dtype, call.key(factor, op="Scale"), tensor.hashed(call.hashing))
    )


def _sum(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """The sum of two tensors, with the words that Add would give."""
    if left.values is not None and right.values is not None and left.is_integer:
        return numbers(np.add(left.values, right.values), left.dtype)
    one, two = left.hashed(call.hashing), right.hashed(call.hashing)
    if left.is_integer:
        return terms(np.asarray(one + two), left.dtype)
    return terms(call.hashing.blend(call.key(op="Add"), one, two), left.dtype)


def centred(call: Call, data: Tensor, zero: Tensor | None) -> Tensor:
    """Small integers less their zero points, which broadcast to them; they do not leave the type they are summed in."""
    wide = cast(call, data, ir.DataType.INT32)
    if zero is None:
        return wide
    if zero.dtype != data.dtype:
        call.refuse("a zero point is of another type than its tensor")
    point = cast(call, zero, ir.DataType.INT32)
    if wide.values is not None and point.values is not None:
        return numbers(np.subtract(wide.values, point.values), ir.DataType.INT32)
    words = np.asarray(wide.linear(call.hashing) - point.linear(call.hashing))
    (low, high), (first, last) = wide.bounds(), point.bounds()
    if low is None or high is None or first is None or last is None:
        return terms(words, ir.DataType.INT32)
    return terms(words, ir.DataType.INT32, once(low) - once(last), once(high) - once(first))


def _matmul_integer(call: Call) -> Sequence[Tensor]:
    factors, points = [call.tensor(0), call.tensor(1)], list[Tensor | None]()
    for place, data in enumerate(factors):
        zero = call.tensor(place + 2) if call.has(place + 2) else None
        if zero is not None:
            zero = _zero_point(call, data, zero, along=max(data.rank - 2, 0) if place == 0 else data.rank - 1)
        points.append(zero)
    if min(each.rank for each in factors) > 1 and any(zero is not None and not zero.known for zero in points):
        return [_apart(call, factors, points)]
    wide = [centred(call, data, zero) for data, zero in zip(factors, points, strict=True)]
    return [within_type(product(call, *wide), wide[0], wide[1], wide[0].shape[-1])]


def _apart(call: Call, factors: Sequence[Tensor], points: Sequence[Tensor | None]) -> Tensor:
    """A product of integers with zero points that are not known, taken off at the end: sum(y * w) - z * sum(w)."""
    known = [None if zero is None or not zero.known else zero for zero in points]
    wide = [centred(call, data, zero) for data, zero in zip(factors, known, strict=True)]
    found = within_type(product(call, *wide), wide[0], wide[1], wide[0].shape[-1])
    for place, zero in enumerate(points):
        if zero is not None and known[place] is None:
            # what is taken off for the first zero point counts for the second
            other = wide[1] if place == 0 else centred(call, factors[0], points[0])
            found = less(call, found, zero, _sums(call, other, -1 if place else -2))
    return found


def _sums(call: Call, data: Tensor, axis: int) -> Tensor:
    """The sums of integers along an axis, which is kept as 1."""
    if data.values is not None:
        total = data.values.astype(np.int64).sum(axis, keepdims=True)
        if np.any(np.abs(total) > np.iinfo(np.int32).max):
            call.refuse("a sum of its weights is beyond 32 bits")
        return numbers(total.astype(np.int32), ir.DataType.INT32)
    step = replace(call, op="ReduceSum", version=11, inputs=(data,), attributes={"axes": [axis], "keepdims": 1})
    return _tensor(call, REDUCTIONS["ReduceSum"].rule(step))


def within_type(found: Tensor, left: Tensor, right: Tensor, count: int) -> Tensor:
    """Sums of `count` products of `left` and `right`, with bounds where the sums fit into their type."""
    if found.words is None:
        return found
    ends = [end for tensor in (left, right) for end in tensor.bounds()]
    if not small(*ends):
        return found
    sizes = [int(np.abs(once(end)).max(initial=0)) for end in ends if end is not None]
    most = np.asarray(count * max(sizes[:2]) * max(sizes[2:]))
    return bounded(found.words, found.dtype, -most, most)


def less(call: Call, whole: Tensor, point: Tensor, sums: Tensor) -> Tensor:
    """A sum of products, less a zero point times a sum of the other factors."""
    factor = cast(call, point, ir.DataType.INT32)
    part = _tensor(call, ARITHMETIC["Mul"].rule(replace(call, op="Mul", version=14, inputs=(factor, sums))))
    return _tensor(call, ARITHMETIC["Sub"].rule(replace(call, op="Sub", version=14, inputs=(whole, part))))


def _tensor(call: Call, found: Sequence[Value]) -> Tensor:
    if not isinstance(found[0], Tensor):
        call.refuse("a step of it gives no tensor")
    return found[0]


def _zero_point(call: Call, data: Tensor, zero: Tensor, along: int) -> Tensor:
    """A zero point of a whole tensor, or of each row or column."""
    if zero.size == 1 and zero.rank <= 1:
        return zero.moved(lambda array: array.reshape(()))
    if data.rank == 2 and zero.shape == (data.shape[along],):
        dims = [dim if axis == along else 1 for axis, dim in enumerate(data.shape)]
        return zero.moved(lambda array: array.reshape(dims))
    whole = tuple(1 if axis == 2 * data.rank - 3 - along else dim for axis, dim in enumerate(data.shape))
    if data.rank < 2 or zero.shape != whole:
        call.refuse(f"a zero point has dims {list(zero.shape)} beside {list(data.shape)}")
    return zero


def _det(call: Call) -> Sequence[Tensor]:
    data = call.square(0)
    content = data.folded(call.hashing, (data.rank - 2, data.rank - 1))
    return [call.mixed(data.dtype, call.key(), content)]


RECORDS: Final[dict[str, Record]] = {
    "Det": record(_det),
    "Gemm": record(_gemm),
    "MatMul": record(_matmul),
    "MatMulInteger": record(_matmul_integer),
}
