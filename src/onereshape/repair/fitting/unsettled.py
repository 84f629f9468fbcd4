"""Unsettled: the numbers of a walk that may stand for several formulas, and what tells which of them it is.

Dims that must be equal tell it, sizes that must be whole, the rest which a stride leaves, and at last sizes that the
model has elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy

from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.differing import Use
from onereshape.repair.fitting.doubts import Doubt, Key
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.narrowing import Narrowed, by_equal, by_whole
from onereshape.repair.fitting.strided import Strided, followed
from onereshape.rule.sizes import Formula, Size, symbol

_OPEN = "?"
"""Begins the names of numbers of which it is not told yet what they stand for;"""
_CROSSED = "??"
"""these are about an axis, and may be the size of another one."""


class Unsettled:
    """The open numbers, by their names, and what was met of them."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.doubts: dict[str, Doubt] = {}
        self.equal: list[tuple[Size, Size]] = []
        """Sizes that must be equal."""
        self.whole: list[Size] = []
        """Sizes that must be whole numbers."""
        self.pads: list[Size] = []
        """Sizes of what is padded."""
        self.strides: list[Strided] = []
        self.same = False
        """Whether a stride told what a Pad adds."""
        self._narrowed: Narrowed = {}
        """What was asked before, by this walk or by another one that began as it did."""

    def copied(self, known: Known) -> Unsettled:
        """A copy, beside a copy of what is known: what is found with one is not known to the other."""
        again = copy(self)
        again.known, again.doubts, again.whole = known, self.doubts.copy(), self.whole.copy()
        again.pads, again.strides, again.equal = self.pads.copy(), self.strides.copy(), self.equal.copy()
        return again

    def name(self, doubt: Doubt, values: tuple[int, ...]) -> Size:
        """A name for a number that may be read in several ways, or in none."""
        name = f"{_CROSSED if doubt.crossed else _OPEN}{doubt.key[0]}.{doubt.key[1]}"
        self.doubts[name] = doubt
        for binding, size in zip(self.known.bindings, values, strict=True):
            binding[name] = size
        return symbol(name)

    def equate(self, one: Size, other: Size) -> None:
        """Notes that two sizes are equal wherever the model runs."""
        if one == other:
            return
        if is_open(one) or is_open(other):
            self.equal.append((one, other))
        elif self._agree(one, other):
            self.known.equate(one, other)

    def told(self) -> dict[Key, Size]:
        """The numbers that are told by what must be equal, or whole; else those of Pads, by a stride."""
        found = self.solved()
        if not found:
            found = dict(self._stepped())
            self.same = bool(found)
        return found

    def solved(self) -> dict[Key, Size]:
        """The numbers of which what must be equal, or whole, leaves only one reading.

        Where that told one of them, all that comes behind it is asked again: it may be the size which others stand for.
        But its twins are told with it, each by what itself must equal: every layer has one.
        """
        left = {name: list(doubt.readings) for name, doubt in self.doubts.items()}
        told: set[str] = set()
        narrowing = _Narrowing(self, left)
        for one, other in self.equal:
            if not self._agree(one, other):
                continue
            for size, same in ((one, other), (other, one)):
                name = size.name if isinstance(size, Formula) else None
                if name in left and not is_open(same):
                    left[name] = [same]
                    told.add(name)
            if self._tells(one, other) and narrowing.asks(one, other):
                narrowing.note(by_equal(self.known, left, one, other, self._narrowed))
        for size in self.whole:
            if self.known.values(size) is not None and not is_crossed(size) and narrowing.asks(size):
                narrowing.note(by_whole(self.known, left, size, self._narrowed))
        told |= narrowing.told()
        return {self.doubts[name].key: sizes[0] for name, sizes in left.items() if name in told and len(sizes) == 1}

    def _tells(self, one: Size, other: Size) -> bool:
        """Whether it tells anything of open numbers that two sizes are equal; of one, it does.

        It does not where one of several is what the others make of it, as the length of a table is: then any will do.
        Nor where the readings of one of them prove nothing, since what it stands for may be none of them; nor of one
        that may be the size of another axis: what else goes with it would be read so as well.
        """
        sizes = [size for size in (one, other) if isinstance(size, Formula)]
        names = {name for size in sizes for name in size.symbols if name in self.doubts}
        if is_crossed(one) or is_crossed(other):
            return False
        if len(names) < 2:
            return True
        alone = [size for size in sizes if size.name in self.doubts]
        return len(alone) != 1 and all(self.doubts[name].proven for name in names)

    def kinds(self, keys: Iterable[Key]) -> set[Choice]:
        """The kinds of numbers."""
        chosen = frozenset(keys)
        return {self.kind(name) for name, doubt in self.doubts.items() if doubt.key in chosen}

    def kind(self, name: str) -> Choice:
        """The kind of an open number."""
        return tuple(binding[name] for binding in self.known.bindings), self.doubts[name].readings

    def _stepped(self) -> Iterator[tuple[Key, Size]]:
        """The numbers of a Pad that are the rest which a stride leaves."""
        for each in self.strides:
            symbols = each.padded.symbols if isinstance(each.padded, Formula) else frozenset()
            names = [name for name in symbols if name in self.doubts]
            size = followed(each, names[0], self.known) if len(names) == 1 else None
            if size is not None:
                yield self.doubts[names[0]].key, size

    def elsewhere(self) -> dict[Key, Size]:
        """The open numbers that make a Pad give the size of another tensor; else those that are such a size."""
        return dict(self._padded()) or dict(self._later())

    def _padded(self) -> Iterator[tuple[Key, Size]]:
        """The numbers with which a Pad gives the size of another tensor: that is read, not the few that it adds."""
        for size in self.pads:
            names = [name for name in size.symbols if name in self.doubts] if isinstance(size, Formula) else []
            values = self.known.values(size)
            if len(names) == 1 and values is not None and len({*values}) > 1:
                (name,) = names
                others = size - symbol(name)
                exact = self.known.exactly(values)
                if len(exact) == 1 and not is_open(others):
                    yield self.doubts[name].key, exact[0] - others

    def _later(self) -> Iterator[tuple[Key, Size]]:
        """The numbers that are a size which a tensor has only behind them, if that is proven, or nothing else is.

        But none that may be the size of another axis, or goes with such a number, which would be told by it.
        """
        crossed = {name for name, doubt in self.doubts.items() if doubt.crossed}
        for pair in self.equal:
            crossed.update(name for size in pair if any(map(is_crossed, pair)) for name in _names(size))
        for name, doubt in self.doubts.items():
            if name in crossed:
                continue
            exact = self.known.exactly(tuple(binding[name] for binding in self.known.bindings))
            proven = doubt.proven or exact
            if len(exact) == 1 and any(self.known.equal(exact[0], size) for size in proven):
                yield doubt.key, exact[0]

    def _agree(self, one: Size, other: Size) -> bool:
        """Whether two sizes are equal in all exports."""
        values = self.known.values(one)
        return values is not None and values == self.known.values(other)


Choice = tuple[tuple[int, ...], tuple[Size, ...]]
"""What a number is in the exports, and its readings: those of twins are the same."""


class _Narrowing:
    """Which numbers were narrowed, until one of them is told, and from then on their twins alone."""

    def __init__(self, unsettled: Unsettled, left: dict[str, list[Size]]) -> None:
        self._doubts, self._kind, self._left = unsettled.doubts, unsettled.kind, left
        self._names: set[str] = set()
        self._seen: set[Choice] = set()
        """The kinds of the numbers that were asked until one was told."""
        self._first: dict[Choice, Size] = {}
        """What the numbers that were told then stand for."""

    def asks(self, *sizes: Size) -> bool:
        """Whether sizes that must be equal, or whole, are asked what they tell of the open numbers in them."""
        names = [name for size in sizes if isinstance(size, Formula) for name in size.symbols if name in self._doubts]
        self._first = self._first or {
            self._kind(name): self._left[name][0] for name in self._names if len(self._left[name]) == 1
        }
        if self._first:
            return all(self._kind(name) in self._seen for name in names)
        self._seen.update(map(self._kind, names))
        return True

    def note(self, names: set[str]) -> None:
        """Notes which numbers were narrowed."""
        self._names |= names

    def told(self) -> set[str]:
        """The names of narrowed numbers; once some were told, only these and their twins with the same formula."""
        first = self._first
        return {name for name in self._names if not first or first.get(self._kind(name)) == self._left[name][0]}


def is_crossed(size: Size) -> bool:
    """Whether a formula has an open number in it that may be the size of another axis."""
    return any(name.startswith(_CROSSED) for name in _names(size))


def _names(size: Size) -> frozenset[str]:
    return size.symbols if isinstance(size, Formula) else frozenset()


def is_end(use: Use) -> bool:
    """Whether a place is that at which a Slice ends."""
    return operator_of(use.node) == "Slice" and use.slot == 2


def is_open(size: Size) -> bool:
    """Whether a formula has an open number in it."""
    return isinstance(size, Formula) and any(name.startswith(_OPEN) for name in size.symbols)
