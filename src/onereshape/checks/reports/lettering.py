"""How wide text is, and text made narrower: by cells, as a font of one width has them.

A drawing says how wide each of its texts is, and the browser keeps to that whatever font it has.
"""

from __future__ import annotations

import unicodedata

from onereshape.ground.text import shown

_WIDE = frozenset("WF")
_NOTHING = frozenset({"Mn", "Me", "Cf"})
_LONGEST = 400
"""Signs of a name that a reader is shown at all."""


def cells(text: str) -> int:
    """How many cells a text takes: two for a wide sign, none for one that sits on another.

    >>> cells("Reshape"), cells("漢字"), cells("e\u0301")
    (7, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(sign: str) -> int:
    if unicodedata.category(sign) in _NOTHING:
        return 0
    return 2 if unicodedata.east_asian_width(sign) in _WIDE else 1


def cut(text: str, most: int) -> str:
    """A text without its middle, where it takes more cells than that.

    >>> cut("encoder/layer.0/Reshape", 13)
    'encode…eshape'
    """
    if cells(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{_start(text, most - 1 - end)}…{_start(text[::-1], end)[::-1]}"


def _start(text: str, most: int) -> str:
    """As much of the beginning as fits."""
    taken = 0
    for index, sign in enumerate(text):
        taken += _cells(sign)
        if taken > most:
            return text[:index]
    return text


def readable(text: str, most: int = _LONGEST) -> str:
    """A text of a file as people see it, whole unless it is endless."""
    return shown(text, most)
