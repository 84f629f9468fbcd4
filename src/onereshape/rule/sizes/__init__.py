"""Size: the size of a dim as a number, or as a formula of symbols in one normal form: `2*N + S`, `floor(N/2)`.

Begin with `algebra`; `extent` has the least and the most of a size, `meeting` the size of two that are broadcast.
"""

from __future__ import annotations

from onereshape.rule.sizes.algebra import (
    MOST_ATOMS,
    MOST_TERMS,
    OPERATIONS,
    Atom,
    Formula,
    Operation,
    Size,
    TooLongError,
    ceiling,
    cut,
    depends,
    exact,
    largest,
    over,
    product,
    smallest,
    symbol,
    times,
)
from onereshape.rule.sizes.extent import bounds, fewest, is_size, reach
from onereshape.rule.sizes.meeting import is_never_one, met

__all__ = [
    "MOST_ATOMS",
    "MOST_TERMS",
    "OPERATIONS",
    "Atom",
    "Formula",
    "Operation",
    "Size",
    "TooLongError",
    "bounds",
    "ceiling",
    "cut",
    "depends",
    "exact",
    "fewest",
    "is_never_one",
    "is_size",
    "largest",
    "met",
    "over",
    "product",
    "reach",
    "smallest",
    "symbol",
    "times",
]
