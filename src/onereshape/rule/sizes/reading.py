"""What limits and texts read of a size: the algebra, which makes sizes, asks for both, so they stand below it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol


class ReadOperation(Protocol):
    """An operation on sizes, as `algebra.Operation` is one."""

    @property
    def name(self) -> str: ...

    @property
    def parts(self) -> tuple[ReadSize, ...]: ...


class ReadFormula(Protocol):
    """A sum of monomials with their coefficients, as `algebra.Formula` is one."""

    @property
    def terms(self) -> tuple[tuple[ReadMonomial, int | Fraction], ...]: ...

    @property
    def symbols(self) -> frozenset[str]: ...

    @property
    def name(self) -> str | None: ...

    def at(self, sizes: Mapping[str, int]) -> int | Fraction: ...

    def __sub__(self, other: Any) -> ReadSize: ...


ReadAtom = str | ReadOperation
ReadMonomial = tuple[ReadAtom, ...]
ReadSize = int | ReadFormula
