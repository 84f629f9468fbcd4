"""A progress bar on a terminal, and none in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onereshape.ground.text import shown

_WIDEST = 200
"""Signs of a name beside it."""


@contextmanager
def bar(title: str, *, seen: bool = True) -> Iterator[Callable[[int, int, str], None] | None]:
    """What is told of progress; None where nobody would see it."""
    if not seen or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (
        TextColumn(title),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as found:
        task = found.add_task("", total=None)

        def progress(done: int, total: int, what: str) -> None:
            found.update(task, completed=done, total=total, description=shown(what, _WIDEST))

        yield progress
