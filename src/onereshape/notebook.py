"""What notebooks show of a result: all HTML that `_repr_html_` gives is built here.

Every text passes the door of `text` and is escaped, nothing is fetched and nothing runs.  Colours and lines are those
of the page, so that it reads in light and in dark; what is long is cut, and the page says how much more there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from onereshape.text import shown

MOST_ROWS = 20
"""Rows of a table; notebooks keep what they show in their files."""
_WIDEST = 240
"""Signs of a cell, and of a line above a table."""

_CELL = "text-align:left;vertical-align:top;padding:0.2em 0.8em 0.2em 0;border:0;background:transparent;color:inherit"
_RULE = "border-bottom:1px solid currentColor"
_TABLE = "border-collapse:collapse;border:0;margin:0.4em 0;color:inherit;background:transparent"
_LINE = "margin:0.2em 0;color:inherit"


def block(kind: str, said: str, *parts: str) -> str:
    """A result: what it is, the sentence that matters, and the parts below it, which are HTML already.

    >>> block("Shape", "[N, <b>]")
    '<div><p style="margin:0.2em 0;color:inherit"><strong>Shape</strong> [N, &lt;b&gt;]</p></div>'
    """
    return f'<div><p style="{_LINE}"><strong>{_text(kind)}</strong> {_text(said)}</p>{"".join(parts)}</div>'


def line(said: str) -> str:
    """A sentence of its own; nothing for an empty one."""
    return f'<p style="{_LINE}">{_text(said)}</p>' if said else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows of a table, and how many more there are; nothing where there are none."""
    if not rows:
        return ""
    top = "".join(f'<th scope="col" style="{_CELL};{_RULE}">{_text(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    more = line(f"and {len(rows) - MOST_ROWS} more") if len(rows) > MOST_ROWS else ""
    return f'<table style="{_TABLE}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}'


def _cell(text: str) -> str:
    return f'<td style="{_CELL}">{_text(text)}</td>'


def _text(text: str) -> str:
    from html import escape  # noqa: PLC0415 - only notebooks need it

    return escape(shown(text, _WIDEST))
