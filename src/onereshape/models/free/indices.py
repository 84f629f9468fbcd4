"""Constant indices into a free axis: one that is near the old end may have been counted from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from onereshape.models.free.alignment import Axis, size_of
from onereshape.models.free.state import Axes
from onereshape.models.free.view import FreeView
from onereshape.models.node_view import Refused


def doubt_of(view: FreeView, index: int, own: Axis | None, columns: Any = None) -> str:
    """Why constant indices into a free axis cannot stay as they are, if so."""
    array = view.constant(index)
    if own is None or array is None or not view.move(size_of(own)) or array.size == 0:
        return ""
    size, then = size_of(own), view.state.then(size_of(own))
    largest = int(array.max() if columns is None else columns(array).max())
    if isinstance(then, int) and 0 < largest < then <= 2 * largest:
        return f"it takes entry {largest} of {then} along {size}: from the front or from the end is not known"
    return ""


def column_of(column: int) -> Any:
    return lambda array: np.asarray(array)[..., column]


def tuple_length(view: FreeView, places: Axes) -> int:
    last = places[-1]
    count = None if last is None else size_of(last)
    if not isinstance(count, int):
        raise Refused(f"the indices {view.value(1).name} are tuples of a length that is not known")
    return count
