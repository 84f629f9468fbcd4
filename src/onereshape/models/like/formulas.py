"""Known: the sizes that are known in a model, and which of them, or which formula of them, a number stands for.

A number that is 12, 12 and 5 in three exports is a size that has these values there.  The sizes that tensors have come
first, as a model seldom calculates with others; then the simplest formula of one or two of them.  Whatever else is as
simple is told too: where two formulas fit, the exports do not tell which is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import combinations, product
from math import gcd, lcm
from typing import Any, NamedTuple, TypeVar

from onereshape.models.like.columns import Column, Columns, Number
from onereshape.models.like.ends import is_cut, uncut
from onereshape.models.like.exported import Binding
from onereshape.models.like.readings import Candidate, Reading, derived
from onereshape.sizes import Formula, Size, cut, depends, over, symbol

_MARGIN = 2
"""By how much a formula must be simpler than another to be preferred."""
_MOST_COST = 8
"""Of a formula; what is more complicated proves nothing, since some such formula always fits."""
_FEW_TERMS = 2
"""Of a size of a tensor that may be meant beside a free size that has the same values."""
_PLAIN_COST = 4
"""Of a formula that may be meant, whatever else fits."""
_MOST_BASES = 48
"""Known sizes of which products and quotients are tried."""
_MOST_DOUBTFUL = 24
"""Formulas that prove nothing, and of which something else may choose one."""
_LARGEST_STEP = 512
_FAR = 1024
"""Times the smallest export."""


Found = TypeVar("Found")
_Answers = dict[tuple[int, str, tuple[int, ...]], Any]
"""What was asked of numbers, by what was known, and the question."""


class _Shared(NamedTuple):
    """What is found once for all copies of what is known."""

    columns: dict[tuple[tuple[str, int], ...], Columns]
    """Samples, by the steps of the symbols."""
    states: dict[object, int]
    """A number for all that is known, by what was known before it and what was found then."""
    answers: _Answers
    """What numbers may stand for, by what is known."""


class Known:
    """Sizes by the values that they have in the exports."""

    def __init__(
        self,
        bindings: Sequence[Binding],
        steps: Mapping[str, int] | None = None,
        numbers: Collection[tuple[int, ...]] = (),
    ) -> None:
        self.bindings = [dict(binding) for binding in bindings]
        """The sizes of the symbols in each export; of those too of which it is still open what they stand for."""
        self.steps: dict[str, int] = dict(steps or {})
        """By which the sizes of a symbol differ wherever the model runs: a Reshape to [H/2, 2] asks for an even H."""
        self._numbers = numbers
        """What else differs between the exports, and tells what is likely."""
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
        self._seen: set[Size] = set()
        self._whole: set[Size] = set()
        """Sizes of which it is known that they are whole numbers, at the steps of now and so at all that come."""
        self._equated: set[tuple[Size, Size]] = set()
        self._apart: dict[tuple[Size, Size], None] = {}
        """Those of them that were not equal everywhere when they were noted."""
        self._still: dict[tuple[Size, Size], None] = {}
        """Sizes of several symbols that are the same in all exports, and what they are there."""
        self._by_values: dict[tuple[int, ...], list[Formula]] = {}
        self._shared = _Shared({}, {}, {})
        self._state = 0
        """The number of what is known: those who know the same, found in the same order, have the same."""
        self._columns = self._sampled()
        self._own: _Answers = {}
        """Answers with which ends were noted, which each has to note for itself."""
        self._cuts = 0
        """How often something that is cut was compared."""
        self._below: dict[tuple[Size, Size], bool] = {}
        self._cut: dict[Size, bool] = {}
        for name in bindings[0]:
            self.add(symbol(name))
        for one, other in combinations(bindings[0], 2):
            if all(each[one] == each[other] for each in bindings):  # square
                self._still[symbol(one), symbol(other)] = None
            if len({tuple(sorted((each[one], each[other]))) for each in bindings}) == 1:  # portrait and landscape
                self.add(symbol(one) + symbol(other))
                self.add(symbol(one) * symbol(other))

    def copied(self) -> Known:
        """The same, of which more can be found than of this one."""
        found = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, dict | list | set):
                setattr(found, name, value.copy())
        found.bindings = [dict(binding) for binding in self.bindings]
        found._by_values = {values: [*sizes] for values, sizes in self._by_values.items()}  # noqa: SLF001 - its own
        return found

    def add(self, size: Size) -> None:
        """Notes a size that a tensor has."""
        if not isinstance(size, Formula) or size in self._seen or not size.symbols <= self._first.keys():
            return
        self._seen.add(size)
        values = self.values(size)
        if values is None or len({*values}) == 1:
            if values is not None and len(size.symbols) > 1 and values[0] > 1:  # a 1 says nothing anyway
                self._still[size, values[0]] = None
            return
        sizes = self._by_values.setdefault(values, [])
        if not any(self.equal(size, other) for other in sizes):
            sizes.append(size)
            self._know(size)

    def _know(self, more: object) -> None:
        """Forgets what numbers may stand for, since more is known now."""
        states = self._shared.states
        self._state = states.setdefault((self._state, more), len(states) + 1)

    def _once(self, question: str, values: tuple[int, ...], find: Callable[[tuple[int, ...]], Found]) -> Found:
        """The answer to a question about numbers, which is found once for all who know the same."""
        key = self._state, question, values
        answers = self._shared.answers
        found: Found
        if key in answers:
            found = answers[key]
            return found
        if key in self._own:
            self._cuts += 1
            found = self._own[key]
            return found
        before = self._cuts
        found = find(values)
        (answers if self._cuts == before else self._own)[key] = found
        return found

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

    def are_cut(self, sizes: Iterable[Size]) -> bool:
        """Whether something in one of these sizes ends at a number, or may; each is looked through once."""
        for size in sizes:
            if size not in self._cut:
                self._cut[size] = is_cut(size)
            if self._cut[size]:
                return True
        return False

    def _sampled(self) -> Columns:
        """The samples for the steps of now."""
        key = tuple(self.steps.items())
        if key not in self._shared.columns:
            self._shared.columns[key] = Columns(self._least, self.steps)
        return self._shared.columns[key]

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

    def along(self, values: tuple[int, ...], names: Collection[str]) -> list[Size]:
        """The plain formulas of sizes that depend on some symbols alone which have these values."""
        known = [(size, own) for own, sizes in self._by_values.items() for size in sizes]
        bases = [(size, own) for size, own in known if size.symbols <= set(names)][:_MOST_BASES]
        found = sorted(derived(bases, values, self._numbers), key=lambda each: each.cost)
        return [each.size for each in self._distinct(each.read() for each in found if each.cost <= _PLAIN_COST)]

    def unmet(self) -> list[tuple[Size, Size]]:
        """Sizes that must be equal, and are not, whatever the steps are: a model runs only where they happen to be."""
        return self._told_apart(self._apart)

    def _told_apart(self, pairs: Iterable[tuple[Size, Size]]) -> list[tuple[Size, Size]]:
        """Pairs of sizes that are not the same everywhere, those that say the same once."""
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
            self._columns = self._sampled()
            self._below.clear()
            self._know(tuple(self.steps.items()))

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

    def sizes(self) -> list[Size]:
        """All of them, each once, and what the exports do not tell from the free sizes among them."""
        found: list[Size] = []
        for values, sizes in self._by_values.items():
            rivals = self._in_proportion(values, sizes) if any(size.name for size in sizes) else ()
            found += [each.size for each in self._distinct([*(Reading(size, 0) for size in sizes), *rivals])]
        return found

    def readings(self, values: tuple[int, ...]) -> list[Reading]:
        """What numbers may stand for, the simplest first, with all that is as simple.

        Where none of them proves anything, they are all there is, and something else has to tell which is right.
        """
        if len({*values}) == 1:
            return [Reading(values[0], 0)]
        return self._once("readings", values, self._read_distinct)

    def _read_distinct(self, values: tuple[int, ...]) -> list[Reading]:
        return self._distinct(each.read() for each in self._simplest(values))[:_MOST_DOUBTFUL]

    def sure(self, values: tuple[int, ...]) -> Size | None:
        """The only formula that numbers may stand for; None if there are several, or if none proves anything."""
        return self._once("sure", values, self._read_surely)

    def _read_surely(self, values: tuple[int, ...]) -> Size | None:
        first, *others = self._simplest(values) or (Reading(0, 0, proves=False),)
        size = first.read().size if first.proves else None
        told = size is not None and all(self.equal(size, other.read().size) for other in others)
        return size if told else None

    def _simplest(self, values: tuple[int, ...]) -> Sequence[Reading] | Sequence[Candidate]:
        """What numbers may stand for, the simplest first; all there is, where nothing proves anything."""
        return self._once("simplest", values, self._list)

    def _list(self, values: tuple[int, ...]) -> Sequence[Reading] | Sequence[Candidate]:
        if max(values) < 0:
            mirrored = self.readings(tuple(-value for value in values))
            return [each._replace(size=-1 * each.size) for each in mirrored]
        exact = self.exactly(values)
        free = [size for size in exact if isinstance(size, Formula) and size.name is not None]
        if len(free) == 1:  # no sum of several sizes is meant that has the same values by chance
            exact = [size for size in exact if isinstance(size, Formula) and len(size.terms) <= _FEW_TERMS]
        if exact:
            return [Reading(size, 0) for size in exact]
        bases = [(size, own) for own, sizes in self._by_values.items() for size in sizes][:_MOST_BASES]
        ordered = sorted(derived(bases, values, self._numbers), key=lambda each: each.cost)
        best = next((each.cost for each in ordered if each.proves and each.cost <= _MOST_COST), None)
        if best is None:
            return [each._replace(proves=False) for each in ordered]
        return [each for each in ordered if each.cost < best + _MARGIN]

    def sized(self, values: tuple[int, ...]) -> Sequence[Size]:
        """The sizes of tensors that have these values, those that are the same everywhere once."""
        return self._by_values.get(values, ())

    def exactly(self, values: tuple[int, ...]) -> list[Size]:
        """The sizes of tensors that have these values, and what the exports do not tell from them."""
        sizes = self._by_values.get(values, [])
        found = [Reading(size, 0) for size in sizes]
        found += self._in_proportion(values, sizes) if sizes else []
        return [reading.size for reading in self._distinct(found)]

    def _in_proportion(self, values: tuple[int, ...], sizes: Sequence[Size]) -> Iterator[Reading]:
        """Multiples and parts of the other free sizes: exports of 2 x 12 and 4 x 24 do not tell S from 6*N."""
        for name in self._first:
            if any(depends(size, [name]) for size in sizes):
                continue
            own = [binding[name] for binding in self.bindings]
            common = gcd(values[0], own[0]) if own[0] else 0
            above, below = (values[0] // common, own[0] // common) if common else (0, 1)
            if 1 in (above, below) and all(
                value * below == number * above for value, number in zip(values, own, strict=True)
            ):
                yield Reading(over(symbol(name) * above, below), 0)

    def _distinct(self, readings: Iterable[Reading]) -> list[Reading]:
        listed = list(readings)
        if len(listed) < 2:
            return listed
        found: list[Reading] = []
        alike: dict[tuple[Number, ...], list[Reading]] = {}
        some_cut = False
        for reading in listed:
            few = tuple(self._columns.start(reading.size))
            some_cut = some_cut or self.are_cut((reading.size,))
            others = found if some_cut else alike.get(few, ())
            if not any(self.equal(reading.size, other.size) for other in others):
                found.append(reading)
                alike.setdefault(few, []).append(reading)
        return found


def told_apart(one: Size, other: Size, bindings: Sequence[Binding]) -> Binding | None:
    """Sizes near those of the exports at which two formulas differ: an export there would tell which is right."""
    largest = {name: max(binding[name] for binding in bindings) for name in bindings[0]}
    for more, step in product(range(3), range(1, 200)):  # the second size goes on by 3, and leaves the same rests
        binding = {
            name: size + step * (2 * place + 1) + more * place for place, (name, size) in enumerate(largest.items())
        }
        if number_at(one, binding) != number_at(other, binding):
            return binding
    return None


def number_at(size: Size, binding: Binding) -> int | Fraction | None:
    """A number, None where it would be a quotient by 0."""
    try:
        return size if isinstance(size, int) else size.at(binding)
    except ZeroDivisionError:
        return None


def _reduced(one: Size, other: Size) -> tuple[Size, Size]:
    """Two sizes that must be equal, without a number that divides both."""
    sizes = [size for size in (one, other) if isinstance(size, Formula)]
    numbers = [number for size in sizes for _, number in size.terms]
    numbers += [size for size in (one, other) if isinstance(size, int)]
    if any(number.denominator != 1 for number in numbers) or (common := gcd(*map(int, numbers))) < 2:
        return one, other
    return over(one, common), over(other, common)
