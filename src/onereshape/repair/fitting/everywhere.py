"""Everywhere: what holds of sizes wherever a model runs, and what is asked of them so that it does.

Two formulas are the same if they are at many samples of the symbols' sizes, none below those of the exports.  These
differ by steps: a Reshape to [H/2, 2] asks for an even H, and then H/2 and (H + 1)/2 are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from math import gcd, lcm

from onereshape.repair.fitting.columns import Column, Columns, number_at
from onereshape.repair.fitting.ends import is_cut, uncut
from onereshape.repair.fitting.exported import Binding
from onereshape.rule.sizes import Formula, Size, cut, over

_LARGEST_STEP = 512
_FAR = 1024
"""Times the smallest export."""


class Everywhere:
    """The sizes at which a model runs."""

    def __init__(self, bindings: Sequence[Binding], steps: Mapping[str, int] | None = None) -> None:
        self.bindings = [dict(binding) for binding in bindings]
        """The sizes of the symbols in each export; of those too of which it is still open what they stand for."""
        self.steps: dict[str, int] = dict(steps or {})
        """Symbol -> the step by which its sizes differ, where one is known."""
        self.multiples: dict[tuple[Size, int], None] = {}
        """Sizes that must be multiples of a number, where no steps say so."""
        self.indivisible: dict[tuple[Size, int], None] = {}
        """Sizes that must be no multiples of a number, as they are none in any export."""
        self.ends: dict[tuple[Size, int], None] = {}
        """Sizes that must not go beyond a number, where something is cut that ends there."""
        self._first = dict(bindings[0])
        self._least = {name: min(binding[name] for binding in bindings) for name in bindings[0]}
        self._far = {name: least * _FAR + 1 for name, least in self._least.items()}
        self._values: dict[Formula, tuple[int, ...] | None] = {}
        self._whole: set[Size] = set()
        """Sizes of which it is known that they are whole numbers, at the steps of now and so at all that come."""
        self._equated: set[tuple[Size, Size]] = set()
        self._apart: dict[tuple[Size, Size], None] = {}
        """The equated sizes that were not equal everywhere when they were noted."""
        self._still: dict[tuple[Size, Size], None] = {}
        """Pairs of sizes that are equal in all exports, perhaps only there: H and W of squares, H*W and a number."""
        self._samples = cache(lambda steps: Columns(self._least, dict(steps)))
        """Samples, by the steps of the symbols; found once for all copies."""
        self._columns = self._samples(tuple(self.steps.items()))
        self._cuts = 0
        """How often something that is cut was compared."""
        self._below: dict[tuple[Size, Size], bool] = {}
        self._cut: dict[Size, bool] = {}

    def values(self, size: Size) -> tuple[int, ...] | None:
        """A size in each export, None where it depends on something unknown."""
        if isinstance(size, int):
            return (size,) * len(self.bindings)
        values = self._values.get(size, ())
        if values != ():
            return values
        if not size.symbols <= self.bindings[0].keys():
            return None  # a name may come later
        found = [number_at(size, binding) for binding in self.bindings]
        whole = tuple([each.numerator for each in found if each is not None and each.denominator == 1])
        values = self._values[size] = whole if len(whole) == len(found) else None
        return values

    def knows(self, size: Size) -> bool:
        """Whether a size depends on free sizes only."""
        return isinstance(size, int) or size.symbols <= self._first.keys()

    def equal(self, one: Size, other: Size) -> bool:
        """Whether two sizes are the same wherever the model runs, from the exports' sizes on: at many samples."""
        if one == other:
            return True
        if isinstance(one, int) and isinstance(other, int):
            return False
        return self._equal_at_samples(one, other) or self._equal_below(one, other)

    def _equal_at_samples(self, one: Size, other: Size) -> bool:
        columns = self._columns
        return columns.start(one) == columns.start(other) and columns.trace(one) == columns.trace(other)

    def _equal_below(self, one: Size, other: Size) -> bool:
        """Whether two sizes are the same as long as nothing that is cut reaches its end; then it must not."""
        if not self.are_cut((one, other)):
            return False
        self._cuts += 1
        if (one, other) not in self._below:
            (first, left), (second, right) = uncut(one), uncut(other)
            ends = {*left, *right}
            within = bool(ends) and all(max(self.values(size) or (most + 1,)) <= most for size, most in ends)
            self._below[one, other] = within and self._columns.trace(first) == self._columns.trace(second)
            if self._below[one, other]:
                self.ends.update(dict.fromkeys(ends))
        return self._below[one, other]

    def at_samples(
        self, sizes: Sequence[Size], chosen: Mapping[str, Size], holds: Callable[[Sequence[Column]], bool]
    ) -> bool | None:
        """Whether something holds of sizes at all samples, with these in place of some symbols; None if that cannot
        be told without them: where something is cut, which must not reach its end, or where one of these is no number.
        """
        if self.are_cut((*sizes, *chosen.values())):
            return None
        for column in (self._columns.start, self._columns.trace):  # most fail at once
            if any(None in column(size) for size in chosen.values()):
                return None
            if not holds([column(size, chosen) for size in sizes]):
                return False
        return True

    def divisible(self, size: Size, many: int) -> bool:
        """Whether a size is a multiple of a number wherever the model runs."""
        if not self.are_cut((size,)) and any(each is not None and each % many for each in self._columns.start(size)):
            return False  # as most are
        return self.equal(cut(size, many) * many, size)

    def grows(self, size: Size) -> bool:
        """Whether a number follows the sizes however large they are; a rest does not, and is no size of anything."""
        known = isinstance(size, Formula) and size.symbols <= self._far.keys()
        number = number_at(size, self._far) if known else None
        return number is not None and number > _FAR // 16

    def never_below(self, size: Size, least: int) -> bool:
        """Whether a size is at least a number wherever the model runs: at many samples."""
        if isinstance(size, Formula) and not size.symbols <= self._first.keys():
            return False
        return all(number is not None and number >= least for number in self._columns.trace(size))

    def is_whole(self, size: Size) -> bool:
        """Whether a size is a whole number wherever the model runs: at many samples."""
        return all(number is not None and number.denominator == 1 for number in self._columns.trace(size))

    def are_cut(self, sizes: Iterable[Size]) -> bool:
        """Whether something in one of these sizes ends at a number, or may; each is looked through once."""
        for size in sizes:
            if size not in self._cut:
                self._cut[size] = is_cut(size)
            if self._cut[size]:
                return True
        return False

    def whole(self, size: Size) -> None:
        """Notes that a size is a whole number wherever the model runs, if that tells anything of a symbol."""
        if size in self._whole or not isinstance(size, Formula) or not size.symbols <= self._first.keys():
            return
        below = lcm(*(coefficient.denominator for _, coefficient in size.terms))
        if below == 1:
            return
        above = size * below

        def holds(binding: Binding) -> bool:
            found = number_at(above, binding)
            return found is not None and found % below == 0

        if self._step(size.symbols, holds):
            self._whole.add(size)

    def multiple(self, size: Size, many: int) -> None:
        """Asks for sizes at which one is a multiple of a number, by the steps of a symbol if these tell it."""
        self.whole(over(size, many))
        if not self.divisible(size, many):
            self.multiples[size, many] = None

    def equate(self, one: Size, other: Size) -> None:
        """Notes that two sizes are equal wherever the model runs, if that tells anything of a symbol."""
        names = {name for size in (one, other) if isinstance(size, Formula) for name in size.symbols}
        if (one, other) not in self._equated and names <= self._first.keys():
            self._equated.add((one, other))
            if not self.equal(one, other):
                self._apart[one, other] = None
                self.restored(one, other)

    def restored(self, one: Size, other: Size) -> None:
        """Asks for the steps at which a size is another one, which it is in all exports, if it is at any steps."""
        names = {name for size in (one, other) if isinstance(size, Formula) for name in size.symbols}
        if names <= self._first.keys() and not self.equal(one, other):
            self._step(names, lambda binding: number_at(one, binding) == number_at(other, binding))

    def keep(self, one: Size, other: Size) -> None:
        """Asks that a size stays another one, which it is in all exports: by steps, or as it is where none tell it."""
        if self.knows(one) and self.knows(other):
            self.restored(one, other)
            if not self.equal(one, other):
                self._still[(one, other) if isinstance(one, Formula) else (other, one)] = None

    def unmet(self) -> list[tuple[Size, Size]]:
        """Sizes that must be equal, and are not, whatever the steps are: a model runs only where they happen to be."""
        return self._told_apart(self._apart)

    def _told_apart(self, pairs: Iterable[tuple[Size, Size]]) -> list[tuple[Size, Size]]:
        """Pairs of sizes that differ somewhere, without common factors, once: `(2*S, 24), (3*S, 36) -> (S, 12)`."""
        reduced = [_reduced(*pair) for pair in pairs if not self.equal(*pair)]
        found = {frozenset(pair): pair for pair in reduced}
        return [(one, other) if isinstance(one, Formula) else (other, one) for one, other in found.values()]

    def _step(self, names: Iterable[str], holds: Callable[[Binding], bool]) -> bool:
        """Takes the smallest steps at which something holds, if there are any; the exports differ by such steps."""
        ordered = sorted(names)
        apart = {name: gcd(*(each[name] - self._first[name] for each in self.bindings)) for name in ordered}
        for group in [[name] for name in ordered] + ([ordered] if len(ordered) > 1 else []):
            common = gcd(*map(apart.__getitem__, group))
            for step in (each for each in range(1, _LARGEST_STEP + 1) if common % each == 0):
                steps = {**self.steps, **{name: lcm(self.steps.get(name, 1), step) for name in group}}
                if all(map(holds, self._stepping(steps))):
                    if step > 1:
                        self.restrict(steps)
                    return True
        return False

    def restrict(self, steps: Mapping[str, int]) -> None:
        """Notes that sizes differ by these steps only, wherever the model runs."""
        if any(self.steps.get(name, 1) != step for name, step in steps.items()):
            self.steps = {**self.steps, **steps}
            self._columns = self._samples(tuple(self.steps.items()))
            self._below.clear()

    def _stepping(self, steps: Mapping[str, int]) -> Iterator[Binding]:
        """A few sizes that differ from those of the first export by these steps."""
        for turn in range(1, 24):
            yield {
                name: self._first[name] + steps.get(name, 1) * (turn * (place + 1) + turn % 5 * 101 + turn % 3 * 38)
                for place, name in enumerate(self._first)
            }

    def still(self) -> list[tuple[Size, Size]]:
        """Sizes of several symbols, and the numbers that they are in all exports: none shows what depends on them."""
        unmet = self.unmet()
        return [pair for pair in self._told_apart(self._still) if pair not in unmet]


def _reduced(one: Size, other: Size) -> tuple[Size, Size]:
    """Two sizes that must be equal, without a number that divides both."""
    sizes = [size for size in (one, other) if isinstance(size, Formula)]
    numbers = [number for size in sizes for _, number in size.terms]
    numbers += [size for size in (one, other) if isinstance(size, int)]
    if any(number.denominator != 1 for number in numbers) or (common := gcd(*map(int, numbers))) < 2:
        return one, other
    return over(one, common), over(other, common)
