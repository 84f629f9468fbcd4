"""Whether the dims that are claimed for a Reshape are so wherever it succeeds, sizes of 0 included.

The rule's answer holds under conditions such as "N >= 1": where N is 0, an entry N of the target is a 0, which copies.
Often the Reshape then fails, or gives the same dims all the same; what differs must not be claimed.  This is tried at
small sizes, in integers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy  # type: ignore[import-untyped]

from onereshape.models.inference.reshape_runs import run
from onereshape.models.inference.samples import samples

Exprs = tuple[Any, ...]


@lru_cache(maxsize=1024)
def sure_axes(data: Exprs, target: Exprs, output: Exprs, *, copies: bool) -> frozenset[int]:
    """The axes of `output` that are so at all sizes that are tried and at which the Reshape succeeds."""
    names = sorted({symbol.name for expr in (*data, *target, *output) for symbol in expr.free_symbols})
    sure = set(range(len(output)))
    for sizes in samples(names):
        dims, words = (_numbers(exprs, sizes) for exprs in (data, target))
        found = None if dims is None or words is None or min(dims, default=0) < 0 else run(dims, words, copies=copies)
        if found is None:
            continue
        claimed = [_value(expr, sizes) for expr in output]
        sure &= {axis for axis, (is_, said) in enumerate(zip(found, claimed, strict=True)) if is_ == said}
    return frozenset(sure)


def _numbers(exprs: Exprs, sizes: dict[str, int]) -> list[int] | None:
    values = [value for expr in exprs if (value := _value(expr, sizes)) is not None]
    return values if len(values) == len(exprs) else None


def _value(expr: Any, sizes: dict[str, int]) -> int | None:
    value = _evaluated(expr, sizes)
    return int(value) if value.is_Integer else None


def _evaluated(expr: Any, sizes: dict[str, int]) -> Any:
    if expr.is_Symbol:
        return sympy.Integer(sizes[expr.name])
    return expr.func(*(_evaluated(each, sizes) for each in expr.args)) if expr.args else expr
