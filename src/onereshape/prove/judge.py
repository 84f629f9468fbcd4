"""judge(): the status that follows from evidence, as a table whose first row that fits decides.

An engine that disagrees is right.  Terms that differ are another expression, which no answer of an engine makes good
and which need not be another answer: not proven.  Where nothing was freed both are read once more as formulas of real
numbers, and then that reading decides; where neither can follow a model, the engine's runs do.  What is proven still
has to run: an engine's refusals and roundings are seen by the engine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal

from onereshape.prove.evidence import Differs, EarlierStep, Evidence, Failed, FittedOn, Rounding, TimeOver, Untestable
from onereshape.prove.seen import Seen

Status = Literal[
    "proven",
    "equivalent",
    "certified",
    "fitted",
    "unwitnessed",
    "untested",
    "out-of-time",
    "not proven",
    "differs",
    "failed",
]
WEAKEST_FIRST: Final[tuple[Status, ...]] = (
    "failed",
    "differs",
    "not proven",
    "out-of-time",
    "untested",
    "unwitnessed",
    "fitted",
    "certified",
    "equivalent",
    "proven",
)


def judge(evidence: Iterable[Evidence]) -> Status:
    """The status; of two steps the weaker one."""
    seen = Seen(evidence)
    found = next(status for status, fits in _TABLE if fits(seen))
    return min([found, *(judge(each.evidence) for each in seen.all(EarlierStep))], key=WEAKEST_FIRST.index)


def is_shown(seen: Seen) -> bool:
    """Whether runs could show a difference: of most outputs something was compared that depends on what was fed."""
    quiet = {name for names in seen.silent.values() for name in names}
    silent = sum(each.name in quiet for each in seen.counting)
    return bool(seen.counting) and 2 * silent <= len(seen.counting) and not unseen(seen)


def unseen(seen: Seen) -> list[dict[str, int]]:
    """The freed sizes of exports that the repair was made from at which nothing was compared."""
    return [dict(each) for each in seen.fitted if not any(each.items() <= at.items() for at in seen.compared)]


def unused(seen: Seen) -> list[dict[str, int]]:
    """The sizes at which it was compared with a witness."""
    return [dict(at) for at in seen.compared if any(each.items() <= at.items() for each in seen.witnesses)]


def shut(seen: Seen) -> list[str]:
    """The freed dims that were compared at no other size than those that the repair has read."""
    known = {symbol: {own, *(each.get(symbol, own) for each in seen.fitted)} for symbol, own in seen.exported.items()}
    return [
        symbol
        for symbol, sizes in known.items()
        if all(at.get(symbol, seen.exported[symbol]) in sizes for at in seen.compared)
    ]


def still(seen: Seen) -> list[str]:
    """The freed dims that were compared at the exported size alone."""
    return [symbol for symbol, own in seen.exported.items() if all(at.get(symbol, own) == own for at in seen.compared)]


def is_same_expression(seen: Seen) -> bool:
    """Whether the terms prove it where that was asked; of dims other than a batch, beside witnesses too.

    Each freed dim must have another size there than in the original, or in an export that it was fitted on.
    """
    here, there = seen.here, seen.there
    if here is None or not here.holds or (there is not None and not there.holds):
        return False
    others = (*seen.witnesses, *seen.fitted)
    moved = all(any(at.get(symbol, own) != own for at in others) for symbol, own in seen.exported.items())
    return seen.kind != "other" or (there is not None and moved)


def is_rounding(seen: Seen) -> bool:
    """Whether all that differs a little is the same expression at the sizes of these runs: then it is rounding."""
    here = seen.here
    if here is None or not here.holds:
        return False
    return here.always or all(each.fields.get("at") in here.sizes for each in seen.all(Rounding))


def _is_other(seen: Seen) -> bool:
    """Whether it is another expression, or another formula.

    A fitted model's constants are calculated where the exports have them folded, with roundings of their own: there
    another expression need not be another answer.
    """
    here, verdict = seen.here, None if seen.formula is None else seen.formula.verdict
    other = here is not None and here.verdict == "other" and not seen.all(FittedOn) and verdict != "equivalent"
    return _ran(seen) and (verdict == "not equivalent" or other)


def _is_equivalent(seen: Seen) -> bool:
    return seen.formula is not None and seen.formula.holds and _ran(seen)


def _ran(seen: Seen) -> bool:
    return bool(seen.compared or seen.ran)


_BY_RUNS: Final[tuple[tuple[Status, Callable[[Seen], bool]], ...]] = (
    ("untested", lambda seen: bool(seen.all(Untestable)) or not is_shown(seen)),
    ("fitted", lambda seen: bool(seen.fitted) and not unused(seen)),
    ("unwitnessed", lambda seen: bool(still(seen))),
    ("certified", lambda _: True),
)
_TABLE: Final[tuple[tuple[Status, Callable[[Seen], bool]], ...]] = (
    ("differs", lambda seen: bool(seen.all(Differs))),
    ("failed", lambda seen: bool(seen.all(Failed))),
    ("differs", lambda seen: bool(seen.all(Rounding)) and not is_rounding(seen)),
    ("out-of-time", lambda seen: bool(seen.all(TimeOver))),
    ("not proven", _is_other),
    ("proven", lambda seen: is_same_expression(seen) and _ran(seen)),
    ("equivalent", _is_equivalent),
    *_BY_RUNS,
)


def by_runs(seen: Seen) -> Status:
    """The status that the engine's runs alone give a model in which nothing differs."""
    return next(status for status, fits in _BY_RUNS if fits(seen))
