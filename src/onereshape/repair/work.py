"""Work: a repair that is decided, and what its certificate must know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Freed
from onereshape.ground.errors import FixError
from onereshape.prove.runs.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Work:
    """A repair that is decided, and not made yet."""

    changes: tuple[Change, ...]
    apply: Callable[[], None]
    """Rewrites the model that it was decided for."""
    comparison: Comparison
    """What the certificate must know of it."""
    needed: bool
    """Whether anything changes, declared dims included."""
    freed: Freed
    """Input -> axis -> the name of a dim that is free then."""
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unless_proven: FixError | None = None
    """What is raised where the terms do not prove it for every batch: a dim was taken whose name says nothing."""
    declared: frozenset[str] = frozenset()
    """The values that are declared with a fixed size where they carry the batch."""
