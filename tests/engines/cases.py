"""A question to an engine beside our answer to it, and what a known difference between the two is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tests.engines.answers import Answer, Dims
from tests.engines.engines import Engine, ours


@dataclass(frozen=True, slots=True)
class Case:
    """A question to an engine, and our answer to it."""

    engine: Engine = field(repr=False)
    data: Dims
    target: Dims
    zero_copies: bool
    ours: Dims | None

    @property
    def is_empty(self) -> bool:
        return 0 in self.data

    @property
    def filled(self) -> Dims | None:
        """The target with its copied zeros filled in; None if one of them is beyond the rank of data."""
        if not self.zero_copies:
            return self.target
        if any(dim == 0 for dim in self.target[len(self.data) :]):
            return None
        return tuple(self.data[axis] if dim == 0 else dim for axis, dim in enumerate(self.target))

    def asking(self, target: Dims) -> Dims | None:
        """Our answer to another target for the same data."""
        return ours(self.engine, self.data, target, zero_copies=self.zero_copies)


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which engines differ from us."""

    name: str
    engines: tuple[str, ...]
    zero: Literal["copied", "literal", "either"]
    """The meaning of 0 under which the row holds."""
    when: Callable[[Case], bool]
    theirs: Callable[[Case], Answer]
    reason: str
    ruling: str
    """What we do instead, and on what ground."""
    since: str = "0"
    """The first release that answers so."""
    before: str = "9999"
    """The first release that no longer does."""

    def covers(self, engine: Engine, release: str, *, zero_copies: bool) -> bool:
        return (
            engine.name in self.engines
            and self.zero in {"either", "copied" if zero_copies else "literal"}
            and _numbers(self.since) <= _numbers(release) < _numbers(self.before)
        )


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in release.split(".")[:2])


def ask_ours(engine: Engine, data: Dims, target: Dims, *, zero_copies: bool) -> Case:
    return Case(engine, data, target, zero_copies, ours(engine, data, target, zero_copies=zero_copies))


def row_for(case: Case, rows: tuple[Difference, ...]) -> Difference | None:
    """The row that speaks of this case; two rows about one case would hide each other."""
    named = [row for row in rows if row.when(case)]
    if len(named) > 1:
        raise AssertionError(f"more than one row speaks of {case}: {[row.name for row in named]}")
    return named[0] if named else None


def complaint(case: Case, rows: tuple[Difference, ...], theirs: Answer) -> str | None:
    """What is wrong with an engine's answer: None where it is ours, or the one that a row names."""
    row = row_for(case, rows)
    expected = case.ours if row is None else row.theirs(case)
    if theirs == expected:
        return None
    known = "no known difference" if row is None else f"{row.name!r} expects {shown(expected)}"
    return (
        f"data {list(case.data)} target {list(case.target)} zero {'copied' if case.zero_copies else 'literal'}: "
        f"{case.engine.name} {shown(theirs)}, ours {shown(case.ours)} ({known})"
    )


def listed(complaints: Sequence[str], heading: str) -> str:
    """The message of a failed test: how many, and the first ten."""
    more = ["..."] if len(complaints) > 10 else []
    return "\n  ".join([f"{heading}: {len(complaints)} case(s)", *complaints[:10], *more])


def shown(answer: Answer) -> str:
    if answer is None:
        return "refuses"
    return answer if isinstance(answer, str) else str(list(answer))
