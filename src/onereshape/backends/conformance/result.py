"""What every engine answered beside what every specification says, and the counts."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from onereshape.backends.conformance.case_table import SPECIFICATIONS, Case, question, says
from onereshape.backends.conformance.engines import Engine
from onereshape.backends.conformance.questions import Answer, Missing
from onereshape.backends.conformance.reasons import reason
from onereshape.backends.conformance.runner import BrokenEngine, ask_all

Key = tuple[str, str]
"""The name of a case, and what a 0 means in it."""


class Verdict(NamedTuple):
    """The answer that is expected of an engine, and the answer that it gave."""

    expected: Answer
    given: Answer

    @property
    def agrees(self) -> bool:
        return self.given.agrees(self.expected)

    @property
    def is_alarming(self) -> bool:
        """More than another answer: elements that are not data's, or the end of the process."""
        return self.given.kind in {"wrong elements", "crash", "hang", "failed"}


@dataclass(frozen=True, slots=True)
class Column:
    """All answers of one engine, or why it has none."""

    engine: Engine
    state: str
    """asked, recorded, not installed, or broken: why."""
    version: str = ""
    verdicts: dict[Key, Verdict] = field(default_factory=dict)
    machine: str = ""
    """The machine on which recorded answers were given."""
    why: str = ""
    """Why the engine was not asked on this machine, if recorded answers stand for it."""

    @property
    def is_asked(self) -> bool:
        return self.state == "asked"

    @property
    def is_answered(self) -> bool:
        """Whether there are answers, of here or recorded elsewhere."""
        return self.state in {"asked", "recorded"}

    @property
    def differs(self) -> bool:
        """Whether it was asked here and differs, or could not be."""
        if self.state.startswith("broken"):
            return True
        return self.is_asked and not all(verdict.agrees for verdict in self.verdicts.values())

    def tally(self) -> dict[str, int]:
        """The number of cases asked, agreeing, differing, and by kind: wrong elements, crash, hang, failed."""
        kinds = Counter(verdict.given.kind for verdict in self.verdicts.values())
        agree = sum(verdict.agrees for verdict in self.verdicts.values())
        counted = {"asked": len(self.verdicts), "agree": agree, "differ": len(self.verdicts) - agree}
        return counted | {kind: kinds[kind] for kind in ("wrong elements", "crash", "hang", "failed")}


class Row(NamedTuple):
    """A row of the table: a case, a meaning of 0, and the answers of the specifications."""

    case: Case
    zero: str
    says: dict[str, Answer]
    """Specification -> its answer, for all specifications that the case can be put to."""

    @property
    def key(self) -> Key:
        return self.case.name, self.zero


@dataclass(frozen=True, slots=True)
class Result:
    """The whole table: rows of cases, columns of engines, and the machine that asked."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    machine: str

    @property
    def asked(self) -> list[Column]:
        return [column for column in self.columns if column.is_asked]

    @property
    def answered(self) -> list[Column]:
        return [column for column in self.columns if column.is_answered]

    @property
    def differs(self) -> bool:
        """Whether an engine differs from its specification; array libraries have none to differ from."""
        return any(column.differs for column in self.columns if column.engine.kind != "library")

    def to_json(self) -> dict[str, Any]:
        return {
            "differs": self.differs,
            "machine": self.machine,
            "engines": [_column_json(column) for column in self.columns],
            "cases": [self._row_json(row) for row in self.rows],
        }

    def _row_json(self, row: Row) -> dict[str, Any]:
        answers = {
            column.engine.name: column.verdicts[row.key].given.to_json()
            | {"agrees": column.verdicts[row.key].agrees}
            | _reason_json(column.engine, row.case, column.verdicts[row.key])
            for column in self.answered
            if row.key in column.verdicts
        }
        return {
            "case": row.case.name,
            "group": row.case.group,
            "data": list(row.case.data),
            "target": list(row.case.target),
            "zero": row.zero,
            "data_type": row.case.data_type,
            "shape_type": row.case.shape_type,
            "shape_rank": row.case.shape_rank,
            "specifications": {name: answer.to_json() for name, answer in row.says.items()},
            "answers": answers,
        }


def _column_json(column: Column) -> dict[str, Any]:
    engine = column.engine
    known = {"name": engine.name, "package": engine.package, "version": column.version or None, "state": column.state}
    recorded = {"recorded_on": column.machine, "why": column.why} if column.state == "recorded" else {}
    return (
        known | recorded | {"spec": engine.spec, "kind": engine.kind, "about": engine.about, "counts": column.tally()}
    )


def _reason_json(engine: Engine, case: Case, verdict: Verdict) -> dict[str, str]:
    known = "" if verdict.agrees else reason(engine, case, verdict.expected)
    return {"reason": known} if known else {}


def rows_of(cases: Iterable[Case]) -> tuple[Row, ...]:
    """A row for each case and meaning of 0, with the answers of the specifications."""
    rows = []
    for case in cases:
        for zero in case.zeros:
            asked = {name: question(case, zero, name) for name in SPECIFICATIONS}
            rows.append(Row(case, zero, {name: says(put) for name, put in asked.items() if put is not None}))
    return tuple(rows)


def run(
    engines: Sequence[Engine],
    cases: Sequence[Case],
    *,
    progress: Callable[[str, int, int], None] | None = None,
    recorded: Mapping[str, Column] = {},
) -> Result:
    """Puts every case to every engine that is installed, within the limits in force.

    Where a library is not found, what is `recorded` of its engine stands for it.
    """
    rows = rows_of(cases)
    columns = tuple(_column(engine, rows, progress, recorded.get(engine.name)) for engine in engines)
    return Result(rows, columns, f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")


def _column(
    engine: Engine,
    rows: Sequence[Row],
    progress: Callable[[str, int, int], None] | None,
    recorded: Column | None,
) -> Column:
    if not engine.is_installed:
        return Column(engine, "not installed")
    put = {row.key: asked for row in rows if (asked := engine.question(row.case, row.zero)) is not None}

    def report(done: int) -> None:
        if progress is not None:
            progress(engine.name, done, len(put))

    try:
        told = ask_all(engine, list(put.values()), progress=report)
    except BrokenEngine as broken:
        return Column(engine, f"broken: {broken}", "" if engine.shipped else engine.version)
    except Missing as missing:
        if recorded is None:
            return Column(engine, f"not installed: {missing}")
        return replace(recorded, verdicts={key: recorded.verdicts[key] for key in put}, why=str(missing))
    verdicts = {key: Verdict(says(put[key]), given) for key, given in zip(put, told.answers, strict=True)}
    return Column(engine, "asked", told.version or engine.version, verdicts)
