"""Setting: what runs that are put beside each other have in common, and other settings for other runs.

Dims that have only a name get sizes that differ from each other and from the batch, and each of them is 1 once; inputs
that serve as sizes get values that suit and differ.  What the original does not take is left out, and what therefore
never differed is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.prove.evidence import Held, Sizes
from onereshape.prove.runs.told_sizes import ToldSizes, told_sizes
from onereshape.prove.runs.trial import Feeds
from onereshape.prove.values.draw import SIZES, UNNAMED, Manner, draw
from onereshape.prove.values.input_roles import InputRole, fed
from onereshape.prove.values.naming import grouped, groupings
from onereshape.prove.values.size_values import STYLES, Style

_SMALL: Final = (3, 5, 2, 7, 4, 9, 6, 8, 11, 13, 10, 12)
_LARGER: Final = {4: 8, 16: 32, 64: 96, 224: 256}
"""A second size for a model that takes no small ones, like the size that it does take."""
_MOST_ELEMENTS: Final = 1 << 21
"""The most elements of an input whose dims may be chosen: three dims of 224 would be more, and take seconds a try."""
_FEW: Final = 3
"""The number of samples where all other dims are large."""
_LARGE: Final = 16
_MOST_ONES: Final = 4
"""The most dims that are tried as the only one of size 1."""
_TRIES: Final = 3
"""How often inputs that serve as sizes are drawn anew, before the values that ran are used again."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The sizes of named dims, and the inputs that serve as sizes."""

    sizes: Sizes
    values: Feeds


@dataclass(frozen=True)
class Chooser:
    """Settings for a model."""

    model: ir.Model
    suits: Mapping[str, InputRole]
    fixed: Sizes
    """Dims whose size is given: the batch of the original."""
    own: Collection[str]
    """Inputs of which every sample has its own, so that they cannot be the same in all runs."""
    seed: int = 0

    @property
    def names(self) -> list[str]:
        """The dims that may have any size."""
        dims = [dim for value in fed(self.model) for dim in value.shape or () if not isinstance(dim, int)]
        return sorted({dim.value or UNNAMED for dim in dims} - self.fixed.keys())

    @property
    def sized(self) -> list[str]:
        """The inputs that serve as sizes."""
        return [name for name, suit in self.suits.items() if suit.kind in SIZES and name not in self.own]

    @property
    def varies(self) -> bool:
        """Whether a model has more than one setting: a named dim, or an input that serves as a size."""
        return bool(self.names or self.sized)

    @cached_property
    def told(self) -> ToldSizes:
        """The sizes of `names` that the model's operators tell, surely or likely."""
        found = told_sizes(self.model)
        mine = {*self.names}
        ways = ({name: size for name, size in way.items() if name in mine} for way in found.likely)
        sure = {name: size for name, size in found.sure.items() if name in mine}
        return ToldSizes(sure, tuple(way for way in ways if way))

    def ones(self) -> Iterator[Sizes]:
        """Sizes with a 1 for each dim alone, then for all, as few models need: `{H: 1}`, `{W: 1}`, `{H: 1, W: 1}`."""
        names = [name for name in self.names if name not in self.told.sure]
        yield from ({name: 1} for name in names[:_MOST_ONES])
        if len(names) > 1:
            yield dict.fromkeys(names, 1)

    def styles(self) -> Sequence[Style]:
        """The ways to draw sizes that are worth trying."""
        return STYLES if self.sized or any(suit.kind in SIZES for suit in self.suits.values()) else STYLES[:1]

    def first(self, default: int, known: Sizes = {}) -> Iterator[Sizes]:  # noqa: B006 - a mapping is not written to
        """Sizes to begin with: different ones, then some alike, then few samples; no input is huge with them.

        `known` are some of them.
        """
        names = self.names
        tries = [
            {name: default + place * default // 2 for place, group in enumerate(groups) for name in group}
            for groups in groupings(names, together=True)
        ]
        first = {
            dim.value or UNNAMED
            for value in fed(self.model)
            for dim in (value.shape or ())[:1]
            if not isinstance(dim, int)
        }
        if default > _LARGE and first & {*names} and first < {*names}:
            tries.append({name: _FEW if name in first else default for name in names})
        for sizes in ({**each, **known, **self.told.sure} for each in tries):
            if self._largest(sizes) <= _MOST_ELEMENTS:
                yield sizes

    def _largest(self, sizes: Sizes) -> int:
        """How many elements the largest input that has such a dim would have."""
        known = {**self.fixed, **sizes}
        found = [1]
        for value in fed(self.model):
            dims = [dim if isinstance(dim, int) else known.get(dim.value or UNNAMED, 1) for dim in value.shape or ()]
            if any(not isinstance(dim, int) for dim in value.shape or ()):
                found.append(prod(dims))
        return max(found)

    def others(self, turn: int, manner: Manner, first: Setting, taken: Collection[int]) -> Iterator[Setting]:
        """Settings for a later turn, the best first; none of their sizes is one that is taken."""
        for sizes in self._sizes(turn, manner.default, first.sizes, taken):
            rng = np.random.default_rng([self.seed, turn, *sizes.values()])
            for _ in range(_TRIES if self.sized else 0):
                yield Setting(sizes, self.values(rng, sizes, manner))
            yield Setting(sizes, first.values)

    def _sizes(self, turn: int, default: int, first: Sizes, taken: Collection[int]) -> Iterator[Sizes]:
        names = [name for name in self.names if name not in self.told.sure]
        kept = {name: first[name] for name in names if first[name] in {1, *(way.get(name) for way in self.told.likely)}}
        for known in [self.told.sure, {**self.told.sure, **kept}][: 1 + bool(kept)]:
            yield from ({**sizes, **known} for sizes in self._varied(names, turn, default, first, taken))
        yield first

    def _varied(
        self, names: Sequence[str], turn: int, default: int, first: Sizes, taken: Collection[int]
    ) -> Iterator[Sizes]:
        """Sizes for `names` in a later turn: first small and different ones that are not `taken`, then equal ones."""
        if names:
            pool = [size for size in (*_SMALL[turn:], *_SMALL[:turn]) if size not in taken]
            alike = grouped(names, first.get)  # what had to be one size at first may have to be one here
            for groups in ([[name] for name in names], alike)[: 1 + (len(alike) < len(names))]:
                others = iter(pool)  # every second name is 1 in the first turn, the rest of them in the second
                sizes = [1 if place % 2 == turn - 1 else next(others, default) for place in range(len(groups))]
                yield {name: size for group, size in zip(groups, sizes, strict=True) for name in group}
            yield dict.fromkeys(names, 1 if turn == 1 else pool[0])
            yield dict.fromkeys(names, _LARGER.get(default, 2 * default))

    def values(self, rng: np.random.Generator, sizes: Sizes, manner: Manner) -> Feeds:
        """Values for the inputs that serve as sizes."""
        if not self.sized:
            return {}
        drawn = draw(self.model, rng, {**self.fixed, **sizes}, suits=self.suits, manner=manner)
        return {name: drawn[name] for name in self.sized}


def held(settings: Sequence[Setting]) -> list[Held]:
    """The sizes and inputs that never differed, as the original took nothing else."""
    found = []
    all_sizes = {name: tuple(setting.sizes[name] for setting in settings) for name in settings[0].sizes}
    for name, sizes in all_sizes.items():
        if len(set(sizes)) == 1:
            found.append(Held("size", (name,), str(sizes[0])))
    alike = [names for names in grouped(all_sizes, all_sizes.__getitem__) if len(names) > 1]
    found += [Held("equal", (*names,)) for names in alike if len(set(all_sizes[names[0]])) > 1]
    for name, value in settings[0].values.items():
        if all(np.array_equal(value, setting.values[name]) for setting in settings):
            found.append(Held("value", (name,), str(np.asarray(value).tolist())))
    return found
