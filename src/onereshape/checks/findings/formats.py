"""How findings are written: for people, as JSON, as annotations of GitHub, and as SARIF 2.1.0."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onereshape.checks.findings.finding import CODES, Finding
from onereshape.graphs.size_limits.severity import SEVERITIES
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import Ready, exact_json, printable, shown

Paint = Callable[[str, str], str]
"""A text and what it is (a severity, or `place`) -> the text in its colour."""

_ABLE = {True: "fix can repair", None: "fix may repair"}
"""What is said of `Finding.fixable`."""
_FIRST = 3
"""Nodes that a line names, of findings of one cause; of so many each has a line."""
_DIMS = re.compile(r"(?<!\w)\[[^\]]*\]")
"""A list that stands alone, as in `the target [1, 32, 4]`; not `shape[0]`."""
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in one file, or why nothing could be."""

    path: str
    findings: tuple[Finding, ...] = ()
    error: ReshapeError | None = None


def _plain(text: str, _: str) -> str:
    return text


def as_text(reports: Sequence[Report], paint: Paint = _plain, *, every: bool = False) -> str:
    """One line per finding, in the order of the graph; what to do next; and a line that counts the findings.

    More than three findings of one cause are one line, unless `every` one is asked for.
    """
    lines = [line for report in reports for line in _lines(report, paint, every=every)]
    return "\n".join([*lines, _total(reports)])


def _lines(report: Report, paint: Paint, *, every: bool) -> Iterator[str]:
    path = paint(shown(report.path), "place")
    if report.error is not None:
        yield f"{path}: {paint('cannot be checked', 'error')}: {shown(_why(report))}"
    steps: dict[str | None, list[Finding]] = {}
    for found in report.findings:
        steps.setdefault(found.next, []).append(found)
    for several in _causes(report.findings, every=every):
        found = several[0]
        end = _end(found, len(several), alone=len(steps[found.next]) == 1)
        nodes = [paint(shown(each.node), "place") for each in several[:_FIRST]]
        rest = len(several) - len(nodes)
        where = f"{', '.join(nodes)} and {rest} more" if rest else nodes[0]
        yield f"{path}: {where}: {paint(found.code, found.severity)}: {end}"
    for step, several in sorted(steps.items(), key=lambda each: min(map(_badness, each[1]))):
        if step is not None and len(several) > 1:
            yield f"{path}: next, for {_counts(several)}: {printable(step)}"


def _causes(findings: Sequence[Finding], *, every: bool) -> Iterable[list[Finding]]:
    """The findings by what is said of them: more than `_FIRST` of one cause together, where the first stands."""
    causes = [_cause(found) for found in findings]
    counts = Counter(causes)
    together: dict[object, list[Finding]] = {}
    for place, (cause, found) in enumerate(zip(causes, findings, strict=True)):
        together.setdefault(place if every or counts[cause] <= _FIRST else cause, []).append(found)
    return together.values()


def _cause(found: Finding) -> object:
    """What findings of one cause share: the sentence without the names and the dims of this one."""
    names = "|".join(
        map(re.escape, sorted({found.node, found.place, found.tensor or found.node}, key=len, reverse=True))
    )
    message = re.sub(rf"(?<!\w)(?:{names})(?!\w)", "", found.message)
    return found.code, found.severity, found.fixable, _DIMS.sub("", message)


def _end(found: Finding, count: int = 1, *, alone: bool = True) -> str:
    """The sentence, and what is known beside it; what to do next, unless that is said of several findings at once."""
    more = [shown(found.origin)] if found.origin and count == 1 else []
    more += [f"{count} of this kind, each shown by --all"] if count > 1 else []
    more += [f"{_ABLE[found.fixable]} {'it' if count == 1 else 'them'}"] if found.fixable is not False else []
    more += [f"next: {printable(found.next)}"] if alone and found.next else []
    return f"{shown(found.message)} ({'; '.join(more)})" if more else shown(found.message)


def _badness(found: Finding) -> int:
    return SEVERITIES.index(found.severity)


def _counts(findings: Iterable[Finding]) -> str:
    counts = Counter(found.severity for found in findings)
    return ", ".join(_counted(counts[severity], severity) for severity in SEVERITIES if counts[severity])


def _total(reports: Sequence[Report]) -> str:
    """The counts of all findings: `2 errors, 1 note in m.onnx`, `1 note in 3 models; 1 model could not be checked`."""
    found = _counts(each for report in reports for each in report.findings)
    checked = [report for report in reports if report.error is None]
    failed = len(reports) - len(checked)
    lost = [f"{_counted(failed, 'model')} could not be checked"] if failed else []
    if not checked:
        return lost[0]
    where = shown(checked[0].path) if len(checked) == 1 else _counted(len(checked), "model")
    return "; ".join([f"{found or 'no findings'} in {where}", *lost])


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _why(report: Report) -> str:
    """The sentence of an error, without the path that stands before it anyway."""
    if report.error is None:
        return ""
    return report.error.sentence.removeprefix(f"{report.path}: ")


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """Everything, for machines."""
    counts = Counter(found.severity for report in reports for found in report.findings)
    models = [
        {
            "path": report.path,
            "error": None if report.error is None else report.error.to_json(),
            "findings": [found.to_json() for found in report.findings],
        }
        for report in reports
    ]
    return {"models": models, "counts": {severity: counts[severity] for severity in SEVERITIES}}


def as_github(reports: Sequence[Report]) -> Ready:
    """One workflow command per finding: GitHub shows it at the file."""
    lines = []
    for report in reports:
        file = _property(report.path)
        if report.error is not None:
            lines.append(f"::error file={file},title={_property(report.error.code)}::{_data(_why(report))}")
        for found in report.findings:
            title = _property(f"{found.code}: {found.node}")
            lines.append(f"::{_GITHUB[found.severity]} file={file},title={title}::{_data(_end(found))}")
    return Ready("\n".join(lines))


def _data(text: str) -> str:
    """The text as GitHub reads it: of its own escapes %0D and %0A nothing is left to do behind the door."""
    return shown(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(reports: Sequence[Report], version: str) -> Ready:
    """A log of one run, as code scanning services read it."""
    rules = [
        {
            "id": code,
            "shortDescription": {"text": kind.meaning},
            "help": {"text": _said(kind.help)},
            "defaultConfiguration": {"level": kind.severity},
        }
        for code, kind in CODES.items()
    ]
    failed = [report for report in reports if report.error is not None]
    run = {
        "tool": {"driver": {"name": "onereshape", "version": version, "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [
                    {
                        "level": "error",
                        "message": {"text": _said(_why(report))},
                        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(report.path)}}}],
                    }
                    for report in failed
                ],
            }
        ],
        "results": [_result(report, found) for report in reports for found in report.findings],
    }
    return exact_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _said(text: str) -> str:
    """The text of a SARIF message, in which {0} would be a placeholder and [text](place) a link."""
    return shown(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")


def _result(report: Report, found: Finding) -> dict[str, Any]:
    rule = {"ruleIndex": list(CODES).index(found.code)} if found.code in CODES else {}
    return {
        "ruleId": found.code,
        **rule,
        "level": found.severity,
        "message": {"text": _said(found.message) + (f". Next: {_said(found.next)}" if found.next else "")},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _uri(report.path)}},
                "logicalLocations": [{"fullyQualifiedName": found.node, "decoratedName": found.place}],
            }
        ],
        "properties": {
            "operator": found.op,
            "tensor": found.tensor,
            "origin": found.origin,
            "fixable": found.fixable,
            "next": found.next,
        },
    }


def _uri(path: str) -> str:
    """A relative reference where the file is below the current folder, else the URI of the file."""
    where = Path(path)
    if where.is_absolute():
        try:
            where = where.relative_to(Path.cwd())
        except ValueError:
            return where.as_uri()
    text = quote(where.as_posix(), errors="surrogateescape")
    return f"./{text}" if ":" in text.partition("/")[0] else text
