"""Known: the sizes that are known in a model, and which of them, or which formula of them, a number stands for.

A number that is 12, 12 and 5 in three exports is a size that has these values there.  The sizes that tensors have come
first, as a model seldom calculates with others; then the simplest formula of one or two of them.  Whatever else is as
simple is told too: where two formulas fit, the exports do not tell which is right.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import combinations, product
from math import gcd
from typing import Any, NamedTuple, TypeVar

from onereshape.repair.fitting.columns import Number, number_at
from onereshape.repair.fitting.everywhere import Everywhere
from onereshape.repair.fitting.exported import Binding
from onereshape.repair.fitting.readings import Candidate, Reading, derived
from onereshape.rule.sizes import Formula, Size, depends, over, symbol

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

_T = TypeVar("_T")
_Answers = dict[tuple[int, str, tuple[int, ...]], Any]
"""What was asked of numbers, by what was known, and the question."""


class _Shared(NamedTuple):
    """What is found once for all copies of what is known."""

    states: dict[object, int]
    """A number for all that is known, by what was known before it and what was found then."""
    answers: _Answers
    """What numbers may stand for, by what is known."""


class Known(Everywhere):
    """Sizes by the values that they have in the exports."""

    def __init__(
        self,
        bindings: Sequence[Binding],
        steps: Mapping[str, int] | None = None,
        numbers: Collection[tuple[int, ...]] = (),
    ) -> None:
        super().__init__(bindings, steps)
        self._numbers = numbers
        """What else differs between the exports, and tells what is likely."""
        self._seen: set[Size] = set()
        self._by_values: dict[tuple[int, ...], list[Formula]] = {}
        self._shared = _Shared({}, {})
        self._state = 0
        """The number of what is known: those who know the same, found in the same order, have the same."""
        self._own: _Answers = {}
        """Answers with which ends were noted, which each has to note for itself."""
        for name in bindings[0]:
            self.add(symbol(name))
        for one, other in combinations(bindings[0], 2):
            if all(each[one] == each[other] for each in bindings):  # square
                self._still[symbol(one), symbol(other)] = None
            if len({tuple(sorted((each[one], each[other]))) for each in bindings}) == 1:  # portrait and landscape
                self.add(symbol(one) + symbol(other))
                self.add(symbol(one) * symbol(other))

    def copied(self) -> Known:
        """A copy: what is found with one is not known to the other."""
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

    def restrict(self, steps: Mapping[str, int]) -> None:
        before = self.steps
        super().restrict(steps)
        if self.steps != before:
            self._know(tuple(self.steps.items()))

    def _know(self, more: object) -> None:
        """Forgets what numbers may stand for, since more is known now."""
        states = self._shared.states
        self._state = states.setdefault((self._state, more), len(states) + 1)

    def _once(self, question: str, values: tuple[int, ...], find: Callable[[tuple[int, ...]], _T]) -> _T:
        """The answer to a question about numbers, which is found once for all who know the same."""
        key = self._state, question, values
        answers = self._shared.answers
        found: _T
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

    def along(self, values: tuple[int, ...], names: Collection[str]) -> list[Size]:
        """The plain formulas of sizes that depend on some symbols alone which have these values."""
        known = [(size, own) for own, sizes in self._by_values.items() for size in sizes]
        bases = [(size, own) for size, own in known if size.symbols <= set(names)][:_MOST_BASES]
        found = sorted(derived(bases, values, self._numbers), key=lambda each: each.cost)
        return [each.size for each in self._distinct(each.read() for each in found if each.cost <= _PLAIN_COST)]

    def sizes(self) -> list[Size]:
        """All known sizes, each once, and the formulas that the exports do not tell from the free sizes among them."""
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
        """The sizes of tensors with given values in the exports, `(12, 23) -> [S]`; of equal formulas, the first."""
        return self._by_values.get(values, ())

    def exactly(self, values: tuple[int, ...]) -> list[Size]:
        """The sizes of tensors with given values in the exports, and the formulas that nothing tells from these."""
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
