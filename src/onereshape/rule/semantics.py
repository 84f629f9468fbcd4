"""resolve(): the exact rule of Reshape, on integers.

Everything is exact Python integer arithmetic; a result beyond int64 is refused, never wrapped, saturated or rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, SupportsIndex

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.rule.specs import Spec, spec as find_spec
from onereshape.rule.target import Copied, Fixed, Target, read_flag, read_integers, read_target


def resolve(
    data: Iterable[SupportsIndex],
    target: Iterable[SupportsIndex],
    spec: str | Spec,
    **attributes: SupportsIndex | Iterable[SupportsIndex],
) -> tuple[int, ...]:
    """The output dims of a Reshape: the one shape that the specification gives, or a `ReshapeError` that says why not.

    >>> resolve([2, 3, 4], [0, -1], "onnx-14")
    (2, 12)
    >>> resolve([0, 3], [0, -1], "openvino", special_zero=True)
    (0, 3)
    """
    row = find_spec(spec)
    zero_copies = read_flag(row, attributes)
    dims = read_data(data)
    return output_dims(dims, read_target(target, row, zero_copies=zero_copies, data=dims))


def read_data(data: Iterable[Any]) -> tuple[int, ...]:
    """The dims of data, each within int64 and not negative."""
    dims = read_integers(data, "data")
    if dims and min(dims) < 0:
        axis = next(axis for axis, dim in enumerate(dims) if dim < 0)
        raise ReshapeError("negative-dim", data=dims, axis=axis, value=dims[axis])
    return dims


def output_dims(data: tuple[int, ...], target: Target) -> tuple[int, ...]:
    """The rule itself, over the one form of target.

    >>> from onereshape.rule.specs import spec
    >>> output_dims((2, 3, 4), read_target([-1, 0], spec("openvino"), zero_copies=True))
    (8, 3)
    """
    volume = prod(data)
    if volume > INT64_MAX or max(data, default=0) > INT64_MAX:
        _refuse_overflow(data, target)
    output: list[int] = []
    inferred = None
    for axis, entry in enumerate(target.entries):
        if isinstance(entry, Fixed):
            output.append(entry.size)
        elif isinstance(entry, Copied):
            if axis >= len(data):
                raise _refusal("copy-beyond-rank", data, target, axis=axis, rank=len(data))
            output.append(data[axis])
        else:
            inferred = axis
            output.append(1)  # takes no part in the product of the others
    asked = prod(output)
    if inferred is not None:
        output[inferred] = _quotient(data, volume, asked, target, inferred)
    elif asked != volume:
        raise _refusal("volume", data, target, volume=volume, asked=asked)
    return tuple(output)


def _quotient(data: tuple[int, ...], volume: int, others: int, target: Target, axis: int) -> int:
    """The size of the inferred entry, where `others` is the product of all the other output dims."""
    counted = ""
    if others == 0:  # a copied dim is 0: literal zeros beside -1 were refused when the target was read
        if not target.spec.empty_copy_beside_inferred:
            zero = next(i for i, entry in enumerate(target.entries) if isinstance(entry, Copied) and data[i] == 0)
            raise _refusal("empty-copy-with-inferred", data, target, axis=axis, zero=zero)
        copied = {entry.axis for entry in target.entries if isinstance(entry, Copied)}
        volume = prod(dim for i, dim in enumerate(data) if i not in copied)
        others = prod(entry.size for entry in target.entries if isinstance(entry, Fixed))
        counted = " of the dims that are not copied"
    size, remainder = divmod(volume, others)
    if remainder:
        numbers = {"volume": volume, "divisor": others, "remainder": remainder, "counted": counted}
        raise _refusal("indivisible", data, target, axis=axis, **numbers)
    if size > INT64_MAX:  # only beside an empty copied dim: otherwise the size is at most the volume
        raise _refusal("overflow", data, target, what=f"target[{axis}]", value=size, limit=INT64_MAX)
    return size


def _refuse_overflow(data: tuple[int, ...], target: Target) -> None:
    for axis, dim in enumerate(data):
        if dim > INT64_MAX:
            raise _refusal("overflow", data, target, what=f"data[{axis}]", value=dim, limit=INT64_MAX)
    raise _refusal("overflow", data, target, what="the number of elements", value=prod(data), limit=INT64_MAX)


def _refusal(code: str, data: tuple[int, ...], target: Target, **fields: Any) -> ReshapeError:
    return ReshapeError(code, data=data, target=target.words, spec=target.spec, **fields)
