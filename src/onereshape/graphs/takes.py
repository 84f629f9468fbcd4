"""What an operator takes an input for, in a word: it tells what a value may be drawn from.

The words say what a number means; which numbers are drawn for it is left to who draws them.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

Index = Literal["index", "index by columns", "index below"]
"""Numbers of entries: along `axis` of input 0; of input 0, one column for each axis from `batch_dims` on; or below the
number that input 1 is."""

SizeTake = Literal[
    "dims",
    "target",
    "wider dims",
    "new dims",
    "parts",
    "repeats",
    "pads",
    "starts",
    "ends",
    "steps",
    "axes",
    "axes of one",
    "new axes",
    "lengths",
    "how many",
    "first",
    "limit",
    "diagonal",
    "turns",
]
"""Sizes, axes and counts.

- dims: of what is made; as a target of Reshape; wider ones, that data is broadcast to; new ones, that it is resized to
- parts of one axis; repeats of each; pads before and after each
- starts, ends, steps: of slices; `first` and `limit` are the same of a Range, and a limit is above any number below it
- axes of data; those that have one entry; new ones, counted in what is made
- lengths: how much of a sequence counts, for each sample
- how many: entries are chosen along `axis`, the last one where it is left out
- diagonal: which one a triangle ends at
- turns: how often a body is run
"""

Take = Index | SizeTake | Literal["scales", "truth", "number", "positive", "category"]
"""Besides these: what sizes are multiplied by, what is asked for yes or no (or counts what is there), a number that is
calculated with, one that must be above 0, and one of those that attributes of the node list."""

INDEX: Final[tuple[Take, ...]] = get_args(Index)
SIZES: Final[tuple[Take, ...]] = get_args(SizeTake)

EVERY: Final = frozenset(range(64))
"""All inputs of an operator that has any number of them, as far as they are looked at."""


class Stretch(NamedTuple):
    """Of a tensor: it is `factor` times the elements of another one, plus something between `least` and `most`."""

    factor: int = 1
    least: int = 0
    most: int = 0
    share: int = 1
    """Into how many equal parts a range goes, because as many such tensors are added."""

    def within(self, size: int) -> tuple[int, int]:
        """The elements [low, high) for which an index stays inside a table."""
        low = -(self.least // self.factor)
        high = (size - 1 - self.most) // self.factor // self.share + 1
        return low, high
