"""What one walk over a model follows at most: beyond it a value is unknown, and the walk says what it gave up on.

A file of a few hundred bytes can ask for formulas, tensors and calls that no machine has room for.  Each limit is far
above what exporters write, and an unknown value is always right: it leads to fewer claims, never to a wrong one.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

MOST_DIMS = 64
"""Dims of a tensor, as NumPy has it; engines stop before."""
LONGEST_NAME = 1_000
"""Characters of the name of a dim: it is repeated wherever that size goes."""
LONGEST_FORMULA = 500
"""Characters of the formula of a size.  `v*(v + 3)`, of itself again and again, doubles with each step."""
MOST_PARTS = 120
"""Names, numbers and operators of a formula, counted before anything is calculated with it."""
MOST_POWERS = 4
"""Powers in a formula: sympy takes twice as long for each that is within another."""
LARGEST = 2**63 - 1
"""Sizes, and the integers that make them, are int64; a tower of powers is not calculated."""
MOST_ELEMENTS = 4096
"""Elements of a tensor that is followed."""
MOST_FORMULAS = 64
"""Elements of a tensor that are formulas: a target has one for each dim."""
MOST_FOLLOWED = 4_000_000
"""Elements that are followed in one walk, all tensors together; then only those of short ones are."""
SHORT = 64
"""Elements of a tensor that is followed to the end."""
MOST_WRITTEN = 2_000_000
"""Characters of formulas in one walk; then only names are followed."""
MOST_VISITS = 200_000
"""Nodes that are visited in functions and loops, beyond once for each; functions that call twice double with each."""
DEEPEST_CALL = 32
"""Functions that call functions."""


TOO_LONG = "it calculates a size by a formula that is too long to follow"
"""Said of a node."""


class TooLargeError(ValueError):
    """Something is not followed, since it is too much."""


class Limits:
    """What one walk has used up, and what it gave up on."""

    def __init__(self, visits: int) -> None:
        self.given_up: dict[ir.Node, str] = {}
        self.unread: dict[ir.Node, str] = {}
        """The same for what a tensor holds, which matters only where a target is made of it."""
        self._visits = visits + MOST_VISITS
        self._written = MOST_WRITTEN
        self._elements = MOST_FOLLOWED

    def give_up(self, node: ir.Node, why: str) -> None:
        """Notes why something of a node is not known; the first reason counts."""
        self.given_up.setdefault(node, why)

    def visit(self) -> bool:
        """Whether one more node may be visited."""
        self._visits -= 1
        return self._visits >= 0

    def formula(self, text: str) -> bool:
        """Whether a formula may be followed."""
        if text.isidentifier():
            return True
        self._written -= len(text)
        return len(text) <= LONGEST_FORMULA and text.count("**") <= MOST_POWERS and self._written >= 0

    def elements(self, count: int) -> bool:
        """Whether the elements of a tensor may be followed."""
        if count > SHORT:
            self._elements -= count
        return count <= SHORT or (count <= MOST_ELEMENTS and self._elements >= 0)


def is_small(expr: Any) -> bool:
    """Whether an expression has few parts, and no number beyond int64; it is not calculated with to find out."""
    pending, parts, powers = [expr], 0, 0
    while pending:
        part = pending.pop()
        parts += 1
        powers += bool(part.is_Pow)
        if parts > MOST_PARTS or powers > MOST_POWERS:
            return False
        if part.is_Rational:
            if max(abs(part.p), part.q) > LARGEST:
                return False
        else:
            pending += part.args
    return True
