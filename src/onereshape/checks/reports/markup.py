"""HTML and SVG as text: everything that is not ours is escaped here, and nowhere else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NewType

from onereshape.checks.reports.lettering import cut, readable

Markup = NewType("Markup", str)
"""Text that is HTML already."""

_LONGEST_SENTENCE = 2000


def escaped(text: str, most: int = _LONGEST_SENTENCE) -> Markup:
    """A text as HTML that shows its signs: `a<b` -> `a&lt;b`; longer than `most`, it is cut."""
    return Markup(html.escape(readable(text, most)))


def element(tag: str, content: str, **attributes: str | None) -> Markup:
    """An element around HTML; `class_` is the attribute class, and None is no attribute."""
    return Markup(f"<{tag}{written(attributes)}>{content}</{tag}>")


def written(attributes: dict[str, str | None]) -> str:
    """Attributes as they stand in a tag."""
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )


def name_of(text: str, most: int = 80) -> Markup:
    """A name of the model; one that is long is cut in its middle, and whole where somebody points at it."""
    whole = readable(text)
    short = cut(whole, most)
    return element("code", html.escape(short), title=whole if short != whole else None)


def joined(parts: Iterable[str]) -> Markup:
    """Several pieces of HTML, a line each."""
    return Markup("\n".join(parts))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], caption: str, class_: str) -> Markup:
    """A table of HTML cells, the first of each row as its header."""
    head = "".join(element("th", title, scope="col") for title in titles)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
        for first, *others in rows
    )
    return Markup(
        f'<table class="{class_}"><caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table>"
    )


class Budget:
    """How many bytes a part of the page may still have."""

    def __init__(self, bytes_: int) -> None:
        self._left = bytes_

    def takes(self, text: str) -> bool:
        """Whether a piece fits, which then counts."""
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > self._left:
            return False
        self._left -= size
        return True
