"""Python's search for cyclic garbage, which a command that holds a large model need not pay for so often."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_FEWEST = 50_000
"""New objects after which Python looks for garbage; its own number is 700, and a model of 100,000 nodes is millions."""


def leave_garbage() -> None:
    """Has Python end without a last search, which takes a second for a large model; the system takes it all back."""
    gc.freeze()


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Python looks for garbage as rarely as that inside, and as often as before after it.

    It is for a command, whose process is its own; a library does not touch what belongs to its caller.
    """
    before = gc.get_threshold()
    if before[0]:  # 0: whoever calls wants no search at all
        gc.set_threshold(max(before[0], _FEWEST), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
