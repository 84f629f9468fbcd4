"""A result in a small file: every answer, a line of JSON to a row of the table, a letter to an engine."""

from __future__ import annotations

import json
import string
from importlib import resources
from typing import Any

from onereshape.backends.conformance.case_table import CASES, says
from onereshape.backends.conformance.engines import ENGINES
from onereshape.backends.conformance.questions import Answer
from onereshape.backends.conformance.result import Column, Key, Result, Verdict, rows_of

SHIPPED = "recorded.json"
"""The file of this room with the answers of engines that cannot be had everywhere."""


def write_record(result: Result) -> str:
    """The result as text; the messages of refusals are left out, since they change with every release."""
    letters = dict(zip(string.ascii_letters, result.answered, strict=False))
    engines = {letter: _told(column) for letter, column in letters.items()}
    head = {"machine": result.machine, "engines": engines}
    lines = [json.dumps(_row(letters, row.key)) for row in result.rows]
    return "{\n" + f'"of": {json.dumps(head)},\n"rows": [\n' + ",\n".join(lines) + "\n]\n}\n"


def _told(column: Column) -> list[str]:
    """An engine and its release; the machine too where it was not asked on this one."""
    return [column.engine.name, column.version, *([column.machine] if column.machine else [])]


def _row(letters: dict[str, Column], key: Key) -> dict[str, Any]:
    grouped: dict[str, str] = {}
    for letter, column in letters.items():
        if key in column.verdicts:
            given = column.verdicts[key].given
            kept = Answer(given.kind, given.dims, given.why if given.kind in {"crash", "hang", "failed"} else "")
            answer = json.dumps(kept.to_json())
            grouped[answer] = grouped.get(answer, "") + letter
    answers = [json.loads(answer) | {"engines": engines} for answer, engines in grouped.items()]
    return {"case": key[0], "zero": key[1], "answers": answers}


def read_record(text: str) -> Result:
    """The result that was written, held against what the specifications say now."""
    recorded = json.loads(text)
    rows = rows_of(CASES)
    letters: dict[str, list[str]] = recorded["of"]["engines"]
    told = {name: more for name, *more in letters.values()}
    given: dict[tuple[str, Key], Answer] = {
        (letters[letter][0], (row["case"], row["zero"])): Answer.from_json(answer)
        for row in recorded["rows"]
        for answer in row["answers"]
        for letter in answer["engines"]
    }
    columns = []
    for engine in ENGINES:
        put = {row.key: asked for row in rows if (asked := engine.question(row.case, row.zero)) is not None}
        if engine.name not in told:
            columns.append(Column(engine, "not installed"))
            continue
        verdicts = {key: Verdict(says(asked), given[engine.name, key]) for key, asked in put.items()}
        version, *machine = told[engine.name]
        columns.append(Column(engine, "recorded" if machine else "asked", version, verdicts, *machine))
    return Result(rows, tuple(columns), recorded["of"]["machine"])


def to_ship(result: Result) -> str:
    """The part of a result that is shipped: the engines that are not on every machine, as they answered here."""
    columns = tuple(column for column in result.asked if column.engine.shipped)
    return write_record(Result(result.rows, columns, result.machine))


def shipped() -> dict[str, Column]:
    """The answers that are shipped, by engine, each marked as recorded."""
    found = read_record(resources.files(__package__).joinpath(SHIPPED).read_text(encoding="utf-8"))
    return {
        column.engine.name: Column(column.engine, "recorded", column.version, column.verdicts, found.machine)
        for column in found.asked
    }
