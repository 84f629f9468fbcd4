"""One Reshape of a model at many sizes, in integers: where it fails, and where it runs and mixes what data keeps apart.

The sizes are those of the inputs, from 1 on.  A size at which a dim of data would be less than 1, or no whole number,
does not get this far: something before the Reshape asks for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import isqrt, lcm, prod
from typing import NamedTuple

from onereshape.graphs.facts.reshape_runs import run
from onereshape.rule.sizes import Formula, Size

TriedSizes = dict[str, int]

_BASES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
"""Where all names may begin: a convolution or a pool leaves nothing of a smaller picture."""
_MOST_NAMES = 3
"""Names that take their sizes with each other; the others stay where they begin."""
_MOST_VALUES = 11
"""Sizes of one name, where three of them vary."""
_LARGER = (65, 225)
"""Sizes at which most models run that have windows and pools."""
_IN_A_ROW = 48
"""Sizes of one name, one after the other, of which an equation of its own satisfies one at most."""


class ReshapeQuestion(NamedTuple):
    """A Reshape as a model has it."""

    data: tuple[Size, ...]
    words: tuple[Size, ...]
    """The entries of the target."""
    copies: bool
    """Whether a 0 copies."""

    @property
    def formulas(self) -> list[Formula]:
        """The sizes that are no numbers."""
        return [size for size in (*self.data, *self.words) if isinstance(size, Formula)]

    @property
    def names(self) -> frozenset[str]:
        """The names in the sizes of data and target: data `(N, 4*S)` and target `[N, -1]` have N and S."""
        return frozenset[str]().union(*(size.symbols for size in self.formulas))


class SizeTrial(NamedTuple):
    """A Reshape at one choice of sizes."""

    sizes: TriedSizes
    dims: tuple[int, ...]
    """Of data."""
    output: tuple[int, ...] | None
    """None: it fails."""


class Tried(NamedTuple):
    """What was found of a Reshape at the sizes that were tried."""

    fails: tuple[SizeTrial, ...] = ()
    """The first at which it fails."""
    mixes: tuple[SizeTrial, ...] = ()
    """The first at which it runs and mixes; none where it does so at every size at which it runs."""
    pinned: bool = False
    """Whether it runs at one size of its only name at most."""
    together: bool = False
    """Whether it runs wherever all its names have one size."""


@lru_cache(maxsize=1024)
def tried(
    question: ReshapeQuestion,
    names: tuple[str, ...],
    numbers: tuple[int, ...],
    before: tuple[ReshapeQuestion, ...],
    *,
    samples: bool,
) -> Tried:
    """A Reshape at sizes at which those before it run.

    `names` and `numbers` are those of its conditions; `samples`: whether the first name is that of the samples in data,
    so that an output in whose rows several of them meet is a mistake.
    """
    fails: list[SizeTrial] = []
    apart: list[SizeTrial] = []
    mixes: list[SizeTrial] = []
    starts = _starts(question, [*names, *sorted(question.names.difference(names))])
    for sizes in _sizes_of(question, starts, names, numbers, before):
        trial = at(question, sizes)
        if trial is None or not all(_runs(each, sizes) for each in before):
            continue
        if trial.output is None:
            fails.append(trial)
        elif _is_nested(trial.dims, trial.output) and not (samples and _has_rows_of_several(trial.dims, trial.output)):
            apart.append(trial)
        else:
            mixes.append(trial)
    mixes.sort(key=lambda trial: trial.sizes[names[0]])
    if not fails:
        return Tried()
    pinned, together = _is_pinned(question, starts, names), _runs_together(question)
    return Tried(_some(fails), _some(mixes) if apart else (), pinned, together)


def _some(trials: list[SizeTrial]) -> tuple[SizeTrial, ...]:
    """A few of many: small sizes, and larger ones, where something else in the model asks for them."""
    count = len(trials)
    places = dict.fromkeys((0, 1, count // 4, count // 2, count - 1))
    return tuple(trials[place] for place in places if 0 <= place < count)


def at(question: ReshapeQuestion, sizes: Mapping[str, int]) -> SizeTrial | None:
    """The Reshape at one choice of sizes; None where something before it asks for others."""
    dims = _numbers(question.data, sizes)
    words = _numbers(question.words, sizes)
    if dims is None or words is None or min(dims, default=1) < 1:
        return None
    if any(number < 1 for number, word in zip(words, question.words, strict=True) if isinstance(word, Formula)):
        return None  # an entry that is computed, and no size there
    return SizeTrial(dict(sizes), dims, run(dims, words, copies=question.copies))


def _runs(question: ReshapeQuestion, sizes: Mapping[str, int]) -> bool:
    """Whether a Reshape does not fail; of names that have no size nothing is known."""
    if not question.names <= sizes.keys():
        return True
    trial = at(question, sizes)
    return trial is not None and trial.output is not None


def _numbers(sizes: Iterable[Size], chosen: Mapping[str, int]) -> tuple[int, ...] | None:
    found: list[int] = []
    for size in sizes:
        try:
            number: int | Fraction = size if isinstance(size, int) else size.at(chosen)
        except ZeroDivisionError:
            return None
        if not isinstance(number, int):
            return None
        found.append(number)
    return tuple(found)


def _starts(question: ReshapeQuestion, names: Sequence[str]) -> TriedSizes:
    """The least size of each name, as far as it was found, at which all dims are there; none where there is none."""
    step = lcm(*(coefficient.denominator for size in question.formulas for _, coefficient in size.terms))
    for base in _BASES:
        starts = dict.fromkeys(names, base * step)
        if at(question, starts) is not None:
            for name in names:
                starts |= {name: 1} if at(question, {**starts, name: 1}) is not None else {}
            return starts
    return {}


def _sizes_of(
    question: ReshapeQuestion,
    starts: TriedSizes,
    names: Sequence[str],
    numbers: Sequence[int],
    before: Iterable[ReshapeQuestion],
) -> Iterator[TriedSizes]:
    """Sizes of all names, small ones first."""
    if not starts:
        return
    step = lcm(*(coefficient.denominator for size in question.formulas for _, coefficient in size.terms))
    others = {name: 1 for each in before for name in each.names}
    around: list[int] = []
    for number in numbers:
        root = isqrt(number)
        around += [root, 2 * root] if root * root == number else []
        around += [number, 2 * number, 3 * number]
    free = names[:_MOST_NAMES]
    most = _MOST_VALUES if len(free) == _MOST_NAMES else 2 * _MOST_VALUES
    values = []
    for name in free:
        each = dict.fromkeys([*_steps(starts[name], step), *around, *_LARGER])
        values.append([value for value in each if value >= starts[name]][:most])
    for choice in sorted(product(*values), key=lambda each: (max(each), sum(each))):
        yield {**others, **starts, **dict(zip(free, choice, strict=True))}


def _steps(start: int, step: int) -> list[int]:
    """The first sizes of a name."""
    return [start + place * step for place in range(4)]


def _is_pinned(question: ReshapeQuestion, starts: TriedSizes, names: Sequence[str]) -> bool:
    """Whether it runs at one size at most of the only name: where that must be divisible there are more."""
    if len(names) != 1:
        return False
    trials = [at(question, {**starts, names[0]: size}) for size in range(1, _IN_A_ROW + 1)]
    return sum(trial is not None and trial.output is not None for trial in trials) <= 1


def _runs_together(question: ReshapeQuestion) -> bool:
    names = question.names
    trials = [at(question, dict.fromkeys(names, size)) for size in range(1, _IN_A_ROW + 1)]
    there = [trial for trial in trials if trial is not None]
    return len(names) > 1 and bool(there) and all(trial.output is not None for trial in there)


def _is_nested(dims: Sequence[int], output: Sequence[int]) -> bool:
    """Whether dims are only split and joined: the blocks of data and of output lie within each other.

    >>> _is_nested((2, 6), (4, 3)), _is_nested((2, 3), (3, 2))
    (True, False)
    """
    blocks = sorted({prod(each[axis:]) for each in (dims, output) for axis in range(len(each) + 1)})
    return all(large % small == 0 for small, large in pairwise(blocks))


def _has_rows_of_several(dims: Sequence[int], output: Sequence[int]) -> bool:
    """Whether a row of the output has parts of several rows of data."""
    return prod(dims[1:]) % prod(output[1:]) != 0
