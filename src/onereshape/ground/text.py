"""The one door for text that is not ours: names in files, paths, what other libraries say.

A file may give its nodes any name: one that moves the cursor of a terminal, one that reads backwards, one with a line
of its own that a build server takes for a command.  Whatever is printed for people is one line for each line of ours,
with such signs as escapes; JSON is exact, and holds no such sign either.  It imports nothing of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Union

JSON = Union[None, bool, int, float, str, list["JSON"], dict[str, "JSON"]]  # noqa: UP007 - a name in a string needs it
"""What JSON can hold: the type of all that is for machines."""

LONGEST = 2000
"""Signs of a text that people are shown whole; few paths and no sentences of ours come near."""
_MOST = 32
"""Names of a list that is shown whole."""
_WIDEST = 119
"""Signs of a value at a prompt: one line of a terminal or of a notebook."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Signs that show nothing, although Unicode counts them among the letters and marks."""
_COMMAND = re.compile(r"^( *):(?=:)|#(?=#\w{0,20}\[)")
"""`::error::` at the start of a line, which GitHub trims; `##[error]`, `##vso[...]`, `##teamcity[...]` anywhere."""


class Ready(str):
    """Text that is printed as it is: JSON, GitHub's own commands, colours."""

    __slots__ = ()


def printable(text: str) -> str:
    r"""The text in one line that neither a terminal nor a build server obeys.

    Letters of all scripts stay; controls, line separators, invisible signs and those that change the direction become
    escapes, as Python and `$'...'` of a shell write them.

    >>> print(printable("é 漢字 a\tb\x1b[2J\u202e"), printable("::error::x"), printable("##[error]x"))
    é 漢字 a\tb\x1b[2J\u202e \x3a:error::x \x23#[error]x
    """
    if not text.isprintable():
        text = "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)
    if not text.isascii():
        text = _INVISIBLE.sub(lambda found: _escaped(found[0]), text)
    if "::" not in text and "##" not in text:
        return text
    return _COMMAND.sub(lambda found: r"\x23" if found[1] is None else rf"{found[1]}\x3a", text)


def _escaped(sign: str) -> str:
    code = ord(sign)
    if code < 0x80:
        return repr(sign)[1:-1]
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def shown(text: str, longest: int = LONGEST) -> str:
    """The text as people see it: printable, and without its middle where it is endless.

    >>> shown("a" * 10_000_000, 8)
    'aaaa ... 9999992 characters ... aaaa'
    """
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} ... {len(text) - 2 * half} characters ... {text[-half:]}"
    return printable(text)


def brief(kind: str, *parts: str) -> str:
    """What a value is, in one line for a prompt: its kind and what matters most, cut where that is long.

    >>> brief("Finding", "baked-dim", "/Reshape: N is forced to 1")
    'Finding(baked-dim, /Reshape: N is forced to 1)'
    >>> len(brief("Finding", "a" * 10_000_000))
    119
    """
    room = _WIDEST - len(kind) - 2
    text = printable(", ".join(part[: room + 1] for part in parts)[: room + 1])
    return f"{kind}({text if len(text) <= room else text[: room - 3] + '...'})"


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Names with commas, the first of them where there are many.

    >>> listed(["a", "b"]), listed("abcde", 3)
    ('a, b', 'a, b, c and 2 more')
    """
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def page(text: str | Iterable[str]) -> str:
    r"""What is printed: each line through the door, unless the line, or all of it, is ready.

    Whoever puts in names gives lines rather than a text of several: the end of a line within one is none then.

    >>> page(["a\n::error::b", "c"])
    'a\\n::error::b\nc'
    """
    if isinstance(text, Ready):
        return text
    lines = text.split("\n") if isinstance(text, str) else text
    return "\n".join(line if isinstance(line, Ready) else printable(line) for line in lines)


def as_json(value: object) -> JSON:
    """Fields as JSON has them: tuples as lists, all mappings as dicts.

    >>> as_json({"sizes": ({"N": 1}, {"N": 2})})
    {'sizes': [{'N': 1}, {'N': 2}]}
    """
    if isinstance(value, Mapping):
        return {str(name): as_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a {type(value).__name__} is not JSON")


def exact_json(value: Any, indent: int | None = None) -> Ready:
    r"""The exact value for machines, in signs that no terminal and no build server obeys.

    >>> exact_json(["é\x7f", "##[error]"])
    '["\\u00e9\\u007f", "#\\u0023[error]"]'
    """
    return Ready(json.dumps(value, indent=indent).replace("##", r"#\u0023"))
