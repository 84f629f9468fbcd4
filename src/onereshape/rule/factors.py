"""Factors: the dims of another notation, asked of `infer` under names of ours, and its words in theirs again.

Every factor of a dim (a symbol, or whatever else stands there: `past + 1`, `floor(N/2)`) gets a name of ours.  A
quotient of ours is exact where its condition says so, and 4*(N/4) is N again.  Where N and N/4 meet, the factor is N/4,
and N is 4 of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition
from onereshape.rule.dims import Dim, is_ours, parse
from onereshape.rule.inference import infer
from onereshape.rule.specs import Spec

MOST_UNKNOWN_DIMS = 1024
"""The longest target of unknown values that still gives a rank; onnx's own inference stops there too."""

Factor = TypeVar("Factor", bound=Hashable)
_PLACE = re.compile(r"_\.\d+")


class Factors(Generic[Factor]):
    """The factors of one Reshape's dims."""

    def __init__(
        self,
        alone: Callable[[Factor], str],
        called: Callable[[Factor], str],
        positive: Callable[[Factor, int], bool],
    ) -> None:
        """How a factor is written alone and in a formula, and whether it is 1 or more where symbols are so or 0."""
        self._alone, self._called, self._positive = alone, called, positive
        self._factors: list[Factor] = []
        self._places: dict[Factor, int] = {}

    def name(self, factor: Factor) -> str:
        """The name that a factor has in questions to `infer`: the first one's is `_.0`."""
        if factor not in self._places:
            self._places[factor] = len(self._factors)
            self._factors.append(factor)
        return f"_.{self._places[factor]}"

    def quotient(self, dim: str) -> tuple[list[int | Factor], list[int | Factor]]:
        """The factors above and below the line of a dim of an answer: `3*_.0/4 -> [3, the first factor], [4]`."""
        top, _, bottom = dim.partition("/")
        return self._read(top), self._read(bottom.strip("()") or "1")

    def infer(
        self, data: Sequence[Dim] | None, target: Sequence[Dim] | None, row: Spec, *, unknown: bool, **attributes: Any
    ) -> tuple[tuple[Dim, ...] | None, tuple[Condition, ...]]:
        """The dims in our notation and the conditions in theirs; data that is `unknown` may be empty, if need be."""
        used = {name for dim in (*(data or ()), *(target or ())) if isinstance(dim, str) for name in parse(dim).symbols}
        try:
            if not unknown or 0 not in (target or ()):  # refuses what needs an empty tensor
                infer(data, target, row, bounds=self._limits(used, 1), **attributes)
            answer = infer(data, target, row, bounds=self._limits(used, 0), **attributes)
        except ReshapeError as error:
            error.data, error.target, error.fields = map(self._plain, (error.data, error.target, error.fields))
            raise
        return answer.dims, self._plain(answer.conditions)

    def _limits(self, used: set[str], least: int) -> dict[str, tuple[int, None]]:
        """Of the names in use, those whose factors are at least 1 if all symbols are at least `least`."""
        return {name: (1, None) for name in sorted(used) if self._positive(self._factor(name), least)}

    def _plain(self, said: Any) -> Any:
        """A sentence, a condition or fields of `infer`, with the names of the other notation."""
        if isinstance(said, dict):
            return {key: self._plain(value) for key, value in said.items()}
        if isinstance(said, tuple):
            return tuple(self._plain(value) for value in said)
        if isinstance(said, Condition):
            return said.renamed(lambda name: name if is_ours(name) else self._called(self._factor(name)))
        if not isinstance(said, str):
            return said
        if _PLACE.fullmatch(said):
            return self._alone(self._factor(said))
        return _PLACE.sub(lambda name: self._called(self._factor(name[0])), said)

    def _factor(self, name: str) -> Factor:
        return self._factors[int(name[2:])]

    def _read(self, text: str) -> list[int | Factor]:
        number, names = parse(text)
        return [number, *map(self._factor, names)]


def product_of(number: int, names: Sequence[str]) -> str:
    """A number times names as a dim in our notation."""
    return "*".join(names if number == 1 else (str(number), *names))
