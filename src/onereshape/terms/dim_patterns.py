"""Patterns of dims: what the names in `N C *S` stand for, where dims fit it.

A pattern has a word for each dim.  A name stands for one size wherever it comes, `*S` for any number of dims, the same
wherever they come, a number for itself, `4H` for four times H, `1|C` for 1 or C, and `_` for any
size.  A `?` behind a pattern is not for the dims: the tensor may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

Named = dict[str, Any]
"""The size that each name stands for; for `*S` the dims."""
_TIMES: Final = re.compile(r"(\d+)([A-Za-z]\w*)")


def fits(pattern: str, dims: tuple[int, ...], named: Named) -> bool:
    """Whether dims are those of a pattern; the sizes of names that were not there yet are added to `named`.

    >>> named = {"N": 7}
    >>> fits("N C *S", (7, 3, 8, 8), named), named
    (True, {'N': 7, '*S': (8, 8), 'C': 3})
    >>> fits("C", (4,), named), fits("1|C 2C", (1, 6), named), fits("", (), named)
    (False, True, True)
    """
    words = _words(pattern)
    star = next((place for place, word in enumerate(words) if word.startswith("*")), None)
    if star is not None:
        end = len(dims) - (len(words) - star - 1)
        if end < star or named.setdefault(words[star], dims[star:end]) != dims[star:end]:
            return False
        words, dims = words[:star] + words[star + 1 :], dims[:star] + dims[end:]
    return len(words) == len(dims) and all(_is(word, size, named) for word, size in zip(words, dims, strict=True))


def _words(pattern: str) -> list[str]:
    return pattern.rstrip("?").split()


def _is(word: str, size: int, named: Named) -> bool:
    if word.startswith("1|") and size == 1:
        return True
    word = word.removeprefix("1|")
    if word.isdigit():
        return size == int(word)
    if times := _TIMES.fullmatch(word):
        return size % int(times[1]) == 0 and _is(times[2], size // int(times[1]), named)
    return word == "_" or bool(named.setdefault(word, size) == size)


def names(pattern: str) -> list[str]:
    """The names in a pattern: `N 1|C 4H 4 *S _ -> N, C, H, *S`."""
    words = [word.removeprefix("1|") for word in _words(pattern)]
    words = [times[2] if (times := _TIMES.fullmatch(word)) else word for word in words]
    return [word for word in words if word != "_" and not word.isdigit()]


def wanted(pattern: str, named: Mapping[str, Any]) -> str:
    """A pattern and what is known of its names, in words.

    >>> wanted("N C *S", {"C": 3, "D": 4, "*S": (8, 8)})
    '[N C *S] with C = 3, S = 8, 8'
    """
    known = [(name, named[name]) for name in names(pattern) if name in named]
    said = [f"{name.removeprefix('*')} = {str(size).strip('(,)')}" for name, size in known]
    return f"[{' '.join(_words(pattern))}]" + (f" with {', '.join(said)}" if said else "")
