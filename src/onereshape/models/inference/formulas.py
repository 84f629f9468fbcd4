"""Formulas: sizes that the engine cannot calculate with, under names of their own.

The engine takes every symbol for a number from 1 on, so it simplifies `Max(0, N - 1)` to `N - 1`, which is wrong at 0.
Here symbols are numbers from 0 on, and a formula in which that matters becomes a name, the same for the same formula;
the answers give the formula back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import onnx_ir as ir
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr, expr_to_dim  # type: ignore[import-untyped]

from onereshape.models.inference.limits import TOO_LONG, TooLargeError, is_small

TheirDim = int | ir.SymbolicDim


class Formulas:
    """The formulas of one walk."""

    def __init__(self, named: Callable[[str], str]) -> None:
        self._named = named
        self._sizes: set[str] = set()
        """Names that stand for dims; the engine's others may stand for any number."""
        self.signed_names: set[str] = set()
        """Names of formulas that may be below 0."""

    def note(self, dims: Iterable[TheirDim]) -> None:
        """Takes notice of dims: what is one is a number from 0 on."""
        self._sizes |= {dim.value for dim in dims if isinstance(dim, ir.SymbolicDim) and dim.value is not None}

    def expr(self, dim: TheirDim) -> Any:
        """A dim, or another number, as an expression of which only that is assumed that is so; None without a name."""
        found = dim_to_expr(dim)
        return None if found is None else self.signed(found)

    def signed(self, expr: Any) -> Any:
        """The expression with symbols that may be 0, and below where they do not stand for dims."""
        return expr.xreplace({symbol: self._symbol(symbol.name) for symbol in expr.free_symbols})

    def dim(self, expr: Any) -> TheirDim:
        """The dim, or other number, that an expression is."""
        if not is_small(expr):
            raise TooLargeError(TOO_LONG)
        if not expr.has(sympy.Max, sympy.Min):
            return expr_to_dim(expr)  # type: ignore[no-any-return]
        name = self._named(str(expr))
        if expr.is_nonnegative:
            self._sizes.add(name)
        else:
            self.signed_names.add(name)
        return ir.SymbolicDim(name)

    def _symbol(self, name: str) -> Any:
        if name in self._sizes:
            return sympy.Symbol(name, integer=True, nonnegative=True)
        return sympy.Symbol(name, integer=True)


def ceil_div(top: Any, bottom: int) -> Any:
    """The quotient, rounded up, in words that the engine reads."""
    return top if bottom == 1 else sympy.floor((top + bottom - 1) / bottom)
