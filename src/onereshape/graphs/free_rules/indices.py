"""Constant indices into a free axis: one that is near the old end may have been counted from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.state import Axes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused, paired


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


def beside(view: FreeView, axis: int, data: Axes, indices: Axes) -> list[int]:
    """The axes along which indices have a row for each of data; where indices are free and fewer, data limit them."""
    found: list[int] = []
    for place, (own, index) in enumerate(paired(data, indices)):
        if place == axis or own is None or index is None:
            continue
        size, here = size_of(own), size_of(index)
        if not (view.move(size) or view.move(here)):
            continue
        if view.state.then(size) == view.state.then(here):
            found.append(place)
        elif isinstance(size, int):
            view.state.limit(here, size, f"{view.value(0).name} has {size} entries along axis {place}")
    return found


def column_of(column: int) -> Any:
    return lambda array: np.asarray(array)[..., column]


def tuple_length(view: FreeView, places: Axes) -> int:
    last = places[-1]
    count = None if last is None else size_of(last)
    if not isinstance(count, int):
        raise Refused(f"the indices {view.value(1).name} are tuples of a length that is not known")
    return count
