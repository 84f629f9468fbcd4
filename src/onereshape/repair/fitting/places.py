"""Place: what the numbers stand for at a place at which the exports differ.

The node itself tells it, or only one reading of a number fits; where neither is so, it gets a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from onereshape.graphs.facts.scope import Scope
from onereshape.repair.fitting.differing import Use
from onereshape.repair.fitting.doubts import Doubt, Key
from onereshape.repair.fitting.equations import groups, hints
from onereshape.repair.fitting.exported import Numbers
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.regrouping import Must, quotient
from onereshape.repair.fitting.unsettled import is_crossed, is_end, is_open
from onereshape.rule.sizes import Formula, Size, cut, product, symbol

SIZED = frozenset(
    {"Concat", "ConstantOfShape", "Expand", "Pad", "Reshape", "Resize", "Slice", "Split", "Tile", "Upsample"}
)
"""Operators that are told sizes by numbers, or make one tensor of such numbers."""
_ALONG = frozenset({("Pad", 1), ("Resize", 3)})
"""The inputs that have a number for each axis of the data."""
_HALVES = ({0}, {1}, {-1}, {0, 1}, {0, -1})
"""By how much the larger half of a number may be larger."""
_MOST_ENTRIES = 64
"""Of a tensor of integers that is read number by number."""


Name = Callable[[Doubt, Numbers], Size]
"""Gives a name to a number that may be read in several ways, or in none."""


def numbers_of(uses: Iterable[Use]) -> frozenset[Numbers]:
    """The dims that differ between the exports, and the integers."""
    found = set[Numbers]()
    for use in uses:
        found.update(zip(*(array.shape for array in use.arrays), strict=False))
        found.update(_rows(use) or ())
    return frozenset(values for values in found if len({*values}) > 1)


def _rows(use: Use) -> list[Numbers] | None:
    """The numbers of a small tensor of integers, which is as large in all exports."""
    first, *others = use.arrays
    if first.dtype.kind not in "iu" or first.size > _MOST_ENTRIES or any(each.shape != first.shape for each in others):
        return None
    return list(zip(*(array.reshape(-1).tolist() for array in use.arrays), strict=True))


class Place(NamedTuple):
    """A place, and what is known where its node is."""

    number: int
    use: Use
    slot: int
    """Which input of the node."""
    scope: Scope
    known: Known
    decided: Mapping[Key, Size]
    name: Name
    require: Callable[[Iterable[Must]], None]
    """Notes what must hold wherever the model runs."""

    def dims(self) -> tuple[Size, ...]:
        """The dims of a tensor that is not as large in all exports."""
        told = hints(self.use.node, self.slot, self.scope)
        found: list[Size] = []
        for axis, values in enumerate(zip(*(array.shape for array in self.use.arrays), strict=True)):
            size = self._meant(~axis, values, told.get(axis, ()))
            found.append(self._named(~axis, values, told.get(axis, ())) if size is None else size)
        return tuple(found)

    def entries(self) -> tuple[Size, ...] | None:
        """The numbers of a small tensor of integers, which is as large in all exports."""
        rows = _rows(self.use)
        if rows is None:
            return None
        told = hints(self.use.node, self.slot, self.scope)
        if is_end(self.use):
            told = {
                place: [*told.get(place, ()), *self._cutting(row, told.get(place, ()))]
                for place, row in enumerate(rows)
            }
        found = [self._meant(place, row, told.get(place, ())) for place, row in enumerate(rows)]
        if not self._holds_sizes():
            found = self._in_a_row(rows, found)
        found = self._parted(rows, found)
        for place in self._halved(rows):
            found[place[0]], found[place[1]] = self._halves(rows, found, *place)
        if None in found:
            found = self._balanced(rows, found)
        return tuple(
            [
                self._named(place, rows[place], told.get(place, ())) if size is None else size
                for place, size in enumerate(found)
            ]
        )

    def _cutting(self, values: Numbers, told: Sequence[Size]) -> list[Size]:
        """The sizes of other tensors that a Slice may end at, and leave something out, where it seems to leave nothing.

        In all exports they are as large as its data: data that were padded by nothing are cut to what they were before.
        """
        own = self._told(values, told)
        others = self.known.sized(values) if own else []
        return [size for size in others if not any(self.known.never_below(size - each, 0) for each in own)]

    def _meant(self, place: int, values: Numbers, told: Sequence[Size]) -> Size | None:
        """What one entry or dim stands for: as decided, as the node tells, or the only formula that fits; else None."""
        if len({*values}) == 1:
            return values[0]
        if (self.number, place) in self.decided:
            return self.decided[self.number, place]
        here = self._told(values, told)
        if here:
            return here[0] if len(here) == 1 else None
        if self._is_beside_crossed():
            return None
        return self._likely(values, self._own(place)) or self._back(place, values)

    def _likely(self, values: Numbers, own: frozenset[str]) -> Size | None:
        """The only reading that fits; of a number about an axis, no size of another one if one of its own fits."""
        size = self.known.sure(values)
        if not own or (isinstance(size, Formula) and not size.symbols.isdisjoint(own)):
            return size
        if size is None:
            return self._of_its_axis(values, own)
        alike = _of(size, own)
        if alike is not None and self.known.values(alike) == values:
            return alike  # as plain as what the other axis is
        return None if self.known.along(values, own) else size

    def _own(self, place: int) -> frozenset[str]:
        """The symbols of the axis that a number is about, where it says how large that axis becomes, or by how much."""
        node, slot = self.use.node, self.slot
        data = node.inputs[0] if (node.op_type, slot) in _ALONG else None
        dims = None if data is None else self.scope.dims_of(data)
        some_only = node.attributes.get_ints("axes") or any(node.inputs[slot + 2 :])  # a Pad has axes there
        if not dims or place < 0 or some_only:
            return frozenset()
        size = dims[place % len(dims)]
        return size.symbols if isinstance(size, Formula) and not is_open(size) else frozenset()

    def _back(self, place: int, values: Numbers) -> Size | None:
        """A bound of a Slice that is a size before or behind the middle of its data, or their end.

        That is no number of its own: relative positions are from 200 - S to 199 + S of a table of 399 rows.
        """
        node = self.use.node
        if node.op_type != "Slice" or self.slot not in {1, 2} or place < 0 or len(node.inputs) < 4:
            return None
        data, axes = node.inputs[0], node.inputs[3]
        dims, held = (None, None) if data is None or axes is None else (self.scope.dims_of(data), self.scope.held(axes))
        axis = None if held is None or place >= held.size else held.reshape(-1).item(place)
        rows = dims[axis] if dims is not None and isinstance(axis, int) and -len(dims) <= axis < len(dims) else None
        if not isinstance(rows, int) or rows <= max(values):
            return None
        middles = (rows, rows - 1, *range((rows - 1) // 2, (rows + 1) // 2 + 2))
        readings = [each.size for each in self.known.readings(values)]
        found = [size for size in readings if any(_is_beside(size, middle) for middle in middles)]
        return found[0] if len(found) == 1 else None

    def _is_beside_crossed(self) -> bool:
        """Whether a target is asked of data of which it is open whether they have the size of another axis."""
        node = self.use.node
        data = node.inputs[0] if node.op_type == "Reshape" and self.slot == 1 else None
        return data is not None and any(map(is_crossed, self.scope.dims_of(data) or ()))

    def _of_its_axis(self, values: Numbers, own: frozenset[str]) -> Size | None:
        """The only one of several readings that depends on what its axis depends on, or that reads the same of it as
        of another axis: multiples of 8 that both become, of which one may be those of 4.
        """
        proven = [each.size for each in self.known.readings(values) if each.proves and isinstance(each.size, Formula)]
        found = [size for size in proven if size.symbols <= own]
        if len(found) > 1:
            alike = [_of(size, own) for size in proven if not size.symbols <= own]
            found = [size for size in found if size in alike]
        return found[0] if len(found) == 1 and len(proven) > 1 else None

    def _told(self, values: Numbers, told: Sequence[Size]) -> list[Size]:
        """Of the sizes that the node tells, the formulas with the values of this number in the exports, each once."""
        here: list[Size] = []
        for size in told:
            if isinstance(size, Formula) and self.known.values(size) == values and not is_open(size):
                here += [] if any(self.known.equal(size, other) for other in here) else [size]
        return here

    def _named(self, place: int, values: Numbers, told: Sequence[Size], what: str = "") -> Size:
        """A name of its own for a number that may be read in several ways, or in none."""
        key, here = (self.number, place), self._told(values, told)
        if here:
            return self.name(Doubt(key, self.use, tuple(here), frozenset(here)), values)
        found = self.known.readings(values)
        readings, proven = [each.size for each in found], [each.size for each in found if each.proves]
        own = self._own(place)
        if own and not any(isinstance(size, Formula) and size.symbols & own for size in readings):
            crossed = self.known.along(values, own)  # else the size of another axis would be believed
            doubt = Doubt(key, self.use, (*readings, *crossed), frozenset(crossed), bool(crossed), what)
            return self.name(doubt, values)
        return self.name(Doubt(key, self.use, tuple(readings), frozenset(proven), what=what), values)

    def _holds_sizes(self) -> bool:
        """Whether these numbers tell a node sizes, or may do so once they are joined with others."""
        operator = self.use.node.op_type
        return operator in {"Concat", "ConstantOfShape"} or (operator in SIZED and self.slot > 0)

    def _parted(self, rows: Sequence[Numbers], found: list[Size | None]) -> list[Size | None]:
        """Entries; the last one of a Split that differs becomes the rest of the axis: `[8, None] -> [8, S - 8]`."""
        node = self.use.node
        data = node.inputs[0] if node.op_type == "Split" and self.slot == 1 else None
        dims = None if data is None else self.scope.dims_of(data)
        axis = node.attributes.get_int("axis", 0)
        last = max((place for place, row in enumerate(rows) if len({*row}) > 1), default=0)
        others = [size for place, size in enumerate(found) if place != last and size is not None]
        if dims is None or not -len(dims) <= axis < len(dims) or len(others) < max(len(found) - 1, 1):
            return found
        rest = dims[axis] - sum(others, 0)
        if any(map(is_open, (rest, *others))) or self.known.values(rest) != rows[last]:
            return found
        return [*found[:last], rest, *found[last + 1 :]]

    def _halved(self, rows: Sequence[Numbers]) -> Iterator[tuple[int, int]]:
        """Where a Pad says how much it adds before an axis and behind it, each of which is half of it in all exports.

        What is the same in all of them is a number, and nothing at all is no half.
        """
        if self.use.node.op_type != "Pad" or self.slot != 1:
            return
        half = len(rows) // 2
        for place, (before, after) in enumerate(zip(rows[:half], rows[half:], strict=False)):
            apart = {b - a for a, b in zip(before, after, strict=True)}
            varies = any(len({*values}) > 1 for values in (before, after))
            if varies and min(*before, *after) >= 0 and any(before) and any(after) and apart in _HALVES:
                yield place, place + half

    def _halves(
        self, rows: Sequence[Numbers], found: Sequence[Size | None], place: int, behind: int
    ) -> tuple[Size | None, Size | None]:
        """Half of what is added, rounded down, and the rest, or the other way round; what that is, both together tell.

        Equal halves may each be a formula of their own, unless they make data as large as a size that is known.
        """
        before, after = rows[place], rows[behind]
        both = tuple(a + b for a, b in zip(before, after, strict=True))
        size = self._restoring(place, both)
        if size is None and before == after and found[place] is not None and (self.number, place) not in self.decided:
            return found[place], found[behind]
        if size is None:
            size = self._meant(place, both, ())
        if size is None:
            size = self._named(place, both, (), f"entries {place} and {behind} of {self.use.name} together")
        smaller = cut(size, 2)
        return (smaller, size - smaller) if sum(before) <= sum(after) else (size - smaller, smaller)

    def _restoring(self, place: int, both: Numbers) -> Size | None:
        """What is added to an axis that becomes as large as a size that is known."""
        data = self.use.node.inputs[0]
        dims = None if data is None else self.scope.dims_of(data)
        own = dims[place] if dims is not None and place < len(dims) and not any(self.use.node.inputs[3:]) else None
        values = None if own is None or is_open(own) else self.known.values(own)
        if own is None or values is None:
            return None
        exact = self.known.exactly(tuple(a + b for a, b in zip(values, both, strict=True)))
        return exact[0] - own if len(exact) == 1 and not is_open(exact[0]) else None

    def _in_a_row(self, rows: Sequence[Numbers], found: list[Size | None]) -> list[Size | None]:
        """Entries, open where two are n, n + 1 in all exports and were read otherwise: `[S, T] -> [?, ?]`."""
        entries = [*found]
        for place, (row, after) in enumerate(pairwise(rows)):
            one, two = found[place : place + 2]
            follows = all(b - a == 1 for a, b in zip(row, after, strict=True))
            if follows and isinstance(one, Formula) and isinstance(two, Formula) and not self.known.equal(one + 1, two):
                for at, readings in ((place, (one, two - 1)), (place + 1, (two, one + 1))):
                    key = self.number, at
                    if key not in self.decided:
                        entries[at] = self.name(Doubt(key, self.use, readings, frozenset(readings[1:])), rows[at])
        return entries

    def _balanced(self, rows: Sequence[Numbers], entries: list[Size | None]) -> list[Size | None]:
        """Entries; of a target, the only one of a group that is not told yet is what the others leave of the data."""
        node = self.use.node
        data = node.inputs[0]
        dims = None if data is None or node.op_type != "Reshape" or self.slot != 1 else self.scope.dims_of(data)
        if dims is None:
            return entries
        for above, below in groups([self.known.values(size) for size in dims], rows):
            told = [size for at in below if (size := entries[at]) is not None]
            if len(told) == len(below) - 1 and 0 not in told and -1 not in told:
                place = next(at for at in below if entries[at] is None)
                left, must = quotient(product(dims[at] for at in above), product(told))
                self.require(must)
                known = left is not None and (not is_open(left) or is_crossed(left))
                if left is not None and known and self.known.values(left) == rows[place]:
                    entries[place] = left
        return entries


def _of(size: Size, own: frozenset[str]) -> Size | None:
    """A formula of one symbol with another in its place: `2*H, {W} -> 2*W`; None where there are more symbols."""
    if not isinstance(size, Formula) or len(size.symbols) != 1 or len(own) != 1:
        return None
    return size.bind({name: symbol(each) for name in size.symbols for each in own})


def _is_beside(size: Size, number: int) -> bool:
    """Whether a size is a number plus another size, or less it, as that is."""
    rests = [rest for rest in (number - size, size - number) if isinstance(rest, Formula)]
    return any(len(rest.terms) == 1 and rest.terms[0][1] == 1 and rest.terms[0][0] for rest in rests)
