"""Colours on a terminal that has them and wants them; none in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable

Paint = Callable[[str, str], str]
"""A text and what it is -> the text in its colour."""

STYLES = {
    "error": "bold red",
    "warning": "yellow",
    "note": "cyan",
    "place": "bold",
    "before": "red",
    "after": "green",
}


def paint() -> Paint | None:
    """A function that gives a text the colour of what it is; None where standard output shows none."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    from rich.console import Console  # noqa: PLC0415 - takes long
    from rich.style import Style  # noqa: PLC0415

    console = Console(file=sys.stdout)
    if console.no_color or console.color_system is None:
        return None
    return lambda text, what: Style.parse(STYLES[what]).render(text)
