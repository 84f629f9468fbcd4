"""A question as an engine is asked it, and an answer as it comes back: the words of parent and child."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np

from onereshape.ground.integers import Dims
from onereshape.ground.numpy_types import Array

Interval = tuple[int, int | None]
AnswerKind = Literal["dims", "wrong elements", "refused", "failed", "crash", "hang"]
_POWERS = {2**power: power for power in range(31, 65)}
_LONG = 8
"""Lists of equal dims that are longer are shown as a product."""


@dataclass(frozen=True)
class EngineQuestion:
    """One Reshape as an engine is to build it: data, target and attributes in the words of one specification."""

    data: Dims
    target: Dims
    spec: str
    attributes: dict[str, Any] = field(default_factory=dict)
    data_type: str = "float32"
    shape_type: str = "int64"
    shape_rank: int = 1

    @property
    def zero_copies(self) -> bool:
        """Whether a 0 copies: special_zero as it stands, or the opposite of allowzero; True without either flag."""
        return bool(self.attributes.get("special_zero", not self.attributes.get("allowzero", 0)))

    @property
    def opset(self) -> int:
        """The number of an ONNX specification."""
        return int(self.spec.removeprefix("onnx-"))

    @cached_property
    def elements(self) -> Array:
        """Data whose elements are their own positions in C order."""
        positions = np.arange(prod(self.data))
        if self.data_type == "string":
            return positions.astype(np.str_).reshape(self.data)
        return (positions % 2 if self.data_type == "bool" else positions).astype(self.data_type).reshape(self.data)

    @cached_property
    def shape_tensor(self) -> Array:
        """The target as the array of a second input, in its type and its rank (0, 1 or 2)."""
        layout: dict[int, tuple[int, ...]] = {0: (), 1: (-1,), 2: (1, -1)}
        return np.array(self.target, dtype=self.shape_type).reshape(layout[self.shape_rank])

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> EngineQuestion:
        return cls(**fields | {"data": tuple(fields["data"]), "target": tuple(fields["target"])})


@dataclass(frozen=True, slots=True)
class Output:
    """What an engine put out: dims, and the elements in C order where it executes and holds as many as data."""

    dims: tuple[int | Interval, ...]
    elements: Array | None = None
    executed: bool = True


class EngineRefused(Exception):  # noqa: N818 - an answer, not a mistake
    """The engine refuses the question; the text is its message."""


class Missing(Exception):  # noqa: N818 - an answer, not a mistake
    """The engine is not on this machine; its text says where it was looked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An engine's answer to a question: dims, a refusal, or how the asking went wrong."""

    kind: AnswerKind
    dims: tuple[int | Interval, ...] | None = None
    why: str = ""
    """The code of our refusal, the first line of an engine's, or what is known of a crash."""

    def agrees(self, other: Answer) -> bool:
        return self.kind in {"dims", "refused"} and (self.kind, self.dims) == (other.kind, other.dims)

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"kind": self.kind}
        if self.dims is not None:
            shown["dims"] = [list(dim) if isinstance(dim, tuple) else dim for dim in self.dims]
        return shown | ({"why": self.why} if self.why else {})

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Answer:
        dims = fields.get("dims")
        read = None if dims is None else tuple(tuple(dim) if isinstance(dim, list) else dim for dim in dims)
        return cls(fields["kind"], read, fields.get("why", ""))

    def __str__(self) -> str:
        if self.kind == "dims" and self.dims is not None:
            return show_dims(self.dims)
        if self.kind == "wrong elements" and self.dims is not None:
            return f"{show_dims(self.dims)} with wrong elements"
        how = self.why.partition(":")[0]
        return self.kind if self.kind == "refused" or not how else f"{self.kind} ({how})"


def show_dims(dims: tuple[int | Interval, ...]) -> str:
    """Dims in few signs: large powers of 2 as such, a long list of equal dims as a product.

    >>> show_dims((2, 2**32, -(2**63), 3 * (2**53 + 1), (1, None)))
    '[2,2^32,-2^63,3*(2^53+1),1..]'
    >>> show_dims((1,) * 33)
    '[1]*33'
    """
    if len(dims) > _LONG and len(set(dims)) == 1:
        return f"[{_show_dim(dims[0])}]*{len(dims)}"
    return f"[{','.join(map(_show_dim, dims))}]"


def _show_dim(dim: int | Interval) -> str:
    if isinstance(dim, tuple):
        low, high = dim
        return f"{_show_dim(low)}..{'' if high is None else _show_dim(high)}"
    third = "" if dim % 3 else _near_power(dim // 3)
    return _near_power(dim) or (f"3*({third})" if third else str(dim))


def _near_power(number: int) -> str:
    """The number as a large power of 2 and a small step, or nothing."""
    for step in (0, 1, -1, 2, -2):
        power = _POWERS.get(abs(number) - step)
        if power is not None and (number > 0 or step == 0):
            return f"{'-' if number < 0 else ''}2^{power}{f'{step:+d}' if step else ''}"
    return ""
