"""Windows: entries of which it is known how they go on once an axis is cut into windows of as many entries each.

That is what depends on i // k and i % k: entries that repeat, and entries that are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Family, Fit, agrees, size_at, sizes_at
from onereshape.repair.fitting.families.lengths import along_first, changes
from onereshape.rule.sizes import Size, ceiling, symbol

_ROWS = "windows"
"""The number of whole windows, while it is a size of its own."""


def windowed(exported: Exported, fit: Family, vain: Callable[[Exported, int], bool]) -> Fit | None:
    """A constant that goes on along the windows of an axis; the last one may be cut short.

    Windows whose first entries, or those along another axis, are known to go on in no way are not tried.
    """
    for axis in exported.growing:
        if any(vain(exported, other) for other in exported.growing if other != axis):
            continue
        for width in _widths(exported, axis):
            found = None if vain(_firsts(exported, axis, width), axis) else _in_windows(exported, axis, width, fit)
            if found is not None:
                return found
    return None


def _firsts(exported: Exported, axis: int, width: int) -> Exported:
    """The first entries of all whole windows."""
    places = [slice(None, array.shape[axis] // width * width, width) for array in exported.arrays]
    firsts = [array[(*(slice(None),) * axis, place)] for array, place in zip(exported.arrays, places, strict=True)]
    return exported.cut(tuple(firsts), exported.dims)


def _widths(exported: Exported, axis: int) -> list[int]:
    """The windows that an axis may have: as long as its shortest period, or up to where it first changes its course."""
    rows = [along_first(array, axis) for array in exported.arrays]
    shortest = min(map(len, rows))
    if shortest < 4:  # two windows of two entries
        return []
    again = [_as_first(each) for each in rows]
    found = [_period(rows, again, shortest), _run(again)]
    turns = changes(rows[0][: shortest // 2 + 3], 0)[2:]
    first = int(turns.argmax()) + 2 if turns.any() else 0
    found += [first + 1, first]
    # Two whole windows at least, in every export.
    lengths = list(map(len, rows))
    return [width for width in dict.fromkeys(found) if 1 < width <= shortest // 2 and not _share(width, lengths)]


def _share(width: int, lengths: list[int]) -> bool:
    """Whether a window may be a part of the size instead, rounded down or up, as that is the same in all exports."""
    down = max(length // (width + 1) + 1 for length in lengths), min(length // width for length in lengths)
    up = max(-(-length // width) for length in lengths), min((length - 1) // (width - 1) for length in lengths)
    return any(max(2, least) <= most for least, most in (down, up))


def _period(rows: list[Array], again: list[Array], shortest: int) -> int:
    """After how many entries all exports repeat, 0 if they do not."""
    places = reduce(np.logical_and, [each[1 : shortest // 2 + 1] for each in again])
    if places.any():  # and so does the last one
        places = reduce(np.logical_and, [_as_first(each[::-1])[1 : shortest // 2 + 1] for each in rows], places)
    found = (places.nonzero()[0] + 1).tolist()
    return next((period for period in found if all(_repeats(each, period) for each in rows)), 0)


def _repeats(rows: Array, period: int) -> bool:
    """Whether all entries come again after so many."""
    return bool((rows[period:] == rows[:-period]).all())


def _run(again: list[Array]) -> int:
    """How often the first entry is repeated, 0 if not equally often in all exports."""
    runs = {_first_run(each) for each in again}
    return runs.pop() if len(runs) == 1 else 0


def _first_run(again: Array) -> int:
    place = int(again.argmin())  # of the first that is not
    return 0 if again[place] else place


def _as_first(rows: Array) -> Array:
    """Which entries are the first one again."""
    found = rows[:, :1] == rows[:1, :1] if rows.size else np.ones((len(rows), 1), bool)
    again = np.asarray(found.reshape(-1))
    if rows.shape[1] > 1:
        places = np.flatnonzero(again)
        again[places] = (rows[places] == rows[:1]).all(axis=1)
    return again


def _in_windows(exported: Exported, axis: int, width: int, fit: Family) -> Fit | None:
    size = exported.dims[axis]
    completed = _completed(exported, axis, width, fit)
    if completed is None:
        return None
    dims = (*exported.dims[:axis], ceiling(size, width), width, *exported.dims[axis + 1 :])
    inner = fit(exported._replace(arrays=tuple(completed), dims=dims, entries=None))
    if inner is None:
        return None

    def build(whole: Fit) -> Fit:

        def at(binding: Binding) -> Array:
            return _flat(whole.at(binding), axis, size_at(size, binding))

        def make(writer: Rewriter) -> ir.Value:
            flat = (*exported.dims[:axis], ceiling(size, width) * width, *exported.dims[axis + 1 :])
            value = writer.front("Reshape", [whole.make(writer), writer.vector(flat)])
            if flat[axis] == size:
                return value
            return writer.front("Slice", [value, writer.integers([0]), writer.size(size), writer.integers([axis])])

        return whole._replace(words=f"in windows of {width} along axis {axis}: {whole.words}", at=at, make=make)

    found = inner.each(build)
    return found if all(agrees(each, exported) for each in (found, *found.others)) else None


def _completed(exported: Exported, axis: int, width: int, fit: Family) -> list[Array] | None:
    """The exports in windows, `[10] -> [3, 4]`, completed by the fit of whole windows; None if these have no fit."""
    cut = [_whole(array, axis, width) for array in exported.arrays]
    lengths = [array.shape[axis] for array in exported.arrays]
    if all(length % width == 0 for length in lengths):
        return cut
    rows: Size = symbol(_ROWS)
    bindings = [{**binding, _ROWS: length // width} for binding, length in zip(exported.bindings, lengths, strict=True)]
    dims = (*exported.dims[:axis], rows, width, *exported.dims[axis + 1 :])
    if sizes_at(rows, bindings) is None:
        return None
    inner = fit(exported._replace(arrays=tuple(cut), bindings=tuple(bindings), dims=dims, known=(), entries=None))
    if inner is None:
        return None
    return list(_foretold(exported, bindings, inner, width, axis))


def _foretold(exported: Exported, bindings: list[dict[str, int]], inner: Fit, width: int, axis: int) -> Iterator[Array]:
    for binding, array in zip(bindings, exported.arrays, strict=True):
        windows = -(-array.shape[axis] // width)
        yield inner.at({**binding, _ROWS: windows})


def _whole(array: Array, axis: int, width: int) -> Array:
    """The whole windows of an axis, as two axes."""
    count = array.shape[axis] // width
    whole = array[(*(slice(None),) * axis, slice(0, count * width))]
    return whole.reshape(*array.shape[:axis], count, width, *array.shape[axis + 1 :])


def _flat(array: Array, axis: int, length: int) -> Array:
    """Windows one after the other again, as far as the axis goes."""
    count, width = array.shape[axis : axis + 2]
    whole = array.reshape(*array.shape[:axis], count * width, *array.shape[axis + 2 :])
    return whole[(*(slice(None),) * axis, slice(0, length))]
