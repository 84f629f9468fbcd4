"""Shape: what infer() answers: dims, and the conditions under which they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

from onereshape.dims import Dim, show


class Shape(Sequence[Dim]):
    """A sequence of dims, each an int, a string, a pair or None, with the `conditions` under which the answer is right.

    An unknown rank is a Shape whose `rank` is None; it has no length.
    """

    __slots__ = ("conditions", "dims")

    def __init__(self, dims: Sequence[Dim] | None, conditions: Sequence[str] = ()) -> None:
        self.dims = None if dims is None else tuple(dims)
        self.conditions = tuple(conditions)

    @property
    def rank(self) -> int | None:
        """The number of dims, None if that is unknown."""
        return None if self.dims is None else len(self.dims)

    def _known(self) -> tuple[Dim, ...]:
        if self.dims is None:
            raise TypeError("this Shape has an unknown rank: see its .rank")
        return self.dims

    def __len__(self) -> int:
        return len(self._known())

    @overload
    def __getitem__(self, index: int) -> Dim: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Dim, ...]: ...
    def __getitem__(self, index: int | slice) -> Dim | tuple[Dim, ...]:
        return self._known()[index]

    def __iter__(self) -> Iterator[Dim]:
        return iter(self._known())

    def __bool__(self) -> bool:
        return True  # a scalar and an unknown rank are answers too

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Shape):
            return self.dims == other.dims and self.conditions == other.conditions
        if isinstance(other, tuple | list):
            pairs = tuple(tuple(dim) if isinstance(dim, list) else dim for dim in other)
            return self.dims == pairs
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)

    def __str__(self) -> str:
        return "[...]" if self.dims is None else "[" + ", ".join(str(show(dim)) for dim in self.dims) + "]"

    def __repr__(self) -> str:
        return f"Shape {self}" + (f" if {', '.join(self.conditions)}" if self.conditions else "")

    def to_json(self) -> list[Any] | None:
        """The dims in the notation that infer() takes, with pairs as lists; None for an unknown rank."""
        return None if self.dims is None else [list(dim) if isinstance(dim, tuple) else dim for dim in self.dims]
