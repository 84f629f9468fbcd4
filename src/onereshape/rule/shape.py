"""Shape: what infer() answers: dims, and the conditions under which they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from onereshape.ground import notebook
from onereshape.ground.text import shown
from onereshape.rule.dims import Dim, GivenDim, show


class Shape(Sequence[Dim]):
    """A sequence of dims, each an int, a string, a pair or None, with the `conditions` under which the answer is right.

    It never changes, because answers are remembered and given out again.  An unknown rank is a Shape whose `rank` is
    None; it has no length.

    Two Shapes are equal if their dims and their conditions are.  A Shape without conditions also equals the tuple of
    its dims; one with conditions says more than any tuple, and equals none.  Nothing equals a list, as with tuples:
    compare `list(shape)` or `shape.dims` to look at the dims alone.

    >>> Shape([2, "N"]) == (2, "N"), Shape([2, "N"], ["N >= 1"]) == (2, "N"), Shape([2, "N"], ["N >= 1"]).dims
    (True, False, (2, 'N'))
    """

    __slots__ = ("conditions", "dims")

    dims: tuple[Dim, ...] | None
    """None for an unknown rank."""
    conditions: tuple[str, ...]
    """Sentences; `infer` gives them as a `Condition`, which knows what it says."""

    def __init__(self, dims: Sequence[GivenDim] | None, conditions: Sequence[str] = ()) -> None:
        if dims is not None:
            dims = tuple(dims)
            if list in map(type, dims):  # a pair out of JSON
                dims = tuple(tuple(dim) if isinstance(dim, list) else dim for dim in dims)  # type: ignore[misc]
        _set_dims(self, dims)
        _set_conditions(self, tuple(conditions))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Shape never changes: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Shape never changes: {name} cannot be deleted")

    def __reduce__(self) -> tuple[type[Shape], tuple[tuple[Dim, ...] | None, tuple[str, ...]]]:
        return Shape, (self.dims, self.conditions)

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
        if isinstance(other, tuple):
            return self.dims == other and not self.conditions
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.dims, self.conditions) if self.conditions else self.dims)

    def __str__(self) -> str:
        return "[...]" if self.dims is None else "[" + ", ".join(str(show(dim)) for dim in self.dims) + "]"

    def __repr__(self) -> str:
        return shown(f"Shape {self}" + (f" if {', '.join(self.conditions)}" if self.conditions else ""))

    def _repr_html_(self) -> str:
        """The dims and the conditions, for notebooks."""
        return notebook.block("Shape", str(self), notebook.lines([f"if {each}" for each in self.conditions]))

    def to_json(self) -> list[int | str | list[int | None] | None] | None:
        """The dims in the notation that infer() takes, with pairs as lists; None for an unknown rank."""
        return None if self.dims is None else [list(dim) if isinstance(dim, tuple) else dim for dim in self.dims]


# The slots themselves, which a Shape of its own accord does not write to again.
_set_dims = Shape.dims.__set__  # type: ignore[union-attr]
_set_conditions = Shape.conditions.__set__  # type: ignore[attr-defined]
_new = Shape.__new__


def made(dims: tuple[Dim, ...], conditions: tuple[str, ...]) -> Shape:
    """A Shape of two tuples, taken as they are; `Shape(...)` also reads lists, and pairs out of JSON."""
    shape = _new(Shape)
    _set_dims(shape, dims)
    _set_conditions(shape, conditions)
    return shape
