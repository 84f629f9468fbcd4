"""What one walk over a model follows at most: beyond it a value is unknown, and the walk says what it gave up on.

A file of a few hundred bytes can ask for formulas, tensors and calls that no machine has room for.  Each limit is far
above what exporters write, and an unknown value is always right: it leads to fewer claims, never to a wrong one.
"""

from __future__ import annotations

import onnx_ir as ir

from onereshape.rule.sizes import Formula, Size

MOST_DIMS = 64
"""Dims of a tensor, as NumPy has it; engines stop before."""
LONGEST_NAME = 1_000
"""Characters of the name of a dim: it is repeated wherever that size goes."""
LONGEST_FORMULA = 500
"""Characters of the formula of a size."""
LARGEST = 2**63 - 1
"""Sizes, and the integers that make them, are int64."""
MOST_ELEMENTS = 4096
"""Elements of a tensor that is followed."""
MOST_FLOATS = 64
"""Elements of a constant of floating-point numbers: the scales of a Resize, the limits of a Range."""
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

BEYOND = "it calculates a number that int64 does not hold"
TOO_LONG = "it calculates a size by a formula that is too long to follow"
"""Said of nodes."""


class TooLargeError(ValueError):
    """Something is not followed, since it is too much."""


class WalkLimits:
    """The budget of one walk, and the nodes that the walk gave up on, with the reason."""

    def __init__(self, visits: int) -> None:
        self.given_up: dict[ir.Node, str] = {}
        self.unread: dict[ir.Node, str] = {}
        """Why elements of an output were not followed, which matters only where a target is made of them."""
        self._visits = visits + MOST_VISITS
        self._written = MOST_WRITTEN
        self._elements = MOST_FOLLOWED

    def give_up(self, node: ir.Node, why: str) -> None:
        """Notes why something of a node is not known; the first reason counts."""
        self.given_up.setdefault(node, why)

    def visit(self, nodes: int) -> bool:
        """Whether so many more nodes may be visited."""
        self._visits -= nodes
        return self._visits >= 0

    def size(self, size: Size) -> bool:
        """Whether a size may be followed."""
        if isinstance(size, int):
            return 0 <= size <= LARGEST
        return size.name is not None or self.formula(size)

    def formula(self, formula: Formula) -> bool:
        """Whether a formula may be followed."""
        length = len(str(formula))
        self._written -= length
        return length <= LONGEST_FORMULA and self._written >= 0

    def elements(self, count: int) -> bool:
        """Whether the elements of a tensor may be followed."""
        if count > SHORT:
            self._elements -= count
        return count <= SHORT or (count <= MOST_ELEMENTS and self._elements >= 0)
