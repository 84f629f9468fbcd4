"""exact_broadcasts(): the shape engine without its guess that unlike dims which are broadcast are equal.

Where N meets M, the engine says N; but M decides if N is 1.  What is proven of a model must not rest on that, so here
the result of such a meeting is a size of its own, the same wherever the same two meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import onnx_ir as ir

Meetings = dict[frozenset[str], ir.SymbolicDim]
TheirDim = int | ir.SymbolicDim
Broadcast = Callable[[TheirDim, TheirDim], TheirDim | None]

_meetings: ContextVar[Meetings | None] = ContextVar("_meetings", default=None)


@contextmanager
def exact_broadcasts() -> Iterator[None]:
    """What the engine infers within is true for all sizes from 1 on."""
    from onnx_shape_inference import _broadcast  # type: ignore[import-untyped] # noqa: PLC0415 - sympy takes long

    if not isinstance(_broadcast._broadcast_dim, _Exact):  # noqa: SLF001 - the engine has no other door
        _broadcast._broadcast_dim = _Exact(_broadcast._broadcast_dim)  # noqa: SLF001
    token = _meetings.set({})
    try:
        yield
    finally:
        _meetings.reset(token)


def meet(one: TheirDim, other: TheirDim) -> TheirDim | None:
    """The size that two dims have together, None if they cannot be broadcast; within `exact_broadcasts`."""
    from onnx_shape_inference import _broadcast  # noqa: PLC0415 - sympy takes long

    return _broadcast._broadcast_dim(one, other)  # type: ignore[no-any-return] # noqa: SLF001 - as above


class _Exact:
    """The engine's rule for two dims, and ours for as long as it is asked for."""

    def __init__(self, before: Broadcast) -> None:
        self._before = before

    def __call__(self, left: TheirDim, right: TheirDim) -> TheirDim | None:
        meetings = _meetings.get()
        both = isinstance(left, ir.SymbolicDim) and isinstance(right, ir.SymbolicDim)
        if meetings is None or not both or left == right:
            return self._before(left, right)
        pair = frozenset({str(left), str(right)})
        return meetings.setdefault(pair, ir.SymbolicDim(f"onereshape.broadcast.{len(meetings)}"))
