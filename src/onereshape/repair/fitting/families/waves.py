"""Waves: sines and cosines of positions, as tables of rotary and of sinusoidal positions have them, or of ramps.

Each column turns along one of the axes that grow.  That the positions start at 0, run backwards or are centred is read
from where the exports agree; the frequencies, from all that is known of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit, Limit, agrees, distinct, size_at
from onereshape.repair.fitting.families.frequencies import bumps, geometric, swings, turning, uneven
from onereshape.repair.fitting.families.planes import is_bent_along, near
from onereshape.repair.fitting.families.positions import Position, Ramp, working
from onereshape.repair.fitting.families.rivals import starts_of
from onereshape.repair.fitting.families.wave_tables import Line, Waves
from onereshape.repair.fitting.families.writing import first_along, sizes_of
from onereshape.repair.fitting.wholes import part_of, parts_of
from onereshape.rule.sizes import exact

_FEWEST = 8
"""Positions from which a wave can be read."""
_SHARED = 3
"""Positions that every export must have at least."""
_FURTHER = 8
"""How many times as far as the largest export a frequency that was measured must be known."""
_WRONG = 2e-5
"""What it may be off there, as a part of the amplitude."""

_QUARTER = 1e-4
"""What is no part of a quarter of a turn."""

_FEW = 8
"""Columns along another axis that are looked at first."""


def waves(exported: Exported) -> Fit | None:
    """Sines and cosines of positions along the axes that grow."""
    axes = _turning(exported) if exported.arrays[0].dtype.kind == "f" else []
    if not axes or not all(_swings(array, axis) for axis in axes for array in exported.arrays):
        return None
    alike = all(_shares(exported, axis) for axis in axes)
    if not alike and exported.of.partial:
        return None  # places as parts of a length go on all along an axis
    lines_of = _lines if alike else _ramps
    fits: dict[tuple[str, ...], Fit] = {}
    for tried in product(*(list(lines_of(exported, axis)) for axis in axes)):
        kinds = tuple(kind for kind, _ in tried)
        lines = [line for _, read in tried if kinds not in fits and (line := read()) is not None]
        if len(lines) == len(tried) and (fit := _fit(exported, lines)) is not None:
            fits[kinds] = fit
    return distinct(fits.values(), exported)


def _turning(exported: Exported) -> list[int]:
    """The axes along which entries vary, if a few of them may be waves along all of these; none if not, as of most."""
    growing = exported.growing
    sizes = {axis: [array.shape[axis] for array in exported.arrays] for axis in growing}
    if not any(max(each) >= _FEWEST and min(each) >= _SHARED for each in sizes.values()):
        return []
    if any(_bumps(exported, number, axis) for axis in growing for number in range(len(exported.arrays))):
        return []
    axes = []
    for axis in growing:
        if any(_varies(array, axis) for array in exported.arrays):
            axes.append(axis)
            if max(sizes[axis]) < _FEWEST or min(sizes[axis]) < _SHARED or len({*sizes[axis]}) == 1:
                return []
            if len(growing) > 1 and _stands_still(exported, axis):
                return []
    return axes if len(axes) <= 2 and all(np.isfinite(each).all() for each in exported.arrays) else []


def _varies(array: Array, axis: int) -> bool:
    return bool((array != first_along(array, (axis,))).any())


def _stands_still(exported: Exported, axis: int) -> bool:
    """Whether nothing turns along an axis where the others that grow start: there it would be read."""
    longest = max(exported.arrays, key=lambda array: int(array.shape[axis]))
    return not _varies(first_along(longest, [each for each in exported.growing if each != axis]), axis)


def _column(array: Array, axis: int) -> Array:
    """The first column along an axis."""
    place: list[int | slice] = [0] * array.ndim
    place[axis] = slice(None)
    return array[tuple(place)]


def _bumps(exported: Exported, number: int, axis: int) -> bool:
    """Whether the first column along an axis is no wave already."""
    column = _column(exported.arrays[number], axis)
    if len(column) < 4:
        return False
    off, most = uneven(column.dtype, len(column)), exported.of.most[number]
    if bumps(column, off * most):
        return True
    if any(2 * abs(column.item(at)) >= most for at in (0, len(column) // 2, -1)):
        return False  # it is as large as any other
    largest = float(np.abs(column).max())
    return 2 * largest < most and bumps(column, off * largest)


def is_crooked(exported: Exported, axis: int) -> bool:
    """Whether entries along an axis, where all others start, lie neither in a line nor on a wave."""
    if not is_bent_along(exported, axis):
        return False
    numbers = range(len(exported.arrays)) if exported.arrays[0].dtype.kind == "f" else ()
    return not numbers or any(_bumps(exported, number, axis) for number in numbers if exported.arrays[number].size)


def _shares(exported: Exported, axis: int) -> bool:
    """Whether the exports may agree along an axis, by a few entries of the first column at start, end or middle."""
    columns = [_column(array, axis) for array in exported.arrays]
    allowed = max(exported.of.rounding)
    ends = [len(column) - _SHARED for column in columns]
    for places in ([0] * len(columns), ends, [end // 2 for end in ends]):
        shown = [column[place : place + _SHARED].tolist() for column, place in zip(columns, places, strict=True)]
        if all(max(values) - min(values) <= allowed for values in zip(*shown, strict=True)):
            return True
    return False


def _swings(array: Array, axis: int) -> bool:
    """Whether the first columns along an axis may be waves."""
    rows = np.moveaxis(array, axis, 0)[(slice(None), *(slice(0, _FEW) for _ in range(array.ndim - 1)))]
    return swings(rows.reshape(len(rows), -1).astype(np.float64), uneven(array.dtype, len(rows)))


def _lines(exported: Exported, axis: int) -> Iterator[tuple[str, Callable[[], Line | None]]]:
    """The columns along an axis, read when first asked for, by each kind of position by which the exports agree."""
    size = exported.dims[axis]
    half = exact(1 - size, 2)
    eps, rows = _rows(exported, axis)
    kinds = {"start": Position(axis, size), "end": Position(axis, size, 1, 1 - size)}
    if half is not None:
        kinds["middle"] = Position(axis, size, 1, half)
    for kind, position in kinds.items():
        numbers = [position.at(binding, axis + 1).reshape(-1) for binding in exported.bindings]
        joined = _joined(numbers, rows, eps)
        if joined is not None:
            places, columns = joined
            for start in (0, 1, 2) if kind == "start" else (0,):
                moved = position._replace(start=position.start + start)
                yield kind, cache(partial(_line, moved, places + start, columns, eps))


def _rows(exported: Exported, axis: int) -> tuple[float, list[Array]]:
    """How numbers are rounded, and the columns along an axis, in each export."""
    others = [each for each in exported.growing if each != axis]
    eps = 8 * float(np.finfo(exported.arrays[0].dtype).eps)
    return eps, [
        np.moveaxis(first_along(array, others), axis, 0).reshape(array.shape[axis], -1).astype(np.float64)
        for array in exported.arrays
    ]


def _ramps(exported: Exported, axis: int) -> Iterator[tuple[str, Callable[[], Line | None]]]:
    """The columns along an axis by parts of its length, which turn as far over all of it in every export.

    They are read from the longest export, and must be right in the others.
    """
    size, (eps, rows) = exported.dims[axis], _rows(exported, axis)
    longest = max(range(len(rows)), key=lambda each: len(rows[each]))
    binding, columns = exported.bindings[longest], rows[longest]
    for step, start, over in (
        *((1, start, size) for start in (0, 1)),
        *((2, start, size) for start in (1, 1 - size)),
        *((step, start, size - 1) for step, start in ((1, 0), (2, 1 - size))),
    ):
        many = size_at(over, binding)
        if many > 0:
            position = Position(axis, size, step, start)
            ramp = Ramp(position, over, working(exported.arrays[0].dtype))
            places = position.at(binding, axis + 1).reshape(-1)
            yield f"{step}*i + {start} over {over}", cache(partial(_along, ramp, places, columns, eps, many))


def _along(ramp: Ramp, places: Array, columns: Array, eps: float, many: int) -> Line | None:
    """Columns by their places in so many parts, which they turn along from one entry to the next."""
    step = ramp.position.step
    found = turning(places / step, columns, eps)
    if found is None:
        return None
    frequency, rough = (each * (many / step) for each in (found.frequency, found.rough))
    return Line(ramp, places / many, columns, found._replace(frequency=frequency, rough=rough))


def _line(position: Position, places: Array, columns: Array, eps: float) -> Line | None:
    found = turning(places.astype(np.float64), columns, eps)
    return None if found is None else Line(position, places, columns, found)


def _joined(numbers: Sequence[Array], rows: Sequence[Array], eps: float) -> tuple[Array, Array] | None:
    """All positions and their rows; None if exports do not agree on those that they share, or share too few.

    Positions are whole numbers one after the other.
    """
    longest = max(range(len(numbers)), key=lambda each: len(numbers[each]))
    places, columns = numbers[longest], rows[longest]
    if len(places) < _FEWEST:
        return None
    for others, there in zip(numbers, rows, strict=True):
        if len(others) < _SHARED or others[0] < places[0] or others[-1] > places[-1]:
            return None  # the longest has all of them, or they are not the same positions
        if others is not places and (np.abs(columns[others - places[0]] - there) > eps * np.abs(columns).max()).any():
            return None
    return places, columns


def _fit(exported: Exported, lines: Sequence[Line]) -> Fit | None:
    """The fit of a table whose columns turn along lines, by the frequencies with the least error; None if none fit."""
    shape = first_along(exported.arrays[0], exported.growing).shape
    kind = working(exported.arrays[0].dtype)
    flat = [line.turning for line in lines]
    moving = [(each.frequency > 0) | (each.slow if len(lines) == 1 else False) for each in flat]
    if len(lines) == 2 and np.any(moving[0] & moving[1]):
        return None
    pick = moving[-1] if len(lines) == 2 else np.ones_like(moving[0])
    cosine = np.where(pick, flat[-1].cosine, flat[0].cosine)
    amplitude = np.where(pick, flat[-1].amplitude, flat[0].amplitude)
    cosines, sines = (np.where(each, amplitude, 0).reshape(shape).astype(kind) for each in (cosine, ~cosine))
    axes = exported.growing
    for exactly in (True, False):
        best: tuple[float, Waves] | None = None
        found = [_frequencies(*each, kind, exactly=exactly) for each in zip(lines, moving, strict=True)]
        for chosen in product(*found):
            turns = tuple(
                (line.position, np.where(moves, each, 0).reshape(shape).astype(kind))
                for line, each, moves in zip(lines, chosen, moving, strict=True)
            )
            table = Waves(turns, cosines, sines, exported.arrays[0].dtype, exported.dims)
            cases = [(table.at(at), array) for at, array in zip(exported.bindings, exported.arrays, strict=True)]
            if all(near(one, array, axes, table.rounded) for one, array in cases):
                error = max(float(np.abs(one.astype(np.float64) - array).max()) for one, array in cases)
                if best is None or error < best[0]:
                    best = error, table
                if not error:
                    break
        if best is not None:
            plain = [] if exactly else [line for line in lines if isinstance(line.position, Position)]
            limits = tuple(_limit(exported, line) for line in plain)
            others = (*_turned(exported, best[1], limits), *_divided(exported, best[1], limits))
            fit = best[1].fit(limits, others)
            return fit if not best[0] or best[1].rounded > 1 or agrees(fit, exported) else None
    return None


def _turned(exported: Exported, table: Waves, limits: tuple[Limit, ...]) -> Iterator[Fit]:
    """A table from other starts, whole quarters of a turn away, the same in all exports.

    A table that starts at a number is plainer than these.
    """
    for place, (position, turn) in enumerate(table.turns):
        if isinstance(position, Ramp):
            continue
        values = exported.sizes(position.start)
        for _, start, others in starts_of(exported) if position.sized else ():
            away = np.array([other - value for other, value in zip(others, values, strict=True)])
            quarters = np.multiply.outer(away, turn) / (np.pi / 2)
            whole = np.rint(quarters)
            fits = (np.abs(quarters - whole) <= _QUARTER).all() and not ((whole - whole[0]) % 4).any()
            if fits and away.any():
                turns = [*table.turns]
                turns[place] = position._replace(start=start), turn
                yield _rotated(table._replace(turns=tuple(turns)), whole[0]).fit(limits)


def _divided(exported: Exported, table: Waves, limits: tuple[Limit, ...]) -> Iterator[Fit]:
    """A table whose ramps are parts of another size: a free one in the same proportion in all exports, or a half."""
    for place, (ramp, turn) in enumerate(table.turns):
        if not isinstance(ramp, Ramp):
            continue
        sizes = exported.sizes(ramp.over)
        free = [(size, exported.sizes(size)) for size in sizes_of(exported) if size.name is not None]
        whole = [(size, values[0] // sizes[0]) for size, values in free if _in_proportion(values, sizes)]
        cut = ramp.odd and 2 in parts_of(exported, ramp.over)
        half = [(part, 0.5) for part in part_of(ramp.over, 2)] if cut else []
        for over, times in (*((size, times) for size, times in whole if size != ramp.over), *half):
            turns = [*table.turns]
            turns[place] = ramp._replace(over=over), (turn * times).astype(turn.dtype)
            yield table._replace(turns=tuple(turns)).fit(limits)


def _in_proportion(values: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether sizes are the same whole number of times as large as others in all exports."""
    found = {divmod(value, size) for value, size in zip(values, sizes, strict=True)} if min(sizes) > 0 else {(0, 1)}
    return len(found) == 1 and found.pop()[1] == 0


def _rotated(table: Waves, quarters: Array) -> Waves:
    """A table whose angles are so many quarters of a turn too large."""
    cosines, sines = table.cosines, table.sines
    sides = [(cosines, sines), (-sines, cosines), (-cosines, -sines), (sines, -cosines)]
    found = [np.choose((quarters % 4).astype(np.int64), [side[which] for side in sides]) for which in (0, 1)]
    return table._replace(cosines=found[0], sines=found[1])


def _frequencies(line: Line, moves: Array, kind: np.dtype[np.generic], *, exactly: bool) -> Iterator[Array]:
    """The frequencies of a line: of a sequence, or as they were measured where that is known well enough."""
    found = line.turning
    if exactly:
        yield from geometric(found, line.columns, moves, kind)
        return
    times = _FURTHER if isinstance(line.position, Position) else 1
    far = times * float(np.abs(line.places).max()) * np.linspace(0, 1, 257)[:, None]
    one, other = far * found.frequency, far * (found.frequency + found.rough)
    off = np.abs(np.where(found.cosine, np.cos(one) - np.cos(other), np.sin(one) - np.sin(other)))
    if np.all(off <= _WRONG):
        yield _snapped(line, kind)


def _snapped(line: Line, kind: np.dtype[np.generic]) -> Array:
    """The measured frequencies, each the one of its neighbours that explains its column best."""
    found, places = line.turning, line.places[:, None].astype(kind)
    best, least = found.frequency.astype(kind), np.full(found.frequency.shape, np.inf)
    for ulps in range(-3, 4):
        tried = found.frequency.astype(kind) + ulps * np.spacing(found.frequency.astype(kind))
        angle = places * tried
        wave = np.where(found.cosine, np.cos(angle), np.sin(angle)) * found.amplitude
        error = np.abs(wave - line.columns).max(axis=0)
        best, least = np.where(error < least, tried, best), np.minimum(error, least)
    return best


def _limit(exported: Exported, line: Line) -> Limit:
    axis = line.position.axis
    most = _FURTHER * max(array.shape[axis] for array in exported.arrays)
    return Limit(exported.dims[axis], most, f"the frequencies along axis {axis} were measured, and are known so far")
