"""Record: all that is known of one operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from onereshape.models.facts.asking import Asking, Dims
    from onereshape.models.facts.elements import Array, Holding


class Record(NamedTuple):
    """All that is known of one operator."""

    shape: Callable[[Asking], Sequence[Dims | None]] | None = None
    """The dims of the outputs."""
    elements: Callable[[Holding], Sequence[Array | None]] | None = None
    """What the outputs hold, where they are small tensors."""
    from_dims: bool = False
    """Whether what it gives follows from the dims of its input alone."""


RECORDS: dict[str, Record] = {}
