"""Joins: an axis that is several parts one after the other, each of which goes on by itself.

The places where a constant is cut are sizes, the same formula in every export: parts of the formula of the axis, other
sizes of the model, and numbers that count from either end.  It is cut only where its entries change their course.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Family, Fit, Numbers, at_least, sizes_at
from onereshape.repair.fitting.families.cuts import is_one_start
from onereshape.repair.fitting.families.frequencies import swings, uneven
from onereshape.repair.fitting.families.lengths import (
    along_first,
    changes,
    changes_often,
    has_rivals,
    lengths_of,
    numbers_of,
    terms_of,
)
from onereshape.repair.fitting.families.products import splits
from onereshape.repair.fitting.families.same import corners_alike
from onereshape.rule.sizes import Formula, Size, bounds

_PARTS = 8
"""Parts of an axis, at most."""
_EDGES = 4
"""Plain parts of an axis, at most."""
_TRIED = 200
"""Parts of an axis that are tried."""
_MOST_TRIED = 4096
"""Sizes below those of the exports that are tried."""

_WAVE = 8
"""Entries that are read as a wave, at least;"""
_KNOWN = 6
"""entries that a wave and what goes on with it have at least."""


_Piece = tuple[Numbers, Numbers, Size]
"""Where a part starts, how long it is in the exports, and its size."""


class _Cutting(NamedTuple):
    """The axis that is cut, and what is known of its parts wherever they begin."""

    exported: Exported
    axis: int
    fit: Family
    soon: Callable[[Exported], bool] | None
    """Of which parts it is soon told that they are not known."""
    total: Size
    sure: list[Size]
    """The sizes of which the formula of the axis is made."""
    lengths: dict[Numbers, Size]
    """The sizes that a part may have, by what they are in the exports."""
    back: list[int]
    """How many entries a last part that does not grow may have."""
    breaks: tuple[Array, ...]
    """At which places each export changes its course."""
    seen: dict[_Piece, Fit | None]
    sizes: dict[tuple[Numbers, Numbers], Size]
    """The size of a part that is not the last one: the first that was thought of."""
    last: dict[Numbers, Fit | None]
    """What is left from a place on."""
    before: dict[Numbers, list[_Piece]]
    """The parts behind which nothing known is left, by where they end."""
    failed: set[tuple[Numbers, int]]
    reached: set[Numbers]
    """From where on two parts were asked for."""
    heads: dict[tuple[Numbers, Size], list[tuple[Numbers, Size, Numbers]]]
    """What may stand at a place, by the size that is left there."""
    left: dict[tuple[Size, Size], Size | None]


def joined(
    exported: Exported, fit: Family, *, plain: bool = False, soon: Callable[[Exported], bool] | None = None
) -> Fit | None:
    """A constant whose parts along an axis each go on; the fewest parts are taken, and none is cut again.

    Plain parts do not change their course, so there are no more changes than parts, each beside two entries.  Parts
    of which it is soon told that they are not known are asked for before what they leave.
    """
    fixed: bool | None = None
    if plain and not corners_alike(exported):
        return None
    for axis in exported.growing:
        total = exported.dims[axis]
        end = sizes_at(total, exported.bindings)
        if end is None or min(end) < 2 or max(end) - min(end) < 2:
            continue
        most = _EDGES if plain else _PARTS
        often = 2 * (most - 1)
        if plain and any(changes_often(array, axis, often) for array in exported.arrays):
            continue
        breaks = tuple(changes(array, axis) for array in exported.arrays)
        if plain and max(int(np.count_nonzero(places)) for places in breaks) > often:
            continue
        part = partial(_part, fit=fit)
        lengths, back = dict(lengths_of(exported, axis, breaks)), numbers_of(breaks, back=True)
        fixed = is_one_start(exported) if fixed is None else fixed
        asked = soon if any(splits(exported, each) for each in exported.growing) else None
        if fixed:  # and neither does the place where another part begins
            lengths, back = {values: size for values, size in lengths.items() if isinstance(size, int)}, []
        sure = terms_of(total)
        cutting = _Cutting(
            exported, axis, part, asked, total, sure, lengths, back, breaks, {}, {}, {}, {}, set(), set(), {}, {}
        )
        for count in range(2, most + 1):
            cutting.reached.clear()
            parts = _cut(cutting, (0,) * len(end), total, count)
            if parts is not None:
                return None if _is_in_a_wave(cutting, parts) else _together(parts, axis)
            if not cutting.reached:
                break  # nothing is known to stand before the last two, however many parts there are
    return None


def _cut(cutting: _Cutting, start: Numbers, rest: Size, count: int) -> list[Fit] | None:
    """The fits of so many parts from a place on, where the rest has a size; None if there are none."""
    if count == 2 or (start, count) in cutting.failed:
        cutting.reached.add(start)
    if (start, count) in cutting.failed or len(cutting.seen) > _TRIED:
        return None
    found = _parts(cutting, start, rest, count)
    if found is None:
        cutting.failed.add((start, count))
    return found


def _parts(cutting: _Cutting, start: Numbers, rest: Size, count: int) -> list[Fit] | None:
    for values, size, ends in _heads(cutting, start, rest, count):
        left = _left(cutting, rest, size)
        if left is None:
            continue
        part = start, values, cutting.sizes.setdefault((start, values), size)
        if count == 2:
            found = _two(cutting, part, ends, left)
        else:
            head = _fitted(cutting, *part)
            tail = None if head is None else _cut(cutting, ends, left, count - 1)
            found = None if head is None or tail is None else [head, *tail]
        if found is not None:
            return found
    return None


def _two(cutting: _Cutting, part: _Piece, ends: Numbers, rest: Size) -> list[Fit] | None:
    """The fits of a part and of all that is left behind it, which is seldom known, and is asked for first."""
    if ends not in cutting.last and _is_soon_told(cutting, part) and _fitted(cutting, *part) is None:
        return None
    last = cutting.last[ends] if ends in cutting.last else _behind(cutting, part, ends, rest)
    head = None if last is None else _fitted(cutting, *part)
    if head is None or last is None:
        return None
    cutting.last[ends] = last
    return [head, last]


def _is_soon_told(cutting: _Cutting, part: _Piece) -> bool:
    return cutting.soon is not None and cutting.soon(_taken(cutting, *part))


def _behind(cutting: _Cutting, part: _Piece, ends: Numbers, rest: Size) -> Fit | None:
    """The fit of the last part of an axis, from the end of `part` on; None if it has none.

    Nor if a known part was tried before that ends there too: the size that this one leaves counts, and had no fit.
    """
    left = sizes_at(rest, cutting.exported.bindings)
    last = None if left is None or min(left) < 1 else _fitted(cutting, ends, left, rest)
    if last is None:
        cutting.before.setdefault(ends, []).append(part)
    elif any(_fitted(cutting, *each) is not None for each in cutting.before.pop(ends, ())):
        last = cutting.last[ends] = None
    return last


def _heads(cutting: _Cutting, start: Numbers, rest: Size, count: int) -> Iterator[tuple[Numbers, Size, Numbers]]:
    """The sizes that the next of so many parts may have, in the exports too, and where it ends there."""
    left = sizes_at(rest, cutting.exported.bindings)
    if left is None or min(left) < 1:
        return
    if (start, rest) not in cutting.heads:
        cutting.heads[start, rest] = list(_ending(cutting, start, left, cutting.lengths.items()))
    yield from cutting.heads[start, rest]
    if count == 2:
        yield from _ending(cutting, start, left, ((_less(left, each), rest - each) for each in cutting.back))


def _ending(
    cutting: _Cutting, start: Numbers, left: Numbers, tried: Iterable[tuple[Numbers, Size]]
) -> Iterator[tuple[Numbers, Size, Numbers]]:
    """The sizes with which a part from a place on ends before the axis does, where entries change their course."""
    for values, size in tried:
        if values[0] >= left[0] or (isinstance(size, int) and any(start)):
            continue  # what does not grow stands at either end
        if not cutting.breaks[0][start[0] + values[0]] or any(a >= b for a, b in zip(values, left, strict=True)):
            continue
        ends = tuple([a + b for a, b in zip(start, values, strict=True)])
        if min(values) >= 1 and all(places[end] for end, places in zip(ends, cutting.breaks, strict=True)):
            yield values, size, ends


def _less(values: Numbers, number: int) -> Numbers:
    return tuple([each - number for each in values])


def _left(cutting: _Cutting, rest: Size, size: Size) -> Size | None:
    """What a part leaves of the rest; None if it may end at another size just as well."""
    if (rest, size) not in cutting.left:
        left, total = rest - size, cutting.total
        alone = 1 in (size, left)  # one entry of its own at either end is what it looks like
        rivalled = False
        if not alone and size not in cutting.sure:
            rivalled = has_rivals(total, size if rest is total else total - left, cutting.exported.items)
        cutting.left[rest, size] = None if rivalled else left
    return cutting.left[rest, size]


def _fitted(cutting: _Cutting, start: Numbers, values: Numbers, size: Size) -> Fit | None:
    """The fit of one part."""
    key = start, values, size
    if key not in cutting.seen:
        found = cutting.fit(_taken(cutting, start, values, size))
        cutting.seen[key] = None if found is None else found.each(partial(_above, cutting, size))
    return cutting.seen[key]


def _taken(cutting: _Cutting, start: Numbers, values: Numbers, size: Size) -> Exported:
    """The constant between `start` and `start + values` along the axis, in every export."""
    exported, axis = cutting.exported, cutting.axis
    arrays = [
        array[(*(slice(None),) * axis, slice(first, first + length))]
        for array, first, length in zip(exported.arrays, start, values, strict=True)
    ]
    return exported.cut(tuple(arrays), (*exported.dims[:axis], size, *exported.dims[axis + 1 :]))


def _above(cutting: _Cutting, size: Size, part: Fit) -> Fit:
    """A part, only where it has no less than no entries, although there are some in all.

    Where all are what another cut leaves, that may be none, and the parts must be none then, too.
    """
    low = bounds(size, 1)[0]
    if isinstance(size, int) or (low is not None and low >= 0) or not isinstance(cutting.total, Formula):
        return part
    names = size.symbols | cutting.total.symbols
    least = min(min(binding.values()) for binding in cutting.exported.bindings)
    small = [dict.fromkeys(names, each) for each in range(1, least, 1 + least // _MOST_TRIED)]
    all_low = bounds(cutting.total, 1)[0]
    some = 1 if all_low is not None and all_low >= 0 else 0
    if not any(size.at(each) < 0 and cutting.total.at(each) >= some for each in small):
        return part
    return part._replace(limits=(*part.limits, at_least(size, 0, "the other parts of a constant leave no less")))


def _part(exported: Exported, fit: Family) -> Fit | None:
    """The fit of a part; one that does not grow is the same in every export, byte by byte."""
    if exported.growing:
        return fit(exported)
    first, *others = exported.arrays
    if any(each.shape != first.shape or each.tobytes() != first.tobytes() for each in others):
        return None
    return Fit("is the same", lambda _binding: first, lambda writer: writer.constant(first))


def _is_in_a_wave(cutting: _Cutting, parts: Sequence[Fit]) -> bool:
    """Whether a wave is cut in all exports, and one of many places to cut it fits by chance.

    That is so of a few entries that go on with the wave beside them, and wherever a wave comes round again.
    """
    exported, axis = cutting.exported, cutting.axis
    if exported.arrays[0].dtype.kind != "f" or any(2 * np.count_nonzero(each) < len(each) for each in cutting.breaks):
        return False
    lengths = [[part.at(binding).shape[axis] for part in parts] for binding in exported.bindings]
    long = [max(each) >= _WAVE for each in zip(*lengths, strict=True)]
    for place in range(len(parts) - 1):
        if not any(long[place : place + 2]):
            continue
        ends = [sum(each[: place + 1]) for each in lengths]
        before = [each[place] if long[place] else 1 for each in lengths]
        after = [each[place + 1] if long[place + 1] else 1 for each in lengths]
        found = [
            along_first(array, axis)[end - less : end + more].astype(np.float64)
            for array, end, less, more in zip(exported.arrays, ends, before, after, strict=True)
        ]
        both = all(long[place : place + 2])
        if all(_is_wave(rows, exported.arrays[0].dtype, again=both) for rows in found):
            return True
    return False


def _is_wave(rows: Array, kind: np.dtype[np.generic], *, again: bool) -> bool:
    """Whether rows lie on one wave; one that comes round again, if asked."""
    off = uneven(kind, len(rows))
    if len(rows) < _KNOWN or not swings(rows, off):
        return False
    near = off * np.abs(rows).max(axis=0)
    return not again or any((np.abs(rows[turn:] - rows[:-turn]) <= near).all() for turn in range(2, len(rows) // 2))


def _together(parts: Sequence[Fit], axis: int) -> Fit:
    """The fits of parts, concatenated along the axis, as one fit; its second reading is of all second ones, and on."""
    turns = max(len(part.others) for part in parts)
    first, *others = (
        _one([(part, *part.others)[min(turn, len(part.others))] for part in parts], axis) for turn in range(turns + 1)
    )
    return first._replace(others=tuple(others))


def _one(parts: Sequence[Fit], axis: int) -> Fit:

    def at(binding: Binding) -> Array:
        return np.concatenate([part.at(binding) for part in parts], axis=axis)

    def make(writer: Rewriter) -> ir.Value:
        return writer.front("Concat", [part.make(writer) for part in parts], {"axis": axis})

    words = "; then ".join(dict.fromkeys(part.words for part in parts))
    limits = tuple(dict.fromkeys(limit for part in parts for limit in part.limits))
    opset, odd = max(part.opset for part in parts), sum(part.odd for part in parts)
    kept = tuple(dict.fromkeys(each for part in parts for each in part.kept))
    return Fit(f"in {len(parts)} parts along axis {axis}: {words}", at, make, limits, opset, odd=odd, kept=kept)
