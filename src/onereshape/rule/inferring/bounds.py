"""The `bounds` of infer(): limits of the names that a question has.

A name that the question does not have is a mistake, and so are limits that no size can keep: neither is passed over.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.ground.integers import exact
from onereshape.ground.text import listed
from onereshape.rule.dims import UNBOUNDED, Product, is_ours, named

NameLimits = dict[str, tuple[int, int]]

_SHOWN = 8
"""Names that a message lists."""


def read_bounds(bounds: Mapping[str, Any], sizes: Iterable[object]) -> NameLimits:
    """The limits of the names in `sizes`, as `infer` works with them.

    >>> from onereshape.rule.dims import parse_small
    >>> read_bounds({"N": (1, 8), "past+1": (2, None)}, [parse_small("2*N"), parse_small("past+1"), 3])
    {'N': (1, 8), 'past+1': (2, 9223372036854775807)}
    """
    if not isinstance(bounds, Mapping):
        raise ReshapeError(
            "not-an-array", what="bounds", type=type(bounds).__name__, wanted="a mapping of names to pairs"
        )
    if not bounds:
        return {}
    names = {name for size in sizes if isinstance(size, Product) for name in size.symbols if not is_ours(name)}
    limits: NameLimits = {}
    for given, pair in bounds.items():
        name = _symbol(given)
        if name not in names:
            raise _unknown(given, sorted(names))
        if name in limits:
            raise ReshapeError("bad-bounds", name=str(given), value="given twice", wanted="given once")
        limits[name] = _pair(given, pair)
    return limits


def _symbol(given: object) -> str | None:
    """The symbol that a key names: blanks in it count as little as they do in a dim."""
    if not isinstance(given, str):
        return None
    product = named(given)
    return product[1][0] if product is not None and product[0] == 1 and len(product[1]) == 1 else None


def _unknown(given: object, names: list[str]) -> ReshapeError:
    near = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    nearest = f" (did you mean {near[0]!r}?)" if near else ""
    there = f"the names are {listed(names, _SHOWN)}" if names else "there is no name in data or target"
    return ReshapeError(
        "unknown-name", name=given if isinstance(given, str) else repr(given), nearest=nearest, there=there
    )


def _pair(name: str, pair: object) -> tuple[int, int]:
    """Limits as two sizes; a size alone is both of them, and None is no limit."""
    if pair is None:
        return 0, UNBOUNDED
    ends = (pair, pair) if not isinstance(pair, tuple | list) else tuple(pair)
    if len(ends) != 2:
        raise _bad(name, pair)
    low = exact(ends[0])
    high = UNBOUNDED if ends[1] is None else exact(ends[1])
    if low is None or high is None or not 0 <= low <= min(high, INT64_MAX):
        raise _bad(name, pair)
    return low, min(high, UNBOUNDED)


def _bad(name: str, pair: object) -> ReshapeError:
    wanted = "a pair (low, high) of sizes with low <= high, or high None"
    return ReshapeError("bad-bounds", name=name, value=repr(pair), wanted=wanted)
