"""What notebooks show of a result: all HTML that `_repr_html_` gives is built here.

Every text passes the door of `text` and is escaped, nothing is fetched and nothing runs.  Colours and lines are those
of the page, so that it reads in light and in dark; what is long is cut, and the page says how much more there is.
"""

from __future__ import annotations

from collections.abc import Sequence

from onereshape.ground.text import LONGEST, shown

MOST_ROWS = 20
"""Rows of a table, and lines of a list; notebooks keep what they show in their files."""
_WIDEST = 240
"""Signs of a cell."""

_CELL = "text-align:left;vertical-align:top;padding:.2em .5em"
_HEAD = f"{_CELL};border-bottom:1px solid currentColor"
_TABLE = "border-collapse:collapse;margin:.4em 0"
_LINE = "margin:.2em 0"


def block(kind: str, said: str, *parts: str) -> str:
    """A result: what it is, the sentence that matters, and the parts below it, which are HTML already.

    >>> block("Shape", "[N, <b>]")
    '<div style="overflow-x:auto"><p style="margin:.2em 0"><strong>Shape</strong> [N, &lt;b&gt;]</p></div>'
    """
    first = f'<p style="{_LINE}"><strong>{_text(kind)}</strong> {_text(said)}</p>'
    return f'<div style="overflow-x:auto">{first}{"".join(parts)}</div>'


def lines(said: Sequence[str]) -> str:
    """The first sentences, one below the other, and how many more there are."""
    more = [f"and {len(said) - MOST_ROWS} more"] if len(said) > MOST_ROWS else []
    return "".join(f'<p style="{_LINE}">{_text(each)}</p>' for each in [*said[:MOST_ROWS], *more])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first rows, without columns that are empty in them, and how many more there are; nothing if there are none.

    >>> table(["node", "why"], [["/Reshape", ""]]).count("</th>"), table(["node"], [])
    (1, '')
    """
    seen = rows[:MOST_ROWS]
    columns = [column for column in range(len(head)) if any(row[column] for row in seen)]
    if not columns:
        return ""
    top = "".join(f'<th scope="col" style="{_HEAD}">{_text(head[column])}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(_cell(row[column]) for column in columns)}</tr>" for row in seen)
    more = lines([f"and {len(rows) - len(seen)} more"] if len(rows) > len(seen) else [])
    return f'<table style="{_TABLE}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}'


def _cell(text: str) -> str:
    return f'<td style="{_CELL}">{_text(text, _WIDEST)}</td>'


def _text(text: str, longest: int = LONGEST) -> str:
    from html import escape  # noqa: PLC0415 - only notebooks need it

    return escape(shown(text, longest))
